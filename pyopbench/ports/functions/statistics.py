"""Sums, means and spreads, with NaN or without, correlations and histograms."""

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import (
    np_axes,
    np_count,
    np_is_nan,
    np_number,
)
from pyopbench.ports.functions.order import np_max, np_min, np_nan_where, np_searchsorted
from pyopbench.ports.functions.table import helper


@helper("np.ptp", a="own")
def np_ptp(a, axis=None, *, keepdims=False):
    """Return the largest element less the smallest."""
    return np_max(a, axis, keepdims=keepdims) - np_min(a, axis, keepdims=keepdims)


@helper("np.average", a="common float", weights="common float")
def np_average(a, axis=None, weights=None, *, keepdims=False):
    """Return weighted means."""
    axes = np_axes(axis, a.shape.rank)
    if weights is None:
        return tf.reduce_mean(a, axes, keepdims)
    if weights.shape.rank != a.shape.rank:
        weights = tf.reshape(weights, [-1 if at == axes[0] else 1 for at in range(a.shape.rank)])
    total = tf.reduce_sum(tf.broadcast_to(weights, tf.shape(a)), axes, keepdims)
    return tf.reduce_sum(a * weights, axes, keepdims) / total


@helper("np.var", a="float")
def np_var(a, axis=None, dtype=None, *, ddof=0, keepdims=False):
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


@helper("np.std", a="float")
def np_std(a, axis=None, dtype=None, *, ddof=0, keepdims=False):
    """Return standard deviations, from the differences to the mean."""
    return tf.sqrt(np_var(a, axis, dtype, ddof=ddof, keepdims=keepdims))


@helper("np.cov", m="common float", y="common float")
def np_cov(m, y=None, rowvar=True, bias=False, ddof=None):
    """Return the covariances of variables, which are rows."""
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


def np_variables(x, turned):
    """Return observations of variables as rows, float64 or complex128, from rows or from columns."""
    x = tf.cast(x, tf.complex128 if x.dtype.is_complex else tf.float64)
    if x.shape.rank < 2:
        return tf.reshape(x, [1, -1])
    return tf.transpose(x) if turned else x


def np_without_nan(a, value):
    """Return an array with a value in place of NaN."""
    return a if a.dtype.is_integer or a.dtype.is_bool else tf.where(np_is_nan(a), tf.constant(value, a.dtype), a)


@helper("np.nansum", a="own")
def np_nansum(a, axis=None, dtype=None, *, keepdims=False):
    """Return sums of what is not NaN; integers of few bits are summed in 64."""
    if dtype is None and not a.dtype.is_floating and not a.dtype.is_complex:
        dtype = np.uint64 if a.dtype.is_unsigned else np.int64
    a = np_without_nan(a, 0) if dtype is None else tf.cast(np_without_nan(a, 0), np.dtype(dtype))
    return tf.reduce_sum(a, np_axes(axis, a.shape.rank), keepdims)


@helper("np.nanmax", a="own")
def np_nanmax(a, axis=None, *, keepdims=False):
    """Return the largest elements that are not NaN; NaN where there is nothing else."""
    found = np_max(np_without_nan(a, -np.inf), axis, keepdims=keepdims)
    return np_nan_where(tf.reduce_all(np_is_nan(a), np_axes(axis, a.shape.rank), keepdims), found)


@helper("np.nanmin", a="own")
def np_nanmin(a, axis=None, *, keepdims=False):
    """Return the smallest elements that are not NaN; NaN where there is nothing else."""
    found = np_min(np_without_nan(a, np.inf), axis, keepdims=keepdims)
    return np_nan_where(tf.reduce_all(np_is_nan(a), np_axes(axis, a.shape.rank), keepdims), found)


@helper("np.nanmean", a="float")
def np_nanmean(a, axis=None, dtype=None, *, keepdims=False):
    """Return means of what is not NaN."""
    axes = np_axes(axis, a.shape.rank)
    a = a if dtype is None else tf.cast(a, np.dtype(dtype))
    count = tf.reduce_sum(tf.cast(~np_is_nan(a), a.dtype), axes, keepdims)
    return tf.reduce_sum(np_without_nan(a, 0), axes, keepdims) / count


