"""This machine: its name in results, its cores and memory, and the lock that keeps two runs from measuring at once."""

from __future__ import annotations

import hashlib
import math
import os
import platform
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyopbench.model.files import hold_lock

BOOT = Path("/proc/sys/kernel/random/boot_id")
"""New at each start of a Linux kernel, and the same in all containers on it. A machine id is no help: nodes that start
from one image have the same. Source: https://man7.org/linux/man-pages/man5/proc_sys_kernel.5.html"""
HASH_DIGITS = 12
WORKER_BYTES = 2_500_000_000
"""A worker that had prepared 486 callables took 1.9 GB."""
SPARE_SHARE = 0.1
"""Of the memory that is free, for the parent and whatever else runs: what is sampled must not wait for the disk."""
PROC, CONTAINER = Path("/proc"), Path("/sys/fs/cgroup")
FIRST_TO_GO = "1000"
"""The highest oom_score_adj of Linux, proc(5): any process may raise its own or a child's, none may lower it."""
LOCK_FOLDER, LOCK_FOLDER_VARIABLE = Path("/tmp"), "PYOPBENCH_LOCK_FOLDER"
"""Where the lock is, and what names another folder: one that containers of a machine share, for example."""
HELD = "PYOPBENCH_MEASURING"
"""Is set while this process holds the lock, for measurements within a measurement and for child processes."""


# Its name, which distinguishes the machines of several results without describing them.


def host_name() -> str:
    """Return the name of this machine: a hash that is the same until it restarts."""
    seed = read_system_file(BOOT) or socket.gethostname()
    return hashlib.sha256(seed.encode()).hexdigest()[:HASH_DIGITS]


# What it is. A container or `taskset` can allow fewer cores than there are.


def usable_cores() -> frozenset[int]:
    """Return the numbers of the cores that this process may run on; all of them where the system does not say."""
    return frozenset(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


def describe() -> dict[str, Any]:
    """Return processor, cores, memory, governor, system and Python; None for what this system does not report."""
    named = re.search(r"^model name\s*: (.+)", read_system_file("/proc/cpuinfo") or "", re.MULTILINE)
    return {
        "cpu": named[1] if named else platform.processor() or None,
        "cores": len(usable_cores()),
        "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "governor": read_system_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def read_system_file(path: str | Path) -> str | None:
    """Return the text of a file of the system; None if there is none, or it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


# Its memory: whether there is room for more workers, and who ends when there is none left.


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


def room_for_workers() -> float:
    """Return how many more workers fit into memory; infinity where the system does not say."""
    available = available_bytes()
    return math.inf if available is None else available * (1 - SPARE_SHARE) // WORKER_BYTES


def _field(path: Path, pattern: str) -> int | None:
    match = re.search(pattern, read_system_file(path) or "")
    return None if match is None else int(match[1])


def offer_memory(process: int) -> None:
    """Have the kernel end a child process before any other when memory runs out, so that the parent survives."""
    with suppress(OSError):  # not Linux, or already gone
        (PROC / str(process) / "oom_score_adj").write_text(FIRST_TO_GO, encoding="ascii")


# Its lock, in a folder that all users share.


def lock_path() -> Path:
    """Return the file that this machine is locked by."""
    return Path(os.environ.get(LOCK_FOLDER_VARIABLE) or LOCK_FOLDER) / f"pyopbench-measuring-{host_name()}.lock"


@contextmanager
def hold_machine(waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold this machine's lock; while another process has it, wait, after one call of `waiting`."""
    if HELD in os.environ:
        yield
        return
    with hold_lock(lock_path(), waiting):
        os.environ[HELD] = str(os.getpid())
        try:
            yield
        finally:
            del os.environ[HELD]
