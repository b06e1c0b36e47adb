"""Does it work in a replica of MirroredStrategy, with its gradient?"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.worker.subject import VALUES, Fails, Probe, Seen, Subject, first_derivative, gradient_of, require_equal

REPLICAS = 2


def run(subject: Subject) -> Seen:
    """Compute values and gradients on two logical CPUs, each with an input of its own."""
    devices = [device.name for device in tf.config.list_logical_devices("CPU")]
    if len(devices) < REPLICAS:
        raise Fails(f"this process has {len(devices)} logical CPU, and was to have {REPLICAS}")
    strategy = tf.distribute.MirroredStrategy(devices[:REPLICAS])
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
        require_equal(f"what replica {place} computes", value, x**3)
        require_equal(f"the gradient in replica {place}", gradient, first_derivative(x))
    return Seen()


PROBE = Probe("mirrored", "MirroredStrategy over two logical CPUs, with its gradient", run)
