"""What one copy between host and device takes on a real GPU, by size.

What is copied is made anew before each copy, beside the clock, because eager tensors keep the copy that was made of
them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.places import DEVICE, HOST
from pyopbench.ops.kernels.simulated_device import SCOPES, listed
from pyopbench.worker.prepare import gpu
from pyopbench.worker.sampling import (
    Clock,
    balanced_orders,
    measure_block,
    measure_timer,
    quiet_garbage_collector,
    rounds_within,
)

DTYPE = "float32"
SIZES = (1, 2**10, 2**14, 2**18, 2**22, 2**26)
"""Elements: 4 B for the latency, up to 256 MiB for the rate."""
ROUNDS = 40
GROUP_SECONDS = 2.0
"""About how long all rounds of one size may take; large copies get fewer."""
WARM_UPS = 2

TO_DEVICE, TO_HOST = "to the device", "to the host"


@dataclass(frozen=True)
class GpuCopy:
    """One way of having TensorFlow copy between host and device.

    Attributes:
        name: what a user would write.
        direction: `TO_DEVICE` or `TO_HOST`.
        make: `(array (n,), tensor on the device (n,)) -> what is copied`, new each time.
        copy: copies that.
    """

    name: str
    direction: str
    make: Callable[[Any, Any], Any]
    copy: Callable[[Any], Any]


def _on(place: str) -> Callable[[Any], Any]:
    """Return what has a tensor used on a place by an op that only passes it on."""

    def use(tensor: Any) -> Any:
        with tf.device(SCOPES[place]):
            return tf.identity(tensor)

    return use


def _to_device(array: Any) -> Any:
    with tf.device(SCOPES[DEVICE]):
        return tf.constant(array)


def _host_tensor(array: Any, there: Any) -> Any:
    with tf.device(SCOPES[HOST]):
        return tf.identity(tf.constant(array))


def _down_in_graph() -> Callable[[Any], Any]:
    """Return a `tf.function` that brings a tensor down from the device."""

    def down(tensor: Any) -> Any:
        with tf.device(SCOPES[DEVICE]):
            there = tf.identity(tensor)
        with tf.device(SCOPES[HOST]):
            return tf.identity(there)

    function: Callable[[Any], Any] = tf.function(down, autograph=False)
    return function


def every_copy() -> list[GpuCopy]:
    """Return every way; new, because a `tf.function` keeps what it was traced for."""
    down = _down_in_graph()
    return [
        GpuCopy("tf.constant(array)", TO_DEVICE, lambda array, there: array, _to_device),
        GpuCopy("a tensor used eagerly", TO_DEVICE, _host_tensor, _on(DEVICE)),
        GpuCopy("a result of a tf.function", TO_DEVICE, lambda array, there: down(there), _on(DEVICE)),
        GpuCopy("tensor.numpy()", TO_HOST, lambda array, there: _on(DEVICE)(there), lambda tensor: tensor.numpy()),
        GpuCopy("a tensor used eagerly", TO_HOST, lambda array, there: _on(DEVICE)(there), _on(HOST)),
        GpuCopy("in a tf.function", TO_HOST, lambda array, there: _on(DEVICE)(there), down),
    ]


@dataclass(frozen=True)
class PreparedCopy:
    """A copy of one size, ready to be made: an array `(n,)`, and the same numbers as a tensor on the device."""

    kind: GpuCopy
    array: Any
    there: Any

    def segments(self) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """Return what is called in turn: making what is copied, and copying it; each waits for the device."""
        made: list[Any] = []

        def make() -> None:
            made[:] = [self.kind.make(self.array, self.there)]
            tf.test.experimental.sync_devices()

        def copy() -> Any:
            result = self.kind.copy(made[0])
            tf.test.experimental.sync_devices()
            return result

        return make, copy


def prepared_copies(size: int) -> list[PreparedCopy]:
    """Return every way at a size, in elements."""
    array = np.ones(size, DTYPE)
    there = _to_device(array)
    return [PreparedCopy(copy, array, there) for copy in every_copy()]


def gpu_copies_of(size: int) -> list[PreparedCopy]:
    """Return every way at a size, in elements, where there is a GPU.

    Raises:
        Unsupported: TensorFlow sees none.
    """
    gpu.require_gpu()
    return prepared_copies(size)


def measure(request: Mapping[str, Any], emit: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Answer a request for what copies to and from the GPU cost: the devices, and rows by way and size.

    Raises:
        Unsupported: TensorFlow sees no GPU.
    """
    gpu.require_gpu()
    rows = []
    for size in SIZES:
        emit({"event": "timing", "case": f"gpu_copies/{size}"})
        rows += rows_of(prepared_copies(size), time.perf_counter)
    return {"devices": listed(), "rows": rows}


def rows_of(copies: Sequence[PreparedCopy], clock: Clock) -> list[dict[str, Any]]:
    """Time copies of one size in balanced rounds; return `way`, `direction`, `bytes` and median `seconds` of each."""
    segments = [prepared.segments() for prepared in copies]
    timer = measure_timer(clock)
    with quiet_garbage_collector():
        warm = [[measure_block(one, 1, clock, timer) for _ in range(WARM_UPS)][-1] for one in segments]
        seconds: list[list[float]] = [[] for _ in segments]
        rounds = rounds_within(sum(map(sum, warm)), GROUP_SECONDS, ROUNDS)
        for order in balanced_orders(len(segments), rounds, np.random.default_rng(0)):
            for place in order:
                seconds[place].append(measure_block(segments[place], 1, clock, timer)[1])
    return [
        {
            "way": one.kind.name,
            "direction": one.kind.direction,
            "bytes": int(one.array.nbytes),
            "seconds": statistics.median(found),
        }
        for one, found in zip(copies, seconds, strict=True)
    ]
