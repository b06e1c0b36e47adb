"""Soft non-maximum suppression: overlapping boxes lose score by a Gaussian instead of being dropped."""

import numpy as np
from box_utils import draw_boxes

from pyopbench import OwnOp

SIGMA = 0.5


def soft_nms(boxes, scores):
    boxes = boxes.copy()
    scores = scores.copy()
    n = boxes.shape[0]
    for i in range(n):
        best = i + np.argmax(scores[i:])
        boxes[[i, best]] = boxes[[best, i]]
        scores[i], scores[best] = scores[best], scores[i]
        for j in range(i + 1, n):
            w = min(boxes[i, 2], boxes[j, 2]) - max(boxes[i, 0], boxes[j, 0])
            h = min(boxes[i, 3], boxes[j, 3]) - max(boxes[i, 1], boxes[j, 1])
            if w > 0 and h > 0:
                area = (boxes[j, 2] - boxes[j, 0]) * (boxes[j, 3] - boxes[j, 1])
                best_area = (boxes[i, 2] - boxes[i, 0]) * (boxes[i, 3] - boxes[i, 1])
                iou = w * h / (area + best_area - w * h)
                scores[j] *= np.exp(-(iou * iou) / SIGMA)
    return boxes, scores


def inputs(size, rng):
    return draw_boxes(size, rng), rng.random(size).astype(np.float32)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 16, 64),
    size_unit="boxes",
    numpy=soft_nms,
    differentiable=(),
    source="post-processing of detectors in evaluation code, often next to a Cython file that nobody builds",
)
EDGES = {
    "empty": (np.zeros((0, 4), np.float32), np.zeros(0, np.float32)),
    "one": (np.array([[0, 0, 9, 9]], np.float32), np.ones(1, np.float32)),
    "ties": (np.tile(np.array([[0, 0, 9, 9]], np.float32), (4, 1)), np.ones(4, np.float32)),
}
