"""Fourier transforms, convolutions, differences and interpolation."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.ports.traced.array import as_traced
from pyopbench.ports.traced.call_ufunc import as_tensor
from pyopbench.ports.traced.dtypes import NEP50
from pyopbench.ports.traced.reductions import axes_of
from pyopbench.ports.traced.registry import in_numpy, in_tensors
from pyopbench.ports.traced.tape import refuse
from pyopbench.ports.traced.untyped import np


def _precision(dtype: Any) -> Any:
    """Return the complex dtype of a transform: from NumPy 2 on of the precision of its input, before always double."""
    small = dtype in (np.dtype(np.float32), np.dtype(np.complex64), np.dtype(np.float16))
    return np.dtype(np.complex64 if small and NEP50 else np.complex128)


def _sized(tensor: Any, n: Any, axis: int) -> Any:
    """Return a tensor cut, or filled with zeros, to a length along an axis."""
    if n is None or tensor.shape[axis] == n:
        return tensor
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    key = (slice(None),) * axis
    tensor = tensor[(*key, slice(0, n))]
    lacking = n - tf.shape(tensor)[axis]
    return tf.pad(tensor, [[0, lacking] if place == axis else [0, 0] for place in range(tensor.shape.rank)])


def _last(tensor: Any, axis: int) -> Any:
    order = [place for place in range(tensor.shape.rank) if place != axis] + [axis]
    return tf.transpose(tensor, order) if axis != tensor.shape.rank - 1 else tensor


def _back(tensor: Any, axis: int) -> Any:
    if axis == tensor.shape.rank - 1:
        return tensor
    order = list(range(tensor.shape.rank - 1))
    order.insert(axis, tensor.shape.rank - 1)
    return tf.transpose(tensor, order)


def _scale(found: Any, count: Any, norm: Any, *, inverse: bool) -> Any:
    """Return a transform scaled as is asked for; TensorFlow divides the inverse by the length, NumPy's usual."""
    if norm in (None, "backward"):
        return found
    size = tf.cast(count, found.dtype.real_dtype)
    factor = size if inverse else 1 / size
    factor = tf.sqrt(factor) if norm == "ortho" else factor
    return found * tf.cast(factor, found.dtype)


