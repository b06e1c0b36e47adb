"""Change the brightness of images and blank a square in each, with a port to TensorFlow ops to compare.

    pyopbench run examples/augmentation.py --quick

Random numbers are inputs, so that every variant changes the same images in the same way.
"""

import numpy as np
import tensorflow as tf

from pyopbench import OwnOp

SIDE = 64
HOLE = 16


def augment(images, gains, corners):
    """Return `(n, 64, 64, 3) uint8` images, brighter or darker by `gains`, with a blank square at `corners`."""
    found = np.empty_like(images)
    for place, (image, gain, (top, left)) in enumerate(zip(images, gains, corners, strict=True)):
        found[place] = np.clip(image * gain, 0, 255).astype(np.uint8)
        found[place, top : top + HOLE, left : left + HOLE] = 0
    return found


def augment_in_ops(images, gains, corners):
    """Return the same in TensorFlow ops, the whole batch at once."""
    bright = tf.clip_by_value(tf.cast(images, tf.float32) * gains[:, None, None, None], 0.0, 255.0)
    offsets = tf.range(SIDE)[None, :] - corners[:, :, None]
    inside = tf.logical_and(offsets >= 0, offsets < HOLE)
    hole = tf.logical_and(inside[:, 0, :, None], inside[:, 1, None, :])
    return tf.where(hole[..., None], tf.zeros_like(images), tf.cast(bright, tf.uint8))


def inputs(size, rng):
    """Return `size` images, gains and corners."""
    images = rng.integers(0, 256, (size, SIDE, SIDE, 3), dtype=np.uint8)
    corners = rng.integers(0, SIDE - HOLE, (size, 2), dtype=np.int32)
    return images, rng.uniform(0.7, 1.3, size).astype(np.float32), corners


OP = OwnOp(inputs=inputs, sizes=(1, 8, 64), size_unit="images", numpy=augment, tensor=augment_in_ops)
