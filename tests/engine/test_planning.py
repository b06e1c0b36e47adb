"""Axes are checked before a worker starts, and what a worker says of a plan is told."""

from __future__ import annotations

import pytest

from pyopbench.engine import planning
from pyopbench.model.case import Axes
from pyopbench.model.errors import BadInput


def test_reasons_are_counted_the_most_frequent_first() -> None:
    skips = [{"reason": reason} for reason in ("a", "b", "b")]
    assert planning.count_reasons(skips) == [("b", 2), ("a", 1)]


def test_what_a_worker_says_of_an_own_op_is_told_with_its_place_and_the_traceback_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = {"message": "mine.py:3: ValueError: no", "received": "it", "legal": "another", "hint": "mend it"}
    answer = {"error": {**said, "traceback": "Traceback: line 3"}}
    monkeypatch.setattr(planning, "ask_once", lambda *_, **__: answer)
    with pytest.raises(BadInput) as refused:
        planning.ask_for_plan(Axes(ops=("sinh",)))
    assert refused.value.received == "it"
    assert "Traceback" not in str(refused.value)
    assert "line 3" in str(refused.value.__cause__)


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_below_one_is_refused(size: int) -> None:
    with pytest.raises(BadInput) as refused:
        planning.check_axes(Axes(sizes=(1, size)))
    assert refused.value.received == size


def test_a_run_has_one_device() -> None:
    with pytest.raises(BadInput) as refused:
        planning.check_axes(Axes(placements=("cpu", "gpu")))
    assert refused.value.received == "cpu, gpu"
