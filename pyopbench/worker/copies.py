"""Copies between host and device: how many a call with new inputs makes on each route, and how long one takes on a GPU.

They are counted on the simulated device, or on a GPU from the copy events of TensorFlow's profiler: `MemcpyH2D` with a
stat `memcpy_details` that has `size:BYTES` (`xla/backends/profiler/gpu/cupti_collector.cc`).

A route says where the inputs are made and where the result is used. In the backward pass their gradients are used and
made there.
"""

from __future__ import annotations

import dataclasses
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.case import DEVICE, HOST, ROUTES, SIMULATED, Case, Failure, Route
from pyopbench.model.errors import Unsupported, WrongResult, describe_error
from pyopbench.model.op import Body, Op
from pyopbench.ops.kernels.compiler import CannotCompile
from pyopbench.ops.kernels.simulated_device import SCOPES, Counts, list_devices, simulate
from pyopbench.ops.load import load_op, load_variant
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.prepare.checks import check_gradients, check_values, reference_of
from pyopbench.worker.prepare.gpu import require_gpu
from pyopbench.worker.prepare.segments import forward_and_backward, wrap
from pyopbench.worker.sampling import (
    balanced_orders,
    measure_block,
    measure_timer,
    quiet_garbage_collector,
    rounds_within,
)

Emit: TypeAlias = Callable[[Mapping[str, Any]], None]
CountCopies: TypeAlias = Callable[[Callable[[], Any]], tuple[Any, Counts]]
"""Calls something and returns its result with what was copied meanwhile."""


# Counting by route


