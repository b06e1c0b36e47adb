"""The evidence behind a decision, as findings: why it is what it is, what it leaves out, and what would change it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pyopbench.judge.candidates import SettingComparison
from pyopbench.judge.choice import Choice, Gain
from pyopbench.judge.decision import Decision
from pyopbench.judge.findings import (
    BaselineBarred,
    BaselineLacksSizes,
    CandidateLacksSizes,
    Caveat,
    ClearGain,
    DiffersBySize,
    FasterBaseline,
    FasterVariant,
    MeasuredGain,
    MoreLaunches,
    MoreMachines,
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
    WouldChange,
)
from pyopbench.judge.program import Mix
from pyopbench.model.case import Case
from pyopbench.stats.estimate import Bools, Floats
from pyopbench.stats.launch_model import MachinesEstimate

if TYPE_CHECKING:
    from pyopbench.store.measured_run import Run


def reason_of(choice: Choice, comparison: SettingComparison) -> Reason:
    """Return what speaks for `choice`.

    Args:
        choice: the choice over the mix.
        comparison: what it was made from.
    """
    baseline = comparison.baseline
    if choice.gain is None:
        return NoCandidate(baseline, required=bool(comparison.barred or comparison.unknown))
    if choice.action == "keep":
        return NoneWorthIt(baseline, choice.minimum_effect, _measured(choice.gain))
    if choice.action == "undecided":
        by_gain = sorted(choice.open or choice.gains, key=lambda gain: (-gain.saved, gain.label))
        return StillOpen(baseline, choice.minimum_effect, tuple(map(_measured, by_gain)), settling(choice))
    return _clear_gain(choice, choice.gain, baseline)


def caveats_of(comparison: SettingComparison, mix: Mix) -> tuple[Caveat, ...]:
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


def changes_of(choice: Choice, mix: Mix, baseline: str) -> tuple[WouldChange, ...]:
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
    gain, kept = choice.gain, 1 - choice.minimum_effect
    low, high = 1 - gain.saved_high, 1 - gain.saved_low  # of the current time, what is left
    if choice.action == "keep":
        slower = (SlowerBaseline(baseline, low / kept, gain.label),) if low > 0 else ()
        return (FasterVariant(baseline, choice.minimum_effect), *slower, *_share_to_change(choice, mix))
    faster = (FasterBaseline(baseline, kept / high, gain.label),) if high > 0 else ()
    return (*faster, *_share_to_keep(choice, gain, mix))


def settling(choice: Choice) -> Settling:
    """Return how many launches would settle an undecided choice, or how many machines where it was on several.

    One clear candidate is enough, so the first of those above the minimum effect counts; with all of them below it, all
    have to be shown to be below.
    """
    contests = choice.open or choice.gains
    if any(gain.change.n < 2 for gain in contests):
        return SecondLaunch()
    border = -choice.minimum_effect
    above = [gain for gain in contests if gain.change.mean < border]
    needed = [(_enough(gain, border) or math.inf, gain.label) for gain in above or contests]
    _, label = min(needed) if above else max(needed)
    gain = next(gain for gain in contests if gain.label == label)
    if isinstance(gain.change, MachinesEstimate):
        return MoreMachines(label, gain.change.machines, _enough(gain, border))
    return MoreLaunches(label, gain.change.n, _enough(gain, border))


def _enough(gain: Gain, border: float) -> int | None:
    """Return how many launches, or machines where there are several, would take a gain clear of a border."""
    change = gain.change
    if isinstance(change, MachinesEstimate):
        return change.machines_to_clear(border, gain.level)
    return change.launches_to_clear(border, gain.level)


def notes_of(decision: Decision, run: Run) -> tuple[Note, ...]:
    """Return at which planned sizes a decision has no answer, and that its answer differs by size."""
    setting = (decision.op, decision.mode, decision.dtype)
    cases = [Case.from_id(key) for key in run.cases]
    planned = sorted({case.size for case in cases if (case.op, case.mode, case.dtype) == setting})
    gone = tuple(size for size in planned if not any(one.low <= size <= one.high for one in decision.ranges))
    without = (NoAnswerAt(gone),) if gone and decision.ranges else ()
    return (*without, *((DiffersBySize(),) if len(decision.ranges) > 1 else ()))


def break_even_share(left: Floats, shares: Floats, apart: Bools, target: float) -> float:
    """Return the share p of the current time, spent at the sizes `apart`, at which the cost is `target`.

    Solves `p * r_apart + (1 - p) * r_rest = target`, where each r is the cost of its sizes alone, in their present
    proportion. The two have to lie on different sides of the target.

    Args:
        left: `(points,)` float64, seconds afterwards over seconds today.
        shares: `(points,)` float64, shares of the current time.
        apart: `(points,)` bool, some and not all True.
        target: the cost to reach.
    """
    there = float(np.average(left[apart], weights=shares[apart]))
    rest = float(np.average(left[~apart], weights=shares[~apart]))
    return (target - rest) / (there - rest)


def _measured(gain: Gain) -> MeasuredGain:
    low, high = (None if math.isnan(end) else end for end in (gain.saved_low, gain.saved_high))
    return MeasuredGain(gain.label, gain.saved, low, high, gain.change.n)


def _clear_gain(choice: Choice, chosen: Gain, baseline: str) -> ClearGain:
    """Return the reason to change, with the candidate that saves most where that was not chosen and saves more."""
    best = max(choice.gains, key=lambda gain: gain.saved, default=chosen)
    if best is chosen or best.saved <= chosen.saved + choice.minimum_effect:
        return ClearGain(baseline, _measured(chosen))
    more_work = best.candidate.effort > chosen.candidate.effort
    return ClearGain(baseline, _measured(chosen), _measured(best), faster_takes_more_work=more_work)


def _share_to_keep(choice: Choice, gain: Gain, mix: Mix) -> tuple[MoreTimeAtSizes, ...]:
    """Return from which share of the current time at the sizes where the choice does not pay it does not pay at all."""
    shares, border = _shares(gain, mix), 1 - choice.minimum_effect
    bad = shares > border
    if not bad.any() or bad.all():
        return ()
    share = break_even_share(shares, mix.shares, bad, border)
    return (_more_time(gain.label, share, bad, mix, pays=False),)


def _share_to_change(choice: Choice, mix: Mix) -> tuple[MoreTimeAtSizes, ...]:
    """Return the least share of the current time at the sizes where a candidate pays from which it pays altogether."""
    found: list[MoreTimeAtSizes] = []
    border = 1 - choice.minimum_effect
    for gain in choice.gains:
        shares = _shares(gain, mix)
        good = shares < border
        if good.any() and shares @ mix.shares > border:
            share = break_even_share(shares, mix.shares, good, border)
            found.append(_more_time(gain.label, share, good, mix, pays=True))
    return tuple(sorted(found, key=lambda one: (one.share, one.label))[:1])


def _more_time(label: str, share: float, apart: Bools, mix: Mix, *, pays: bool) -> MoreTimeAtSizes:
    sizes = tuple(size for size, use in zip(mix.sizes, apart, strict=True) if use)
    return MoreTimeAtSizes(label, pays, share, float(mix.shares[apart].sum()), sizes)


def _shares(gain: Gain, mix: Mix) -> Floats:
    return mix.at_points(gain.candidate.over(mix).mean(axis=0))
