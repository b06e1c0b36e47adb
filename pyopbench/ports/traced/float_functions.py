"""NumPy's ufuncs of floats where TensorFlow's ops differ from them: NaN, infinities and signs of zero."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf


def is_nan(tensor: Any) -> Any:
    """Return whether each element is NaN, which no integer is."""
    if tensor.dtype.is_complex:
        return is_nan(tf.math.real(tensor)) | is_nan(tf.math.imag(tensor))
    return tf.math.is_nan(tensor) if tensor.dtype.is_floating else tf.zeros_like(tensor, tf.bool)


def is_inf(tensor: Any) -> Any:
    """Return whether each element is infinite."""
    if tensor.dtype.is_complex:
        return is_inf(tf.math.real(tensor)) | is_inf(tf.math.imag(tensor))
    return tf.math.is_inf(tensor) if tensor.dtype.is_floating else tf.zeros_like(tensor, tf.bool)


def scalar(tensor: Any, value: float) -> Any:
    """Return a number as a tensor of the dtype of another one."""
    return tf.constant(value, tensor.dtype)


def _spread(x: Any, y: Any) -> tuple[Any, Any]:
    shape = tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(y))
    return tf.broadcast_to(x, shape), tf.broadcast_to(y, shape)


def floor_divide(x: Any, y: Any) -> Any:
    """Return floor(x / y) as NumPy computes it: from the remainder, so that rounding does not lift it."""
    zero, one = scalar(x, 0), scalar(x, 1)
    divisor = tf.where(tf.equal(y, zero), one, y)
    remainder = truncate_mod(x, divisor)
    below = tf.not_equal(remainder, zero) & ((divisor < zero) != (remainder < zero))
    exact = (x - remainder) / divisor
    exact = tf.where(below, exact - one, exact)
    lower = tf.floor(exact)
    found = tf.where(exact - lower > scalar(x, 0.5), lower + one, lower)
    found = tf.where(tf.equal(exact, zero), copysign(tf.zeros_like(found), x / divisor), found)
    return tf.where(tf.equal(y, zero), x / y, found)


def modf(x: Any) -> tuple[Any, Any]:
    """Return the fraction and the integer part, both with the sign of x."""
    whole = tf.where(x < 0, tf.math.ceil(x), tf.floor(x))
    part = tf.where(is_inf(x), tf.zeros_like(x), x - whole)
    return copysign(part, x), whole


def floor_mod(x: Any, y: Any) -> Any:
    """Return the remainder of floor(x / y), with the sign of y also where it is 0."""
    zero = scalar(x, 0)
    found = tf.math.floormod(x, y)
    beyond = is_inf(y) & tf.math.is_finite(x)
    found = tf.where(beyond, tf.where(tf.not_equal(x, zero) & ((x < zero) != (y < zero)), y, x), found)
    return tf.where(tf.equal(found, zero), copysign(tf.zeros_like(found), y), found)


def truncate_mod(x: Any, y: Any) -> Any:
    """Return the remainder with the sign of x."""
    return tf.raw_ops.TruncateMod(x=x, y=y)


def fmod(x: Any, y: Any) -> Any:
    """Return the remainder with the sign of x; NaN where there is none."""
    nan = scalar(x, math.nan)
    found = truncate_mod(x, tf.where(tf.equal(y, scalar(y, 0)), tf.ones((), y.dtype), y))
    return tf.where(tf.equal(y, scalar(y, 0)) | is_nan(x) | is_nan(y) | is_inf(x), nan, found)


def power(x: Any, y: Any) -> Any:
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


def sign(x: Any) -> Any:
    """Return -1, 0 or 1; NaN of NaN."""
    return tf.where(is_nan(x), x, tf.sign(x))


def maximum(x: Any, y: Any) -> Any:
    """Return the larger element; NaN if either is."""
    if x.dtype == tf.bool:
        return tf.logical_or(x, y)
    found = tf.maximum(x, y)
    return tf.where(is_nan(x), x, tf.where(is_nan(y), y, found)) if x.dtype.is_floating else found


def minimum(x: Any, y: Any) -> Any:
    """Return the smaller element; NaN if either is."""
    if x.dtype == tf.bool:
        return tf.logical_and(x, y)
    found = tf.minimum(x, y)
    return tf.where(is_nan(x), x, tf.where(is_nan(y), y, found)) if x.dtype.is_floating else found


def fmax(x: Any, y: Any) -> Any:
    """Return the larger element; of NaN and a number the number."""
    return tf.where(is_nan(x), y, tf.where(is_nan(y), x, maximum(x, y))) if x.dtype.is_floating else maximum(x, y)


def fmin(x: Any, y: Any) -> Any:
    """Return the smaller element; of NaN and a number the number."""
    return tf.where(is_nan(x), y, tf.where(is_nan(y), x, minimum(x, y))) if x.dtype.is_floating else minimum(x, y)


def signbit(x: Any) -> Any:
    """Return whether the sign is negative, also that of 0 and NaN."""
    bits = {tf.float16: tf.int16, tf.float32: tf.int32, tf.float64: tf.int64}[x.dtype]
    return tf.bitcast(x, bits) < tf.zeros((), bits)


def copysign(x: Any, y: Any) -> Any:
    """Return the magnitude of x with the sign of y."""
    return tf.where(signbit(y), -tf.abs(x), tf.abs(x))


def hypot(x: Any, y: Any) -> Any:
    """Return sqrt(x² + y²) without overflow on the way."""
    x, y = tf.abs(x), tf.abs(y)
    scale = tf.maximum(x, y)
    safe = tf.where((scale > 0) & tf.math.is_finite(scale), scale, tf.ones((), x.dtype))
    found = safe * tf.sqrt(tf.square(x / safe) + tf.square(y / safe))
    infinite = is_inf(x) | is_inf(y)
    return tf.where(infinite, scalar(x, math.inf), found)


def logaddexp(x: Any, y: Any) -> Any:
    """Return log(exp(x) + exp(y)) without overflow on the way."""
    high = tf.maximum(x, y)
    apart = tf.where(tf.equal(x, y), tf.zeros((), x.dtype), -tf.abs(x - y))
    return tf.where(is_nan(x) | is_nan(y), x + y, high + tf.math.log1p(tf.exp(apart)))


def logaddexp2(x: Any, y: Any) -> Any:
    """Return log2(2**x + 2**y) without overflow on the way."""
    ln2 = scalar(x, math.log(2))
    return logaddexp(x * ln2, y * ln2) / ln2


def cbrt(x: Any) -> Any:
    """Return the cube root."""
    return copysign(tf.pow(tf.abs(x), scalar(x, 1 / 3)), x)


def heaviside(x: Any, y: Any) -> Any:
    """Return 0 below 0, 1 above, and y at 0."""
    x, y = _spread(x, y)
    return tf.where(is_nan(x), x, tf.where(tf.equal(x, scalar(x, 0)), y, tf.cast(x > 0, x.dtype)))


def rint(x: Any) -> Any:
    """Return the nearest integer, of two the even one."""
    return tf.round(x)
