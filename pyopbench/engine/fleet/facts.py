"""What a host of a fleet is: processor, memory, software, compilers, GPUs, lock; nothing here takes long.

It is asked while others may be measuring, so TensorFlow is not started for it, and no program that takes longer than a
compiler takes to say its version.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import pyopbench
from pyopbench.engine import environments, git, host_lock
from pyopbench.engine.fleet.messages import Facts
from pyopbench.model.cores import usable_cores
from pyopbench.model.discover import PACKAGE
from pyopbench.model.errors import BadInput
from pyopbench.model.side import Environment

TENSORFLOWS = ("tensorflow-cpu", "tensorflow", "tensorflow-intel", "tensorflow-macos")
"""Under which names TensorFlow is installed."""
TOLD_SECONDS = 5.0
"""Longest wait for a program to say what it is."""
GPUS = Path("/proc/driver/nvidia/gpus")
MODEL = "Model:"

Dask = list[Literal["profiler", "GIL monitor"]]


def facts_of(host: str, folder: Path, dask: Dask) -> Facts:
    """Return what this machine is.

    Args:
        host: its name.
        folder: that shards are measured into.
        dask: what of Dask's own is on.
    """
    is_measuring, lock = _lock(host)
    return Facts(
        host=host,
        now=time.time(),
        **_machine(),
        pyopbench=pyopbench.__version__,
        commit=git.ask(PACKAGE, "rev-parse", "HEAD"),
        tensorflow=_tensorflow(),
        environments=_environments(),
        compiler=_version_of("g++"),
        cuda_compiler=_version_of("nvcc"),
        gpus=_gpus(),
        free_bytes=_free_bytes(folder),
        is_measuring=is_measuring,
        lock=lock,
        dask=dask,
    )


def _lock(host: str) -> tuple[bool | None, str]:
    try:
        return not host_lock.is_free(host), ""
    except BadInput as error:
        return None, error.in_a_line


def _machine() -> dict[str, Any]:
    return {
        "cpu": _cpu(),
        "cores": len(usable_cores()),
        "memory_bytes": _memory_bytes(),
        "governor": _text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _cpu() -> str | None:
    pairs = (line.partition(":") for line in (_text(Path("/proc/cpuinfo")) or "").splitlines())
    names = (value.strip() for key, _, value in pairs if key.strip() == "model name")
    return next(names, None) or platform.processor() or None


def _memory_bytes() -> int | None:
    if {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(os.sysconf_names):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _tensorflow() -> str | None:
    found = (next(iter(metadata.distributions(name=name)), None) for name in TENSORFLOWS)
    return next((one.version for one in found if one is not None), None)


def _environments() -> list[str]:
    versions = environments.available()
    missing = {one.tf for one in environments.missing(map(Environment, versions))}
    return [version for version in versions if version not in missing]


@cache
def _version_of(program: str) -> str | None:
    """Return the first line in which a program says its version that has a number; None if it is not there."""
    found = shutil.which(program)
    if found is None:
        return None
    try:
        done = subprocess.run(
            [found, "--version"], capture_output=True, text=True, timeout=TOLD_SECONDS, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = [line.strip()[:100] for line in done.stdout.splitlines() if any(one.isdigit() for one in line)]
    if done.returncode or not lines:
        return None
    return next((line for line in lines if "release" in line), lines[0])


def _gpus() -> list[str]:
    """Return the names of NVIDIA's GPUs, from the driver's own files. Source: the driver's README, chapter "procfs"."""
    found = []
    for path in sorted(GPUS.glob("*/information")):
        lines = (_text(path) or "").splitlines()
        found += [line.removeprefix(MODEL).strip() for line in lines if line.startswith(MODEL)]
    return found


def _free_bytes(folder: Path) -> int | None:
    try:
        nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        return shutil.disk_usage(nearest).free
    except OSError:
        return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
