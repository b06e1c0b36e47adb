"""Farthest point sampling of a cloud, from its first point."""

import numpy as np

from pyopbench import OwnOp

SAMPLES = 8


def farthest_point_sample(xyz):
    n = xyz.shape[0]
    centroids = np.zeros((SAMPLES,))
    distance = np.ones((n,)) * 1e10
    farthest = 0
    for i in range(SAMPLES):
        centroids[i] = farthest
        centroid = xyz[farthest, :]
        dist = np.sum((xyz - centroid) ** 2, -1)
        mask = dist < distance
        distance[mask] = dist[mask]
        farthest = np.argmax(distance, -1)
    return xyz[centroids.astype(np.int32)]


def inputs(size, rng):
    return (rng.normal(0, 1, (size, 3)).astype(np.float32),)


OP = OwnOp(
    inputs=inputs,
    sizes=(16, 256, 4096),
    size_unit="points",
    numpy=farthest_point_sample,
    differentiable=(),
    source="PointNet++ where the CUDA op cannot be built",
)
EDGES = {
    "one": (np.ones((1, 3), np.float32),),
    "ties": (np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0]], np.float32),),
}
