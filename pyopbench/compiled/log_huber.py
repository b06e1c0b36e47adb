"""log_huber and log_huber_elementwise: x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyopbench.compiled._ufuncs import ufunc


def _value(x: Any, m: Any) -> Any:
    if abs(x) <= m:
        return x * x
    return m * m * (1 - 2 * math.log(m) + math.log(x * x))


def _by_x(x: Any, m: Any, dy: Any) -> Any:
    return (2 * x if abs(x) <= m else 2 * m * m / x) * dy


def _by_m(x: Any, m: Any, dy: Any) -> Any:
    return (0.0 if abs(x) <= m else 2 * m * (math.log(x * x) - 2 * math.log(m))) * dy


body = ufunc(_value)
_by_x_of = ufunc(_by_x)
_by_m_of = ufunc(_by_m)


def gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx, dm)`, the shape of x and `()`."""
    (x, m), (dy,) = inputs, output_gradients
    return _by_x_of(x, m, dy), np.sum(_by_m_of(x, m, dy))
