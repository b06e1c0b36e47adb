"""A body that draws random numbers is told from one that does not, and compared under a seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopbench import OwnOp
from pyopbench.model.case import Axes
from pyopbench.model.errors import BadInput, Unsupported
from pyopbench.ops.load import load_variants
from pyopbench.ops.own.complete import complete, require_same, seed_before_call
from pyopbench.worker.plan import make_plan
from pyopbench.worker.prepare.prepare import prepare
from small_ops import put_in_place

HERE = Path(__file__).parent
X = np.linspace(0, 1, 8)
generator = np.random.default_rng()
calls = []


def noisy(x: Any) -> Any:
    return x + np.random.normal(size=x.shape)  # noqa: NPY002 - as real code does


def noisy_by_a_global(x: Any) -> Any:
    return x + generator.normal(size=x.shape)


def test_a_random_body_is_refused_with_the_way_out() -> None:
    with pytest.raises(BadInput) as refused:
        complete(OwnOp(inputs=(X,), numpy=noisy), "mine", HERE)
    assert refused.value.received is not None
    assert refused.value.hint


def test_a_body_that_counts_its_calls_is_refused() -> None:
    def counting(x: Any) -> Any:
        calls.append(1)
        return x[: len(calls)]

    with pytest.raises(BadInput):
        complete(OwnOp(inputs=(X,), numpy=counting), "mine", HERE)


def test_a_statement_that_seeds_nothing_does_not_help() -> None:
    with pytest.raises(BadInput):
        complete(OwnOp(inputs=(X,), numpy=noisy, seed_with="random.seed({seed})"), "mine", HERE)


@pytest.mark.parametrize(
    ("body", "statement", "is_ported"),
    [(noisy, "np.random.seed({seed})", True), (noisy_by_a_global, "generator = np.random.default_rng({seed})", False)],
)
def test_under_a_seed_callbacks_are_compared_and_of_the_ports_the_one_that_takes_a_seed(
    body: Any, statement: str, is_ported: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    op = complete(OwnOp(inputs=(X,), numpy=body, seed_with=statement), "mine", HERE)
    put_in_place(monkeypatch, op)
    plan = make_plan(Axes(ops=("mine",), directions=("forward",), modes=("call",)), {"mine": op}, load_variants())
    tried = {case.variant for case in plan.cases}
    assert tried == {"py_function_numpy", "numpy_function", "py_func", "numba_op"}
    for case in plan.cases:
        if is_ported or case.variant != "numba_op":
            prepare(case)
            continue
        with pytest.raises(Unsupported):
            prepare(case)


def test_the_same_within_rounding_is_the_same_and_nan_is_nan() -> None:
    x = np.array([1.0, np.nan, np.inf, 1e6])
    require_same([x, np.arange(3)], [x * (1 + 1e-9), np.arange(3)], is_seeded=False)
    with pytest.raises(BadInput):
        require_same([np.arange(3)], [np.arange(3)[::-1]], is_seeded=False)


def test_the_statement_may_use_names_of_the_module() -> None:
    found = seed_before_call(noisy_by_a_global, "calls.append({seed})")
    before = len(calls)
    found(X)
    assert len(calls) == before + 1
