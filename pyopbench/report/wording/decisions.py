"""What a decision says, in words: the answer, why, what it leaves out, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.answer import Action, Answer, DiffersByMachine
from pyopbench.judge.findings import (
    BaselineBarred,
    BaselineFailed,
    BaselineLacksSizes,
    BaselineMeasured,
    BaselineNotMeasured,
    BaselineTooNoisy,
    BeyondMeasured,
    CandidateLacksSizes,
    Caveat,
    ClearGain,
    DiffersBySize,
    DtypeNotCalled,
    FasterBaseline,
    FasterVariant,
    LessNoise,
    MeasuredGain,
    MoreTimeAtSizes,
    NoAnswerAt,
    NoCandidate,
    NoLaunchOverMix,
    NoneWorthIt,
    Note,
    Reason,
    SlowerBaseline,
    StillOpen,
    VariantMeasured,
    WouldChange,
)
from pyopbench.judge.settling import MoreLaunches, MoreMachines, SecondLaunch
from pyopbench.model import formatting
from pyopbench.report.wording.machines import answers_text
from pyopbench.stats.estimate import MOST_LAUNCHES

if TYPE_CHECKING:
    from pyopbench.judge.decision import Decision

MOST_NAMED = 3
"""Open candidates that a reason names; the verdicts list all of them."""
PROVISIONAL_TEXT = "provisional"
NO_LOSS_DIGITS = 3
"""A loss below half a tenth of a percent is shown as none."""
DIFFERS_TEXT = "depends on the machine"
COUNTED: dict[Action, str] = {
    "port": "to port",
    "switch": "to switch to another callback",
    "keep": "to keep",
    "undecided": "undecided",
}
"""What follows the number of decisions with an action, in the order in which they are named."""


TWO_SCOPES = "saves: over all sizes, or your mix of them; one op: at the smallest size"
"""Why two numbers of one answer differ."""


def summary_text(actions: Sequence[Action], ops: int, baseline: str) -> str:
    """Return how many decisions of each kind there are, and how what is saved is to be read.

    Args:
        actions: of each decision.
        ops: how many ops they are about.
        baseline: the current callback.
    """
    told = [f"{actions.count(action):,} {words}" for action, words in COUNTED.items() if action in actions]
    return (
        f"{formatting.count(len(actions), 'decision')} on {formatting.count(ops, 'op')}: {formatting.listing(told)}. "
        f"“Saves” is the share of the time of {baseline}, the current callback, that is no longer spent; ≥ is the "
        "lower end of its 95% interval."
    )


def standing_text(decisions: int, *, undecided: int, by_size: int, provisional: int) -> str:
    """Return how many of many answers are not the whole story, in a line; "" where all are.

    Args:
        decisions: how many there are.
        undecided: those that the data leave open.
        by_size: those with another answer at some sizes.
        provisional: those that may cost more than they should against the best.
    """
    kinds = ((undecided, "undecided"), (provisional, PROVISIONAL_TEXT), (by_size, "different at some sizes"))
    told = [f"{n:,} {'is' if n == 1 else 'are'} {kind}" for n, kind in kinds if n]
    return f"Of {formatting.count(decisions, 'answer')}, {formatting.listing(told)}" if told else ""


def answer_text(answer: Answer) -> str:
    """Return `keep`, `undecided`, `port to native` or `switch to numpy_function`."""
    return answer.action if answer.choice is None else f"{answer.action} to {answer.choice}"


def decision_text(decision: Decision) -> str:
    """Return the answer of a decision, or that kinds of machine have different ones."""
    differs = any(isinstance(caveat, DiffersByMachine) for caveat in decision.caveats)
    return DIFFERS_TEXT if differs else answer_text(decision.answer)


def loss_text(decision: Decision) -> str:
    """Return what an answer may cost against the best, and what else saves as much; "" for undecided."""
    if decision.loss is None:
        return ""
    bound = _bound_text(decision.loss)
    said = f"{PROVISIONAL_TEXT}: {bound}" if decision.is_provisional else bound
    return "; ".join(filter(None, (said, as_good_text(decision))))


def _bound_text(loss: float) -> str:
    if round(loss, NO_LOSS_DIGITS) <= 0:
        return "no other variant is better"
    return f"at most {formatting.points(loss)} of that time worse than the best variant"


def as_good_text(decision: Decision) -> str:
    """Return which other candidates save as much as the one that was chosen; "" where none does."""
    others = formatting.listing(list(decision.as_good))
    return others and f"{others} {'saves' if len(decision.as_good) == 1 else 'save'} as much"


def why(decision: Decision) -> str:
    """Return the reason of a decision with what goes with it."""
    bound = loss_text(decision)
    return "; ".join((reason_text(decision.reason), *((bound,) if bound else ()), *map(caveat_text, decision.caveats)))


def reason_text(reason: Reason) -> str:
    """Return why a decision is what it is."""
    match reason:
        case ClearGain():
            return f"{gain_text(reason.chosen)} of the time of {reason.baseline}{_passed_over(reason)}"
        case NoneWorthIt():
            border, best = formatting.points(reason.threshold), gain_text(reason.best)
            return f"no variant saves more than {border} of the time of {reason.baseline}: {best}"
        case StillOpen():
            return _still_open(reason)
        case NoCandidate():
            able = " that supports what you require" if reason.required else ""
            return f"no variant{able} was measured beside {reason.baseline} at all sizes of the mix"
        case BaselineFailed():
            return f"{reason.label} has no number: {reason.status} at {formatting.size(reason.size)}: {reason.message}"
        case BaselineNotMeasured():
            return f"{reason.baseline} was not measured, so there is nothing to compare with"
        case BaselineTooNoisy():
            launches = formatting.count(reason.launches, "launch", "launches")
            where = f"at {formatting.size(reason.size)}, in {launches}"
            return (
                f"the cost of {reason.label} is {formatting.TOO_NOISY} ({where}), so there is nothing to compare with"
            )
        case DtypeNotCalled():
            return f"your mix has no calls in {reason.dtype}"
        case BeyondMeasured():
            return f"{_no_number(reason.baseline, reason.sizes, reason.statuses)}, which the mix needs"


def open_text(reason: Reason) -> str:
    """Return why a decision is undecided, as briefly as that can be said: of open candidates the best alone."""
    return _still_open(reason, 1) if isinstance(reason, StillOpen) else reason_text(reason)


def caveat_text(caveat: Caveat) -> str:
    """Return what goes with a reason."""
    match caveat:
        case BaselineBarred():
            return f"{caveat.baseline} does not support what you require, so it has to go"
        case BaselineLacksSizes():
            return f"{_no_number(caveat.baseline, caveat.sizes, caveat.statuses)}, so the answer does not cover it"
        case CandidateLacksSizes():
            gone = _no_number(caveat.label, caveat.sizes, caveat.statuses)
            return f"{gone}, so it is a candidate only at the other sizes"
        case NoLaunchOverMix():
            return f"no launch measured {caveat.label} at all sizes of the mix, so it is a candidate only by size"
        case DiffersByMachine():
            return answers_text(caveat)


def change_text(flip: WouldChange) -> str:
    """Return what would change a decision."""
    match flip:
        case FasterBaseline():
            now = f"{flip.baseline} becomes {formatting.ratio(flip.speed)} as fast or faster at every size"
            return f"{now}: then {flip.label} is not clearly worth it"
        case SlowerBaseline():
            now = f"{flip.baseline} takes more than {formatting.ratio(flip.times)} as long at every size"
            return f"{now}: then {flip.label} is worth it"
        case FasterVariant():
            border = formatting.points(flip.threshold)
            return f"another variant clearly saves more than {border} of the time of {flip.baseline} over this mix"
        case MoreTimeAtSizes():
            return _more_time(flip)
        case BaselineMeasured():
            return f"{flip.baseline} is measured there"
        case LessNoise():
            launches = formatting.count(flip.launches, "launch", "launches")
            return f"{flip.baseline} is measured with less noise: in more than {launches}, or on a quieter machine"
        case VariantMeasured():
            return f"another variant is measured wherever {flip.baseline} is"
        case SecondLaunch():
            return "a second launch is made: one gives no interval"
        case MoreLaunches():
            return _more_launches(flip)
        case MoreMachines():
            return _more_machines(flip)


def note_text(note: Note) -> str:
    """Return what an answer says nothing of, or not in one word."""
    match note:
        case NoAnswerAt():
            return f"no number at {_sizes(note.sizes)}"
        case DiffersBySize():
            return "the answer differs by size"


def gain_text(gain: MeasuredGain) -> str:
    """Return what is saved with its interval and launches: `native saves 50% (47% to 52%, 3 launches)`."""
    launches = formatting.count(gain.launches, "launch", "launches")
    if gain.low is None:
        return f"{gain.label} saves {formatting.saved_at_least(gain.saved, None)} ({launches})"
    interval = formatting.saved_interval(gain.low, gain.high)
    return f"{gain.label} saves {formatting.saved_at_least(gain.saved, None)} ({interval}, {launches})"


def _passed_over(reason: ClearGain) -> str:
    if reason.faster is None:
        return ""
    work = ", and takes more work" if reason.faster_takes_more_work else ""
    return f"; {gain_text(reason.faster)}, not clearly more{work}"


def _still_open(reason: StillOpen, most: int = MOST_NAMED) -> str:
    named = [gain_text(gain) for gain in reason.candidates[:most]]
    left = len(reason.candidates) - most
    still_open = formatting.listing([*named, *([formatting.count(left, "other")] if left > 0 else [])])
    border = f"{formatting.points(reason.threshold)} of the time of {reason.baseline}"
    return f"{still_open}: this may be more or less than {border}; {change_text(reason.settled_by)}"


def _more_launches(flip: MoreLaunches) -> str:
    watched = f"(for {flip.label})"
    if flip.enough is None:
        return f"this would take more than {MOST_LAUNCHES:,} launches instead of {flip.launches} {watched}"
    return f"about {flip.enough} launches instead of {flip.launches} would decide it {watched}"


def _more_machines(flip: MoreMachines) -> str:
    watched = f"(for {flip.label})"
    if flip.enough is None:
        return f"machines differ too much for any number of them to decide it, instead of {flip.machines} {watched}"
    return f"about {flip.enough} machines instead of {flip.machines} would decide it {watched}"


def _more_time(flip: MoreTimeAtSizes) -> str:
    where = f"{'size' if len(flip.sizes) == 1 else 'sizes'} {_sizes(flip.sizes)}"
    share, now = formatting.percent(flip.share), formatting.percent(flip.share_now)
    pays = "pays" if flip.pays else "does not pay"
    spent = f"more than about {share} of the callback's time (now {now}) is spent at {where}"
    return f"{spent}, where {flip.label} {pays}"


def _no_number(label: str, sizes: Sequence[int], statuses: Sequence[str]) -> str:
    how = f" ({formatting.listing(statuses)})" if statuses else ""
    return f"{label} has no number at {_sizes(sizes)}{how}"


def _sizes(sizes: Sequence[int]) -> str:
    return formatting.listing([formatting.size(size) for size in sizes])
