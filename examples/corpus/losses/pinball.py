"""Quantile loss of several quantiles at once."""

import numpy as np

from pyopbench import OwnOp

QUANTILES = [0.1, 0.5, 0.9]


def quantile_loss(y_true, y_pred):
    loss = 0
    for i, q in enumerate(QUANTILES):
        e = y_true - y_pred[:, i]
        loss += np.mean(np.maximum(q * e, (q - 1) * e))
    return loss


def gradient(inputs, outputs, output_gradients):
    (y, p), (d,) = inputs, output_gradients
    q = np.array(QUANTILES, y.dtype)
    e = y[:, None] - p
    slope = np.where(q * e >= (q - 1) * e, q, q - 1) / len(y) * d
    return slope.sum(axis=1).astype(y.dtype), (-slope).astype(p.dtype)


def inputs(size, rng):
    return rng.normal(0, 1, size).astype(np.float32), rng.normal(0, 1, (size, 3)).astype(np.float32)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 512, 32768),
    size_unit="samples",
    numpy=quantile_loss,
    numpy_gradient=gradient,
    source="forecasting of demand and energy",
)
EDGES = {
    "one": (np.ones(1, np.float32), np.zeros((1, 3), np.float32)),
    "nan": (np.array([np.nan, 1], np.float32), np.zeros((2, 3), np.float32)),
}
