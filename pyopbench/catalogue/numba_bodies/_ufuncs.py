"""Ufuncs of formulas for one number, and a gradient in the form that ops have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba

TYPES = ("float32", "float64")


def ufunc(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a formula for numbers into a ufunc over arrays of either type; kept on disk, so compiled once."""
    count = formula.__code__.co_argcount
    signatures = [f"{name}({', '.join([name] * count)})" for name in TYPES]
    compiled: Callable[..., Any] = numba.vectorize(signatures, cache=True)(formula)
    return compiled


def gradient_of(formula: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Return the gradient of an elementwise op from the formula `(x, dy) -> dx`."""
    compiled = ufunc(formula)

    def gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
        return (compiled(inputs[0], output_gradients[0]),)

    return gradient
