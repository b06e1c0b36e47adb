"""Does a deterministic parallel map call the body in the order of the elements?"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT
from pyopbench.worker.probes._pipelines import few_threads
from pyopbench.worker.subject import Differs, Fails, Probe, Seen, Subject

ELEMENTS, CALLS = 8, 4
WAIT_SECONDS = 2.0
"""How long the first call waits for another one to come in beside it: calls that go one by one never do."""


class Queue:
    """Numbers the calls of a body; the first element's only once another call has had its number."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.another = threading.Event()
        self.calls = 0

    def number(self, place: int) -> int:
        """Return the number of the call for the element at `place`."""
        if place == 0:
            self.another.wait(WAIT_SECONDS)
        with self.lock:
            found, self.calls = self.calls, self.calls + 1
        self.another.set()
        return found


def run(subject: Subject) -> Seen:
    """Let the body tell element and number of its call, in `map(num_parallel_calls=4, deterministic=True)`."""
    subject.require_python()
    queue = Queue()

    def body(x: Any) -> Any:
        place = int(np.asarray(x)[0])
        found = np.array([place, queue.number(place)], np.float32)
        return tf.constant(found) if subject.given_tensors else found

    function = subject.build(body, NO_GRADIENT)
    elements = tf.data.Dataset.range(ELEMENTS).map(lambda place: tf.fill([2], tf.cast(place, tf.float32)))
    data = elements.map(function, num_parallel_calls=CALLS, deterministic=True).with_options(few_threads(CALLS))
    places, numbers = zip(*(found.numpy().astype(int).tolist() for found in data), strict=True)
    if places != tuple(range(ELEMENTS)):
        raise Differs(f"elements come out in the order {places}")
    if numbers != tuple(range(ELEMENTS)):
        raise Fails(
            f"elements come out in order, and were computed in another: calls {', '.join(map(str, numbers))}. A body "
            "that draws random numbers, or counts, gives others in every run"
        )
    return Seen()


PROBE = Probe("map_order", "a deterministic parallel map calls the body in order", run)
