"""Outcomes, and reasons for having none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import pytest

from frames import VARIANTS, Bench, run_of
from pyopbench.judge.decision import Verdict
from pyopbench.judge.latencies import baseline_of, measured_cases
from pyopbench.judge.verdicts import LOGS, SHARES, Unit, estimates_of, shares_of, verdicts_from
from pyopbench.model.case import Case
from pyopbench.stats import costs, launch_model
from pyopbench.stats import estimate as statistics
from pyopbench.stats.corrections import ONE_LOOK, Looks
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.launch_model import LaunchModel, Shares
from pyopbench.stats.unresolved import AcrossBorder, MoreLaunches, NeverPaired, OneLaunch

GRADIENTS = VARIANTS["py_function_numpy"].gradients


def judged(bench: Bench, minimum_effect: float = 0.03) -> dict[str, Verdict]:
    """Verdicts of a run, by variant and size; nothing shifts from run to run."""
    (found,) = judged_alone([bench], minimum_effect)
    return {verdict.case.split("/")[1] + "@" + verdict.case.split("/")[6]: verdict for verdict in found}


def judged_alone(benches: Sequence[Bench], minimum_effect: float) -> Iterator[list[Verdict]]:
    """Yield the verdicts of each of some runs, every one on an op of its own; shares are taken of all at once."""
    run = run_of(*benches)
    baselines = baseline_of(measured_cases(run.frame, run.catalogue), "py_function_numpy", GRADIENTS)
    ratios = costs.ratios(costs.round_costs(run.frame, statistics.UNIT), baselines, statistics.UNIT)
    shares = shares_of(costs.launch_medians(ratios, "ratio", statistics.UNIT))
    for bench in benches:
        compared = {case: baseline for case, baseline in baselines.items() if Case.from_id(case).op == bench.op}
        own = {case: found for case, found in shares.items() if case in compared}
        model = launch_model.fit(list(own.values()), run_effect=0.0)
        verdicts = verdicts_from(estimates_of(own, compared, (), model, 1), compared, minimum_effect, unit=SHARES)
        assert [verdict.case for verdict in verdicts] == list(compared)
        yield verdicts


def verdicts(
    values: dict[str, list[float]], minimum_effect: float = 0.03, looks: Looks = ONE_LOOK, unit: Unit = LOGS
) -> list[Verdict]:
    """Verdicts of differences by launch, moved towards what is usual among them."""
    estimates = statistics.moderated([Estimate.of(differences) for differences in values.values()])
    return list(verdicts_from(estimates, dict.fromkeys(values, "z"), minimum_effect, looks, unit))


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
    alone = verdicts(logs)[0]
    among = verdicts(logs | {f"open{i}": [0.3, -0.3, 0.2, -0.2, 0.1] for i in range(8)})[0]
    assert alone.outcome == "slower"
    assert among.outcome == "unresolved"
    assert among.p == pytest.approx(9 * alone.p)


def test_what_is_usual_among_many_resolves_what_few_launches_cannot() -> None:
    """Three launches that scatter as all others do: with 2 degrees of freedom of its own the case stays open."""
    rng = np.random.default_rng(0)
    crowd = {f"equal{i}": list(0.02 * rng.standard_normal(3)) for i in range(40)}
    logs = {"a": [0.20, 0.23, 0.18]}
    alone = verdicts(logs | {f"other{i}": [] for i in range(40)})[0]
    among = verdicts(logs | crowd)[0]
    assert (alone.outcome, among.outcome) == ("unresolved", "slower")


def test_the_reason_holds_the_corrected_interval_and_the_launches_needed() -> None:
    """Checked against SciPy: the interval at 1 - 0.05 / 2."""
    values = [0.10, -0.02, 0.08, 0.05]
    verdict = verdicts({"a": values, "b": [0.0, 0.1, -0.1]})[0]
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
    verdict = verdicts({"a": []})[0]
    assert verdict.outcome == "unresolved"
    assert verdict.reason == NeverPaired()
    assert math.isnan(verdict.ratio)
    assert verdict.launches == 0


def test_equal_code_is_never_called_different_by_more_than_the_family_error() -> None:
    """Two hundred whole reports of four variants each, that are one and the same code, with no minimum effect."""
    names = [name for name in VARIANTS if name != "py_function_numpy"][:4]
    curves = {"py_function_numpy": 1e-5, **dict.fromkeys(names, 1e-5)}
    fields = {"sizes": (10,), "launches": 5, "rounds": 4, "drift": 0.05, "between": 0.02}
    reports = [Bench(curves, op=f"op_{seed}", seed=seed, **fields) for seed in range(200)]
    alarms = 0
    for found in judged_alone(reports, 0.0):
        alarms += any(verdict.outcome in ("faster", "slower") for verdict in found)
    assert alarms <= 200 * 0.05 + 3 * math.sqrt(200 * 0.05 * 0.95)


def test_no_verdicts_where_there_is_nothing_to_compare() -> None:
    assert verdicts({}) == []
    assert run_of().frame.empty


def test_what_is_no_number_resolves_nothing() -> None:
    """What is no number must not pass for a small p."""
    verdict = verdicts({"a": [math.nan, -1.0, -1.1]})[0]
    assert verdict.outcome == "unresolved"


def test_every_look_makes_a_verdict_stricter() -> None:
    """By hand: two verdicts at five looks leave a p ten times as large, and the reason says for what."""
    logs = {"a": [0.10, 0.12, 0.07, 0.11], "b": [0.0, 0.1, -0.1, 0.1]}
    once, often = (verdicts(logs, looks=Looks(held)) for held in (1, 5))
    assert (once[0].outcome, often[0].outcome) == ("slower", "unresolved")
    assert often[0].p == pytest.approx(5 * once[0].p)
    assert isinstance(often[0].reason, AcrossBorder)
    assert (often[0].reason.verdicts, often[0].reason.looks) == (2, 5)
    assert once[0].reason is None


def test_a_verdict_says_how_many_launches_would_resolve_it() -> None:
    """At the level that is corrected for verdicts and looks, and the same number as in the reason."""
    middle = [math.log(1.03) + step for step in (-0.1, 0.1)]
    logs = {"a": [0.10, 0.14, 0.04, 0.11], "b": [0.02, 0.1, -0.1, 0.0], "c": middle}
    clear, near, never = verdicts(logs, looks=Looks(2))
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
    verdict = verdicts({"a": values})[0]
    assert (verdict.outcome, verdict.needed, verdict.launches, verdict.trimmed) == ("slower", 8, 8, 1)
    assert verdict.ratio == pytest.approx(math.exp(np.mean(sorted(values)[1:-1])))


# In shares of the baseline's time, as within a run


def test_in_shares_a_verdict_is_on_the_difference_and_its_ratio_is_one_more() -> None:
    """By hand: 10% of today's time is left, so that 90 points are saved; the border lies 3 points from today's."""
    saved = [-0.92, -0.90, -0.88, -0.90]
    found, open_still = verdicts({"a": saved, "b": [-0.02, -0.05, -0.03, -0.04]}, unit=SHARES)
    low, high = Estimate.of(saved).interval()
    assert (found.outcome, found.ratio) == ("faster", pytest.approx(0.1))
    assert (found.low, found.high) == pytest.approx((1 + low, 1 + high))
    assert isinstance(open_still.reason, AcrossBorder)
    assert open_still.reason.border == pytest.approx(0.97)


def test_a_cost_below_nothing_is_shown_as_nothing() -> None:
    (found,) = verdicts({"a": [-1.01, -0.99, -1.0, -1.02]}, unit=SHARES)
    assert (found.outcome, found.ratio, found.low) == ("faster", 0.0, 0.0)
    assert found.high > 0


def test_within_three_points_of_today_is_equivalent() -> None:
    assert [one.outcome for one in verdicts({"a": [0.001, 0.0, -0.001, 0.0]}, unit=SHARES)] == ["equivalent"]


def test_shares_are_differences_by_launch_with_their_errors() -> None:
    rows = [("a", 0, 0.5, 0.01), ("a", 1, 0.7, math.nan), ("b", 0, 2.0, 0.1)]
    found = shares_of(pd.DataFrame(rows, columns=["case", "launch", "value", "error"]))
    np.testing.assert_allclose(found["a"].values, [-0.5, -0.3])
    np.testing.assert_allclose(found["a"].errors, [0.01, math.nan])
    assert [found[case].leverage for case in "ab"] == pytest.approx([0.36, 4.0])


def test_only_ports_share_what_a_run_shifts_them_by() -> None:
    """By hand: a port at 20% of today shifts by 4% of it; what was never paired has no number."""
    shares = {case: Shares(np.array([-0.8, -0.8]), np.zeros(2), 0.04) for case in ("port", "callback")}
    baselines = dict.fromkeys(("port", "callback", "never"), "today")
    port, callback, never = estimates_of(shares, baselines, {"port", "never"}, LaunchModel(run_effect=0.04), 1)
    assert (port.shared, callback.shared) == (pytest.approx(0.008**2), 0.0)
    assert (never.n, never.shared) == (0, 0.0)
