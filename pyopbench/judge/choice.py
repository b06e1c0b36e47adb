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
    def value(self) -> float:
        """Seconds today over seconds afterwards; infinite where nothing is left."""
        return as_gain(self.saved)

    @property
    def low(self) -> float:
        """The lower end of the interval; nan for one launch."""
        return as_gain(self.saved_low)

    @property
    def high(self) -> float:
        """The upper end of the interval; nan for one launch."""
        return as_gain(self.saved_high)


def as_gain(saved: float) -> float:
    """Return the time today over the time afterwards for a share of the current time that is saved."""
    return math.inf if saved >= 1 else 1 / (1 - saved)


@dataclass(frozen=True, eq=False)
class _Rivals:
    """Labels that can be chosen over a mix, and what they cost less one another."""

    contrasts: Contrasts
    mix: Mix
    labels: tuple[str, ...]

    def difference(self, label: str, other: str) -> tuple[float, float, float]:
        """Return what a label costs more than another, its standard error, and how far both can be off together."""
        if label == other:
            return 0.0, 0.0, 0.0
        first, second = sorted((label, other), key=self.labels.index)
        found = self.contrasts.over(self.mix, first, second)
        error = found.standard_error if found.known else math.inf
        return (found.mean if first == label else -found.mean), error, found.upper_reach(len(self.labels) - 1)

    def loss(self, label: str) -> float:
        """Return how much a label may cost at the most against the best of the others."""
        bounds = (self.difference(label, other) for other in self.labels if other != label)
        return max([0.0, *(mean + reach for mean, _, reach in bounds)])


@dataclass(frozen=True, eq=False)
class Standing:
    """How one of the labels that can be chosen stands to the others, in shares of the current time.

    Attributes:
        label: a candidate's, or the current callback's.
        effort: rank of the work to get there; below all others for the current callback.
        share: what it leaves of the current time.
        lag: how much that is above the smallest; 0 for the best.
        error: the standard error of `lag`; infinite where one launch shows none.
        reach: how far `lag` can be off, for all labels together at 95%, likewise.
        best_share: the smallest of the shares.
        rivals: all that can be chosen.
    """

    label: str
    effort: float
    share: float
    lag: float
    error: float
    reach: float
    best_share: float
    rivals: _Rivals

    @cached_property
    def loss(self) -> float:
        """How much it may cost at the most against the best, at 95% for all labels together; infinite likewise.

        It takes a difference to each of the others, and is asked for of the label that is chosen.
        """
        return self.rivals.loss(self.label)

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
    """What to do over one mix.

    Attributes:
        action: `keep`, `switch`, `port` or `undecided`.
        gain: of the chosen candidate; of the best by its centre for keep and undecided; None without candidates.
        gains: of every candidate, in the order of their labels.
        standings: of every label that can be chosen, the smallest share first; none without candidates.
        rules: how it was chosen.
    """

    action: Action
    gain: Gain | None
    gains: tuple[Gain, ...]
    standings: tuple[Standing, ...]
    rules: Rules

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
    def named(self) -> Standing | None:
        """The standing of what is to be done; None for undecided."""
        if self.action == "undecided":
            return None
        keeps = self.label is None
        return next((one for one in self.standings if (one.label == self.label) or (keeps and one.effort < 0)), None)

    @property
    def loss(self) -> float | None:
        """The share of the current time that the answer may cost at the most against the best; None for undecided."""
        return None if self.named is None else self.named.loss

    @property
    def is_provisional(self) -> bool:
        """May the answer cost more than `PROVISIONAL`?"""
        return self.loss is not None and not self.loss <= bearable(self.minimum_effect)

    @property
    def as_good(self) -> tuple[str, ...]:
        """The other candidates that save as much, as far as the data show: those of least effort first."""
        if self.label is None:
            return ()
        others = (one for one in self.standings if one.label != self.label and one.effort >= 0)
        return tuple(
            one.label for one in sorted(others, key=lambda one: (one.effort, one.label)) if one.is_as_good(self.rules)
        )


