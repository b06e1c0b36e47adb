"""A case on a GPU: its inputs and its results live there, and every call is waited for.

A port that TensorFlow runs on the CPU all the same has no number: it would be that of another device. A callback runs
its Python on the host wherever it is pinned, and pays for the way there and back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from pyopbench import device, profiled
from pyopbench.errors import Elsewhere
from pyopbench.gradients import as_tuple, one_or_tuple
from pyopbench.model import Body, Variant
from pyopbench.segments import constants, wrap


def wrap_on_gpu(built: Body, variant: Variant, mode: str) -> Body:
    """Return a body as a mode has it called, pinned to the GPU; the results of a callback are brought there."""
    if not variant.is_callback:
        return wrap(built, variant, mode, device.DEVICE)

    def body(*inputs: Any) -> Any:
        return one_or_tuple([tf.identity(output) for output in as_tuple(built(*inputs))])

    return wrap(body, variant, mode, device.DEVICE)


def constants_on_gpu(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return copies as tensors on the GPU."""
    with tf.device(device.DEVICE):
        return constants(arrays)


def waiting(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return the call with a wait for the GPU after it: one that only starts the work would be timed as done."""

    def wait() -> Any:
        result = call()
        tf.test.experimental.sync_devices()
        return result

    return wait


def require_there(what: str, tensors: Sequence[Any]) -> None:
    """Check that floating results are on the GPU; whole numbers of 32 bits TensorFlow keeps on the host by itself.

    Raises:
        Elsewhere: one is on the CPU.
    """
    for i, tensor in enumerate(tensors):
        if tensor is not None and tensor.dtype.is_floating and not device.is_on_device(tensor):
            raise Elsewhere(f"{what} {i} is on the CPU: TensorFlow has no GPU kernel for it and falls back")


require_gpu = profiled.require_gpu
