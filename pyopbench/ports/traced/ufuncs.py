"""NumPy's ufuncs in TensorFlow ops: each takes tensors of the dtypes of NumPy's loop, not yet broadcast."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from pyopbench.ports.traced import float_functions as floats

Implementation = Callable[..., Any]

NARROW = {tf.int8: tf.int32, tf.int16: tf.int32, tf.uint8: tf.int32, tf.uint16: tf.int32, tf.uint32: tf.int64}
"""Integers of few bits, which many kernels lack, and what they are computed in: cut to their bits, all is the same."""


def _integers(function: Implementation) -> Implementation:
    """Return a function that computes few bits in more."""

    def wider(*tensors: Any) -> Any:
        narrow = tensors[0].dtype
        if narrow not in NARROW:
            return function(*tensors)
        found = function(*(tf.cast(one, NARROW[narrow]) for one in tensors))
        return found if found.dtype == tf.bool else tf.cast(found, narrow)

    return wider


def _by_kind(*, floats: Implementation, integers: Implementation) -> Implementation:
    """Return a function that is another one for integers."""
    wide = _integers(integers)
    return lambda *tensors: (wide if tensors[0].dtype.is_integer else floats)(*tensors)


def _compared(function: Implementation) -> Implementation:
    """Return a comparison that takes truth values too, of which false is the smaller one."""
    wide = _integers(function)
    return lambda *tensors: wide(*(tf.cast(one, tf.int32) if one.dtype == tf.bool else one for one in tensors))


def _or_logical(arithmetic: Implementation, logical: Implementation) -> Implementation:
    """Return a function that is a logical one for truth values, as NumPy's sums and products of them are."""
    wide = _integers(arithmetic)
    return lambda *tensors: (logical if tensors[0].dtype == tf.bool else wide)(*tensors)


def _truth(function: Implementation) -> Implementation:
    """Return a function of truth values as one of numbers too: what is not 0 is true."""
    return lambda *tensors: function(*map(as_truth, tensors))


def as_truth(tensor: Any) -> Any:
    """Return whether each element is not 0; NaN is not."""
    return tensor if tensor.dtype == tf.bool else tf.not_equal(tensor, tf.zeros((), tensor.dtype))


def _quiet(function: Implementation) -> Implementation:
    """Return an integer division that gives 0 where the divisor is, as NumPy's does."""

    def safe(x: Any, y: Any) -> Any:
        none = tf.equal(y, tf.zeros((), y.dtype))
        found = function(x, tf.where(none, tf.ones((), y.dtype), y))
        return tf.where(none, tf.zeros((), x.dtype), found)

    return safe


def _square(x: Any) -> Any:
    return x * x


def _absolute(x: Any) -> Any:
    return x if x.dtype.is_unsigned or x.dtype == tf.bool else tf.abs(x)


def _shift(function: Implementation, *, left: bool) -> Implementation:
    """Return a shift that is defined, as NumPy's is, from as many bits on as there are."""

    def shifted(x: Any, y: Any) -> Any:
        bits = 8 * x.dtype.size
        beyond = (y < tf.zeros((), y.dtype)) | (y >= tf.constant(bits, y.dtype))
        found = function(x, tf.where(beyond, tf.zeros((), y.dtype), y))
        zero = tf.zeros((), x.dtype)
        emptied = zero if left or x.dtype.is_unsigned else tf.where(x < zero, zero - tf.ones((), x.dtype), zero)
        return tf.where(beyond, emptied, found)

    return shifted


def _matmul(x: Any, y: Any) -> Any:
    """Return a product of stacks of matrices; a vector is a row on the left and a column on the right."""
    left, right = x.shape.rank, y.shape.rank
    if x.dtype == tf.bool:
        return _matmul(tf.cast(x, tf.int32), tf.cast(y, tf.int32)) > 0
    narrow = x.dtype
    if narrow in NARROW:
        x, y = tf.cast(x, NARROW[narrow]), tf.cast(y, NARROW[narrow])
    found = tf.cast(tf.matmul(_row(x), _column(y)), narrow)
    if left == 1:
        found = tf.squeeze(found, -2)
    return tf.squeeze(found, -1) if right == 1 else found


def _row(x: Any) -> Any:
    return x[None, :] if x.shape.rank == 1 else x


def _column(y: Any) -> Any:
    return y[:, None] if y.shape.rank == 1 else y


