"""Mean of the rows of each segment, zeros for one without rows."""

import numpy as np

from pyopbench import OwnOp


def segment_mean(data, segment_ids, num_segments):
    n = int(num_segments)
    out = np.zeros((n,) + data.shape[1:], dtype=data.dtype)
    for s in range(n):
        members = data[segment_ids == s]
        if len(members) > 0:
            out[s] = members.mean(axis=0)
    return out


def inputs(size, rng):
    return rng.normal(0, 1, (size, 4)).astype(np.float32), rng.integers(0, 16, size).astype(np.int32), np.int32(16)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 256, 8192),
    size_unit="rows",
    numpy=segment_mean,
    source="pooling of nodes in graph networks, of points in voxels, of words in sentences",
)
EDGES = {
    "empty": (np.zeros((0, 4), np.float32), np.zeros(0, np.int32), np.int32(3)),
    "one": (np.ones((1, 2), np.float32), np.array([2], np.int32), np.int32(4)),
    "nan": (np.array([[np.nan], [1]], np.float32), np.array([0, 1], np.int32), np.int32(2)),
}
