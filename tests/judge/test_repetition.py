"""What an answer is worth when it is asked again: runs of the same whose numbers are known, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from frames import Bench, run_of
from pyopbench.judge.candidates import Setting
from pyopbench.judge.findings import Answer
from pyopbench.judge.judge import judge_run
from pyopbench.judge.repetition import repetition_of, run_effect_of, shares_of_ports

SETTING = Setting("sinh", "forward", "node", "float32", "cpu")
KEY = ("sinh", "inference", "node", "float32", "cpu")


def run(label: str | None, loss: float | None, **saved: float) -> Any:
    """Return a run that chose a label, found what each saves, 0.1 either way, and says what its answer may cost."""
    gains = {
        name: SimpleNamespace(label=name, saved=value, saved_low=value - 0.1, saved_high=value + 0.1)
        for name, value in saved.items()
    }
    answer = Answer("keep" if label is None else "port", label)
    choice = SimpleNamespace(
        label=label, answer=answer, loss=loss, gain=gains.get(label or ""), gains=tuple(gains.values())
    )
    return SimpleNamespace(choices=[(SimpleNamespace(setting=SETTING), (choice, None))])


RUNS = (
    run("native", 0.05, native=0.75, xla=0.5),
    run("xla", 0.25, native=0.5, xla=0.625),
    run(None, 0.5, native=0.25, xla=-0.125),
)


def test_a_run_is_valued_by_the_others_alone() -> None:
    """The others of run 0 find 0.375 for native and 0.25 for xla; of run 1, 0.5 and 0.1875; of run 2, 0.625 at most."""
    found = repetition_of(RUNS)
    assert [(one.key, one.run) for one in found.answers] == [(KEY, 0), (KEY, 1), (KEY, 2)]
    assert [one.share for one in found.answers] == pytest.approx([0.625, 0.8125, 1.0])
    assert [one.loss for one in found.answers] == pytest.approx([0.0, 0.3125, 0.625])
    assert found.mean_loss == pytest.approx(0.3125)
    assert found.worst is found.answers[2]
    assert [one.run for one in found.unbounded] == [1, 2]


def test_answers_that_differ_and_intervals_that_hold_the_others_are_counted() -> None:
    found = repetition_of(RUNS)
    assert (found.runs, found.decisions) == (3, 1)
    assert found.renamed == {KEY: (Answer("port", "native"), Answer("port", "xla"), Answer("keep", None))}
    assert [one.is_covered for one in found.answers] == [False, False, None]
    assert found.coverage == 0.0
    again = repetition_of([RUNS[0], RUNS[0]])
    assert (again.renamed, again.coverage, again.mean_loss) == ({}, 1.0, 0.0)


def test_a_decision_that_some_run_lacks_is_left_out() -> None:
    empty = SimpleNamespace(choices=[])
    found = repetition_of([RUNS[0], empty])  # type: ignore[list-item]
    assert (found.answers, found.coverage, found.worst, found.mean_loss) == ((), None, None, 0.0)


def shifted(by: float) -> Any:
    """Return a run of two ports that leave a tenth and a fifth of the current time, both shifted by a factor."""
    curves = {"py_function_numpy": 1e-4, "py_function": 9e-5, "native": 1e-5 * by, "xla": 2e-5 * by}
    return judge_run(run_of(Bench(curves, sizes=(10,), rounds=40, within=1e-4, between=1e-4)))  # type: ignore[arg-type]


def test_shares_of_ports_leave_callbacks_out() -> None:
    found = {key.split("/")[1]: share for key, share in shares_of_ports(shifted(1.5)).items()}
    assert {name: share for name, (share, _) in found.items()} == {
        "native": pytest.approx(0.15, rel=1e-3),
        "xla": pytest.approx(0.3, rel=1e-3),
    }
    assert max(error for _, error in found.values()) < 1e-3


def test_what_ports_shift_by_together_is_the_run_effect() -> None:
    shifts = (0.95, 1.0, 1.06)
    found = run_effect_of([shifted(by) for by in shifts])
    assert found is not None
    assert found.deviation == pytest.approx(float(np.log(shifts).std(ddof=1)), rel=0.02)
    assert (found.runs, found.cases) == (3, 2)
    assert found.low < found.deviation < found.allowed < found.high
