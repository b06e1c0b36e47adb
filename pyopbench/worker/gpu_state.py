"""How GPUs are doing, as NVIDIA's management library tells it: clocks, what holds them back, heat and power.

By the library itself and not by `nvidia-smi`, which prints for people and promises no format. Signatures and the bits
of the reasons are those of the NVML API reference (Device Queries, NvmlClocksThrottleReasons). It is read before and
after what is timed, never meanwhile.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
"""It comes with the driver."""

SM_CLOCK, MEMORY_CLOCK, GPU_TEMPERATURE = 1, 2, 0
"""`NVML_CLOCK_SM`, `NVML_CLOCK_MEM` and `NVML_TEMPERATURE_GPU`."""

NAME_BYTES = 96
"""`NVML_DEVICE_NAME_V2_BUFFER_SIZE`."""

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


def read() -> dict[str, Any]:
    """Return the state of every GPU of the machine, as plain data.

    Returns:
        `gpus`, a list with `name`, `sm_mhz`, `sm_mhz_most`, `memory_mhz`, `memory_mhz_most`, `celsius`, `watts` and
        `held_back_by` (words of `REASONS`) each, null for what a GPU does not tell; `reason`, why there are none.
    """
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return {"gpus": [], "reason": f"{LIBRARY} was not found on this machine"}
    code = library.nvmlInit_v2()
    if code:
        return {"gpus": [], "reason": f"{LIBRARY} cannot be used: nvmlInit_v2 returned {code}"}
    try:
        count = _number(library.nvmlDeviceGetCount_v2) or 0
        return {"gpus": [_gpu(library, index) for index in range(count)], "reason": "" if count else "no GPU"}
    finally:
        library.nvmlShutdown()


def _gpu(library: ctypes.CDLL, index: int) -> dict[str, Any]:
    device = ctypes.c_void_p()
    library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(device))
    milliwatts = _number(library.nvmlDeviceGetPowerUsage, device)
    return {
        "name": _name(library, device),
        "sm_mhz": _number(library.nvmlDeviceGetClockInfo, device, SM_CLOCK),
        "sm_mhz_most": _number(library.nvmlDeviceGetMaxClockInfo, device, SM_CLOCK),
        "memory_mhz": _number(library.nvmlDeviceGetClockInfo, device, MEMORY_CLOCK),
        "memory_mhz_most": _number(library.nvmlDeviceGetMaxClockInfo, device, MEMORY_CLOCK),
        "celsius": _number(library.nvmlDeviceGetTemperature, device, GPU_TEMPERATURE),
        "watts": None if milliwatts is None else milliwatts / 1000,
        "held_back_by": _held_back_by(library, device),
    }


def _number(ask: Callable[..., int], *arguments: Any, kind: Any = ctypes.c_uint) -> int | None:
    """Return what a function writes to its last argument; None if it returns an error."""
    found = kind()
    return None if ask(*arguments, ctypes.byref(found)) else int(found.value)


def _name(library: ctypes.CDLL, device: ctypes.c_void_p) -> str | None:
    name = ctypes.create_string_buffer(NAME_BYTES)
    refused = library.nvmlDeviceGetName(device, name, ctypes.c_uint(NAME_BYTES))
    return None if refused else name.value.decode(errors="replace")


def _held_back_by(library: ctypes.CDLL, device: ctypes.c_void_p) -> list[str] | None:
    bits = _number(library.nvmlDeviceGetCurrentClocksThrottleReasons, device, kind=ctypes.c_ulonglong)
    if bits is None:
        return None
    known = [word for bit, word in REASONS.items() if bits & bit]
    rest = bits & ~sum(REASONS)
    return [*known, f"bits {rest:#x}"] if rest else known
