"""Quadratic weighted kappa of two ratings."""

import numpy as np

from pyopbench import OwnOp

N = 5


def quadratic_weighted_kappa(y_true, y_pred):
    w = np.zeros((N, N))
    o = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            w[i][j] = float(((i - j) ** 2) / (N - 1) ** 2)
    for t, p in zip(y_true, y_pred):
        o[t][p] += 1
    hist_true = np.zeros([N])
    hist_pred = np.zeros([N])
    for item in y_true:
        hist_true[item] += 1
    for item in y_pred:
        hist_pred[item] += 1
    e = np.outer(hist_true, hist_pred)
    e = e / e.sum()
    o = o / o.sum()
    return 1 - (w * o).sum() / (w * e).sum()


def inputs(size, rng):
    truth = rng.integers(0, N, size)
    return truth.astype(np.int32), np.clip(truth + rng.integers(-1, 2, size), 0, N - 1).astype(np.int32)


OP = OwnOp(
    inputs=inputs,
    sizes=(10, 100, 1000),
    size_unit="ratings",
    numpy=quadratic_weighted_kappa,
    source="Kaggle competitions (diabetic retinopathy, essays), as a Keras metric",
)
EDGES = {
    "two": (np.array([0, 4], np.int32), np.array([4, 1], np.int32)),
    "all the same": (np.arange(5, dtype=np.int32), np.arange(5, dtype=np.int32)),
}
