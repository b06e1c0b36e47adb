"""A triplet loss with a gradient written by hand, as in research code, and with a port to TensorFlow ops.

    pyopbench run examples/triplet_loss.py --quick

Because it has a gradient, the report also answers for training: the callback and every port run forward and backward.
"""

import numpy as np
import tensorflow as tf

from pyopbench import OwnOp

FEATURES = 32
MARGIN = 1.0


def loss(anchors, same, others):
    """Return the mean hinge loss of three `(n, features)` arrays: `same` should be nearer to `anchors`."""
    near = np.sum((anchors - same) ** 2, axis=1)
    far = np.sum((anchors - others) ** 2, axis=1)
    return np.mean(np.maximum(near - far + MARGIN, 0), keepdims=True)


def gradient(inputs, outputs, output_gradients):
    """Return the gradients with respect to the three inputs."""
    (anchors, same, others), (d_loss,) = inputs, output_gradients
    near = np.sum((anchors - same) ** 2, axis=1)
    far = np.sum((anchors - others) ** 2, axis=1)
    active = ((near - far + MARGIN > 0) * d_loss[0] * 2 / len(anchors)).astype(anchors.dtype)[:, None]
    return active * (others - same), active * (same - anchors), active * (anchors - others)


def loss_in_ops(anchors, same, others):
    """Return the same loss in TensorFlow ops, which have their own gradients."""
    near = tf.reduce_sum(tf.square(anchors - same), axis=1)
    far = tf.reduce_sum(tf.square(anchors - others), axis=1)
    return tf.reduce_mean(tf.maximum(near - far + MARGIN, 0), keepdims=True)


def inputs(size, rng):
    """Return `size` triplets, drawn so that about half of them are active."""
    anchors = rng.normal(0, 0.5, (size, FEATURES))
    same, others = (anchors + rng.normal(0, spread, (size, FEATURES)) for spread in (0.30, 0.35))
    return tuple(array.astype(np.float32) for array in (anchors, same, others))


OP = OwnOp(
    inputs=inputs,
    sizes=(16, 128, 1024),
    size_unit="triplets",
    numpy=loss,
    numpy_gradient=gradient,
    tensor=loss_in_ops,
)
