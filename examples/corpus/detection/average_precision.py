"""Average precision over all points of the curve, from scores and whether each detection was right."""

import numpy as np

from pyopbench import OwnOp


def average_precision(scores, matched, num_gt):
    if num_gt == 0:
        return np.float32(0)
    order = np.argsort(-scores, kind="stable")
    tp = matched[order].astype(np.float64)
    fp = 1.0 - tp
    tp, fp = np.cumsum(tp), np.cumsum(fp)
    recall = tp / float(num_gt)
    precision = tp / np.maximum(tp + fp, np.finfo(np.float64).eps)
    mrec = np.concatenate(([0.0], recall, [1.0]))
    mpre = np.concatenate(([0.0], precision, [0.0]))
    for i in range(mpre.size - 1, 0, -1):
        mpre[i - 1] = np.maximum(mpre[i - 1], mpre[i])
    idx = np.where(mrec[1:] != mrec[:-1])[0]
    return np.float32(np.sum((mrec[idx + 1] - mrec[idx]) * mpre[idx + 1]))


def inputs(size, rng):
    return rng.random(size).astype(np.float32), rng.random(size) < 0.6, np.int32(size)


OP = OwnOp(
    inputs=inputs,
    sizes=(16, 256, 4096),
    size_unit="detections",
    numpy=average_precision,
    differentiable=(),
    source="evaluation callbacks of detectors, PASCAL VOC style",
)
EDGES = {
    "empty": (np.zeros(0, np.float32), np.zeros(0, bool), np.int32(3)),
    "one": (np.ones(1, np.float32), np.ones(1, bool), np.int32(1)),
    "no objects": (np.ones(2, np.float32), np.zeros(2, bool), np.int32(0)),
    "ties": (np.ones(4, np.float32), np.array([True, False, True, False]), np.int32(3)),
}