@helper("np.bincount", x="int64", weights="float64", minlength="int64")
def np_bincount(x, weights=None, minlength=0):
    """Return how often each whole number from 0 on is there, or the sums of weights."""
    highest = tf.reduce_max(tf.concat([x, tf.constant([-1], tf.int64)], 0))
    count = tf.maximum(highest + 1, tf.cast(minlength, tf.int64))
    amounts = tf.ones_like(x) if weights is None else weights
    with tf.control_dependencies([tf.debugging.assert_non_negative(x, "bincount of a negative number")]):
        return tf.math.unsorted_segment_sum(amounts, x, count)


def np_bin_edges(x, bins, limits):
    """Return the edges of bins of one width over a range, by default that of the elements."""
    kind = x.dtype if x.dtype.is_floating else tf.float64
    if limits is None:
        low, high = tf.reduce_min(x), tf.reduce_max(x)
        low, high = tf.cast(low, kind), tf.cast(high, kind)
        if 0 in x.shape:
            low, high = tf.zeros((), kind), tf.ones((), kind)
    else:
        low, high = np_number(limits[0], tf.float64), np_number(limits[1], tf.float64)
    low, high = tf.where(tf.equal(low, high), low - 0.5, low), tf.where(tf.equal(low, high), high + 0.5, high)
    steps = tf.cast(tf.range(bins + 1), tf.float64)
    wide_low, wide_high = tf.cast(low, tf.float64), tf.cast(high, tf.float64)
    # Of a constant, graphs would multiply by the reciprocal, which is rounded otherwise.
    count = tf.raw_ops.PlaceholderWithDefault(input=np_number(bins, tf.float64), shape=[])
    width = (wide_high - wide_low) / count
    edges = steps * width + wide_low
    return tf.cast(tf.concat([edges[:-1], [wide_high]], 0), kind)


def np_bins_of(x, edges):
    """Return the number of each element's bin, and which elements are in one; the last bin has both its edges."""
    common = tf.float32 if x.dtype == tf.float32 and edges.dtype == tf.float32 else tf.float64
    x, edges = tf.cast(x, common), tf.cast(edges, common)
    last = tf.size(edges, tf.int64) - 1
    place = np_searchsorted(edges, x, "right") - 1
    place = tf.where(tf.equal(x, edges[-1]), last - 1, place)
    inside = (x >= edges[0]) & (x <= edges[-1])
    return tf.where(inside, place, tf.zeros((), tf.int64)), inside


@helper("np.histogram", a="own", bins="number", weights="own")
def np_histogram(a, bins=10, range=None, density=None, weights=None):
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


def np_edges_of(x, bins, limits):
    """Return the edges of bins: themselves, or those of a number of bins of one width."""
    if isinstance(bins, str):
        raise NotImplementedError(f"is not supported for bins={bins!r}")
    if len(np.shape(bins)) if not tf.is_tensor(bins) else bins.shape.rank:
        if isinstance(bins, (list, tuple)) and any(tf.is_tensor(one) for one in bins):
            return tf.stack(bins)
        return bins if tf.is_tensor(bins) else tf.constant(np.asarray(bins))
    return np_bin_edges(x, bins, limits)


@helper("scipy.special.softmax", x="float")
def scipy_softmax(x, axis=None):
    """Return exponentials as shares of their sum."""
    power = tf.exp(x - np_max(x, axis, keepdims=True))
    return power / tf.reduce_sum(power, np_axes(axis, x.shape.rank), keepdims=True)


@helper("scipy.special.log_softmax", x="float")
def scipy_log_softmax(x, axis=None):
    """Return the logarithm of exponentials as shares of their sum."""
    high = np_max(x, axis, keepdims=True)
    away = x - tf.where(tf.math.is_finite(high), high, tf.zeros((), x.dtype))
    return away - tf.math.log(tf.reduce_sum(tf.exp(away), np_axes(axis, x.shape.rank), keepdims=True))
