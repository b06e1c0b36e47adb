"""Macro F1 from labels and logits."""

import numpy as np

from pyopbench import OwnOp


def macro_f1(labels, logits):
    preds = logits.argmax(axis=-1)
    scores = []
    for c in range(logits.shape[-1]):
        tp = np.sum((preds == c) & (labels == c))
        fp = np.sum((preds == c) & (labels != c))
        fn = np.sum((preds != c) & (labels == c))
        precision = tp / (tp + fp + 1e-8)
        recall = tp / (tp + fn + 1e-8)
        scores.append(2 * precision * recall / (precision + recall + 1e-8))
    return np.mean(scores).astype(np.float32)


def inputs(size, rng):
    return rng.integers(0, 6, size), rng.normal(0, 1, (size, 6)).astype(np.float32)


OP = OwnOp(
    inputs=inputs,
    sizes=(10, 1000, 100_000),
    size_unit="examples",
    numpy=macro_f1,
    differentiable=(),
    source="Keras metrics of classifiers, behind py_function or numpy_function",
)
EDGES = {
    "empty": (np.zeros(0, np.int64), np.zeros((0, 3), np.float32)),
    "one": (np.zeros(1, np.int64), np.array([[0, 1, 0]], np.float32)),
    "ties": (np.array([0, 1, 2]), np.zeros((3, 3), np.float32)),
}
