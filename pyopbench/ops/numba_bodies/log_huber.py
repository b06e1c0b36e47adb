"""log_huber and log_huber_elementwise: x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyopbench.ops.numba_bodies.elementwise import ufunc

# A whole number times a float32 is a float64 to Numba, so that nothing here is multiplied by one.


def _value(x: Any, m: Any) -> Any:
    square, log_m = x * x, math.log(m)
    if abs(x) <= m:
        return square
    return m * m * (math.log(square) - log_m - log_m) + m * m


def _by_x(x: Any, m: Any, dy: Any) -> Any:
    half = x * dy if abs(x) <= m else m * m / x * dy
    return half + half


def _by_m(x: Any, m: Any, dy: Any) -> Any:
    if abs(x) <= m:
        return dy - dy
    log_m = math.log(m)
    half = m * (math.log(x * x) - log_m - log_m) * dy
    return half + half


body = ufunc(_value)
_by_x_of = ufunc(_by_x)
_by_m_of = ufunc(_by_m)


def gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx, dm)`, the shape of x and `()`."""
    (x, m), (dy,) = inputs, output_gradients
    return _by_x_of(x, m, dy), np.sum(_by_m_of(x, m, dy))
