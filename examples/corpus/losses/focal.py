"""Binary focal loss from probabilities."""

import numpy as np

from pyopbench import OwnOp

ALPHA = 0.25
GAMMA = 2.0


def focal_loss(y_true, y_pred):
    eps = 1e-7
    y_pred = np.clip(y_pred, eps, 1.0 - eps)
    pt_1 = np.where(np.equal(y_true, 1), y_pred, np.ones_like(y_pred))
    pt_0 = np.where(np.equal(y_true, 0), y_pred, np.zeros_like(y_pred))
    loss = -np.sum(ALPHA * np.power(1.0 - pt_1, GAMMA) * np.log(pt_1))
    loss -= np.sum((1 - ALPHA) * np.power(pt_0, GAMMA) * np.log(1.0 - pt_0))
    return loss / max(1, len(y_true))


def inputs(size, rng):
    truth = (rng.random((size, 4)) < 0.3).astype(np.float32)
    return truth, rng.uniform(0.05, 0.95, (size, 4)).astype(np.float32)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 256, 16384),
    size_unit="anchors",
    numpy=focal_loss,
    differentiable=(1,),
    tolerance=1e-4,
    source="RetinaNet for Keras and imbalanced classification",
)
EDGES = {
    "empty": (np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32)),
    "certain": (np.array([[1, 0]], np.float32), np.array([[1, 1]], np.float32)),
    "nan": (np.array([[1, 0]], np.float32), np.array([[np.nan, 0.5]], np.float32)),
}
