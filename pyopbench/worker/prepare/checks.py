"""Is a variant right? Values and gradients against the NumPy reference, and gradients against finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Op
from pyopbench.ops.load import load_op, make_inputs
from pyopbench.ports.arrays import as_array, as_given, as_tuple, in_parts, is_rounded, is_same, relative_errors


@dataclass(frozen=True)
class Checked:
    """The largest errors seen, relative to the largest magnitude of what was expected; None where not checked."""

    values: float
    gradient: float | None = None  # against the reference gradient
    finite_difference: float | None = None  # of the gradient


def require_equal(what: str, got: Any, expected: Any, tolerance: float, *, negligible: float = 0.0) -> float:
    """Check an array against the reference.

    Args:
        what: names the array in the error.
        got: array or tensor to check.
        expected: the reference array.
        tolerance: largest error allowed, relative to the largest magnitude in `expected` (absolute if that is 0);
            of complex numbers for each part, relative to the largest part. What is not rounded has to be equal.
        negligible: a magnitude that cannot be distinguished from 0; where neither array exceeds it, they are equal.

    Returns:
        The largest error, relative in the same way.

    Raises:
        WrongResult: None, another dtype or shape, or a value further off; with index, expected and got value.
    """
    if got is None:
        raise WrongResult(f"{what} is None: TensorFlow found no gradient for it")
    got, expected = np.asarray(got), np.asarray(expected)
    if got.dtype != expected.dtype or got.shape != expected.shape:
        raise WrongResult(
            f"{what} has the wrong type or shape: expected {expected.dtype} {expected.shape}, "
            f"got {got.dtype} {got.shape}"
        )
    if expected.size == 0:
        return 0.0
    if not is_rounded(expected):
        tolerance = 0.0
    elif negligible and np.max([np.abs(in_parts(one)).max() for one in (got, expected)]) <= negligible:
        return 0.0  # which NaN is not
    error = relative_errors(got, expected)
    worst = np.unravel_index(int(np.argmax(error)), error.shape)
    if error[worst] > tolerance:
        index = ", ".join(str(int(i)) for i in worst)
        # As text, because repr() of a NumPy number is not the same in every NumPy.
        raise WrongResult(
            f"{what} differs at index [{index}]: expected {expected[worst]!s}, got {got[worst]!s} "
            f"(relative error {error[worst]:.2g}, tolerance {tolerance:.2g})"
        )
    return float(error[worst])


@dataclass(frozen=True)
class Reference:
    """Inputs of an op and what NumPy makes of them; `gradients` are of `output_gradients` through the op."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    output_gradients: tuple[Any, ...]
    gradients: tuple[Any, ...] | None


@lru_cache(maxsize=4)
def reference_of(op_name: str, size: int, dtype: str) -> Reference:
    """Return inputs of an op with what NumPy makes of them, and gradients where the op has its own in NumPy."""
    op = load_op(op_name)
    rng = np.random.default_rng([1, size, *op.name.encode()])
    return make_reference(op, make_inputs(op, size, dtype), dtype, rng)


def make_reference(op: Op, inputs: tuple[Any, ...], dtype: str, rng: np.random.Generator) -> Reference:
    """Return what NumPy makes of any inputs, with gradients of outputs that are drawn from a generator."""
    outputs = tuple(
        as_array(output, output_dtype)
        for output, output_dtype in zip(as_tuple(op.numpy(*as_given(inputs))), op.output_dtypes(dtype), strict=True)
    )
    # Away from 1, so that a gradient that ignores what flows into it is found out; 0 where there is no slope, because
    # an output is NaN.
    output_gradients = tuple(
        np.where(np.isnan(outputs[i]), 0, rng.uniform(0.5, 1.5, outputs[i].shape)).astype(outputs[i].dtype)
        for i in op.floating_outputs
    )
    gradients = None
    if op.numpy_gradient is not None and op.differentiable:
        found = op.numpy_gradient(as_given(inputs), as_given(outputs), as_given(output_gradients))
        gradients = tuple(np.asarray(gradient) for gradient in found)
    return Reference(inputs, outputs, output_gradients, gradients)


def check_values(op: Op, outputs: Any, reference: Reference, dtype: str) -> float:
    """Return the largest error of outputs, of which none may differ in number, type, shape or dtype."""
    found = as_tuple(outputs)
    if len(found) != len(reference.outputs):
        raise WrongResult(f"{len(found)} outputs instead of {len(reference.outputs)}")
    for i, got in enumerate(found):
        if not tf.is_tensor(got):
            raise WrongResult(f"output {i} is not a tensor but a {type(got).__name__}")
    return max(
        require_equal(f"output {i}", got, expected, op.tolerance[dtype])
        for i, (got, expected) in enumerate(zip(found, reference.outputs, strict=True))
    )


def check_gradients(op: Op, gradients: Sequence[Any], reference: Reference, dtype: str) -> float | None:
    """Return the largest error of gradients, None if the reference has none."""
    if reference.gradients is None:
        return None
    return max(
        require_equal(
            f"gradient of input {i}", got, expected, op.tolerance[dtype], negligible=_negligible(op, reference, i)
        )
        for i, got, expected in zip(op.differentiable, dense(gradients), reference.gradients, strict=True)
    )


def _negligible(op: Op, reference: Reference, i: int) -> float:
    """Return the slope by which moving an input by all of its magnitude changes no output by one rounding.

    A gradient that is smaller everywhere is 0 as far as can be seen: it is what is left of terms that cancel, and two
    ways to add them leave different rests.
    """
    moved = _magnitude(reference.inputs[i])
    outputs = [reference.outputs[place] for place in op.floating_outputs]
    if moved == 0 or not outputs:
        return 0.0
    changes = [
        np.finfo(output.dtype).eps * _magnitude(output) * _magnitude(slope)
        for output, slope in zip(outputs, reference.output_gradients, strict=True)
    ]
    return float(max(changes) / moved)


def _magnitude(array: Any) -> float:
    finite = np.abs(array[np.isfinite(array)])
    return float(finite.max()) if finite.size else 0.0


def dense(gradients: Sequence[Any]) -> list[Any]:
    """Return gradients as tensors: that of a gather comes as IndexedSlices, which are no array."""
    return [None if gradient is None else tf.convert_to_tensor(gradient) for gradient in gradients]


def check_unchanged(what: str, tensors: Sequence[Any], arrays: Sequence[Any]) -> None:
    """Check that a body did not write to what it was given: in a graph a PyFunc gets the tensor's own memory."""
    for i, (tensor, array) in enumerate(zip(tensors, arrays, strict=True)):
        if not is_same(tensor, array):
            raise WrongResult(f"{what} {i} is overwritten by the function: in a graph that changes the caller's tensor")
