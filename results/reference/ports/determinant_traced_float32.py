"""`numpy_body` of determinant.py as TensorFlow ops."""

import functools
import sys

import tensorflow as tf


def for_keras(function):
    """Let a function of tensors be called with those of a Keras model: it adds itself as a layer.

    A saved model is loaded where this module has been imported, after Keras.
    """
    name = f"{function.__module__}_{function.__name__}".replace(".", "_")
    in_graph = tf.function(function)

    @functools.cache
    def layer_of(package):
        keras = sys.modules[package]

        class PortLayer(keras.layers.Layer):
            def __init__(self, **config):
                super().__init__(autocast=False, **config)
                self.supports_jit = False  # XLA may not compile it

            def call(self, inputs):
                # Keras 2 loads a single input without the structure that it was in.
                tensors, named = ([inputs], {}) if tf.is_tensor(inputs) else inputs
                return in_graph(*tensors, **named)

        PortLayer.__name__ = name
        keras.utils.get_custom_objects()[name] = PortLayer
        return PortLayer

    @functools.wraps(function, updated=())
    def of_tensors(*tensors, **named):
        for one in (*tensors, *named.values()):
            if type(one).__name__ == "KerasTensor":
                layer = layer_of(type(one).__module__.partition(".")[0])
                return layer()((tensors, named))
        return function(*tensors, **named)

    for package in ("keras", "tf_keras"):
        if sys.modules.get(package):  # TensorFlow has imported one of them
            layer_of(package)
    return of_tensors


@for_keras
def numpy_body(x):
    """Return the determinants `(size,)` of the matrices `x` `(size, 4, 4)`.

    TensorFlow port of `numpy_body` in determinant.py; the gradient is TensorFlow's own.

    Args:
        x: float32 tensor, with 3 axes.

    Returns:
        float32 tensor, a vector.
    """
    return tf.linalg.det(x)
