"""One step of iterative closest point: nearest neighbours, then the best rigid motion by SVD."""

import numpy as np

from pyopbench import OwnOp


def best_fit_transform(a, b):
    centroid_a = np.mean(a, axis=0)
    centroid_b = np.mean(b, axis=0)
    h = np.dot((a - centroid_a).T, b - centroid_b)
    u, _, vt = np.linalg.svd(h)
    r = np.dot(vt.T, u.T)
    if np.linalg.det(r) < 0:
        vt[2, :] *= -1
        r = np.dot(vt.T, u.T)
    t = centroid_b.T - np.dot(r, centroid_a.T)
    return r, t


def icp_step(source, target):
    d = np.linalg.norm(source[:, None, :] - target[None, :, :], axis=-1)
    nearest = np.argmin(d, axis=1)
    r, t = best_fit_transform(source, target[nearest])
    return np.dot(source, r.T) + t, d.min(axis=1).mean()


def inputs(size, rng):
    target = rng.normal(0, 1, (size, 3))
    c, s = np.cos(0.1), np.sin(0.1)
    return target @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) + 0.05, target


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 64, 256),
    size_unit="points",
    numpy=icp_step,
    tolerance=1e-8,
    source="registration of point clouds, refined inside a tf.data pipeline",
)
EDGES = {
    "same": (np.eye(3) * 2, np.eye(3) * 2),
}
