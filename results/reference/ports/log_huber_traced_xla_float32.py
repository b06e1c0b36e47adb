"""`numpy_body` of log_huber.py as TensorFlow ops."""

import functools
import sys

import numpy as np
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


def np_compiled(function):
    """Return a function compiled by XLA, with a gradient that XLA compiles too, and that runs the function again.

    Otherwise TensorFlow cannot compute the gradient of a loop or a condition in it: values that it needs stay inside
    XLA.
    A gradient of the gradient is compiled in the same way, and runs both again.
    """
    compiled = tf.function(function, jit_compile=True)

    def differentiable(values):
        return [one for one in values if tf.is_tensor(one) and (one.dtype.is_floating or one.dtype.is_complex)]

    def gradient_of(inputs, named, upstream):
        watched = differentiable(tf.nest.flatten((inputs, named)))
        with tf.GradientTape() as tape:
            tape.watch(watched)
            outputs = tf.nest.flatten(function(*inputs, **named))
        kept = [place for place, one in enumerate(outputs) if differentiable([one])]
        outputs, upstream = [outputs[place] for place in kept], [upstream[place] for place in kept]
        return tape.gradient(outputs, watched, upstream, unconnected_gradients="zero")

    gradient = functools.cache(lambda: np_compiled(gradient_of))

    def call(*inputs, **named):
        given = tf.nest.flatten((inputs, named))
        given = [tf.convert_to_tensor(one) if isinstance(one, np.ndarray | tf.Variable) else one for one in given]
        watched = differentiable(given)

        def arguments(tensors):
            rest = iter(tensors)
            every = [next(rest) if differentiable([one]) else one for one in given]
            return tf.nest.pack_sequence_as((inputs, named), every)

        def with_gradient(*tensors):
            # A tape must record only `with_gradient`, not the ops in it.
            stopped, stopped_named = arguments([tf.stop_gradient(one) for one in tensors])
            outputs = compiled(*stopped, **stopped_named)
            return outputs, lambda *upstream: gradient()(*arguments(tensors), upstream)

        if not watched:
            return compiled(*inputs, **named)
        differentiated = tf.custom_gradient(with_gradient)
        # In a branch of `tf.cond`, TensorFlow finds the inputs of a custom gradient only if it is in a function.
        return differentiated(*watched) if tf.executing_eagerly() else tf.function(differentiated)(*watched)

    return functools.wraps(function)(tf.autograph.experimental.do_not_convert(call))


@for_keras
@np_compiled
def numpy_body(x, m):
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), `()`, for scalars x and m > 0.

    TensorFlow port of `numpy_body` in log_huber.py, compiled by XLA; the gradient runs
    it again.

    Args:
        x: float32 tensor, a number.
        m: float32 tensor, a number.

    Returns:
        float32 tensor, a number.
    """
    if tf.abs(x) <= m:
        return tf.square(x)
    return tf.square(m) * (1 - 2 * tf.math.log(m) + tf.math.log(tf.square(x)))
