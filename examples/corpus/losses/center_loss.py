"""Center loss: distance of each feature from the mean of its class in the batch."""

import numpy as np

from pyopbench import OwnOp


def center_loss(features, labels):
    loss = 0.0
    classes = np.unique(labels)
    for c in classes:
        members = features[labels == c]
        center = members.mean(axis=0)
        loss += np.sum((members - center) ** 2)
    return np.float32(loss / (2.0 * features.shape[0]))


def inputs(size, rng):
    return rng.normal(0, 1, (size, 8)).astype(np.float32), rng.integers(0, 5, size).astype(np.int32)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 128, 2048),
    size_unit="features",
    numpy=center_loss,
    tolerance=1e-4,
    source="face recognition",
)
EDGES = {
    "one": (np.ones((1, 3), np.float32), np.zeros(1, np.int32)),
    "each its own": (np.arange(6, dtype=np.float32).reshape(3, 2), np.array([3, 1, 2], np.int32)),
}
