"""What a measurement depends on besides the code: machine, TensorFlow, threads, load. For the launch record."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyopbench.model.cores import usable_cores
from pyopbench.worker import gpu_state

THREAD_VARIABLES = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "TF_ENABLE_ONEDNN_OPTS")


def machine() -> dict[str, Any]:
    """Return processor, cores, memory, governor, load and operating system; None for what this system does not tell."""
    return {
        "cpu": _cpu_model(),
        "cores": len(usable_cores()),
        "memory_bytes": _memory_bytes(),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load": _load(),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
    }


def software() -> dict[str, Any]:
    """Return versions, build and threads of the TensorFlow and NumPy that this process has imported."""
    import numpy as np
    import tensorflow as tf

    build: Mapping[str, Any] = tf.sysconfig.get_build_info()
    return {
        "numpy": np.__version__,
        "tensorflow": tf.__version__,
        "tensorflow_git": tf.version.GIT_VERSION,
        "tensorflow_build": {key: str(build[key]) for key in sorted(build)},
        "intra_op_threads": tf.config.threading.get_intra_op_parallelism_threads(),
        "inter_op_threads": tf.config.threading.get_inter_op_parallelism_threads(),
        "variables": {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
    }


def of_launch() -> dict[str, Any]:
    """Return what may differ from launch to launch: process, load, GPUs, and the processor of a run that is resumed."""
    here: dict[str, Any] = {
        "pid": os.getpid(),
        "load": _load(),
        "executable": Path(sys.executable).name,
        "cpu": _cpu_model(),
    }
    # A build without a GIL turns it on when a module asks for it: with `import tensorflow`, for one.
    here["gil_enabled"] = getattr(sys, "_is_gil_enabled", lambda: True)()
    return {**here, "gpu": gpu_state.read()}


def _cpu_model() -> str | None:
    text = _read("/proc/cpuinfo") or ""
    names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor() or None


def _memory_bytes() -> int | None:
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names or "SC_PAGE_SIZE" not in names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _load() -> list[float] | None:
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
