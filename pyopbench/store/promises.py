"""What the figures of a certificate are held to, and what of one is not as good as promised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pyopbench.model import formatting
from pyopbench.store.certificate import Certificate, Decisions, Overhead, Pairs

MOST_FALSE = 0.001
MOST_FALSE_BOUND = 0.05
"""Of identical pairs: the share with a false verdict, and its upper bound (of full certificates: a quick one has too
few pairs to show it)."""
LEAST_EQUIVALENT = 0.95
"""Of identical pairs: the share that is shown to differ by less than the minimum effect."""
LEAST_FOUND = {5: 0.95, 10: 0.99}
"""Percent of slowdown -> the share of such pairs that are to be called slower."""
MOST_OVERHEAD = 0.02
"""Of a body of 20 us: the first call of a block costs more than each further one, in every case alike, so that no
difference of two cases has it; what is promised is that a lone latency is less than the minimum effect off."""
MOST_RENAMED = 1 / 12
"""Of decisions that are made several times: the share whose answers may differ, which is 2 of 24."""
MOST_MEAN_LOSS = 0.01
MOST_LOSS = 0.05
"""In shares of the current time: what an answer may cost more than the best, on average and at the most."""


@dataclass(frozen=True)
class ToldApart:
    """More identical pairs were told apart than the share `most`."""

    pairs: Pairs
    most: float

    def text(self) -> str:
        """Return what was found, and what is promised."""
        return f"{_told_apart(self.pairs)}, {formatting.percent(self.pairs.share)}; {_at_most(self.most)}"


@dataclass(frozen=True)
class MayBeToldApart:
    """The bound of the share of identical pairs that are told apart is above `most`."""

    pairs: Pairs
    most: float

    def text(self) -> str:
        """Return what was found, and what is promised."""
        return f"{_told_apart(self.pairs)}: up to {formatting.percent(self.pairs.bound)}; {_at_most(self.most)}"


@dataclass(frozen=True)
class NotShownEquivalent:
    """Fewer identical pairs were shown equivalent than the share `least`."""

    pairs: Pairs
    least: float

    def text(self) -> str:
        """Return what was found, and what is promised."""
        found = f"{self.pairs.equivalent} of {formatting.count(self.pairs.pairs, 'A/A control')} were found equivalent"
        return f"{found}, {formatting.percent(self.pairs.equivalent_share)}; {_at_least(self.least)}"


@dataclass(frozen=True)
class SlowdownMissed:
    """Fewer slowed pairs were found than the share `least`."""

    pairs: Pairs
    least: float

    def text(self) -> str:
        """Return what was found, and what is promised."""
        found = f"{self.pairs.hits} of {self.pairs.pairs} slowdowns by {self.pairs.percent}% were found"
        return f"{found}, {formatting.percent(self.pairs.share)}; {_at_least(self.least)}"


@dataclass(frozen=True)
class TooCostly:
    """Timing adds more to a call than the share `most`, or takes more away."""

    overhead: Overhead
    most: float

    def text(self) -> str:
        """Return what was found, and what is promised."""
        call = formatting.seconds(self.overhead.known_seconds)
        return f"timing adds {formatting.percent(self.overhead.share)} to a call of {call}; {_at_most(self.most)}"


@dataclass(frozen=True)
class TooManyRenamed:
    """More decisions than the share `most` have answers that differ between runs."""

    decisions: Decisions
    most: float

    def text(self) -> str:
        """Return what was found, and what is promised."""
        return f"{renamed_text(self.decisions)}; {_at_most(self.most)}"


@dataclass(frozen=True)
class LosesTooMuch:
    """Answers cost more than the share `most_mean` of the current time on average, or one more than `most`."""

    decisions: Decisions
    most_mean: float
    most: float

    def text(self) -> str:
        """Return what was found, and what is promised."""
        promised = f"{formatting.percent(self.most_mean)} and {formatting.percent(self.most)}"
        return f"answers cost {loss_text(self.decisions)}; promised: at most {promised}"


@dataclass(frozen=True)
class BoundsTooTight:
    """Answers have bounds that exclude what the other runs found."""

    decisions: Decisions

    def text(self) -> str:
        """Return what was found, and what is promised."""
        beyond = formatting.count(self.decisions.unbounded, "answer")
        return f"{beyond} cost more than the run's own bound, judged by the other runs; promised: none"


@dataclass(frozen=True)
class Undone:
    """There was no time for some runs; their names."""

    runs: tuple[str, ...]

    def text(self) -> str:
        """Return what was found, and what is promised."""
        return f"there was no time left for {formatting.listing(self.runs)}"


Miss: TypeAlias = (
    ToldApart
    | MayBeToldApart
    | NotShownEquivalent
    | SlowdownMissed
    | TooCostly
    | TooManyRenamed
    | LosesTooMuch
    | BoundsTooTight
    | Undone
)
"""What of a certificate is not as good as promised."""


def misses_of(certificate: Certificate) -> tuple[Miss, ...]:
    """Return what is not as good as promised; empty if all is."""
    return (
        *_of_identical(certificate),
        *_missed_slowdowns(certificate),
        *_too_costly(certificate),
        *_of_decisions(certificate),
        *((Undone(certificate.undone),) if certificate.undone else ()),
    )


def _of_identical(certificate: Certificate) -> list[Miss]:
    found, misses = certificate.identical, list[Miss]()
    if found.share > MOST_FALSE:
        misses.append(ToldApart(found, MOST_FALSE))
    elif not certificate.quick and found.bound > MOST_FALSE_BOUND:
        misses.append(MayBeToldApart(found, MOST_FALSE_BOUND))
    if found.equivalent_share < LEAST_EQUIVALENT:
        misses.append(NotShownEquivalent(found, LEAST_EQUIVALENT))
    return misses


def _missed_slowdowns(certificate: Certificate) -> list[Miss]:
    promised = [(pairs, LEAST_FOUND[pairs.percent]) for pairs in certificate.injected if pairs.percent in LEAST_FOUND]
    return [SlowdownMissed(pairs, least) for pairs, least in promised if pairs.pairs and pairs.share < least]


def _too_costly(certificate: Certificate) -> list[Miss]:
    return [TooCostly(one, MOST_OVERHEAD) for one in certificate.overheads if abs(one.share) > MOST_OVERHEAD]


def _of_decisions(certificate: Certificate) -> list[Miss]:
    """Return what is not as good of the decisions of the main job; those of a few ops are too few to be held to it."""
    found, misses = certificate.decisions, list[Miss]()
    if certificate.quick or found is None:
        return misses
    if len(found.renamed) > MOST_RENAMED * found.decisions:
        misses.append(TooManyRenamed(found, MOST_RENAMED))
    if found.mean_loss > MOST_MEAN_LOSS or (found.worst is not None and found.worst.share > MOST_LOSS):
        misses.append(LosesTooMuch(found, MOST_MEAN_LOSS, MOST_LOSS))
    if found.unbounded:
        misses.append(BoundsTooTight(found))
    return misses


def renamed_text(decisions: Decisions) -> str:
    """Return how many decisions have answers that differ."""
    return f"{len(decisions.renamed)} of {formatting.count(decisions.decisions, 'decision')} changed from run to run"


def loss_text(decisions: Decisions) -> str:
    """Return what answers cost more than the best, on average and at the most."""
    mean, worst = formatting.percent(decisions.mean_loss), decisions.worst
    if worst is None:
        return f"{mean} of the callback's time on average"
    where = f"{worst.op}, {worst.use}"
    return f"{mean} of the callback's time on average, at most {formatting.percent(worst.share)} ({where})"


def _told_apart(pairs: Pairs) -> str:
    return f"{pairs.hits} of {formatting.count(pairs.pairs, 'A/A control')} were found different"


def _at_most(most: float) -> str:
    return f"promised: at most {formatting.percent(most)}"


def _at_least(least: float) -> str:
    return f"promised: at least {formatting.percent(least)}"
