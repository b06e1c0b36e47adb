"""Brightness, contrast and saturation of an image in bytes, by factors that are drawn outside."""

import numpy as np

from pyopbench import OwnOp


def color_jitter(img, brightness, contrast, saturation):
    out = img.astype(np.float32)
    out *= brightness
    mean = out.mean()
    out = (out - mean) * contrast + mean
    gray = np.dot(out[..., :3], [0.299, 0.587, 0.114])
    out = out * saturation + gray[..., None] * (1 - saturation)
    return np.clip(np.round(out), 0, 255).astype(np.uint8)


def inputs(size, rng):
    factors = rng.uniform(0.7, 1.3, 3).astype(np.float32)
    return rng.integers(0, 256, (size, size, 3), dtype=np.uint8), *factors


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 64, 256),
    size_unit="pixels a side",
    numpy=color_jitter,
    differentiable=(),
    source="Dataset.map of classifiers, ported from torchvision's transforms",
)
EDGES = {
    "one pixel": (np.array([[[200, 10, 30]]], np.uint8), *np.float32([1.5, 1.1, 0.5])),
    "too bright": (np.full((2, 2, 3), 255, np.uint8), *np.float32([3, 1, 1])),
    "no factor": (np.arange(12, dtype=np.uint8).reshape(2, 2, 3), *np.float32([0, 0, 0])),
}
