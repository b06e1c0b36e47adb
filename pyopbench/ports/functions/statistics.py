"""Means and spreads, covariances, counts and histograms."""

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import np_axes, np_is_nan, np_number
from pyopbench.ports.functions.order import np_searchsorted
from pyopbench.ports.functions.table import helper


@helper("np.var", a="float")
def np_var(a, axis=None, *, ddof=0, keepdims=False):
    """Return variances: sums of squared differences to the mean, divided by the number of elements less `ddof`."""
    axes = np_axes(axis, a.shape.rank)
    found = tf.math.reduce_variance(a, axes, keepdims)
    count = tf.cast(tf.reduce_prod(tf.gather(tf.shape(a, tf.int64), tf.constant(axes, tf.int64))), found.dtype)
    return found * count / tf.maximum(count - np_number(ddof, found.dtype), 0)


@helper("np.std", a="float")
def np_std(a, axis=None, *, ddof=0, keepdims=False):
    """Return standard deviations: roots of variances."""
    return tf.sqrt(np_var(a, axis, ddof=ddof, keepdims=keepdims))


@helper("np.cov", m="float64")
def np_cov(m, *, rowvar=True):
    """Return the covariances of variables, which are rows, float64."""
    rows = m if m.shape.rank == 2 else tf.reshape(m, [1, -1])
    rows = rows if rowvar or m.shape.rank < 2 else tf.transpose(m)
    away = rows - tf.reduce_mean(rows, 1, keepdims=True)
    found = tf.matmul(away, away, transpose_b=True) / tf.cast(tf.maximum(tf.shape(rows)[1] - 1, 0), tf.float64)
    return found[0, 0] if rows.shape[0] == 1 else found


@helper("np.nanmean", a="float")
def np_nanmean(a, axis=None, *, keepdims=False):
    """Return means of what is not NaN."""
    axes = np_axes(axis, a.shape.rank)
    count = tf.reduce_sum(tf.cast(~np_is_nan(a), a.dtype), axes, keepdims)
    return tf.reduce_sum(tf.where(np_is_nan(a), tf.zeros((), a.dtype), a), axes, keepdims) / count


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


@helper("np.histogram", a="own", weights="own")
def np_histogram(a, bins=10, range=None, *, weights=None):
    """Return how many elements are in each bin, and the edges of the bins: those given, or of as many of one width."""
    if not np.ndim(bins) and not isinstance(bins, (int, np.integer)):
        raise NotImplementedError(f"is not supported for bins={bins!r}")
    x = tf.reshape(tf.cast(a, tf.uint8) if a.dtype == tf.bool else a, [-1])
    edges = tf.constant(np.asarray(bins)) if np.ndim(bins) else np_bin_edges(x, bins, range)
    common = tf.float32 if x.dtype == tf.float32 and edges.dtype == tf.float32 else tf.float64
    x, bounds, count = tf.cast(x, common), tf.cast(edges, common), tf.size(edges, tf.int64) - 1
    place = np_searchsorted(bounds, x, "right") - 1
    place = tf.where(tf.equal(x, bounds[-1]), count - 1, place)  # the last bin has both its edges
    inside = (x >= bounds[0]) & (x <= bounds[-1])
    place = tf.where(inside, place, tf.zeros((), tf.int64))
    amounts = tf.cast(inside, tf.int64)
    if weights is not None:
        flat = tf.reshape(weights, [-1])
        amounts = tf.where(inside, flat, tf.zeros((), flat.dtype))
    return tf.math.unsorted_segment_sum(amounts, place, count), edges
