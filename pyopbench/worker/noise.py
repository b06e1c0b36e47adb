"""What else went on while a group was sampled: processor time that was stolen, switches, collections, load, frequency.

Read once before and once after, never between two blocks, so that it costs the measurement nothing. Nothing is
corrected by it: it tells a reader how far a launch can be trusted. Sources: proc(5) for `stat` and `cpuinfo`, the
kernel's cpufreq documentation for `scaling_cur_freq`, getrusage(2) for switches.

Threads and processes that bodies leave running would run during all that is measured later, so they are counted too.
"""

from __future__ import annotations

import gc
import itertools
import math
import os
import resource
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from pyopbench.model.cores import usable_cores

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


SPIN_BLOCKS = 400
SPIN_STEPS = 20_000
"""Iterations of an empty loop: about half a millisecond, short enough that undisturbed blocks are not rare."""


def spin(clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Return how long each of some blocks of the same work took, in seconds; it uses no memory, library or lock."""
    ends = [clock()]
    for _ in range(SPIN_BLOCKS):
        for _ in range(SPIN_STEPS):
            pass
        ends.append(clock())
    return [after - before for before, after in itertools.pairwise(ends)]


STEAL_COLUMN = 8
"""In a line of /proc/stat: name, user, nice, system, idle, iowait, irq, softirq, steal."""
KHZ_PER_MHZ = 1000


@dataclass(frozen=True)
class Sources:
    """Where the kernel tells about its processors, and which of them this process may use."""

    proc: Path = Path("/proc")
    cpus: Path = Path("/sys/devices/system/cpu")
    cores: frozenset[int] = field(default_factory=usable_cores)


@dataclass(frozen=True)
class Reading:
    """Counters at one moment; their differences mean something.

    Attributes:
        wall_seconds: of a clock that only goes on.
        cpu_seconds: of all threads of this process.
        steal_seconds: in which another guest of the host had the used cores; None where the kernel does not tell.
        switches: how often a thread of this process was taken off its core.
        collections: runs of Python's garbage collector.
        load: tasks that ran or waited to, over the last minute; None where the system does not tell.
        mhz: of each used core, now; empty where the system does not tell.
    """

    wall_seconds: float
    cpu_seconds: float
    steal_seconds: float | None
    switches: int
    collections: int
    load: float | None
    mhz: tuple[float, ...]


def read(sources: Sources | None = None) -> Reading:
    """Return where the counters stand."""
    sources = sources or Sources()
    return Reading(
        wall_seconds=time.perf_counter(),
        cpu_seconds=time.process_time(),
        steal_seconds=_steal_seconds(sources),
        switches=resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw,
        collections=sum(generation["collections"] for generation in gc.get_stats()),
        load=round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        mhz=_governed_mhz(sources) or _told_mhz(sources),
    )


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
        mhz = (*before.mhz, *after.mhz)
        stolen = None
        if before.steal_seconds is not None and after.steal_seconds is not None:
            stolen = after.steal_seconds - before.steal_seconds
        return {
            "wall_seconds": after.wall_seconds - before.wall_seconds,
            "cpu_seconds": after.cpu_seconds - before.cpu_seconds,
            "steal_seconds": stolen,
            "switches": after.switches - before.switches,
            "collections": after.collections - before.collections,
            "load": after.load,
            "mhz_low": min(mhz, default=None),
            "mhz_high": max(mhz, default=None),
        }


def _steal_seconds(sources: Sources) -> float | None:
    names = {f"cpu{core}" for core in sources.cores}
    lines = [line.split() for line in _text(sources.proc / "stat").splitlines()]
    ticks = [int(line[STEAL_COLUMN]) for line in lines if line and line[0] in names and len(line) > STEAL_COLUMN]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None


def _governed_mhz(sources: Sources) -> tuple[float, ...]:
    found = [_text(sources.cpus / f"cpu{core}" / "cpufreq" / "scaling_cur_freq") for core in sorted(sources.cores)]
    return tuple(int(khz) / KHZ_PER_MHZ for khz in found if khz.strip().isdigit())


def _told_mhz(sources: Sources) -> tuple[float, ...]:
    """Return what `cpuinfo` says, a paragraph for each core with its number under `processor`."""
    found: list[float] = []
    core = -1
    for line in _text(sources.proc / "cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "processor":
            core = int(value)
        elif name.strip() == "cpu MHz" and core in sources.cores:
            found.append(float(value))
    return tuple(found)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
