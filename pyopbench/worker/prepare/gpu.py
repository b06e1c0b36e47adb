"""A case on a GPU: its inputs and results are there, each call waits for the GPU, and its copies can be counted.

A port that TensorFlow runs on the CPU after all gets no number, because it would be that of another device. A callback
runs its Python on the host wherever it is pinned, and its time includes the copies to the host and back.

Copies are counted from the events of TensorFlow's profiler. The counts are those of the simulated device's counters, so
that both give one table. Written after the names in `xla/backends/profiler/gpu/cupti_collector.cc` (`MemcpyH2D`, and a
stat `memcpy_details` that holds `size:BYTES`).
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import GPU
from pyopbench.model.errors import Elsewhere, Unsupported
from pyopbench.model.op import Body
from pyopbench.model.places import DEVICE, HOST
from pyopbench.model.variant import Variant
from pyopbench.ops.kernels.simulated_device import SCOPES, Counts, is_on_device, listed
from pyopbench.ports.arrays import as_tuple, one_or_tuple
from pyopbench.worker.prepare.segments import constants, wrap

DEVICE_PLANE = "/device:GPU:"
DETAILS = "memcpy_details"
COPIES = ("MemcpyH2D", "MemcpyD2H", "MemcpyD2D")
"""Names of the events, in the order of `Counts`."""
SIZE = re.compile(r"\bsize:(\d+)")
"""Copies within the device have no end on the host."""


def require_gpu() -> None:
    """Check that TensorFlow sees a GPU, which this process has not hidden.

    Raises:
        Unsupported: it does not; with the devices that it sees.
    """
    if not tf.config.get_visible_devices("GPU"):
        raise Unsupported("TensorFlow sees no GPU", received=", ".join(listed()))


def use_device(placement: str) -> None:
    """Check that TensorFlow sees a GPU if the placement is on one; otherwise, hide the GPUs from it.

    Raises:
        Unsupported: as `require_gpu`.
    """
    if placement == GPU:
        require_gpu()
    else:
        _hide_accelerators()


@lru_cache(maxsize=1)
def _hide_accelerators() -> None:
    # A device scope around each call would be timed with it; a process that sees only the CPU needs none.
    tf.config.set_visible_devices([], "GPU")


def count_copies(call: Callable[[], Any]) -> tuple[Any, Counts]:
    """Call under the profiler, wait until the GPU is done, and return the result and what was copied meanwhile.

    Raises:
        Unsupported: there is no GPU, or the profiler's events cannot be read.
    """
    _require_events()
    result, spaces = _recorded(call)
    return result, counts_of(spaces)


KNOWN_ELEMENTS = 1000


@lru_cache(maxsize=1)
def _require_events() -> None:
    """Check that the profiler reports a copy that was surely made; otherwise calls would seem to copy nothing.

    Raises:
        Unsupported: it does not, for example because CUPTI is missing or this user may not profile.
    """

    def there_and_back() -> Any:
        with tf.device(SCOPES[HOST]):
            here = tf.constant(np.ones(KNOWN_ELEMENTS, np.float32))
        with tf.device(SCOPES[DEVICE]):
            return tf.identity(here).numpy()

    _, spaces = _recorded(there_and_back)
    counts, least = counts_of(spaces), KNOWN_ELEMENTS * np.dtype(np.float32).itemsize
    if min(counts.to_device_bytes, counts.to_host_bytes) < least:
        raise Unsupported(
            f"the profiler of TensorFlow {tf.__version__} does not report all copies",
            received=f"{counts.to_device_bytes:,} bytes to the GPU, {counts.to_host_bytes:,} back, of {least:,} each",
            hint="the profiler needs NVIDIA's CUPTI, and a driver that lets this user profile "
            "(https://developer.nvidia.com/ERR_NVGPUCTRPERM)",
        )


def _recorded(call: Callable[[], Any]) -> tuple[Any, list[Any]]:
    require_gpu()
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        try:
            result = call()
            tf.test.experimental.sync_devices()
        finally:
            tf.profiler.experimental.stop()
        return result, _spaces(Path(folder))


def counts_of(spaces: Iterable[Any]) -> Counts:
    """Return what was copied according to `XSpace` messages, which do not include allocations.

    Raises:
        Unsupported: an event of a copy does not say how many bytes it moved.
    """
    found: list[int] = []
    copies = list(_copies(spaces))
    for name in COPIES:
        sizes = [_bytes_of(name, details) for kind, details in copies if kind == name]
        found += [len(sizes), sum(sizes)]
    return Counts(*found)


def _copies(spaces: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield the kind of each copy, and its details."""
    planes = (plane for space in spaces for plane in space.planes if plane.name.startswith(DEVICE_PLANE))
    for plane in planes:
        for event in (event for line in plane.lines for event in line.events):
            name = plane.event_metadata[event.metadata_id].name
            if name in COPIES:
                yield name, _details_of(plane, event)


def _details_of(plane: Any, event: Any) -> str:
    for stat in event.stats:
        if plane.stat_metadata[stat.metadata_id].name == DETAILS:
            return str(stat.str_value or plane.stat_metadata[stat.ref_value].name)
    return ""


def _bytes_of(name: str, details: str) -> int:
    match = SIZE.search(details)
    if match:
        return int(match.group(1))
    raise Unsupported(f"the profiler of TensorFlow {tf.__version__} does not report how many bytes a {name} copied")


def _spaces(folder: Path) -> list[Any]:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    files = sorted(folder.rglob("*.xplane.pb"))
    if not files:
        raise Unsupported(f"the profiler of TensorFlow {tf.__version__} wrote nothing")
    return [xplane_pb2.XSpace.FromString(file.read_bytes()) for file in files]


def wrap_on_gpu(built: Body, variant: Variant, mode: str) -> Body:
    """Return a body as a mode has it called, pinned to the GPU; the results of a callback are brought there."""
    if not variant.is_callback:
        return wrap(built, variant, mode, SCOPES[DEVICE])

    def body(*inputs: Any) -> Any:
        return one_or_tuple([tf.identity(output) for output in as_tuple(built(*inputs))])

    return wrap(body, variant, mode, SCOPES[DEVICE])


def with_gradients_on_gpu(backward: Callable[[], Any]) -> Callable[[], Any]:
    """Return the backward pass of a callback that also copies its gradients to the GPU, where a program needs them.

    Eager `tf.py_function` leaves on the host what its Python made there. `wrap_on_gpu` copies the results of forward.
    """

    def brought() -> list[Any]:
        with tf.device(SCOPES[DEVICE]):
            return [one if one is None or is_on_device(one) else tf.identity(one) for one in backward()]

    return brought


def constants_on_gpu(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return copies as tensors on the GPU."""
    with tf.device(SCOPES[DEVICE]):
        return constants(arrays)


def waiting(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return the call followed by a wait for the GPU: otherwise only the start of the work would be timed."""

    def wait() -> Any:
        result = call()
        tf.test.experimental.sync_devices()
        return result

    return wait


def require_there(what: str, tensors: Sequence[Any]) -> None:
    """Check that floating-point results are on the GPU; TensorFlow keeps int32 on the host by default.

    Raises:
        Elsewhere: one is on the CPU.
    """
    for i, tensor in enumerate(tensors):
        if tensor is not None and tensor.dtype.is_floating and not is_on_device(tensor):
            raise Elsewhere(f"{what} {i} is on the CPU: TensorFlow has no GPU kernel for it")
