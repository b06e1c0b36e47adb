"""The evidence behind a decision, as findings: why it is what it is, what it leaves out, and what would change it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pyopbench.core.model import Case
from pyopbench.judge.candidates import Comparison
from pyopbench.judge.choice import Choice, Gain
from pyopbench.judge.findings import (
    BaselineBarred,
    BaselineLacksSizes,
    CandidateLacksSizes,
    Caveat,
    ClearGain,
    DiffersBySize,
    FasterBaseline,
    FasterVariant,
    Flip,
    MeasuredGain,
    MoreLaunches,
    MoreTimeAtSizes,
    NoAnswerAt,
    NoCandidate,
    NoLaunchOverMix,
    NoneWorthIt,
    Note,
    Reason,
    SecondLaunch,
    Settling,
    SlowerBaseline,
    StillOpen,
    VariantMeasured,
)
from pyopbench.judge.mix import Mix
from pyopbench.stats.estimate import Bools, Floats

if TYPE_CHECKING:
    from pyopbench.judge.decision import Decision
    from pyopbench.results.run import Run


def reason_of(choice: Choice, comparison: Comparison) -> Reason:
    """Return what speaks for `choice`.

    Args:
        choice: the choice over the mix.
        comparison: what it was made from.
    """
    baseline = comparison.baseline
    if choice.gain is None:
        return NoCandidate(baseline, required=bool(comparison.barred or comparison.unknown))
    if choice.action == "keep":
        return NoneWorthIt(baseline, choice.threshold, _measured(choice.gain))
    if choice.action == "undecided":
        by_gain = sorted(choice.open, key=lambda gain: (-gain.value, gain.label))
        return StillOpen(baseline, choice.threshold, tuple(map(_measured, by_gain)), settling(choice))
    return _clear_gain(choice, choice.gain, baseline)


def caveats_of(comparison: Comparison, mix: Mix) -> tuple[Caveat, ...]:
    """Return what goes with the reason: that the baseline cannot stay, and which numbers were missing."""
    baseline = comparison.baseline
    found: list[Caveat] = [BaselineBarred(baseline)] if comparison.must_change else []
    gone = tuple(size for size in comparison.planned if size not in comparison.seconds)
    if gone:
        found.append(BaselineLacksSizes(baseline, gone, comparison.statuses(baseline, gone)))
    for candidate in comparison.candidates:
        lacks = candidate.lacks(mix)
        if lacks:
            found.append(CandidateLacksSizes(candidate.label, lacks, comparison.statuses(candidate.label, lacks)))
        elif not len(candidate.over(mix)):
            found.append(NoLaunchOverMix(candidate.label))
    return tuple(found)


def flips_of(choice: Choice, mix: Mix, baseline: str) -> tuple[Flip, ...]:
    """Return what would change `choice`.

    Args:
        choice: the choice over the mix.
        mix: the mix that it was made over.
        baseline: label of the current callback.
    """
    if choice.gain is None:
        return (VariantMeasured(baseline),)
    if choice.action == "undecided":
        return (settling(choice),)
    gain, threshold = choice.gain, choice.threshold
    if choice.action == "keep":
        slower = SlowerBaseline(baseline, threshold / gain.low, gain.label)
        return (FasterVariant(baseline, threshold), slower, *_share_to_change(choice, mix))
    return (FasterBaseline(baseline, gain.low / threshold, gain.label), *_share_to_keep(choice, gain, mix))


def settling(choice: Choice) -> Settling:
    """Return how many launches would settle an undecided choice.

    One clear candidate is enough, so the first of those above the threshold counts; with all of them below it, all
    have to be shown to be below.
    """
    if any(gain.log.n < 2 for gain in choice.open):
        return SecondLaunch()
    border = math.log(choice.threshold)
    above = [gain for gain in choice.open if gain.log.mean > border]
    needed = [(gain.log.launches_to_clear(border, gain.level) or math.inf, gain.label) for gain in above or choice.open]
    _, label = min(needed) if above else max(needed)
    log, level = next((gain.log, gain.level) for gain in choice.open if gain.label == label)
    return MoreLaunches(label, log.n, log.launches_to_clear(border, level))


def notes_of(decision: Decision, run: Run) -> tuple[Note, ...]:
    """Return at which planned sizes a decision has no answer, and that its answer differs by size."""
    setting = (decision.op, decision.mode, decision.dtype)
    cases = [Case.from_id(key) for key in run.cases]
    planned = sorted({case.size for case in cases if (case.op, case.mode, case.dtype) == setting})
    gone = tuple(size for size in planned if not any(one.low <= size <= one.high for one in decision.ranges))
    without = (NoAnswerAt(gone),) if gone and decision.ranges else ()
    return (*without, *((DiffersBySize(),) if len(decision.ranges) > 1 else ()))


def break_even_share(ratios: Floats, shares: Floats, apart: Bools, target: float) -> float:
    """Return the share p of today's time, spent at the sizes `apart`, at which the cost is `target`.

    Solves `p * r_apart + (1 - p) * r_rest = target`, where each r is the cost of its sizes alone, in their present
    proportion. The two have to lie on different sides of the target.

    Args:
        ratios: `(points,)` float64, seconds afterwards over seconds today.
        shares: `(points,)` float64, shares of today's time.
        apart: `(points,)` bool, some and not all True.
        target: the cost to reach.
    """
    there = float(np.average(ratios[apart], weights=shares[apart]))
    rest = float(np.average(ratios[~apart], weights=shares[~apart]))
    return (target - rest) / (there - rest)


def _measured(gain: Gain) -> MeasuredGain:
    low, high = (None if math.isnan(end) else end for end in (gain.low, gain.high))
    return MeasuredGain(gain.label, gain.value, low, high, gain.log.n)


def _clear_gain(choice: Choice, chosen: Gain, baseline: str) -> ClearGain:
    """Return the reason to change, with the fastest of the clear ones by its centre where that was not chosen."""
    clear = (gain for gain in choice.gains if gain.low > choice.threshold)
    fastest = max(clear, key=lambda gain: gain.value, default=chosen)
    if fastest is chosen or fastest.value <= chosen.value * choice.threshold:
        return ClearGain(baseline, _measured(chosen))
    more_work = fastest.candidate.effort > chosen.candidate.effort
    return ClearGain(baseline, _measured(chosen), _measured(fastest), faster_takes_more_work=more_work)


def _share_to_keep(choice: Choice, gain: Gain, mix: Mix) -> tuple[MoreTimeAtSizes, ...]:
    """Return from which share of today's time at the sizes where the choice does not pay it does not pay at all."""
    ratios = _ratios(gain, mix)
    bad = ratios > 1 / choice.threshold
    if not bad.any():
        return ()
    share = break_even_share(ratios, mix.shares, bad, 1 / choice.threshold)
    return (_more_time(gain.label, share, bad, mix, pays=False),)


def _share_to_change(choice: Choice, mix: Mix) -> tuple[MoreTimeAtSizes, ...]:
    """Return from which share of today's time at the sizes where a candidate pays it pays altogether; the least one."""
    found: list[MoreTimeAtSizes] = []
    for gain in choice.gains:
        ratios = _ratios(gain, mix)
        good = ratios < 1 / choice.threshold
        if good.any() and ratios @ mix.shares > 1 / choice.threshold:
            share = break_even_share(ratios, mix.shares, good, 1 / choice.threshold)
            found.append(_more_time(gain.label, share, good, mix, pays=True))
    return tuple(sorted(found, key=lambda flip: (flip.share, flip.label))[:1])


def _more_time(label: str, share: float, apart: Bools, mix: Mix, *, pays: bool) -> MoreTimeAtSizes:
    sizes = tuple(size for size, use in zip(mix.sizes, apart, strict=True) if use)
    return MoreTimeAtSizes(label, pays, share, float(mix.shares[apart].sum()), sizes)


def _ratios(gain: Gain, mix: Mix) -> Floats:
    return mix.ratios(gain.candidate.over(mix).mean(axis=0))
