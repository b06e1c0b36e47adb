"""Digital filters along an axis.

A filter whose coefficients are known before the graph runs is a product of Fourier transforms, of a signal and of the
filter's response, or, for many short signals, a product with a matrix. With other coefficients, one sample is computed
after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tensor_functions.basics import np_checked, np_known_size, np_moved
from pyopbench.ports.tensor_functions.resampling import scipy_lowpass, scipy_resample_poly
from pyopbench.ports.tensor_functions.table import of_numpy


def scipy_response(sections: Any, count: int) -> Any:
    """Return the first numbers that filters in a row make of 1, 0, 0, ..., each in its transposed direct form."""
    found = np.zeros(count)
    found[:1] = 1
    for pair in sections:
        size = max(map(len, pair))
        ahead, back = (np.pad(np.asarray(one, np.float64), (0, size - len(one))) / pair[1][0] for one in pair)
        given, found, state = found, np.zeros(count), np.zeros(size)
        for place, value in enumerate(given):
            found[place] = ahead[0] * value + state[0]
            state[:-1] = state[1:] + ahead[1:] * value - back[1:] * found[place]
    if not np.all(np.abs(found) < 1e4 * np.abs(found[: 1 + count // 8]).max(initial=0)):
        raise NotImplementedError("is not supported for a filter whose response grows")
    return found


def scipy_through(x: Any, sections: Any, reach: Any = None, settled: bool = False) -> Any:
    """Return signals along their last axis through filters in a row.

    Args:
        x: the signals, float32 or float64.
        sections: the coefficients of each filter: of its inputs, and of its outputs.
        reach: over how many samples a NaN is felt; None for all that follow.
        settled: was each signal like its first sample for ever? Else it was 0.
    """
    count = np_known_size(x, -1)
    response = scipy_response(sections, count)
    size = 2 ** int(np.ceil(np.log2(max(2 * count - 1, 1))))
    given = tf.cast(tf.where(tf.math.is_finite(x), x, tf.zeros_like(x)), tf.float64)
    product = tf.signal.rfft(given, [size]) * tf.signal.rfft(tf.constant(response), [size])
    found = tf.signal.irfft(product, [size])[..., :count]
    if settled:
        total = np.prod([np.sum(ahead) / np.sum(back) for ahead, back in sections])
        found += given[..., :1] * tf.constant(total - np.cumsum(response))
    felt = tf.cumsum(tf.cast(tf.math.is_nan(x), tf.int32), -1)
    if reach is not None:
        felt -= tf.pad(felt, [[0, 0]] * (x.shape.rank - 1) + [[reach, 0]])[..., :count]
    found = tf.where(felt > 0, tf.constant(np.nan, tf.float64), found)
    is_finite = ~tf.reduce_any(tf.math.is_inf(x))
    return tf.cast(np_checked(found, is_finite, "a filter: infinite samples are not supported"), x.dtype)


def scipy_extended(x: Any, edge: int, padtype: Any) -> Any:
    """Return signals with samples before the first and after the last, along the last axis."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None."
        )
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


def scipy_matrix(sections: Any, size: int, rows: slice) -> Any:
    """Return what a signal is multiplied by to go through filters forwards and backwards, for some of its samples."""
    response = scipy_response(sections, size)
    places = np.arange(size)[:, None] - np.arange(size)
    forth = np.where(places >= 0, response[places], 0.0)
    forth[:, 0] += np.prod([np.sum(ahead) / np.sum(back) for ahead, back in sections]) - np.cumsum(response)
    return (forth[::-1, ::-1][rows] @ forth).T


def scipy_both_ways(
    x: Any, kind: Any, sections: Any, axis: int, edge: int, padtype: Any, every: int = 1, reach: Any = None
) -> Any:
    """Return every k-th sample of a signal through filters forwards and backwards.

    Args:
        x: the signal.
        kind: the dtype of the result.
        sections: the coefficients of each filter: of its inputs, and of its outputs.
        axis: along which axis.
        edge: by how many samples it is extended at both ends.
        padtype: how it is extended there; None for not at all.
        every: k.
        reach: over how many samples a NaN is felt each way; None for all.
    """
    x = np_moved(x, axis, -1)
    count = np_known_size(x, -1)
    edge = 0 if padtype is None else edge
    extended = tf.cast(scipy_extended(x, edge, padtype), kind)  # as in SciPy, in the dtype that it has
    samples, size = slice(edge, edge + count, every), count + 2 * edge
    is_short = x.shape[:-1].is_fully_defined() and x.shape[:-1].num_elements() < 8
    if (
        reach is None and not is_short and size * count // every <= 2**20
    ):  # many signals, and a matrix that fits a cache
        is_finite = ~tf.reduce_any(tf.math.is_inf(extended))
        extended = np_checked(extended, is_finite, "a filter: infinite samples are not supported")
        return np_moved(extended @ tf.constant(scipy_matrix(sections, size, samples), kind), -1, axis)
    forth = scipy_through(extended, sections, reach, settled=True)
    return np_moved(
        tf.reverse(scipy_through(tf.reverse(forth, [-1]), sections, reach, settled=True), [-1])[..., samples], -1, axis
    )


