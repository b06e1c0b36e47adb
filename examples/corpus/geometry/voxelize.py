"""Points sorted into voxels: for each voxel that holds any, how many and their mean."""

import numpy as np

from pyopbench import OwnOp

VOXEL = 0.5


def voxelize(points):
    coords = np.floor(points / VOXEL).astype(np.int32)
    voxels, inverse, counts = np.unique(coords, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.reshape(-1)
    sums = np.zeros((len(voxels), points.shape[1]), dtype=points.dtype)
    np.add.at(sums, inverse, points)
    return voxels, counts.astype(np.int32), sums / counts[:, None].astype(points.dtype)


def inputs(size, rng):
    return (rng.normal(0, 1, (size, 3)).astype(np.float32),)


OP = OwnOp(
    inputs=inputs,
    sizes=(16, 512, 8192),
    size_unit="points",
    numpy=voxelize,
    differentiable=(),
    source="LiDAR detection (VoxelNet, PointPillars), in Dataset.map",
)
EDGES = {
    "one": (np.ones((1, 3), np.float32),),
    "one voxel": (np.full((4, 3), 0.1, np.float32),),
}
