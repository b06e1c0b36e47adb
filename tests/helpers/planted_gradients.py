"""Bodies with right gradients, smooth and rough ones, and what makes a gradient wrong: to see wrong ones found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.worker.prepare.checks import Reference
from small_ops import square


@dataclass(frozen=True)
class Body:
    """A function of arrays, and its right gradients by each of them times what flows in."""

    function: Callable[..., Any]
    gradient: Callable[..., tuple[Any, ...]]
    inputs: tuple[Any, ...]


RNG = np.random.default_rng(5)
X = RNG.uniform(0.5, 2.0, 8)
SIGNED = RNG.uniform(-2.0, 2.0, 8)
MATRIX = RNG.uniform(-1.0, 1.0, (3, 3)) + 3 * np.eye(3)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max())
    return e / e.sum()


def _softmax_gradient(d: Any, x: Any) -> Any:
    p = softmax(x)
    return (p * (d - (d * p).sum()),)


def _solve_gradient(d: Any, a: Any, b: Any) -> Any:
    back = np.linalg.solve(a.T, d)
    return -np.outer(back, np.linalg.solve(a, b)), back


SMOOTH: dict[str, Body] = {
    "square": Body(lambda x: x * x, lambda d, x: (2 * x * d,), (SIGNED,)),
    "exp": Body(np.exp, lambda d, x: (np.exp(x) * d,), (SIGNED,)),
    "log": Body(np.log, lambda d, x: (d / x,), (X,)),
    "sine": Body(np.sin, lambda d, x: (np.cos(x) * d,), (SIGNED,)),
    "tanh": Body(np.tanh, lambda d, x: ((1 - np.tanh(x) ** 2) * d,), (SIGNED,)),
    "product": Body(lambda x, y: x * y, lambda d, x, y: (d * y, d * x), (X, SIGNED)),
    "quotient": Body(lambda x, y: y / x, lambda d, x, y: (-d * y / x**2, d / x), (X, SIGNED)),
    "norm": Body(
        lambda x: np.sqrt((x * x).sum(keepdims=True)), lambda d, x: (d * x / np.sqrt((x * x).sum()),), (SIGNED,)
    ),
    "softmax": Body(softmax, _softmax_gradient, (SIGNED,)),
    "matrix product": Body(
        lambda a, x: a @ x, lambda d, a, x: (np.outer(d, x), a.T @ d), (MATRIX, np.array([1.0, -2.0, 0.5]))
    ),
    "solve": Body(np.linalg.solve, _solve_gradient, (MATRIX, np.array([1.0, -2.0, 0.5]))),
    "cumulative sum": Body(np.cumsum, lambda d, x: (np.cumsum(d[::-1])[::-1],), (SIGNED,)),
    "float32 sine": Body(np.sin, lambda d, x: (np.cos(x) * d,), (SIGNED.astype(np.float32),)),
    "float32 softmax": Body(softmax, _softmax_gradient, (SIGNED.astype(np.float32),)),
}
"""Whatever is planted into their gradients has to be found."""


def bisected(x: Any, until: float) -> Any:
    """Return the cube root of numbers from 0 to 64 by a bisection."""
    low, high = np.zeros_like(x), np.full_like(x, 4.0)
    while (high - low).max() > until:
        middle = (low + high) / 2
        is_below = middle**3 < x
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return (low + high) / 2


def in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *inputs: function(*(one.astype(np.float32) for one in inputs)).astype(inputs[0].dtype)


def _cbrt_gradient(d: Any, x: Any) -> Any:
    return (d / (3 * np.cbrt(x) ** 2),)


def _many_kinks(x: Any) -> Any:
    shifts = np.linspace(-2, 2, 2001, dtype=x.dtype)
    return np.maximum(x[:, None] - shifts, 0).sum(axis=1)


def _many_kinks_gradient(d: Any, x: Any) -> Any:
    shifts = np.linspace(-2, 2, 2001, dtype=x.dtype)
    return ((d * (x[:, None] > shifts).sum(axis=1)).astype(x.dtype),)


AWAY = np.array([-1.5, -0.4, 0.3, 1.2, 2.2])
ROUGH: dict[str, Body] = {
    "bisection to 0.0001": Body(lambda x: bisected(x, 1e-4), _cbrt_gradient, (X,)),
    "bisection to 1e-07": Body(lambda x: bisected(x, 1e-7), _cbrt_gradient, (X,)),
    "softmax in float32": Body(in_float32(softmax), _softmax_gradient, (SIGNED,)),
    "without some numbers": Body(
        lambda x: np.where(np.isfinite(x), x * x, 0.0),
        lambda d, x: (np.where(np.isfinite(x), 2 * x * d, 0.0),),
        (np.array([0.5, np.nan, -1.5, np.inf, 2.0]),),
    ),
    "rectified": Body(lambda x: np.maximum(x, 0), lambda d, x: ((x > 0) * d,), (AWAY,)),
    "near a kink": Body(np.abs, lambda d, x: (np.sign(x) * d,), (np.array([1e-7, -3e-6, 1e-5, 0.5]),)),
    "largest": Body(
        lambda x: x.max(keepdims=True), lambda d, x: ((x == x.max()) * d,), (np.array([1.0, 1.0 - 1e-7, 0.3]),)
    ),
    "many kinks": Body(_many_kinks, _many_kinks_gradient, (SIGNED,)),
    "large values in float32": Body(
        lambda x: (1e6 + x).astype(x.dtype), lambda d, x: (d * np.ones_like(x),), (SIGNED.astype(np.float32),)
    ),
    "noise of a tenth": Body(lambda x: x + 0.1 * np.sin(1e9 * x * x), lambda d, x: (d * np.ones_like(x),), (SIGNED,)),
}
"""Their right gradients may not be called wrong."""

UNCHECKED = (
    "bisection to 0.0001",
    "softmax in float32",
    "near a kink",
    "largest",
    "large values in float32",
    "noise of a tenth",
)
"""Those that are too rough for finite differences."""


def _swapped(gradients: list[Any]) -> list[Any]:
    if len(gradients) > 1 and len({one.shape for one in gradients}) == 1:
        return gradients[::-1]
    return [one[::-1] for one in gradients]


def _without_one(gradients: list[Any]) -> list[Any]:
    one = gradients[0].copy()
    one.flat[int(np.abs(one).argmax())] = 0
    return [one, *gradients[1:]]


def _one_scaled(gradients: list[Any]) -> list[Any]:
    one = gradients[-1].copy()
    one.flat[int(np.abs(one).argmax())] *= 1.05
    return [*gradients[:-1], one]


def _beginning_with(*values: float) -> Callable[[list[Any]], list[Any]]:
    def plant(gradients: list[Any]) -> list[Any]:
        one = gradients[0].copy()
        one.flat[: len(values)] = values
        return [one, *gradients[1:]]

    return plant


FAULTS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "sign": lambda gradients: [-one for one in gradients],
    "factor 2": lambda gradients: [2 * one for one in gradients],
    "factor 1.05": lambda gradients: [one * np.asarray(1.05, one.dtype) for one in gradients],
    "nothing": lambda gradients: [0 * one for one in gradients],
    "one element missing": _without_one,
    "one element times 1.05": _one_scaled,
    "wrong place or input": _swapped,
    "not a number": lambda gradients: [one * np.asarray(np.nan, one.dtype) for one in gradients],
    "one element not a number": _beginning_with(np.nan),
    "one element infinite": _beginning_with(-np.inf),
    "infinities of both signs": _beginning_with(np.inf, -np.inf),
}
"""What is done to right gradients."""


def spoiled(body: Body, fault: Callable[[list[Any]], list[Any]] | None) -> tuple[Any, Any, Reference]:
    """Return the arguments of `difference_error`: the op, the function whose gradient has a fault, and where."""
    op = square(differentiable=tuple(range(len(body.inputs))), numpy=body.function, numpy_gradient=None)

    @tf.custom_gradient
    def function(*tensors: Any) -> Any:
        arrays = [one.numpy() for one in tensors]

        def gradient(d: Any) -> Any:
            found = [np.asarray(one, d.dtype.as_numpy_dtype) for one in body.gradient(d.numpy(), *arrays)]
            return [tf.constant(np.ascontiguousarray(one)) for one in (fault(found) if fault else found)]

        return tf.constant(body.function(*arrays)), gradient

    output = np.asarray(body.function(*body.inputs))
    incoming = np.random.default_rng(3).uniform(0.5, 1.5, output.shape).astype(output.dtype)
    return op, function, Reference(body.inputs, (output,), (incoming,), None)
