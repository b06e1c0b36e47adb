"""The choice of a variant: the saving of each candidate over a mix of sizes, and common rules to choose among them.

The unit is a share of the current time over the mix: two ports that leave 0.8% and 1.2% of it differ by 0.4 points, and
not by half. `docs/statistics.md` has the rule with its sources and what simulations say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyopbench.judge.candidates import Candidate
from pyopbench.judge.contrasts import Contrasts
from pyopbench.judge.decision import Action, Answer
from pyopbench.judge.program import Mix
from pyopbench.stats.estimate import FAMILY_ERROR, Estimate

PROVISIONAL = 0.10
"""An answer that may cost more than this share of the current time, against the best, is provisional; unless less than
that is not worth acting on anyway."""


@dataclass(frozen=True, eq=False)
class Gain:
    """The saving of one candidate: its share of the current time minus one, by launch, at a corrected level."""

    candidate: Candidate
    change: Estimate
    level: float

    @cached_property
    def _interval(self) -> tuple[float, float]:
        return self.change.interval(self.level)

    @property
    def label(self) -> str:
        """The label of the candidate."""
        return self.candidate.label

    @property
    def saved(self) -> float:
        """The share of the current time that it saves; below 0 for what takes longer."""
        return -self.change.mean

    @property
    def saved_low(self) -> float:
        """The lower end of the interval; nan for one launch."""
        return -self._interval[1]

    @property
    def saved_high(self) -> float:
        """The upper end of the interval; nan for one launch."""
        return -self._interval[0]

    @property
    def times(self) -> tuple[float, float, float]:
        """Seconds today over seconds afterwards, and the ends of the interval; infinite where nothing is left."""
        return _times(self.saved), _times(self.saved_low), _times(self.saved_high)


def _times(saved: float) -> float:
    return math.inf if saved >= 1 else 1 / (1 - saved)


@dataclass(frozen=True)
class Rules:
    """How to choose."""

    minimum_effect: float  # a share of the current time that is worth acting on
    preferred: str | None = None  # the label to stay with, if it is as good as any
    error: float = FAMILY_ERROR  # how often any of the gains of a choice may be wrong
    must_change: bool = False  # the current callback cannot stay, so that a candidate is chosen whatever it saves
    # How much longer than the best a change may take and be as good, as a share of the best's time, where that is more
    # than the minimum effect. It says which of several changes to make, if they pay, and not whether.
    alike: float = 0.0

    @property
    def bearable(self) -> float:
        """The share of the current time that an answer may cost against the best without being provisional."""
        return max(PROVISIONAL, self.minimum_effect)


@dataclass(frozen=True)
class Standing:
    """How one of the labels that can be chosen stands to the others, in shares of the current time."""

    label: str  # a candidate's, or the current callback's
    effort: float  # rank of the work to get there; below all others for the current callback
    share: float  # what it leaves of the current time
    lag: float  # how much that is above the smallest; 0 for the best
    error: float  # the standard error of `lag`; infinite where one launch shows none
    reach: float  # how far `lag` can be off, for all labels together at 95%, likewise
    best_share: float  # the smallest of the shares

    def is_as_good(self, rules: Rules) -> bool:
        """Is it as good as the best, within the minimum effect and a part of the uncertainty?

        A standard error, and not all of `reach`, is granted in addition to the minimum effect: it makes a choice as
        repeatable and costs less. (The simplest within one standard error of the best: L. Breiman et al.,
        "Classification and Regression Trees", 1984, section 3.4.3.)
        """
        is_change = self.effort >= 0 and self.share <= 1 - rules.minimum_effect
        least = max(rules.minimum_effect, rules.alike * self.best_share if is_change else 0.0)
        return self.lag <= least + min(self.error, least)


@dataclass(frozen=True, eq=False)
class Choice:
    """What to do over one mix."""

    action: Action  # `keep`, `switch`, `port` or `undecided`
    # Of the chosen candidate; of the best by its centre for keep and undecided; None without candidates
    gain: Gain | None
    gains: tuple[Gain, ...]  # of every candidate, in the order of their labels
    # Of every label that can be chosen, the smallest share first; none without candidates
    standings: tuple[Standing, ...]
    rules: Rules  # how it was chosen
    # The share of the current time that the answer may cost at the most against the best; None for undecided
    loss: float | None = None
    # The other candidates that save as much, as far as the data show: those of least effort first
    as_good: tuple[str, ...] = ()

    @property
    def minimum_effect(self) -> float:
        """The share of the current time from which a difference is worth acting on."""
        return self.rules.minimum_effect

    @property
    def label(self) -> str | None:
        """Where to go; None for keep and undecided."""
        return self.gain.label if self.gain and self.action in ("switch", "port") else None

    @property
    def answer(self) -> Answer:
        """What to do, as `Decision.answer`."""
        return Answer(self.action, self.label)

    @property
    def open(self) -> tuple[Gain, ...]:
        """The gains whose interval reaches across the minimum effect, or that have no interval."""
        least = self.minimum_effect
        return tuple(gain for gain in self.gains if not (gain.saved_low > least or gain.saved_high < least))

    @property
    def is_provisional(self) -> bool:
        """May the answer cost more than `PROVISIONAL`?"""
        return self.loss is not None and not self.loss <= self.rules.bearable


def choose(candidates: Sequence[Candidate], contrasts: Contrasts, mix: Mix, rules: Rules) -> Choice:
    """Choose among the candidates that some launch measured at every size the mix draws on, and the current callback.

    Chosen is the least effort among all that cost at most the minimum effect more than the best, and a standard error
    of that, but never more than twice the minimum effect; the smaller share of two that take the same effort. A change
    is proposed only where it clearly saves more than the minimum effect: the lower bounds hold for all candidates at
    once (Bonferroni). Whatever is chosen comes with a bound on what it may cost against the best (`loss_of`).
    """
    covering = [one for one in candidates if contrasts.over(mix, one.label, contrasts.baseline).n]
    covering.sort(key=lambda one: one.label)
    level = 1 - rules.error / max(len(covering), 1)
    gains = tuple(Gain(one, contrasts.over(mix, one.label, contrasts.baseline), level) for one in covering)
    standings = standings_of(covering, contrasts, mix, keep=not rules.must_change) if covering else ()
    best = max(gains, key=lambda gain: gain.saved, default=None)
    as_good = [one for one in standings if one.is_as_good(rules)]
    if not as_good or best is None or not best.change.known:
        return Choice("undecided", best, gains, standings, rules)
    by_label = {gain.label: gain for gain in gains}
    labels = [*by_label, *([] if rules.must_change else [contrasts.baseline])]
    for one in sorted(as_good, key=lambda one: (one.label != rules.preferred, one.effort, one.share, one.label)):
        gain = by_label.get(one.label)
        if gain is None:
            loss = loss_of(one.label, labels, contrasts, mix)
            if loss <= rules.bearable:
                return Choice("keep", best, gains, standings, rules, loss)
            break
        if rules.must_change or gain.saved_low > rules.minimum_effect:
            others = (other for other in as_good if other.label != one.label and other.effort >= 0)
            names = tuple(other.label for other in sorted(others, key=lambda other: (other.effort, other.label)))
            action: Action = "switch" if gain.candidate.kind == "callback" else "port"
            # No variant saves more than all of the current time, however noisy the differences are.
            loss = min(loss_of(one.label, labels, contrasts, mix), 1 - gain.saved_low)
            return Choice(action, gain, gains, standings, rules, loss, names)
    return Choice("undecided", best, gains, standings, rules)


def standings_of(
    candidates: Sequence[Candidate], contrasts: Contrasts, mix: Mix, *, keep: bool
) -> tuple[Standing, ...]:
    """Return how candidates compare with the best of them, and the current callback too if it can be kept.

    `reach` is as many standard errors of the difference to the best as all differences stay within together at 95%
    (`Estimate.upper_reach`): what lies within it may be the best (S. S. Gupta, Technometrics 7 (1965) 225-245).

    Returns:
        The smallest share first.
    """
    effort = {one.label: one.effort for one in candidates} | ({contrasts.baseline: -1.0} if keep else {})
    share = {one: 1 + contrasts.over(mix, one, contrasts.baseline).mean if effort[one] >= 0 else 1.0 for one in effort}
    best = min(effort, key=lambda one: (share[one], one))
    standings = []
    for label in effort:
        lag, error, reach = _difference(label, best, list(effort), contrasts, mix)
        standings.append(Standing(label, effort[label], share[label], max(lag, 0.0), error, reach, share[best]))
    return tuple(sorted(standings, key=lambda one: (one.share, one.label)))


def loss_of(label: str, labels: Sequence[str], contrasts: Contrasts, mix: Mix) -> float:
    """Return how much a label may cost at the most against the best of the others, at 95% for all labels together.

    The source is J. C. Hsu, Ann. Stat. 9 (1981) 1026-1034. Infinite where one launch shows no error.
    """
    bounds = (_difference(label, other, labels, contrasts, mix) for other in labels if other != label)
    return max([0.0, *(mean + reach for mean, _, reach in bounds)])


def _difference(
    label: str, other: str, labels: Sequence[str], contrasts: Contrasts, mix: Mix
) -> tuple[float, float, float]:
    """Return what a label costs more than another, its standard error, and how far both can be off together."""
    if label == other:
        return 0.0, 0.0, 0.0
    first, second = sorted((label, other), key=labels.index)
    found = contrasts.over(mix, first, second)
    error = found.standard_error if found.known else math.inf
    return (found.mean if first == label else -found.mean), error, found.upper_reach(len(labels) - 1)
