"""The sentences of a decision, as findings: its reason, what it leaves out, and what would settle it.

A finding is a kind with its numbers, and `text()` says it in words. Programs read kind and numbers in `decisions.json`;
nothing reads a sentence. A number that does not exist is None. `label` and `baseline` are `variant` or
`variant+gradient` throughout.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pyopbench.model import formatting
from pyopbench.stats.estimate import MOST_LAUNCHES

Action: TypeAlias = Literal["keep", "switch", "port", "undecided"]

MOST_NAMED = 3
"""Open candidates that a reason names; the verdicts list all of them."""
PROVISIONAL_TEXT = "provisional"
NO_LOSS_DIGITS = 3
"""A loss below half a tenth of a percent is shown as none."""
COUNTED: dict[Action, str] = {
    "port": "to port",
    "switch": "to switch to another callback",
    "keep": "to keep",
    "undecided": "undecided",
}
"""What follows the number of decisions with an action, in the order in which they are named."""

TWO_SCOPES = "“saves” is over all sizes, or over your mix of them; “one op” is at the smallest size"
"""Why two numbers of one answer differ."""


@dataclass(frozen=True)
class Answer:
    """The action, and the label to change to; None for keep and undecided."""

    action: Action
    choice: str | None

    def text(self) -> str:
        """Return `keep`, `undecided`, `port to native` or `switch to numpy_function`."""
        return self.action if self.choice is None else f"{self.action} to {self.choice}"


def finite(value: float | None) -> float | None:
    """Return a number; None for what is infinite, no number, or not there."""
    return float(value) if value is not None and math.isfinite(value) else None


@dataclass(frozen=True)
class Finding:
    """A kind with its numbers, which `TEXTS` has a sentence for; a kind that takes more has a `text` of its own."""

    def text(self) -> str:
        """Return it in words."""
        values = {name: _in_words(name, value) for name, value in vars(self).items() if name != "kind"}
        return TEXTS[vars(self)["kind"]].format(**values)


TEXTS = {
    "second_launch": "run a second launch: one launch gives no interval",
    "none_worth_it": "no variant saves more than {threshold} of the time of {baseline}: {best}",
    "no_candidate": "no variant{required} was measured alongside {baseline} at all sizes of the mix",
    "baseline_failed": "{label} has no number: {status} at {size}: {message}",
    "baseline_not_measured": "{baseline} was not measured, so there is nothing to compare with",
    "baseline_too_noisy": f"the cost of {{label}} is {formatting.TOO_NOISY} (at {{size}}, in {{launches}}), so there "
    "is nothing to compare with; measure it in more launches, or on a quieter machine",
    "dtype_not_called": "your mix has no calls in {dtype}",
    "beyond_measured": "{baseline} has no number at {sizes}{statuses}, which the mix needs",
    "baseline_barred": "{baseline} does not support what you require, so it must be replaced",
    "baseline_lacks_sizes": "{baseline} has no number at {sizes}{statuses}, so the answer does not cover it",
    "candidate_lacks_sizes": "{label} has no number at {sizes}{statuses}, so it is a candidate only at the other sizes",
    "no_launch_over_mix": "no launch measured {label} at all sizes of the mix, so it is a candidate only by size",
    "no_answer_at": "no number at {sizes}",
    "differs_by_size": "the answer differs by size",
}
"""Kind -> its sentence, with the fields of the finding in words."""


def _in_words(name: str, value: Any) -> str:
    match name:
        case "threshold":
            return formatting.points(value)
        case "best":
            return str(value.text())
        case "size":
            return formatting.size(value)
        case "sizes":
            return formatting.listing([formatting.size(size) for size in value])
        case "statuses":
            return f" ({formatting.listing(value)})" if value else ""
        case "launches":
            return formatting.count(value, "launch", "launches")
        case "required":
            return " that supports what you require" if value else ""
        case _:
            return str(value)


@dataclass(frozen=True)
class SecondLaunch(Finding):
    """One launch gives no interval."""

    kind: Literal["second_launch"] = "second_launch"


@dataclass(frozen=True)
class MoreLaunches(Finding):
    """About how many launches in all would settle the choice.

    Attributes:
        label: the candidate that decides.
        launches: how many there are.
        enough: how many would do; None if that is more than anybody waits for (`estimate.MOST_LAUNCHES`).
    """

    label: str
    launches: int
    enough: int | None
    kind: Literal["more_launches"] = "more_launches"

    def text(self) -> str:  # noqa: D102
        if self.enough is None:
            return f"{self.label}: more than {MOST_LAUNCHES:,} launches would be needed to settle it"
        return f"{self.label}: about {self.enough} launches instead of {self.launches} should settle it"


Settling: TypeAlias = SecondLaunch | MoreLaunches


@dataclass(frozen=True)
class MeasuredGain:
    """The share of the current time that one label saves: the estimate, its interval, and launches behind it."""

    label: str
    saved: float
    low: float | None
    high: float | None
    launches: int

    def text(self) -> str:
        """Return what is saved with its interval and launches: `native saves 50% (47% to 52%, 3 launches)`.

        A variant that takes at least twice the time has a multiple of the time instead. One that is known only to a
        factor of ten has neither.
        """
        launches = formatting.count(self.launches, "launch", "launches")
        if self.low is not None and self.low < -formatting.LARGEST_SHARE:
            return f"{self.label} is {formatting.TOO_NOISY} ({launches})"
        if 1 - self.saved >= formatting.FAR_SLOWER:
            least, most = (
                formatting.ratio(None if one is None else max(1 - one, 0.0)) for one in (self.high, self.low)
            )
            interval = "" if self.low is None else f"{least} to {most}, "
            return f"{self.label} takes {formatting.ratio(1 - self.saved)} the time ({interval}{launches})"
        interval = "" if self.low is None else f"{formatting.saved_interval(self.low, self.high)}, "
        return f"{self.label} saves {formatting.saved_at_least(self.saved, None)} ({interval}{launches})"


# Why a decision is what it is
@dataclass(frozen=True)
class ClearGain(Finding):
    """A candidate is clearly worth it.

    Attributes:
        baseline: the current callback.
        chosen: the candidate that was chosen.
        faster: the one that seems to save most, if it may save more by the minimum effect, but not clearly; else None.
        faster_takes_more_work: True if that one takes more work as well.
    """

    baseline: str
    chosen: MeasuredGain
    faster: MeasuredGain | None = None
    faster_takes_more_work: bool = False
    kind: Literal["clear_gain"] = "clear_gain"

    def text(self) -> str:  # noqa: D102
        why = f"{self.chosen.text()} of the time of {self.baseline}"
        if self.faster is None:
            return why
        work = ", and takes more work" if self.faster_takes_more_work else ""
        return f"{why}; {self.faster.text()}, not clearly more{work}"


@dataclass(frozen=True)
class NoneWorthIt(Finding):
    """No candidate clearly saves more than the share `threshold`; `best` is the best of them."""

    baseline: str
    threshold: float
    best: MeasuredGain
    kind: Literal["none_worth_it"] = "none_worth_it"


@dataclass(frozen=True)
class StillOpen(Finding):
    """Some candidates may save more or less than the share `threshold`: `candidates`, what saves most first."""

    baseline: str
    threshold: float
    candidates: tuple[MeasuredGain, ...]
    settled_by: Settling
    kind: Literal["still_open"] = "still_open"

    def text(self, most: int = MOST_NAMED) -> str:
        """Return why the answer is open, with the best of the candidates."""
        named = [gain.text() for gain in self.candidates[:most]]
        left = len(self.candidates) - most
        still_open = formatting.listing([*named, *([formatting.count(left, "other")] if left > 0 else [])])
        border = f"{formatting.points(self.threshold)} of the time of {self.baseline}"
        return f"{still_open}: this may be more or less than {border}; {self.settled_by.text()}"


@dataclass(frozen=True)
class NoCandidate(Finding):
    """Nothing was measured alongside the baseline at all sizes; `required`: nothing that meets the requirements."""

    baseline: str
    required: bool
    kind: Literal["no_candidate"] = "no_candidate"


@dataclass(frozen=True)
class BaselineFailed(Finding):
    """The baseline has no number at all: its first failure, and the worker's own message about it."""

    label: str
    size: int
    status: str
    message: str
    kind: Literal["baseline_failed"] = "baseline_failed"


