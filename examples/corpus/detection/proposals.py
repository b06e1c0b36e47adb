"""A proposal layer without its suppression: decode, clip, drop the small ones, take the best."""

import numpy as np
from box_utils import apply_deltas, clip_boxes, draw_boxes

from pyopbench import OwnOp

PRE_NMS_TOP_N = 200
MIN_SIZE = 4


def select_proposals(scores, deltas, anchors, image_size):
    height, width = image_size
    proposals = clip_boxes(apply_deltas(anchors, deltas), height, width)
    ws = proposals[:, 2] - proposals[:, 0] + 1
    hs = proposals[:, 3] - proposals[:, 1] + 1
    keep = np.where((ws >= MIN_SIZE) & (hs >= MIN_SIZE))[0]
    proposals, scores = proposals[keep], scores[keep]
    order = scores.ravel().argsort(kind="stable")[::-1]
    if PRE_NMS_TOP_N > 0:
        order = order[:PRE_NMS_TOP_N]
    blob = np.hstack([np.zeros((len(order), 1), dtype=np.float32), proposals[order].astype(np.float32)])
    return blob, scores[order]


def inputs(size, rng):
    deltas = rng.normal(0, 0.2, (size, 4)).astype(np.float32)
    image_size = np.array([90.0, 100.0], np.float32)
    return rng.random(size).astype(np.float32), deltas, draw_boxes(size, rng), image_size


OP = OwnOp(
    inputs=inputs,
    sizes=(16, 256, 4096),
    size_unit="anchors",
    numpy=select_proposals,
    differentiable=(),
    source="the proposal layer of Faster R-CNN ports to TensorFlow, as one py_func",
)
EDGES = {
    "empty": (
        np.zeros(0, np.float32),
        np.zeros((0, 4), np.float32),
        np.zeros((0, 4), np.float32),
        np.array([90.0, 100.0], np.float32),
    ),
    "one": (
        np.ones(1, np.float32),
        np.zeros((1, 4), np.float32),
        np.array([[0, 0, 9, 9]], np.float32),
        np.array([90.0, 100.0], np.float32),
    ),
    "none left": (
        np.ones(2, np.float32),
        np.zeros((2, 4), np.float32),
        np.array([[0, 0, 1, 1], [5, 5, 6, 6]], np.float32),
        np.array([90.0, 100.0], np.float32),
    ),
    "ties": (
        np.ones(3, np.float32),
        np.zeros((3, 4), np.float32),
        np.array([[0, 0, 9, 9], [1, 1, 8, 9], [2, 2, 30, 30]], np.float32),
        np.array([90.0, 100.0], np.float32),
    ),
}
