"""Ops for the tests of the measuring half: small, one with whole numbers among its inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Op
from pyopbench.ops.load import load_variant
from pyopbench.worker.prepare import checks, gradient_check, prepare

Put = Callable[..., None]

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


def differing(what: str, got: Any, expected: Any, tolerance: float) -> str:
    """Return in what words arrays `(n,)` are refused for the element that is furthest off."""
    error = np.abs(got - expected) / np.abs(expected).max()
    worst = int(np.argmax(error))
    return (
        f"{what} differs at index [{worst}]: expected {expected[worst]!s}, got {got[worst]!s} "
        f"(relative error {error[worst]:.2g}, tolerance {tolerance:.2g})"
    )


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


def square_with_gradient(gradient: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return x**2 in TensorFlow ops, with `(x, dy) -> dx` as its gradient."""

    @tf.custom_gradient
    def body(x: Any) -> Any:
        return tf.square(x), lambda dy: gradient(x, dy)

    return body


def put_in_place(monkeypatch: pytest.MonkeyPatch, op: Op, **variant_changes: Any) -> None:
    """Have an op, and changed variants, prepared in place of what is loaded by name."""
    checks.reference_of.cache_clear()
    gradient_check._errors.clear()
    for module in (prepare, checks):
        monkeypatch.setattr(module, "load_op", lambda name: op)
    monkeypatch.setattr(prepare, "load_variant", lambda name: replace(load_variant(name), **variant_changes))


def refusal(case: Case, **options: Any) -> str:
    """Return in what words a case is refused."""
    with pytest.raises(WrongResult) as raised:
        prepare.prepare(case, **options)
    return raised.value.message
