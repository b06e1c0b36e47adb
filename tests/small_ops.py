"""Ops for the tests of the measuring half: small, one with whole numbers among its inputs and outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model import Case, Op

SIZE = 3


def _draw(size: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.uniform(1.0, 2.0, size).astype(dtype),)


def _draw_with_powers(size: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
    return (rng.integers(1, 4, size), *_draw(size, dtype, rng))


def _square(x: Any) -> Any:
    return x * x


def _square_gradient(inputs: Any, outputs: Any, output_gradients: Any) -> Any:
    return (2 * inputs[0] * output_gradients[0],)


def square(**changes: Any) -> Op:
    """Return x**2, with what `changes` say put in its place."""
    op = Op(
        name="made",
        summary="x**2",
        source="",
        make_inputs=_draw,
        numpy=_square,
        sizes=(SIZE, 5),
        quick_sizes=(SIZE,),
        bytes_moved=lambda size, dtype: 2 * size * np.dtype(dtype).itemsize,
        flops=lambda size: size,
        numpy_gradient=_square_gradient,
        tensor=tf.square,
        tensor_gradient=_square_gradient,
    )
    return replace(op, **changes)


def _power(n: Any, x: Any) -> Any:
    return np.power(x, n).astype(x.dtype), 2 * n, 3 * x


def _power_of_tensors(n: Any, x: Any) -> Any:
    return tf.pow(x, tf.cast(n, x.dtype)), 2 * n, 3 * x


def _power_gradient(inputs: Any, outputs: Any, output_gradients: Any) -> Any:
    (n, x), (d_power, d_triple) = inputs, output_gradients
    return ((d_power * n * np.power(x, n - 1) + 3 * d_triple).astype(x.dtype),)


def _power_gradient_of_tensors(inputs: Any, outputs: Any, output_gradients: Any) -> Any:
    (n, x), (d_power, d_triple) = inputs, output_gradients
    n = tf.cast(n, x.dtype)
    return (d_power * n * tf.pow(x, n - 1) + 3 * d_triple,)


def power(**changes: Any) -> Op:
    """Return (x**n, 2 n, 3 x) for whole numbers n: three outputs, the middle one int64, and a gradient by x alone."""
    op = square(
        make_inputs=_draw_with_powers,
        numpy=_power,
        outputs=("dtype", "int64", "dtype"),
        differentiable=(1,),
        numpy_gradient=_power_gradient,
        tensor=_power_of_tensors,
        tensor_gradient=_power_gradient_of_tensors,
    )
    return replace(op, **changes)


def case_of(variant: str, gradient: str = "none", mode: str = "call", **changes: Any) -> Case:
    """Return a float64 case of an op named `made`: forward without a gradient, else backward."""
    direction = "forward" if gradient == "none" else "backward"
    return replace(Case("made", variant, gradient, direction, mode, "float64", SIZE), **changes)
