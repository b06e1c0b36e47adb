"""Mirror an image and its boxes."""

import numpy as np

from pyopbench import OwnOp


def horizontal_flip(image, boxes, flip):
    if flip:
        image = image[:, ::-1, :].copy()
        width = image.shape[1]
        boxes = boxes.copy()
        boxes[:, [0, 2]] = width - boxes[:, [2, 0]]
    return image, boxes


def inputs(size, rng):
    corner = rng.uniform(0, size / 2, (6, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(1, size / 2, (6, 2))], axis=1).astype(np.float32)
    return rng.random((size, size, 3), dtype=np.float32), boxes, np.bool_(True)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 64, 256),
    size_unit="pixels a side",
    numpy=horizontal_flip,
    differentiable=(),
    source="augmentation of detection data, where boxes have to move with the image",
)
EDGES = {
    "no boxes": (np.ones((4, 5, 3), np.float32), np.zeros((0, 4), np.float32), np.bool_(True)),
    "no flip": (np.ones((4, 5, 3), np.float32), np.ones((2, 4), np.float32), np.bool_(False)),
}
