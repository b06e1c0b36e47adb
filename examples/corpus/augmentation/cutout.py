"""Blank squares of an image around given centres."""

import numpy as np

from pyopbench import OwnOp

LENGTH = 8


def cutout(img, centers):
    h, w = img.shape[0], img.shape[1]
    mask = np.ones((h, w), np.float32)
    for y, x in centers:
        y1 = np.clip(y - LENGTH // 2, 0, h)
        y2 = np.clip(y + LENGTH // 2, 0, h)
        x1 = np.clip(x - LENGTH // 2, 0, w)
        x2 = np.clip(x + LENGTH // 2, 0, w)
        mask[y1:y2, x1:x2] = 0.0
    return img * mask[..., np.newaxis]


def inputs(size, rng):
    return rng.random((size, size, 3), dtype=np.float32), rng.integers(0, size, (2, 2))


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 32, 224),
    size_unit="pixels a side",
    numpy=cutout,
    source="CIFAR training scripts, in Dataset.map with the centre drawn outside",
)
EDGES = {
    "no hole": (np.ones((6, 6, 3), np.float32), np.zeros((0, 2), np.int64)),
    "corner": (np.ones((6, 6, 3), np.float32), np.array([[0, 0], [5, 5]])),
    "nan": (np.full((6, 6, 1), np.nan, np.float32), np.array([[0, 0]])),
}