def open_device(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request for the device of a placement: what TensorFlow sees, and why the device is not there if so.

    It has to be the first request to a worker, because TensorFlow looks for devices only once.
    """
    try:
        counter_of(request["placement"])
    except (CannotCompile, Unsupported) as error:
        return {"devices": list_devices(), "reason": getattr(error, "sentence", error.message)}
    return {"devices": list_devices(), "reason": ""}


def count_copies(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request to count a case on every route: a row for each, or the failure.

    A row has `inputs` and `result`, and either `refused` with the reason, or `to_device` and `to_host` (copies and
    bytes).
    """
    case = Case.from_id(request["case"])
    emit({"event": "at", "case": case.id})
    try:
        function = _function(case)
        copies = {route: _copies_or_refusal(case, function, route) for route in ROUTES}
        return {"rows": [{"inputs": inputs, "result": result, **row} for (inputs, result), row in copies.items()]}
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return {"failure": dataclasses.asdict(Failure.of(case, error, None))}


def _copies_or_refusal(case: Case, function: Body, route: Route) -> dict[str, Any]:
    try:
        counts = _count(case, function, route)
    except Exception as error:
        if isinstance(error, WrongResult) and not load_variant(case.variant).is_attempt_for(load_op(case.op)):
            raise
        return {"refused": describe_error(error)}
    return {
        "to_device": [counts.to_device, counts.to_device_bytes],
        "to_host": [counts.to_host, counts.to_host_bytes],
    }


def copies_on_route(case: Case, inputs: str, result: str) -> dict[str, int]:
    """Count the copies of one call of a case with new inputs, on one route.

    Args:
        case: forward or forward_backward, in mode eager or call; its placement says which device it is counted on.
        inputs: where the inputs are, `host` or `device`.
        result: where the result is used.
    """
    counts = _count(case, _function(case), (inputs, result))
    return {"to_device": counts.to_device, "to_host": counts.to_host}


def counter_of(placement: str) -> CountCopies:
    """Return what counts the copies of a call on `gpu` or `simgpu`."""
    if placement == SIMULATED:
        return simulate().count
    require_gpu()
    _require_events()
    return _count_by_profiler


def _function(case: Case) -> Body:
    variant = load_variant(case.variant)
    return wrap(variant.build(load_op(case.op), case), variant, case.mode)


def _count(case: Case, function: Body, route: Route) -> Counts:
    """Count a call on a route: by two calls, after one that traces, compiles and makes constants and is checked."""
    count = counter_of(case.placement)
    op = load_op(case.op)
    _check(op, case, *_fresh_call(op, case, function, route)())
    first, second = (count(_fresh_call(op, case, function, route))[1] for _ in range(2))
    if first != second:
        raise Unsupported("how much is copied differs from call to call")
    return first


def _fresh_call(op: Op, case: Case, function: Body, route: Route) -> Callable[[], tuple[Sequence[Any], Sequence[Any]]]:
    """Return a call that returns outputs and gradients, of inputs that are made here and not counted."""
    reference = reference_of(case.op, case.size, case.dtype)
    inputs_on, result_on = route
    inputs = _constants_on(reference.inputs, inputs_on)
    if case.direction == "forward":
        return lambda: (_use(as_tuple(function(*inputs)), result_on), ())
    forward, backward = forward_and_backward(op, function, inputs, _constants_on(reference.output_gradients, result_on))

    def both() -> tuple[Sequence[Any], Sequence[Any]]:
        outputs = _use(as_tuple(forward()), result_on)
        gradients = [tf.convert_to_tensor(gradient) for gradient in as_tuple(backward()) if gradient is not None]
        return outputs, _use(gradients, inputs_on)

    return both


def _check(op: Op, case: Case, outputs: Sequence[Any], gradients: Sequence[Any]) -> None:
    """Compare a result with NumPy: counts of a wrong one would be of something else."""
    reference = reference_of(case.op, case.size, case.dtype)
    check_values(op, outputs, reference, case.dtype)
    if case.direction != "forward":
        if len(gradients) != len(op.differentiable):
            raise WrongResult(f"{len(gradients)} gradients for {len(op.differentiable)} inputs")
        check_gradients(op, gradients, reference, case.dtype)


def _constants_on(arrays: Sequence[Any], place: str) -> tuple[Any, ...]:
    with tf.device(SCOPES[place]):
        return tuple(tf.constant(array) for array in arrays)


def _use(tensors: Sequence[Any], place: str) -> Sequence[Any]:
    """Use tensors by one op on a place, which waits for them and copies what is elsewhere; return the tensors."""
    with tf.device(SCOPES[place]):
        for tensor in tensors:
            tf.identity(tensor)
    return tensors


# The profiler of a GPU

DEVICE_PLANE = "/device:GPU:"
DETAILS = "memcpy_details"
COPIES = ("MemcpyH2D", "MemcpyD2H")
"""Names of the events, in the order of `Counts`."""
SIZE = re.compile(r"\bsize:(\d+)")
KNOWN_ELEMENTS = 1000


def _count_by_profiler(call: Callable[[], Any]) -> tuple[Any, Counts]:
    """Call under the profiler, wait until the GPU is done, and return the result and what was copied meanwhile."""
    result, spaces = _record(call)
    return result, counts_of(spaces)


@lru_cache(maxsize=1)
def _require_events() -> None:
    """Check that the profiler reports a copy that was surely made; otherwise calls would seem to copy nothing."""

    def there_and_back() -> Any:
        (here,) = _constants_on([np.ones(KNOWN_ELEMENTS, np.float32)], HOST)
        with tf.device(SCOPES[DEVICE]):
            return tf.identity(here).numpy()

    counts = _count_by_profiler(there_and_back)[1]
    least = KNOWN_ELEMENTS * np.dtype(np.float32).itemsize
    if min(counts.to_device_bytes, counts.to_host_bytes) < least:
        raise Unsupported(
            f"the profiler of TensorFlow {tf.__version__} does not report all copies",
            received=f"{counts.to_device_bytes:,} bytes to the GPU, {counts.to_host_bytes:,} back, of {least:,} each",
            hint="the profiler needs NVIDIA's CUPTI, and a driver that lets this user profile "
            "(https://developer.nvidia.com/ERR_NVGPUCTRPERM)",
        )


def _record(call: Callable[[], Any]) -> tuple[Any, list[Any]]:
    """Return the result of a call and the `XSpace` messages of the profiler."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        try:
            result = call()
            tf.test.experimental.sync_devices()
        finally:
            tf.profiler.experimental.stop()
        files = sorted(Path(folder).rglob("*.xplane.pb"))
        return result, [xplane_pb2.XSpace.FromString(file.read_bytes()) for file in files]


def counts_of(spaces: Iterable[Any]) -> Counts:
    """Return what was copied according to `XSpace` messages."""
    sizes: dict[str, list[int]] = {name: [] for name in COPIES}
    for name, details in _copies(spaces):
        match = SIZE.search(details)
        if not match:
            raise Unsupported(f"the profiler of TensorFlow {tf.__version__} does not report the bytes of a {name}")
        sizes[name].append(int(match.group(1)))
    return Counts(*(number for name in COPIES for number in (len(sizes[name]), sum(sizes[name]))))


def _copies(spaces: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield the kind of each copy, and its details."""
    planes = (plane for space in spaces for plane in space.planes if plane.name.startswith(DEVICE_PLANE))
    for plane in planes:
        for event in (event for line in plane.lines for event in line.events):
            name = plane.event_metadata[event.metadata_id].name
            if name in COPIES:
                stats = (stat for stat in event.stats if plane.stat_metadata[stat.metadata_id].name == DETAILS)
                details = (stat.str_value or plane.stat_metadata[stat.ref_value].name for stat in stats)
                yield name, next(details, "")


# The time of a copy on a GPU

SIZES = (1, 2**10, 2**14, 2**18, 2**22, 2**26)
"""Elements of float32: 4 B for the latency, up to 256 MiB for the rate."""
ROUNDS = 40
GROUP_SECONDS = 2.0
"""About how long all rounds of one size may take; large copies get fewer."""
WARM_UPS = 2

Segments: TypeAlias = tuple[Callable[[], Any], Callable[[], Any]]


def measure_copies(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request for the time of copies to and from the GPU: the devices, and rows by way and size.

    A row has `way`, `direction`, `bytes` and median `seconds`.
    """
    require_gpu()
    rows = []
    for size in SIZES:
        emit({"event": "timing", "case": f"copies/{size}"})
        ways = ways_of(size)
        for (direction, way), seconds in zip(ways, _seconds(list(ways.values())), strict=True):
            rows.append({"way": way, "direction": direction, "bytes": 4 * size, "seconds": seconds})
    return {"devices": list_devices(), "rows": rows}


def ways_of(size: int) -> dict[tuple[str, str], Segments]:
    """Return what makes and what copies so many elements of float32, by direction and what a user would write.

    What is copied is made anew each time, outside the timed part: eager tensors keep the copy that was made of them.
    """
    array = np.ones(size, np.float32)
    (there,) = _constants_on([array], DEVICE)

    def on(place: str, tensor: Any) -> Any:
        with tf.device(SCOPES[place]):
            return tf.identity(tensor)

    return {
        ("to the device", "tf.constant(array)"): _segments(lambda: array, lambda x: _constants_on([x], DEVICE)[0]),
        ("to the device", "a tensor used there"): _segments(
            lambda: on(HOST, tf.constant(array)), lambda x: on(DEVICE, x)
        ),
        ("to the host", "tensor.numpy()"): _segments(lambda: on(DEVICE, there), lambda x: x.numpy()),
        ("to the host", "a tensor used there"): _segments(lambda: on(DEVICE, there), lambda x: on(HOST, x)),
    }


def _segments(make: Callable[[], Any], copy: Callable[[Any], Any]) -> Segments:
    """Return what is called in turn: making what is copied, and copying it; each waits for the device."""
    made: list[Any] = []

    def make_and_wait() -> None:
        made[:] = [make()]
        tf.test.experimental.sync_devices()

    def copy_and_wait() -> Any:
        result = copy(made[0])
        tf.test.experimental.sync_devices()
        return result

    return make_and_wait, copy_and_wait


def _seconds(ways: Sequence[Segments]) -> list[float]:
    """Time copies in balanced rounds and return the median of each."""
    timer = measure_timer(time.perf_counter)

    def measure(way: Segments) -> tuple[float, ...]:
        return measure_block(way, 1, time.perf_counter, timer)

    with quiet_garbage_collector():
        warm = [[measure(way) for _ in range(WARM_UPS)][-1] for way in ways]
        seconds: list[list[float]] = [[] for _ in ways]
        rounds = rounds_within(sum(map(sum, warm)), GROUP_SECONDS, ROUNDS)
        for order in balanced_orders(len(ways), rounds, np.random.default_rng(0)):
            for place in order:
                seconds[place].append(measure(ways[place])[1])
    return list(map(statistics.median, seconds))
