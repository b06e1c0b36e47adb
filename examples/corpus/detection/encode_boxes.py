"""Boxes as offsets from anchors, in units of variance: what a regression head is trained on."""

import numpy as np
from box_utils import draw_boxes

from pyopbench import OwnOp

VARIANCES = [0.1, 0.1, 0.2, 0.2]


def to_center(boxes):
    return np.concatenate([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]], axis=-1)


def encode(matched, anchors):
    m, a = to_center(matched), to_center(anchors)
    t = np.empty_like(m)
    t[:, :2] = (m[:, :2] - a[:, :2]) / a[:, 2:]
    t[:, 2:] = np.log(m[:, 2:] / a[:, 2:])
    return (t / np.array(VARIANCES)).astype(matched.dtype)


def inputs(size, rng):
    return draw_boxes(size, rng), draw_boxes(size, rng)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 256, 8192),
    size_unit="boxes",
    numpy=encode,
    tolerance=1e-4,
    source="input encoders of SSD and RetinaNet",
)
EDGES = {
    "empty": (np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32)),
    "one": (np.array([[0, 0, 9, 9]], np.float32), np.array([[1, 0, 9, 12]], np.float32)),
    "no width": (np.array([[3, 0, 3, 9]], np.float32), np.array([[1, 0, 9, 12]], np.float32)),
}
