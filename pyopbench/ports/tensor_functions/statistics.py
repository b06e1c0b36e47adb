"""Sums, means and spreads, with NaN or without, correlations and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tensor_functions.basics import (
    np_axes,
    np_checked,
    np_count,
    np_is_denormal,
    np_is_nan,
    np_number,
    np_truth,
)
from pyopbench.ports.tensor_functions.order import np_max, np_min, np_nan_where, np_searchsorted
from pyopbench.ports.tensor_functions.table import of_numpy


@of_numpy("np.ptp", a="own")
def np_ptp(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the largest element less the smallest."""
    return np_max(a, axis, keepdims=keepdims) - np_min(a, axis, keepdims=keepdims)


@of_numpy("np.average", a="common float", weights="common float")
def np_average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """Return weighted means; if asked for, with the sums of weights."""
    axes = np_axes(axis, a.shape.rank)
    if weights is None:
        found = tf.reduce_mean(a, axes, keepdims)
        total = tf.fill(tf.shape(found), tf.cast(np_count(a, axes), a.dtype))
        return (found, total) if returned else found
    if weights.shape.rank != a.shape.rank:
        if axis is None or weights.shape.rank != 1 or len(axes) != 1:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        weights = tf.reshape(weights, [-1 if at == axes[0] else 1 for at in range(a.shape.rank)])
    total = tf.reduce_sum(tf.broadcast_to(weights, tf.shape(a)), axes, keepdims)
    found = tf.reduce_sum(a * weights, axes, keepdims) / total
    return (found, total) if returned else found


@of_numpy("np.var", a="float")
def np_var(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """Return variances, from the differences to the mean."""
    if dtype is not None and np.dtype(dtype).kind == "c" and not a.dtype.is_complex:
        raise NotImplementedError("of real numbers is supported only with a real dtype=")
    axes = np_axes(axis, a.shape.rank)
    a = a if dtype is None else tf.cast(a, np.dtype(dtype))
    count = tf.cast(np_count(a, axes), a.dtype)
    away = a - tf.reduce_sum(a, axes, keepdims=True) / count
    square = tf.math.real(away * tf.math.conj(away)) if a.dtype.is_complex else tf.square(away)
    left = tf.maximum(tf.math.real(count) - np_number(ddof, square.dtype), tf.zeros((), square.dtype))
    return tf.reduce_sum(square, axes, keepdims) / left


@of_numpy("np.std", a="float")
def np_std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """Return standard deviations, from the differences to the mean."""
    return tf.sqrt(np_var(a, axis, dtype, ddof=ddof, keepdims=keepdims))


@of_numpy("np.cov", m="common float", y="common float", fweights="int64", aweights="float64")
def np_cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """Return the covariances of variables, which are rows."""
    if fweights is not None or aweights is not None or dtype is not None:
        raise NotImplementedError("is not supported with fweights=, aweights= or dtype=")
    # NumPy computes in float64 at least.
    rows = np_variables(m, not rowvar)
    if y is not None:  # of which NumPy takes one row for a variable in any case
        rows = tf.concat([rows, np_variables(y, not rowvar and y.shape[:1] != [1])], 0)
    less = (0 if bias else 1) if ddof is None else ddof
    count = tf.cast(tf.shape(rows)[1], tf.float64) - np_number(less, tf.float64)
    away = rows - tf.reduce_mean(rows, 1, keepdims=True)
    found = tf.matmul(away, away, adjoint_b=True) / tf.cast(tf.maximum(count, 0), rows.dtype)
    gone = [axis for axis, size in enumerate(found.shape.as_list()) if size == 1]
    return tf.squeeze(found, gone) if gone else found


def np_variables(x: Any, turned: bool) -> Any:
    """Return observations of variables as rows, float64 or complex128, from rows or from columns."""
    x = tf.cast(x, tf.complex128 if x.dtype.is_complex else tf.float64)
    if x.shape.rank < 2:
        return tf.reshape(x, [1, -1])
    return tf.transpose(x) if turned else x


def np_without_nan(a: Any, value: float) -> Any:
    """Return an array with a value in place of NaN."""
    return a if a.dtype.is_integer or a.dtype.is_bool else tf.where(np_is_nan(a), tf.constant(value, a.dtype), a)


@of_numpy("np.nansum", a="own", where="bool")
def np_nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None,
    where: Any = True,
) -> Any:  # fmt: skip
    """Return sums of what is not NaN."""
    found = np_add_reduce(np_kept(np_without_nan(a, 0), where, 0), axis, dtype, keepdims=keepdims)
    return found if initial is None else found + np_number(initial, found.dtype)


