"""What bodies leave running in a worker: threads and processes, which would run beside all that is measured later."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

QUIET_SECONDS = 0.02
"""How long it is watched what runs while nothing should: two ticks of the clock that counts processes."""

LOOKS = 5
"""What is only being tidied up is done by one of these; what is left running is busy at each of them."""

BUSY_CORES = 0.5
"""What TensorFlow's own threads take when nothing runs is far below this, a single thread in a loop far above."""


class Leftovers:
    """Counts what is there, and later what has come since."""

    def __init__(self) -> None:
        self._threads = _threads()
        self._processes = set(_processes())

    def found(self) -> dict[str, float] | None:
        """Return threads and processes that have come, and cores that are busy though nothing is asked for; or None.

        A thread that TensorFlow or a library has started outside of Python is in no count, but keeps a core busy.
        """
        threads = max(_threads() - self._threads, 0)
        processes = set(_processes()) - self._processes
        cores = math.inf
        for _ in range(LOOKS):
            cores = min(cores, _busy_cores(processes))
            if cores < BUSY_CORES:
                break
        if not threads and not processes and cores < BUSY_CORES:
            return None
        return {"threads": threads, "processes": len(processes), "cores": cores}


def _busy_cores(processes: Iterable[int]) -> float:
    """Return how many cores this process and some others keep busy for a moment in which nothing is asked for."""
    before = time.process_time() + sum(map(_cpu_seconds, processes))
    time.sleep(QUIET_SECONDS)
    busy = time.process_time() + sum(map(_cpu_seconds, processes)) - before
    return round(max(busy, 0.0) / QUIET_SECONDS, 2)


def _threads() -> int:
    # TensorFlow's own threads that have run Python are in the list as dummies.
    return sum(not isinstance(thread, threading._DummyThread) for thread in threading.enumerate())


def _processes() -> list[int]:
    """Return the children of this process; none where the system does not tell."""
    told: list[str] = []
    for thread in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):  # a thread that has just ended
            told += thread.read_text(encoding="ascii").split()
    return [int(process) for process in told]


def _cpu_seconds(process: int) -> float:
    try:
        after_name = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
    except OSError:  # it has just ended
        return 0.0
    user, system = after_name.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
