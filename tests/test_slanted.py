"""Gradients of large inputs against differences along directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyopbench.errors import WrongResult
from pyopbench.slanted import Slopes, require_slope

X = np.random.default_rng(0).uniform(0.5, 2, (40, 50))


def slopes(dtype: str) -> Slopes:
    """Return the sum of the cubes of x, with its value rounded as a body of that dtype would."""
    return Slopes(lambda x, y: float(np.sum((x**3).astype(np.float64))), [X.astype(dtype), np.ones(2)], 0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_right_gradient_is_found_right(dtype: str) -> None:
    """By hand: the derivative of x**3 is 3 x**2."""
    assert require_slope("it", (3 * X**2).astype(dtype), slopes(dtype)) < 1e-3


def half_gone(gradient: Any) -> Any:
    return gradient * (np.arange(gradient.size).reshape(gradient.shape) % 2)


@pytest.mark.parametrize(
    "spoil",
    [lambda g: g * 1.02, lambda g: -g, lambda g: g[::-1], lambda g: g * 0, half_gone],
    ids=["scale", "sign", "order", "nothing", "every other"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_wrong_gradient_is_found_out(spoil: Any, dtype: str) -> None:
    wrong = np.ascontiguousarray(spoil(3 * X**2)).astype(dtype)
    with pytest.raises(WrongResult, match="along a direction"):
        require_slope("it", wrong, slopes(dtype))


def test_one_wrong_element_in_ten_is_found_out() -> None:
    wrong = 3 * X**2
    wrong[::10] *= 2
    with pytest.raises(WrongResult, match="along a direction"):
        require_slope("it", wrong, slopes("float64"))


@pytest.mark.parametrize("wrong", [None, X[:1], X.astype(np.float32)], ids=["none", "shape", "dtype"])
def test_no_gradient_and_one_of_another_kind_are_wrong(wrong: Any) -> None:
    with pytest.raises(WrongResult):
        require_slope("it", wrong, slopes("float64"))
