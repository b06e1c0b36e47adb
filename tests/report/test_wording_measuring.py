"""What workers are doing, why there are no more of them, and what the time went into."""

from __future__ import annotations

import pytest

from pyopbench.report.wording.measuring import sampling_text, stage_text, workers_text
from pyopbench.run.budget import LimitedBy, Progress


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
        ("memory", "fewer than three, to fit the memory"),
        ("budget", "fewer than three, to fit the budget"),
    ],
)
def test_it_is_told_why_there_are_fewer_workers(limited_by: LimitedBy, told: str) -> None:
    assert workers_text(step("sampling", 2, limited_by)) == told


def test_the_share_of_the_time_that_was_sampling_is_told() -> None:
    assert sampling_text(102.4, 170.0).startswith("60% of ")
    assert sampling_text(0.0, 0.0).startswith("0% of ")