UFUNCS: dict[str, Implementation] = {
    "add": _or_logical(tf.add, tf.logical_or),
    "subtract": _integers(tf.subtract),
    "multiply": _or_logical(tf.multiply, tf.logical_and),
    "divide": tf.truediv,
    "true_divide": tf.truediv,
    "floor_divide": _by_kind(floats=floats.floor_divide, integers=_quiet(tf.math.floordiv)),
    "remainder": _by_kind(floats=floats.floor_mod, integers=_quiet(tf.math.floormod)),
    "fmod": _by_kind(floats=floats.fmod, integers=_quiet(floats.truncate_mod)),
    "divmod": lambda x, y: (UFUNCS["floor_divide"](x, y), UFUNCS["remainder"](x, y)),
    "power": _by_kind(floats=floats.power, integers=floats.power),
    "float_power": floats.power,
    "negative": _integers(tf.negative),
    "positive": tf.identity,
    "absolute": _integers(_absolute),
    "fabs": tf.abs,
    "sign": _by_kind(floats=floats.sign, integers=tf.sign),
    "rint": floats.rint,
    "floor": lambda x: tf.floor(x) if x.dtype.is_floating else x,
    "ceil": lambda x: tf.math.ceil(x) if x.dtype.is_floating else x,
    "trunc": lambda x: tf.where(x < 0, tf.math.ceil(x), tf.floor(x)) if x.dtype.is_floating else x,
    "conjugate": lambda x: tf.math.conj(x) if x.dtype.is_complex else x,
    "exp": tf.exp,
    "exp2": lambda x: tf.pow(floats.scalar(x, 2), x),
    "expm1": tf.math.expm1,
    "log": tf.math.log,
    "log2": lambda x: tf.math.log(x) / floats.scalar(x, math.log(2)),
    "log10": lambda x: tf.math.log(x) / floats.scalar(x, math.log(10)),
    "log1p": tf.math.log1p,
    "logaddexp": floats.logaddexp,
    "logaddexp2": floats.logaddexp2,
    "sqrt": tf.sqrt,
    "square": _integers(_square),
    "cbrt": floats.cbrt,
    "reciprocal": lambda x: tf.ones((), x.dtype) / x,
    "sin": tf.sin,
    "cos": tf.cos,
    "tan": tf.tan,
    "arcsin": tf.asin,
    "arccos": tf.acos,
    "arctan": tf.atan,
    "arctan2": tf.atan2,
    "hypot": floats.hypot,
    "sinh": tf.sinh,
    "cosh": tf.cosh,
    "tanh": tf.tanh,
    "arcsinh": tf.asinh,
    "arccosh": tf.acosh,
    "arctanh": tf.atanh,
    "degrees": lambda x: x * floats.scalar(x, 180 / math.pi),
    "rad2deg": lambda x: x * floats.scalar(x, 180 / math.pi),
    "radians": lambda x: x * floats.scalar(x, math.pi / 180),
    "deg2rad": lambda x: x * floats.scalar(x, math.pi / 180),
    "bitwise_and": lambda x, y: (tf.logical_and if x.dtype == tf.bool else tf.bitwise.bitwise_and)(x, y),
    "bitwise_or": lambda x, y: (tf.logical_or if x.dtype == tf.bool else tf.bitwise.bitwise_or)(x, y),
    "bitwise_xor": lambda x, y: tf.not_equal(x, y) if x.dtype == tf.bool else tf.bitwise.bitwise_xor(x, y),
    "invert": lambda x: (tf.logical_not if x.dtype == tf.bool else tf.bitwise.invert)(x),
    "left_shift": _shift(tf.bitwise.left_shift, left=True),
    "right_shift": _shift(tf.bitwise.right_shift, left=False),
    "greater": _compared(tf.greater),
    "greater_equal": _compared(tf.greater_equal),
    "less": _compared(tf.less),
    "less_equal": _compared(tf.less_equal),
    "equal": tf.equal,
    "not_equal": tf.not_equal,
    "logical_and": _truth(tf.logical_and),
    "logical_or": _truth(tf.logical_or),
    "logical_xor": _truth(tf.not_equal),
    "logical_not": _truth(tf.logical_not),
    "maximum": _integers(floats.maximum),
    "minimum": _integers(floats.minimum),
    "fmax": _integers(floats.fmax),
    "fmin": _integers(floats.fmin),
    "isnan": floats.is_nan,
    "isinf": floats.is_inf,
    "isfinite": lambda x: tf.logical_not(floats.is_nan(x) | floats.is_inf(x)),
    "signbit": floats.signbit,
    "copysign": floats.copysign,
    "heaviside": floats.heaviside,
    "nextafter": tf.math.nextafter,
    "modf": floats.modf,
    "matmul": _matmul,
}
"""By the name of the ufunc."""
