"""Which cores of the machine this process may use: a container or `taskset` can allow fewer than there are."""

from __future__ import annotations

import os


def usable_cores() -> frozenset[int]:
    """Return the numbers of the cores that this process may run on; all of them where the system does not say."""
    return frozenset(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))
