"""sin_double: 2 sin(x)."""

from __future__ import annotations

import math
from typing import Any

from pyopbench.ops.numba_bodies._ufuncs import gradient_of, ufunc


def _value(x: Any) -> Any:
    y = math.sin(x)
    return y + y


def _gradient(x: Any, dy: Any) -> Any:
    return math.cos(x) * (dy + dy)


body = ufunc(_value)
gradient = gradient_of(_gradient)
