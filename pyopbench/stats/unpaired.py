"""Ratios of two runs that were not interleaved: what differs between runs is part of them, and is estimated and added.

Launches of one run share what the machine was like while it ran: frequency, temperature, other guests of the host. More
launches do not average that out, so the variance of a log ratio has three parts,

    var(A) / launches of A + var(B) / launches of B + between runs

of which the first two are Welch's (1947). Two runs cannot tell the third from a difference that is real, but most cases
of a comparison usually have none. So it is estimated for each case from all *others* of the same two runs, around a
ratio of 1: what all cases have in common counts as the machine's. Sources: B. L. Welch, Biometrika 34 (1947) 28-35;
F. E. Satterthwaite, Biometrics Bulletin 2 (1946) 110-114; docs/statistics.md has what simulations say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pyopbench.stats import estimate
from pyopbench.stats.estimate import (
    LEAST_COMPARISONS,
    MOST_DEGREES,
    UNKNOWN,
    Estimate,
    Floats,
    Spread,
    usual_without_each,
)
from pyopbench.stats.unresolved import FewOtherCases, InterleavedRun, MoreLaunchesOfBothRuns

RUN_SPREAD = 0.03
"""The least by which two runs of the same code are taken to differ, as one standard deviation. Nothing in two runs can
show that the machine was the same in both, so it is an assumption, as large as the smallest difference that counts."""

MANY_COMPARISONS = 50
LEAST_DEGREES = 4.0
"""How heavy the tails of such differences are is fitted no heavier than this from fewer than so many, because that fit
is itself noisy: without a limit a slowdown by half was found in 48 of 100 cases, with it in 75, while identical runs
were told apart about as often (30 cases, 5% between runs, spreads unlike by lognormal 0.5)."""
NOTHING = Estimate.of([])


@dataclass(frozen=True)
class Unpaired(Estimate):
    """The difference of two means of logs, each over the launches of a run of its own.

    Attributes:
        mean: of the second less the first.
        deviation: nan; there is no pair of launches to take a difference of.
        n: launches of the run that has fewer.
        first, second: the estimates of both, with their spread moved towards what is usual.
        between: what runs differ by.
        others: how many other cases that was estimated from.
    """

    first: Estimate = NOTHING
    second: Estimate = NOTHING
    between: Spread = UNKNOWN
    others: int = 0

    @property
    def known(self) -> bool:
        """Whether there is a spread to judge by.

        With one launch in either run only other cases can show how launches differ, and it takes some to tell.
        """
        return self.n > 1 or (self.n == 1 and self.others >= LEAST_COMPARISONS)

    @property
    def why_unknown(self) -> FewOtherCases:
        """Why there is no interval."""
        return FewOtherCases(self.others)

    @property
    def within(self) -> float:
        """The variance of the difference that launches show; 0 where one launch shows nothing."""
        return sum(one.standard_error**2 for one in (self.first, self.second) if one.n > 1)

    @property
    def standard_error(self) -> float:
        """The standard error of the difference; nan if there is nothing to judge it by."""
        return math.sqrt(self.within + self.between.variance) if self.known else math.nan

    @cached_property
    def degrees(self) -> float:
        """The degrees of freedom of the standard error, after Satterthwaite."""
        parts = [(one.standard_error**2, one.degrees) for one in (self.first, self.second) if one.n > 1]
        parts.append((self.between.variance, self.between.degrees))
        terms = [variance**2 / degrees for variance, degrees in parts if variance > 0]
        return sum(variance for variance, _ in parts) ** 2 / sum(terms) if terms else math.inf

    @property
    def trimmed(self) -> int:
        """How many launches of the smaller run count at each end only as being there."""
        return estimate.trimmed(self.n)

    def launches_to_clear(self, border: float, level: float) -> int | None:
        """Return None: more launches of two runs do not show what runs differ by."""
        return None

    def fewest_launches(self, border: float, level: float) -> int | None:
        """Return None, as `launches_to_clear`."""
        return None

    def remedy(self, border: float, level: float) -> MoreLaunchesOfBothRuns | InterleavedRun:
        """Return what would narrow the interval most, wherever the border is."""
        if self.within > self.between.variance:
            return MoreLaunchesOfBothRuns()
        return InterleavedRun(math.expm1(math.sqrt(self.between.variance)))


def unpaired(
    first: Sequence[Estimate], second: Sequence[Estimate], run_spread: float = RUN_SPREAD
) -> tuple[Unpaired, ...]:
    """Return the difference of two runs for each case.

    Args:
        first: for each case the estimate over the launches of one run, of the logs of seconds.
        second: the same of the other run, in the same order.
        run_spread: the least by which two runs differ, as a share and one standard deviation.

    Returns:
        One estimate for each case, in order.
    """
    many = len(first)
    usual = estimate.moderated([*first, *second])
    pairs = list(zip(usual[:many], usual[many:], strict=True))
    alone = [Unpaired(b.mean - a.mean, math.nan, min(a.n, b.n), first=a, second=b) for a, b in pairs]
    means, within = (np.array(column) for column in ([one.mean for one in alone], [one.within for one in alone]))
    fits = usual_without_each(np.abs(means), 1.0)
    floor = math.log1p(run_spread)
    return tuple(
        replace(one, between=between_runs(differences, seen, fit, floor), others=many - 1)
        for one, fit, differences, seen in zip(alone, fits, _without_each(means), _without_each(within), strict=True)
    )


def _without_each(values: Floats) -> Iterator[Floats]:
    return (np.delete(values, place) for place in range(values.size))


def between_runs(means: Floats, within: Floats, usual: Spread, floor: float) -> Spread:
    """Estimate from other cases what two runs of the same code differ by, beyond what their launches show.

    From `estimate.LEAST_COMPARISONS` on it is what is usual among the differences, so that a few that are real weigh
    little; from fewer, their mean square.

    Args:
        means: `(cases,)` float64, the differences of the other cases, logs.
        within: `(cases,)` float64, what of their variance launches show.
        usual: the fit of `estimate.usual_spread` to the differences, of one degree of freedom each.
        floor: the least standard deviation that is believed, on the log scale.

    Returns:
        The variance between runs, and the degrees of freedom that it is known with.
    """
    told = np.isfinite(means)
    known = means[told]
    found = Spread(float(known.size), float(np.mean(known**2))) if known.size else UNKNOWN
    if usual != UNKNOWN:
        least = LEAST_DEGREES if known.size < MANY_COMPARISONS else 0.0
        found = Spread(max(usual.degrees, least), usual.variance)
    variance = found.variance - (float(np.median(within[told])) if known.size else 0.0)
    if variance <= floor**2:
        return Spread(MOST_DEGREES, floor**2)
    return Spread(min(found.degrees, MOST_DEGREES), variance)
