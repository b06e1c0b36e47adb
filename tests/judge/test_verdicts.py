"""Outcomes of variants, of sides and of A/A controls, and reasons for having none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from msgspec import structs

from frames import NODE, VARIANTS, Bench, run_of, variant
from pyopbench.judge.decision import CaseVerdict, Verdict
from pyopbench.judge.judge import compare_variants
from pyopbench.judge.latencies import baseline_of, measured_cases
from pyopbench.judge.verdicts import (
    Controls,
    controls_of,
    estimates_of,
    not_above_zero,
    shares_of,
    shares_of_pairs,
    verdicts_from,
    verdicts_on,
)
from pyopbench.model import formatting
from pyopbench.model.case import Case
from pyopbench.stats import costs, estimate
from pyopbench.stats import estimate as statistics
from pyopbench.stats.estimate import FEWEST_CASES, OWN, Estimate, Launches, Spread, usual_spread
from pyopbench.store.measured_run import Costs

GRADIENTS = VARIANTS["py_function_numpy"].gradients

TODAY = "py_function_numpy"
PAIRS = {"xla": "native", "py_function": TODAY, "py_func": "numpy_function"}
"""Each stands for a control of what it is paired with: a copy of a port, of the current callback, of another one."""
COSTS = {TODAY: 1e-4, "py_function": 1e-4, "numpy_function": 5e-5, "py_func": 5e-5, "native": 1e-6, "xla": 1e-6}
TWIN = TODAY + "_twin"


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
        spread = usual_spread(own.values()) if len(own) >= FEWEST_CASES else OWN
        verdicts = verdicts_from(estimates_of(own, compared, (), spread), compared, minimum_effect)
        assert [verdict.case for verdict in verdicts] == list(compared)
        yield verdicts


def verdicts(values: dict[str, list[float]], minimum_effect: float = 0.03, error: float = 0.05) -> list[CaseVerdict]:
    """Verdicts of differences by launch, moved towards what is usual among them where they are many."""
    launches = [Launches(np.array(differences)) for differences in values.values()]
    spread = usual_spread(launches) if len(launches) >= FEWEST_CASES else OWN
    estimates = [spread.estimate(one) for one in launches]
    return verdicts_on(estimates, minimum_effect, error, of_shares=True)


def test_each_outcome() -> None:
    curves = {"py_function_numpy": 1e-5, "native": 0.5e-5, "xla": 2e-5, "traced": 1.01e-5, "autograph": 1.03e-5}
    found = judged(Bench(curves, sizes=(10,), within=0.003, between=0.001, launches=8))
    assert {key: verdict.outcome for key, verdict in found.items()} == {
        "native@10": "faster",
        "xla@10": "slower",
        "traced@10": "equivalent",
        "autograph@10": "unresolved",
    }
    assert found["native@10"].ratio == pytest.approx(0.5, rel=0.01)
    assert found["native@10"].low < found["native@10"].ratio < found["native@10"].high
    assert [verdict.launches for verdict in found.values()] == [8] * 4


def test_verdicts_are_corrected_for_all_of_them_together() -> None:
    """The same numbers resolve alone and not among five, too few for anything to be usual."""
    logs = {"a": [0.10, 0.13, 0.05, 0.14, 0.04]}
    alone = verdicts(logs)[0]
    among = verdicts(logs | {f"open{i}": [0.3, -0.3, 0.2, -0.2, 0.1] for i in range(4)})[0]
    assert alone.outcome == "slower"
    assert among.outcome == "unresolved"
    assert among.p == pytest.approx(5 * alone.p)


def test_what_is_usual_among_many_resolves_what_few_launches_cannot() -> None:
    """Three launches that scatter as all others do: with 2 degrees of freedom of its own the case stays open."""
    rng = np.random.default_rng(0)
    crowd = {f"equal{i}": list(0.02 * rng.standard_normal(3)) for i in range(40)}
    logs = {"a": [0.20, 0.29, 0.12]}
    alone = verdicts(logs | {f"other{i}": [] for i in range(FEWEST_CASES - 2)})[0]
    among = verdicts(logs | crowd)[0]
    assert (alone.outcome, among.outcome) == ("unresolved", "slower")


def test_the_reason_holds_the_corrected_interval_and_the_launches_needed() -> None:
    """Checked against SciPy: the interval at 1 - 0.05 / 2."""
    values = [0.10, -0.02, 0.08, 0.05]
    verdict = verdicts({"a": values, "b": [0.0, 0.1, -0.1]})[0]
    half = 4.17653 * 0.0525198 / 2  # t(0.9875, 3) and the deviation of `values`
    low, high = 1.0525 - half, 1.0525 + half
    assert verdict.reason is not None
    interval = f"(corrected for 2 verdicts) is {formatting.ratio(low)} to {formatting.ratio(high)} and includes 1.03×"
    assert interval in verdict.reason
    assert f"about {verdict.needed} launches instead of 4 would decide it" in verdict.reason
    assert verdict.needed is not None
    assert 4 < verdict.needed < 100


@pytest.mark.nightly
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


def test_what_is_no_number_resolves_nothing() -> None:
    """What is no number must not pass for a small p."""
    verdict = verdicts({"a": [math.nan, -1.0, -1.1]})[0]
    assert verdict.outcome == "unresolved"


def test_a_smaller_error_makes_a_verdict_stricter() -> None:
    logs = {"a": [0.10, 0.12, 0.07, 0.11], "b": [0.0, 0.1, -0.1, 0.1]}
    final, interim = (verdicts(logs, error=error) for error in (0.05, 0.001))
    assert (final[0].outcome, interim[0].outcome) == ("slower", "unresolved")
    assert interim[0].p == final[0].p
    assert "includes" in str(interim[0].reason)


def test_a_verdict_says_how_many_launches_would_resolve_it() -> None:
    """At the level that is corrected for all verdicts."""
    logs = {"a": [0.10, 0.14, 0.01, 0.11], "b": [0.02, 0.1, -0.1, 0.0], "c": [0.03 + step for step in (-0.1, 0.1)]}
    clear, near, never = verdicts(logs)
    for name, verdict in (("a", clear), ("b", near)):
        assert verdict.outcome == "unresolved"
        assert verdict.needed == Estimate.of(logs[name]).launches_to_clear(0.03, 1 - 0.05 / 3)
    assert clear.needed is not None
    assert near.needed is not None
    assert 4 < clear.needed < near.needed
    assert never.needed is None
    resolved = verdicts({"a": [0.10, 0.12, 0.11, 0.09, 0.10]})[0]
    assert (resolved.outcome, resolved.needed, resolved.fewest) == ("slower", 5, 5)


def test_verdicts_of_one_op_and_use_are_corrected_together() -> None:
    ids = [
        Case(op, "native", "none", "forward", "call", "float32", size).id for op in ("sinh", "cube") for size in (1, 2)
    ]
    estimates = [Estimate.of(values) for values in ([0.10, 0.13, 0.05, 0.14], *[[0.3, -0.3, 0.2, -0.1]] * 3)]
    found = verdicts_from(estimates, dict.fromkeys(ids, "z"), 0.03, 0.05)
    assert [one.case for one in found] == ids
    assert found[0].p == pytest.approx(2 * estimates[0].border_p(0.03))


def test_in_shares_a_verdict_is_on_the_difference_and_its_ratio_is_one_more() -> None:
    """By hand: 10% of today's time is left, so that 90 points are saved; the border lies 3 points from today's."""
    saved = [-0.92, -0.90, -0.88, -0.90]
    found, open_still = verdicts({"a": saved, "b": [-0.02, -0.05, -0.03, -0.04]})
    low, high = Estimate.of(saved).interval()
    assert (found.outcome, found.ratio) == ("faster", pytest.approx(0.1))
    assert (found.low, found.high) == pytest.approx((1 + low, 1 + high))
    assert open_still.reason is not None
    assert "includes 0.970×" in open_still.reason


def test_a_cost_below_nothing_is_shown_as_nothing() -> None:
    (found,) = verdicts({"a": [-1.01, -0.99, -1.0, -1.02]})
    assert (found.outcome, found.ratio, found.low) == ("faster", 0.0, 0.0)
    assert found.high > 0


def test_shares_are_differences_by_launch_with_their_errors() -> None:
    rows = [("a", 0, 0.5, 0.01), ("a", 1, 0.7, math.nan), ("b", 0, 2.0, 0.1)]
    found = shares_of(pd.DataFrame(rows, columns=["case", "launch", "value", "error"]))
    np.testing.assert_allclose(found["a"].values, [-0.5, -0.3])
    np.testing.assert_allclose(found["a"].errors, [0.01, math.nan])
    assert [found[case].leverage for case in "ab"] == pytest.approx([0.36, 4.0])


def test_only_ports_share_what_a_run_shifts_them_by() -> None:
    """By hand: a port at 20% of today shifts by 4% of it; what was never paired has no number."""
    shares = {case: Launches(np.array([-0.8, -0.8]), np.zeros(2), 0.04) for case in ("port", "callback")}
    baselines = dict.fromkeys(("port", "callback", "never"), "today")
    port, callback, never = estimates_of(shares, baselines, {"port", "never"}, OWN)
    assert (port.shared, callback.shared) == (pytest.approx(0.008**2), 0.0)
    assert (never.n, never.shared) == (0, 0.0)


def estimates(n: int = 36) -> list[Estimate]:
    rng = np.random.default_rng(0)
    means = [math.log(0.69), *[0.0] * (n - 1)]
    return [Estimate.of(mean + rng.normal(0.0, 0.1, 8)) for mean in means]


def test_a_verdict_of_sides_follows_from_p_and_shows_the_interval_of_95_percent() -> None:
    found = verdicts_on(estimates(), 0.03)
    assert [one.outcome == "unresolved" for one in found] == [one.p > 0.05 for one in found]
    for verdict, one in zip(found, estimates(), strict=True):
        assert (verdict.low, verdict.high) == pytest.approx(tuple(map(math.exp, one.interval(0.95))))
    assert found[0].outcome == "faster"


def test_what_has_no_interval_says_why_and_shares_no_error() -> None:
    found = verdicts_on([Estimate.of([]), Estimate.of([0.1]), Estimate.of([0.10, 0.12, 0.11])], 0.03)
    assert [(one.reason or "").split()[0:1] for one in found] == [["never"], ["one"], []]
    assert math.isnan(found[1].low)
    assert found[2].p == Estimate.of([0.10, 0.12, 0.11]).border_p(math.log1p(0.03))


def nodes(slopes: dict[str, list[float]]) -> pd.DataFrame:
    """Return samples of mode node: for each case the cost of a copy in each launch, beside 100 us of the call."""
    rows = []
    for case, by_launch in slopes.items():
        for launch, cost in enumerate(by_launch):
            row = {"case": case, "tool": "pyopbench", "run": "r", "launch": launch, "mode": "node", "calls": 1}
            row |= {"copies": 4, "floor_seconds": 1e-4, "seconds": 1e-4 + cost * 4}
            rows += [{**row, "round": i} for i in range(3)]
    return pd.DataFrame(rows)


def test_a_cost_that_is_not_above_zero_in_some_launch_has_no_ratio() -> None:
    frame = nodes({"clear": [1e-6, 2e-6], "small": [1e-8, -1e-8, 1e-8], "none": [-1e-8]})
    found = not_above_zero(estimate.launches_by_case(estimate.launch_logs(costs.round_costs(frame, estimate.UNIT))))
    assert list(found) == ["none", "small"]
    verdict = found["small"]
    assert verdict.outcome == "unresolved"
    assert verdict.reason is not None
    assert verdict.reason == "too small for a ratio: in 1 of 3 launches its cost is not above zero"
    assert math.isnan(verdict.ratio)


def pairs_verdicts(costs: dict[str, float], **changes: Any) -> dict[str, Verdict]:
    """Return the verdict on each control of a run of one size, by its name."""
    bench = Bench(costs, sizes=(10,), mode=NODE, launches=8, rounds=40, within=0.002, between=0.001, **changes)
    run = run_of(bench)
    run.settings = structs.replace(run.settings, pairs=PAIRS)
    found = compare_variants(run, TODAY, 0.03)  # type: ignore[arg-type]
    assert not found.choices
    return {Case.from_id(verdict.case).variant: verdict for verdict in found.verdicts}


def test_identical_pairs_are_equal() -> None:
    found = pairs_verdicts(COSTS)
    assert {name: verdict.outcome for name, verdict in found.items()} == dict.fromkeys(PAIRS, "equivalent")
    assert {Case.from_id(verdict.baseline).variant for verdict in found.values()} == set(PAIRS.values())


def test_a_port_differs_by_points_of_the_current_callbacks_time() -> None:
    """Half a microsecond more is half of the port, and half a point of today's 100 us; 5 us more are 5 points."""
    near = pairs_verdicts({**COSTS, "xla": 1.5e-6})["xla"]
    assert (near.outcome, near.ratio) == ("equivalent", pytest.approx(1.005, abs=0.002))
    far = pairs_verdicts({**COSTS, "xla": 6e-6})["xla"]
    assert (far.outcome, far.ratio) == ("slower", pytest.approx(1.05, abs=0.003))


