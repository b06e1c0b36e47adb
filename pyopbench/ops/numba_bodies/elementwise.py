"""Formulas of the elementwise ops for one number, `OP(x)` and `OP_slope(x, dy)`, and what compiles them into ufuncs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numba

from pyopbench.model.op import Body, GradientBody


def compile_bodies(name: str) -> tuple[Body, GradientBody]:
    """Compile the body and the gradient of an op, in the forms that ops have them."""
    formula, slope = FORMULAS[name]
    compiled = ufunc(slope)

    def gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
        return (compiled(inputs[0], output_gradients[0]),)

    return ufunc(formula), gradient


def ufunc(formula: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a formula for numbers into a ufunc over arrays of float32, and of float64 once it is called with some.

    Numba keeps the formula on disk, but not the loop of the ufunc around it, which it builds in each process, in a
    tenth of a second for each type. float32 has to come first: a ufunc that had a loop for float64 alone would use
    that for float32 too, and NumPy would have it return float64.
    """
    count = formula.__code__.co_argcount
    compiled = numba.vectorize(cache=True)(formula)
    compiled.add(f"float32({', '.join(['float32'] * count)})")
    return compiled  # type: ignore[no-any-return,unused-ignore]


# A whole number times a float32 is a float64 to Numba, so that nothing here is multiplied by one.


def cube(x: Any) -> Any:
    return x * x * x


def cube_slope(x: Any, dy: Any) -> Any:
    return x * x * (dy + dy + dy)


def double(x: Any) -> Any:
    return x + x


def double_slope(x: Any, dy: Any) -> Any:
    return dy + dy


def identity(x: Any) -> Any:
    return x


def identity_slope(x: Any, dy: Any) -> Any:
    return dy


def log(x: Any) -> Any:
    return math.log(x)


def log_slope(x: Any, dy: Any) -> Any:
    return dy / x


def relu(x: Any) -> Any:
    return 0 if x <= 0 else x


def relu_slope(x: Any, dy: Any) -> Any:
    return dy if x > 0 else 0


def sin_double(x: Any) -> Any:
    y = math.sin(x)
    return y + y


def sin_double_slope(x: Any, dy: Any) -> Any:
    return math.cos(x) * (dy + dy)


def sinh(x: Any) -> Any:
    return math.sinh(x)


def sinh_slope(x: Any, dy: Any) -> Any:
    return math.cosh(x) * dy


def square(x: Any) -> Any:
    return x * x


def square_slope(x: Any, dy: Any) -> Any:
    return (x + x) * dy


FORMULAS = {
    "cube": (cube, cube_slope),
    "double": (double, double_slope),
    "identity": (identity, identity_slope),
    "log": (log, log_slope),
    "relu": (relu, relu_slope),
    "sin_double": (sin_double, sin_double_slope),
    "sinh": (sinh, sinh_slope),
    "square": (square, square_slope),
}
