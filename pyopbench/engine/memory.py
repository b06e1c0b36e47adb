"""The memory of workers: how much there is and one takes, and who ends when there is none left."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ASSUMED_BYTES = 2 << 30
"""Of a worker before one has been seen: one that had prepared 486 callables took 1.8 GiB (TensorFlow 2.21)."""
SPARE_SHARE = 0.1
"""Of the memory that is free, for the parent and whatever else runs: what is sampled must not wait for the disk."""


@dataclass(frozen=True)
class Sources:
    """Where the kernel tells about processes, and about the limits of a container."""

    proc: Path = Path("/proc")
    group: Path = Path("/sys/fs/cgroup")


SOURCES = Sources()


def available_bytes(sources: Sources = SOURCES) -> int | None:
    """Return how much memory can be taken without swapping; None where the system does not tell.

    The least of what the machine (`MemAvailable`, proc(5)) and the container have left; of a container's memory, files
    that are merely cached count as free (control group v2, `memory.max`, `memory.current` and `memory.stat`).
    """
    machine = _field(sources.proc / "meminfo", r"MemAvailable:\s+(\d+) kB")
    most = _field(sources.group / "memory.max", r"(\d+)")
    taken = _field(sources.group / "memory.current", r"(\d+)")
    known = [] if machine is None else [machine << 10]
    if most is not None and taken is not None:
        cached = _field(sources.group / "memory.stat", r"inactive_file (\d+)") or 0
        known.append(max(most - taken + cached, 0))
    return min(known, default=None)


def resident_bytes(process: int, sources: Sources = SOURCES) -> int | None:
    """Return how much memory a process holds (`VmRSS`, proc(5)); None where the system does not tell."""
    found = _field(sources.proc / str(process) / "status", r"VmRSS:\s+(\d+) kB")
    return None if found is None else found << 10


def has_room(count: int, expected: int, growing: list[int | None], sources: Sources = SOURCES) -> bool:
    """Whether so many more workers fit into memory; yes where the system does not tell.

    Args:
        count: how many.
        expected: bytes that each of them will take.
        growing: bytes that those take by now which are still preparing, and will take as much.
        sources: where to read.
    """
    available = available_bytes(sources)
    if available is None:
        return True
    still = sum(max(expected - (taken or 0), 0) for taken in growing)
    return available * (1 - SPARE_SHARE) >= count * expected + still


def _field(path: Path, pattern: str) -> int | None:
    try:
        found = re.search(pattern, path.read_text(encoding="ascii", errors="replace"))
    except OSError:
        return None
    return None if found is None else int(found[1])


FIRST_TO_GO = "1000"
"""The highest oom_score_adj of Linux, proc(5): any process may raise its own or a child's, none may lower it."""


def offer(process: int) -> None:
    """Have the kernel end a child process before any other when memory runs out, so that the parent survives."""
    with suppress(OSError):  # not Linux, or already gone
        Path(f"/proc/{process}/oom_score_adj").write_text(FIRST_TO_GO, encoding="ascii")
