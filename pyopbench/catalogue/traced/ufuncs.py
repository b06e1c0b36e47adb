"""NumPy's ufuncs in TensorFlow ops: each takes tensors of the dtypes of NumPy's loop, not yet broadcast."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf

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


def is_nan(tensor: Any) -> Any:
    """Return whether each element is NaN, which no integer is."""
    if tensor.dtype.is_complex:
        return is_nan(tf.math.real(tensor)) | is_nan(tf.math.imag(tensor))
    return tf.math.is_nan(tensor) if tensor.dtype.is_floating else tf.zeros_like(tensor, tf.bool)


def _is_inf(tensor: Any) -> Any:
    if tensor.dtype.is_complex:
        return _is_inf(tf.math.real(tensor)) | _is_inf(tf.math.imag(tensor))
    return tf.math.is_inf(tensor) if tensor.dtype.is_floating else tf.zeros_like(tensor, tf.bool)


def _scalar(tensor: Any, value: float) -> Any:
    return tf.constant(value, tensor.dtype)


def _spread(x: Any, y: Any) -> tuple[Any, Any]:
    shape = tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(y))
    return tf.broadcast_to(x, shape), tf.broadcast_to(y, shape)


def _quiet(function: Implementation) -> Implementation:
    """Return an integer division that gives 0 where the divisor is, as NumPy's does."""

    def safe(x: Any, y: Any) -> Any:
        none = tf.equal(y, tf.zeros((), y.dtype))
        found = function(x, tf.where(none, tf.ones((), y.dtype), y))
        return tf.where(none, tf.zeros((), x.dtype), found)

    return safe


def _floor_divide(x: Any, y: Any) -> Any:
    """Return floor(x / y) as NumPy computes it: from the remainder, so that rounding does not lift it."""
    remainder = tf.math.floormod(x, y)
    quotient = tf.round((x - remainder) / y)
    zero = _scalar(x, 0)
    return tf.where(tf.equal(y, zero), x / y, quotient)


def _floor_mod(x: Any, y: Any) -> Any:
    zero = _scalar(x, 0)
    found = tf.math.floormod(x, y)
    beyond = _is_inf(y) & tf.math.is_finite(x)
    found = tf.where(beyond, tf.where(tf.not_equal(x, zero) & ((x < zero) != (y < zero)), y, x), found)
    return tf.where(tf.equal(found, zero), _copysign(tf.zeros_like(found), y), found)


def _truncate_mod(x: Any, y: Any) -> Any:
    return tf.raw_ops.TruncateMod(x=x, y=y)


def _fmod(x: Any, y: Any) -> Any:
    nan = _scalar(x, math.nan)
    found = _truncate_mod(x, tf.where(tf.equal(y, _scalar(y, 0)), tf.ones((), y.dtype), y))
    return tf.where(tf.equal(y, _scalar(y, 0)) | is_nan(x) | is_nan(y) | _is_inf(x), nan, found)


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


def _sign(x: Any) -> Any:
    return tf.where(is_nan(x), x, tf.sign(x))


def _maximum(x: Any, y: Any) -> Any:
    if x.dtype == tf.bool:
        return tf.logical_or(x, y)
    found = tf.maximum(x, y)
    return tf.where(is_nan(x), x, tf.where(is_nan(y), y, found)) if x.dtype.is_floating else found


def _minimum(x: Any, y: Any) -> Any:
    if x.dtype == tf.bool:
        return tf.logical_and(x, y)
    found = tf.minimum(x, y)
    return tf.where(is_nan(x), x, tf.where(is_nan(y), y, found)) if x.dtype.is_floating else found


def _fmax(x: Any, y: Any) -> Any:
    return tf.where(is_nan(x), y, tf.where(is_nan(y), x, _maximum(x, y))) if x.dtype.is_floating else _maximum(x, y)


def _fmin(x: Any, y: Any) -> Any:
    return tf.where(is_nan(x), y, tf.where(is_nan(y), x, _minimum(x, y))) if x.dtype.is_floating else _minimum(x, y)


def _signbit(x: Any) -> Any:
    bits = {tf.float16: tf.int16, tf.float32: tf.int32, tf.float64: tf.int64}[x.dtype]
    return tf.bitcast(x, bits) < tf.zeros((), bits)


def _copysign(x: Any, y: Any) -> Any:
    return tf.where(_signbit(y), -tf.abs(x), tf.abs(x))


def _hypot(x: Any, y: Any) -> Any:
    """Return sqrt(x² + y²) without overflow on the way."""
    x, y = tf.abs(x), tf.abs(y)
    scale = tf.maximum(x, y)
    safe = tf.where((scale > 0) & tf.math.is_finite(scale), scale, tf.ones((), x.dtype))
    found = safe * tf.sqrt(tf.square(x / safe) + tf.square(y / safe))
    infinite = _is_inf(x) | _is_inf(y)
    return tf.where(infinite, _scalar(x, math.inf), found)


def _logaddexp(x: Any, y: Any) -> Any:
    high = tf.maximum(x, y)
    apart = tf.where(tf.equal(x, y), tf.zeros((), x.dtype), -tf.abs(x - y))
    return tf.where(is_nan(x) | is_nan(y), x + y, high + tf.math.log1p(tf.exp(apart)))


def _logaddexp2(x: Any, y: Any) -> Any:
    ln2 = _scalar(x, math.log(2))
    return _logaddexp(x * ln2, y * ln2) / ln2


