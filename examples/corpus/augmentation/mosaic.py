"""Four images put together around a centre, as YOLOv4 trains on."""

import numpy as np

from pyopbench import OwnOp


def mosaic(images, center):
    n, h, w, c = images.shape
    yc, xc = int(center[0]), int(center[1])
    canvas = np.full((h, w, c), 114, dtype=images.dtype)
    for i in range(4):
        if i == 0:
            canvas[:yc, :xc] = images[i, h - yc :, w - xc :]
        elif i == 1:
            canvas[:yc, xc:] = images[i, h - yc :, : w - xc]
        elif i == 2:
            canvas[yc:, :xc] = images[i, : h - yc, w - xc :]
        else:
            canvas[yc:, xc:] = images[i, : h - yc, : w - xc]
    return canvas


def inputs(size, rng):
    images = rng.integers(0, 256, (4, size, size, 3), dtype=np.uint8)
    return images, rng.integers(size // 4, 3 * size // 4, 2).astype(np.int32)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 64, 256),
    size_unit="pixels a side",
    numpy=mosaic,
    source="YOLO training pipelines",
)
EDGES = {
    "in the corner": (np.arange(64, dtype=np.uint8).reshape(4, 4, 4, 1), np.array([1, 1], np.int32)),
    "all of one": (np.arange(64, dtype=np.uint8).reshape(4, 4, 4, 1), np.array([4, 4], np.int32)),
}
