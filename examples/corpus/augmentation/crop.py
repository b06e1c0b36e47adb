"""Pad an image where it is too small, and cut a window of fixed size out of it."""

import numpy as np

from pyopbench import OwnOp

CROP = 24


def pad_and_crop(img, offset):
    h, w = img.shape[:2]
    pad_h, pad_w = max(CROP - h, 0), max(CROP - w, 0)
    if pad_h > 0 or pad_w > 0:
        img = np.pad(img, ((0, pad_h), (0, pad_w), (0, 0)), mode="constant")
        h, w = img.shape[:2]
    top = int(offset[0] * (h - CROP))
    left = int(offset[1] * (w - CROP))
    return img[top : top + CROP, left : left + CROP]


def inputs(size, rng):
    return rng.integers(0, 256, (size, size, 3), dtype=np.uint8), rng.random(2)


OP = OwnOp(
    inputs=inputs,
    sizes=(32, 64, 256),
    size_unit="pixels a side",
    numpy=pad_and_crop,
    differentiable=(),
    source="Dataset.map of classification and segmentation; the offset is drawn outside",
)
EDGES = {
    "small": (np.arange(300, dtype=np.uint8).reshape(10, 10, 3), np.array([0.3, 0.9])),
    "exact": (np.ones((24, 24, 3), np.uint8), np.array([0.3, 0.9])),
}
