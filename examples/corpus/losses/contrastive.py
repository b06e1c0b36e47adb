"""Contrastive loss over two views of a batch (NT-Xent), with its gradient by hand."""

import numpy as np

from pyopbench import OwnOp

TEMPERATURE = 0.5


def _softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def nt_xent(z1, z2):
    z = np.concatenate([z1, z2], axis=0)
    n = z1.shape[0]
    logits = z @ z.T / TEMPERATURE
    np.fill_diagonal(logits, -1e9)
    partner = np.concatenate([np.arange(n) + n, np.arange(n)])
    p = _softmax(logits)
    return -np.mean(np.log(p[np.arange(2 * n), partner] + 1e-12)).astype(np.float32)


def gradient(inputs, outputs, output_gradients):
    (z1, z2), (d,) = inputs, output_gradients
    z = np.concatenate([z1, z2], axis=0)
    n = len(z1)
    logits = z @ z.T / TEMPERATURE
    np.fill_diagonal(logits, -1e9)
    p = _softmax(logits)
    partner = np.concatenate([np.arange(n) + n, np.arange(n)])
    rows = np.arange(2 * n)
    chosen = p[rows, partner]
    g = p.copy()
    g[rows, partner] -= 1
    g *= (chosen / (chosen + 1e-12))[:, None]
    np.fill_diagonal(g, 0)
    dz = (g + g.T) @ z / TEMPERATURE / (2 * n) * d
    return dz[:n].astype(z1.dtype), dz[n:].astype(z2.dtype)


def inputs(size, rng):
    z = rng.normal(0, 1, (2, size, 8))
    return tuple((z / np.linalg.norm(z, axis=-1, keepdims=True)).astype(np.float32))


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 32, 128),
    size_unit="pairs",
    numpy=nt_xent,
    numpy_gradient=gradient,
    tolerance=1e-4,
    source="SimCLR and its relatives",
)
EDGES = {
    "one": (np.ones((1, 3), np.float32), np.ones((1, 3), np.float32)),
    "ties": (np.ones((3, 2), np.float32), np.ones((3, 2), np.float32)),
}
