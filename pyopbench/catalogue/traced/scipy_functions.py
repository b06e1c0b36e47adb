"""Functions of SciPy's that are written in Python, put together of NumPy's; SciPy itself is not imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyopbench.catalogue.traced.array import as_traced
from pyopbench.catalogue.traced.image_functions import IMAGES
from pyopbench.catalogue.traced.reductions import axes_of
from pyopbench.catalogue.traced.tape import refuse
from pyopbench.catalogue.traced.untyped import np


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


SCIPY: dict[str, Callable[..., Any]] = {
    "scipy.special.logsumexp": logsumexp,
    "scipy.special.softmax": softmax,
    "scipy.special.log_softmax": log_softmax,
    **IMAGES,
}
"""By the name under which SciPy documents it."""
