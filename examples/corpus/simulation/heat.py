"""Explicit steps of the heat equation with fixed ends."""

import numpy as np

from pyopbench import OwnOp

ALPHA = 0.1
STEPS = 5


def heat_steps(u):
    for _ in range(STEPS):
        un = u.copy()
        un[1:-1, 1:-1] = u[1:-1, 1:-1] + ALPHA * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
        u = un
    return u


def inputs(size, rng):
    return (rng.random((size, size)),)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 64, 256),
    size_unit="points a side",
    numpy=heat_steps,
    source="physics-informed networks that are compared with a solver",
)
EDGES = {
    "no inside": (np.ones((2, 2)),),
    "nan": (np.array([[1.0, 2, 3], [4, np.nan, 6], [7, 8, 9]]),),
}
