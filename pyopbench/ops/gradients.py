"""The gradient mechanisms, as a table: how a callback that TensorFlow cannot see into is given a gradient.

Which mechanism works in which mode was run on TensorFlow 2.21 and is held by `tests/ops/test_gradients.py`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT
from pyopbench.model.op import Body, GradientBody
from pyopbench.ports.arrays import as_tuple, one_or_tuple

CALLBACK_NODES = ("PyFunc", "EagerPyFunc")
"""Node types of `py_func` and `py_function`: tensorflow/python/ops/script_ops.py."""

_unique = itertools.count()


@dataclass(frozen=True)
class Gradient:
    """One way of giving a callback a gradient."""

    name: str
    summary: str
    source: str  # where TensorFlow documents or implements it
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


GRADIENTS: dict[str, Gradient] = {
    gradient.name: gradient
    for gradient in (
        Gradient(NO_GRADIENT, "forward only, nothing attached", "", ("eager", "call", "v1_graph")),
        Gradient(
            "autodiff",
            "the gradients that TensorFlow registers for its own ops",
            "https://www.tensorflow.org/guide/autodiff",
            ("eager", "call", "v1_graph"),
        ),
        Gradient(
            "tape",
            "py_function's own: the body runs under a tape, which its gradient pops",
            "https://www.tensorflow.org/api_docs/python/tf/py_function",
            ("eager", "call", "v1_graph"),
        ),
        Gradient(
            "custom_gradient",
            "tf.custom_gradient around the callback; the gradient is a callback too",
            "https://www.tensorflow.org/api_docs/python/tf/custom_gradient",
            ("eager", "call", "v1_graph"),
            _attach_custom_gradient,
        ),
        Gradient(
            "override_map",
            "RegisterGradient and gradient_override_map; the gradient is a callback too",
            "https://www.tensorflow.org/api_docs/python/tf/Graph#gradient_override_map",
            ("call", "v1_graph"),
            _attach_override_callback,
        ),
        Gradient(
            "override_map_ops",
            "RegisterGradient and gradient_override_map; the gradient is TensorFlow ops",
            "https://www.tensorflow.org/api_docs/python/tf/Graph#gradient_override_map",
            ("call", "v1_graph"),
            _attach_override_ops,
        ),
        Gradient(
            "defun",
            "function.Defun(python_grad_func=...) around the callback; the gradient is a callback too",
            "tensorflow/python/framework/function.py",
            ("call", "v1_graph"),
            _attach_defun,
            _defun_missing,
        ),
    )
}
