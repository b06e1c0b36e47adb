"""Verdicts of a comparison: the interval shown is the one that the verdict goes by; what is too small says so."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pairs import cases, write_run
from pyopbench.judge.comparison.diff import compare_sides
from pyopbench.judge.comparison.select import read_sides
from pyopbench.judge.comparison.verdicts import not_above_zero, too_small, verdicts_on
from pyopbench.report import comparison
from pyopbench.report.wording.verdicts import unresolved_text
from pyopbench.stats import estimate
from pyopbench.stats.corrections import ONE_LOOK, Looks
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.unresolved import AcrossBorder, NeverPaired, NotAboveZero, OneLaunch

BORDERS = (1 / 1.03, 1.03)


def estimates(n: int = 36) -> list[Estimate]:
    rng = np.random.default_rng(0)
    means = [math.log(0.69), *[0.0] * (n - 1)]
    return [Estimate.of(mean + rng.normal(0.0, 0.1, 8)) for mean in means]


@pytest.mark.parametrize("looks", [ONE_LOOK, Looks(5)])
def test_a_verdict_is_open_exactly_where_its_interval_holds_a_border(looks: Looks) -> None:
    for verdict in verdicts_on(estimates(), 0.03, looks):
        holds = any(verdict.low <= border <= verdict.high for border in BORDERS)
        assert holds == (verdict.outcome == "unresolved")
        if isinstance(verdict.reason, AcrossBorder):
            assert (verdict.reason.low, verdict.reason.high) == (verdict.low, verdict.high)
            assert verdict.reason.border in BORDERS or verdict.reason.border == pytest.approx(1.03, rel=0.1)


def test_an_interval_of_an_open_case_reaches_further_than_95_percent_of_it_alone() -> None:
    """0.69x (0.57 to 0.83) stood beside "unresolved", though 0.83 is clear of the border."""
    first = verdicts_on(estimates(), 0.03, Looks(5))[0]
    alone = estimates()[0].interval()
    assert first.low < math.exp(alone[0])
    assert first.high > math.exp(alone[1])


def test_what_has_no_interval_says_why() -> None:
    found = verdicts_on([Estimate.of([]), Estimate.of([0.1])], 0.03, ONE_LOOK)
    assert [one.reason for one in found] == [NeverPaired(), OneLaunch()]
    assert math.isnan(found[1].low)


def nodes(slopes: dict[str, list[float]]) -> pd.DataFrame:
    """Return samples of mode node: for each case the cost of a copy in each launch, beside 100 us of the call."""
    rows = []
    for case, costs in slopes.items():
        for launch, cost in enumerate(costs):
            for copies in (1, 4, 16):
                row = {"case": case, "tool": "pyopbench", "run": "r", "launch": launch, "mode": "node", "calls": 1}
                row["floor_seconds"] = math.nan
                rows += [{**row, "copies": copies, "round": i, "seconds": 1e-4 + cost * copies} for i in range(3)]
    return pd.DataFrame(rows)


def test_a_cost_that_is_not_above_zero_in_some_launch_has_no_ratio() -> None:
    frame = nodes({"clear": [1e-6, 2e-6], "small": [1e-8, -1e-8, 1e-8], "none": [-1e-8]})
    found = not_above_zero(frame, estimate.launch_logs(frame))
    assert found == {"small": NotAboveZero(1, 3), "none": NotAboveZero(1, 1)}
    verdict = too_small(found["small"])
    assert (verdict.outcome, verdict.reason) == ("unresolved", NotAboveZero(1, 3))
    assert math.isnan(verdict.ratio)


def test_the_empty_function_beside_copies_is_no_case_that_is_too_small() -> None:
    frame = nodes({"clear": [1e-6]})
    empty = frame.assign(case="empty", copies=0)
    assert not_above_zero(pd.concat([frame, empty]), estimate.launch_logs(frame)) == {}


def test_a_case_that_is_too_small_is_in_every_output_with_its_reason(tmp_path: Path) -> None:
    sides = read_sides([str(write_run(tmp_path / name, cases(), seed=seed)) for seed, name in enumerate("ab")], "run")
    for side in (sides.first, sides.second):
        side.frame["mode"] = "node"
    large, small = sides.first.frame["case"].unique()[:2]
    for side, cost in ((sides.first, 1e-6), (sides.second, -1e-9)):
        made = nodes({large: [1e-6] * 4, small: [cost] * 4})
        side.frame.drop(side.frame.index, inplace=True)
        for name in made:
            side.frame[name] = made[name]
    found = compare_sides(sides)
    by_case = {str(one.key): one.verdict for one in found.cases}
    assert by_case[small].reason == NotAboveZero(4, 4)
    assert by_case[large].outcome == "equivalent" or by_case[large].outcome == "unresolved"
    assert unresolved_text(NotAboveZero(4, 4)) in comparison.markdown(found, "")
    assert '"ratio": null' in comparison.as_json(found, None, failed=False)
    assert [row[-2] for row in comparison.rows(found)].count("–") == 1
