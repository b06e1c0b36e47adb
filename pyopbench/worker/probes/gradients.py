"""Probes of gradients: is there one, of second order, in loops, in replicas, and of what the body captures?"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.op_subject import OpSubject, require_second_derivative
from pyopbench.worker.subject import (
    VALUES,
    Fails,
    Inapplicable,
    Seen,
    Subject,
    first_derivative,
    gradient_of,
    require_equal,
)


def called_twice(subject: Subject) -> Seen:
    """Take the gradient of f(x) + f(2 x) + x**2, where f is one `tf.function` with one trace."""
    function = subject.function()
    found = gradient_of(lambda x: function(x) + function(2 * x), subject.x)
    x = np.array(VALUES)
    require_equal("the gradient of f(x) + f(2 x) + x**2", found, 3 * x**2 + 24 * x**2 + 2 * x)
    return Seen()


def closure_variable(subject: Subject) -> Seen:
    """Take the gradient of v x**3 + 2 v x by v, where v x**3 is the body's and v is captured by it."""
    if subject.variant.body in ("kernel", "numba"):
        raise Inapplicable("its body is machine code and captures nothing")
    variable = tf.Variable(1.5)
    as_array = subject.is_python and not subject.given_tensors

    def body(x: Any) -> Any:
        return x * x * x * (variable.numpy() if as_array else variable)

    function, x = subject.function(body), subject.x
    with tf.GradientTape() as tape:
        y = function(x) + 2 * variable * x
    require_equal("the result", y, 1.5 * np.array(VALUES) ** 3 + 3 * np.array(VALUES))
    expected = np.sum(np.array(VALUES) ** 3 + 2 * np.array(VALUES))
    require_equal("the gradient by the variable", tape.gradient(y, variable), expected)
    return Seen()


def gradient(subject: Subject) -> Seen:
    """Take the gradient of the op plus x**2, through the variant's gradient mechanism."""
    require_equal("the gradient of f(x) + x**2", gradient_of(subject.function(), subject.x), first_derivative())
    return Seen(f"by {subject.gradient}")


def gradient_twice(subject: Subject) -> Seen:
    """Take the gradient twice from one persistent tape."""
    function, x = subject.function(), subject.x
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = function(x) + x * x
    for which in ("first", "second"):
        require_equal(f"the {which} gradient of f(x) + x**2", tape.gradient(y, x), first_derivative())
    return Seen()


REPLICAS = 2


def two_replicas() -> tf.distribute.Strategy:
    """Return a strategy with a replica on each of two logical CPUs."""
    devices = [device.name for device in tf.config.list_logical_devices("CPU")]
    if len(devices) < REPLICAS:
        raise Fails(f"this process has {len(devices)} logical CPU, and was to have {REPLICAS}")
    return tf.distribute.MirroredStrategy(devices[:REPLICAS])


def mirrored(subject: Subject) -> Seen:
    """Compute values and gradients on two logical CPUs, each with an input of its own."""
    strategy = two_replicas()
    function = subject.function()

    def scaled(context: Any) -> Any:
        return subject.x * (1.0 + context.replica_id_in_sync_group)

    def both(x: Any) -> Any:
        return function(x), gradient_of(function, x)

    step = tf.function(lambda x: strategy.run(both, args=(x,)), autograph=False)
    found = step(strategy.experimental_distribute_values_from_function(scaled))
    values, gradients = map(strategy.experimental_local_results, found)
    for place, (value, gradient) in enumerate(zip(values, gradients, strict=True)):
        x = (1 + place) * np.array(VALUES)
        require_equal(f"the result of replica {place}", value, x**3)
        require_equal(f"the gradient in replica {place}", gradient, first_derivative(x))
    return Seen()


def own_gradient(subject: Subject) -> Seen:
    """Take the gradient of the op, with nothing attached, plus x**2."""
    found = gradient_of(subject.function(gradient=NO_GRADIENT), subject.x)
    require_equal("the gradient of f(x) + x**2", found, first_derivative())
    return Seen()


def second_order(subject: Subject) -> Seen:
    """Differentiate twice: a cube plus x**2, which gives 6 x + 2, or an op, held against finite differences."""
    if isinstance(subject, OpSubject):
        against = require_second_derivative(subject)
        return Seen(f"by {subject.gradient}, against {against}")
    function, x = subject.function(), subject.x
    with tf.GradientTape() as tape:
        tape.watch(x)
        first = gradient_of(function, x)
    require_equal("the second derivative of f(x) + x**2", tape.gradient(first, x), 6 * np.array(VALUES) + 2)
    return Seen(f"by {subject.gradient}")


ROUNDS = 3


def while_loop(subject: Subject) -> Seen:
    """Compute y -> f(y) / 2 three times in a loop, and its gradient."""
    function, (given,) = subject.function(), subject.given

    def step(i: Any, y: Any) -> tuple[Any, Any]:
        return i + 1, tf.ensure_shape(function(y) / 2, given.shape)

    def rounds(x: Any) -> Any:
        return tf.while_loop(lambda i, y: i < ROUNDS, step, (tf.constant(0), x))[1]

    loop = tf.function(rounds, autograph=False)
    y, slope = np.array(VALUES), np.ones(len(VALUES))
    for _ in range(ROUNDS):
        slope, y = slope * 3 * y**2 / 2, y**3 / 2
    require_equal("the result of the loop", loop(subject.x), y)
    require_equal("the gradient of loop(x) + x**2", gradient_of(loop, subject.x), slope + 2 * np.array(VALUES))
    return Seen()
