"""Signals at other samples: polyphase filters, and interpolation between points."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tensor_functions.basics import np_checked, np_is_nan, np_known_size, np_moved, np_number
from pyopbench.ports.tensor_functions.order import np_argsort, np_searchsorted
from pyopbench.ports.tensor_functions.table import of_numpy


def scipy_lowpass(count: int, cutoff: float, window: Any) -> Any:
    """Return a low-pass filter of linear phase, as `scipy.signal.firwin` has it."""
    places = np.arange(count) - (count - 1) / 2
    taps = cutoff * np.sinc(cutoff * places) * window
    return taps / taps.sum()


def scipy_strided(x: Any, taps: Any, down: int, first: int, count: int) -> Any:
    """Return every k-th sample of signals through a filter of finite length, from the sample `first` on."""
    size = np_known_size(x, -1)
    before = len(taps) - 1 - first
    padded = tf.pad(
        x, [[0, 0]] * (x.shape.rank - 1) + [[max(before, 0), max((count - 1) * down + 1 + first - size, 0)]]
    )
    rows = tf.reshape(padded[..., max(-before, 0) :], [-1, padded.shape[-1] - max(-before, 0), 1])
    found = tf.nn.conv1d(rows, tf.constant(taps[::-1].reshape(-1, 1, 1).copy(), x.dtype), down, "VALID")
    shape = tf.concat([tf.shape(x)[:-1], [count]], 0)
    return tf.ensure_shape(tf.reshape(found[:, :count], shape), [*x.shape[:-1], count])


@of_numpy("scipy.signal.resample_poly", x="own", window="number")
def scipy_resample_poly(
    x: Any, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0), padtype: str = "constant",
    cval: Any = None,
) -> Any:  # fmt: skip
    """Return a signal at `up / down` times its rate, through a filter of linear phase."""
    if padtype != "constant" or cval not in (None, 0) or tf.is_tensor(window):
        raise NotImplementedError("is supported only for padtype='constant', and for a window that is known")
    if up != int(up) or down != int(down) or up < 1 or down < 1:
        raise ValueError("up and down must be integers >= 1")
    shared = int(np.gcd(int(up), int(down)))
    up, down = int(up) // shared, int(down) // shared
    if up == down == 1:
        return tf.identity(x)
    x = x if x.dtype in (tf.float32, tf.float64, tf.complex64, tf.complex128) else tf.cast(x, tf.float64)
    size = np_known_size(np_moved(x, axis, -1), -1)
    if isinstance(window, tuple):
        if len(window) != 2 or window[0] != "kaiser":
            raise NotImplementedError(f"is not supported for window={window!r}")
        half = 10 * max(up, down)
        taps = scipy_lowpass(2 * half + 1, 1 / max(up, down), np.kaiser(2 * half + 1, window[1]))
    elif isinstance(window, str):
        raise NotImplementedError(f"is not supported for window={window!r}")
    else:
        taps = np.array(window)
        x = tf.cast(x, np.result_type(taps, x.dtype.as_numpy_dtype))
        half = (len(taps) - 1) // 2
    ahead = down - half % down  # zeros, so that an output is at the middle of the filter
    taps = np.concatenate([np.zeros(ahead), taps * up])
    count = -(-size * up // down)
    if up == 1 and size and not x.dtype.is_complex:
        return np_moved(
            scipy_strided(np_moved(x, axis, -1), taps, down, (half + ahead) // down * down, count), -1, axis
        )
    # Each output is a sum over the few inputs that the filter reaches.
    places = (np.arange(count)[:, None] + (half + ahead) // down) * down
    inputs = places // up - np.arange(-(-len(taps) // up))
    at = places - inputs * up
    inside = (inputs >= 0) & (inputs < size) & (at < len(taps))
    weights = np.where(inside, taps[np.minimum(at, len(taps) - 1)], 0.0)
    if not size:
        raise NotImplementedError("is not supported for a signal without samples")
    picked = tf.gather(np_moved(x, axis, -1), np.clip(inputs, 0, size - 1), axis=-1)
    products = tf.where(inside, picked * tf.cast(tf.constant(weights), x.dtype), tf.zeros((), x.dtype))
    return np_moved(tf.reduce_sum(products, -1), -1, axis)


@of_numpy("scipy.interpolate.interp1d", x="own", y="float")
def scipy_interp1d(
    x: Any, y: Any, kind: str = "linear", axis: int = -1, copy: bool = True, bounds_error: Any = None,
    fill_value: Any = np.nan, assume_sorted: bool = False,
) -> Any:  # fmt: skip
    """Return a function that interpolates between points, of numbers or tensors."""
    if kind not in ("linear", "nearest", "nearest-up", "previous", "next"):
        raise NotImplementedError(f"is not supported for kind={kind!r}")
    is_extended = isinstance(fill_value, str) and fill_value == "extrapolate"
    if is_extended and bounds_error:
        raise ValueError("Cannot extrapolate and raise at the same time.")
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)
    if not is_extended and any(np.ndim(one) for one in fills if not tf.is_tensor(one)):
        raise NotImplementedError("is supported only for fill_value= of one number, or of two")
    place = axis % y.shape.rank
    values = np_moved(y, place, 0)
    if not assume_sorted:
        order = np_argsort(x)
        x, values = tf.gather(x, order), tf.gather(values, order)
    last = tf.size(x, tf.int64) - 1
    one = tf.constant(1, tf.int64)

    def call(new: Any) -> Any:
        new = tf.convert_to_tensor(new)
        new = new if new.dtype.is_floating else tf.cast(new, tf.float64)
        wide = tf.float32 if x.dtype == tf.float32 and new.dtype == tf.float32 else tf.float64
        knots, at = tf.cast(x, wide), tf.cast(new, wide)
        if kind == "linear":
            upper = tf.clip_by_value(np_searchsorted(knots, at), one, last)
            found = np_on_line(knots, values, at, upper)
        elif kind in ("previous", "next"):
            side = "right" if kind == "previous" else "left"
            index = np_searchsorted(knots, at, side) - (1 if kind == "previous" else 0)
            found = tf.gather(values, tf.clip_by_value(index, 0 * one, last))
        else:
            middles = knots / 2
            middles = middles[1:] + middles[:-1]
            index = np_searchsorted(middles, at, "left" if kind == "nearest" else "right")
            found = tf.gather(values, tf.clip_by_value(index, 0 * one, last))
        below, above = at < knots[0], at > knots[-1]
        lacks = {"previous": (True, False), "next": (False, True)}.get(kind, (False, False))
        if not is_extended and bounds_error in (None, True):
            found = np_checked(found, ~tf.reduce_any(below | above), "interp1d: a value is out of the range")
        for outside, is_lacking, fill in zip(
            (below, above), lacks, (np.nan, np.nan) if is_extended else fills, strict=True
        ):
            if is_lacking or not is_extended:
                mask = tf.reshape(outside, tf.concat([tf.shape(at), [1] * (y.shape.rank - 1)], 0))
                found = tf.where(mask, np_number(fill, found.dtype), found)
        rank = at.shape.rank
        return np_moved(found, list(range(rank)), list(range(place, place + rank)))

    return call


def np_on_line(knots: Any, values: Any, at: Any, upper: Any) -> Any:
    """Return what is on the straight lines between values."""
    low, high = tf.gather(knots, upper - 1), tf.gather(knots, upper)
    begin, end = tf.gather(values, upper - 1), tf.gather(values, upper)
    wide = tf.float64 if at.dtype == tf.float64 and not values.dtype.is_complex else values.dtype
    begin, end = tf.cast(begin, wide), tf.cast(end, wide)
    shape = tf.concat([tf.shape(at), [1] * (values.shape.rank - 1)], 0)
    width, way = (tf.cast(tf.reshape(one, shape), wide) for one in (high - low, at - low))
    found = (end - begin) / width * way + begin
    return tf.where(np_is_nan(tf.reshape(at, shape)), tf.constant(np.nan, wide), found)


def scipy_interp1d_of(made: Any) -> Any:
    """Return the function on tensors that one of SciPy's interpolations is."""
    values = tf.constant(made.y)
    return scipy_interp1d(
        tf.constant(made.x), values, made._kind, made.axis, bounds_error=made.bounds_error,
        fill_value=made.fill_value, assume_sorted=True,
    )  # fmt: skip
