"""Does a parallel map scale where the body lets go of Python's lock?"""

from __future__ import annotations

import time

from pyopbench.worker.probes._pipelines import CALL_SECONDS, scaling
from pyopbench.worker.subject import Probe, Seen, Subject


def run(subject: Subject) -> Seen:
    """Compare `map(num_parallel_calls=2)` with 1, for a body that waits without the lock, as one that reads does."""
    return scaling(subject, lambda: time.sleep(CALL_SECONDS))


PROBE = Probe("map_released", "tf.data parallel map of a body that releases the GIL: two calls beside one", run)
