"""What else went on while a group was sampled: processor time that was stolen, switches, load.

Read once before and once after, never between two blocks, so that it costs the measurement nothing. Nothing is
corrected by it: it shows a reader how far a launch can be trusted. Sources: proc(5) for `stat`, getrusage(2) for
switches.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from pyopbench.model.cores import usable_cores

STEAL_COLUMN = 8
"""In a line of /proc/stat: name, user, nice, system, idle, iowait, irq, softirq, steal."""


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
        """What is stored under `noise` with a group; results/README.md says what each key holds."""
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
