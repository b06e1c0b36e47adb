"""What probes of `tf.data` share: how much two parallel calls of a body bring."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.subject import Fails, Seen, Subject

ELEMENTS = 8
TURNS = 5
CALL_SECONDS = 0.02
"""Of one body: long beside what the pipeline itself takes."""

LEAST_GAIN = 1.4
"""How many times the throughput of one call at a time two at once have to give; bodies that exclude each other give
1 at the most, and bodies that do not give 2, less what the machine has no core for."""


def scaling(subject: Subject, work: Callable[[], object]) -> Seen:
    """Return how much faster a parallel map with two calls at once is than with one, for a body that does `work`.

    Raises:
        Fails: it is not clearly faster.
    """
    subject.require_python()

    def body(x: Any) -> Any:
        work()
        return x

    function = subject.build(body, NO_GRADIENT)
    pairs = [(_seconds(function, subject, calls=1), _seconds(function, subject, calls=2)) for _ in range(TURNS)]
    # What else the machine does only adds to a time, so that the least of each are what the two can do.
    gain = min(one for one, _ in pairs) / min(two for _, two in pairs)
    told = f"two calls at once give {gain:.1f} times the throughput of one"
    if gain < LEAST_GAIN:
        raise Fails(told)
    return Seen(told, {"gain": gain})


def few_threads(many: int) -> tf.data.Options:
    """Return options by which a pipeline has so many threads of its own, whatever the machine has."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = many
    return options


def _seconds(function: Any, subject: Subject, calls: int) -> float:
    data = tf.data.Dataset.from_tensors(subject.x).repeat(ELEMENTS).map(function, num_parallel_calls=calls)
    start = time.perf_counter()
    for _ in data.with_options(few_threads(4)):
        pass
    return time.perf_counter() - start