def test_a_callback_differs_by_points_of_the_current_ones_time() -> None:
    """A tenth of 50 us is 5 points of 100 us."""
    found = pairs_verdicts({**COSTS, "py_func": 5.5e-5, "py_function": 1.05e-4})
    assert (found["py_func"].outcome, found["py_func"].ratio) == ("slower", pytest.approx(1.05, abs=0.01))
    assert (found["py_function"].outcome, found["py_function"].ratio) == ("slower", pytest.approx(1.05, abs=0.01))
    assert found["xla"].outcome == "equivalent"


def test_on_a_busy_machine_a_copy_is_no_cheaper_than_its_original() -> None:
    """Blocks vary by so much that the callback costs less than nothing in many rounds, which have no ratio."""
    bench = Bench(COSTS, sizes=(10,), mode=NODE, launches=40, rounds=200, within=0.4, between=0.0, copies=1, seed=3)
    run = run_of(bench)
    run.settings = structs.replace(run.settings, pairs={"py_function": TODAY})
    (verdict,) = compare_variants(run, TODAY, 0.03).verdicts  # type: ignore[arg-type]
    error = (verdict.high - verdict.low) / 4
    assert verdict.ratio == pytest.approx(1.0, abs=3 * error)
    assert error < 0.06


def test_of_skewed_noise_a_slowdown_is_found_in_full() -> None:
    """Costs vary by a lognormal of 0.8 to the right, and so do those of the slowed copy, which are 10% more each.

    The median of differences would find 8.6%.
    """
    rng, launches, rounds = np.random.default_rng(5), 40, 4_000
    shape = (launches, rounds)
    today, slowed = (factor * np.exp(rng.normal(0.0, 0.8, shape)) for factor in (1.0, 1.1))
    at = np.indices(shape).reshape(2, -1)
    frame = pd.concat(
        pd.DataFrame({"case": case, "tool": "", "run": "", "launch": at[0], "round": at[1], "seconds": costs.ravel()})
        for case, costs in (("today", today), ("slowed", slowed))
    )
    found = shares_of_pairs(frame, {"slowed": "today"}, {"slowed": "today"})["slowed"]
    assert found.values.mean() == pytest.approx(0.1, abs=0.007)


