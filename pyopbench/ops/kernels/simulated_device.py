"""The device next to the CPU: a real GPU, or a simulated one that counts what is copied to it and from it.

The simulated device is a plug-in (`kernels/device/`) that TensorFlow takes for a GPU. It is loaded once, before
TensorFlow looks for devices, and stays for the life of the process: a process that has loaded it times nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from pyopbench.model.case import DEVICE, HOST
from pyopbench.model.discover import KERNELS
from pyopbench.model.errors import Unsupported, describe_error
from pyopbench.ops.kernels.compiler import library_of, load_custom_ops

SCOPES = {HOST: "/CPU:0", DEVICE: "/GPU:0"}
"""Place -> what `tf.device` takes for it."""

PLUG_IN = KERNELS / "device" / "simulated_device.cc"
BORROWED_KERNELS = KERNELS / "device" / "simulated_kernels.cc"
KERNEL_DEFINES = ("PYOPBENCH_SIMULATED_DEVICE",)
"""What a custom op is compiled with to run on the simulated device too (`kernels/common.h`)."""


@dataclass(frozen=True)
class Counts:
    """What was copied between the host's memory and the device's: how often, and how many bytes."""

    to_device: int
    to_device_bytes: int
    to_host: int
    to_host_bytes: int


class Simulated:
    """The counters of the simulated device."""

    def __init__(self, library: ctypes.CDLL) -> None:
        """Take the library that has been loaded as a plug-in."""
        self._read = library.pyopbench_simulated_counters

    def count(self, call: Callable[[], Any]) -> tuple[Any, Counts]:
        """Call, wait until the device is done, and return the result and what was counted meanwhile."""
        before = self._counters()
        result = call()
        tf.test.experimental.sync_devices()
        return result, Counts(*(now - then for now, then in zip(self._counters(), before, strict=True)))

    def _counters(self) -> tuple[int, ...]:
        """Return what has been counted since the plug-in was loaded, in the order of `Counts`."""
        values = (ctypes.c_uint64 * len(Counts.__dataclass_fields__))()
        assert self._read(values) == len(values)
        return tuple(values)


_loaded: list[Simulated] = []
"""The simulated device, once it is there: a plug-in can be loaded, and never be taken out again."""


def is_simulated() -> bool:
    """Has this process the simulated device?"""
    return bool(_loaded)


def why_not() -> str:
    """Return why this TensorFlow cannot load the simulated device; an empty text if it can.

    TensorFlow with CUDA has its own kernels for a GPU, and would run them on the host's memory.
    """
    if not tf.sysconfig.get_build_info().get("is_cuda_build", False):
        return ""
    version = tf.version.VERSION
    return (
        f"TensorFlow {version} is built with CUDA, and cannot load the simulated device; "
        f"`placement --tf {version}` uses one that can"
    )


def simulate() -> Simulated:
    """Return the simulated device, loaded first where it is not there yet.

    Raises:
        CannotCompile: the plug-in cannot be compiled here.
        Unsupported: TensorFlow cannot load it, has looked for devices already, or is built with CUDA.
    """
    if not _loaded:
        _loaded.append(_load())
    return _loaded[0]


def _load() -> Simulated:
    from tensorflow.python.eager import context
    from tensorflow.python.framework import load_library

    if context.context()._initialized:  # type: ignore[no-untyped-call,unused-ignore]
        raise Unsupported("the simulated device has to be loaded before TensorFlow looks for devices")
    if why_not():
        raise Unsupported(why_not())
    library, kernels = library_of(PLUG_IN), library_of(BORROWED_KERNELS)
    try:
        load_library.load_pluggable_device_library(str(library))
        loaded = ctypes.CDLL(str(library))
    except (tf.errors.OpError, OSError, RuntimeError) as error:
        words = describe_error(error)
        raise Unsupported(f"TensorFlow {tf.__version__} cannot load the simulated device: {words}") from error
    load_custom_ops(kernels)
    if not tf.config.list_physical_devices("GPU"):
        raise Unsupported(f"TensorFlow {tf.__version__} has loaded the simulated device and does not show it")
    return Simulated(loaded)


def is_on_device(tensor: Any) -> bool:
    """Is a tensor's memory on the device? `.device` only says where TensorFlow would have it."""
    return "GPU" in str(tensor.backing_device)


def list_devices() -> list[str]:
    """Return the devices that TensorFlow sees, in words."""
    found = []
    for one in tf.config.list_physical_devices():
        name = tf.config.experimental.get_device_details(one).get("device_name")
        found.append(one.name.removeprefix("/physical_device:") + (f" ({name})" if name else ""))
    return found
