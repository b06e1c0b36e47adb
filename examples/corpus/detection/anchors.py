"""Anchor boxes of each place of a feature map, from its height, its width and its stride."""

import numpy as np

from pyopbench import OwnOp


def anchors_at_origin(base_size=16, ratios=(0.5, 1.0, 2.0), scales=(8, 16, 32)):
    ratios = np.asarray(ratios)
    scales = np.asarray(scales)
    anchors = np.zeros((len(ratios) * len(scales), 4))
    anchors[:, 2:] = base_size * np.tile(scales, (2, len(ratios))).T
    areas = anchors[:, 2] * anchors[:, 3]
    anchors[:, 2] = np.sqrt(areas / np.repeat(ratios, len(scales)))
    anchors[:, 3] = anchors[:, 2] * np.repeat(ratios, len(scales))
    anchors[:, 0::2] -= np.tile(anchors[:, 2] * 0.5, (2, 1)).T
    anchors[:, 1::2] -= np.tile(anchors[:, 3] * 0.5, (2, 1)).T
    return anchors


def generate_anchors(height, width, stride):
    shift_x = (np.arange(0, width) + 0.5) * stride
    shift_y = (np.arange(0, height) + 0.5) * stride
    shift_x, shift_y = np.meshgrid(shift_x, shift_y)
    shifts = np.vstack((shift_x.ravel(), shift_y.ravel(), shift_x.ravel(), shift_y.ravel())).transpose()
    base = anchors_at_origin()
    a, k = base.shape[0], shifts.shape[0]
    anchors = base.reshape((1, a, 4)) + shifts.reshape((1, k, 4)).transpose((1, 0, 2))
    return anchors.reshape((k * a, 4)).astype(np.float32)


def inputs(size, rng):
    return np.int32(size), np.int32(size + size // 3), np.int32(16)


OP = OwnOp(
    inputs=inputs,
    sizes=(4, 16, 64),
    size_unit="rows",
    numpy=generate_anchors,
    source="region proposal networks: anchors are made inside the graph because the image size varies",
)
EDGES = {
    "empty": (np.int32(0), np.int32(3), np.int32(16)),
    "one": (np.int32(1), np.int32(1), np.int32(8)),
}
