"""What an answer is worth when it is asked again: runs of the same on one machine, each valued by what others found.

The loss of an answer is what its label costs more than the best label, in shares of the current time over the mix, as
the other runs have measured both: a run is never judge of itself, for it chose what happened to look best in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pyopbench.judge.findings import Answer
from pyopbench.stats.launch_model import estimate_run_effect

if TYPE_CHECKING:
    from pyopbench.judge.choice import Choice
    from pyopbench.judge.judge import Judgement
    from pyopbench.store.certificate import RunEffect

Key: TypeAlias = tuple[str, str, str, str, str]
"""Op, use, mode, dtype and placement of a decision."""


@dataclass(frozen=True)
class RepeatedAnswer:
    """One decision in one run, and what the other runs say of it.

    Attributes:
        key: of the decision.
        run: which run, from 0.
        answer: what that run says.
        share, best_share: what its label, and the best, leave of the current time, as the others found.
        bound: what that run said it may cost at the most; None for undecided.
        saved: what that run says its label saves, with its interval; None where there is none.
        saved_by_others: the mean of what the others found that it saves; None as above.
    """

    key: Key
    run: int
    answer: Answer
    share: float
    best_share: float
    bound: float | None
    saved: tuple[float, float, float] | None
    saved_by_others: float | None

    @property
    def loss(self) -> float:
        """What the answer costs more than the best."""
        return self.share - self.best_share

    @property
    def is_bounded(self) -> bool:
        """Did the run's own bound allow for the loss that the others found?"""
        return self.bound is None or self.loss <= self.bound

    @property
    def is_covered(self) -> bool | None:
        """Does the interval of what it saves hold what the others found? None where there is no interval."""
        if self.saved is None or self.saved_by_others is None:
            return None
        return self.saved[1] <= self.saved_by_others <= self.saved[2]


@dataclass(frozen=True)
class Repetition:
    """Every decision of every run that all runs have."""

    runs: int
    answers: tuple[RepeatedAnswer, ...]

    @property
    def decisions(self) -> int:
        """How many decisions each run has."""
        return len({one.key for one in self.answers})

    @property
    def renamed(self) -> dict[Key, tuple[Answer, ...]]:
        """The decisions whose answers differ between runs, with the answer of each."""
        by_key: dict[Key, list[Answer]] = {}
        for one in self.answers:
            by_key.setdefault(one.key, []).append(one.answer)
        return {key: tuple(found) for key, found in by_key.items() if len(set(found)) > 1}

    @property
    def mean_loss(self) -> float:
        """The mean loss over decisions and runs; 0 without any."""
        return sum(one.loss for one in self.answers) / len(self.answers) if self.answers else 0.0

    @property
    def worst(self) -> RepeatedAnswer | None:
        """The answer that costs most."""
        return max(self.answers, key=lambda one: one.loss, default=None)

    @property
    def unbounded(self) -> tuple[RepeatedAnswer, ...]:
        """The answers whose own bound excludes what the others found."""
        return tuple(one for one in self.answers if not one.is_bounded)

    @property
    def coverage(self) -> float | None:
        """The share of intervals of what is saved that hold what the others found; None without an interval."""
        known = [one.is_covered for one in self.answers if one.is_covered is not None]
        return sum(known) / len(known) if known else None


def repetition_of(judgements: Sequence[Judgement]) -> Repetition:
    """Return what became of each decision in runs of the same, at least two."""
    runs = [_choices(judgement) for judgement in judgements]
    common = [key for key in runs[0] if all(key in run for run in runs)]
    found = (
        _answer(key, place, runs[place][key], [run[key] for other, run in enumerate(runs) if other != place])
        for key in common
        for place in range(len(runs))
    )
    return Repetition(len(runs), tuple(one for one in found if one is not None))


def _choices(judgement: Judgement) -> dict[Key, Choice]:
    return {
        (setting.op, setting.use, setting.mode, setting.dtype, setting.placement): made[0]
        for comparison, made in judgement.choices
        if made is not None
        for setting in (comparison.setting,)
    }


def _answer(key: Key, run: int, choice: Choice, others: Sequence[Choice]) -> RepeatedAnswer | None:
    """Return one answer with what others found; None where no label was measured in all of them."""
    shares = [_shares(other) for other in others]
    common = [label for label in shares[0] if all(label in one for one in shares)]
    label = choice.label
    if not common or (label is not None and label not in common):
        return None
    mean = {one: sum(found[one] for found in shares) / len(shares) for one in common}
    share = 1.0 if label is None else mean[label]
    saved = None
    if label is not None and choice.gain is not None:
        saved = (choice.gain.saved, choice.gain.saved_low, choice.gain.saved_high)
    return RepeatedAnswer(
        key,
        run,
        choice.answer,
        share,
        min(1.0, *mean.values()),
        choice.loss,
        saved,
        None if label is None else 1 - mean[label],
    )


def _shares(choice: Choice) -> Mapping[str, float]:
    return {gain.label: 1 - gain.saved for gain in choice.gains}


def run_effect_of(judgements: Sequence[Judgement]) -> RunEffect | None:
    """Return what runs of the same differ by; None where too few ports are known well enough in all of them."""
    return estimate_run_effect([shares_of_ports(judgement) for judgement in judgements])


def shares_of_ports(judgement: Judgement) -> dict[str, tuple[float, float]]:
    """Return by case what each port leaves of its callback's time, and the standard error of that within the run."""
    catalogue = judgement.run.catalogue
    pairs = zip(judgement.verdicts, judgement.estimates, strict=True)
    return {
        verdict.case: (1 + one.mean, one.moderated / one.n**0.5)
        for verdict, one in pairs
        if catalogue.variant(verdict.case.split("/")[1]).kind == "port" and one.known
    }
