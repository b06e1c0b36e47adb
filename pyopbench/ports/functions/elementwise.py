"""NumPy's and SciPy's functions of single elements where TensorFlow's differ: NaN, infinities and signs of zero."""

import tensorflow as tf

from pyopbench.ports.functions.basics import np_is_inf
from pyopbench.ports.functions.table import helper


def np_truncate_mod(x, y):
    """Return the remainder with the sign of x."""
    return tf.raw_ops.TruncateMod(x=x, y=y)


def np_signbit(x):
    """Return whether the sign is negative, also that of 0 and NaN."""
    bits = {tf.float16: tf.int16, tf.float32: tf.int32, tf.float64: tf.int64}[x.dtype]
    return tf.bitcast(x, bits) < tf.zeros((), bits)


def np_copysign(x, y):
    """Return the magnitude of x with the sign of y."""
    return tf.where(np_signbit(y), -tf.abs(x), tf.abs(x))


def np_floor_divide(x, y):
    """Return floor(x / y) as NumPy does: of floats from the remainder, so that rounding does not lift it."""
    if not x.dtype.is_floating:
        return np_of_divisor(tf.math.floordiv, x, y)
    zero, one = tf.zeros((), x.dtype), tf.ones((), x.dtype)
    divisor = tf.where(tf.equal(y, zero), one, y)
    remainder = np_truncate_mod(x, divisor)
    below = tf.not_equal(remainder, zero) & ((divisor < zero) != (remainder < zero))
    exact = (x - remainder) / divisor
    exact = tf.where(below, exact - one, exact)
    lower = tf.floor(exact)
    found = tf.where(exact - lower > tf.constant(0.5, x.dtype), lower + one, lower)
    found = tf.where(tf.equal(exact, zero), np_copysign(tf.zeros_like(found), x / divisor), found)
    return tf.where(tf.equal(y, zero), x / y, found)


def np_remainder(x, y):
    """Return the remainder of floor(x / y), with the sign of y also where it is 0."""
    if not x.dtype.is_floating:
        return np_of_divisor(tf.math.floormod, x, y)
    zero = tf.zeros((), x.dtype)
    found = tf.math.floormod(x, y)
    beyond = np_is_inf(y) & tf.math.is_finite(x)
    found = tf.where(beyond, tf.where(tf.not_equal(x, zero) & ((x < zero) != (y < zero)), y, x), found)
    return tf.where(tf.equal(found, zero), np_copysign(tf.zeros_like(found), y), found)


def np_left_shift(x, y):
    """Return integers with their bits moved up; 0 from as many places on as there are bits."""
    beyond = (y < tf.zeros((), y.dtype)) | (y >= tf.constant(8 * x.dtype.size, y.dtype))
    found = tf.bitwise.left_shift(x, tf.where(beyond, tf.zeros((), y.dtype), y))
    return tf.where(beyond, tf.zeros((), x.dtype), found)


def np_right_shift(x, y):
    """Return integers with their bits moved down; 0 or -1 from as many places on as there are bits."""
    beyond = (y < tf.zeros((), y.dtype)) | (y >= tf.constant(8 * x.dtype.size, y.dtype))
    found = tf.bitwise.right_shift(x, tf.where(beyond, tf.zeros((), y.dtype), y))
    zero = tf.zeros((), x.dtype)
    emptied = zero if x.dtype.is_unsigned else tf.where(x < zero, zero - tf.ones((), x.dtype), zero)
    return tf.where(beyond, emptied, found)


def np_of_divisor(function, x, y):
    """Return an operation of integers, 0 where the divisor is 0."""
    none = tf.equal(y, tf.zeros((), y.dtype))
    found = function(x, tf.where(none, tf.ones((), y.dtype), y))
    return tf.where(none, tf.zeros((), x.dtype), found)


@helper("np.round np.around", a="own")
def np_round(a, decimals=0):
    """Return elements rounded to decimals, halves to even."""
    if not a.dtype.is_floating:
        if decimals < 0 or not a.dtype.is_integer:
            raise NotImplementedError("is supported only for floats, and for integers without decimals")
        return a
    power = tf.constant(10.0 ** abs(decimals), a.dtype)
    if decimals == 0:
        return tf.round(a)
    return tf.round(a * power) / power if decimals > 0 else tf.round(a / power) * power


@helper("np.nan_to_num", x="own")
def np_nan_to_num(x, *, nan=0.0):
    """Return an array with a number in place of NaN, and the largest ones in place of infinities."""
    if x.dtype.is_complex:
        raise NotImplementedError("is supported only for real numbers")
    if not x.dtype.is_floating:
        return x
    bounded = tf.clip_by_value(x, x.dtype.min, x.dtype.max)
    return tf.where(tf.math.is_nan(x), tf.constant(nan, x.dtype), bounded)