def np_kept(a: Any, where: Any, value: float) -> Any:
    """Return an array with a value in place of the elements that are left out."""
    return a if where is True else tf.where(where, a, tf.constant(value, a.dtype))


def np_as_summed(a: Any, dtype: Any) -> Any:
    """Return an array in the dtype in which NumPy sums it: integers of few bits, and truth values, have 64."""
    if dtype is not None:
        return tf.cast(a, np.dtype(dtype))
    if a.dtype.is_integer and a.dtype.size < 8:
        return tf.cast(a, tf.uint64 if a.dtype.is_unsigned else tf.int64)
    return tf.cast(a, tf.int64) if a.dtype == tf.bool else a


@of_numpy("np.add.reduce", array="own")
def np_add_reduce(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return sums along an axis."""
    return tf.reduce_sum(np_as_summed(array, dtype), np_axes(axis, array.shape.rank), keepdims)


@of_numpy("np.multiply.reduce", array="own")
def np_multiply_reduce(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return products along an axis."""
    return tf.reduce_prod(np_as_summed(array, dtype), np_axes(axis, array.shape.rank), keepdims)


@of_numpy("np.maximum.reduce", array="own")
def np_maximum_reduce(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the largest elements along an axis."""
    return np_max(array, axis, keepdims=keepdims)


@of_numpy("np.minimum.reduce", array="own")
def np_minimum_reduce(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the smallest elements along an axis."""
    return np_min(array, axis, keepdims=keepdims)


@of_numpy("np.logical_and.reduce", array="bool")
def np_logical_and_reduce(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return whether all are true along an axis."""
    return tf.reduce_all(array, np_axes(axis, array.shape.rank), keepdims)


@of_numpy("np.logical_or.reduce", array="bool")
def np_logical_or_reduce(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return whether any is true along an axis."""
    return tf.reduce_any(array, np_axes(axis, array.shape.rank), keepdims)


@of_numpy("np.nanmax", a="own")
def np_nanmax(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the largest elements that are not NaN; NaN where there is nothing else."""
    found = np_max(np_without_nan(a, -np.inf), axis, keepdims=keepdims)
    return np_nan_where(tf.reduce_all(np_is_nan(a), np_axes(axis, a.shape.rank), keepdims), found)


@of_numpy("np.nanmin", a="own")
def np_nanmin(a: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return the smallest elements that are not NaN; NaN where there is nothing else."""
    found = np_min(np_without_nan(a, np.inf), axis, keepdims=keepdims)
    return np_nan_where(tf.reduce_all(np_is_nan(a), np_axes(axis, a.shape.rank), keepdims), found)


@of_numpy("np.nanmean", a="float", where="bool")
def np_nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    """Return means of what is not NaN."""
    axes = np_axes(axis, a.shape.rank)
    a = a if dtype is None else tf.cast(a, np.dtype(dtype))
    count = tf.reduce_sum(tf.cast(np_kept(~np_is_nan(a), where, False), a.dtype), axes, keepdims)
    return tf.reduce_sum(np_kept(np_without_nan(a, 0), where, 0), axes, keepdims) / count


@of_numpy("np.nanvar", a="float")
def np_nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False
) -> Any:
    """Return variances of what is not NaN."""
    if a.dtype.is_complex or (dtype is not None and np.dtype(dtype).kind == "c"):
        raise NotImplementedError("is not supported for complex numbers")
    a = a if dtype is None else tf.cast(a, np.dtype(dtype))
    axes, nan = np_axes(axis, a.shape.rank), np_is_nan(a)
    away = tf.where(nan, tf.zeros((), a.dtype), a - np_nanmean(a, axis, keepdims=True))
    left = tf.reduce_sum(tf.cast(~nan, a.dtype), axes, keepdims) - np_number(ddof, a.dtype)
    found = tf.reduce_sum(tf.square(away), axes, keepdims) / tf.where(left > 0, left, tf.ones((), a.dtype))
    return np_nan_where(left <= 0, found)


@of_numpy("np.nanstd", a="float")
def np_nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: bool = False
) -> Any:
    """Return standard deviations of what is not NaN."""
    return tf.sqrt(np_nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims))


@of_numpy("np.count_nonzero", a="own")
def np_count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """Return how many elements are not 0."""
    return tf.reduce_sum(tf.cast(np_truth(a), tf.int64), np_axes(axis, a.shape.rank), keepdims)


@of_numpy("np.bincount", x="int64", weights="float64", minlength="int64")
def np_bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    """Return how often each whole number from 0 on is there, or the sums of weights."""
    highest = tf.reduce_max(tf.concat([x, tf.constant([-1], tf.int64)], 0))
    count = tf.maximum(highest + 1, tf.cast(minlength, tf.int64))
    amounts = tf.ones_like(x) if weights is None else weights
    with tf.control_dependencies([tf.debugging.assert_non_negative(x, "bincount of a negative number")]):
        return tf.math.unsorted_segment_sum(amounts, x, count)


def np_unless_narrow(tensor: Any, is_wide: Any) -> Any:
    """Return a tensor; an error where numbers are so close to 0 that TensorFlow takes them for it."""
    return np_checked(tensor, is_wide, "histogram: TensorFlow takes numbers for 0 that are as small as these")


def np_bin_edges(x: Any, bins: Any, limits: Any) -> Any:
    """Return the edges of bins of one width over a range, by default that of the elements."""
    kind = x.dtype if x.dtype.is_floating else tf.float64
    if limits is None:
        low, high = tf.reduce_min(x), tf.reduce_max(x)
        low, high = tf.cast(low, kind), tf.cast(high, kind)
        if 0 in x.shape:
            low, high = tf.zeros((), kind), tf.ones((), kind)
    else:
        low, high = np_number(limits[0], tf.float64), np_number(limits[1], tf.float64)
    high = np_unless_narrow(high, ~np_is_denormal(low) & ~np_is_denormal(high))
    low, high = tf.where(tf.equal(low, high), low - 0.5, low), tf.where(tf.equal(low, high), high + 0.5, high)
    steps = tf.cast(tf.range(bins + 1), tf.float64)
    wide_low, wide_high = tf.cast(low, tf.float64), tf.cast(high, tf.float64)
    # Of a constant, graphs would multiply by the reciprocal, which is rounded otherwise.
    count = tf.raw_ops.PlaceholderWithDefault(input=np_number(bins, tf.float64), shape=[])
    width = (wide_high - wide_low) / count
    is_wide = tf.not_equal(width, 0) & ~np_is_denormal(width)
    width = np_unless_narrow(width, is_wide | tf.equal(wide_low, wide_high))
    edges = steps * width + wide_low
    return tf.cast(tf.concat([edges[:-1], [wide_high]], 0), kind)


def np_bins_of(x: Any, edges: Any) -> Any:
    """Return the number of each element's bin, and which elements are in one; the last bin has both its edges."""
    x = np_unless_narrow(x, ~tf.reduce_any(np_is_denormal(x)) & ~tf.reduce_any(np_is_denormal(edges)))
    common = tf.float32 if x.dtype == tf.float32 and edges.dtype == tf.float32 else tf.float64
    x, edges = tf.cast(x, common), tf.cast(edges, common)
    last = tf.size(edges, tf.int64) - 1
    place = np_searchsorted(edges, x, "right") - 1
    place = tf.where(tf.equal(x, edges[-1]), last - 1, place)
    inside = (x >= edges[0]) & (x <= edges[-1])
    return tf.where(inside, place, tf.zeros((), tf.int64)), inside


@of_numpy("np.histogram", a="own", bins="number", weights="own")
def np_histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Return how many elements are in each bin, and the edges of the bins."""
    x = tf.reshape(tf.cast(a, tf.uint8) if a.dtype == tf.bool else a, [-1])
    edges = np_edges_of(x, bins, range)
    place, inside = np_bins_of(x, edges)
    amounts = tf.cast(inside, tf.int64)
    if weights is not None:
        flat = tf.reshape(weights, [-1])
        amounts = tf.where(inside, flat, tf.zeros((), flat.dtype))
    counts = tf.math.unsorted_segment_sum(amounts, place, tf.size(edges, tf.int64) - 1)
    if density:
        widths = tf.cast(edges[1:] - edges[:-1], tf.float64)
        wide = tf.cast(counts, tf.float64)
        return wide / widths / tf.reduce_sum(wide), edges
    return counts, edges


def np_edges_of(x: Any, bins: Any, limits: Any) -> Any:
    """Return the edges of bins: themselves, or those of a number of bins of one width."""
    if isinstance(bins, str):
        raise NotImplementedError(f"is not supported for bins={bins!r}")
    if len(np.shape(bins)) if not tf.is_tensor(bins) else bins.shape.rank:
        if isinstance(bins, (list, tuple)) and any(tf.is_tensor(one) for one in bins):
            return tf.stack(bins)
        return bins if tf.is_tensor(bins) else tf.constant(np.asarray(bins))
    return np_bin_edges(x, bins, limits)


@of_numpy("np.mean", a="own")
def np_mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Return means; of integers and truth values in float64."""
    axes = np_axes(axis, a.shape.rank)
    kind = a.dtype if a.dtype.is_floating or a.dtype.is_complex else tf.float64
    inner = tf.float32 if kind == tf.float16 else kind
    wide = tf.cast(a, inner) if dtype is None else tf.cast(a, np.dtype(dtype))
    found = tf.reduce_sum(wide, axes, keepdims) / tf.cast(np_count(a, axes), wide.dtype)
    return tf.cast(found, kind) if dtype is None else found


@of_numpy("scipy.special.logsumexp", a="common float", b="common float")
def scipy_logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """Return the logarithm of the (weighted) sum of exponentials."""
    axes = np_axes(axis, a.shape.rank)
    if b is not None:
        a, b = a + tf.zeros_like(b), b + tf.zeros_like(a)
        a = tf.where(tf.equal(b, 0), tf.constant(-np.inf, a.dtype), a)
    high = np_max(a, axis, keepdims=True)
    high = tf.where(tf.math.is_finite(high), high, tf.zeros((), a.dtype))
    power = tf.exp(a - high) if b is None else b * tf.exp(a - high)
    found = tf.math.log(tf.reduce_sum(power, axes, keepdims=True)) + high
    return found if keepdims else tf.squeeze(found, axes)


@of_numpy("scipy.special.softmax", x="float")
def scipy_softmax(x: Any, axis: Any = None) -> Any:
    """Return exponentials as shares of their sum."""
    power = tf.exp(x - np_max(x, axis, keepdims=True))
    return power / tf.reduce_sum(power, np_axes(axis, x.shape.rank), keepdims=True)


@of_numpy("scipy.special.log_softmax", x="float")
def scipy_log_softmax(x: Any, axis: Any = None) -> Any:
    """Return the logarithm of exponentials as shares of their sum."""
    high = np_max(x, axis, keepdims=True)
    away = x - tf.where(tf.math.is_finite(high), high, tf.zeros((), x.dtype))
    return away - tf.math.log(tf.reduce_sum(tf.exp(away), np_axes(axis, x.shape.rank), keepdims=True))
