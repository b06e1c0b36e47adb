"""Distances on the globe between places in degrees."""

import numpy as np

from pyopbench import OwnOp

EARTH = 6371.0


def haversine_np(lat1, lon1, lat2, lon2):
    lat1, lon1, lat2, lon2 = map(np.radians, [lat1, lon1, lat2, lon2])
    dlat = lat2 - lat1
    dlon = lon2 - lon1
    a = np.sin(dlat / 2.0) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin(dlon / 2.0) ** 2
    return EARTH * 2 * np.arcsin(np.sqrt(a))


def inputs(size, rng):
    return tuple(rng.uniform(-reach, reach, size) for reach in (80, 170, 80, 170))


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 1000, 100_000),
    size_unit="pairs",
    numpy=haversine_np,
    tolerance=1e-9,
    source="taxi and delivery models, features in Dataset.map",
)
EDGES = {
    "empty": (np.zeros(0),) * 4,
    "one": (np.ones(1), np.zeros(1), np.zeros(1), np.ones(1)),
    "nan": (np.array([np.nan, 1.0]), np.ones(2), np.zeros(2), np.ones(2)),
}