@dataclass(frozen=True)
class BaselineNotMeasured(Finding):
    """The baseline was not measured here, nor did it fail."""

    baseline: str
    kind: Literal["baseline_not_measured"] = "baseline_not_measured"


@dataclass(frozen=True)
class BaselineTooNoisy(Finding):
    """The baseline was measured, and its cost is too noisy to compare anything with.

    Attributes:
        label: of the baseline.
        size: the smallest at which that is so.
        seconds: the estimate, which is not above zero.
        low, high: its interval; None for one launch.
        launches: it is made from.
    """

    label: str
    size: int
    seconds: float
    low: float | None
    high: float | None
    launches: int
    kind: Literal["baseline_too_noisy"] = "baseline_too_noisy"


@dataclass(frozen=True)
class DtypeNotCalled(Finding):
    """The mix that was given has no calls in this dtype."""

    dtype: str
    kind: Literal["dtype_not_called"] = "dtype_not_called"


@dataclass(frozen=True)
class BeyondMeasured(Finding):
    """The mix asks for sizes at which the baseline has no number; `statuses` say how it failed there, if it did."""

    baseline: str
    sizes: tuple[int, ...]
    statuses: tuple[str, ...]
    kind: Literal["beyond_measured"] = "beyond_measured"


Reason: TypeAlias = (
    ClearGain
    | NoneWorthIt
    | StillOpen
    | NoCandidate
    | BaselineFailed
    | BaselineNotMeasured
    | BaselineTooNoisy
    | DtypeNotCalled
    | BeyondMeasured
)


