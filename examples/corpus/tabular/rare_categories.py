"""One-hot columns of categories, all rare ones in one of their own."""

import numpy as np

from pyopbench import OwnOp

MIN_COUNT = 3
DEPTH = 16


def one_hot_rare(ids):
    values, inverse, counts = np.unique(ids, return_inverse=True, return_counts=True)
    mapped = np.full(len(values), DEPTH - 1)
    frequent = np.where(counts >= MIN_COUNT)[0]
    frequent = frequent[np.argsort(-counts[frequent], kind="stable")][: DEPTH - 1]
    mapped[frequent] = np.arange(len(frequent))
    return np.eye(DEPTH, dtype=np.float32)[mapped[inverse]]


def inputs(size, rng):
    return (rng.zipf(1.6, size).astype(np.int64),)


OP = OwnOp(
    inputs=inputs,
    sizes=(16, 256, 4096),
    size_unit="rows",
    numpy=one_hot_rare,
    source="click prediction and other tables with long tails",
)
EDGES = {
    "empty": (np.zeros(0, np.int64),),
    "one": (np.array([5]),),
    "ties": (np.array([1, 1, 1, 2, 2, 2]),),
}
