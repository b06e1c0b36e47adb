"""What a run's options come to, before anything is measured."""

from __future__ import annotations

import pytest

from pyopbench.engine import plan as settings
from pyopbench.engine.plan import settings_for
from pyopbench.model.case import UNLIMITED, Axes


@pytest.mark.parametrize(
    ("ops", "seconds"),
    [((), 170.0), (("sinh",), 45.0), (("sinh", "relu"), 90.0), (("sinh", "relu", "log", "square", "cube"), 170.0)],
)
def test_a_quick_run_of_few_ops_is_short(ops: tuple[str, ...], seconds: float) -> None:
    assert settings_for(Axes(ops=ops, quick=True)).budget_seconds == seconds


def test_a_quick_run_on_two_devices_has_the_time_of_two() -> None:
    assert settings_for(Axes(quick=True, placements=("cpu", "gpu"))).budget_seconds == 2 * 170.0
    assert settings_for(Axes(quick=True), sides=3).budget_seconds == 3 * 170.0


def test_only_the_budget_ends_a_comparison_that_has_one() -> None:
    assert settings_for(Axes(), sides=2).launches == settings.FULL.launches
    found = settings_for(Axes(), budget_seconds=600.0, sides=2)
    assert found.launches == found.rounds == UNLIMITED
    assert found.first_rounds == settings.FULL.first_rounds
    found = settings_for(Axes(quick=True), launches=4, sides=2)
    assert (found.launches, found.rounds) == (4, settings.QUICK.rounds), "or what is asked for"
