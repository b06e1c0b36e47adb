"""Lines over copies: that they find what made-up blocks are made of, and how often intervals from them hold it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from frames import Bench, run_of
from pyopbench.core.model import Case
from pyopbench.judge import holes
from pyopbench.judge.decide import judge
from pyopbench.judge.findings import Answer
from pyopbench.report.sections import Table, nodes
from pyopbench.stats import estimate, slopes

COPIES = (1, 2, 4, 8, 16, 32)
BASE = Case("sinh", "py_function_numpy", "none", "forward", "node", "float32", 1)
NATIVE = replace(BASE, variant="native")


def blocks(
    costs: dict[str, tuple[float, float]], launches: int = 3, rounds: int = 4, noise: float = 0.0, seed: int = 0
) -> pd.DataFrame:
    """Return blocks of cases that cost `(seconds per copy, call overhead)`; `noise` is the spread of the log of one."""
    rng = np.random.default_rng(seed)
    calls = Bench(dict.fromkeys(costs, 1.0), sizes=(1,), mode="node", launches=launches, rounds=rounds).frame()
    frame = pd.concat([calls.assign(copies=copies) for copies in COPIES], ignore_index=True)
    each, overhead = (frame["variant"].map({name: cost[i] for name, cost in costs.items()}) for i in (0, 1))
    true = (overhead + each * frame["copies"]) * frame["calls"]
    return frame.assign(seconds=true * np.exp(noise * rng.standard_normal(len(frame))))


def test_slope_and_intercept_are_what_the_blocks_are_made_of() -> None:
    found = slopes.lines(blocks({"py_function_numpy": (2e-5, 1e-4), "native": (2e-7, 1.1e-4)}), estimate.UNIT)
    assert len(found) == 6
    assert set(found["copies"]) == {COPIES}
    native = found[found["case"] == NATIVE.id]
    np.testing.assert_allclose(native["slope"], 2e-7, rtol=1e-9)
    np.testing.assert_allclose(native["intercept"], 1.1e-4, rtol=1e-9)


def test_the_fit_is_weighted_least_squares_of_medians() -> None:
    """Against NumPy's polynomial fit, which takes weights as 1 / sigma."""
    frame = blocks({"native": (1e-5, 1e-4)}, launches=1, rounds=5, noise=0.3)
    medians = frame.assign(y=frame["seconds"] / frame["calls"]).groupby("copies")["y"].median()
    slope, intercept = np.polyfit(medians.index, medians, 1, w=1 / medians)
    (row,) = slopes.lines(frame, estimate.UNIT).to_dict("records")
    assert (row["slope"], row["intercept"]) == pytest.approx((slope, intercept), rel=1e-9)


def test_one_number_of_copies_gives_no_line() -> None:
    frame = blocks({"native": (1e-5, 1e-4)})
    one = frame[frame["copies"] == 4]
    assert slopes.lines(one, estimate.UNIT)[["slope", "intercept"]].isna().all(axis=None)
    assert slopes.slope_logs(one, estimate.UNIT).empty
    assert slopes.without_slope(one, estimate.UNIT) == {NATIVE.id: slopes.Flat(3, 3)}


def test_other_modes_are_passed_over() -> None:
    calls = Bench({"native": 1e-5}, sizes=(1,)).frame()
    assert slopes.lines(calls, estimate.UNIT).empty
    assert slopes.without_slope(calls, estimate.UNIT) == {}


def test_a_launch_without_a_slope_above_zero_has_no_log() -> None:
    frame = blocks({"native": (1e-5, 1e-4)})
    falling = (1e-3 - 1e-5 * frame["copies"]) * frame["calls"]
    frame = frame.assign(seconds=frame["seconds"].where(frame["launch"] != 1, falling))
    logs = estimate.launch_logs(frame)
    assert logs["launch"].tolist() == [0, 2]
    np.testing.assert_allclose(logs["value"], math.log(1e-5))
    assert slopes.without_slope(frame, estimate.UNIT) == {NATIVE.id: slopes.Flat(1, 3)}


