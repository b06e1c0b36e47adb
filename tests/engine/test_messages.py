"""What workers are doing, why there are no more of them, and what the time went into."""

from __future__ import annotations

import pytest

from pyopbench.engine.budget import LimitedBy, Progress
from pyopbench.engine.messages import (
    budget_text,
    compared_text,
    planned_text,
    planned_together_text,
    sampling_text,
    stage_text,
    workers_text,
)
from pyopbench.judge.interim_analysis import InterimAnalysis


def step(doing: str, workers: int, limited_by: LimitedBy = "", sweep: int = 0) -> Progress:
    return Progress(doing, workers, limited_by, 0, sweep, "a group", 0, 1, 1, None)  # type: ignore[arg-type]


def test_a_stage_is_what_the_workers_are_doing() -> None:
    assert stage_text(step("preparing", 2)) == "2 workers preparing"
    assert stage_text(step("sampling", 3, sweep=4)) == "sweep 5 (3 workers)"
    assert stage_text(step("sampling", 1)) == "sweep 1 (1 worker)"


@pytest.mark.parametrize(
    ("limited_by", "told"),
    [
        ("", ""),
        ("memory", "fewer than three launches at a time, to fit the memory"),
        ("budget", "fewer than three launches at a time, to fit the budget"),
    ],
)
def test_it_is_told_why_there_are_fewer_workers(limited_by: LimitedBy, told: str) -> None:
    assert workers_text(step("sampling", 2, limited_by)) == told


def test_the_share_of_the_time_that_was_sampling_is_told() -> None:
    assert sampling_text(102.4, 170.0).startswith("60% of ")
    assert sampling_text(0.0, 0.0).startswith("0% of ")


def test_what_was_planned_says_where_it_goes() -> None:
    assert planned_text(1_200, 3, "results/x") == "1,200 cases to try, 3 not supported; results in results/x"
    assert planned_text(8, 0, "x") == "8 cases to try; results in x"


def test_several_sides_are_one_line() -> None:
    assert planned_together_text([2, 2], 1, 1, "results/x") == (
        "2 sides of 2 cases each, 1 not supported, and a control of 1; results in results/x"
    )
    assert planned_together_text([2, 3, 5], 0, 1, "x") == (
        "3 sides of 2 to 5 cases, 0 not supported, and a control of 1; results in x"
    )


def test_a_look_says_whether_it_is_measured_further() -> None:
    some = InterimAnalysis(frozenset({"a case"}), launches=2, verdicts=2, resolved=1, reachable=1, unneeded=0, most=8)
    none = InterimAnalysis(frozenset(), launches=3, verdicts=2, resolved=2, reachable=0, unneeded=0, most=8)
    assert some.text() == "after 2 launches: 1 of 2 verdicts resolved, 1 open; measuring 1 case further"
    assert none.text() == "after 3 launches: all 2 verdicts resolved; done"
    assert compared_text(1, 2, 3) == "after 1 launch 2 of 3 comparisons are resolved"


def test_the_end_of_the_budget_is_told() -> None:
    assert budget_text(3.0, 2, 5) == "the budget of 3 s is spent after 2 of at most 5 launches"