# What the reason leaves out
@dataclass(frozen=True)
class BaselineBarred(Finding):
    """The current callback cannot stay, because it does not meet a requirement."""

    baseline: str
    kind: Literal["baseline_barred"] = "baseline_barred"


@dataclass(frozen=True)
class BaselineLacksSizes(Finding):
    """The baseline has no number at planned sizes, of which the decision says nothing."""

    baseline: str
    sizes: tuple[int, ...]
    statuses: tuple[str, ...]
    kind: Literal["baseline_lacks_sizes"] = "baseline_lacks_sizes"


@dataclass(frozen=True)
class CandidateLacksSizes(Finding):
    """A candidate has no number at sizes of the mix and is none over it, only at the other sizes."""

    label: str
    sizes: tuple[int, ...]
    statuses: tuple[str, ...]
    kind: Literal["candidate_lacks_sizes"] = "candidate_lacks_sizes"


@dataclass(frozen=True)
class NoLaunchOverMix(Finding):
    """A candidate has every size of the mix, but no launch with all of them; it is a candidate only at single sizes."""

    label: str
    kind: Literal["no_launch_over_mix"] = "no_launch_over_mix"


Caveat: TypeAlias = BaselineBarred | BaselineLacksSizes | CandidateLacksSizes | NoLaunchOverMix


# What a decision says nothing of, or not in one word
@dataclass(frozen=True)
class NoAnswerAt(Finding):
    """Planned sizes that have no answer, because the baseline has no number there."""

    sizes: tuple[int, ...]
    kind: Literal["no_answer_at"] = "no_answer_at"


@dataclass(frozen=True)
class DiffersBySize(Finding):
    """The answer is not the same at every size."""

    kind: Literal["differs_by_size"] = "differs_by_size"


Note: TypeAlias = NoAnswerAt | DiffersBySize


def summary_text(actions: Sequence[Action], ops: int, baseline: str) -> str:
    """Return how many decisions of each kind there are, and how to read the savings.

    Args:
        actions: of each decision.
        ops: how many ops they are about.
        baseline: the current callback.
    """
    counts = [f"{actions.count(action):,} {words}" for action, words in COUNTED.items() if action in actions]
    return (
        f"{formatting.count(len(actions), 'decision')} on {formatting.count(ops, 'op')}: {formatting.listing(counts)}. "
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
    counts = [f"{n:,} {'is' if n == 1 else 'are'} {kind}" for n, kind in kinds if n]
    return f"Of {formatting.count(decisions, 'answer')}, {formatting.listing(counts)}" if counts else ""


def _bound_text(loss: float) -> str:
    if round(loss, NO_LOSS_DIGITS) <= 0:
        return "no other variant is better"
    return f"another variant could save up to {formatting.points(loss)} more of that time"


def open_text(reason: Reason) -> str:
    """Return briefly why a decision is undecided: of open candidates only the best."""
    return reason.text(1) if isinstance(reason, StillOpen) else reason.text()
