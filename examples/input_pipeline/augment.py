"""A body as in many input pipelines: an augmentation, pixel by pixel in Python.

    pyopbench pipeline examples/input_pipeline/augment.py --step-ms 20 --step-elements 32

It holds the GIL all the time, so `num_parallel_calls` does not help. `train.py` next to it trains a small
Keras model on such images, with the callback and with what the report proposes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopbench import OwnOp

SIDE = 16


def augment(image: Any) -> Any:
    """Return an image mirrored and with more contrast, `(side, side, 3)` float32."""
    out = np.empty_like(image)
    height, width, _ = image.shape
    for row in range(height):
        for column in range(width):
            for channel in range(3):
                value = (image[row, width - 1 - column, channel] - np.float32(0.5)) * np.float32(1.5) + np.float32(0.5)
                out[row, column, channel] = min(max(value, np.float32(0)), np.float32(1))
    return out


def augment_in_tensorflow(image: Any) -> Any:
    """Return the same in TensorFlow ops, of an image or a batch of them."""
    import tensorflow as tf

    return tf.clip_by_value((tf.reverse(image, [-2]) - 0.5) * 1.5 + 0.5, 0.0, 1.0)


def images(size: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return an image of `size` pixels a side."""
    return (rng.random((size, size, 3), np.float32),)


OP = OwnOp(
    inputs=images,
    sizes=(SIDE,),
    size_unit="pixels a side",
    numpy=augment,
    tensor=augment_in_tensorflow,
    differentiable=(),
)
