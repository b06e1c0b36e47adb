"""identity: x, copied."""

from __future__ import annotations

from typing import Any

from pyopbench.ops.numba_bodies._ufuncs import gradient_of, ufunc


def _value(x: Any) -> Any:
    return x


def _gradient(x: Any, dy: Any) -> Any:
    return dy


body = ufunc(_value)
gradient = gradient_of(_gradient)
