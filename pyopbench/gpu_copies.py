"""What one copy between host and device costs on a real GPU, by size: latency, and bytes per second.

The host's end is memory of Python (`tf.constant` of an array, `.numpy()`) or of an eager tensor, which CUDA calls
pageable, or memory of TensorFlow's own allocator for the GPU, which is pinned: inside a `tf.function` TensorFlow asks
that for what it brings down. Which it was is read off the profiler's events and not believed. What is copied is made
anew before each copy, beside the clock, because eager tensors keep the copy that was made of them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench import device, environment, nvml, profiled
from pyopbench.sampling import (
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

UP, DOWN = "to the device", "to the host"


@dataclass(frozen=True)
class Way:
    """One way of having TensorFlow copy between host and device.

    Attributes:
        name: what a user would write.
        direction: `UP` or `DOWN`.
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
        with tf.device(place):
            return tf.identity(tensor)

    return use


def _up(array: Any) -> Any:
    with tf.device(device.DEVICE):
        return tf.constant(array)


def _host_tensor(array: Any, there: Any) -> Any:
    with tf.device(device.HOST):
        return tf.identity(tf.constant(array))


def _down_in_graph() -> Callable[[Any], Any]:
    """Return a `tf.function` that brings a tensor down from the device."""

    def down(tensor: Any) -> Any:
        with tf.device(device.DEVICE):
            there = tf.identity(tensor)
        with tf.device(device.HOST):
            return tf.identity(there)

    function: Callable[[Any], Any] = tf.function(down, autograph=False)
    return function


def ways() -> list[Way]:
    """Return every way; new, because a `tf.function` keeps what it was traced for."""
    down = _down_in_graph()
    return [
        Way("tf.constant(array)", UP, lambda array, there: array, _up),
        Way("a tensor used eagerly", UP, _host_tensor, _on(device.DEVICE)),
        Way("a result of a tf.function", UP, lambda array, there: down(there), _on(device.DEVICE)),
        Way("tensor.numpy()", DOWN, lambda array, there: _on(device.DEVICE)(there), lambda tensor: tensor.numpy()),
        Way("a tensor used eagerly", DOWN, lambda array, there: _on(device.DEVICE)(there), _on(device.HOST)),
        Way("in a tf.function", DOWN, lambda array, there: _on(device.DEVICE)(there), down),
    ]


@dataclass(frozen=True)
class Trip:
    """A way at one size, ready to be made: an array `(n,)`, and the same numbers as a tensor on the device."""

    way: Way
    array: Any
    there: Any

    def segments(self) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """Return what is called in turn: making what is copied, and copying it; each waits for the device."""
        made: list[Any] = []

        def make() -> None:
            made[:] = [self.way.make(self.array, self.there)]
            tf.test.experimental.sync_devices()

        def copy() -> Any:
            result = self.way.copy(made[0])
            tf.test.experimental.sync_devices()
            return result

        return make, copy


def trips(size: int) -> list[Trip]:
    """Return every way at a size, in elements."""
    array = np.ones(size, DTYPE)
    there = _up(array)
    return [Trip(way, array, there) for way in ways()]


def measure(request: Mapping[str, Any], emit: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Answer a request for what copies to and from the GPU cost: rows by way and size, and the GPUs before and after.

    Raises:
        Unsupported: TensorFlow sees no GPU.
    """
    profiled.require_gpu()
    before = nvml.read()
    rows = []
    for size in request.get("sizes", SIZES):
        emit({"event": "timing", "case": f"transfers/{size}"})
        rows += rows_of(trips(size), time.perf_counter)
    facts = {**environment.machine(), **environment.software()}
    return {"environment": {**facts, "devices": device.listed()}, "gpu": [before, nvml.read()], "rows": rows}


def rows_of(some: Sequence[Trip], clock: Clock) -> list[dict[str, Any]]:
    """Time trips of one size in balanced rounds; return a row for each.

    Returns:
        `way`, `direction`, `size` in elements, `bytes`, `seconds` of a copy (median over rounds), `rounds`, and
        `memory`: the host's end as `profiled.host_memory` tells it.
    """
    segments = [trip.segments() for trip in some]
    timer = measure_timer(clock)
    with quiet_garbage_collector():
        warm = [[measure_block(one, 1, clock, timer) for _ in range(WARM_UPS)][-1] for one in segments]
        seconds: list[list[float]] = [[] for _ in segments]
        rounds = rounds_within(sum(map(sum, warm)), GROUP_SECONDS, ROUNDS)
        for order in balanced_orders(len(segments), rounds, np.random.default_rng(0)):
            for place in order:
                seconds[place].append(measure_block(segments[place], 1, clock, timer)[1])
    return [_row(trip, found) for trip, found in zip(some, seconds, strict=True)]


def _row(trip: Trip, seconds: Sequence[float]) -> dict[str, Any]:
    make, copy = trip.segments()
    make()
    return {
        "way": trip.way.name,
        "direction": trip.way.direction,
        "size": int(trip.array.size),
        "bytes": int(trip.array.nbytes),
        "seconds": statistics.median(seconds),
        "rounds": len(seconds),
        "memory": profiled.host_memory(copy),
    }
