"""Product of a matrix in compressed rows with a vector, row after row."""

import numpy as np

from pyopbench import OwnOp


def csr_matvec(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1, dtype=np.float64)
    for i in range(len(indptr) - 1):
        for jj in range(indptr[i], indptr[i + 1]):
            y[i] += data[jj] * x[indices[jj]]
    return y


def inputs(size, rng):
    counts = rng.integers(0, 6, size)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    indices = rng.integers(0, size, indptr[-1]).astype(np.int32)
    return indptr, indices, rng.normal(0, 1, indptr[-1]), rng.normal(0, 1, size)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 64, 512),
    size_unit="rows",
    numpy=csr_matvec,
    source="finite elements and circuit models inside a training loop",
)
EDGES = {
    "no rows": (np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0), np.ones(2)),
    "empty rows": (np.zeros(4, np.int32), np.zeros(0, np.int32), np.zeros(0), np.ones(3)),
}
