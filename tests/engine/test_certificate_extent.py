"""How much a certificate is made of: enough pairs, within its time, with the main job spread between the controls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyopbench.engine import start
from pyopbench.engine.certificate_extent import FULL, INJECTED, QUICK, Extent
from pyopbench.engine.certificate_figures import upper_bound
from pyopbench.engine.certificate_runs import DIRECTIONS, PLAN_SECONDS, controls
from pyopbench.store.promises import MOST_FALSE_BOUND


def planned(extent: Extent) -> dict[int, int]:
    return {
        percent: sum(
            len(trial.ops) * len(trial.sizes) * len(controls((percent,))) * len(DIRECTIONS)
            for trial in extent.trials
            if percent in trial.percents
        )
        for percent in (0, *INJECTED)
    }


@pytest.mark.parametrize(("extent", "pairs", "slowed", "minutes"), [(FULL, 72, 12, 62), (QUICK, 24, 2, 6)])
def test_enough_pairs_are_planned_within_the_time(extent: Extent, pairs: int, slowed: int, minutes: int) -> None:
    found = planned(extent)
    assert found[0] >= pairs
    assert min(found[percent] for percent in INJECTED) >= slowed
    seconds = sum(trial.seconds for trial in extent.trials) + extent.times * extent.job.seconds
    assert seconds + len(list(extent.stages())) * PLAN_SECONDS <= extent.seconds <= minutes * 60


def test_a_full_one_has_enough_pairs_to_show_what_is_promised_of_them() -> None:
    """Of 72 pairs of which none is told apart at most 4.1% are, with 95% confidence."""
    assert upper_bound(0, planned(FULL)[0]) <= MOST_FALSE_BOUND


def test_there_is_time_for_every_launch_of_every_group() -> None:
    settings = FULL.settings
    assert settings.until == "end"
    assert settings.first_rounds == settings.rounds, "all rounds of a launch before the next one is begun"
    for trial in FULL.trials:
        groups = len(trial.ops) * len(trial.sizes) * len(DIRECTIONS)
        seconds = settings.group_seconds if 0 in trial.percents else settings.rounds * 0.005  # four cases, not seven
        assert settings.launches * groups * seconds < trial.seconds


def test_a_full_one_repeats_the_whole_main_job_three_times() -> None:
    assert (FULL.job.ops, FULL.times) == ((), 3)
    assert FULL.job.seconds == start.QUICK.budget_seconds


def test_the_main_job_is_spread_between_the_controls() -> None:
    names = [f"{stage.name}-{number}" for number, stage in FULL.stages()]
    assert names == [
        "decisions-1", "controls-1", "controls-2", "decisions-2", "controls-3", "decisions-3",
    ]  # fmt: skip
    assert [stage.name for _, stage in replace(FULL, times=0).stages()] == ["controls"] * 3
    assert [stage.name for _, stage in replace(FULL, times=1).stages()] == ["decisions", *["controls"] * 3]


@pytest.mark.parametrize("extent", [FULL, QUICK])
def test_identical_pairs_come_first(extent: Extent) -> None:
    assert extent.trials[0].percents == (0,)
