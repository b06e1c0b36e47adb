"""Intersection over union of each predicted box with each ground truth box."""

import numpy as np
from box_utils import draw_boxes

from pyopbench import OwnOp


def compute_iou(pred, gt):
    n, k = pred.shape[0], gt.shape[0]
    if n == 0 or k == 0:
        return np.zeros((n, k), dtype=np.float32)
    pred_area = (pred[:, 2] - pred[:, 0]) * (pred[:, 3] - pred[:, 1])
    gt_area = (gt[:, 2] - gt[:, 0]) * (gt[:, 3] - gt[:, 1])
    ious = np.zeros((n, k), dtype=np.float32)
    for i in range(k):
        w = np.minimum(pred[:, 2], gt[i, 2]) - np.maximum(pred[:, 0], gt[i, 0])
        h = np.minimum(pred[:, 3], gt[i, 3]) - np.maximum(pred[:, 1], gt[i, 1])
        inter = np.maximum(w, 0) * np.maximum(h, 0)
        ious[:, i] = inter / (pred_area + gt_area[i] - inter)
    return ious


def inputs(size, rng):
    return draw_boxes(size, rng), draw_boxes(max(1, size // 4), rng)


OP = OwnOp(
    inputs=inputs,
    sizes=(8, 64, 512),
    size_unit="boxes",
    numpy=compute_iou,
    differentiable=(),
    source="target assignment and metrics of nearly every detection repository",
)
EDGES = {
    "empty": (np.zeros((0, 4), np.float32), np.zeros((0, 4), np.float32)),
    "one": (np.array([[0, 0, 9, 9]], np.float32), np.array([[5, 5, 9, 20]], np.float32)),
    "apart": (np.array([[0, 0, 1, 1]], np.float32), np.array([[5, 5, 9, 20], [0, 0, 1, 1]], np.float32)),
}
