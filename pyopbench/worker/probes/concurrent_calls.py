"""Is it right when several threads call it at once?"""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from pyopbench.model.failures import describe_error
from pyopbench.worker.subject import (
    VALUES,
    Differs,
    Fails,
    Probe,
    Seen,
    Subject,
    first_derivative,
    gradient_of,
    require_equal,
)

THREADS, CALLS = 4, 24


class Overlap:
    """Counts how many threads are in a body at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = self.most = 0

    def cube(self, x: Any) -> Any:
        """Return x cubed, after a while in which other threads may come."""
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.001)
        with self.lock:
            self.inside -= 1
        return x * x * x


def run(subject: Subject) -> Seen:
    """Take values and gradients in four threads, of one `tf.function`, each of an input of its own."""
    overlap = Overlap()
    function = subject.function(overlap.cube if subject.is_python else None)
    gradient_of(function, subject.x)

    def outcome(place: int) -> tuple[str, str]:
        try:
            _call(function, subject, place)
        except Differs as difference:
            return "silently wrong", str(difference)
        except Exception as error:  # noqa: BLE001 - what one call raises is one of many outcomes
            return "failed", describe_error(error)
        return "", ""

    with ThreadPoolExecutor(THREADS) as threads:
        outcomes = list(threads.map(outcome, range(CALLS)))
    told = {how: words for how, words in reversed(outcomes) if how}
    counts = Counter(how for how, _ in outcomes)
    summary = "; ".join(f"{counts[how]} of {CALLS} {how}: {words}" for how, words in sorted(told.items()))
    if "silently wrong" in told:
        raise Differs(summary)
    if told:
        raise Fails(summary)
    return Seen(f"up to {overlap.most} bodies at once" if subject.is_python else "")


def _call(function: Any, subject: Subject, place: int) -> None:
    factor = 1 + place / CALLS
    x, numbers = subject.x * factor, np.array(VALUES) * factor
    require_equal(f"what call {place} computes", function(x), numbers**3)
    require_equal(f"the gradient of call {place}", gradient_of(function, x), first_derivative(numbers))


PROBE = Probe("concurrent_calls", "calls from several threads at once, with gradients", run)
