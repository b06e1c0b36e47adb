"""Variants that were measured twice: the verdicts on them, in a run whose differences are known."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from msgspec import structs

from frames import Bench, variant
from pyopbench.judge.twins import NO_TWINS, Twins, twins_of
from pyopbench.stats.launch_model import fit
from pyopbench.store.run import Costs

TODAY = "py_function_numpy"
TWIN = TODAY + "_twin"


def found(seconds: float) -> Twins:
    """Return the twins of a run in which the twin of the callback, which is 100 us, costs `seconds`."""
    bench = Bench({TODAY: 1e-4}, sizes=(10,), between=0.001, within=0.001)
    run = bench.run()
    beside = run.frame.copy()
    case = str(beside["case"].iloc[0])
    beside["case"], beside["variant"] = case.replace(TODAY, TWIN), TWIN
    beside["seconds"] *= seconds / 1e-4
    beside["seconds"] *= 1 + 1e-3 * (beside["launch"] % 3 - 1)
    parts = {TWIN: variant("part", role="twin")}
    changed = {
        "catalogue": structs.replace(run.catalogue, parts=parts),
        "costs": Costs(cases=(beside["case"].iloc[0],), frame=beside),
    }
    return twins_of(SimpleNamespace(**{**vars(run), **changed}), fit(()), 0.03)  # type: ignore[arg-type]


def test_what_differs_by_less_than_the_effect_is_equal() -> None:
    twins = found(1.005e-4)
    (pair,) = twins.pairs
    assert (pair.case.split("/")[1], pair.baseline.split("/")[1]) == (TWIN, TODAY)
    assert pair.ratio == pytest.approx(1.005, abs=0.002)
    assert twins.equal == (pair,)
    assert twins.told_apart == ()
    assert twins.farthest == pytest.approx(0.005, abs=0.002)


def test_what_differs_by_more_is_told_apart() -> None:
    (pair,) = found(1.5e-4).told_apart
    assert pair.outcome == "slower"


def test_a_run_without_twins_has_none() -> None:
    assert NO_TWINS.farthest is None
    run = Bench({TODAY: 1e-4}).run()
    assert twins_of(run, fit(()), 0.03) == Twins((), 0.03)  # type: ignore[arg-type]
