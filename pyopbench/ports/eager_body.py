"""A body of `tf.py_function` that computes on arrays, as a body that takes them.

It gets eager tensors and makes arrays of them: by `x.numpy()`, `np.asarray(x)`, or `np.sinh(x)` itself. It may convert
its results to tensors again. If its operators compute with tensors as well as arrays, it is rewritten (`mixed_body`).
If it computes anything with functions of TensorFlow, it is no such body.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from pyopbench.model.op import Body
from pyopbench.ports import conversions, mixed_body
from pyopbench.ports.arrays import as_outputs, as_tuple, is_same, read_only
from pyopbench.ports.extract.module import place_of_user
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.rebinding import BODY, written

CONVERSIONS = {"Cast"}
"""Ops of TensorFlow that a body may run, where its tape ends: `tf.cast`. `tf.constant` runs none."""

DETACH = "if nothing needs that gradient, begin the body with `x = x.numpy()` for each of its tensors"


def body_on_arrays(function: Body | None, examples: Sequence[Sequence[Any]], *, needs_tape: bool = True) -> Body | None:
    """Return a copy of a body that takes arrays; None if it computes with TensorFlow, or the copy returns other values.

    Args:
        function: takes eager tensors.
        examples: arrays to run it on.
        needs_tape: must a gradient that a tape finds through the body be kept?

    Raises:
        CannotPort: it mixes tensors with arrays, and cannot be rewritten for arrays alone; with the user's line.
    """
    if function is None or conversions.is_of_tensorflow(function):
        return None
    tensors = [tf.constant(one) for one in examples[0]]
    with tf.GradientTape() as tape, ops_run() as ran:
        tape.watch([one for one in tensors if one.dtype.is_floating])
        expected = as_tuple(function(*tensors))
    if needs_tape and _is_on_tape(tape, expected, tensors):
        if ran - CONVERSIONS and mixed_body.has_arrays(function, examples):
            why = "a gradient passes through the tensors of the body, and arrays have none"
            code = getattr(written(function), "__code__", None)
            place = None if code is None else (code.co_filename, code.co_firstlineno)
            raise CannotPort(why, fix=DETACH, place=place_of_user(place))
        return None
    if ran - CONVERSIONS:
        return mixed_body.rewrite_for_arrays(function, examples)
    given = read_only(examples[0])  # `x.numpy()` is a copy that may be written to, and an input is not
    try:
        is_of_user = isinstance(written(function), types.FunctionType | types.MethodType)
        copy = mixed_body.without_conversions(function, len(given)) if is_of_user else function
        found = None if copy is None else as_outputs(copy(*given))
    except Exception:  # noqa: BLE001 - whatever a body of tensors raises when it gets arrays
        return None
    if copy is None or found is None:
        return None
    if len(found) != len(expected) or not all(map(is_same, found, expected)):
        return None

    def of_arrays(*inputs: Any) -> Any:
        return copy(*inputs)

    setattr(of_arrays, BODY, function)
    return of_arrays


def _is_on_tape(tape: tf.GradientTape, outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
    floating = [one for one in outputs if tf.is_tensor(one) and one.dtype.is_floating]
    return bool(floating) and any(one is not None for one in tape.gradient(floating, list(inputs)))


@contextmanager
def ops_run() -> Iterator[set[str]]:
    """A context that has the names of the ops that TensorFlow runs in it."""
    from tensorflow.python.framework import op_callbacks  # no public function says which ops were run

    ran: set[str] = set()

    def note(op_type: Any, *_: Any, **__: Any) -> None:
        ran.add(op_type.decode() if isinstance(op_type, bytes) else str(op_type))

    op_callbacks.add_op_callback(note)
    try:
        yield ran
    finally:
        op_callbacks.remove_op_callback(note)
