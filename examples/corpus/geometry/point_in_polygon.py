"""Which points lie in a polygon, by counting crossings."""

import numpy as np

from pyopbench import OwnOp


def points_in_polygon(points, polygon):
    x, y = points[:, 0], points[:, 1]
    inside = np.zeros(len(points), dtype=bool)
    j = len(polygon) - 1
    for i in range(len(polygon)):
        xi, yi = polygon[i]
        xj, yj = polygon[j]
        crosses = (yi > y) != (yj > y)
        with np.errstate(divide="ignore", invalid="ignore"):
            at = (xj - xi) * (y - yi) / (yj - yi) + xi
        inside ^= crosses & (x < at)
        j = i
    return inside


def inputs(size, rng):
    angles = np.sort(rng.uniform(0, 2 * np.pi, 9))
    polygon = np.stack([np.cos(angles), np.sin(angles)], 1) * rng.uniform(0.5, 1.5, (9, 1))
    return rng.uniform(-1.5, 1.5, (size, 2)), polygon


OP = OwnOp(
    inputs=inputs,
    sizes=(16, 512, 16384),
    size_unit="points",
    numpy=points_in_polygon,
    source="annotations as polygons, maps, text detection",
)
EDGES = {
    "no points": (np.zeros((0, 2)), np.array([[0.0, 0], [1, 0], [0, 1]])),
    "on the edge": (np.array([[0.5, 0.0], [0.0, 0.0]]), np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])),
}
