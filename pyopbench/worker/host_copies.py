"""The bridges between tensors and arrays on the host: whether they share memory, and what they cost by size.

Shared or copied is a fact of pointers: the address of the array that a body is given, or gives, beside that of the
tensor. Costs are sampled in balanced rounds as those of cases are, in one process.

DLPack works on every TensorFlow that has `tf.experimental.dlpack`, by NumPy's own half of it: only newer tensors have
`__dlpack__` themselves; a capsule of `to_dlpack` does the same on all of them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.errors import Unsupported
from pyopbench.model.failures import describe_error
from pyopbench.ops.alignment import aligned, is_aligned, unaligned
from pyopbench.worker import environment
from pyopbench.worker.sampling import (
    balanced_orders,
    calibrate,
    measure_block,
    measure_timer,
    quiet_garbage_collector,
    rounds_within,
    sample_rounds,
)

DTYPE = "float32"
SIZES = (1, 10_000, 100_000, 1_000_000)
"""Elements; what one element costs is the bridge itself, and what more of them cost beyond it is the copy."""
BLOCK_SECONDS, GROUP_SECONDS, ROUNDS = 0.0005, 0.5, 40

IN, OUT = "tensor to array", "array to tensor"
TENSOR = "tensor"
"""The layout of what comes from a tensor: contiguous, and aligned by TensorFlow."""

DLPACK_CPU = (1, 0)
"""`kDLCPU` and the number of the device (dlpack.h)."""


class _DLPackTensor:
    """What `np.from_dlpack` asks for, around a tensor."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        return tf.experimental.dlpack.to_dlpack(self._tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return DLPACK_CPU


def array_of(tensor: Any) -> Any:
    """Return an eager tensor on the CPU as an array of the same shape and dtype, by DLPack."""
    return np.from_dlpack(_DLPackTensor(tensor))


def tensor_of(array: Any) -> Any:
    """Return an array as an eager tensor of the same shape and dtype, by DLPack.

    Raises:
        tensorflow.errors.InvalidArgumentError: the array is not contiguous.
        Unsupported: it is contiguous and does not begin at a multiple of 64 bytes.
    """
    # TensorFlow takes it, and any op on it then fails its check IsAligned() (tensorflow/core/framework/tensor.h),
    # which ends the process (tests/worker/test_host_copies.py).
    if array.flags.c_contiguous and not is_aligned(array):
        raise Unsupported("TensorFlow accepts it, but the first op on it ends the process (IsAligned)")
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())


def strided(array: Any) -> Any:
    """Return a view of the same numbers as `array` `(n,)` in which each second place is left out."""
    return np.repeat(array, 2)[::2]


LAYOUTS: dict[str, Callable[[Any], Any]] = {"aligned": aligned, "unaligned": unaligned, "strided": strided}
"""What arrays begin and step like: at a multiple of 64 bytes, 16 past one, every second element."""

CALLBACKS: dict[str, Callable[..., Any]] = {
    "numpy_function": tf.numpy_function,
    "py_func": tf.compat.v1.py_func,
    "py_function, .numpy()": tf.py_function,
}
MAKERS: dict[str, Callable[[Any], Any]] = {
    "tf.constant": tf.constant,
    "tf.convert_to_tensor": tf.convert_to_tensor,
    "dlpack.from_dlpack": tensor_of,
}
READERS: dict[str, Callable[[Any], Any]] = {
    "tensor.numpy()": lambda tensor: tensor.numpy(),
    "np.asarray": np.asarray,
    "np.from_dlpack": array_of,
}


@dataclass(frozen=True)
class HostCopy:
    """One way of taking an array over a bridge, to a tensor or from one.

    Attributes:
        bridge: a name of `CALLBACKS`, `MAKERS` or `READERS`.
        direction: `IN` or `OUT`.
        mode: `eager`, or `call` of a `tf.function`.
        layout: a name of `LAYOUTS`, or `TENSOR`.
    """

    bridge: str
    direction: str
    mode: str
    layout: str


def every_copy() -> list[HostCopy]:
    """Return every way over every bridge."""
    callbacks = [(name, mode) for name in CALLBACKS for mode in ("eager", "call")]
    into = [*callbacks, *((name, "eager") for name in READERS)]
    out_of = [*callbacks, *((name, "eager") for name in MAKERS)]
    return [
        *(HostCopy(name, IN, mode, TENSOR) for name, mode in into),
        *(HostCopy(name, OUT, mode, layout) for name, mode in out_of for layout in LAYOUTS),
    ]


def address_of(value: Any) -> int:
    """Return where the numbers of an array, or of an eager tensor on the CPU, begin in memory."""
    # _numpy() shares the tensor's memory; .numpy() copies it: tensorflow/python/framework/ops.py.
    array = value._numpy() if tf.is_tensor(value) else value
    return int(array.ctypes.data)


