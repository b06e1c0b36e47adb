"""log: the natural logarithm."""

from __future__ import annotations

import math
from typing import Any

from pyopbench.ops.numba_bodies._ufuncs import gradient_of, ufunc


def _value(x: Any) -> Any:
    return math.log(x)


def _gradient(x: Any, dy: Any) -> Any:
    return dy / x


body = ufunc(_value)
gradient = gradient_of(_gradient)
