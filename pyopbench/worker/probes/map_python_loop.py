"""Does a parallel map scale where the body is a loop in Python?"""

from __future__ import annotations

import time

from pyopbench.worker.probes._pipelines import CALL_SECONDS, scaling
from pyopbench.worker.subject import Probe, Seen, Subject


def rounds_of_a_call() -> int:
    """Return how many rounds of the loop last `CALL_SECONDS`."""
    rounds, start = 20_000, time.perf_counter()
    loop(rounds)
    return int(rounds * CALL_SECONDS / (time.perf_counter() - start)) + 1


def loop(rounds: int) -> int:
    """Add numbers one by one."""
    total = 0
    for i in range(rounds):
        total += i
    return total


def run(subject: Subject) -> Seen:
    """Compare `map(num_parallel_calls=2)` with 1, for a body that computes in Python."""
    subject.require_python()
    rounds = rounds_of_a_call()
    return scaling(subject, lambda: loop(rounds))


PROBE = Probe("map_python_loop", "tf.data parallel map of a Python loop: two calls beside one", run)
