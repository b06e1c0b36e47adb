"""Digital filters along an axis.

A filter whose coefficients are known before the graph runs is a convolution with its response, or, forwards and
backwards for many short signals, a product with a matrix. With other coefficients, samples are computed one after
another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tensor_functions.basics import np_checked, np_known_size, np_moved
from pyopbench.ports.tensor_functions.resampling import scipy_lowpass, scipy_resample_poly, scipy_strided
from pyopbench.ports.tensor_functions.table import of_numpy


def scipy_response(sections: Any, count: int) -> Any:
    """Return the first `count` samples of the impulse response of cascaded filters, each in transposed direct form.

    Raises:
        NotImplementedError: a filter is unstable, and its response overflows.
    """
    found = np.zeros(count)
    found[:1] = 1
    for pair in sections:
        size = max(map(len, pair))
        ahead, back = (np.pad(np.asarray(one, np.float64), (0, size - len(one))) / pair[1][0] for one in pair)
        given, found, state = found, np.zeros(count), np.zeros(size)
        with np.errstate(over="ignore", invalid="ignore"):
            for place, value in enumerate(given):
                found[place] = ahead[0] * value + state[0]
                state[:-1] = state[1:] + ahead[1:] * value - back[1:] * found[place]
    if not np.isfinite(found).all():
        raise NotImplementedError("is not supported for a filter whose response overflows")
    return found


def scipy_settled(sections: Any, response: Any) -> Any:
    """Return what is added, for a first sample of 1, if a signal was like it before, as `scipy.signal.lfilter_zi`.

    Raises:
        NotImplementedError: a filter has a pole at 1, and never settles.
    """
    if any(np.sum(back) == 0 for _, back in sections):
        raise NotImplementedError("is not supported for a filter that does not settle")
    return np.prod([np.sum(ahead) / np.sum(back) for ahead, back in sections]) - np.cumsum(response)


def scipy_finite(x: Any) -> Any:
    """Return a signal; an infinite sample is an error, because sums of infinities depend on their order."""
    is_finite = ~tf.reduce_any(tf.math.is_inf(x))
    return np_checked(x, is_finite, "a filter: infinite samples are not supported")


def scipy_through(x: Any, sections: Any, reach: Any = None, *, is_settled: bool = False) -> Any:
    """Return what cascaded filters make of signals along their last axis.

    A convolution has errors relative to nearby samples. With Fourier transforms, they are relative to the largest one.

    Args:
        x: the signals, float32 or float64.
        sections: the coefficients of each filter: of its inputs, and of its outputs.
        reach: how many samples a NaN affects; None for all that follow.
        is_settled: did each signal equal its first sample before that? Otherwise it was 0.
    """
    count, given = np_known_size(x, -1), tf.cast(x, tf.float64)
    if reach is not None:  # it does not feed back
        response = scipy_response(sections, reach)
        ahead = tf.repeat(given[..., :1], reach - 1, -1) if is_settled else given[..., :0]
        found = scipy_strided(tf.concat([ahead, given], -1), response, 1, 0, count + ahead.shape[-1])
        return tf.cast(found[..., ahead.shape[-1] :], x.dtype)
    is_finite = tf.math.is_finite(scipy_finite(given))
    given = tf.where(is_finite, given, tf.zeros_like(given))
    response = scipy_response(sections, count)
    kept = np.flatnonzero(np.abs(response) > 1e-40 * np.abs(response).max(initial=0))
    found = scipy_strided(given, response[: kept.max(initial=0) + 1], 1, 0, count)
    if is_settled:
        found += given[..., :1] * tf.constant(scipy_settled(sections, response))
    is_lost = tf.cumsum(tf.cast(~is_finite, tf.int32), -1) > 0
    return tf.cast(tf.where(is_lost, tf.constant(np.nan, tf.float64), found), x.dtype)


def scipy_extended(x: Any, edge: int, padtype: Any) -> Any:
    """Return signals with `edge` samples before the first and after the last, along the last axis.

    Raises:
        ValueError: as in SciPy, for another kind of extension, and for signals that are no longer than it.
    """
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None."
        )
    x = tf.cast(x, tf.int64) if x.dtype == tf.bool else x
    count = np_known_size(x, -1)
    if count <= edge:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {edge}.")
    first, last = x[..., :1], x[..., count - 1 :]
    front, back = tf.reverse(x[..., 1 : edge + 1], [-1]), tf.reverse(x[..., count - edge - 1 : count - 1], [-1])
    if padtype == "odd":
        front, back = 2 * first - front, 2 * last - back
    elif padtype == "constant":
        front, back = tf.zeros_like(front) + first, tf.zeros_like(back) + last
    return tf.concat([front, x, back], -1)


def scipy_matrix(sections: Any, size: int, samples: slice) -> Any:
    """Return what signals are multiplied by to be filtered forwards and backwards: float64, of `size` rows.

    It has a column for each of the samples that are wanted.
    """
    response = scipy_response(sections, size)
    places = np.arange(size)[:, None] - np.arange(size)
    forth = np.where(places >= 0, response[places], 0.0)
    forth[:, 0] += scipy_settled(sections, response)
    return (forth[::-1, ::-1][samples] @ forth).T


def scipy_both_ways(
    x: Any, kind: Any, sections: Any, axis: int, edge: int, padtype: Any, every: int = 1, reach: Any = None
) -> Any:
    """Return every k-th sample of a signal that is filtered forwards and backwards.

    Args:
        x: the signal.
        kind: the dtype of the result.
        sections: the coefficients of each filter: of its inputs, and of its outputs.
        axis: along which axis.
        edge: by how many samples it is extended at both ends.
        padtype: how it is extended there; None for not at all.
        every: k.
        reach: how many samples a NaN affects each way; None for all.
    """
    x = np_moved(x, axis, -1)
    count = np_known_size(x, -1)
    edge = 0 if padtype is None else edge
    extended = tf.cast(scipy_extended(x, edge, padtype), kind)  # as in SciPy, in the dtype that it has
    samples, size = slice(edge, edge + count, every), count + 2 * edge
    # A matrix that fits a cache is faster than convolutions, but not for a few signals.
    are_few = x.shape[:-1].is_fully_defined() and x.shape[:-1].num_elements() < 8
    if reach is None and not are_few and size * count // every <= 2**20:
        matrix = scipy_matrix(sections, size, samples)
        return np_moved(scipy_finite(extended) @ tf.constant(matrix, kind), -1, axis)
    forth = scipy_through(extended, sections, reach, is_settled=True)
    back = scipy_through(tf.reverse(forth, [-1]), sections, reach, is_settled=True)
    return np_moved(tf.reverse(back, [-1])[..., samples], -1, axis)


def scipy_promoted(*arrays: Any) -> Any:
    """Return the dtype of what a filter makes of a signal."""
    dtypes = [one.dtype.as_numpy_dtype if tf.is_tensor(one) else np.asarray(one).dtype for one in arrays]
    kind = np.result_type(*dtypes)
    return kind if kind.kind in "fc" else np.dtype(np.float64)


def scipy_kind(*arrays: Any) -> Any:
    """Return the same.

    Raises:
        NotImplementedError: it is neither float32 nor float64.
    """
    kind = scipy_promoted(*arrays)
    if kind not in (np.float32, np.float64):
        raise NotImplementedError(f"is not supported for {kind}")
    return kind


def scipy_reach(b: Any, a: Any) -> Any:
    """Return how many samples a NaN affects; None for all that follow, where a filter feeds back."""
    return np.size(b) if np.size(a) == 1 else None


def scipy_known(*coefficients: Any) -> bool:
    """Are coefficients known before the graph runs?"""
    return not any(tf.is_tensor(one) for one in tf.nest.flatten(coefficients))


def scipy_by_sample(b: Any, a: Any, x: Any, *, axis: int) -> Any:
    """Return a signal through a digital filter, in its transposed direct form, one element after the other."""
    count = max(np_known_size(b, 0), np_known_size(a, 0))
    ahead = tf.pad(b / a[0], [[0, count - b.shape[0]]])
    back = tf.pad(a / a[0], [[0, count - a.shape[0]]])
    moved = np_moved(x, axis, 0)
    if count == 1:
        return np_moved(moved * ahead[0], 0, axis)
    rest = [-1, *[1] * (moved.shape.rank - 1)]
    weights, feedback = tf.reshape(ahead[1:], rest), tf.reshape(back[1:], rest)

    def step(carried: Any, value: Any) -> Any:
        state = carried[0]
        found = state[0] + ahead[0] * value
        shifted = tf.concat([state[1:], tf.zeros_like(state[:1])], 0)
        return shifted + weights * value - feedback * found, found

    shape = tf.concat([[count - 1], tf.shape(moved)[1:]], 0)
    begin = (tf.zeros(shape, x.dtype), tf.zeros(tf.shape(moved)[1:], x.dtype))
    found = tf.scan(step, moved, begin)[1]
    return np_moved(tf.ensure_shape(found, moved.shape), 0, axis)


@of_numpy("scipy.signal.lfilter", b="number", a="number", x="own")
def scipy_lfilter(b: Any, a: Any, x: Any, axis: int = -1) -> Any:
    """Return a signal through a digital filter."""
    if scipy_known(b, a):
        try:
            given = tf.cast(np_moved(x, axis, -1), scipy_kind(x, b, a))
            found = scipy_through(given, [(np.ravel(b), np.ravel(a))], scipy_reach(b, a))
            return np_moved(found, -1, axis)
        except NotImplementedError:  # another dtype, or an unstable filter
            pass
    tensors = [tf.convert_to_tensor(np.ravel(one) if scipy_known(one) else one) for one in (b, a)]
    kind = scipy_promoted(*tensors, x)
    return scipy_by_sample(*(tf.cast(one, kind) for one in (*tensors, x)), axis=axis)


@of_numpy("scipy.signal.filtfilt", b="number", a="number", x="own")
def scipy_filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None, method: str = "pad"
) -> Any:
    """Return a signal through a digital filter forwards and backwards."""
    if method != "pad" or not scipy_known(b, a):
        raise NotImplementedError("is supported only for method='pad', and for constant coefficients")
    edge = 3 * max(np.size(a), np.size(b)) if padlen is None else padlen
    sections, kind = [(np.ravel(b), np.ravel(a))], scipy_kind(x, b, a)
    return scipy_both_ways(x, kind, sections, axis, edge, padtype, reach=scipy_reach(b, a))


def scipy_sections(sos: Any) -> Any:
    """Return the coefficients of filters of second order, as pairs, and `padlen` as in `scipy.signal.sosfiltfilt`."""
    if not scipy_known(sos):
        raise NotImplementedError("is supported only for constant coefficients")
    rows = np.asarray(sos)
    taps = 2 * len(rows) + 1 - int(min(np.sum(rows[:, 2] == 0), np.sum(rows[:, 5] == 0)))
    return [(row[:3], row[3:]) for row in rows], 3 * taps


@of_numpy("scipy.signal.sosfilt", sos="number", x="own")
def scipy_sosfilt(sos: Any, x: Any, axis: int = -1) -> Any:
    """Return a signal filtered by cascaded filters of second order."""
    given = tf.cast(np_moved(x, axis, -1), scipy_kind(x, sos))
    return np_moved(scipy_through(given, scipy_sections(sos)[0]), -1, axis)


@of_numpy("scipy.signal.sosfiltfilt", sos="number", x="own")
def scipy_sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """Return a signal filtered forwards and backwards by cascaded filters of second order."""
    sections, edge = scipy_sections(sos)
    edge = edge if padlen is None else padlen
    return scipy_both_ways(x, scipy_kind(x, sos), sections, axis, edge, padtype)


def scipy_chebyshev(order: int, ripple: float, cutoff: float) -> Any:
    """Return a low-pass filter of even order of Chebyshev's first type, as rows of second order.

    The poles of the analog prototype are those of `scipy.signal.cheb1ap`; the bilinear transform makes them digital.
    Rows are in the order of `scipy.signal.zpk2sos`, with the gain in the first.
    """
    height = np.sqrt(10 ** (0.1 * ripple) - 1)
    angles = np.pi * np.arange(1 - order, order, 2) / (2 * order)
    poles = -np.sinh(np.arcsinh(1 / height) / order + 1j * angles)
    gain = np.real(np.prod(-poles)) / np.sqrt(1 + height**2)
    scale = 4 * np.tan(np.pi * cutoff / 2)  # the bilinear transform at a rate of 2
    gain = gain * scale**order / np.real(np.prod(4 - scale * poles))
    poles = (4 + scale * poles) / (4 - scale * poles)
    upper = sorted(poles[poles.imag > 0], key=abs)  # those nearest to the unit circle come last
    rows = np.array([[1, 2, 1, 1, -2 * one.real, abs(one) ** 2] for one in upper])
    rows[0, :3] *= gain
    return rows


@of_numpy("scipy.signal.decimate", x="own")
def scipy_decimate(x: Any, q: int, n: Any = None, ftype: str = "iir", axis: int = -1, zero_phase: bool = True) -> Any:
    """Return every q-th sample of a signal, through a filter."""
    if ftype == "iir":
        order = 8 if n is None else n
        if order < 2 or order % 2:
            raise NotImplementedError("is supported only for an even order")
        if x.dtype.is_complex or x.dtype == tf.float16:
            raise NotImplementedError(f"is not supported for {x.dtype.name} with ftype='iir'")
        kind = np.dtype(np.float32 if x.dtype == tf.float32 else np.float64)
        rows = scipy_chebyshev(order, 0.05, 0.8 / q).astype(kind)
        if zero_phase:
            sections, edge = scipy_sections(rows)
            return scipy_both_ways(x, kind, sections, axis, edge, "odd", q)
        return np_moved(np_moved(scipy_sosfilt(rows, x, axis), axis, 0)[::q], 0, axis)
    if ftype != "fir" or not zero_phase:
        raise NotImplementedError("is supported only for ftype='iir', and for ftype='fir' with zero_phase=True")
    order = 20 * q if n is None else n
    x = x if x.dtype in (tf.float32, tf.complex64, tf.complex128) else tf.cast(x, tf.float64)
    taps = scipy_lowpass(order + 1, 1 / q, np.hamming(order + 1)).astype(x.dtype.real_dtype.as_numpy_dtype)
    return scipy_resample_poly(x, 1, q, axis, taps)
