"""Structural similarity of two grey images over blocks of 8 by 8."""

import numpy as np

from pyopbench import OwnOp


def ssim(img1, img2, block=8):
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    h, w = img1.shape
    values = []
    for y in range(0, h - block + 1, block):
        for x in range(0, w - block + 1, block):
            a = img1[y : y + block, x : x + block].astype(np.float64)
            b = img2[y : y + block, x : x + block].astype(np.float64)
            mu_a, mu_b = a.mean(), b.mean()
            cov = ((a - mu_a) * (b - mu_b)).mean()
            values.append(
                ((2 * mu_a * mu_b + c1) * (2 * cov + c2)) / ((mu_a**2 + mu_b**2 + c1) * (a.var() + b.var() + c2))
            )
    return np.mean(values)


def inputs(size, rng):
    image = rng.integers(0, 256, (size, size)).astype(np.uint8)
    return image, np.clip(image + rng.normal(0, 9, image.shape), 0, 255).astype(np.uint8)


OP = OwnOp(
    inputs=inputs,
    sizes=(16, 64, 128),
    size_unit="pixels a side",
    numpy=ssim,
    source="super-resolution and compression, as a metric",
)
EDGES = {
    "one block": (np.arange(64, dtype=np.uint8).reshape(8, 8), np.zeros((8, 8), np.uint8)),
    "same": (np.full((16, 8), 9, np.uint8), np.full((16, 8), 9, np.uint8)),
}