def test_cases_of_mode_node_are_paired_by_the_slopes_of_a_launch() -> None:
    frame = blocks({"py_function_numpy": (4e-5, 1e-4), "native": (1e-5, 3e-4)})
    found = estimate.paired_logs(frame, {NATIVE.id: BASE.id})
    assert found["launch"].tolist() == [0, 1, 2]
    np.testing.assert_allclose(found["value"], math.log(1 / 4), rtol=1e-9)


def test_other_modes_beside_it_keep_their_numbers() -> None:
    calls = Bench({"py_function_numpy": 1e-5, "native": 2e-6}, sizes=(1,), launches=3)
    node = blocks({"py_function_numpy": (4e-5, 1e-4), "native": (1e-5, 3e-4)})
    both = pd.concat([node, calls.frame()], ignore_index=True)
    pair = {replace(NATIVE, mode=mode).id: replace(BASE, mode=mode).id for mode in ("node", "call")}
    for function in (estimate.launch_logs, lambda frame: estimate.paired_logs(frame, pair)):
        alone = pd.concat([function(calls.frame()), function(node)]).sort_values(["case", "launch"], ignore_index=True)
        pd.testing.assert_frame_equal(function(both), alone)


def test_intervals_over_launches_hold_the_slope_as_often_as_they_say() -> None:
    """400 runs of 5 launches; 95% of 400 is 380, with a standard deviation of 4.4."""
    cost = (1e-5, 1e-4)
    frame = blocks({"native": cost}, launches=2000, rounds=3, noise=0.05, seed=1)
    logs = estimate.launch_logs(frame)
    held = 0
    for first in range(0, 2000, 5):
        low, high = estimate.Estimate.of(logs["value"].iloc[first : first + 5]).interval()
        held += low <= math.log(cost[0]) <= high
    assert 366 <= held <= 394


def test_verdicts_and_decisions_are_made_of_slopes_and_the_report_tells_both_parts_of_a_call() -> None:
    costs = {"py_function_numpy": (4e-5, 1e-4), "native": (1e-6, 3e-4)}
    run = run_of(Bench(dict.fromkeys(costs, 1.0), sizes=(1,), mode="node"))
    run.frame = blocks(costs, noise=0.001)
    judgement = judge(run)  # type: ignore[arg-type]
    (verdict,) = judgement.verdicts
    assert verdict.outcome == "faster", "a call with native is dearer, one more copy is not"
    assert verdict.ratio == pytest.approx(1 / 40, rel=0.1)
    assert [(one.mode, one.answer) for one in judgement.decisions] == [("node", Answer("port", "native"))]
    *_, table = nodes.build(judgement)
    assert isinstance(table, Table)
    native = next(row for row in table.rows if "native" in map(str, row))
    cells = dict(zip(table.columns, map(str, native), strict=True))
    assert cells["copies"] == "1, 2, 4, 8, 16, 32"
    assert cells["per copy"].startswith(("1.0", "9"))
    assert cells["call overhead"].startswith(("300 µs", "29", "30"))


def test_a_case_without_any_slope_is_a_hole_with_its_reason() -> None:
    costs = {"py_function_numpy": (4e-5, 1e-4), "native": (0.0, 3e-4)}
    run = run_of(Bench(dict.fromkeys(costs, 1.0), sizes=(1,), mode="node"))
    frame = blocks(costs)
    falling = 1 - 1e-3 * frame["copies"]
    run.frame = frame.assign(seconds=frame["seconds"] * falling.where(frame["variant"] == "native", 1.0))
    judgement = judge(run)  # type: ignore[arg-type]
    assert list(judgement.latencies["variant"]) == ["py_function_numpy"]
    found = holes.cases_by_reason(judgement.run, set(judgement.latencies["case"]))
    assert found == {holes.Reason("no slope", flat=3, launches=3): [NATIVE.id]}
