"""Soft Dice loss of a segmentation, over classes."""

import numpy as np

from pyopbench import OwnOp

SMOOTH = 1.0


def dice_loss(y_true, y_pred):
    axes = tuple(range(1, len(y_pred.shape) - 1))
    numerator = 2.0 * np.sum(y_pred * y_true, axes)
    denominator = np.sum(np.square(y_pred) + np.square(y_true), axes)
    return (1 - np.mean((numerator + SMOOTH) / (denominator + SMOOTH))).astype(np.float32)


def gradient(inputs, outputs, output_gradients):
    (t, p), (d,) = inputs, output_gradients
    axes = tuple(range(1, p.ndim - 1))
    num = 2.0 * np.sum(p * t, axes, keepdims=True) + SMOOTH
    den = np.sum(p**2 + t**2, axes, keepdims=True) + SMOOTH
    groups = num.size
    by_t = -d / groups * (2 * p / den - num * 2 * t / den**2)
    by_p = -d / groups * (2 * t / den - num * 2 * p / den**2)
    return by_t.astype(t.dtype), by_p.astype(p.dtype)


def inputs(size, rng):
    truth = np.eye(3, dtype=np.float32)[rng.integers(0, 3, (2, size, size))]
    raw = rng.random((2, size, size, 3)) + 0.1
    return truth, (raw / raw.sum(-1, keepdims=True)).astype(np.float32)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 32, 128),
    size_unit="pixels a side",
    numpy=dice_loss,
    numpy_gradient=gradient,
    source="medical segmentation; as a metric and as a loss with tf.custom_gradient",
)
EDGES = {
    "one": (np.ones((1, 1, 1, 1), np.float32), np.full((1, 1, 1, 1), 0.5, np.float32)),
    "nothing there": (np.zeros((2, 3, 3, 2), np.float32), np.full((2, 3, 3, 2), 0.5, np.float32)),
    "nan": (np.ones((1, 2, 2, 1), np.float32), np.array([np.nan, 1, 1, 1], np.float32).reshape(1, 2, 2, 1)),
}
