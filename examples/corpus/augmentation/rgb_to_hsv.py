"""Colours as hue, saturation and value, by masks."""

import numpy as np

from pyopbench import OwnOp


def rgb_to_hsv(rgb):
    rgb = rgb.astype("float")
    hsv = np.zeros_like(rgb)
    hsv[..., 3:] = rgb[..., 3:]
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    maxc = np.max(rgb[..., :3], axis=-1)
    minc = np.min(rgb[..., :3], axis=-1)
    hsv[..., 2] = maxc
    mask = maxc != minc
    hsv[mask, 1] = (maxc - minc)[mask] / maxc[mask]
    rc = np.zeros_like(r)
    gc = np.zeros_like(g)
    bc = np.zeros_like(b)
    rc[mask] = (maxc - r)[mask] / (maxc - minc)[mask]
    gc[mask] = (maxc - g)[mask] / (maxc - minc)[mask]
    bc[mask] = (maxc - b)[mask] / (maxc - minc)[mask]
    hsv[..., 0] = np.select([r == maxc, g == maxc], [bc - gc, 2.0 + rc - bc], default=4.0 + gc - rc)
    hsv[..., 0] = (hsv[..., 0] / 6.0) % 1.0
    return hsv


def inputs(size, rng):
    return (rng.integers(0, 256, (size, size, 3), dtype=np.uint8),)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 32, 128),
    size_unit="pixels a side",
    numpy=rgb_to_hsv,
    source="hue shifts in pipelines that were written before tf.image had them",
)
EDGES = {
    "grey": (np.full((2, 2, 3), 7, np.uint8),),
    "black": (np.zeros((1, 1, 3), np.uint8),),
    "with alpha": (np.arange(16, dtype=np.uint8).reshape(2, 2, 4),),
}
