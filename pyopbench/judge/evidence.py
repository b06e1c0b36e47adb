"""The evidence behind a decision, as findings: why it is what it is, what it leaves out, and what would change it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

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
    MeasuredGain,
    MoreLaunches,
    NoAnswerAt,
    NoCandidate,
    NoLaunchOverMix,
    NoneWorthIt,
    Note,
    Reason,
    SecondLaunch,
    Settling,
    StillOpen,
)
from pyopbench.judge.program import Mix
from pyopbench.model.case import Case

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
        lacks = comparison.contrasts.lacks(mix, candidate.label)
        if lacks:
            found.append(CandidateLacksSizes(candidate.label, lacks, comparison.statuses(candidate.label, lacks)))
        elif not comparison.contrasts.over(mix, candidate.label, baseline).n:
            found.append(NoLaunchOverMix(candidate.label))
    return tuple(found)


def settling(choice: Choice) -> Settling:
    """Return how many launches would settle an undecided choice.

    One clear candidate is enough, so the first of those above the minimum effect counts; with all of them below it, all
    have to be shown to be below.
    """
    contests = choice.open or choice.gains
    if any(gain.change.n < 2 for gain in contests):
        return SecondLaunch()
    border = -choice.minimum_effect
    above = [gain for gain in contests if gain.change.mean < border]
    enough = {gain.label: gain.change.launches_to_clear(border, gain.level) for gain in above or contests}
    needed = [(enough[gain.label] or math.inf, gain.label, gain.change.n) for gain in above or contests]
    _, label, launches = min(needed) if above else max(needed)
    return MoreLaunches(label, launches, enough[label])


def notes_of(decision: Decision, run: Run) -> tuple[Note, ...]:
    """Return at which planned sizes a decision has no answer, and that its answer differs by size."""
    setting = (decision.op, decision.mode, decision.dtype)
    cases = [Case.from_id(key) for key in run.cases]
    planned = sorted({case.size for case in cases if (case.op, case.mode, case.dtype) == setting})
    gone = tuple(size for size in planned if not any(one.low <= size <= one.high for one in decision.ranges))
    without = (NoAnswerAt(gone),) if gone and decision.ranges else ()
    return (*without, *((DiffersBySize(),) if len(decision.ranges) > 1 else ()))


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
