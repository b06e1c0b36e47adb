"""What this machine is, and which of its cores this process may use: a container or `taskset` can allow fewer."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any


def usable_cores() -> frozenset[int]:
    """Return the numbers of the cores that this process may run on; all of them where the system does not say."""
    return frozenset(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


def machine() -> dict[str, Any]:
    """Return processor, cores, memory, governor, system and Python; None for what this system does not tell."""
    return {
        "cpu": cpu_model(),
        "cores": len(usable_cores()),
        "memory_bytes": _memory_bytes(),
        "governor": read_system_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def cpu_model() -> str | None:
    """Return the name of the processor; None where the system does not tell."""
    pairs = (line.partition(":") for line in (read_system_file("/proc/cpuinfo") or "").splitlines())
    names = (value.strip() for key, _, value in pairs if key.strip() == "model name")
    return next(names, None) or platform.processor() or None


def read_system_file(path: str) -> str | None:
    """Return the text of a file of the system; None if there is none, or it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _memory_bytes() -> int | None:
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names or "SC_PAGE_SIZE" not in names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
