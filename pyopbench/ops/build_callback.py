"""From a body and a bridge to a callback op with its gradient: what every callback variant shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.op import Body, GradientBody, Op
from pyopbench.ops.gradients import GRADIENTS, Bridged
from pyopbench.ports.arrays import as_tuple, one_or_tuple

Bridge = Callable[[Body, Sequence[Any], Sequence[str]], Any]
"""`(function, tensors, output dtypes) -> tensor or list of tensors`, for example `tf.numpy_function`."""

CALLBACK_GRADIENTS = ("custom_gradient", "override_map", "override_map_ops", "defun")


def build_callback(op: Op, case: Case, bridge: Bridge, body: Body, gradient_body: GradientBody | None) -> Body:
    """Return `op` as a callback through `bridge`, with the gradient of `case` attached.

    `body` runs inside the callback, on whatever `bridge` hands over, and `gradient_body` inside that of the gradient.
    """

    def forward(*inputs: Any) -> tuple[Any, ...]:
        return as_tuple(bridge(body, inputs, op.output_dtypes(case.dtype)))

    attach = GRADIENTS[case.gradient].attach
    if case.gradient == NO_GRADIENT or attach is None:
        return lambda *inputs: one_or_tuple(forward(*inputs))
    if gradient_body is None:
        raise ValueError(f"the op has no gradient for {case.variant}")
    backward = _bridged_gradient(op, bridge, gradient_body)
    return attach(Bridged(forward, backward, op.tensor_gradient, op.differentiable, op.floating_outputs))


def why_no_tape(op: Op, case: Case) -> str | None:
    """Return why the gradient of `py_function`'s own tape, where it is asked for, would fail; None if it would not."""
    # The gradient of EagerPyFunc takes None for a gradient of 0.0, which it cannot turn into whole numbers:
    # `EagerFunc._convert` and `_EagerPyFuncGrad` in tensorflow/python/ops/script_ops.py.
    if case.gradient != "tape":
        return None
    inputs = op.make_inputs(op.sizes[0], case.dtype, np.random.default_rng(0))
    whole = [np.asarray(array).dtype.kind != "f" for array in inputs]
    if any(whole) or len(op.floating_outputs) < len(op.outputs):
        return "py_function's own gradient fails in TensorFlow where an input or output is not floating"
    return None


def _bridged_gradient(op: Op, bridge: Bridge, gradient_body: GradientBody) -> GradientBody:
    def backward(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
        # A callback takes a flat list of tensors; the three groups are distinguished by their lengths.
        first, second = len(inputs), len(inputs) + len(outputs)

        def body(*flat: Any) -> Any:
            return one_or_tuple(as_tuple(gradient_body(flat[:first], flat[first:second], flat[second:])))

        dtypes = [inputs[i].dtype.name for i in op.differentiable]
        return as_tuple(bridge(body, (*inputs, *outputs, *output_gradients), dtypes))

    return backward
