"""What a measurement depends on besides the code: machine, TensorFlow, threads, load, GPUs. For the launch record.

How GPUs are doing is read from NVIDIA's management library itself and not from `nvidia-smi`, which prints for people
and promises no format. Signatures and the bits of the reasons are those of the NVML API reference (Device Queries,
NvmlClocksThrottleReasons). It is read before and after what is timed, never meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyopbench.model import cores

NVML_LIBRARY = "libnvidia-ml.so.1"
"""It comes with the driver."""

SM_CLOCK, MEMORY_CLOCK, GPU_TEMPERATURE = 1, 2, 0
"""`NVML_CLOCK_SM`, `NVML_CLOCK_MEM` and `NVML_TEMPERATURE_GPU`."""

NAME_BYTES = 96
"""`NVML_DEVICE_NAME_V2_BUFFER_SIZE`."""

REASON_FUNCTIONS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
"""The name since driver 535, and the one before it."""

REASONS = {
    0x1: "idle",
    0x2: "clocks set by the user",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "thermal slowdown by software",
    0x40: "thermal slowdown by hardware",
    0x80: "power brake",
    0x100: "display clocks",
}
"""Bits of what holds the clocks below their maximum."""


def read_gpus() -> dict[str, Any]:
    """Return the state of every GPU of the machine, as plain data.

    Returns:
        `gpus`, a list with `name`, `sm_mhz`, `sm_mhz_most`, `memory_mhz`, `memory_mhz_most`, `celsius`, `watts` and
        `held_back_by` (words of `REASONS`) each, null for what a GPU does not tell; `reason`, why there are none.
    """
    try:
        library = ctypes.CDLL(NVML_LIBRARY)
    except OSError:
        return {"gpus": [], "reason": f"{NVML_LIBRARY} was not found on this machine"}
    code = library.nvmlInit_v2()
    if code:
        return {"gpus": [], "reason": f"{NVML_LIBRARY} cannot be used: nvmlInit_v2 returned {code}"}
    try:
        count = _number(library, "nvmlDeviceGetCount_v2") or 0
        return {"gpus": [_gpu(library, index) for index in range(count)], "reason": "" if count else "no GPU"}
    finally:
        library.nvmlShutdown()


def _gpu(library: ctypes.CDLL, index: int) -> dict[str, Any]:
    device = ctypes.c_void_p()
    library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(device))
    milliwatts = _number(library, "nvmlDeviceGetPowerUsage", device)
    return {
        "name": _name(library, device),
        "sm_mhz": _number(library, "nvmlDeviceGetClockInfo", device, SM_CLOCK),
        "sm_mhz_most": _number(library, "nvmlDeviceGetMaxClockInfo", device, SM_CLOCK),
        "memory_mhz": _number(library, "nvmlDeviceGetClockInfo", device, MEMORY_CLOCK),
        "memory_mhz_most": _number(library, "nvmlDeviceGetMaxClockInfo", device, MEMORY_CLOCK),
        "celsius": _number(library, "nvmlDeviceGetTemperature", device, GPU_TEMPERATURE),
        "watts": None if milliwatts is None else milliwatts / 1000,
        "held_back_by": _held_back_by(library, device),
    }


def _number(library: ctypes.CDLL, name: str, *arguments: Any, kind: Any = ctypes.c_uint) -> int | None:
    """Return what a function writes to its last argument; None if it returns an error, or the driver lacks it."""
    found, ask = kind(), getattr(library, name, None)
    return None if ask is None or ask(*arguments, ctypes.byref(found)) else int(found.value)


def _name(library: ctypes.CDLL, device: ctypes.c_void_p) -> str | None:
    name = ctypes.create_string_buffer(NAME_BYTES)
    refused = library.nvmlDeviceGetName(device, name, ctypes.c_uint(NAME_BYTES))
    return None if refused else name.value.decode(errors="replace")


def _held_back_by(library: ctypes.CDLL, device: ctypes.c_void_p) -> list[str] | None:
    told = (_number(library, name, device, kind=ctypes.c_ulonglong) for name in REASON_FUNCTIONS)
    bits = next((one for one in told if one is not None), None)
    if bits is None:
        return None
    known = [word for bit, word in REASONS.items() if bits & bit]
    rest = bits & ~sum(REASONS)
    return [*known, f"bits {rest:#x}"] if rest else known


THREAD_VARIABLES = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "TF_ENABLE_ONEDNN_OPTS")


def machine() -> dict[str, Any]:
    """Return what `cores.machine` does, and the load; None for what this system does not tell."""
    return {**cores.machine(), "load": _load()}


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
        "cpu": cores.cpu_model(),
    }
    # A build without a GIL turns it on when a module asks for it: with `import tensorflow`, for one.
    here["gil_enabled"] = getattr(sys, "_is_gil_enabled", lambda: True)()
    return {**here, "gpu": read_gpus()}


def _load() -> list[float] | None:
    return [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else None
