"""The evidence behind a decision in words: why it is what it is, and what it leaves out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.candidates import SettingComparison
from pyopbench.judge.choice import Choice, Gain
from pyopbench.judge.decision import Decision, Reason
from pyopbench.judge.program import Mix
from pyopbench.model import formatting
from pyopbench.model.case import Case, variant_in
from pyopbench.stats.estimate import MOST_LAUNCHES

if TYPE_CHECKING:
    from pyopbench.store.measured_run import Run

MOST_NAMED = 3
"""Open candidates that a reason names; the verdicts list all of them."""


def reason_of(choice: Choice, comparison: SettingComparison) -> Reason:
    """Return what speaks for a choice over the mix, which was made from the comparison."""
    baseline, threshold = comparison.baseline, formatting.points(choice.minimum_effect)
    if choice.gain is None:
        is_required = bool(comparison.barred or comparison.unknown)
        required = " that supports what you require" if is_required else ""
        sentence = f"no variant{required} was measured alongside {baseline} at all sizes of the mix"
        return Reason("none_meets_requirements" if is_required else "no_candidate", sentence)
    if choice.action == "keep":
        best = gain_text(choice.gain)
        sentence = f"no variant clearly saves more than {threshold} of the time of {baseline}: {best}"
        return Reason("none_worth_it", sentence)
    if choice.action == "undecided":
        return _still_open(choice, f"{threshold} of the time of {baseline}")
    return Reason("clear_gain", _clear_gain(choice, choice.gain, baseline))


def _clear_gain(choice: Choice, chosen: Gain, baseline: str) -> str:
    """Return the reason to change, with the candidate that saves most where that was not chosen and saves more."""
    why = f"{gain_text(chosen)} of the time of {baseline}"
    best = max(choice.gains, key=lambda gain: gain.saved, default=chosen)
    if best is chosen or best.saved <= chosen.saved + choice.minimum_effect:
        return why
    work = ", and takes more work" if best.candidate.effort > chosen.candidate.effort else ""
    return f"{why}; {gain_text(best)}, not clearly more{work}"


def _still_open(choice: Choice, border: str) -> Reason:
    """Return which candidates may save more or less than what counts, and how many launches would settle it."""
    gains = sorted(choice.open or choice.gains, key=lambda gain: (-gain.saved, gain.label))
    label, launches, enough = launches_to_settle(choice)
    gains.sort(key=lambda gain: gain.label != label)  # what decides is named, however many there are
    if launches < 2:
        settled = "one launch gives no interval"
    elif enough is None:
        settled = f"{label}: more than {MOST_LAUNCHES:,} launches would be needed to settle it"
    else:
        settled = f"{label}: about {enough} launches instead of {launches} should settle it"

    def sentence(most: int) -> str:
        named, left = [gain_text(gain) for gain in gains[:most]], len(gains) - most
        still_open = formatting.listing([*named, *([formatting.count(left, "other")] if left > 0 else [])])
        return f"{still_open}: this may be more or less than {border}; {settled}"

    most_saved = max((gain.saved_high for gain in gains if not math.isnan(gain.saved_high)), default=None)
    return Reason("still_open", sentence(MOST_NAMED), sentence(1), launches, enough, most_saved)


def launches_to_settle(choice: Choice) -> tuple[str, int, int | None]:
    """Return the candidate that decides an undecided choice, its launches, and about how many in all would settle it.

    One clear candidate is enough, so the first of those above the minimum effect counts; with all of them below it, all
    have to be shown to be below. What has a single launch comes first: it has no interval.
    """
    contests = choice.open or choice.gains
    single = next((gain for gain in contests if gain.change.n < 2), None)
    if single is not None:
        return single.label, single.change.n, 2
    border = -choice.minimum_effect
    above = [gain for gain in contests if gain.change.mean < border]
    enough = {gain.label: gain.change.launches_to_clear(border, gain.level) for gain in above or contests}
    needed = [(enough[gain.label] or math.inf, gain.label, gain.change.n) for gain in above or contests]
    _, label, launches = min(needed) if above else max(needed)
    return label, launches, enough[label]


def gain_text(gain: Gain) -> str:
    """Return what is saved with its interval and launches: `native saves 50% (47% to 52%, 3 launches)`.

    A variant that takes at least twice the time has a multiple of the time instead, and one that is too noisy neither.
    """
    launches = formatting.count(gain.change.n, "launch", "launches")
    low, high, is_known = gain.saved_low, gain.saved_high, not math.isnan(gain.saved_low)
    if formatting.is_too_noisy(1 - gain.saved, 1 - low):
        return f"{gain.label} is {formatting.TOO_NOISY} ({launches})"
    if 1 - gain.saved >= formatting.FAR_SLOWER:
        least, most = (formatting.ratio(max(1 - end, 0.0)) for end in (high, low))
        interval = f"{least} to {most}, " if is_known else ""
        return f"{gain.label} takes {formatting.ratio(1 - gain.saved)} the time ({interval}{launches})"
    interval = f"{formatting.points(low)} to {formatting.points_saved(high)}, " if is_known else ""
    return f"{gain.label} saves {formatting.saved_at_least(gain.saved, None)} ({interval}{launches})"


def baseline_failure(comparison: SettingComparison) -> Reason:
    """Return why the current callback has no number at all."""
    for (label, size), launches in comparison.too_noisy.items():
        made = formatting.count(launches, "launch", "launches")
        sentence = (
            f"the cost of {label} is {formatting.TOO_NOISY} (at {formatting.size(size)}, in {made}), so there is "
            "nothing to compare with; measure it in more launches, or on a quieter machine"
        )
        return Reason("baseline_too_noisy", sentence, launches=launches)
    for (label, size), failure in sorted(comparison.failures.items()):
        if variant_in(label) == comparison.baseline:
            why = f"{failure.status} at {formatting.size(size)}: {failure.reason}"
            return Reason("baseline_failed", f"{label} has no number: {why}")
    sentence = f"{comparison.baseline} was not measured, so there is nothing to compare with"
    return Reason("baseline_not_measured", sentence)


def beyond_measured(comparison: SettingComparison, sizes: Sequence[int]) -> Reason:
    """Return that the mix needs sizes at which the current callback has no number."""
    baseline = comparison.baseline
    sentence = f"{_no_number_at(comparison, baseline, sizes)}, which the mix needs"
    failed = comparison.statuses(baseline, sizes)
    return Reason("failed_beyond" if failed else "beyond_measured", sentence, sizes=tuple(sizes))


def _no_number_at(comparison: SettingComparison, label: str, sizes: Sequence[int]) -> str:
    statuses = formatting.listing(comparison.statuses(label, sizes))
    return f"{label} has no number at {_sizes_text(sizes)}{statuses and f' ({statuses})'}"


def _sizes_text(sizes: Sequence[int]) -> str:
    return formatting.listing([formatting.size(size) for size in sizes])


def caveats_of(comparison: SettingComparison, mix: Mix) -> tuple[str, ...]:
    """Return what goes with the reason: that the baseline cannot stay, and which numbers were missing."""
    baseline = comparison.baseline
    found = []
    if comparison.must_change:
        found.append(f"{baseline} does not support what you require, so it must be replaced")
    gone = [size for size in comparison.planned if size not in comparison.seconds]
    if gone:
        found.append(f"{_no_number_at(comparison, baseline, gone)}, so the answer does not cover it")
    for candidate in comparison.candidates:
        label = candidate.label
        lacks = comparison.contrasts.lacks(mix, label)
        if lacks:
            missing = _no_number_at(comparison, label, lacks)
            found.append(f"{missing}, so it is a candidate only at the other sizes")
        elif not comparison.contrasts.over(mix, label, baseline).n:
            found.append(f"no launch measured {label} at all sizes of the mix, so it is a candidate only by size")
    return tuple(found)


def notes_of(decision: Decision, run: Run) -> tuple[str, ...]:
    """Return at which planned sizes a decision has no answer, and that its answer differs by size."""
    setting = (decision.op, decision.mode, decision.dtype)
    cases = [Case.from_id(key) for key in run.cases]
    planned = sorted({case.size for case in cases if (case.op, case.mode, case.dtype) == setting})
    known = {one.size for one in decision.seconds}
    gone = [size for size in planned if size not in known]
    without = (f"no number at {_sizes_text(gone)}",) if gone and known else ()
    return (*without, *(("the answer differs by size",) if len(decision.ranges) > 1 else ()))
