"""How quiet the machine was, and what noise leaves open."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from msgspec import structs
from scipy import stats as scipy_stats

from frames import Bench, Noise, normal, spikes
from pyopbench.judge.judge import Judgement, judge_run
from pyopbench.judge.noise import Disturbance, disturbance_of
from pyopbench.stats.estimate import Estimate

TODAY = "py_function_numpy"
EQUAL = {TODAY: 3e-5, **dict.fromkeys(("native", "xla", "traced", "numpy_function", "py_func"), 3e-5)}

NOISY = Disturbance(
    launches=(),
    launches_made=4,
    verdicts=2,
    unresolved=1,
    usual_spread=0.1,
    smallest_effect=0.2501,
    minimum_effect=0.03,
    enough_launches=1200,
)


def disturbance(**changes: Any) -> Disturbance:
    return judge_run(Bench(EQUAL, **changes).run()).disturbance


def of_few(values: list[float], minimum_effect: float = 0.03, level: float = 0.95) -> Disturbance:
    """Judge one comparison, of which nothing is usual but itself."""
    run = Bench({TODAY: 1.0}, launches=len(values)).run()
    return disturbance_of(run, (), [Estimate.of(values)], minimum_effect, level)


def test_a_quiet_machine_is_not_too_noisy() -> None:
    found = disturbance(between=0.002, within=0.002)
    assert not found.too_noisy
    assert found.smallest_effect is not None
    assert found.smallest_effect < 0.03


def test_a_noisy_machine_is_too_noisy_and_how_many_launches_would_be_enough_is_known() -> None:
    found = judge_run(Bench({TODAY: 3e-5, "py_func": 2.6e-5}, between=0.1, launches=4).run()).disturbance
    assert found.too_noisy
    assert found.enough_launches is not None
    assert found.enough_launches > 4
    assert found.smallest_effect is not None
    assert found.smallest_effect > 0.03


def test_the_usual_spread_is_what_ratios_vary_by() -> None:
    """Two cases vary by 5% each between launches, so that their ratio varies by 5% times the root of 2."""
    found = disturbance(between=0.05, within=0.0, launches=8, sizes=tuple(10**n for n in range(1, 7)))
    assert found.usual_spread == pytest.approx(0.05 * math.sqrt(2), rel=0.25)


def test_the_smallest_effect_is_half_of_an_interval() -> None:
    values = [0.00, 0.02, 0.05, 0.01]
    low, high = scipy_stats.t.interval(0.99, 3, scale=Estimate.of(values).standard_error)
    assert of_few(values, level=0.99).smallest_effect == pytest.approx((high - low) / 2)


def of_unresolved(needed: list[int | None]) -> Disturbance:
    run = Bench(EQUAL, launches=2).run()
    verdict = next(iter(judge_run(run).verdicts))
    verdicts = [replace(verdict, outcome="unresolved", needed=launches) for launches in needed]
    return disturbance_of(run, verdicts, [Estimate.of([0.0, 0.1])], 0.03, 0.95)


@pytest.mark.parametrize(
    ("needed", "enough"),
    [([9], 9), ([3, 40], 3), ([7, 3, 40], 7), ([3, None, 7], 7), ([None, 3], 3), ([None, None, 3], None), ([], None)],
)
def test_enough_launches_resolve_half_of_the_unresolved(needed: list[int | None], enough: int | None) -> None:
    assert of_unresolved(needed).enough_launches == enough


PORTS = ("native", "xla", "traced", "custom_op")
FAR_APART = {TODAY: 3e-3} | {name: 3e-3 * 0.03 * 2**place for place, name in enumerate(PORTS)}
SIZES = tuple(10**n for n in range(1, 7))


def halves_of(judged: Judgement) -> list[float]:
    """Return half of each verdict's interval, at the level that is corrected for all verdicts."""
    tail = 1 - 0.05 / len(judged.verdicts) / 2
    degrees = [one.degrees for one in judged.estimates]
    halves = [(verdict.high - verdict.low) / 2 for verdict in judged.verdicts]
    wider = scipy_stats.t.ppf(tail, degrees) / scipy_stats.t.ppf(0.975, degrees)
    return [half * float(by) for half, by in zip(halves, wider, strict=True)]


def test_launches_can_show_whatever_verdicts_show() -> None:
    """Ports vary the less the faster they are: by one spread for all, launches would seem to show far less."""
    judged = judge_run(Bench(FAR_APART, launches=2, between=0.3, sizes=SIZES).run())
    assert judged.disturbance.smallest_effect is not None
    assert judged.disturbance.smallest_effect <= statistics.median(halves_of(judged)) * (1 + 1e-9)


