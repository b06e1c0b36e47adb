"""Elastic deformation of an image, as for handwriting and cells: a smoothed field of displacements is followed."""

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates

from pyopbench import OwnOp


def elastic_transform(image, dx, dy, alpha=8.0, sigma=3.0):
    shape = image.shape
    dx = gaussian_filter(dx, sigma, mode="constant", cval=0) * alpha
    dy = gaussian_filter(dy, sigma, mode="constant", cval=0) * alpha
    x, y = np.meshgrid(np.arange(shape[1]), np.arange(shape[0]))
    indices = np.reshape(y + dy, (-1, 1)), np.reshape(x + dx, (-1, 1))
    return map_coordinates(image, indices, order=1, mode="reflect").reshape(shape)


def inputs(size, rng):
    return rng.random((size, size), dtype=np.float32), *rng.uniform(-1, 1, (2, size, size)).astype(np.float32)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 32, 128),
    size_unit="pixels a side",
    numpy=elastic_transform,
    differentiable=(),
    source="augmentation for U-Net and for MNIST, SciPy inside Dataset.map",
)
EDGES = {
    "still": (np.arange(36, dtype=np.float32).reshape(6, 6), *np.zeros((2, 6, 6), np.float32)),
    "one row": (np.arange(6, dtype=np.float32).reshape(1, 6), *np.ones((2, 1, 6), np.float32)),
}
