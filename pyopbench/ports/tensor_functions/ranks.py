"""Ranks, and correlations with their p-values."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tensor_functions.basics import np_checked, np_is_nan, np_moved, np_sizes
from pyopbench.ports.tensor_functions.order import np_argsort, np_keys
from pyopbench.ports.tensor_functions.table import of_numpy

PearsonRResult = collections.namedtuple("PearsonRResult", ["statistic", "pvalue"])
SignificanceResult = collections.namedtuple("SignificanceResult", ["statistic", "pvalue"])


@of_numpy("scipy.stats.rankdata", a="own")
def scipy_rankdata(a: Any, method: str = "average", *, axis: Any = None, nan_policy: str = "propagate") -> Any:
    """Return the ranks of elements from 1, of equal ones the mean, the least or the largest; NaN where there is any."""
    if method not in ("average", "min", "max", "dense", "ordinal") or nan_policy != "propagate":
        raise NotImplementedError(f"is not supported for method={method!r} and nan_policy={nan_policy!r}")
    moved = tf.reshape(a, [-1]) if axis is None else np_moved(a, axis, -1)
    keys = np_keys(tf.cast(moved, tf.int64) if moved.dtype == tf.bool else moved)
    order = np_argsort(keys)
    last = keys.shape.rank - 1
    ordered = tf.gather(keys, order, axis=last, batch_dims=last)
    if method == "ordinal":
        ranks = np_argsort(order) + 1
    else:
        size = np_sizes(keys)[-1]
        rows, flat = tf.reshape(ordered, [-1, size]), tf.reshape(keys, [-1, size])
        lower, upper = (tf.searchsorted(rows, flat, side, tf.int64) for side in ("left", "right"))
        if method == "dense":
            is_new = tf.concat([tf.ones_like(rows[:, :1], tf.bool), tf.not_equal(rows[:, 1:], rows[:, :-1])], 1)
            numbers = tf.cumsum(tf.cast(is_new, tf.int64), 1)
            ranks = tf.gather(numbers, lower, batch_dims=1)
        else:
            ranks = {"min": lower + 1, "max": upper, "average": (tf.cast(lower + upper, tf.float64) + 1) / 2}[method]
        ranks = tf.reshape(ranks, tf.shape(keys))
    has_nan = tf.reduce_any(np_is_nan(moved), -1, keepdims=True)
    if method == "average":
        ranks = tf.where(has_nan, tf.constant(np.nan, tf.float64), ranks)
    elif moved.dtype.is_floating:  # of which SciPy makes ranks of another dtype
        ranks = np_checked(ranks, ~tf.reduce_any(has_nan), "rankdata: NaN is supported only for averages")
    ranks = tf.ensure_shape(ranks, moved.shape)
    return ranks if axis is None else np_moved(ranks, -1, axis)


@of_numpy("scipy.stats.pearsonr", x="common float", y="common float")
def scipy_pearsonr(x: Any, y: Any) -> Any:
    """Return the correlation of two vectors, and how likely one as far from 0 is by chance."""
    if x.shape.rank != 1 or y.shape.rank != 1 or x.dtype.is_complex:
        raise NotImplementedError("is supported only for two vectors of real numbers")
    count = tf.shape(x, tf.int64)[0]
    is_whole = (count >= 2) & tf.equal(count, tf.shape(y, tf.int64)[0])
    x = np_checked(x, is_whole, "pearsonr: x and y must have the same length of at least 2")
    parts = [one - tf.reduce_mean(one) for one in (x, y)]
    # Not by the sum of squares, which may be too large a number.
    parts = [one / tf.reduce_max(tf.abs(one)) for one in parts]
    first, second = (one / tf.sqrt(tf.reduce_sum(one * one)) for one in parts)
    found = tf.clip_by_value(tf.reduce_sum(first * second), tf.constant(-1, x.dtype), tf.constant(1, x.dtype))
    is_constant = tf.reduce_all(tf.equal(x, x[0])) | tf.reduce_all(tf.equal(y, y[0]))
    found = tf.where(is_constant | np_is_nan(found), tf.constant(np.nan, x.dtype), found)
    is_pair = tf.equal(count, 2)
    found = tf.where(is_pair, tf.round(found), found)
    freedom = tf.cast(count, x.dtype) / 2 - 1
    chance = tf.minimum(2 * scipy_beta_below(freedom, freedom, (1 - tf.abs(found)) / 2), 1)
    chance = tf.where(is_pair & ~np_is_nan(found), tf.ones((), x.dtype), chance)
    return PearsonRResult(found, tf.where(np_is_nan(found), found, chance))


def scipy_beta_below(a: Any, b: Any, x: Any) -> Any:
    """Return the incomplete beta function, without a gradient by its parameters; NaN of what it is not defined for."""
    is_defined = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    one = tf.ones((), x.dtype)
    found = tf.math.betainc(*(tf.where(is_defined, tf.cast(each, x.dtype), one / 2) for each in (a, b, x)))
    return tf.where(is_defined, found, tf.constant(np.nan, x.dtype))


def scipy_variable(a: Any) -> Any:
    """Return the elements of a vector or of a matrix of one column, such as the labels that Keras gives to a metric."""
    if a.shape.rank == 2 and a.shape[1] is None:
        a = np_checked(a, tf.equal(tf.shape(a)[1], 1), "spearmanr: a matrix is supported only with one column")
    elif a.shape.rank != 1 and not (a.shape.rank == 2 and a.shape[1] == 1):
        raise NotImplementedError("is supported only for two vectors, or matrices of one column")
    return tf.reshape(a, [-1])


@of_numpy("scipy.stats.spearmanr", a="own", b="own")
def scipy_spearmanr(a: Any, b: Any) -> Any:
    """Return the correlation of the ranks of two vectors or columns, and how likely one as far from 0 is by chance."""
    a, b = scipy_variable(a), scipy_variable(b)
    a = np_checked(a, tf.equal(tf.size(a), tf.size(b)), "spearmanr: a and b must have the same length")
    ranks = [scipy_rankdata(one) for one in (a, b)]
    parts = [one - tf.reduce_mean(one) for one in ranks]
    squares = [tf.reduce_sum(one * one) for one in parts]
    found = tf.reduce_sum(parts[0] * parts[1]) / tf.sqrt(squares[0]) / tf.sqrt(squares[1])
    found = tf.clip_by_value(found, tf.constant(-1.0, tf.float64), tf.constant(1.0, tf.float64))
    nan = tf.constant(np.nan, tf.float64)
    found = tf.where(tf.equal(squares[0], 0) | tf.equal(squares[1], 0), nan, found)
    freedom = tf.cast(tf.shape(a)[0] - 2, tf.float64)
    # Of Student's t, t**2 / (freedom + t**2) is the square of the correlation.
    chance = scipy_beta_below(freedom / 2, tf.constant(0.5, tf.float64), 1 - found * found)
    return SignificanceResult(found, tf.where(np_is_nan(found), nan, chance))
