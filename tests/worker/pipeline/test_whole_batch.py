"""A body that is called once with a whole batch has to give what it gives for each element."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopbench import OwnOp
from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.ops.own.complete import complete
from pyopbench.worker.pipeline import elements
from pyopbench.worker.pipeline.elements import Elements

X = np.linspace(-1.0, 2.0, 6).astype(np.float32)


def why_not(monkeypatch: pytest.MonkeyPatch, body: Any, *inputs: Any, step: int = 1, **fields: Any) -> str:
    """Return why a body is not right for a batch of elements, each its example plus `step` times its number."""
    op = complete(OwnOp(inputs=inputs, numpy=body, **fields), "made", Path())
    monkeypatch.setattr(elements, "load_op", lambda name: op)
    rows = tuple(tuple(np.asarray(one + place * step).astype(one.dtype) for one in inputs) for place in range(8))
    outputs = tuple((np.asarray(body(*(one.copy() for one in row))),) for row in rows)
    case = Case("made", "numpy_function", NO_GRADIENT, "forward", "call", op.dtypes[0], op.sizes[0])
    return Elements(case, rows, outputs, 0.001).why_not_whole()


def test_a_body_that_numpy_broadcasts_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_not(monkeypatch, lambda x: np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True), X) == ""


@pytest.mark.parametrize(
    ("body", "example"),
    [
        (lambda x: np.exp(x) / np.sum(np.exp(x)), X),
        (lambda x: x - x[0], X),
        (lambda x: x.sum(), X),
        (lambda x: x[::-1].copy(), X),
    ],
)
def test_a_body_that_mixes_elements_up_is_not(monkeypatch: pytest.MonkeyPatch, body: Any, example: Any) -> None:
    assert why_not(monkeypatch, body, example)


def test_a_body_of_a_square_batch_is_not_right_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight elements of eight: the sum over the first axis has the right shape."""
    assert why_not(monkeypatch, lambda x: x @ np.eye(8, dtype=np.float32), np.arange(8, dtype=np.float32)) == ""
    assert why_not(monkeypatch, lambda x: np.eye(8, dtype=np.float32) @ x, np.arange(8, dtype=np.float32))


def test_what_writes_to_a_batch_or_raises_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def overwrite(x: Any) -> Any:
        x += 1
        return x

    def refuse(x: Any) -> Any:
        if x.ndim > 1:
            raise ValueError("one example at a time")
        return x * 2

    assert "overwritten" in why_not(monkeypatch, overwrite, X)
    assert "one example at a time" in why_not(monkeypatch, refuse, X)


def test_equal_elements_and_draws_do_not_vouch_for_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "equal" in why_not(monkeypatch, lambda x: x * 2, X, step=0)
    seeded = {"seed_with": "random.seed({seed})", "differentiable": ()}
    assert "random" in why_not(monkeypatch, lambda x: x + random.random(), X, **seeded)
