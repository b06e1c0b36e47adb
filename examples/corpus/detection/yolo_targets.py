"""Ground truth boxes are written into the grid cells and anchors that are to predict them."""

import numpy as np

from pyopbench import OwnOp

ANCHORS = np.array([[10, 13], [33, 23], [62, 45]], dtype=np.float32)
GRID = 8
CLASSES = 5
IMAGE = 128


def preprocess_true_boxes(true_boxes):
    y_true = np.zeros((GRID, GRID, len(ANCHORS), 5 + CLASSES), dtype="float32")
    boxes_xy = (true_boxes[..., 0:2] + true_boxes[..., 2:4]) // 2
    boxes_wh = true_boxes[..., 2:4] - true_boxes[..., 0:2]
    valid = boxes_wh[..., 0] > 0
    for t in range(true_boxes.shape[0]):
        if not valid[t]:
            continue
        wh = boxes_wh[t]
        inter = np.minimum(wh, ANCHORS).prod(axis=-1)
        iou = inter / (wh.prod() + ANCHORS.prod(axis=-1) - inter)
        n = np.argmax(iou)
        i = np.floor(boxes_xy[t, 0] / IMAGE * GRID).astype("int32")
        j = np.floor(boxes_xy[t, 1] / IMAGE * GRID).astype("int32")
        c = true_boxes[t, 4].astype("int32")
        y_true[j, i, n, 0:2] = boxes_xy[t] / IMAGE
        y_true[j, i, n, 2:4] = wh / IMAGE
        y_true[j, i, n, 4] = 1
        y_true[j, i, n, 5 + c] = 1
    return y_true


def inputs(size, rng):
    corner = rng.integers(0, 80, (size, 2))
    boxes = np.concatenate([corner, corner + rng.integers(4, 46, (size, 2)), rng.integers(0, CLASSES, (size, 1))], 1)
    boxes[::5, :] = 0
    return (boxes.astype(np.float32),)


OP = OwnOp(
    inputs=inputs,
    sizes=(2, 20, 100),
    size_unit="boxes",
    numpy=preprocess_true_boxes,
    differentiable=(),
    source="input pipelines of YOLO for Keras, mapped over each image",
)
EDGES = {
    "empty": (np.zeros((0, 5), np.float32),),
    "padding": (np.zeros((3, 5), np.float32),),
    "ties": (np.tile(np.float32([8, 8, 40, 40, 2]), (3, 1)),),
}
