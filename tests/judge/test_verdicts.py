"""Outcomes, and reasons for having none."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from frames import VARIANTS, Bench, run_of
from pyopbench.judge.decision import Verdict
from pyopbench.judge.latencies import baseline_of, measured_cases
from pyopbench.judge.verdicts import verdicts_of
from pyopbench.stats import estimate as statistics
from pyopbench.stats.looks import Looks
from pyopbench.stats.unresolved import AcrossBorder, MoreLaunches, NeverPaired, OneLaunch

GRADIENTS = VARIANTS["py_function_numpy"]["gradients"]


def judged(bench: Bench, minimum_effect: float = 0.03) -> dict[str, Verdict]:
    """Verdicts by variant and size."""
    run = bench.run()
    frame = run.frame
    baselines = baseline_of(measured_cases(frame, run.catalogue), "py_function_numpy", GRADIENTS)
    found = verdicts_of(statistics.paired_logs(frame, baselines), baselines, minimum_effect)
    assert [verdict.case for verdict in found] == list(baselines)
    return {verdict.case.split("/")[1] + "@" + verdict.case.split("/")[6]: verdict for verdict in found}


def logs_of(values: dict[str, list[float]]) -> pd.DataFrame:
    rows = [("x", "r", i, case, value) for case, logs in values.items() for i, value in enumerate(logs)]
    return pd.DataFrame(rows, columns=["tool", "run", "launch", "case", "value"])


def test_each_outcome() -> None:
    curves = {"py_function_numpy": 1e-5, "native": 0.5e-5, "xla": 2e-5, "tnp": 1.01e-5, "autograph": 1.03e-5}
    found = judged(Bench(curves, sizes=(10,), within=0.003, between=0.001, launches=8))
    assert {key: verdict.outcome for key, verdict in found.items()} == {
        "native@10": "faster",
        "xla@10": "slower",
        "tnp@10": "equivalent",
        "autograph@10": "unresolved",
    }
    assert found["native@10"].ratio == pytest.approx(0.5, rel=0.01)
    assert found["native@10"].low < found["native@10"].ratio < found["native@10"].high
    assert [verdict.launches for verdict in found.values()] == [8] * 4


def test_verdicts_are_corrected_for_all_of_them_together() -> None:
    """The same numbers resolve alone and not among nine, too few for anything to be usual."""
    logs = {"a": [0.10, 0.13, 0.05, 0.14, 0.04]}
    alone = verdicts_of(logs_of(logs), {"a": "z"}, 0.03)[0]
    crowd = {f"open{i}": [0.3, -0.3, 0.2, -0.2, 0.1] for i in range(8)}
    among = verdicts_of(logs_of(logs | crowd), dict.fromkeys(logs | crowd, "z"), 0.03)[0]
    assert alone.outcome == "slower"
    assert among.outcome == "unresolved"
    assert among.p == pytest.approx(9 * alone.p)


def test_what_is_usual_among_many_resolves_what_few_launches_cannot() -> None:
    """Three launches that scatter as all others do: with 2 degrees of freedom of its own the case stays open."""
    rng = np.random.default_rng(0)
    crowd = {f"equal{i}": list(0.02 * rng.standard_normal(3)) for i in range(40)}
    logs = {"a": [0.20, 0.23, 0.18]}
    alone = verdicts_of(logs_of(logs), {"a": "z"} | {f"other{i}": "z" for i in range(40)}, 0.03)[0]
    among = verdicts_of(logs_of(logs | crowd), dict.fromkeys(logs | crowd, "z"), 0.03)[0]
    assert (alone.outcome, among.outcome) == ("unresolved", "slower")


def test_the_reason_holds_the_corrected_interval_and_the_launches_needed() -> None:
    """Checked against SciPy: the interval at 1 - 0.05 / 2."""
    values = [0.10, -0.02, 0.08, 0.05]
    verdict = verdicts_of(logs_of({"a": values, "b": [0.0, 0.1, -0.1]}), {"a": "z", "b": "z"}, 0.03)[0]
    half = 4.17653 * 0.0525198 / 2  # t(0.9875, 3) and the deviation of `values`
    low, high = math.exp(0.0525 - half), math.exp(0.0525 + half)
    reason = verdict.reason
    assert isinstance(reason, AcrossBorder)
    assert (reason.low, reason.high) == pytest.approx((low, high), rel=1e-5)
    assert reason.border == pytest.approx(1.03)
    assert (reason.verdicts, reason.looks) == (2, 1)
    assert isinstance(reason.remedy, MoreLaunches)
    assert reason.remedy.launches == 4
    assert reason.remedy.enough is not None
    assert 4 < reason.remedy.enough < 100


def test_one_launch_is_unresolved() -> None:
    verdict = judged(Bench({"py_function_numpy": 1.0, "native": 9.0}, sizes=(10,), launches=1))["native@10"]
    assert (verdict.outcome, verdict.reason, verdict.p) == ("unresolved", OneLaunch(), 1.0)
    assert verdict.ratio == pytest.approx(9, rel=0.1)
    assert math.isnan(verdict.low)


def test_a_case_that_never_met_the_baseline_is_unresolved() -> None:
    verdict = verdicts_of(logs_of({}), {"a": "z"}, 0.03)[0]
    assert verdict.outcome == "unresolved"
    assert verdict.reason == NeverPaired()
    assert math.isnan(verdict.ratio)
    assert verdict.launches == 0


def test_equal_code_is_never_called_different_by_more_than_the_family_error() -> None:
    """Two hundred whole reports of four variants each, that are one and the same code, with no minimum effect."""
    names = [name for name in VARIANTS if name != "py_function_numpy"][:4]
    curves = {"py_function_numpy": 1e-5, **dict.fromkeys(names, 1e-5)}
    alarms = 0
    for seed in range(200):
        found = judged(Bench(curves, sizes=(10,), launches=5, rounds=4, drift=0.05, between=0.02, seed=seed), 0.0)
        alarms += any(verdict.outcome in ("faster", "slower") for verdict in found.values())
    assert alarms <= 200 * 0.05 + 3 * math.sqrt(200 * 0.05 * 0.95)


def test_no_verdicts_where_there_is_nothing_to_compare() -> None:
    assert verdicts_of(logs_of({}), {}, 0.03) == ()
    assert run_of().frame.empty


def test_what_is_no_number_resolves_nothing() -> None:
    """What is no number must not pass for a small p."""
    verdict = verdicts_of(logs_of({"a": [math.nan, -1.0, -1.1]}), {"a": "z"}, 0.03)[0]
    assert verdict.outcome == "unresolved"


def test_every_planned_look_makes_a_verdict_stricter() -> None:
    """By hand: two verdicts at five looks leave a p ten times as large, and the reason says for what."""
    logs = logs_of({"a": [0.10, 0.12, 0.07, 0.11], "b": [0.0, 0.1, -0.1, 0.1]})
    baselines = {"a": "z", "b": "z"}
    once, often = (verdicts_of(logs, baselines, 0.03, Looks(planned)) for planned in (1, 5))
    assert (once[0].outcome, often[0].outcome) == ("slower", "unresolved")
    assert often[0].p == pytest.approx(5 * once[0].p)
    assert isinstance(often[0].reason, AcrossBorder)
    assert (often[0].reason.verdicts, often[0].reason.looks) == (2, 5)
    assert once[0].reason is None


def test_a_verdict_says_how_many_launches_would_resolve_it() -> None:
    """At the level that is corrected for verdicts and looks, and the same number as in the reason."""
    middle = [math.log(1.03) + step for step in (-0.1, 0.1)]
    logs = {"a": [0.10, 0.14, 0.04, 0.11], "b": [0.02, 0.1, -0.1, 0.0], "c": middle}
    clear, near, never = verdicts_of(logs_of(logs), dict.fromkeys("abc", "z"), 0.03, Looks(2))
    level = 1 - 0.05 / 6
    for verdict in (clear, near):
        estimate = statistics.Estimate.of(logs[verdict.case])
        assert verdict.outcome == "unresolved"
        assert verdict.needed == estimate.launches_to_clear(math.log(1.03), level)
        assert isinstance(verdict.reason, AcrossBorder)
        assert verdict.reason.remedy == MoreLaunches(4, verdict.needed, statistics.MOST_LAUNCHES)
    assert clear.needed is not None
    assert near.needed is not None
    assert 4 < clear.needed < near.needed
    assert never.needed is None


def test_a_resolved_verdict_needs_what_it_has_and_tells_what_was_trimmed() -> None:
    values = [0.10, 0.12, 0.11, 0.09, 0.10, 0.11, 0.10, 0.30]
    verdict = verdicts_of(logs_of({"a": values}), {"a": "z"}, 0.03)[0]
    assert (verdict.outcome, verdict.needed, verdict.launches, verdict.trimmed) == ("slower", 8, 8, 1)
    assert verdict.ratio == pytest.approx(math.exp(np.mean(sorted(values)[1:-1])))