class PreparedCopy:
    """A copy of one size, ready to be made; both ends of the last one are kept."""

    def __init__(self, copy: HostCopy, size: int) -> None:
        """Make what crosses; `size` elements."""
        array = np.ones(size, DTYPE)
        self._tensor = tf.constant(array)
        self._array = array if copy.direction == IN else LAYOUTS[copy.layout](array)
        self._one = tf.constant(np.ones(1, DTYPE))
        self._is_tensor_body = CALLBACKS.get(copy.bridge) is tf.py_function
        self.make = self._maker(copy)
        self.make()

    def _maker(self, copy: HostCopy) -> Callable[[], Any]:
        if copy.bridge in READERS:
            reader = READERS[copy.bridge]
            return lambda: self._note(self._tensor, reader(self._tensor))
        if copy.bridge in MAKERS:
            maker = MAKERS[copy.bridge]
            return lambda: self._note(self._array, maker(self._array))
        bridge, body, given = CALLBACKS[copy.bridge], self._take, self._tensor
        if copy.direction == OUT:
            body, given = self._give, self._one

        def call(tensor: Any) -> Any:
            return bridge(body, [tensor], DTYPE)

        function = tf.function(call, autograph=False) if copy.mode == "call" else call
        if copy.direction == IN:
            return lambda: function(given)
        return lambda: self._note(self._array, function(given))

    def _take(self, given: Any) -> Any:
        array = given.numpy() if self._is_tensor_body else given
        self._note(self._tensor, array)
        return np.ones(1, DTYPE)

    def _give(self, given: Any) -> Any:
        return self._array

    def _note(self, start: Any, end: Any) -> Any:
        self._ends = (start, end)
        return end

    def is_shared(self) -> bool:
        """Make the copy; are both ends of it the same memory?"""
        self.make()
        start, end = self._ends
        return address_of(start) == address_of(end)


def hazard(bridge: str, mode: str) -> bool:
    """Tell whether a body that writes to what it is given changes the tensor that the caller holds."""
    tensor = tf.constant(np.zeros(1000, DTYPE))

    def overwrite(given: Any) -> Any:
        array = given.numpy() if CALLBACKS[bridge] is tf.py_function else given
        array[...] = 1
        return np.ones(1, DTYPE)

    def call(given: Any) -> Any:
        return CALLBACKS[bridge](overwrite, [given], DTYPE)

    (tf.function(call, autograph=False) if mode == "call" else call)(tensor)
    return bool(np.any(tensor.numpy() != 0))


def measure(request: Mapping[str, Any], emit: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Answer a request for the bridges of this TensorFlow: rows and hazards."""
    tf.config.set_visible_devices([], "GPU")
    rows, sizes = [], request.get("sizes", SIZES)
    possible, refused = _tried(max(sizes))
    for size in sizes:
        emit({"event": "timing", "case": f"host_copies/{size}"})
        rows += _rows(possible, size, partial(_tell, emit, size))
    hazards = [
        {"bridge": name, "mode": mode, "overwrites": hazard(name, mode)}
        for name in CALLBACKS
        for mode in ("eager", "call")
    ]
    return {
        "environment": {**environment.machine(), **environment.software()},
        "hazards": hazards,
        "refused": refused,
        "rows": rows,
    }


def _tell(emit: Callable[[Mapping[str, Any]], None], size: int, name: str) -> None:
    emit({"event": "timing", "case": f"host_copies/{size}/{name}"})


def _tried(size: int) -> tuple[list[HostCopy], list[dict[str, Any]]]:
    """Make each copy once; return those that can be made, and those that TensorFlow refuses, with its reason."""
    tried = [(copy, _why_not(copy, size)) for copy in every_copy()]
    refused = [{**asdict(copy), "reason": reason} for copy, reason in tried if reason]
    return [copy for copy, reason in tried if not reason], refused


def _why_not(copy: HostCopy, size: int) -> str:
    try:
        PreparedCopy(copy, size)
    except Unsupported as error:
        return error.message
    except tf.errors.OpError as error:
        return describe_error(error)
    return ""


def _rows(possible: Sequence[HostCopy], size: int, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    copies = {str(place): PreparedCopy(copy, size) for place, copy in enumerate(possible)}
    shared = [copy.is_shared() for copy in copies.values()]
    seconds = _seconds({name: copy.make for name, copy in copies.items()}, tell)
    return [
        {**asdict(copy), "size": size, "bytes": size * np.dtype(DTYPE).itemsize, "shared": same, "seconds": cost}
        for copy, same, cost in zip(possible, shared, seconds, strict=True)
    ]


def _seconds(calls: Mapping[str, Callable[[], Any]], tell: Callable[[str], None]) -> list[float]:
    """Return the median over rounds of the seconds per call of each."""
    clock = time.perf_counter
    timer = measure_timer(clock)
    segments = {name: (call,) for name, call in calls.items()}

    def timed(name: str, some: Sequence[Callable[[], Any]], count: int) -> tuple[int, tuple[float, ...]]:
        tell(name)
        return count, measure_block(some, count, clock, timer)

    with quiet_garbage_collector():
        found = {name: calibrate(some, BLOCK_SECONDS, clock, timer) for name, some in segments.items()}
        rounds = rounds_within(sum(one.seconds for one in found.values()), GROUP_SECONDS, ROUNDS)
        orders = balanced_orders(len(segments), rounds, np.random.default_rng(0))
        blocks = sample_rounds(segments, {name: one.calls for name, one in found.items()}, orders, timed)
    return [statistics.median(block.segment_seconds[0] / block.calls for block in blocks[name]) for name in calls]
