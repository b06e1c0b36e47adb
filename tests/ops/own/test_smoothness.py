"""Whether a body jumps where its inputs are moved a little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyopbench.ops.own.complete import is_smooth

X = np.random.default_rng(0).uniform(-2, 2, (50, 3))


@pytest.mark.parametrize(
    "body",
    [np.tanh, lambda x: x.sum(), lambda x: np.maximum(x, 0), lambda x: (x**2, np.exp(x)), lambda x: np.ones(3)],
    ids=["tanh", "sum", "relu", "two outputs", "constant"],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_has_a_gradient_nearly_everywhere_is_smooth(body: Callable[..., Any], dtype: str) -> None:
    assert is_smooth(body, [X.astype(dtype)], [0])


@pytest.mark.parametrize(
    "body",
    [
        lambda x: np.round(x * 2e4),
        lambda x: x[np.round(x[:, 0] * 1e5) % 2 == 0],
        lambda x: (x, np.round(x * 1e6).astype(int)),
    ],
    ids=["steps", "shape", "whole numbers"],
)
def test_what_jumps_is_not(body: Callable[..., Any]) -> None:
    assert not is_smooth(body, [X], [0])


def test_other_inputs_stay_as_they_are() -> None:
    """A body that reads a whole number as a place would fail if that were moved."""
    assert is_smooth(lambda place, x: x[place] * 2, [np.array(4), X], [1])


def test_a_body_that_refuses_inputs_that_are_moved_has_no_gradient() -> None:
    def body(x: Any) -> Any:
        if x.sum() != 1.0:
            raise ValueError("no distribution")
        return 2 * x

    assert not is_smooth(body, (np.array([0.25, 0.75]),), (0,))
