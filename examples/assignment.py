"""Match detections to objects by SciPy's optimal assignment, which has no gradient.

    pyopbench run examples/assignment.py --quick

The shape of the result depends on the data: pairs that overlap too little are dropped.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from pyopbench import OwnOp

LEAST_OVERLAP = 0.1


def overlaps(boxes, others):
    """Return the intersection over union of each pair of boxes (left, top, right, bottom)."""
    top_left = np.maximum(boxes[:, None, :2], others[None, :, :2])
    bottom_right = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    shared = np.prod(np.clip(bottom_right - top_left, 0, None), axis=2)
    areas, other_areas = (np.prod(some[:, 2:] - some[:, :2], axis=1) for some in (boxes, others))
    return shared / (areas[:, None] + other_areas[None, :] - shared)


def matches(boxes, others):
    """Return the indices of the matched boxes, and of the boxes they are matched with."""
    overlap = overlaps(boxes, others)
    rows, columns = linear_sum_assignment(-overlap)
    near = overlap[rows, columns] > LEAST_OVERLAP
    return rows[near], columns[near]


def inputs(size, rng):
    """Return `size` boxes, and the same boxes moved a little and in another order."""
    corners = rng.uniform(0, 10, (size, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(0.5, 2, (size, 2))], axis=1)
    return boxes, rng.permutation(boxes + rng.normal(0, 0.2, (size, 1)))


OP = OwnOp(inputs=inputs, sizes=(10, 50, 250), size_unit="boxes", numpy=matches)
