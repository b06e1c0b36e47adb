"""From samples to verdicts to one decision per op and use: keep the callback, switch, port, or undecided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench import stats
from pyopbench.answers import Decision, SizeRange, Verdict
from pyopbench.bounds import Bound, Limits, bounds_of, limits_of
from pyopbench.choice import Choice, Rules, choose, usual_gain_spread
from pyopbench.comparison import Comparison, compare, settings_of
from pyopbench.crossovers import course_of, crossovers
from pyopbench.disturbance import Disturbance, disturbance_of
from pyopbench.errors import BadInput
from pyopbench.flips import flips
from pyopbench.latencies import baseline_of, checked_frame, latency_table, usual_gradients
from pyopbench.mix import Mix, calls_mix, even_mix
from pyopbench.model import BASELINE, MINIMUM_EFFECT
from pyopbench.reasons import reason_of
from pyopbench.spending import Looks
from pyopbench.split import Split, splits_of
from pyopbench.verdicts import verdicts_of

if TYPE_CHECKING:
    from pyopbench.readers import Run


@dataclass(frozen=True, eq=False)
class Judgement:
    """All that a report is made of.

    Attributes:
        run: what was judged.
        baseline: the callback of today, a variant.
        minimum_effect: a relative difference that is worth acting on.
        mix: size -> how often it is called; None for shares that are even over the log of the size.
        latencies: one row per measured case, as `latencies.latency_table`; without cases that were found wrong.
        verdicts: in the order of `latencies`.
        decisions: ops in the order of the catalogue, inference before training.
        comparisons: what each decision was made from, in the same order.
        rulebook: what all decisions have in common.
        disturbance: how quiet the machine was.
        splits: where the time of callbacks goes, in the order of `latencies`; none if it was not measured.
        limits: what the machine can do at most; None if it was not measured.
        bounds: how near forward calls come to that, in the order of `latencies`; none without limits.
    """

    run: Run
    baseline: str
    minimum_effect: float
    mix: Mapping[int, float] | None
    latencies: pd.DataFrame
    verdicts: tuple[Verdict, ...]
    decisions: tuple[Decision, ...]
    comparisons: tuple[Comparison, ...]
    rulebook: Rulebook
    disturbance: Disturbance
    splits: tuple[Split, ...] = ()
    limits: Limits | None = None
    bounds: tuple[Bound, ...] = ()


def judge(
    run: Run,
    baseline: str = BASELINE,
    minimum_effect: float = MINIMUM_EFFECT,
    mix: Mapping[int, float] | None = None,
) -> Judgement:
    """Judge a run: latencies, verdicts and decisions. The same samples in any order give the same judgement.

    Args:
        run: what was measured.
        baseline: the callback of today, a variant.
        minimum_effect: a relative difference that is worth acting on (0.03 is 3%), at least 0 and below 1.
        mix: size -> how often it is called, as from `mix.read_mix`; None spreads today's time evenly over the log of
            the size.

    Raises:
        BadInput: the baseline is no variant of the run, the minimum effect is out of range, or the mix fits no
            op that was measured.
    """
    _check(run, baseline, minimum_effect)
    frame = checked_frame(run)
    latencies = latency_table(frame, run.catalogue)
    pairs = run.settings.get("pairs")
    baselines = baseline_of(latencies, baseline, usual_gradients(run.catalogue, baseline), pairs)
    paired = stats.paired_logs(frame, baselines)
    looks = Looks.of(run.settings)
    verdicts = verdicts_of(paired, baselines, minimum_effect, looks)
    # Where variants are compared in pairs of their own, there is no callback of today to decide about.
    settings = () if pairs else settings_of(run)
    comparisons = tuple(compare(run, setting, latencies, paired, baseline) for setting in settings)
    rulebook = rulebook_of(comparisons, Rules(minimum_effect, looks=looks), mix)
    decisions = tuple(decide(comparison, rulebook) for comparison in comparisons)
    level = 1 - looks.share(stats.FAMILY_ERROR, max(len(verdicts), 1))
    limits = limits_of(run)
    disturbance = disturbance_of(run, verdicts, [*stats.estimates(paired).values()], minimum_effect, level)
    return Judgement(
        run,
        baseline,
        minimum_effect,
        mix,
        latencies,
        verdicts,
        decisions,
        comparisons,
        rulebook,
        disturbance,
        splits_of(run),
        limits,
        bounds_of(latencies, run.catalogue["ops"], limits),
    )


def _check(run: Run, baseline: str, minimum_effect: float) -> None:
    known = sorted({*run.catalogue["variants"], run.settings.get("baseline", BASELINE)})
    if baseline not in known:
        raise BadInput(
            "the baseline is not a variant of this run",
            received=baseline,
            legal=", ".join(known),
            next_step="name the variant that stands for the callback of today",
        )
    if not 0 <= minimum_effect < 1:
        raise BadInput("the minimum effect is out of range", received=minimum_effect, legal="0 to below 1; 0.03 is 3%")


@dataclass(frozen=True)
class Rulebook:
    """What all decisions of a report have in common.

    Attributes:
        over_mix: how to choose over the mix; the spread is what is usual there.
        at_size: how to choose at one size; the same.
        calls: size -> how often it is called; None for shares that are even over the log of the size.
    """

    over_mix: Rules
    at_size: Rules
    calls: Mapping[int, float] | None


def rulebook_of(comparisons: Sequence[Comparison], rules: Rules, calls: Mapping[int, float] | None) -> Rulebook:
    """Return `rules` over the mix and at one size, with the spreads that are usual there among all comparisons.

    Raises:
        BadInput: the mix fits no op at all.
    """
    measured = [one for one in comparisons if one.seconds]
    reachable = [one for one in measured if not _unreachable(one, calls or {})]
    if measured and not reachable and not any(_was_asked_for(one, calls or {}) for one in measured):
        _mix(measured[0], calls)  # fits nothing, and says so
    over_mix = usual_gain_spread((one.candidates, _mix(one, calls)) for one in reachable)
    at_size = usual_gain_spread((one.candidates, even_mix((size,))) for one in comparisons for size in one.seconds)
    return Rulebook(replace(rules, usual=over_mix), replace(rules, usual=at_size), calls)


def decide(comparison: Comparison, rulebook: Rulebook) -> Decision:
    """Decide in one setting, over the mix and at every measured size."""
    if not comparison.seconds:
        return _undecided(comparison, comparison.baseline_failure())
    made = choose_over_mix(comparison, rulebook)
    if made is None:
        missing = comparison.missing(comparison.baseline, _unreachable(comparison, rulebook.calls or {}))
        undecided = _undecided(comparison, f"{missing}, which the mix asks for")
        return replace(undecided, ranges=_ranges(comparison, rulebook.at_size))
    choice, mix = made
    at_size = replace(rulebook.at_size, preferred=choice.label)
    return replace(
        _undecided(comparison, reason_of(choice, comparison, mix)),
        action=choice.action,
        choice=choice.label,
        gain=_finite(choice.gain.value if choice.gain else None),
        gain_low=_finite(choice.gain.low if choice.gain else None),
        gain_high=_finite(choice.gain.high if choice.gain else None),
        ranges=_ranges(comparison, at_size),
        crossovers=crossovers(comparison.curves, comparison.log_ratios, at_size),
        courses=tuple(course_of(candidate, comparison.baseline, at_size) for candidate in comparison.candidates),
        flips=flips(choice, mix, comparison.baseline),
        launches=choice.gain.log.n if choice.gain else None,
    )


def choose_over_mix(comparison: Comparison, rulebook: Rulebook) -> tuple[Choice, Mix] | None:
    """Return the choice over the mix, and the mix; None where the baseline has no number at some size of it."""
    if not comparison.seconds or _unreachable(comparison, rulebook.calls or {}):
        return None
    mix = _mix(comparison, rulebook.calls)
    return choose(comparison.candidates, mix, rulebook.over_mix), mix


def _undecided(comparison: Comparison, reason: str) -> Decision:
    setting = comparison.setting
    return Decision(
        op=setting.op,
        use=setting.use,
        mode=setting.mode,
        dtype=setting.dtype,
        placement=setting.placement,
        baseline=comparison.baseline,
        action="undecided",
        choice=None,
        gain=None,
        gain_low=None,
        gain_high=None,
        reason=reason,
        flips=(f"a measurement of {comparison.baseline} there",),
    )


def _mix(comparison: Comparison, calls: Mapping[int, float] | None) -> Mix:
    if calls is None:
        return even_mix(tuple(comparison.seconds))
    return calls_mix(calls, comparison.seconds, f"{comparison.baseline} for {comparison.setting.op}")


def _unreachable(comparison: Comparison, calls: Iterable[int]) -> list[int]:
    """Return the sizes of a mix that lie beyond what the baseline was measured at; they leave the op undecided."""
    return [size for size in sorted(calls) if not min(comparison.seconds) <= size <= max(comparison.seconds)]


def _was_asked_for(comparison: Comparison, sizes: Iterable[int]) -> bool:
    return all(comparison.planned[0] <= size <= comparison.planned[-1] for size in sizes)


def _ranges(comparison: Comparison, rules: Rules) -> tuple[SizeRange, ...]:
    """Return the answer at each measured size, neighbours with the same answer in one range.

    The choice over all sizes is left only where it is not clear, or another one is clearly faster. The gain of a range
    is that of its size with the least lower bound, so the range holds no worse one.
    """
    candidates, sizes = comparison.candidates, comparison.seconds
    at = [(size, choose(candidates, even_mix((size,)), rules)) for size in sizes]
    return tuple(_range(answer, list(same)) for answer, same in groupby(at, key=lambda pair: pair[1].answer))


def _range(answer: str, same: Sequence[tuple[int, Choice]]) -> SizeRange:
    gains = [(choice.gain.low, choice.gain.value) for _, choice in same if choice.gain is not None]
    known = [pair for pair in gains if not math.isnan(pair[0])]
    low, gain = min(known or gains, default=(math.nan, math.nan))
    return SizeRange(same[0][0], same[-1][0], answer, gain, low)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
