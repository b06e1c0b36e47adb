"""Lovasz hinge loss: a surrogate of the Jaccard index, from errors in descending order."""

import numpy as np

from pyopbench import OwnOp


def lovasz_grad(gt_sorted):
    p = len(gt_sorted)
    gts = gt_sorted.sum()
    intersection = gts - gt_sorted.cumsum(0)
    union = gts + (1 - gt_sorted).cumsum(0)
    jaccard = 1.0 - intersection / union
    if p > 1:
        jaccard[1:p] = jaccard[1:p] - jaccard[0:-1]
    return jaccard


def lovasz_hinge(logits, labels):
    logits, labels = logits.reshape(-1), labels.reshape(-1)
    if len(labels) == 0:
        return np.float32(0)
    signs = 2.0 * labels.astype(np.float32) - 1.0
    errors = 1.0 - logits * signs
    perm = np.argsort(-errors, kind="stable")
    grad = lovasz_grad(labels[perm].astype(np.float32))
    return np.dot(np.maximum(errors[perm], 0), grad).astype(np.float32)


def inputs(size, rng):
    return rng.normal(0, 1, (size, size)).astype(np.float32), (rng.random((size, size)) < 0.4).astype(np.int32)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 32, 128),
    size_unit="pixels a side",
    numpy=lovasz_hinge,
    tolerance=1e-4,
    source="binary segmentation in competitions",
)
EDGES = {
    "empty": (np.zeros((0, 3), np.float32), np.zeros((0, 3), np.int32)),
    "one": (np.array([[0.3]], np.float32), np.array([[1]], np.int32)),
    "no object": (np.arange(4, dtype=np.float32).reshape(2, 2), np.zeros((2, 2), np.int32)),
    "ties": (np.zeros((2, 2), np.float32), np.array([[1, 0], [0, 1]], np.int32)),
}
