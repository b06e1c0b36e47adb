"""A simulated training step on the GPU, in front of which pipelines are measured, and ports for a batch within it.

The step copies a batch to the device, reads all of it there, and then multiplies matrices for as long as the user's
step takes. A loop in Python draws a batch, calls the step and reads a number back, as a training loop reads its loss.
Reading waits for the device without holding the GIL, while tf.data makes the next batch. So every time is that of the
program as a whole: pipeline, copies and step.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.op import Body
from pyopbench.model.places import DEVICE, HOST
from pyopbench.ops.kernels.simulated_device import SCOPES
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.prepare import gpu

SCOPE = SCOPES[DEVICE]
SIDES = (64, 128, 256, 512, 1024, 2048, 4096)
"""Sides of the matrices. With larger ones the host has less to do per second of the device, as with large models."""
PIECES = 20
"""A step has at least this many products if possible, so that their number sets its time to a few percent."""
TRIED, FURTHER, CORRECTIONS = 3, 8, 3
"""Calls to time; products in the longer of the two steps that give the time of one product; and how often the number
of products is corrected by the time that a step then takes, because a device that was idle is slow at first."""


@dataclass(frozen=True, eq=False)
class SimulatedStep:
    """Work on the device for the elements of one delivery.

    Attributes:
        function: the graph, called with the matrix, the number of products and the components of a delivery; returns a
            number and the outputs of the port in it, if there is one.
        matrix: the matrix to multiply by, `(side, side) float32`, on the device.
        products: the number of products.
    """

    function: Callable[..., Sequence[Any]]
    matrix: Any
    products: int

    def __call__(self, components: Sequence[Any]) -> list[Any]:
        """Run the step on a delivery and wait for it; return the delivery, or the outputs of the port."""
        value, *outputs = self.run(components)
        value.numpy()
        return outputs or list(components)

    def run(self, components: Sequence[Any]) -> Sequence[Any]:
        """Start the step, and return its results; the GPU may still be at work."""
        tensors = [one for one in components if one.dtype != tf.string]  # a GPU has no memory for strings
        return self.function(self.matrix, self.products, *tensors)

    def behind(self, port: Body) -> SimulatedStep:
        """Return the same step with a port for a batch before its work, in one graph on the device."""
        return replace(self, function=_graph_of(port))


def make_step(seconds: float, ready: Sequence[Any]) -> SimulatedStep:
    """Return a step that takes a given time if its input is ready.

    Args:
        seconds: the time; if calling an empty step takes longer, the step is empty.
        ready: the components of a delivery.

    Raises:
        Elsewhere: TensorFlow does not run it on the GPU.
    """
    step = SimulatedStep(_graph_of(None), _matrix(SIDES[0]), 0)
    gpu.require_there("what the step computes", [step.run(ready)[0]])
    matrices = {SIDES[0]: step.matrix}

    def timed(side: int, products: int) -> float:
        if side not in matrices:
            matrices[side] = _matrix(side)
        one = replace(step, matrix=matrices[side], products=products)
        start = perf_counter()
        one(ready)
        return perf_counter() - start

    side, products = calibrate(timed, seconds)
    return replace(step, matrix=matrices[side], products=products)


def calibrate(timed: Callable[[int, int], float], seconds: float) -> tuple[int, int]:
    """Return a side of the matrices and a number of products with which a step takes a given time.

    Args:
        timed: returns the seconds of a step with a side and a number of products.
        seconds: the time that the step should take.
    """
    chosen, empty, each = SIDES[0], 0.0, 0.0
    for side in SIDES:
        first = min(timed(side, 0) for _ in range(TRIED))
        product = (min(timed(side, FURTHER) for _ in range(TRIED)) - first) / FURTHER
        if side != chosen and product * PIECES > seconds:
            break
        chosen, empty, each = side, first, product
    products = max(round((seconds - empty) / max(each, 1e-9)), 0)
    for _ in range(CORRECTIONS):
        taken = statistics.median(timed(chosen, products) for _ in range(TRIED)) - empty
        products = max(round(products * (seconds - empty) / taken), 0) if taken > 0 else products
    return chosen, products


def _matrix(side: int) -> Any:
    """Return a permutation as a matrix, so that products neither grow nor vanish."""
    rows = np.random.default_rng(side).permutation(side)
    with tf.device(SCOPE):
        return tf.constant(np.eye(side, dtype=np.float32)[rows])


def _graph_of(port: Body | None) -> Callable[..., Sequence[Any]]:
    def step(matrix: Any, products: Any, *tensors: Any) -> tuple[Any, ...]:
        with tf.device(SCOPE):
            outputs = () if port is None else as_tuple(port(*tensors))
            read = [tf.reduce_sum(tf.cast(one, tf.float32)) for one in outputs or tensors]
            with tf.control_dependencies(read):  # the products start when all data was read, as training does
                begun = tf.identity(matrix)
            _, value = tf.while_loop(
                lambda done, value: done < products,
                lambda done, value: (done + 1, tf.matmul(matrix, value)),
                (tf.constant(0), begun),
            )
            return (tf.add_n([tf.reduce_max(value), *read]), *outputs)

    function: Callable[..., Sequence[Any]] = tf.function(step, autograph=False, reduce_retracing=True)

    def called(matrix: Any, products: int, *tensors: Any) -> Sequence[Any]:
        with tf.device(SCOPES[HOST]):
            count = tf.constant(products)
        return function(matrix, count, *tensors)

    return called
