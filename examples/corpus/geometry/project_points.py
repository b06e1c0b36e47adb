"""Points in space as pixels of a camera, with radial distortion; those behind it are NaN."""

import numpy as np

from pyopbench import OwnOp

K = np.array([[500.0, 0, 320], [0, 500.0, 240], [0, 0, 1]])
DISTORTION = (-0.1, 0.02)


def rodrigues(rvec):
    theta = np.linalg.norm(rvec)
    if theta < 1e-12:
        return np.eye(3)
    k = rvec / theta
    kx = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + np.sin(theta) * kx + (1 - np.cos(theta)) * kx @ kx


def project(points, rvec, tvec):
    cam = points @ rodrigues(rvec).T + tvec
    z = cam[:, 2:]
    xy = cam[:, :2] / np.where(z > 0, z, np.nan)
    r2 = (xy**2).sum(axis=1, keepdims=True)
    xy = xy * (1 + DISTORTION[0] * r2 + DISTORTION[1] * r2**2)
    return xy @ K[:2, :2].T + K[:2, 2]


def inputs(size, rng):
    return rng.normal(0, 1, (size, 3)), rng.normal(0, 0.2, 3), np.array([0.1, 0.0, 6.0])


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 256, 16384),
    size_unit="points",
    numpy=project,
    source="reprojection errors of hands, faces and cars",
)
EDGES = {
    "empty": (np.zeros((0, 3)), np.zeros(3), np.array([0.1, 0.0, 6.0])),
    "no rotation": (np.ones((2, 3)), np.zeros(3), np.array([0.1, 0.0, 6.0])),
    "behind": (np.array([[0.0, 0, -9], [0, 0, 1]]), np.full(3, 0.1), np.array([0.0, 0, 6])),
}
