"""From a body and a bridge to a callback op, and how what TensorFlow cannot see into is given a gradient: a table.

Which mechanism works in which mode was run on TensorFlow 2.21 and is held by `tests/ops/test_gradients.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.op import Body, GradientBody, Op
from pyopbench.ports.arrays import as_tuple, one_or_tuple

CALLBACK_NODES = ("PyFunc", "EagerPyFunc")
"""Node types of `py_func` and `py_function`: tensorflow/python/ops/script_ops.py."""

Bridge = Callable[[Body, Sequence[Any], Sequence[str]], Any]
"""`(function, tensors, output dtypes) -> tensor or list of tensors`, for example `tf.numpy_function`."""

_unique = itertools.count()


@dataclass(frozen=True)
class Gradient:
    """One way of giving a callback a gradient."""

    works_in: tuple[str, ...]  # modes in which TensorFlow honours it
    attach: Callable[[Bridged], Body] | None = None  # None where the variant brings its own gradient
    missing: Callable[[], str | None] = lambda: None  # why the running TensorFlow does not have it


@dataclass(frozen=True)
class Bridged:
    """A callback and its gradient, already across the bridge: what a `Gradient` attaches."""

    forward: Body  # returns a tuple of tensors
    backward: GradientBody  # through the same bridge as `forward`
    backward_ops: GradientBody | None  # the same in TensorFlow ops
    differentiable: tuple[int, ...]  # positions of the inputs that have a gradient
    floating_outputs: tuple[int, ...]  # positions of the outputs that a gradient flows back through


def _spread(bridged: Bridged, gradients: Sequence[Any], inputs: int) -> list[Any]:
    """Put one gradient for each differentiable input in its place, None for the others."""
    by_input = dict(zip(bridged.differentiable, gradients, strict=True))
    return [by_input.get(i) for i in range(inputs)]


def _attach_custom_gradient(bridged: Bridged) -> Body:
    @tf.custom_gradient  # type: ignore[untyped-decorator,unused-ignore]
    def op(*inputs: Any) -> Any:
        outputs = bridged.forward(*inputs)

        def gradient(*output_gradients: Any) -> list[Any]:
            floating = [output_gradients[i] for i in bridged.floating_outputs]
            return _spread(bridged, bridged.backward(inputs, outputs, floating), len(inputs))

        return one_or_tuple(outputs), gradient

    return op  # type: ignore[no-any-return,unused-ignore]


def _node_gradient(bridged: Bridged, backward: Callable[..., Sequence[Any]]) -> Callable[..., list[Any]]:
    """Return a gradient function in the form that graphs want: `(node, *output_gradients) -> input gradients`."""

    def gradient(node: Any, *output_gradients: Any) -> list[Any]:
        floating = [output_gradients[i] for i in bridged.floating_outputs]
        found = backward(list(node.inputs), list(node.outputs), floating)
        return _spread(bridged, found, len(node.inputs))

    return gradient


def _attach_override(bridged: Bridged, backward: Callable[..., Sequence[Any]]) -> Body:
    # Gradient names are global to the process and may be registered only once.
    name = f"PyopbenchGradient{next(_unique)}"
    tf.RegisterGradient(name)(_node_gradient(bridged, backward))

    def op(*inputs: Any) -> Any:
        # Entered here, inside the traced function: a map entered outside belongs to another graph and is ignored.
        graph = tf.compat.v1.get_default_graph()
        with graph.gradient_override_map(dict.fromkeys(CALLBACK_NODES, name)):
            return one_or_tuple(bridged.forward(*inputs))

    return op


def _attach_override_callback(bridged: Bridged) -> Body:
    return _attach_override(bridged, bridged.backward)


def _attach_override_ops(bridged: Bridged) -> Body:
    if bridged.backward_ops is None:
        raise ValueError("override_map_ops needs a gradient in TensorFlow ops, and this op has none")
    return _attach_override(bridged, bridged.backward_ops)


def _attach_defun(bridged: Bridged) -> Body:
    from tensorflow.python.framework import function

    gradient = _node_gradient(bridged, bridged.backward)
    name = f"PyopbenchDefun{next(_unique)}"
    made: dict[tuple[Any, ...], Any] = {}

    def op(*inputs: Any) -> Any:
        dtypes = tuple(tensor.dtype for tensor in inputs)
        if dtypes not in made:
            suffix = "_".join(dtype.name for dtype in dtypes)
            decorate = function.Defun(*dtypes, func_name=f"{name}_{suffix}", python_grad_func=gradient)
            made[dtypes] = decorate(bridged.forward)
        return one_or_tuple(as_tuple(made[dtypes](*inputs)))

    return op


def _defun_missing() -> str | None:
    try:
        from tensorflow.python.framework import function
    except ImportError as error:
        return f"TensorFlow {tf.__version__} has no tensorflow.python.framework.function: {error}"
    return None if hasattr(function, "Defun") else f"TensorFlow {tf.__version__} has no function.Defun"


IN_GRAPHS = ("call",)
EVERYWHERE = ("eager", *IN_GRAPHS)

GRADIENTS: dict[str, Gradient] = {
    NO_GRADIENT: Gradient(EVERYWHERE),
    # The gradients that TensorFlow registers for its own ops: https://www.tensorflow.org/guide/autodiff
    "autodiff": Gradient(EVERYWHERE),
    # py_function's own: the body runs under a tape, which its gradient pops.
    "tape": Gradient(EVERYWHERE),
    # tf.custom_gradient around the callback; the gradient is a callback too.
    "custom_gradient": Gradient(EVERYWHERE, _attach_custom_gradient),
    # RegisterGradient and `tf.Graph.gradient_override_map`; the gradient is a callback too, or TensorFlow ops.
    "override_map": Gradient(IN_GRAPHS, _attach_override_callback),
    "override_map_ops": Gradient(IN_GRAPHS, _attach_override_ops),
    # `Defun(python_grad_func=...)` of tensorflow/python/framework/function.py; the gradient is a callback too.
    "defun": Gradient(IN_GRAPHS, _attach_defun, _defun_missing),
}

CALLBACK_GRADIENTS = tuple(name for name, gradient in GRADIENTS.items() if gradient.attach is not None)


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