def _transform(name: str, function: Any, *, inverse: bool) -> None:
    @in_tensors(f"fft.{name}")
    def transform(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        x = as_traced(a)
        (place,) = axes_of(axis, x.ndim)
        kind = _precision(x.dtype)
        if name == "rfft":
            kind = np.dtype(np.float32 if kind == np.complex64 else np.float64)
        size = x.static_shape[place]
        if name == "irfft" and n is None:
            if size is None:
                raise refuse("np.fft.irfft(x)", why="needs a length that is known before the graph runs", fix="give n=")
            n = 2 * (size - 1)
        tensor = as_tensor(x.value, kind)
        points = n // 2 + 1 if name == "irfft" and n is not None else n
        tensor = _last(_sized(tensor, points, place), place)
        count = n if n is not None else tf.shape(tensor)[-1]
        found = function(tensor, [n]) if name == "irfft" else function(tensor)
        return _back(_scale(found, count, norm, inverse=inverse), place)


_transform("fft", tf.signal.fft, inverse=False)
_transform("ifft", tf.signal.ifft, inverse=True)
_transform("rfft", tf.signal.rfft, inverse=False)
_transform("irfft", tf.signal.irfft, inverse=True)


def _along_several(name: str, single: Any, real: Any, *, usual: Any) -> None:
    """Enter a transform along several axes: one after the other, a real one along the last."""

    @in_numpy(f"fft.{name}")
    def transform(a: Any, s: Any = None, axes: Any = usual, norm: Any = None) -> Any:
        x = as_traced(a)
        if s is not None:
            raise refuse(f"np.fft.{name}(..., s=...)")
        places = axes_of(None if axes is None else list(axes), x.ndim)
        inverse = name.startswith("i")
        if real is not None and not inverse:
            x = real(x, axis=places[-1], norm=norm)
        for place in places[:-1] if real is not None else places:
            x = single(x, axis=place, norm=norm)
        return real(x, axis=places[-1], norm=norm) if real is not None and inverse else x


_along_several("fft2", np.fft.fft, None, usual=(-2, -1))
_along_several("ifft2", np.fft.ifft, None, usual=(-2, -1))
_along_several("fftn", np.fft.fft, None, usual=None)
_along_several("ifftn", np.fft.ifft, None, usual=None)
_along_several("rfft2", np.fft.fft, np.fft.rfft, usual=(-2, -1))
_along_several("irfft2", np.fft.ifft, np.fft.irfft, usual=(-2, -1))
_along_several("rfftn", np.fft.fft, np.fft.rfft, usual=None)
_along_several("irfftn", np.fft.ifft, np.fft.irfft, usual=None)


def _shifted(name: str, half: Any) -> None:
    @in_numpy(f"fft.{name}")
    def shift(x: Any, axes: Any = None) -> Any:
        array = as_traced(x)
        places = axes_of(axes, array.ndim)
        if any(array.static_shape[place] is None for place in places):
            raise refuse(f"np.fft.{name}", why="needs a length that is known before the graph runs")
        return np.roll(array, [half(array.static_shape[place]) for place in places], places)


_shifted("fftshift", lambda size: size // 2)
_shifted("ifftshift", lambda size: -(size // 2))


@in_numpy("convolve")
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Return the convolution of two vectors."""
    x, y = as_traced(a), as_traced(v)
    if 0 in (*x.static_shape, *y.static_shape):
        raise ValueError("a cannot be empty")
    if None in (*x.static_shape, *y.static_shape):
        raise refuse("np.convolve", why="needs lengths that are known before the graph runs")
    x, y = (y, x) if len(y) > len(x) else (x, y)
    return _correlated(x, y[::-1], mode)


@in_numpy("correlate")
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Return the cross-correlation of two vectors."""
    x, y = as_traced(a), as_traced(v)
    if None in (*x.static_shape, *y.static_shape):
        raise refuse("np.correlate", why="needs lengths that are known before the graph runs")
    return _correlated(x, np.conj(y), mode)


def _correlated(x: Any, y: Any, mode: str) -> Any:
    swapped = len(y) > len(x)
    long, short = (y, x) if swapped else (x, y)
    n, m = len(long), len(short)
    left = {"full": m - 1, "same": m // 2, "valid": 0}[mode]
    right = {"full": m - 1, "same": m - 1 - m // 2, "valid": 0}[mode]
    kind = np.result_type(x.dtype, y.dtype)
    padded = np.pad(long.astype(kind), (left, right))
    windows = padded[np.arange(n + left + right - m + 1)[:, None] + np.arange(m)]
    found = np.matmul(windows, short.astype(kind))
    return found[::-1] if swapped else found


@in_numpy("diff")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    """Return the differences of neighbours along an axis."""
    x = as_traced(a)
    (place,) = axes_of(axis, x.ndim)
    parts = [x]
    for value, before in ((prepend, True), (append, False)):
        if value is not np._NoValue:
            one = as_traced(value)
            shape = tuple(1 if at == place else size for at, size in enumerate(x.shape))
            one = one if one.ndim else np.broadcast_to(one, shape)
            parts = [one, *parts] if before else [*parts, one]
    found = np.concatenate(parts, axis=place) if len(parts) > 1 else x
    key = (slice(None),) * place
    for _ in range(n):
        later, earlier = found[(*key, slice(1, None))], found[(*key, slice(None, -1))]
        found = later != earlier if found.dtype == np.bool_ else later - earlier
    return found


@in_numpy("ediff1d")
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Return the differences of neighbours among all elements."""
    if to_end is not None or to_begin is not None:
        raise refuse("np.ediff1d(..., to_end=, to_begin=)", fix="use np.diff with prepend= and append=")
    return np.diff(np.ravel(as_traced(ary)))


@in_numpy("interp")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Return values between points by straight lines; outside of them that of the nearest."""
    if period is not None:
        raise refuse("np.interp(..., period=...)")
    at, points, values = (as_traced(one).astype(np.float64) for one in (x, xp, as_traced(fp)))
    if as_traced(fp).dtype.kind == "c":
        raise refuse("np.interp", why="is not traced for complex numbers")
    place = np.searchsorted(points, at, side="right") - 1
    last = points.shape[0] - 1
    inner = np.clip(place, 0, np.maximum(last - 1, 0))
    following = np.minimum(inner + 1, last)
    run = points[following] - points[inner]
    slope = (values[following] - values[inner]) / np.where(run == 0, 1.0, run)
    found = slope * (at - points[inner]) + values[inner]
    found = np.where(at == points[following], values[following], found)
    low = values[0] if left is None else left
    high = values[-1] if right is None else right
    found = np.where(at < points[0], low, np.where(at > points[-1], high, found))
    found = np.where(at == points[-1], values[-1], found)
    return np.where(np.isnan(at), at, found)
