"""Rotation matrices of quaternions, and points turned by them."""

import numpy as np

from pyopbench import OwnOp


def quat_to_matrix(q):
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    w, x, y, z = q[:, 0], q[:, 1], q[:, 2], q[:, 3]
    m = np.empty((q.shape[0], 3, 3), dtype=q.dtype)
    m[:, 0, 0] = 1 - 2 * (y * y + z * z)
    m[:, 0, 1] = 2 * (x * y - z * w)
    m[:, 0, 2] = 2 * (x * z + y * w)
    m[:, 1, 0] = 2 * (x * y + z * w)
    m[:, 1, 1] = 1 - 2 * (x * x + z * z)
    m[:, 1, 2] = 2 * (y * z - x * w)
    m[:, 2, 0] = 2 * (x * z - y * w)
    m[:, 2, 1] = 2 * (y * z + x * w)
    m[:, 2, 2] = 1 - 2 * (x * x + y * y)
    return m


def rotate_points(q, points):
    return np.einsum("nij,nj->ni", quat_to_matrix(q), points)


def inputs(size, rng):
    return rng.normal(0, 1, (size, 4)).astype(np.float32), rng.normal(0, 1, (size, 3)).astype(np.float32)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 256, 16384),
    size_unit="points",
    numpy=rotate_points,
    source="pose estimation and motion capture",
)
EDGES = {
    "empty": (np.zeros((0, 4), np.float32), np.zeros((0, 3), np.float32)),
    "no rotation": (np.array([[1, 0, 0, 0]], np.float32), np.ones((1, 3), np.float32)),
    "zero": (np.zeros((1, 4), np.float32), np.ones((1, 3), np.float32)),
}