def test_a_pair_without_the_current_callback_has_no_verdict() -> None:
    run = run_of(Bench({name: COSTS[name] for name in ("native", "xla", "numpy_function", "py_func")}, sizes=(10,)))
    run.settings = structs.replace(run.settings, pairs=PAIRS)
    found = {Case.from_id(one.case).variant: one for one in compare_variants(run, TODAY, 0.03).verdicts}  # type: ignore[arg-type]
    assert {name: verdict.launches for name, verdict in found.items()} == {"xla": 0, "py_func": 0}
    assert {verdict.outcome for verdict in found.values()} == {"unresolved"}


def found(seconds: float) -> Controls:
    """Return the twins of a run in which the twin of the callback, which is 100 us, costs `seconds`."""
    bench = Bench({TODAY: 1e-4}, sizes=(10,), between=0.001, within=0.001)
    run = bench.run()
    beside = run.frame.copy()
    case = str(beside["case"].iloc[0])
    beside["case"], beside["variant"] = case.replace(TODAY, TWIN), TWIN
    beside["seconds"] *= seconds / 1e-4
    beside["seconds"] *= 1 + 1e-3 * (beside["launch"] % 3 - 1)
    parts = {TWIN: variant("part", role="twin")}
    changed = {
        "catalogue": structs.replace(run.catalogue, parts=parts),
        "costs": Costs(cases=(beside["case"].iloc[0],), frame=beside),
    }
    return controls_of(SimpleNamespace(**{**vars(run), **changed}), Spread(0.002**2), 0.03)  # type: ignore[arg-type]


def test_what_differs_by_less_than_the_effect_is_equal() -> None:
    twins = found(1.005e-4)
    (pair,) = twins.pairs
    assert (pair.case.split("/")[1], pair.baseline.split("/")[1]) == (TWIN, TODAY)
    assert pair.ratio == pytest.approx(1.005, abs=0.002)
    assert pair.outcome == "equivalent"
    assert twins.differing == ()
    assert [one.outcome for one in found(1.5e-4).differing] == ["slower"]
