"""Ufuncs of formulas for one number, and a gradient in the form that ops have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba


def ufunc(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a formula for numbers into a ufunc over arrays of float32, and of float64 once it is given some.

    Numba keeps the formula on disk, but not the loop of the ufunc around it, which it builds in each process, in a
    tenth of a second for each type. float32 has to come first: a ufunc that had a loop for float64 alone would use
    that for float32 too, and NumPy would have it return float64.
    """
    count = formula.__code__.co_argcount
    compiled = numba.vectorize(cache=True)(formula)
    compiled.add(f"float32({', '.join(['float32'] * count)})")
    return compiled  # type: ignore[no-any-return,unused-ignore]


def gradient_of(formula: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
    """Return the gradient of an elementwise op from the formula `(x, dy) -> dx`."""
    compiled = ufunc(formula)

    def gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
        return (compiled(inputs[0], output_gradients[0]),)

    return gradient
