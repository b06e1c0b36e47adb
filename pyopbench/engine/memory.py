"""The memory of workers: whether there is room for more, and who ends when there is none left."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

WORKER_BYTES, SMALL_WORKER_BYTES = 2_500_000_000, 600 << 20
"""A worker that had prepared 486 callables took 1.9 GB; one that has few cases takes little more than the 450 MiB of
importing TensorFlow (2.21)."""
SPARE_SHARE = 0.1
"""Of the memory that is free, for the parent and whatever else runs: what is sampled must not wait for the disk."""
PROC, CONTAINER = Path("/proc"), Path("/sys/fs/cgroup")
FIRST_TO_GO = "1000"
"""The highest oom_score_adj of Linux, proc(5): any process may raise its own or a child's, none may lower it."""


def available_bytes() -> int | None:
    """Return how much memory can be taken without swapping; None where the system does not say.

    The least of what the machine (`MemAvailable`, proc(5)) and the container have left; of a container's memory, files
    that are merely cached count as free (control group v2, `memory.max`, `memory.current` and `memory.stat`).
    """
    machine = _field(PROC / "meminfo", r"MemAvailable:\s+(\d+) kB")
    most = _field(CONTAINER / "memory.max", r"(\d+)")
    taken = _field(CONTAINER / "memory.current", r"(\d+)")
    known = [] if machine is None else [machine << 10]
    if most is not None and taken is not None:
        cached = _field(CONTAINER / "memory.stat", r"inactive_file (\d+)") or 0
        known.append(max(most - taken + cached, 0))
    return min(known, default=None)


def has_room(count: int) -> bool:
    """Whether so many more workers fit into memory; yes where the system does not say."""
    available = available_bytes()
    return available is None or available * (1 - SPARE_SHARE) >= count * WORKER_BYTES


def most_small_workers() -> int | None:
    """Return how many workers with few cases fit into memory; None where the system does not say."""
    available = available_bytes()
    return None if available is None else int(available * (1 - SPARE_SHARE)) // SMALL_WORKER_BYTES


def _field(path: Path, pattern: str) -> int | None:
    try:
        match = re.search(pattern, path.read_text(encoding="ascii", errors="replace"))
    except OSError:
        return None
    return None if match is None else int(match[1])


def offer(process: int) -> None:
    """Have the kernel end a child process before any other when memory runs out, so that the parent survives."""
    with suppress(OSError):  # not Linux, or already gone
        (PROC / str(process) / "oom_score_adj").write_text(FIRST_TO_GO, encoding="ascii")
