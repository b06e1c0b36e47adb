"""Greedy non-maximum suppression that returns the indices of the boxes to keep."""

import numpy as np
from box_utils import draw_boxes

from pyopbench import OwnOp


def nms(boxes, scores, iou_threshold):
    x1, y1, x2, y2 = boxes.T
    areas = (x2 - x1 + 1) * (y2 - y1 + 1)
    order = np.argsort(-scores, kind="stable")
    keep = []
    while len(order) > 0:
        i = order[0]
        keep.append(i)
        rest = order[1:]
        w = np.maximum(0.0, np.minimum(x2[i], x2[rest]) - np.maximum(x1[i], x1[rest]) + 1)
        h = np.maximum(0.0, np.minimum(y2[i], y2[rest]) - np.maximum(y1[i], y1[rest]) + 1)
        inter = w * h
        iou = inter / (areas[i] + areas[rest] - inter)
        order = rest[np.where(iou <= iou_threshold)[0]]
    return np.array(keep, dtype=np.int32)


def inputs(size, rng):
    return draw_boxes(size, rng), rng.random(size).astype(np.float32), np.float32(0.5)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 64, 512),
    size_unit="boxes",
    numpy=nms,
    source="post-processing of detectors (Faster R-CNN, SSD, RetinaNet), behind py_func after the score threshold",
)
EDGES = {
    "empty": (np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.float32(0.5)),
    "one": (np.array([[0, 0, 9, 9]], np.float32), np.ones(1, np.float32), np.float32(0.5)),
    "ties": (np.tile(np.array([[0, 0, 9, 9]], np.float32), (5, 1)), np.ones(5, np.float32), np.float32(0.5)),
}