def test_what_runs_differ_by_is_no_noise_of_the_machine() -> None:
    """Ports that are as fast as the callback shift by 4% from run to run, however quiet the launches are."""
    judged = judge_run(Bench(EQUAL, between=0.002, within=0.002).run())
    assert judged.disturbance.smallest_effect is not None
    assert judged.disturbance.smallest_effect < 0.03 < statistics.median(halves_of(judged))


@pytest.mark.parametrize("launches", [0, 1])
def test_one_launch_tells_nothing_about_its_spread(launches: int) -> None:
    found = judge_run(Bench(EQUAL, launches=launches).run()).disturbance
    assert (found.usual_spread, found.smallest_effect, found.enough_launches) == (None, None, None)
    assert not found.too_noisy
    assert len(found.launches) == launches


def test_noise_that_leaves_no_verdict_open_is_no_reason_to_warn() -> None:
    curves = {TODAY: 3e-5, "native": 3e-7, "xla": 3e-3}
    found = judge_run(Bench(curves, between=0.05).run()).disturbance
    assert found.smallest_effect is not None
    assert found.smallest_effect > 0.03
    assert (found.unresolved, found.too_noisy) == (0, False)


def test_verdicts_that_no_quiet_machine_could_resolve_are_no_reason_to_warn() -> None:
    """One launch has nothing to tell its spread by; that is told where the verdict is."""
    one = judge_run(Bench({TODAY: 3e-5, "native": 3e-5}, launches=1).run())
    values = [Estimate.of([0.0, 0.2, -0.2])]
    found = disturbance_of(one.run, one.verdicts, values, 0.03, 0.95)
    assert (found.verdicts, found.unresolved, found.too_noisy) == (3, 0, False)
    assert found.smallest_effect is not None
    assert found.smallest_effect > 0.03


@pytest.mark.parametrize(("noise", "share"), [(normal, 0.0), (spikes, 0.1)])
def test_the_share_of_far_blocks_is_that_of_the_spikes(noise: Noise, share: float) -> None:
    """Spikes slow one block in ten down by thirty standard deviations."""
    found = disturbance(noise=noise, rounds=40)
    assert len(found.launches) == 6
    for launch in found.launches:
        assert launch.blocks == 6 * 3 * 40
        assert launch.far_share == pytest.approx(share, abs=0.04)


def test_few_blocks_tell_no_far_ones() -> None:
    assert {launch.far_share for launch in disturbance(rounds=5).launches} == {None}


def test_what_went_on_is_summed_over_the_groups_of_a_launch() -> None:
    run = Bench(EQUAL, launches=2).run()
    run.environment = {**run.environment, "cores": 4}
    group = {
        "run": "made-up", "launch": 0, "group": "a", "wall_seconds": 10.0, "cpu_seconds": 5.0, "steal_seconds": 2.0,
        "switches": 30, "collections": 1, "load": 0.5, "mhz_low": 2000.0, "mhz_high": 2600.0,
    }  # fmt: skip
    other = {**group, "group": "b", "steal_seconds": 6.0, "load": 1.5, "mhz_low": 1000.0, "switches": 10}
    unknown = {**group, "launch": 1, "steal_seconds": math.nan, "load": math.nan, "mhz_low": math.nan}
    run.noise = pd.DataFrame([group, other, unknown])
    first, second = judge_run(run).disturbance.launches
    assert first.steal_share == pytest.approx(8 / (20 * 4))
    assert (first.load, first.mhz_low, first.mhz_high) == (1.5, 1000.0, 2600.0)
    assert (first.switches_per_second, first.collections) == (2.0, 2)
    assert (second.steal_share, second.load, second.mhz_low) == (None, None, None)


def test_results_from_before_noise_was_recorded_are_judged() -> None:
    run = Bench(EQUAL, launches=2).run()
    run.noise = run.noise.iloc[:0]
    launch = judge_run(run).disturbance.launches[0]
    assert (launch.steal_share, launch.switches_per_second, launch.collections) == (None, None, None)
    assert launch.blocks > 0


def test_a_noisy_machine_is_told_with_what_to_do() -> None:
    assert NOISY.warning_text() == (
        "In a typical comparison launches differ by 10% of the current time. 4 launches cannot show a difference below "
        "25% there, once intervals are corrected for 2 comparisons. 1 is unresolved; about 1,200 launches would "
        "resolve it (--launches 1200, with enough --budget). Stop other work, or pin the run to idle cores (taskset "
        "-c 0,1 pyopbench run ...). Or accept a larger minimum effect (--min-effect 0.26)."
    )


