"""Blend each image and its one-hot label with another one of the batch."""

import numpy as np

from pyopbench import OwnOp


def mixup(x, y, lam, index):
    lam_x = lam.reshape(-1, 1, 1, 1)
    lam_y = lam.reshape(-1, 1)
    mixed_x = lam_x * x + (1 - lam_x) * x[index]
    mixed_y = lam_y * y + (1 - lam_y) * y[index, :]
    return mixed_x.astype(np.float32), mixed_y.astype(np.float32)


def inputs(size, rng):
    labels = np.eye(10, dtype=np.float32)[rng.integers(0, 10, size)]
    return rng.random((size, 8, 8, 3), dtype=np.float32), labels, rng.beta(0.4, 0.4, size), rng.permutation(size)


OP = OwnOp(
    inputs=inputs,
    sizes=(2, 16, 128),
    size_unit="images",
    numpy=mixup,
    differentiable=(),
    source="Keras sequences and generators around fit, the mixing weight from a Beta distribution",
)
EDGES = {
    "empty": (np.zeros((0, 4, 4, 3), np.float32), np.zeros((0, 2), np.float32), np.zeros(0), np.zeros(0, np.int64)),
    "one": (np.ones((1, 4, 4, 3), np.float32), np.ones((1, 2), np.float32), np.full(1, 0.3), np.zeros(1, np.int64)),
}
