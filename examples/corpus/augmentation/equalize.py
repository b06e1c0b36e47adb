"""Histogram equalisation of each channel by a table of 256 values."""

import numpy as np

from pyopbench import OwnOp


def equalize_channel(channel):
    hist, _ = np.histogram(channel.flatten(), 256, [0, 256])
    cdf = hist.cumsum()
    cdf_m = np.ma.masked_equal(cdf, 0)
    cdf_m = (cdf_m - cdf_m.min()) * 255 / max(cdf_m.max() - cdf_m.min(), 1)
    lut = np.ma.filled(cdf_m, 0).astype("uint8")
    return lut[channel]


def equalize(image):
    out = np.zeros(image.shape, dtype=np.uint8)
    for c in range(image.shape[2]):
        out[:, :, c] = equalize_channel(image[:, :, c])
    return out


def inputs(size, rng):
    return (rng.integers(40, 200, (size, size, 3), dtype=np.uint8),)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 64, 256),
    size_unit="pixels a side",
    numpy=equalize,
    source="AutoAugment and X-ray pipelines",
)
EDGES = {
    "flat": (np.full((3, 3, 3), 9, np.uint8),),
    "one pixel": (np.array([[[0, 128, 255]]], np.uint8),),
}