def test_a_terminal_has_the_same_in_one_line() -> None:
    unresolved = "1 of 2 comparisons unresolved"
    assert NOISY.line_text(0, 3) == f"Noise: answers are clear, {unresolved}; --launches 1200 would resolve it"
    assert NOISY.line_text(1, 3) == f"Noise: 1 of 3 answers undecided, {unresolved}"
    assert replace(NOISY, enough_launches=None).line_text(2, 3) == (
        f"Noise: 2 of 3 answers undecided, {unresolved}; stop other work on the machine"
    )
    assert replace(NOISY, unresolved=2, enough_launches=8).line_text(0, 3) == (
        "Noise: answers are clear, 2 of 2 comparisons unresolved; --launches 8 would resolve half of them"
    )
    assert replace(NOISY, unresolved=0).line_text(0, 3) == ""


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"most_launches": 8}, ("--launches 1200",)),
        ({"most_launches": 8, "ends_early": True}, ("--until resolved", "--launches 1200")),
        ({"most_launches": 8, "ends_early": True, "enough_launches": 4}, ("--until resolved",)),
        ({"most_launches": 8, "enough_launches": 4}, ()),
        ({"most_launches": 8, "enough_launches": 9}, ("--launches 9",)),
        ({"is_unlimited": True, "ends_early": True}, ("--until resolved",)),
        ({"is_unlimited": True}, ()),
    ],
)
def test_launches_that_a_run_could_have_made_anyway_are_no_remedy(
    changes: dict[str, Any], options: tuple[str, ...]
) -> None:
    """A run that ends early has made fewer launches than it could; one that its budget has ended needs a longer one."""
    assert replace(NOISY, **changes).remedy() == options


@pytest.mark.parametrize(("until", "ends_early"), [("decided", True), ("resolved", False), ("end", False)])
def test_how_a_run_ends_is_taken_from_its_settings(until: str, ends_early: bool) -> None:
    run = Bench(EQUAL, launches=2).run()
    settings = structs.replace(run.settings, until=until, launches=7)
    run = SimpleNamespace(**{**vars(run), "settings": settings})
    found = disturbance_of(run, (), [Estimate.of([0.0, 0.1])], 0.03, 0.95)
    assert (found.most_launches, found.ends_early) == (7, ends_early)


def test_what_nobody_waits_for_has_no_number_of_launches_and_no_effect_above_one() -> None:
    assert replace(NOISY, unresolved=2, smallest_effect=10.1, enough_launches=None).warning_text() == (
        "In a typical comparison launches differ by 10% of the current time. 4 launches cannot even show a factor of "
        "two there, once intervals are corrected for 2 comparisons. 2 are unresolved; to resolve half of them would "
        "take more than 1,000 launches. Stop other work, or pin the run to idle cores (taskset -c 0,1 pyopbench run "
        "...)."
    )


def test_a_run_that_only_its_budget_limits_needs_a_longer_one() -> None:
    unlimited = replace(NOISY, is_unlimited=True)
    assert unlimited.line_text(0, 3) == (
        "Noise: answers are clear, 1 of 2 comparisons unresolved; a longer --budget would resolve it"
    )
    assert unlimited.warning_text() == (
        "In a typical comparison launches differ by 10% of the current time. 4 launches cannot show a difference below "
        "25% there, once intervals are corrected for 2 comparisons. 1 is unresolved; about 1,200 launches would "
        "resolve it (a longer --budget). Stop other work, or pin the run to idle cores (taskset -c 0,1 pyopbench run "
        "...). Or accept a larger minimum effect (--min-effect 0.26)."
    )


def test_noise_that_leaves_nothing_open_is_no_warning() -> None:
    assert replace(NOISY, unresolved=0).warning_text() == ""
    assert replace(NOISY, smallest_effect=0.02).warning_text() == ""


@pytest.mark.parametrize(
    ("effect", "said"),
    [
        (0.25, "4 launches cannot show a difference below 25%"),
        (1.0, "4 launches cannot show a difference below 100%"),
        (3.89, "4 launches cannot even show a factor of two"),
    ],
)
def test_what_so_few_launches_can_tell(effect: float, said: str) -> None:
    assert replace(NOISY, smallest_effect=effect).reach_text() == said
