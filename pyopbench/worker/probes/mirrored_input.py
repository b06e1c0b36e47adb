"""Does a pipeline with it feed the replicas of MirroredStrategy?"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.subject import VALUES, Fails, Probe, Seen, Subject, require_equal

REPLICAS, BATCHES = 2, 3


def run(subject: Subject) -> Seen:
    """Map elements that differ, distribute them over two logical CPUs, and see that each replica gets its own."""
    devices = [device.name for device in tf.config.list_logical_devices("CPU")]
    if len(devices) < REPLICAS:
        raise Fails(f"this process has {len(devices)} logical CPU, and was to have {REPLICAS}")
    strategy = tf.distribute.MirroredStrategy(devices[:REPLICAS])
    factors = np.arange(1, 1 + REPLICAS * BATCHES, dtype=np.float32)
    inputs = factors[:, None] * np.array(VALUES, np.float32)
    data = tf.data.Dataset.from_tensor_slices(inputs).map(subject.build(gradient=NO_GRADIENT), num_parallel_calls=2)
    # A batch has one element for each replica; shapes are lost behind a callback.
    batches = data.map(lambda y: tf.ensure_shape(y, [len(VALUES)])).batch(REPLICAS)
    found = []
    for batch in strategy.experimental_distribute_dataset(batches):
        found += [part.numpy() for part in strategy.experimental_local_results(batch)]
    require_equal("what the replicas were given", np.concatenate(found), inputs.astype(np.float64) ** 3)
    return Seen()


PROBE = Probe("mirrored_input", "a tf.data map that feeds MirroredStrategy over two logical CPUs", run)