def scipy_kind(x: Any, *coefficients: Any) -> Any:
    """Return the dtype of what a filter makes of a signal."""
    kind = np.result_type(x.dtype.as_numpy_dtype, *(np.asarray(one).dtype for one in coefficients))
    kind = kind if kind.kind in "fc" else np.dtype(np.float64)
    if kind not in (np.float32, np.float64):
        raise NotImplementedError(f"is not supported for {kind}")
    return kind


def scipy_known(*coefficients: Any) -> bool:
    """Are coefficients known before the graph runs?"""
    return not any(tf.is_tensor(one) for one in tf.nest.flatten(coefficients))


def scipy_by_sample(b: Any, a: Any, x: Any, axis: int) -> Any:
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


@of_numpy("scipy.signal.lfilter", b="number", a="number", x="own", needs_shapes=True)
def scipy_lfilter(b: Any, a: Any, x: Any, axis: int = -1) -> Any:
    """Return a signal through a digital filter."""
    if scipy_known(b, a) and not x.dtype.is_complex:
        given = tf.cast(np_moved(x, axis, -1), scipy_kind(x, b, a))
        reach = np.size(b) if np.size(a) == 1 else None
        try:
            return np_moved(scipy_through(given, [(np.ravel(b), np.ravel(a))], reach), -1, axis)
        except NotImplementedError:  # the response grows
            pass
    tensors = [tf.convert_to_tensor(np.asarray(one) if scipy_known(one) else one) for one in (b, a, x)]
    kind = np.result_type(*(one.dtype.as_numpy_dtype for one in tensors))
    kind = kind if kind.kind in "fc" else np.dtype(np.float64)
    b, a, x = (tf.cast(one, kind) for one in tensors)
    return scipy_by_sample(b, a, x, axis)


@of_numpy("scipy.signal.filtfilt", b="number", a="number", x="own", needs_shapes=True)
def scipy_filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None, method: str = "pad"
) -> Any:
    """Return a signal through a digital filter forwards and backwards."""
    if method != "pad" or not scipy_known(b, a):
        raise NotImplementedError("is supported only for method='pad', and for coefficients that are known")
    edge = 3 * max(np.size(a), np.size(b)) if padlen is None else padlen
    reach = np.size(b) if np.size(a) == 1 else None
    return scipy_both_ways(x, scipy_kind(x, b, a), [(np.ravel(b), np.ravel(a))], axis, edge, padtype, reach=reach)


def scipy_sections(sos: Any) -> Any:
    """Return the coefficients of filters of second order, as pairs, and by how many samples a signal is extended."""
    if not scipy_known(sos):
        raise NotImplementedError("is supported only for coefficients that are known")
    rows = np.asarray(sos)
    taps = 2 * len(rows) + 1 - int(min(np.sum(rows[:, 2] == 0), np.sum(rows[:, 5] == 0)))
    return [(row[:3], row[3:]) for row in rows], 3 * taps


@of_numpy("scipy.signal.sosfilt", sos="number", x="own", needs_shapes=True)
def scipy_sosfilt(sos: Any, x: Any, axis: int = -1) -> Any:
    """Return a signal through filters of second order in a row."""
    given = tf.cast(np_moved(x, axis, -1), scipy_kind(x, sos))
    return np_moved(scipy_through(given, scipy_sections(sos)[0]), -1, axis)


@of_numpy("scipy.signal.sosfiltfilt", sos="number", x="own", needs_shapes=True)
def scipy_sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    """Return a signal through filters of second order in a row, forwards and backwards."""
    sections, edge = scipy_sections(sos)
    edge = edge if padlen is None else padlen
    return scipy_both_ways(x, scipy_kind(x, sos), sections, axis, edge, padtype)


def scipy_chebyshev(order: int, ripple: float, cutoff: float) -> Any:
    """Return a low-pass filter of even order of Chebyshev's first type as rows of second order, as SciPy pairs them."""
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


@of_numpy("scipy.signal.decimate", x="own", needs_shapes=True)
def scipy_decimate(x: Any, q: int, n: Any = None, ftype: str = "iir", axis: int = -1, zero_phase: bool = True) -> Any:
    """Return every q-th sample of a signal, through a filter."""
    if ftype == "iir":
        order = 8 if n is None else n
        if order < 2 or order % 2:
            raise NotImplementedError("is supported only for an even order")
        x = x if x.dtype == tf.float32 else tf.cast(x, tf.float64)
        rows = scipy_chebyshev(order, 0.05, 0.8 / q).astype(x.dtype.as_numpy_dtype)
        if zero_phase:
            sections, edge = scipy_sections(rows)
            return scipy_both_ways(x, x.dtype, sections, axis, edge, "odd", q)
        return np_moved(np_moved(scipy_sosfilt(rows, x, axis), axis, 0)[::q], 0, axis)
    if ftype != "fir" or not zero_phase:
        raise NotImplementedError("is supported only for ftype='iir', and for ftype='fir' with zero_phase=True")
    order = 20 * q if n is None else n
    x = x if x.dtype in (tf.float32, tf.complex64, tf.complex128) else tf.cast(x, tf.float64)
    taps = scipy_lowpass(order + 1, 1 / q, np.hamming(order + 1)).astype(x.dtype.real_dtype.as_numpy_dtype)
    return scipy_resample_poly(x, 1, q, axis, taps)