def _cbrt(x: Any) -> Any:
    return _copysign(tf.pow(tf.abs(x), _scalar(x, 1 / 3)), x)


def _heaviside(x: Any, y: Any) -> Any:
    x, y = _spread(x, y)
    return tf.where(is_nan(x), x, tf.where(tf.equal(x, _scalar(x, 0)), y, tf.cast(x > 0, x.dtype)))


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


def _round_half_even(x: Any) -> Any:
    return tf.round(x)


UFUNCS: dict[str, Implementation] = {
    "add": _or_logical(tf.add, tf.logical_or),
    "subtract": _integers(tf.subtract),
    "multiply": _or_logical(tf.multiply, tf.logical_and),
    "divide": tf.truediv,
    "true_divide": tf.truediv,
    "floor_divide": _by_kind(floats=_floor_divide, integers=_quiet(tf.math.floordiv)),
    "remainder": _by_kind(floats=_floor_mod, integers=_quiet(tf.math.floormod)),
    "fmod": _by_kind(floats=_fmod, integers=_quiet(_truncate_mod)),
    "divmod": lambda x, y: (UFUNCS["floor_divide"](x, y), UFUNCS["remainder"](x, y)),
    "power": _by_kind(floats=_power, integers=_power),
    "float_power": _power,
    "negative": _integers(tf.negative),
    "positive": tf.identity,
    "absolute": _integers(_absolute),
    "fabs": tf.abs,
    "sign": _by_kind(floats=_sign, integers=tf.sign),
    "rint": _round_half_even,
    "floor": lambda x: tf.floor(x) if x.dtype.is_floating else x,
    "ceil": lambda x: tf.math.ceil(x) if x.dtype.is_floating else x,
    "trunc": lambda x: tf.where(x < 0, tf.math.ceil(x), tf.floor(x)) if x.dtype.is_floating else x,
    "conjugate": lambda x: tf.math.conj(x) if x.dtype.is_complex else x,
    "exp": tf.exp,
    "exp2": lambda x: tf.pow(_scalar(x, 2), x),
    "expm1": tf.math.expm1,
    "log": tf.math.log,
    "log2": lambda x: tf.math.log(x) / _scalar(x, math.log(2)),
    "log10": lambda x: tf.math.log(x) / _scalar(x, math.log(10)),
    "log1p": tf.math.log1p,
    "logaddexp": _logaddexp,
    "logaddexp2": _logaddexp2,
    "sqrt": tf.sqrt,
    "square": _integers(_square),
    "cbrt": _cbrt,
    "reciprocal": lambda x: tf.ones((), x.dtype) / x,
    "sin": tf.sin,
    "cos": tf.cos,
    "tan": tf.tan,
    "arcsin": tf.asin,
    "arccos": tf.acos,
    "arctan": tf.atan,
    "arctan2": tf.atan2,
    "hypot": _hypot,
    "sinh": tf.sinh,
    "cosh": tf.cosh,
    "tanh": tf.tanh,
    "arcsinh": tf.asinh,
    "arccosh": tf.acosh,
    "arctanh": tf.atanh,
    "degrees": lambda x: x * _scalar(x, 180 / math.pi),
    "rad2deg": lambda x: x * _scalar(x, 180 / math.pi),
    "radians": lambda x: x * _scalar(x, math.pi / 180),
    "deg2rad": lambda x: x * _scalar(x, math.pi / 180),
    "bitwise_and": lambda x, y: (tf.logical_and if x.dtype == tf.bool else tf.bitwise.bitwise_and)(x, y),
    "bitwise_or": lambda x, y: (tf.logical_or if x.dtype == tf.bool else tf.bitwise.bitwise_or)(x, y),
    "bitwise_xor": lambda x, y: tf.not_equal(x, y) if x.dtype == tf.bool else tf.bitwise.bitwise_xor(x, y),
    "invert": lambda x: (tf.logical_not if x.dtype == tf.bool else tf.bitwise.invert)(x),
    "left_shift": _shift(tf.bitwise.left_shift, left=True),
    "right_shift": _shift(tf.bitwise.right_shift, left=False),
    "greater": _integers(tf.greater),
    "greater_equal": _integers(tf.greater_equal),
    "less": _integers(tf.less),
    "less_equal": _integers(tf.less_equal),
    "equal": tf.equal,
    "not_equal": tf.not_equal,
    "logical_and": _truth(tf.logical_and),
    "logical_or": _truth(tf.logical_or),
    "logical_xor": _truth(tf.not_equal),
    "logical_not": _truth(tf.logical_not),
    "maximum": _integers(_maximum),
    "minimum": _integers(_minimum),
    "fmax": _integers(_fmax),
    "fmin": _integers(_fmin),
    "isnan": is_nan,
    "isinf": _is_inf,
    "isfinite": lambda x: tf.logical_not(is_nan(x) | _is_inf(x)),
    "signbit": _signbit,
    "copysign": _copysign,
    "heaviside": _heaviside,
    "nextafter": lambda x, y: tf.math.nextafter(tf.cast(x, tf.float64), tf.cast(y, tf.float64)),
    "modf": lambda x: (_copysign(x - UFUNCS["trunc"](x), x), UFUNCS["trunc"](x)),
    "matmul": _matmul,
}
"""By the name of the ufunc."""
