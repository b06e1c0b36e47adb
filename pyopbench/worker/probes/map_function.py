"""Does a body that calls a `tf.function` end in a pipeline, or does it wait for a thread that waits for it?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.probes._pipelines import few_threads
from pyopbench.worker.subject import Probe, Seen, Subject, load_subject

ELEMENTS = 16


def run(subject: Subject) -> Seen:
    """Call a `tf.function` in the body, in maps with one call at a time and with four, on one thread and on more.

    In a process of its own: one that hangs is ended, and is said to have been silent.
    """
    subject.require_python()
    subject.elsewhere(read, subject.variant.name, peer="map_function")
    return Seen()


def read(variant: str) -> None:
    """Read the pipelines to their ends."""
    subject = load_subject(variant, NO_GRADIENT, Path())

    @tf.function  # type: ignore[untyped-decorator,unused-ignore]
    def inner(x: Any) -> Any:
        return x * x * x if tf.reduce_max(x) < 1e6 else x**3

    def body(x: Any) -> Any:
        found = inner(tf.convert_to_tensor(x))
        return found if subject.given_tensors else found.numpy()

    function = subject.build(body, NO_GRADIENT)
    for threads, calls in ((1, None), (1, 4), (4, 4)):
        data = tf.data.Dataset.from_tensors(subject.x).repeat(ELEMENTS).map(function, num_parallel_calls=calls)
        for found in data.with_options(few_threads(threads)):
            subject.require_values("what the body gives", found)


PROBE = Probe("map_function", "a tf.function inside the body, in tf.data maps", run)
