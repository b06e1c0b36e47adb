"""Sliding windows over series with the mean and the deviation of each window."""

import numpy as np

from pyopbench import OwnOp

WINDOW = 12


def make_windows(series):
    xs, ys = [], []
    for i in range(len(series) - WINDOW):
        window = series[i : i + WINDOW]
        mu, sd = window.mean(), window.std() + 1e-6
        xs.append(np.concatenate([(window - mu) / sd, [mu, sd]]))
        ys.append((series[i + WINDOW] - mu) / sd)
    return np.array(xs, dtype=np.float32), np.array(ys, dtype=np.float32)


def inputs(size, rng):
    return (np.cumsum(rng.normal(0, 1, size)).astype(np.float32),)


OP = OwnOp(
    inputs=inputs,
    sizes=(20, 200, 2000),
    size_unit="steps",
    numpy=make_windows,
    tolerance=1e-4,
    differentiable=(),
    source="forecasting notebooks",
)
EDGES = {
    "one window": (np.arange(13, dtype=np.float32),),
    "flat": (np.ones(15, np.float32),),
}
