"""Functions of SciPy's that are written in Python, put together of NumPy's; SciPy itself is not imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyopbench.ports.traced.array import as_traced
from pyopbench.ports.traced.image_functions import IMAGES
from pyopbench.ports.traced.reductions import axes_of
from pyopbench.ports.traced.tape import refuse
from pyopbench.ports.traced.untyped import np


def _floats(a: Any) -> Any:
    x = as_traced(a)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """Return the logarithm of the sum of exponentials."""
    if b is not None or return_sign:
        raise refuse("scipy.special.logsumexp(..., b=, return_sign=)")
    x = _floats(a)
    high = np.max(x, axis=axis, keepdims=True)
    high = np.where(np.isfinite(high), high, np.zeros(1, x.dtype))
    found = np.log(np.sum(np.exp(x - high), axis=axis, keepdims=True)) + high
    return found if keepdims else np.squeeze(found, axis=tuple(axes_of(axis, x.ndim)))


def softmax(x: Any, axis: Any = None) -> Any:
    """Return exponentials as shares of their sum."""
    array = _floats(x)
    power = np.exp(array - np.max(array, axis=axis, keepdims=True))
    return power / np.sum(power, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Any = None) -> Any:
    """Return the logarithm of exponentials as shares of their sum."""
    array = _floats(x)
    high = np.max(array, axis=axis, keepdims=True)
    away = array - np.where(np.isfinite(high), high, np.zeros(1, array.dtype))
    return away - np.log(np.sum(np.exp(away), axis=axis, keepdims=True))


def zscore(a: Any, axis: Any = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    """Return how many standard deviations each element is from the mean; NaN where all are equal."""
    if nan_policy != "propagate":
        raise refuse(f"scipy.stats.zscore(..., nan_policy={nan_policy!r})")
    x = _floats(a)
    mean, deviation = np.mean(x, axis=axis, keepdims=True), np.std(x, axis=axis, ddof=ddof, keepdims=True)
    # As SciPy decides it (scipy/stats/_stats_py.py).
    is_constant = deviation <= np.abs(np.finfo(x.dtype).eps * mean)
    return np.where(is_constant, np.array(np.nan, x.dtype), (x - mean) / deviation)


DISTANCES: dict[str, Callable[[Any, Any], Any]] = {
    "euclidean": lambda a, b: np.sqrt(np.sum((a - b) ** 2, axis=-1)),
    "sqeuclidean": lambda a, b: np.sum((a - b) ** 2, axis=-1),
    "cityblock": lambda a, b: np.sum(np.abs(a - b), axis=-1),
}
"""Distances along the last axis (https://docs.scipy.org/doc/scipy/reference/generated/scipy.spatial.distance.cdist.html)."""


def cdist(XA: Any, XB: Any, metric: Any = "euclidean", **options: Any) -> Any:
    """Return the distance of each row of an array from each row of another one, float64."""
    if options or metric not in DISTANCES:
        raise refuse(f"scipy.spatial.distance.cdist(..., {metric!r})")
    a, b = as_traced(XA), as_traced(XB)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("XA and XB must be 2-dimensional arrays.")
    return DISTANCES[metric](a.astype(np.float64)[:, None, :], b.astype(np.float64)[None, :, :])


SCIPY: dict[str, Callable[..., Any]] = {
    "scipy.special.logsumexp": logsumexp,
    "scipy.special.softmax": softmax,
    "scipy.special.log_softmax": log_softmax,
    "scipy.spatial.distance.cdist": cdist,
    "scipy.stats.zscore": zscore,
    **IMAGES,
}
"""By the name under which SciPy documents it."""
