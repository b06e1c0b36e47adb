"""Arrays as they cross between tensors and bodies. Text is the odd one out: TensorFlow has bytes of any length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np

name_of: Callable[[Any], str] = cache(attrgetter("name"))
"""Return NumPy's name of a dtype, which NumPy makes anew each time."""

STRING = "string"
"""What TensorFlow calls its dtype of text; NumPy gets it as an array of `bytes` objects."""


def as_array(value: Any, dtype: str | None = None) -> Any:
    """Return a value as an array of a TensorFlow dtype, or as what it is; text becomes objects of `bytes`, in UTF-8."""
    if dtype not in (None, STRING):
        return np.asarray(value, dtype)
    array = np.asarray(value)
    if dtype == STRING or array.dtype.kind in "US":
        encoded = [item.encode() if isinstance(item, str) else bytes(item) for item in array.ravel()]
        array = np.array([*encoded, None], object)[:-1].reshape(array.shape)
    return array


def dtype_of(array: Any) -> str:
    """Return TensorFlow's name of an array's dtype."""
    return STRING if array.dtype.kind == "O" else str(array.dtype.name)


def is_rounded(array: Any) -> bool:
    """Does an array hold floats or complex numbers, which arithmetic rounds?

    By the name of the dtype, because for NumPy bfloat16 and most of the float8 are of no kind of number.
    """
    return bool(array.dtype.name.startswith(("float", "bfloat", "complex")))


def in_parts(array: Any) -> Any:
    """Return an array of floats as float64 with one more axis, along which a complex number has two elements.

    Real and imaginary parts are compared apart, because one of them may be NaN or infinite and the other a number.
    Every narrower float is exact in float64, while arithmetic in float16 or float8 would round errors away.
    """
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], axis=-1).astype(np.float64)
    return array.astype(np.float64)[..., np.newaxis]


def relative_errors(found: Any, expected: Any) -> Any:
    """Return how far off each element is, relative to the largest magnitude in `expected` (absolute if that is 0).

    For a complex number this is the worse part. Values that are not rounded are off by 0 or 1. Equal infinities are
    right, and so is NaN if NaN is expected; any other value in place of these is infinitely far off.

    Args:
        found: array to check, of the dtype and shape of `expected`.
        expected: the reference array, of at least one element.
    """
    if not is_rounded(expected):
        return np.asarray(found != expected).astype(np.float64)
    ours, theirs = in_parts(found), in_parts(expected)
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(ours - theirs)
        scale = np.abs(theirs).max()
    if not (np.isfinite(scale) and np.isfinite(error.max())):
        finite = np.abs(theirs[np.isfinite(theirs)])
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
        scale = finite.max() if finite.size else 0.0
    return (error / (scale if scale > 0 else 1.0)).max(axis=-1)


def as_given(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return copies in the form in which a callback in a graph gets them: what has no axis is a number, or `bytes`."""
    return tuple(np.array(array) if np.ndim(array) else np.array(array)[()] for array in arrays)


def read_only(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return copies as `as_given` does, to which a write fails, also one that happens to change nothing."""
    given = as_given(arrays)
    for one in given:
        if isinstance(one, np.ndarray):
            one.flags.writeable = False
    return given


def as_outputs(returned: Any) -> tuple[Any, ...]:
    """Return what are the outputs: of a tuple each item, of a list too if its items are arrays, else the whole."""
    several = isinstance(returned, tuple) or (
        isinstance(returned, list) and any(isinstance(one, np.ndarray) for one in returned)
    )
    return tuple(returned) if several else (returned,)


def byte_count(array: Any) -> int:
    """Return how many bytes an array holds, of text those of the text."""
    return sum(map(len, array.ravel())) if array.dtype.kind == "O" else int(array.nbytes)


def is_same(found: Any, expected: Any) -> bool:
    """Are two tensors or arrays equal bit by bit, so that NaN equals NaN? Python's numbers count as NumPy's."""
    one, other = as_array(found), as_array(expected)
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    return bool(np.array_equal(one, other)) if one.dtype.kind == "O" else one.tobytes() == other.tobytes()


def one_or_tuple(outputs: Sequence[Any]) -> Any:
    """Return the only output itself, or all of them as a tuple: what an op with these outputs returns."""
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def body_outputs(body: Callable[..., Any], arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return what a body returns for copies of arrays, given as a callback in a graph gets them, as arrays."""
    return tuple(as_array(one) for one in as_tuple(body(*as_given(arrays))))


def as_tuple(outputs: Any) -> tuple[Any, ...]:
    """Return the outputs of a body as a tuple, whether it returned one, a list or a tuple."""
    return tuple(outputs) if isinstance(outputs, (list, tuple)) else (outputs,)
