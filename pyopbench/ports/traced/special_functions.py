"""Ufuncs of `scipy.special` in TensorFlow ops, by name: SciPy itself is not imported."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tensorflow as tf


def _xlogy(x: Any, y: Any) -> Any:
    return tf.where(tf.math.is_nan(y), y, tf.math.xlogy(x, y))


def _xlog1py(x: Any, y: Any) -> Any:
    return tf.where(tf.math.is_nan(y), y, tf.math.xlog1py(x, y))


def _logit(x: Any) -> Any:
    return tf.math.log(x) - tf.math.log1p(-x)


def _entr(x: Any) -> Any:
    below = tf.constant(-math.inf, x.dtype)
    return tf.where(x < 0, below, -tf.math.xlogy(x, x))


def _rel_entr(x: Any, y: Any) -> Any:
    zero, infinite = tf.zeros((), x.dtype), tf.constant(math.inf, x.dtype)
    both = (x > 0) & (y > 0)
    ratio = tf.where(both, x, tf.ones((), x.dtype)) / tf.where(both, y, tf.ones((), x.dtype))
    outside = tf.where(tf.equal(x, zero) & (y >= zero), zero, infinite)
    found = tf.where(both, x * tf.math.log(ratio), outside)
    return tf.where(tf.math.is_nan(x) | tf.math.is_nan(y), x + y, found)


def _ndtr(x: Any) -> Any:
    return tf.math.erfc(-x * tf.constant(math.sqrt(0.5), x.dtype)) / 2


SPECIAL: dict[str, Callable[..., Any]] = {
    "expit": tf.math.sigmoid,
    "log_expit": tf.math.log_sigmoid,
    "logit": _logit,
    "erf": tf.math.erf,
    "erfc": tf.math.erfc,
    "erfinv": tf.math.erfinv,
    "gammaln": tf.math.lgamma,
    "psi": tf.math.digamma,
    "digamma": tf.math.digamma,
    "xlogy": _xlogy,
    "xlog1py": _xlog1py,
    "entr": _entr,
    "rel_entr": _rel_entr,
    "kl_div": lambda x, y: _rel_entr(x, y) - x + y,
    "ndtr": _ndtr,
    "i0": tf.math.special.bessel_i0,
    "i0e": tf.math.special.bessel_i0e,
    "i1": tf.math.special.bessel_i1,
    "i1e": tf.math.special.bessel_i1e,
    "gammainc": tf.math.igamma,
    "gammaincc": tf.math.igammac,
    "betainc": tf.math.betainc,
}
"""By the name of the ufunc."""
