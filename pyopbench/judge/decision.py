"""The nouns of the judging half: verdicts on variants, decisions about ops, and what goes with them. Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyopbench.judge.findings import (
    PROVISIONAL_TEXT,
    Action,
    Answer,
    Caveat,
    Reason,
    _bound_text,
)
from pyopbench.model import formatting

Outcome: TypeAlias = Literal["faster", "slower", "equivalent", "unresolved"]


@dataclass(frozen=True)
class Unresolved:
    """Why a verdict is left open.

    Attributes:
        kind: `never_paired`, `one_launch`, `not_above_zero` or `across_border`.
        sentence: a clause, without a full stop.
    """

    kind: Literal["never_paired", "one_launch", "not_above_zero", "across_border"]
    sentence: str

    def text(self) -> str:
        """Return why, a clause."""
        return self.sentence


@dataclass(frozen=True)
class Bar:
    """A requirement that a variant does not meet.

    Attributes:
        label: the variant.
        requirement: its name.
        status: in which way; `does not apply` where there is nothing to try.
        reason: the error, the numbers that were seen, or why there is nothing to try.
    """

    label: str
    requirement: str
    status: Literal["fails", "silently wrong", "does not apply"]
    reason: str


@dataclass(frozen=True)
class Unknown:
    """A requirement that some labels were not tried for with the op: they are no candidates until they have been."""

    requirement: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """A variant against the baseline in one group and direction.

    Attributes:
        case, baseline: ids of cases.
        ratio: seconds of the case over seconds of the baseline; below 1 is faster.
        low, high: its 95% interval over launches.
        launches: number of launches behind the ratio.
        p: corrected for all verdicts of the same op and use; `outcome` follows from it and the minimum effect.
        reason: why an `unresolved` one is left open.
        needed: about how many launches in all would resolve it; None for more than anybody waits for.
        fewest: how few could, if luck has been bad so far. Both are `launches` for one that is resolved.
    """

    case: str
    baseline: str
    ratio: float
    low: float
    high: float
    launches: int
    p: float
    outcome: Outcome
    reason: Unresolved | None = None
    needed: int | None = None
    fewest: int | None = None


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

    `after` is None where that has no number there, and the same as `today` for keep and undecided. What is too noisy
    (`Estimate.is_too_noisy`) is a number here, and is not shown as one.
    """

    size: int
    today: float
    after: float | None
    today_too_noisy: bool = False
    after_too_noisy: bool = False


@dataclass(frozen=True)
class Decision:
    """The decision on one op, for one use.

    Attributes:
        op: the op.
        use: `inference` (forward) or `training` (forward and backward).
        mode, dtype, placement: where it holds.
        baseline: label of the current callback (`variant` or `variant+gradient`).
        action: `keep`, `switch` (to another callback), `port` or `undecided`.
        choice: label of the variant to change to; None for keep and undecided.
        saved: share of the current time that is saved over the mix of sizes; of the best candidate if there is no
            choice; None if there is no candidate at all.
        saved_low, saved_high: its interval at 95%, corrected for the number of candidates.
        reason: why.
        caveats: limitations of the answer: numbers that were missing, and a callback that cannot stay.
        ranges: answers by size, where they differ from one another; else one range.
        barred: what was removed because it cannot do what is required.
        unknown: what is required and was not tried with some variants.
        launches: launches that `saved` is made of; None without one.
        loss: the share of the current time that the answer may cost at the most against the best of all candidates, at
            95% for all of them together; None for undecided.
        is_provisional: is that more than `choice.PROVISIONAL`?
        as_good: the other candidates that save as much, as far as that is worth acting on; least effort first.
        seconds: what one op costs today and afterwards, by measured size; empty without an answer.
    """

    op: str
    use: Literal["inference", "training"]
    mode: str
    dtype: str
    placement: str
    baseline: str
    action: Action
    choice: str | None
    saved: float | None
    saved_low: float | None
    saved_high: float | None
    reason: Reason
    ranges: tuple[SizeRange, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    barred: tuple[Bar, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    launches: int | None = None
    loss: float | None = None
    is_provisional: bool = False
    as_good: tuple[str, ...] = ()
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
        bound = self.loss_text()
        return "; ".join(
            (self.reason.text(), *((bound,) if bound else ()), *(caveat.text() for caveat in self.caveats))
        )
