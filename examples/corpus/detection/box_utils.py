"""Helpers that several files of this folder import, as the `utils` of a detection repository."""

import numpy as np


def box_area(boxes):
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def bbox_overlaps(boxes, query):
    """Return the `(n, k)` intersection over union of boxes (x1, y1, x2, y2)."""
    lt = np.maximum(boxes[:, None, :2], query[None, :, :2])
    rb = np.minimum(boxes[:, None, 2:], query[None, :, 2:])
    wh = (rb - lt).clip(min=0)
    inter = wh[:, :, 0] * wh[:, :, 1]
    union = box_area(boxes)[:, None] + box_area(query)[None, :] - inter
    return inter / np.maximum(union, 1e-8)


def clip_boxes(boxes, height, width):
    boxes = boxes.copy()
    boxes[:, 0::2] = np.clip(boxes[:, 0::2], 0, width - 1)
    boxes[:, 1::2] = np.clip(boxes[:, 1::2], 0, height - 1)
    return boxes


def apply_deltas(anchors, deltas):
    w = anchors[:, 2] - anchors[:, 0]
    h = anchors[:, 3] - anchors[:, 1]
    cx = anchors[:, 0] + 0.5 * w
    cy = anchors[:, 1] + 0.5 * h
    cx = cx + deltas[:, 0] * w
    cy = cy + deltas[:, 1] * h
    w = w * np.exp(np.clip(deltas[:, 2], None, 4.0))
    h = h * np.exp(np.clip(deltas[:, 3], None, 4.0))
    return np.stack([cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h], axis=1)


def greedy_nms(boxes, scores, iou_threshold):
    order = scores.argsort(kind="stable")[::-1]
    keep = []
    while order.size > 0:
        best = order[0]
        keep.append(best)
        overlaps = bbox_overlaps(boxes[best : best + 1], boxes[order[1:]])[0]
        order = order[1:][overlaps <= iou_threshold]
    return np.array(keep, dtype=np.int64)


def draw_boxes(size, rng, extent=100.0):
    corner = rng.uniform(0, extent * 0.8, (size, 2))
    return np.concatenate([corner, corner + rng.uniform(1, extent * 0.3, (size, 2))], axis=1).astype(np.float32)
