"""Triplet loss with the hardest positive and negative of the batch."""

import numpy as np

from pyopbench import OwnOp

MARGIN = 0.3


def pairwise_distances(x):
    sq = np.sum(x**2, axis=1, keepdims=True)
    d2 = sq - 2.0 * x @ x.T + sq.T
    return np.sqrt(np.maximum(d2, 1e-12))


def batch_hard_triplet(embeddings, labels):
    dist = pairwise_distances(embeddings)
    same = labels[:, None] == labels[None, :]
    n = len(labels)
    losses = np.zeros(n, dtype=embeddings.dtype)
    for i in range(n):
        positives = dist[i][same[i]]
        negatives = dist[i][~same[i]]
        if len(negatives) == 0:
            continue
        losses[i] = max(positives.max() - negatives.min() + MARGIN, 0.0)
    return losses.mean()


def inputs(size, rng):
    return rng.normal(0, 1, (size, 8)).astype(np.float32), rng.integers(0, 4, size).astype(np.int32)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 32, 128),
    size_unit="embeddings",
    numpy=batch_hard_triplet,
    tolerance=1e-4,
    source="person re-identification and face recognition",
)
EDGES = {
    "one": (np.ones((1, 3), np.float32), np.zeros(1, np.int32)),
    "one class": (np.arange(6, dtype=np.float32).reshape(3, 2), np.zeros(3, np.int32)),
    "ties": (np.ones((4, 3), np.float32), np.array([0, 0, 1, 1], np.int32)),
}
