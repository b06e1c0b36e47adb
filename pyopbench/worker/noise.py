"""What else went on while a group was sampled: processor time that was stolen, switches, load.

Read once before and once after, never between two blocks, so that it costs the measurement nothing. Nothing is
corrected by it: it shows a reader how far a launch can be trusted. Sources: proc(5) for `stat`, getrusage(2) for
switches.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from pyopbench.model.cores import usable_cores

QUIET_SECONDS, QUIET_READINGS = 0.02, 5
"""How long, and how often, the processor time is read while nothing should run: what is only being tidied up is done by
one of these."""
BUSY_CORES = 0.5
"""TensorFlow's own threads take far less than this when nothing runs, a single thread in a loop takes far more."""
STEAL_COLUMN = 8
"""In a line of /proc/stat: name, user, nice, system, idle, iowait, irq, softirq, steal."""


def count_threads() -> int:
    """Return the number of threads that Python code has started."""
    # TensorFlow's own threads that have run Python are in the list as dummies.
    return sum(not isinstance(thread, threading._DummyThread) for thread in threading.enumerate())


def left_running(threads_before: int) -> dict[str, float] | None:
    """Return the threads that bodies have left, and the cores that are busy though nothing is asked for; or None."""
    threads, cores = max(count_threads() - threads_before, 0), 0.0
    for _ in range(QUIET_READINGS):
        before = time.process_time()
        time.sleep(QUIET_SECONDS)
        cores = round((time.process_time() - before) / QUIET_SECONDS, 2)
        if cores < BUSY_CORES:
            return {"threads": threads, "cores": cores} if threads else None
    return {"threads": threads, "cores": cores}


@dataclass(frozen=True)
class Reading:
    """Counters at one moment, of which the differences mean something, and the load of the last minute."""

    wall_seconds: float
    cpu_seconds: float  # of all threads of this process
    steal_seconds: float | None  # in which another guest of the host had the used cores; None where it is not known
    switches: int  # how often a thread of this process was taken off its core
    load: float | None


def read(stat: Path = Path("/proc/stat")) -> Reading:
    """Return where the counters stand."""
    return Reading(
        wall_seconds=time.perf_counter(),
        cpu_seconds=time.process_time(),
        steal_seconds=_steal_seconds(stat),
        switches=resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw,
        load=round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    )


def _steal_seconds(stat: Path) -> float | None:
    try:
        lines = [line.split() for line in stat.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return None
    names = {f"cpu{core}" for core in usable_cores()}
    ticks = [int(line[STEAL_COLUMN]) for line in lines if line and line[0] in names and len(line) > STEAL_COLUMN]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None


class Meter:
    """Notes what went on inside a `with` block; entered again it begins anew."""

    def __init__(self, reader: Callable[[], Reading] = read) -> None:
        self._reader = reader
        self._before = self._after = reader()

    def __enter__(self) -> Meter:
        self._before = self._reader()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._after = self._reader()

    @property
    def noise(self) -> dict[str, Any]:
        """What is stored under `noise` with a group."""
        before, after = self._before, self._after
        stolen = None
        if before.steal_seconds is not None and after.steal_seconds is not None:
            stolen = after.steal_seconds - before.steal_seconds
        return {
            "wall_seconds": after.wall_seconds - before.wall_seconds,
            "cpu_seconds": after.cpu_seconds - before.cpu_seconds,
            "steal_seconds": stolen,
            "switches": after.switches - before.switches,
            "load": after.load,
        }
