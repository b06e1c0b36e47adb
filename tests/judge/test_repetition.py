"""What an answer is worth when it is asked again: runs of the same whose numbers are known, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pyopbench.judge.candidates import Setting
from pyopbench.judge.findings import Answer
from pyopbench.judge.repetition import repetition_of

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
