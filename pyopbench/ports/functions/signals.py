"""Fourier transforms, convolutions, filters, differences and interpolation."""

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import (
    np_along,
    np_axes,
    np_is_nan,
    np_known_size,
    np_moved,
    np_number,
    np_sizes,
)
from pyopbench.ports.functions.order import np_searchsorted
from pyopbench.ports.functions.table import helper


def np_complex(a):
    """Return what a transform is computed of: from NumPy 2 on of the precision of its input, before always double."""
    is_small = a.dtype in (tf.float32, tf.complex64, tf.float16) and int(np.__version__.split(".")[0]) >= 2
    return tf.cast(a, tf.complex64 if is_small else tf.complex128)


def np_sized(tensor, n):
    """Return a tensor cut, or filled with zeros, to a length along its last axis."""
    if n is None or tensor.shape[-1] == n:
        return tensor
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    tensor = tensor[..., :n]
    lacking = n - np_sizes(tensor)[-1]
    return tf.pad(tensor, [[0, 0]] * (tensor.shape.rank - 1) + [[0, lacking]])


def np_scaled(found, count, norm, inverse):
    """Return a transform scaled as is asked for; TensorFlow divides the inverse by the length, NumPy's usual."""
    if norm in (None, "backward"):
        return found
    size = tf.cast(count, found.dtype.real_dtype)
    factor = size if inverse else 1 / size
    factor = tf.sqrt(factor) if norm == "ortho" else factor
    return found * tf.cast(factor, found.dtype)


@helper("np.fft.fft", a="own")
def np_fft(a, n=None, axis=-1, norm=None):
    """Return the Fourier transform along an axis."""
    tensor = np_sized(np_moved(np_complex(a), axis, -1), n)
    return np_moved(np_scaled(tf.signal.fft(tensor), np_sizes(tensor)[-1], norm, inverse=False), -1, axis)


@helper("np.fft.ifft", a="own")
def np_ifft(a, n=None, axis=-1, norm=None):
    """Return the inverse Fourier transform along an axis."""
    tensor = np_sized(np_moved(np_complex(a), axis, -1), n)
    return np_moved(np_scaled(tf.signal.ifft(tensor), np_sizes(tensor)[-1], norm, inverse=True), -1, axis)


@helper("np.fft.rfft", a="own")
def np_rfft(a, n=None, axis=-1, norm=None):
    """Return the Fourier transform of real numbers along an axis."""
    tensor = np_sized(np_moved(tf.math.real(np_complex(a)), axis, -1), n)
    return np_moved(np_scaled(tf.signal.rfft(tensor), np_sizes(tensor)[-1], norm, inverse=False), -1, axis)


