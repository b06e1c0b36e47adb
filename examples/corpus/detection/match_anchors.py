"""Anchors get labels: 1 for an object, 0 for background, -1 for neither; and the box that they are to become."""

import numpy as np
from box_utils import bbox_overlaps, draw_boxes

from pyopbench import OwnOp


def anchor_targets(anchors, gt_boxes):
    labels = np.empty((len(anchors),), dtype=np.float32)
    labels.fill(-1)
    overlaps = bbox_overlaps(anchors, gt_boxes)
    argmax_overlaps = overlaps.argmax(axis=1)
    max_overlaps = overlaps[np.arange(len(anchors)), argmax_overlaps]
    gt_max_overlaps = overlaps.max(axis=0)
    gt_argmax_overlaps = np.where(overlaps == gt_max_overlaps)[0]
    labels[max_overlaps < 0.3] = 0
    labels[gt_argmax_overlaps] = 1
    labels[max_overlaps >= 0.7] = 1
    return labels, gt_boxes[argmax_overlaps]


def inputs(size, rng):
    return draw_boxes(size, rng), draw_boxes(max(2, size // 32), rng)


OP = OwnOp(
    inputs=inputs,
    sizes=(16, 256, 4096),
    size_unit="anchors",
    numpy=anchor_targets,
    differentiable=(),
    source="the anchor target layer of two-stage detectors, as a py_func beside the loss",
)
EDGES = {
    "one": (np.array([[0, 0, 9, 9]], np.float32), np.array([[0, 0, 9, 8]], np.float32)),
    "ties": (np.tile(np.float32([0, 0, 9, 9]), (3, 1)), np.tile(np.float32([0, 0, 9, 8]), (2, 1))),
    "apart": (np.array([[0, 0, 1, 1], [2, 2, 3, 3]], np.float32), np.array([[50, 50, 60, 60]], np.float32)),
}
