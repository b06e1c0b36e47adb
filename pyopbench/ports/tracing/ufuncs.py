"""NumPy's ufuncs in TensorFlow ops: each takes tensors of the dtypes of NumPy's loop, not yet broadcast."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from pyopbench.ports.tensor_functions import basics, elementwise, linear

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


def _power(x: Any, y: Any) -> Any:
    """Return x to the y; by a product or a root where y is a constant for which NumPy does so too."""
    exponent = tf.get_static_value(y)
    if exponent is not None and exponent.ndim == 0:
        if exponent == 2:
            return tf.square(x)
        if exponent == 1:
            return tf.identity(x)
        if exponent == 0.5:
            return tf.sqrt(x)
    return tf.pow(x, y)


def _square(x: Any) -> Any:
    return x * x


def _absolute(x: Any) -> Any:
    return x if x.dtype.is_unsigned or x.dtype == tf.bool else tf.abs(x)


UFUNCS: dict[str, Implementation] = {
    "add": _or_logical(tf.add, tf.logical_or),
    "subtract": _integers(tf.subtract),
    "multiply": _or_logical(tf.multiply, tf.logical_and),
    "divide": tf.truediv,
    "true_divide": tf.truediv,
    "floor_divide": _integers(elementwise.np_floor_divide),
    "remainder": _integers(elementwise.np_remainder),
    "fmod": _integers(elementwise.np_fmod),
    "divmod": lambda x, y: (UFUNCS["floor_divide"](x, y), UFUNCS["remainder"](x, y)),
    "power": _integers(_power),
    "float_power": _power,
    "negative": _integers(tf.negative),
    "positive": tf.identity,
    "absolute": _integers(_absolute),
    "fabs": tf.abs,
    "sign": _by_kind(floats=elementwise.np_sign, integers=tf.sign),
    "rint": tf.round,
    "floor": lambda x: tf.floor(x) if x.dtype.is_floating else x,
    "ceil": lambda x: tf.math.ceil(x) if x.dtype.is_floating else x,
    "trunc": elementwise.np_trunc,
    "conjugate": lambda x: tf.math.conj(x) if x.dtype.is_complex else x,
    "exp": tf.exp,
    "exp2": lambda x: tf.pow(tf.constant(2, x.dtype), x),
    "expm1": tf.math.expm1,
    "log": tf.math.log,
    "log2": lambda x: tf.math.log(x) / tf.constant(math.log(2), x.dtype),
    "log10": lambda x: tf.math.log(x) / tf.constant(math.log(10), x.dtype),
    "log1p": tf.math.log1p,
    "logaddexp": elementwise.np_logaddexp,
    "logaddexp2": elementwise.np_logaddexp2,
    "sqrt": tf.sqrt,
    "square": _integers(_square),
    "cbrt": elementwise.np_cbrt,
    "reciprocal": lambda x: tf.ones((), x.dtype) / x,
    "sin": tf.sin,
    "cos": tf.cos,
    "tan": tf.tan,
    "arcsin": tf.asin,
    "arccos": tf.acos,
    "arctan": tf.atan,
    "arctan2": tf.atan2,
    "hypot": elementwise.np_hypot,
    "sinh": tf.sinh,
    "cosh": tf.cosh,
    "tanh": tf.tanh,
    "arcsinh": tf.asinh,
    "arccosh": tf.acosh,
    "arctanh": tf.atanh,
    "degrees": lambda x: x * tf.constant(180 / math.pi, x.dtype),
    "rad2deg": lambda x: x * tf.constant(180 / math.pi, x.dtype),
    "radians": lambda x: x * tf.constant(math.pi / 180, x.dtype),
    "deg2rad": lambda x: x * tf.constant(math.pi / 180, x.dtype),
    "bitwise_and": lambda x, y: (tf.logical_and if x.dtype == tf.bool else tf.bitwise.bitwise_and)(x, y),
    "bitwise_or": lambda x, y: (tf.logical_or if x.dtype == tf.bool else tf.bitwise.bitwise_or)(x, y),
    "bitwise_xor": elementwise.np_bitwise_xor,
    "invert": lambda x: (tf.logical_not if x.dtype == tf.bool else tf.bitwise.invert)(x),
    "left_shift": elementwise.np_left_shift,
    "right_shift": elementwise.np_right_shift,
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
    "maximum": _integers(elementwise.np_maximum),
    "minimum": _integers(elementwise.np_minimum),
    "fmax": _integers(elementwise.np_fmax),
    "fmin": _integers(elementwise.np_fmin),
    "isnan": basics.np_is_nan,
    "isinf": basics.np_is_inf,
    "isfinite": lambda x: tf.logical_not(basics.np_is_nan(x) | basics.np_is_inf(x)),
    "signbit": elementwise.np_signbit,
    "copysign": elementwise.np_copysign,
    "heaviside": elementwise.np_heaviside,
    "nextafter": tf.math.nextafter,
    "modf": elementwise.np_modf,
    "matmul": linear.np_product,
}
"""By the name of the ufunc."""
