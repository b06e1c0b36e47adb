"""The callables that clocks time: a body under `tf.function`, and forward and backward under a tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ports.arrays import as_tuple

TIMED_SEGMENTS = {"forward": (0,), "backward": (1,), "forward_backward": (0, 1)}
"""Which segments of a prepared case count for a direction."""


def timed_segments(case: Case) -> tuple[int, ...]:
    """Return the positions of the segments whose seconds count for a case."""
    return (0,) if case.mode == "node" or case.threads is not None else TIMED_SEGMENTS[case.direction]


def constants(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return copies as tensors, so that what a body does to a tensor does not reach the reference."""
    return tuple(tf.constant(array) for array in arrays)


def wrap(built: Body, variant: Variant, mode: str, scope: str | None = None) -> Body:
    """Return a body as a mode has it called, as it is or as a `tf.function` of its own; pinned to a device scope."""
    if scope is None:
        return _wrap(built, variant, mode)

    def pinned(*inputs: Any) -> Any:
        with tf.device(scope):
            return called(*inputs)

    if variant.function_options.get("jit_compile"):  # XLA compiles for the place of the call, and sees no scope inside
        called = _wrap(built, variant, mode)
        return pinned
    called = built
    return _wrap(pinned, variant, mode)


def _wrap(built: Body, variant: Variant, mode: str) -> Body:
    if mode == "eager" or hasattr(built, "get_concrete_function"):  # a file has a `tf.function` of its own for XLA
        return built
    # AutoGraph reads the source of a function itself, not of a wrapper: nothing may stand between.
    wrapped: Body = tf.function(built, **variant.function_options)
    return wrapped


def forward_and_backward(
    op: Op, function: Body, tensors: Sequence[Any], output_gradients: Sequence[Any]
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return forward of a wrapped body under a tape and the backward pass over it, to be called in turn."""
    watched = [tensors[i] for i in op.differentiable]
    recorded: list[Any] = [None, None]

    def forward() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(watched)
            outputs = as_tuple(function(*tensors))
        recorded[0], recorded[1] = tape, [outputs[i] for i in op.floating_outputs]
        return outputs

    def backward() -> Any:
        return recorded[0].gradient(recorded[1], watched, output_gradients=list(output_gradients))

    return forward, backward
