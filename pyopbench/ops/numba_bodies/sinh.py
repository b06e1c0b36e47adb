"""sinh: the hyperbolic sine."""

from __future__ import annotations

import math
from typing import Any

from pyopbench.ops.numba_bodies._ufuncs import gradient_of, ufunc


def _value(x: Any) -> Any:
    return math.sinh(x)


def _gradient(x: Any, dy: Any) -> Any:
    return math.cosh(x) * dy


body = ufunc(_value)
gradient = gradient_of(_gradient)
