"""Steps of Conway's game of life on a torus."""

import numpy as np

from pyopbench import OwnOp


def neighbours(grid):
    n = np.zeros_like(grid)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dy or dx:
                n += np.roll(np.roll(grid, dy, axis=0), dx, axis=1)
    return n


def life(grid, steps):
    grid = grid.copy()
    for _ in range(steps):
        n = neighbours(grid)
        grid = ((n == 3) | ((grid == 1) & (n == 2))).astype(grid.dtype)
    return grid


def inputs(size, rng):
    return (rng.random((size, size)) < 0.3).astype(np.int8), np.int32(3)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 64, 256),
    size_unit="cells a side",
    numpy=life,
    source="neural cellular automata and reinforcement learning environments",
)
EDGES = {
    "no step": (np.ones((3, 3), np.int8), np.int32(0)),
    "one": (np.ones((1, 1), np.int8), np.int32(1)),
}