@dataclass(frozen=True)
class Rules:
    """How to choose.

    Attributes:
        minimum_effect: a share of the current time that is worth acting on.
        preferred: the label to stay with, if it is as good as any.
        error: how often any of the gains of a choice may be wrong.
        must_change: the current callback cannot stay, so that a candidate is chosen whatever it saves.
        alike: how much longer than the best a change may take and be as good, as a share of the best's time, where that
            is more than the minimum effect. It says which of several changes to make, if they pay, and not whether.
    """

    minimum_effect: float
    preferred: str | None = None
    error: float = FAMILY_ERROR
    must_change: bool = False
    alike: float = 0.0


def bearable(minimum_effect: float) -> float:
    """Return the share of the current time that an answer may cost against the best without being provisional."""
    return max(PROVISIONAL, minimum_effect)


def choose(candidates: Sequence[Candidate], contrasts: Contrasts, mix: Mix, rules: Rules) -> Choice:
    """Choose among the candidates that some launch measured at every size the mix draws on, and the current callback.

    Chosen is the least effort among all that cost at most the minimum effect more than the best, and a standard error
    of that, but never more than twice the minimum effect; the smaller share of two that take the same effort. A change
    is proposed only where it clearly saves more than the minimum effect: the lower bounds hold for all candidates at
    once (Bonferroni). Whatever is chosen comes with a bound on what it may cost against the best (`standings_of`).

    Args:
        candidates: what could be chosen.
        contrasts: of their setting.
        mix: shares of the current time by size.
        rules: how to choose.
    """
    covering = [one for one in candidates if contrasts.over(mix, one.label, contrasts.baseline).n]
    covering.sort(key=lambda one: one.label)
    level = 1 - rules.error / max(len(covering), 1)
    gains = tuple(Gain(one, contrasts.over(mix, one.label, contrasts.baseline), level) for one in covering)
    standings = standings_of(covering, contrasts, mix, keep=not rules.must_change) if covering else ()
    action, gain = _pick(gains, standings, rules)
    return Choice(action, gain, gains, standings, rules)


def standings_of(
    candidates: Sequence[Candidate], contrasts: Contrasts, mix: Mix, *, keep: bool
) -> tuple[Standing, ...]:
    """Return how candidates compare with the best of them, and the current callback too if it can be kept.

    `reach` is as many standard errors of the difference to the best as all differences stay within together at 95%
    (`Estimate.upper_reach`): what lies within it may be the best (S. S. Gupta, Technometrics 7 (1965) 225-245). `loss`
    is the upper bound, at the same level, of what a label costs more than the best of the others (J. C. Hsu, Ann. Stat.
    9 (1981) 1026-1034).

    Returns:
        The smallest share first.
    """
    effort = {one.label: one.effort for one in candidates} | ({contrasts.baseline: -1.0} if keep else {})
    labels = list(effort)
    share = {one: 1 + contrasts.over(mix, one, contrasts.baseline).mean if effort[one] >= 0 else 1.0 for one in labels}
    best = min(labels, key=lambda one: (share[one], one))
    rivals = _Rivals(contrasts, mix, tuple(labels))
    standings = []
    for label in labels:
        lag, error, reach = rivals.difference(label, best)
        standings.append(Standing(label, effort[label], share[label], max(lag, 0.0), error, reach, share[best], rivals))
    return tuple(sorted(standings, key=lambda one: (one.share, one.label)))


def _pick(gains: Sequence[Gain], standings: Sequence[Standing], rules: Rules) -> tuple[Action, Gain | None]:
    by_label = {gain.label: gain for gain in gains}
    best = max(gains, key=lambda gain: gain.saved, default=None)
    as_good = [one for one in standings if one.is_as_good(rules)]
    if not as_good or best is None or not best.change.known:
        return "undecided", best
    ranked = sorted(as_good, key=lambda one: (one.label != rules.preferred, one.effort, one.share, one.label))
    for one in ranked:
        gain = by_label.get(one.label)
        if gain is None:
            return ("keep" if one.loss <= bearable(rules.minimum_effect) else "undecided"), best
        if rules.must_change or gain.saved_low > rules.minimum_effect:
            return ("switch" if gain.candidate.kind == "callback" else "port"), gain
    return "undecided", best
