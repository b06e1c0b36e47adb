"""What makes a layer of Keras of a port: no function of NumPy's, but written into each port as they are."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf


def for_keras(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of tensors be called with those of a Keras model: it adds itself as a layer.

    A saved model is loaded where this module has been imported, after Keras.
    """
    name = f"{function.__module__}_{function.__name__}".replace(".", "_")
    in_graph = tf.function(function)

    @functools.cache
    def layer_of(package: str) -> Any:
        keras = sys.modules[package]

        class PortLayer(keras.layers.Layer):  # type: ignore[name-defined, misc]
            def __init__(self, **config: Any) -> None:
                super().__init__(autocast=False, **config)
                self.supports_jit = False  # XLA may not compile it

            def call(self, inputs: Any) -> Any:
                # Keras 2 loads a single input without the structure that it was in.
                tensors, named = ([inputs], {}) if tf.is_tensor(inputs) else inputs
                return in_graph(*tensors, **named)

        PortLayer.__name__ = name
        keras.utils.get_custom_objects()[name] = PortLayer
        return PortLayer

    @functools.wraps(function, updated=())
    def of_tensors(*tensors: Any, **named: Any) -> Any:
        for one in (*tensors, *named.values()):
            if type(one).__name__ == "KerasTensor":
                layer = layer_of(type(one).__module__.partition(".")[0])
                return layer()((tensors, named))
        return function(*tensors, **named)

    for package in ("keras", "tf_keras"):
        if sys.modules.get(package):  # TensorFlow has imported one of them
            layer_of(package)
    return of_tensors
