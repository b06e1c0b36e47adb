"""What else went on while a group was sampled: processor time that was stolen, and load.

Read once before and once after, never between two blocks, so that it costs the measurement nothing. Nothing is
corrected by it: it shows a reader how far a launch can be trusted. Source: proc(5) for `stat`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyopbench.model.machine import usable_cores

STEAL_COLUMN = 8
"""In a line of /proc/stat: name, user, nice, system, idle, iowait, irq, softirq, steal."""


@contextmanager
def measure_noise(stat: Path = Path("/proc/stat")) -> Iterator[dict[str, Any]]:
    """Yield what is stored under `noise` with a group, which is filled in when the block is left."""
    noise: dict[str, Any] = {}
    start, stolen = time.perf_counter(), steal_seconds(stat)
    try:
        yield noise
    finally:
        after = steal_seconds(stat)
        noise["wall_seconds"] = time.perf_counter() - start
        noise["steal_seconds"] = None if stolen is None or after is None else after - stolen
        noise["load"] = round(os.getloadavg()[0], 2)


def steal_seconds(stat: Path) -> float | None:
    """Return the seconds in which another guest of the host had the cores that are used; None where not known."""
    try:
        lines = [line.split() for line in stat.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return None
    names = {f"cpu{core}" for core in usable_cores()}
    ticks = [int(line[STEAL_COLUMN]) for line in lines if line and line[0] in names and len(line) > STEAL_COLUMN]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None
