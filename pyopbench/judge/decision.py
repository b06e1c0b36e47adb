"""The nouns of the judging half: verdicts on variants, decisions about ops, and what goes with them. Plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyopbench.model import formatting

Action: TypeAlias = Literal["keep", "switch", "port", "undecided"]
Outcome: TypeAlias = Literal["faster", "slower", "equivalent", "unresolved"]
ReasonKind: TypeAlias = Literal[
    "clear_gain",
    "none_worth_it",
    "still_open",
    "no_candidate",
    "none_meets_requirements",
    "baseline_failed",
    "baseline_not_measured",
    "baseline_too_noisy",
    "dtype_not_called",
    "beyond_measured",
    "failed_beyond",
]

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


def finite(value: float | None) -> float | None:
    """Return a number; None for what is infinite, no number, or not there."""
    return float(value) if value is not None and math.isfinite(value) else None


@dataclass(frozen=True)
class Answer:
    """The action, and the label to change to; None for keep and undecided."""

    action: Action
    choice: str | None

    def text(self) -> str:
        """Return `keep`, `undecided`, `port to native` or `switch to numpy_function`."""
        return self.action if self.choice is None else f"{self.action} to {self.choice}"


@dataclass(frozen=True)
class Reason:
    """Why a decision is what it is, with what a next command is made of."""

    kind: ReasonKind  # which of the reasons
    sentence: str  # a clause, without a full stop
    brief: str = ""  # the same with only the best of several open candidates; "" where `sentence` is brief
    launches: int = 0  # of what is open or too noisy
    # About how many launches in all would settle what is open; None for more than anybody waits for
    enough: int | None = None
    # The largest share that any open candidate may save; None where one launch does not show it
    most_saved: float | None = None
    sizes: tuple[int, ...] = ()  # that the mix needs and were not measured


@dataclass(frozen=True)
class Bar:
    """A requirement that a variant does not meet."""

    label: str
    requirement: str
    # In which way; `does not apply` where there is nothing to try
    status: Literal["fails", "silently wrong", "does not apply"]
    reason: str  # the error, the numbers that were seen, or why there is nothing to try


@dataclass(frozen=True)
class Unknown:
    """A requirement that some labels were not tried for with the op: they are no candidates until they have been."""

    requirement: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class CaseVerdict:
    """A case against another: a baseline in the same rounds, or the same case on the first side."""

    ratio: float  # seconds of the case over seconds of the other; below 1 is faster; nan where there is none
    low: float  # low and high: its 95% interval
    high: float
    launches: int  # number of launches, or of pairs of launches, behind the ratio
    p: float  # corrected for all that are judged together; `outcome` follows from it and the minimum effect
    outcome: Outcome
    reason: str | None = None  # why an `unresolved` one is left open, a clause
    needed: int | None = None  # about how many launches in all would resolve it; None for more than anybody waits for
    # How few could, if luck has been bad so far. Both are `launches` for one that is resolved.
    fewest: int | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict(CaseVerdict):
    """The verdict on a case of a run against the baseline of its group and direction; both are ids."""

    case: str
    baseline: str


@dataclass(frozen=True)
class SizeRange:
    """The answer for sizes from `low` to `high` (both measured sizes, inclusive); the rest as in `Decision`."""

    low: int
    high: int
    action: Action
    choice: str | None
    saved: float
    saved_low: float

    @property
    def answer(self) -> Answer:
        """The answer at these sizes."""
        return Answer(self.action, self.choice)


@dataclass(frozen=True)
class SizeSeconds:
    """What one op costs at a size, in seconds: `today` with the current callback, `after` with the answer.

    `after` is None where that has no number there, and the same as `today` for keep and undecided. If it is too noisy
    (`Estimate.is_too_noisy`), it is a number here, and is not shown as one; there is no comparison if `today` is.
    """

    size: int
    today: float
    after: float | None
    after_too_noisy: bool = False


@dataclass(frozen=True)
class Decision:
    """The decision on one op, for one use."""

    op: str
    use: Literal["inference", "training"]  # `inference` (forward) or `training` (forward and backward)
    mode: str  # mode, dtype and placement: where it holds
    dtype: str
    placement: str
    baseline: str  # label of the current callback (`variant` or `variant+gradient`)
    reason: Reason
    action: Action = "undecided"  # or `keep`, `switch` (to another callback) or `port`
    choice: str | None = None  # label of the variant to change to; None for keep and undecided
    # Share of the current time that is saved over the mix of sizes; of the best candidate if there is no choice; None
    # if there is no candidate at all
    saved: float | None = None
    # saved_low and saved_high: its interval at 95%, corrected for the number of candidates
    saved_low: float | None = None
    saved_high: float | None = None
    ranges: tuple[SizeRange, ...] = ()  # answers by size, where they differ from one another; else one range
    # Limitations of the answer: numbers that were missing, and a callback that cannot stay
    caveats: tuple[str, ...] = ()
    barred: tuple[Bar, ...] = ()  # what was removed because it cannot do what is required
    unknown: tuple[Unknown, ...] = ()  # what is required and was not tried with some variants
    launches: int | None = None  # launches that `saved` is made of; None without one
    # The share of the current time that the answer may cost at the most against the best of all candidates, at 95% for
    # all of them together; None for undecided
    loss: float | None = None
    is_provisional: bool = False  # is that more than `choice.PROVISIONAL`?
    # The other candidates that save as much, as far as that is worth acting on; least effort first
    as_good: tuple[str, ...] = ()
    # What one op costs today and afterwards, by measured size; empty without an answer
    seconds: tuple[SizeSeconds, ...] = ()

    @property
    def answer(self) -> Answer:
        """What to do."""
        return Answer(self.action, self.choice)

    def loss_text(self) -> str:
        """Return what an answer may cost against the best, and what else saves as much; "" for undecided."""
        if self.loss is None:
            return ""
        bound = _bound_text(self.loss)
        said = f"{PROVISIONAL_TEXT}: {bound}" if self.is_provisional else bound
        return "; ".join(filter(None, (said, self.as_good_text())))

    def as_good_text(self) -> str:
        """Return which other candidates save as much as the one that was chosen; "" where none does."""
        others = formatting.listing(list(self.as_good))
        return others and f"{others} {'saves' if len(self.as_good) == 1 else 'save'} as much"

    def why(self) -> str:
        """Return the reason of a decision with what goes with it."""
        return "; ".join(filter(None, (self.reason.sentence, self.loss_text(), *self.caveats)))


def _bound_text(loss: float) -> str:
    if round(loss, NO_LOSS_DIGITS) <= 0:
        return "no other variant is better"
    return f"another variant could save up to {formatting.points(loss)} more of that time"


def summary_text(actions: Sequence[Action], ops: int, baseline: str) -> str:
    """Return how many decisions of each kind there are, and how to read the savings."""
    counts = [f"{actions.count(action):,} {words}" for action, words in COUNTED.items() if action in actions]
    return (
        f"{formatting.count(len(actions), 'decision')} on {formatting.count(ops, 'op')}: {formatting.listing(counts)}. "
        f"“Saves” is the share of the time of {baseline}, the current callback, that is no longer spent; ≥ is the "
        "lower end of its 95% interval."
    )


def standing_text(decisions: Sequence[Decision]) -> str:
    """Return how many of many answers are not the whole story, in a line; "" where all are."""
    kinds = (
        (sum(one.action == "undecided" for one in decisions), "is undecided", "are undecided"),
        (sum(one.is_provisional for one in decisions), f"is {PROVISIONAL_TEXT}", f"are {PROVISIONAL_TEXT}"),
        (sum(len(one.ranges) > 1 for one in decisions), "differs by size", "differ by size"),
    )
    counts = [f"{n:,} {one if n == 1 else several}" for n, one, several in kinds if n]
    return f"Of {formatting.count(len(decisions), 'answer')}, {formatting.listing(counts)}" if counts else ""
