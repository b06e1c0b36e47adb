"""NumPy's dtypes of results, asked of the NumPy that is installed, and values as tensors of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing.tape import refuse

KINDS = "biufc"
"""Kinds of dtypes that tensors have too; text and objects are refused."""

NEP50 = int(np.__version__.split(".")[0]) >= 2
"""From NumPy 2 on a Python scalar has no dtype of its own, and every array has, whatever its rank
(https://numpy.org/neps/nep-0050-scalar-promotion.html). Before that values and ranks decide."""

WEAK = {int: 1, float: 1.0, complex: 1j}
"""Types of Python scalars, and an example of each."""


def is_tensor(value: Any) -> bool:
    """Is a value a tensor or a variable?

    `tf.is_tensor` looks through all attributes of what is neither, each time anew.
    """
    return isinstance(value, (tf.Tensor, tf.Variable))


def check(dtype: Any) -> np.dtype[Any]:
    """Return a dtype that tensors have.

    Raises:
        Refused: they have not.
    """
    found: np.dtype[Any] = np.dtype(dtype)
    if found.kind not in KINDS or found.itemsize > (16 if found.kind == "c" else 8):
        raise refuse(f"dtype {found}", why="is not a dtype of numbers that TensorFlow has")
    return found


def example(weak: type | None, dtype: np.dtype[Any] | None, rank: int) -> Any:
    """Return what promotes as an operand does: a Python scalar, or an array of ones of one element.

    Python's truth values have NumPy's dtype of them.
    """
    if weak in WEAK:
        return WEAK[weak]
    return np.ones((1,) * rank, dtype)


def common(examples: Sequence[Any]) -> np.dtype[Any]:
    """Return the dtype to which operands are promoted, by examples of them."""
    return np.result_type(*examples)


def loop(ufunc: np.ufunc, examples: Sequence[Any], signature: Any = None) -> tuple[list[Any], list[Any]]:
    """Return the dtypes that a ufunc computes with and returns, for operands of which examples are given."""
    resolve = getattr(ufunc, "resolve_dtypes", None)
    outputs = [None] * ufunc.nout
    if signature is not None:
        signature = (*[None] * ufunc.nin, *[np.dtype(signature)] * ufunc.nout)
    if resolve is not None and NEP50:
        given: list[Any] = [one.dtype if isinstance(one, np.ndarray) else type(one) for one in examples]
        if all(one in WEAK for one in given):  # which would be objects
            given = [np.dtype(one) for one in given]
        found = list(resolve((*given, *outputs), **({} if signature is None else {"signature": signature})))
    else:
        found = _loop_by_types(ufunc, examples, signature)
    return [check(one) for one in found[: ufunc.nin]], [check(one) for one in found[ufunc.nin :]]


def _loop_by_types(ufunc: np.ufunc, examples: Sequence[Any], signature: Any) -> list[Any]:
    """Return what `resolve_dtypes` does, by the first loop to which the operands can be cast."""
    wanted = common(examples) if signature is None else signature[-1]
    for types in ufunc.types:
        given, returned = types.split("->")
        if all(np.can_cast(wanted, char, "safe") for char in given):
            return [np.dtype(char) for char in (*given, *returned)]
    raise TypeError(f"ufunc '{ufunc.__name__}' not supported for the input types")


def holds(dtype: np.dtype[Any], array: Any) -> bool:
    """Is a number of Python's in the range of a dtype of integers? Of what is none, or is not known, it is."""
    if array.weak is not int or not array.is_known or dtype.kind not in "iu":
        return True
    limits = np.iinfo(dtype)
    return bool(limits.min <= int(array.value) <= limits.max)


def check_range(array: Any, dtype: np.dtype[Any]) -> None:
    """Raise OverflowError, as NumPy does from version 2 on, where a dtype does not hold a Python integer."""
    if NEP50 and not holds(dtype, array):
        raise OverflowError(f"Python integer {int(array.value)} out of bounds for {dtype}")


def constant(value: Any, dtype: Any) -> Any:
    """Return a NumPy or Python value as a tensor of a dtype."""
    return tf.constant(np.asarray(value, dtype) if not isinstance(value, np.ndarray) else value.astype(dtype))


BY_WAY_OF = {tf.uint8: tf.int32, tf.int8: tf.int32, tf.uint16: tf.int32, tf.int16: tf.int32, tf.uint32: tf.int64}
"""Integers of which TensorFlow takes the nearest to a float that is out of their range, for some elements of an array,
where NumPy keeps the low bits of a wider one."""


def cast(tensor: Any, dtype: Any) -> Any:
    """Return a tensor of another dtype, by NumPy's rules."""
    wanted = tf.as_dtype(np.dtype(dtype))
    if tensor.dtype == wanted:
        return tensor
    if wanted == tf.bool:
        return tf.not_equal(tensor, tf.zeros((), tensor.dtype))
    if tensor.dtype.is_floating and wanted in BY_WAY_OF:
        tensor = tf.cast(tensor, BY_WAY_OF[wanted])
    return tf.cast(tensor, wanted)


def dtype_of(tensor: Any) -> np.dtype[Any]:
    """Return NumPy's dtype of a tensor."""
    return check(tensor.dtype.as_numpy_dtype)
