"""Delta features: the slope of each feature over a few frames around each."""

import numpy as np

from pyopbench import OwnOp


def delta(feat, n=2):
    num_frames = len(feat)
    denominator = 2 * sum([i**2 for i in range(1, n + 1)])
    delta_feat = np.empty_like(feat)
    padded = np.pad(feat, ((n, n), (0, 0)), mode="edge")
    for t in range(num_frames):
        delta_feat[t] = np.dot(np.arange(-n, n + 1), padded[t : t + 2 * n + 1]) / denominator
    return delta_feat


def inputs(size, rng):
    return (rng.normal(0, 1, (size, 13)).astype(np.float32),)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 100, 1000),
    size_unit="frames",
    numpy=delta,
    source="MFCC front ends of speech recognisers",
)
EDGES = {
    "one": (np.ones((1, 3), np.float32),),
    "nan": (np.array([[1.0], [np.nan], [3.0], [4.0], [5.0], [6.0]], np.float32),),
}
