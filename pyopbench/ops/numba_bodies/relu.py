"""relu: x where it is above 0, else 0."""

from __future__ import annotations

from typing import Any

from pyopbench.ops.numba_bodies._ufuncs import gradient_of, ufunc


def _value(x: Any) -> Any:
    return 0 if x <= 0 else x


def _gradient(x: Any, dy: Any) -> Any:
    return dy if x > 0 else 0


body = ufunc(_value)
gradient = gradient_of(_gradient)
