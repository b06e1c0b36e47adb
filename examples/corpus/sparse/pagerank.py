"""Steps of PageRank over edges."""

import numpy as np

from pyopbench import OwnOp

DAMPING = 0.85
STEPS = 10


def pagerank(src, dst, n):
    n = int(n)
    degree = np.bincount(src, minlength=n)
    rank = np.ones(n) / n
    dangling = np.flatnonzero(degree == 0)
    for _ in range(STEPS):
        share = rank / np.maximum(degree, 1)
        new = np.bincount(dst, weights=share[src], minlength=n)
        rank = (1 - DAMPING) / n + DAMPING * (new + rank[dangling].sum() / n)
    return rank.astype(np.float32)


def inputs(size, rng):
    return rng.integers(0, size, 4 * size), rng.integers(0, size, 4 * size), np.int64(size)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 128, 4096),
    size_unit="nodes",
    numpy=pagerank,
    source="features of nodes ahead of a graph network",
)
EDGES = {
    "no edges": (np.zeros(0, np.int64), np.zeros(0, np.int64), np.int64(3)),
    "one": (np.zeros(1, np.int64), np.zeros(1, np.int64), np.int64(1)),
}
