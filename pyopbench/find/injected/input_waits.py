"""Measures how long a program waits for the next element of its `tf.data` iterators. Standard library only.

In eager code the clock is read around the call. In a graph, as in a training step of Keras, two ops read TensorFlow's
clock before and after `IteratorGetNext`, and a variable adds up what lies between. Nothing is added under a
distribution strategy, whose iterators are made otherwise, or in graphs of TensorFlow 1.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

MODULE = "tensorflow.python.data.ops.iterator_ops"
"""Where TensorFlow 2 defines the iterator of eager code and of `tf.function`, `OwnedIterator`."""

METHODS = ("_next_internal", "get_next_as_optional")
"""By which an element is taken: `next`, `get_next` and Keras call the first, a `for` loop in a graph the second."""

INPUT_GRAPHS = ("Dataset", "tf_data_")
"""How the names of the functions of a pipeline begin (tensorflow/python/data/ops/structured_function.py)."""


class InputWaits:
    """How many elements this process took from its iterators, and how long it waited for them.

    Attributes:
        trouble: why elements that are taken in graphs are not counted, in the words of Python; empty if they are.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.trouble = ""
        self.reset()

    def reset(self) -> None:
        """Begin from zero, as a forked process has to; TensorFlow does not work in one, nor does its variable."""
        self.lock = threading.RLock()
        self.eager = [0, 0.0]
        self.in_graphs: Any = None
        self.read = [0, 0.0]

    def install(self, iterator_ops: Any) -> None:
        """Wrap the methods of TensorFlow's iterator."""
        iterator = iterator_ops.OwnedIterator
        for name in METHODS:
            setattr(iterator, name, self._wrap(getattr(iterator, name), iterator_ops.context))

    def as_dict(self) -> dict[str, float]:
        """Return the elements that were taken and the seconds that they were waited for, as plain data."""
        with self.lock:
            if self.in_graphs is not None:
                try:
                    self.read = self.in_graphs.numpy().tolist()
                except Exception as error:  # noqa: BLE001 - TensorFlow has ended before Python
                    self.trouble = self.trouble or repr(error)
            return {"elements": int(self.eager[0] + self.read[0]), "seconds": self.eager[1] + self.read[1]}

    def _wrap(self, original: Callable[..., Any], context: Any) -> Callable[..., Any]:
        clock = self.clock

        @functools.wraps(original)
        def wrapper(iterator: Any, *arguments: Any, **named: Any) -> Any:
            if not context.executing_eagerly():
                return self._in_graph(original, iterator, *arguments, **named)
            start = clock()
            taken = 0
            try:
                found = original(iterator, *arguments, **named)
                taken = 1
            finally:
                seconds = clock() - start
                with self.lock:
                    self.eager[0] += taken
                    self.eager[1] += seconds
            return found

        return wrapper

    def _in_graph(self, original: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Call the original between two readings of TensorFlow's clock, in that order; without them if they fail."""
        import tensorflow as tf

        try:
            variable = self._variable(tf)
            begun = tf.timestamp()
        except Exception as error:  # noqa: BLE001 - the program goes on, whatever this stumbles over
            self.trouble = repr(error)
            return original(*arguments, **named)
        with tf.control_dependencies([begun]):
            found = original(*arguments, **named)
        taken = [one for one in tf.nest.flatten(found, expand_composites=True) if tf.is_tensor(one)]
        with tf.device("CPU:0"), tf.control_dependencies(taken):
            variable.assign_add(tf.stack([tf.ones((), tf.float64), tf.timestamp() - begun]))
        return found

    def _variable(self, tf: Any) -> Any:
        """Return the variable of all graphs: elements, and seconds."""
        with self.lock:
            if self.in_graphs is None:
                with tf.init_scope():
                    if not tf.executing_eagerly():
                        raise RuntimeError("a graph of TensorFlow 1")
                    with tf.device("CPU:0"):
                        self.in_graphs = tf.Variable(tf.zeros(2, tf.float64), trainable=False, name="pyopbench_waits")
            return self.in_graphs


def is_in_input(graph: Any) -> bool:
    """Whether a graph, or one that it is built within, is a function of a `tf.data` pipeline."""
    while graph is not None:
        if str(getattr(graph, "name", "")).startswith(INPUT_GRAPHS):
            return True
        graph = getattr(graph, "outer_graph", None)
    return False
