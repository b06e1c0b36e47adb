"""What there is to decide, and what is missing in it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from frames import VARIANTS, Bench, Curve, run_of
from pyopbench.judge.candidates import Setting, SettingComparison, comparisons_of, settings_of
from pyopbench.judge.latencies import baseline_of, latency_table
from pyopbench.judge.program import even_mix
from pyopbench.model.case import Case, Failure
from pyopbench.stats import costs, estimate
from pyopbench.stats.estimate import UNKNOWN

TODAY = "py_function_numpy"


def compared(run: Any, direction: str = "forward") -> SettingComparison:
    latencies = latency_table(run.frame, run.catalogue)
    baselines = baseline_of(latencies, TODAY, VARIANTS[TODAY].gradients)
    ratios = costs.ratios(costs.round_costs(run.frame, estimate.UNIT), baselines, estimate.UNIT)
    (found,) = comparisons_of(run, latencies, ratios, UNKNOWN, TODAY)
    assert found.setting == Setting("sinh", direction, str(run.frame["mode"].iloc[0]), "float32", "cpu")
    return found


def test_settings_follow_the_catalogue_and_inference_comes_first() -> None:
    directions = ("forward", "backward", "forward_backward")
    run: Any = run_of(Bench({TODAY: 1.0}, op="zeta", directions=directions), Bench({TODAY: 1.0}, op="absent"))
    assert [(one.op, one.use) for one in settings_of(run)] == [
        ("zeta", "inference"),
        ("zeta", "training"),
        ("absent", "inference"),
    ]


def test_a_skipped_dtype_of_a_measured_op_is_no_setting() -> None:
    skip = Failure(Case("sinh", TODAY, "none", "forward", "call", "float64", 10).id, "unsupported", "no")
    run: Any = run_of(Bench({TODAY: 1.0}), failures=[skip])
    assert [one.dtype for one in settings_of(run)] == ["float32"]


def test_a_comparison_holds_shares_by_launch_and_size() -> None:
    comparison = compared(Bench({TODAY: 2.0, "native": {1_000: 1.0, 10_000: 4.0}}, within=0, between=0).run())
    (native,) = comparison.candidates
    assert (native.label, native.kind, native.effort) == ("native", "port", 3)
    saved = comparison.contrasts.over(even_mix((1_000,)), TODAY, "native")
    assert (saved.n, saved.mean) == (6, pytest.approx(0.5))
    assert comparison.contrasts.lacks(even_mix((1_000, 100_000)), "native") == (100_000,)
    assert comparison.contrasts.labels == (TODAY, "native")
    assert comparison.contrasts.ports == {"native"}
    assert comparison.seconds == pytest.approx({1_000: 2.0, 10_000: 2.0, 100_000: 2.0})
    assert comparison.curves["native"].tolist()[:2] == pytest.approx([1.0, 4.0])
    assert comparison.statuses("native", [100_000]) == ("timeout",)
    assert comparison.statuses("xla", [10, 1_000]) == ()


def test_the_usual_gradient_is_the_baseline_even_where_it_lacks_a_size() -> None:
    """At 100k another gradient of the baseline was measured alone; it does not stand in for the usual one."""
    curves: dict[str, Curve] = {TODAY: {1_000: 1.0, 10_000: 1.0}, f"{TODAY}+override_map": 2.0, "native": 3.0}
    comparison = compared(Bench(curves, directions=("forward_backward",)).run(), "forward_backward")
    assert comparison.baseline == TODAY
    assert list(comparison.seconds) == [1_000, 10_000]
    assert [one.label for one in comparison.candidates] == ["native", f"{TODAY}+override_map"]
    assert comparison.contrasts.sizes == (1_000, 10_000)
    assert comparison.planned == (1_000, 10_000, 100_000)


def test_a_baseline_that_has_only_another_gradient_is_named_by_it() -> None:
    curves = {f"{TODAY}+override_map": 2.0, "native": 3.0}
    comparison = compared(Bench(curves, directions=("forward_backward",)).run(), "forward_backward")
    assert comparison.baseline == f"{TODAY}+override_map"


def test_a_variant_that_the_catalogue_does_not_know_takes_most_effort() -> None:
    run: Any = Bench({TODAY: 2.0, "native": 1.0}).run()
    run.catalogue = structs.replace(run.catalogue, variants={TODAY: VARIANTS[TODAY]})
    (native,) = compared(run).candidates
    assert (native.kind, native.effort) == ("port", float("inf"))


def test_a_size_at_which_today_costs_nothing_has_no_shares() -> None:
    """A share of nothing is no number; the size is as good as not measured."""
    cost = {1_000: 0.0, 10_000: 1e-4}
    run = Bench({TODAY: cost, "native": 1e-5}, sizes=(1_000, 10_000), mode="node", between=0, within=0).run()
    run.frame["seconds"] -= 1e-9 * run.frame["calls"] * (run.frame["size"] == 1_000)
    comparison = compared(run)
    assert list(comparison.seconds) == [10_000]
    assert [one.label for one in comparison.candidates] == ["native"]
    assert comparison.contrasts.sizes == (10_000,)
    assert comparison.planned == (1_000, 10_000)


def test_a_gradient_without_a_cost_gives_way_to_one_that_can_be_compared_with() -> None:
    curves = {TODAY: 0.0, f"{TODAY}+override_map": 1e-4, "native": 1e-5}
    run = Bench(curves, directions=("forward_backward",), sizes=(1_000,), mode="node", between=0, within=0).run()
    run.frame["seconds"] -= 1e-9 * run.frame["calls"] * (run.frame["gradient"] == VARIANTS[TODAY].gradients[0])
    comparison = compared(run, "forward_backward")
    assert comparison.baseline == f"{TODAY}+override_map"
    assert list(comparison.seconds) == [1_000]
