"""A case on a GPU: its inputs and results are there, and each call waits for the GPU.

A port that TensorFlow runs on the CPU after all gets no number, because it would be that of another device. A callback
runs its Python on the host wherever it is pinned, and its time includes the copies to the host and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import tensorflow as tf

from pyopbench.model.case import DEVICE, GPU
from pyopbench.model.errors import PyopbenchError, Unsupported
from pyopbench.model.op import Body
from pyopbench.model.variant import Variant
from pyopbench.ops.kernels.simulated_device import SCOPES, is_on_device, list_devices
from pyopbench.ports.arrays import as_tuple, one_or_tuple
from pyopbench.worker.prepare.segments import constants, wrap


def require_gpu() -> None:
    """Check that TensorFlow sees a GPU, which this process has not hidden."""
    if not tf.config.get_visible_devices("GPU"):
        raise Unsupported("TensorFlow sees no GPU", received=", ".join(list_devices()))


def use_device(placement: str) -> None:
    """Check that TensorFlow sees a GPU if the placement is on one; otherwise, hide the GPUs from it."""
    if placement == GPU:
        require_gpu()
    else:
        _hide_accelerators()


@lru_cache(maxsize=1)
def _hide_accelerators() -> None:
    # A device scope around each call would be timed with it; a process that sees only the CPU needs none.
    tf.config.set_visible_devices([], "GPU")


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


def wait_after(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return the call followed by a wait for the GPU: otherwise only the start of the work would be timed."""

    def wait() -> Any:
        result = call()
        tf.test.experimental.sync_devices()
        return result

    return wait


def require_there(what: str, tensors: Sequence[Any]) -> None:
    """Check that floating-point results are on the GPU; TensorFlow keeps int32 on the host by default."""
    for i, tensor in enumerate(tensors):
        if tensor is not None and tensor.dtype.is_floating and not is_on_device(tensor):
            raise PyopbenchError(f"{what} {i} is on the CPU: TensorFlow has no GPU kernel for it")
