"""Product of a sparse matrix in coordinates with a dense one."""

import numpy as np

from pyopbench import OwnOp

ROWS = 64


def coo_matmul(rows, cols, values, dense):
    out = np.zeros((ROWS, dense.shape[1]), dtype=values.dtype)
    np.add.at(out, rows, values[:, None] * dense[cols])
    return out


def inputs(size, rng):
    rows, cols = rng.integers(0, ROWS, (2, size))
    return rows, cols, rng.normal(0, 1, size).astype(np.float32), rng.normal(0, 1, (ROWS, 8)).astype(np.float32)


OP = OwnOp(
    inputs=inputs,
    sizes=(16, 512, 16384),
    size_unit="entries",
    numpy=coo_matmul,
    source="graph networks and recommenders with their own sparse layers",
)
EDGES = {
    "empty": (np.zeros(0, int), np.zeros(0, int), np.zeros(0, np.float32), np.ones((ROWS, 2), np.float32)),
    "one place": (np.zeros(3, int), np.zeros(3, int), np.ones(3, np.float32), np.ones((ROWS, 2), np.float32)),
}