@helper("np.fft.irfft", a="own")
def np_irfft(a, n=None, axis=-1, norm=None):
    """Return the inverse of the Fourier transform of real numbers along an axis."""
    tensor = np_moved(np_complex(a), axis, -1)
    if n is None:
        if tensor.shape[-1] is None:
            raise NotImplementedError("needs a length that is known before the graph runs: give n=")
        n = 2 * (tensor.shape[-1] - 1)
    found = tf.signal.irfft(np_sized(tensor, n // 2 + 1), [n])
    return np_moved(np_scaled(found, n, norm, inverse=True), -1, axis)


@helper("np.fft.fft2", a="own")
def np_fft2(a, *, axes=(-2, -1), norm=None):
    """Return the Fourier transform along two axes."""
    for axis in axes:
        a = np_fft(a, axis=axis, norm=norm)
    return a


@helper("np.fft.ifft2", a="own")
def np_ifft2(a, *, axes=(-2, -1), norm=None):
    """Return the inverse Fourier transform along two axes."""
    for axis in axes:
        a = np_ifft(a, axis=axis, norm=norm)
    return a


@helper("np.fft.fftshift", x="own")
def np_fftshift(x, axes=None):
    """Return elements moved around by half the length of axes."""
    places, sizes = np_axes(axes, x.shape.rank), np_sizes(x)
    return tf.roll(x, [sizes[place] // 2 for place in places], places)


@helper("np.fft.ifftshift", x="own")
def np_ifftshift(x, axes=None):
    """Return elements moved back by half the length of axes."""
    places, sizes = np_axes(axes, x.shape.rank), np_sizes(x)
    return tf.roll(x, [-(sizes[place] // 2) for place in places], places)


@helper("np.convolve", a="common", v="common")
def np_convolve(a, v, mode="full"):
    """Return the convolution of two vectors."""
    if 0 in (*a.shape.as_list(), *v.shape.as_list()):
        raise ValueError("a cannot be empty")
    long, short = (v, a) if np_known_size(v, 0) > np_known_size(a, 0) else (a, v)
    return np_correlated(long, tf.reverse(short, [0]), mode)


@helper("np.correlate", a="common", v="common")
def np_correlate(a, v, mode="valid"):
    """Return the cross-correlation of two vectors."""
    v = tf.math.conj(v) if v.dtype.is_complex else v
    return np_correlated(a, v, mode)


def np_correlated(x, y, mode):
    """Return the sums of products of one vector with each part of the other."""
    swapped = np_known_size(y, 0) > np_known_size(x, 0)
    long, short = (y, x) if swapped else (x, y)
    size = short.shape[0]
    if mode not in ("full", "same", "valid"):
        raise NotImplementedError(f"is not supported for mode={mode!r}")
    left = {"full": size - 1, "same": size // 2, "valid": 0}[mode]
    right = {"full": size - 1, "same": size - 1 - size // 2, "valid": 0}[mode]
    padded = tf.pad(long, [[left, right]])
    count = long.shape[0] + left + right - size + 1
    places = np.arange(count)[:, None] + np.arange(size)
    windows = tf.gather(padded, places)
    if short.dtype == tf.bool:
        found = tf.reduce_any(windows & short, -1)
    else:
        products = windows * short
        if mode != "valid":  # 0 beyond an end times NaN or an infinity is NaN
            inside = (places >= left) & (places < left + long.shape[0])
            products = tf.where(inside, products, tf.zeros((), products.dtype))
        found = tf.reduce_sum(products, -1)
    return tf.reverse(found, [0]) if swapped else found


@helper("np.diff", a="common", prepend="common", append="common")
def np_diff(a, n=1, axis=-1, prepend=None, append=None):
    """Return the differences of neighbours along an axis."""
    (place,) = np_axes(axis, a.shape.rank)
    sizes = np_sizes(a)
    sizes[place] = 1
    for value, is_before in ((prepend, True), (append, False)):
        if value is not None:
            one = value if value.shape.rank else tf.broadcast_to(value, sizes)
            a = tf.concat([one, a] if is_before else [a, one], place)
    for _ in range(n):
        later, earlier = a[np_along(place, 1, None)], a[np_along(place, None, -1)]
        a = tf.not_equal(later, earlier) if a.dtype == tf.bool else later - earlier
    return a


@helper("np.interp", x="float64", xp="float64", fp="float64", left="float64", right="float64")
def np_interp(x, xp, fp, left=None, right=None):
    """Return values between points by straight lines, float64; outside of them that of the nearest."""
    last = tf.size(xp, tf.int64) - 1
    inner = tf.clip_by_value(np_searchsorted(xp, x, "right") - 1, tf.constant(0, tf.int64), tf.maximum(last - 1, 0))
    following = tf.minimum(inner + 1, last)
    begin, end = tf.gather(xp, inner), tf.gather(xp, following)
    low, high = tf.gather(fp, inner), tf.gather(fp, following)
    slope = (high - low) / tf.where(tf.equal(end, begin), tf.ones_like(end), end - begin)
    found = tf.where(tf.equal(x, end), high, slope * (x - begin) + low)
    found = tf.where(x > xp[-1], fp[-1] if right is None else right, found)
    found = tf.where(x < xp[0], fp[0] if left is None else left, found)
    found = tf.where(tf.equal(x, xp[-1]), fp[-1], found)
    return tf.where(np_is_nan(x), x, found)


@helper("np.gradient", f="float", varargs="number")
def np_gradient(f, *varargs, axis=None, edge_order=1):
    """Return differences over neighbours along axes, one-sided at the edges."""
    if edge_order != 1:
        raise NotImplementedError("is supported only for edge_order=1")
    axes = np_axes(axis, f.shape.rank)
    steps = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    found = [np_gradient_along(f, step, place) for step, place in zip(steps, axes, strict=True)]
    return found[0] if len(found) == 1 else tuple(found)


def np_gradient_along(f, step, axis):
    """Return differences over neighbours along an axis."""
    if f.shape[axis] is not None and f.shape[axis] < 2:
        raise ValueError("Shape of array too small to calculate a numerical gradient")
    step = np_number(step, f.dtype)
    if step.shape.rank != 0:
        raise NotImplementedError("is supported only for evenly spaced places")
    later, earlier = f[np_along(axis, 1, None)], f[np_along(axis, None, -1)]
    middle = (f[np_along(axis, 2, None)] - f[np_along(axis, None, -2)]) / (2 * step)
    first = (later[np_along(axis, 0, 1)] - earlier[np_along(axis, 0, 1)]) / step
    last = (later[np_along(axis, -1, None)] - earlier[np_along(axis, -1, None)]) / step
    return tf.concat([first, middle, last], axis)
