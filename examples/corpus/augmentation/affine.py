"""Rotate and scale an image about its centre, nearest neighbour, blank outside."""

import numpy as np

from pyopbench import OwnOp


def rotate(img, angle, zoom):
    h, w = img.shape[:2]
    cy, cx = (h - 1) / 2.0, (w - 1) / 2.0
    theta = np.deg2rad(angle)
    m = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]]) / zoom
    ys, xs = np.mgrid[0:h, 0:w]
    src = m @ np.stack([ys.ravel() - cy, xs.ravel() - cx])
    sy = np.rint(src[0] + cy).astype(int)
    sx = np.rint(src[1] + cx).astype(int)
    inside = (sy >= 0) & (sy < h) & (sx >= 0) & (sx < w)
    out = np.zeros_like(img).reshape(h * w, -1)
    out[inside] = img[sy[inside], sx[inside]]
    return out.reshape(img.shape)


def inputs(size, rng):
    return rng.integers(0, 256, (size, size, 3), dtype=np.uint8), rng.uniform(-40, 40), rng.uniform(0.8, 1.2)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 32, 128),
    size_unit="pixels a side",
    numpy=rotate,
    differentiable=(),
    source="augmentation without OpenCV, in notebooks and in medical imaging",
)
EDGES = {
    "still": (np.arange(48, dtype=np.uint8).reshape(4, 4, 3), np.float64(0), np.float64(1)),
    "one pixel": (np.ones((1, 1, 3), np.uint8), np.float64(30), np.float64(1)),
}
