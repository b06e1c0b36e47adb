"""A whole proposal layer, with its suppression from another module, padded to a fixed number of rows."""

import numpy as np
from box_utils import apply_deltas, clip_boxes, draw_boxes, greedy_nms

from pyopbench import OwnOp

POST_NMS_TOP_N = 32


def proposal_layer(scores, deltas, anchors):
    boxes = clip_boxes(apply_deltas(anchors, deltas), 100, 100)
    order = np.argsort(scores, kind="stable")[::-1][:256]
    boxes, scores = boxes[order], scores[order]
    keep = greedy_nms(boxes, scores, 0.7)[:POST_NMS_TOP_N]
    out = np.zeros((POST_NMS_TOP_N, 4), dtype=np.float32)
    out[: len(keep)] = boxes[keep]
    return out


def inputs(size, rng):
    return rng.random(size).astype(np.float32), rng.normal(0, 0.1, (size, 4)).astype(np.float32), draw_boxes(size, rng)


OP = OwnOp(
    inputs=inputs,
    sizes=(16, 128, 512),
    size_unit="anchors",
    numpy=proposal_layer,
    differentiable=(),
    source="Mask R-CNN and Faster R-CNN for Keras, where the layer is a numpy_function with a fixed number of rows",
)
EDGES = {
    "empty": (np.zeros(0, np.float32), np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32)),
    "one": (np.ones(1, np.float32), np.zeros((1, 4), np.float32), np.array([[0, 0, 9, 9]], np.float32)),
    "ties": (np.ones(4, np.float32), np.zeros((4, 4), np.float32), np.tile(np.float32([0, 0, 9, 9]), (4, 1))),
}
