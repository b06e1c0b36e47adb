"""The op behind TensorFlow's callbacks: its NumPy body, or TensorFlow ops run eagerly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, GradientBody, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.gradients import CALLBACK_GRADIENTS, Bridge, build_callback, why_no_tape
from pyopbench.ports.arrays import as_tuple, one_or_tuple


def _build_on(bridge: Bridge, op: Op, case: Case) -> Body:
    return build_callback(op, case, bridge, op.numpy, op.numpy_gradient)


def _on_arrays(function: Body, inputs: Sequence[Any], dtypes: Sequence[str]) -> Any:
    def body(*tensors: Any) -> Any:
        return function(*(tensor.numpy() for tensor in tensors))

    return tf.py_function(body, inputs, dtypes)


def _as_it_stands(function: Body, inputs: Sequence[Any], dtypes: Sequence[str]) -> Any:
    return tf.py_function(function, inputs, dtypes)


def _to_host(function: Body, inputs: Sequence[Any], dtypes: Sequence[str]) -> Any:
    def body(*tensors: Any) -> Any:
        outputs = as_tuple(function(*(tensor.numpy() for tensor in tensors)))
        with tf.device("/CPU:0"):
            return one_or_tuple([tf.constant(output, dtype) for output, dtype in zip(outputs, dtypes, strict=True)])

    return tf.py_function(body, inputs, dtypes)


def _build_py_function_numpy(op: Op, case: Case) -> Body:
    if op.py_function is not None:  # it calls .numpy() itself, where it wants arrays
        gradient = op.tensor_gradient or _on_tensors(op.numpy_gradient)
        return build_callback(op, case, _as_it_stands, op.py_function, gradient)
    return _build_on(_on_arrays, op, case)


def _on_tensors(gradient: GradientBody | None) -> GradientBody | None:
    """Return a gradient that takes eager tensors, of one that takes arrays."""
    if gradient is None:
        return None
    return lambda *given: gradient(*([one.numpy() for one in tensors] for tensors in given))


def _why_not_py_function_numpy(op: Op, case: Case) -> str | None:
    if case.gradient == "tape" and not op.is_on_tensors:
        return "the tape ends where the body takes .numpy() of its tensors"
    return why_no_tape(op, case)


def _build_py_function(op: Op, case: Case) -> Body:
    assert op.tensor is not None  # planned only for ops that have this body
    return build_callback(op, case, tf.py_function, op.tensor, op.tensor_gradient)


def _why_not_py_function(op: Op, case: Case) -> str | None:
    if op.py_function is not None and op.tensor is op.py_function:
        return "the py_function body is the current callback itself"
    return why_no_tape(op, case)


_callback = partial(
    Variant,
    body="numpy",
    kind="callback",
    effort=1,
    gradients=CALLBACK_GRADIENTS,
    function_options={"autograph": False},
)

VARIANTS = {
    "numpy_function": _callback(
        name="numpy_function",
        summary="NumPy body behind tf.numpy_function",
        effort=0,
        build=partial(_build_on, tf.numpy_function),
    ),
    # Stateful as by default: a `PyFunc` node.
    "py_func": _callback(
        name="py_func",
        summary="NumPy body behind tf.compat.v1.py_func (stateful)",
        build=partial(_build_on, tf.compat.v1.py_func),
    ),
    "py_function": _callback(
        name="py_function",
        summary="TensorFlow ops run eagerly behind tf.py_function",
        body="tensor",
        effort=2,
        build=_build_py_function,
        gradients=("tape", *CALLBACK_GRADIENTS),
        unsupported=_why_not_py_function,
    ),
    # What most teams have today.
    "py_function_numpy": _callback(
        name="py_function_numpy",
        summary="NumPy body behind tf.py_function, on .numpy() of each tensor",
        build=_build_py_function_numpy,
        gradients=(*CALLBACK_GRADIENTS, "tape"),
        unsupported=_why_not_py_function_numpy,
    ),
    # What keeps a result from going by the GPU. A body of `tf.py_function` runs without a device scope, also where the
    # op is pinned to the CPU. An ndarray that it returns becomes a tensor on the GPU, where there is one, and is copied
    # back to the CPU for an op that stands there. Without a GPU it is `py_function_numpy` with one more call, so it is
    # measured only where it is asked for by name; `pyopbench placement` counts it next to that one.
    "py_function_numpy_host": _callback(
        name="py_function_numpy_host",
        summary="as py_function_numpy, its result made a tensor on the CPU",
        build=partial(_build_on, _to_host),
        role="by_name",
    ),
}
