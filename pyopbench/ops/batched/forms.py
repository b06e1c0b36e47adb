"""The batched forms of an op: what takes a batch of examples, along a leading axis, where the op takes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.op import Body, Op
from pyopbench.ops.batched import loops
from pyopbench.ops.build_callback import build_callback
from pyopbench.ops.compiled import why_no_function
from pyopbench.ops.port_file import port_call

How: TypeAlias = Literal["loop", "whole", "map"]

LOOP = "numpy_loop"
"""The form that always is: the body as it stands, called for each example inside one callback."""


@dataclass(frozen=True)
class Form:
    """One batched form of an op, not checked yet: `prepare.batched_forms` does that.

    Attributes:
        name: the key: `numpy_loop`, `numpy_whole`, `numba_op_loop` or `traced_map`.
        variant: what takes one example: `traced`, `numba_op`, or `numpy_function` for the body as it is.
        how: `loop` over examples in one callback, `whole` batch at once, or `map` by `tf.vectorized_map`.
        kind: `callback` if Python runs inside the graph, `port` if it does not.
        build: returns the form as a callable over tensors with a leading axis, whose length is that of the batch; it
            returns one tensor or a tuple, each with that axis. It may be called in a `tf.function`, as `Dataset.map`
            does. Raises what the variant raises where it does not exist for the op.
        has_gradient: does a gradient flow back through it?
        unsupported: why it is known not to exist before it is built; "" where that is not known.
    """

    name: str
    variant: str
    how: How
    kind: Literal["callback", "port"]
    build: Callable[[], Body]
    has_gradient: bool
    unsupported: str = ""

    @property
    def keeps_apart(self) -> bool:
        """Is every example treated alone, whatever the body does with a leading axis?"""
        return self.how != "whole"


def forms_of(op: Op, dtype: str, size: int, *, gradients: bool = True) -> tuple[Form, ...]:
    """Return every form that can be tried for an op, the loop first.

    Args:
        op: built in or a user's own.
        dtype: of the case.
        size: of an example.
        gradients: attach a gradient where the op has one; without it a form is what an input pipeline needs.
    """
    return tuple(_forms(op, dtype, size, gradients=gradients))


def _forms(op: Op, dtype: str, size: int, *, gradients: bool) -> Iterator[Form]:
    dtypes = op.output_dtypes(dtype)
    # The gradient is a loop over examples whatever the body is: what is built in batches has no gradient to time.
    gradient = None if op.numpy_gradient is None or not gradients else loops.gradient_loop(op.numpy_gradient, op)
    has_gradient = bool(op.differentiable) and gradient is not None
    attached, direction = ("custom_gradient", "backward") if has_gradient else (NO_GRADIENT, "forward")
    case = Case(op.name, "numpy_function", attached, direction, "call", dtype, size)

    def form(name: str, variant: str, how: How, body: Callable[[], Body], why: str = "") -> Form:
        def build() -> Body:
            return build_callback(op, case, tf.numpy_function, body(), gradient)

        return Form(name, variant, how, "callback", build, has_gradient, why)

    yield form(LOOP, "numpy_function", "loop", lambda: loops.python_loop(op.numpy, dtypes))
    random = _why_not_random(op)
    # The user's function as it stands: where it cannot be written it can still be called with a batch.
    yield form("numpy_whole", "numpy_function", "whole", lambda: op.numpy, random)
    if op.is_on_tensors:
        return
    loop, mapped = (partial(port_call, op, name, dtype) for name in ("numba_op_loop", "traced_map"))
    yield Form("numba_op_loop", "numba_op", "loop", "port", loop, has_gradient, random or why_no_function(op) or "")
    yield Form("traced_map", "traced", "map", "port", mapped, gradients and bool(op.differentiable), random)


def _why_not_random(op: Op) -> str:
    is_random = op.own is not None and op.own.is_random
    return "the body draws random numbers, and another form draws others" if is_random else ""
