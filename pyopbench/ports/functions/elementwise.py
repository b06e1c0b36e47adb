"""NumPy's and SciPy's functions of single elements where TensorFlow's differ: NaN, infinities and signs of zero."""

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import np_is_inf, np_is_nan
from pyopbench.ports.functions.table import helper


def np_truncate_mod(x, y):
    """Return the remainder with the sign of x."""
    return tf.raw_ops.TruncateMod(x=x, y=y)


def np_signbit(x):
    """Return whether the sign is negative, also that of 0 and NaN."""
    bits = {tf.float16: tf.int16, tf.float32: tf.int32, tf.float64: tf.int64}[x.dtype]
    return tf.bitcast(x, bits) < tf.zeros((), bits)


def np_rounded_decimal(x, digits):
    """Return `round(x, digits)` of float64 as Python has it, which rounds the exact value and not a product of it.

    NumPy's multiplies by a power of ten, rounds and divides: a product that is itself rounded to a half goes the wrong
    way (`round(1.115, 2)` is 1.11, `np.round(1.115, 2)` 1.12).
    """
    scale = tf.constant(10.0 ** abs(digits), tf.float64)
    if digits <= 0:
        return tf.round(x / scale) * scale
    product = x * scale
    below = tf.floor(product)
    (a, b), (c, d) = np_halves(x), np_halves(scale)
    rest = ((a * c - product) + a * d + b * c) + b * d  # by how much the product is less than the exact one
    is_half = tf.equal(product - below, tf.constant(0.5, tf.float64)) & tf.not_equal(rest, 0)
    whole = tf.where(is_half, tf.where(rest > 0, below + 1, below), tf.round(product))
    return tf.where(tf.abs(product) < 2.0**52, whole / scale, x)  # above, no double has a fraction


def np_halves(x):
    """Return two parts of float64 whose products are exact (Dekker, A floating-point technique, 1971)."""
    large = x * tf.constant(2.0**27 + 1, tf.float64)
    high = large - (large - x)
    return high, x - high


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


def np_trunc(x):
    """Return elements rounded towards 0."""
    return tf.where(x < 0, tf.math.ceil(x), tf.floor(x)) if x.dtype.is_floating else x


def np_maximum(x, y):
    """Return the larger elements; NaN if either is."""
    if x.dtype == tf.bool:
        return tf.logical_or(x, y)
    found = tf.maximum(x, y)
    return tf.where(np_is_nan(x), x, tf.where(np_is_nan(y), y, found)) if x.dtype.is_floating else found


def np_minimum(x, y):
    """Return the smaller elements; NaN if either is."""
    if x.dtype == tf.bool:
        return tf.logical_and(x, y)
    found = tf.minimum(x, y)
    return tf.where(np_is_nan(x), x, tf.where(np_is_nan(y), y, found)) if x.dtype.is_floating else found


def np_fmax(x, y):
    """Return the larger elements; of NaN and a number the number."""
    found = np_maximum(x, y)
    return tf.where(np_is_nan(x), y, tf.where(np_is_nan(y), x, found)) if x.dtype.is_floating else found


def np_fmin(x, y):
    """Return the smaller elements; of NaN and a number the number."""
    found = np_minimum(x, y)
    return tf.where(np_is_nan(x), y, tf.where(np_is_nan(y), x, found)) if x.dtype.is_floating else found


def np_hypot(x, y):
    """Return sqrt(x² + y²) without overflow on the way."""
    x, y = tf.abs(x), tf.abs(y)
    scale = tf.maximum(x, y)
    safe = tf.where((scale > 0) & tf.math.is_finite(scale), scale, tf.ones((), x.dtype))
    found = safe * tf.sqrt(tf.square(x / safe) + tf.square(y / safe))
    return tf.where(np_is_inf(x) | np_is_inf(y), tf.constant(np.inf, x.dtype), found)


def np_logaddexp(x, y):
    """Return log(exp(x) + exp(y)) without overflow on the way."""
    apart = tf.where(tf.equal(x, y), tf.zeros((), x.dtype), -tf.abs(x - y))
    found = tf.maximum(x, y) + tf.math.log1p(tf.exp(apart))
    return tf.where(np_is_nan(x) | np_is_nan(y), x + y, found)


def np_bitwise_xor(x, y):
    """Return where bits differ."""
    return tf.not_equal(x, y) if x.dtype == tf.bool else tf.bitwise.bitwise_xor(x, y)


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
def np_nan_to_num(x, *, nan=0.0, posinf=None, neginf=None):
    """Return an array with numbers in place of NaN and infinities."""
    if x.dtype.is_complex:
        raise NotImplementedError("is supported only for real numbers")
    if not x.dtype.is_floating:
        return x
    found = tf.where(tf.math.is_nan(x), tf.constant(nan, x.dtype), x)
    for infinite, value in ((np.inf, posinf), (-np.inf, neginf)):
        most = x.dtype.max if infinite > 0 else x.dtype.min
        found = tf.where(tf.equal(x, infinite), tf.constant(most if value is None else value, x.dtype), found)
    return found


@helper("np.real", val="own")
def np_real(val):
    """Return the real part."""
    return tf.math.real(val) if val.dtype.is_complex else val


@helper("np.imag", val="own")
def np_imag(val):
    """Return the imaginary part."""
    return tf.math.imag(val) if val.dtype.is_complex else tf.zeros_like(val)


@helper("np.angle", z="float")
def np_angle(z, deg=False):
    """Return the angles of complex numbers."""
    imaginary = tf.math.imag(z) if z.dtype.is_complex else tf.zeros_like(z)
    found = tf.atan2(imaginary, tf.math.real(z))
    return found * tf.constant(180 / np.pi, found.dtype) if deg else found


@helper("scipy.special.xlogy", x="promoted float", y="promoted float")
def scipy_xlogy(x, y):
    """Return x log(y), 0 where x is 0 and y is not NaN."""
    return tf.where(tf.math.is_nan(y), y, tf.math.xlogy(x, y))


@helper("scipy.special.erf", x="float")
def scipy_erf(x):
    """Return the error function, of which TensorFlow's is NaN at infinity."""
    infinite = tf.math.is_inf(x)
    return tf.where(infinite, tf.sign(x), tf.math.erf(tf.where(infinite, tf.zeros_like(x), x)))
