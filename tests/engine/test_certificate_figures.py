"""From verdicts to figures: counts, bounds against SciPy's, and resolution against the level that corrects it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from scipy import stats as scipy_stats

from frames import Bench, run_of
from pyopbench.engine import certificate_figures
from pyopbench.judge.decide import judge
from pyopbench.judge.decision import Verdict
from pyopbench.store.certificate import GivenAnswer, Loss

VERDICT = Verdict("case", "baseline", 1.0, 0.99, 1.01, 4, 0.5, "unresolved")


def verdicts(**outcomes: int) -> list[Verdict]:
    made: list[Any] = [replace(VERDICT, outcome=outcome) for outcome, n in outcomes.items() for _ in range(n)]
    return [replace(one, ratio=1.0 + place / 100) for place, one in enumerate(made)]


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 1_080), (10, 10), (57, 60)])
def test_bounds_are_those_of_scipy(hits: int, n: int) -> None:
    above = scipy_stats.binomtest(hits, n, alternative="less").proportion_ci(0.95, method="exact")
    below = scipy_stats.binomtest(hits, n, alternative="greater").proportion_ci(0.95, method="exact")
    assert certificate_figures.upper_bound(hits, n) == pytest.approx(above.high)
    assert certificate_figures.lower_bound(hits, n) == pytest.approx(below.low)


def test_nothing_is_known_from_no_pairs() -> None:
    assert (certificate_figures.lower_bound(0, 0), certificate_figures.upper_bound(0, 0)) == (0.0, 1.0)
    empty = certificate_figures.count([], 0)
    assert (empty.pairs, empty.ratio, empty.bound) == (0, None, 1.0)


def test_false_verdicts_among_identical_pairs_are_those_that_say_any_difference() -> None:
    found = certificate_figures.count(verdicts(faster=1, slower=2, equivalent=30, unresolved=7), 0)
    assert (found.pairs, found.faster, found.slower, found.equivalent, found.unresolved) == (40, 1, 2, 30, 7)
    assert (found.hits, found.share, found.equivalent_share) == (3, 3 / 40, 30 / 40)
    assert found.equivalent_bound == certificate_figures.lower_bound(30, 40)
    assert found.bound == certificate_figures.upper_bound(3, 40)
    assert found.ratio == pytest.approx(1.195)


def test_slowdowns_are_found_where_they_are_called_slower() -> None:
    found = certificate_figures.count(verdicts(faster=1, slower=8, equivalent=1), 5)
    assert (found.hits, found.share) == (8, 0.8)
    assert found.bound == certificate_figures.lower_bound(8, 10)


def test_a_pair_that_one_launch_measured_has_no_verdict_to_count() -> None:
    assert certificate_figures.count([VERDICT, replace(VERDICT, launches=1)], 0).pairs == 1


def test_the_smallest_effect_is_half_the_corrected_interval() -> None:
    """Two pairs have no usual spread: each has the t interval of its own five launches, whatever runs share besides."""
    curves = {"py_function_numpy": 1e-5, "native": 1e-5, "xla": 2e-5}
    judged = judge(run_of(Bench(curves, sizes=(10,), launches=5)))
    assert len(judged.verdicts) == 2
    expected = []
    for verdict, estimate in zip(judged.verdicts, judged.estimates, strict=True):
        standard_error = (verdict.high - verdict.low) / 2 / scipy_stats.t.ppf(0.975, estimate.degrees)
        expected.append(scipy_stats.t.ppf(1 - 0.05 / 2 / 2, estimate.degrees) * standard_error)
    assert certificate_figures.smallest_effects(judged) == pytest.approx(expected)


def test_pairs_without_an_interval_have_no_smallest_effect() -> None:
    curves = {"py_function_numpy": 1e-5, "native": 1e-5}
    assert certificate_figures.smallest_effects(judge(run_of(Bench(curves, launches=1)))) == []
    assert certificate_figures.smallest_effects(judge(run_of())) == []


def test_a_quantile_is_a_value_that_was_seen() -> None:
    values = [float(value) for value in range(10, 0, -1)]
    assert (certificate_figures.quantile(values, 0.5), certificate_figures.quantile(values, 0.9)) == (5.0, 9.0)
    assert certificate_figures.quantile([7.0], 0.9) == 7.0
    assert certificate_figures.quantile([], 0.5) is None


def test_decisions_are_valued_by_the_other_runs_and_named_with_every_answer() -> None:
    """In the first run native leaves a tenth of the current time, in the second it takes ten times as long as today."""
    curves = {"py_function_numpy": 1e-4, "native": 1e-5}
    fast = judge(run_of(Bench(curves, op="sinh"), Bench(curves, op="log")))
    slow = judge(run_of(Bench({**curves, "native": 1e-3}, op="sinh"), Bench(curves, op="log")))
    same = certificate_figures.decisions_of([fast, fast])
    assert same is not None
    assert (same.runs, same.decisions, same.renamed, same.unbounded, same.covered) == (2, 2, (), 0, 1.0)
    found = certificate_figures.decisions_of([fast, slow])
    assert found is not None
    (renamed,) = found.renamed
    assert (renamed.op, renamed.use) == ("sinh", "inference")
    assert renamed.answers == (GivenAnswer("port", "native"), GivenAnswer("keep", None))
    assert found.worst == Loss("sinh", "inference", pytest.approx(9.0, rel=0.1))
    assert found.mean_loss == pytest.approx((9.0 + 0.9) / 4, rel=0.1)
    assert found.unbounded == 2


def test_one_run_says_nothing_of_how_answers_repeat() -> None:
    assert certificate_figures.decisions_of([]) is None
    assert certificate_figures.decisions_of([judge(run_of(Bench({"py_function_numpy": 1e-4, "native": 1e-5})))]) is None
