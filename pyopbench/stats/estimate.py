"""Estimates over launches, paired ratios, and the correction for many verdicts.

The process is the unit of analysis: samples inside a launch are reduced to one median, and only these medians, one per
launch, are treated as independent. Durations are compared on the log scale, where a ratio is a difference.

**Spreads of few launches.** Three or four launches tell little about their own spread, so an interval from them alone
is many times as wide as it need be. All comparisons of a run are made by the same processes on the same machine; the
spread of each is therefore taken as drawn from one distribution, which is fitted to all of them, and moved towards its
centre, the more so the more alike they are. Where they are not alike the fit says so, and each is left to itself; so is
a single one that scatters far more than what is usual explains.

The fit is by maximum likelihood. By the moments of log variances, as in the first source, two launches each told
1.4, 2.0 and 8 degrees of freedom in three runs of one machine, where the likelihood says 4.6, 8 and 7.1: with one
degree of freedom the logs of a variance vary mostly by those that happen to be almost 0, which say nothing about how
large one can be.

Sources: G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
experiments", Stat. Appl. Genet. Mol. Biol. 3 (2004), article 3, sections 5 and 6.2. For single ones that scatter more,
and simpler here: B. Phipson et al., "Robust hyperparameter estimation protects against hypervariable genes and improves
power to detect differential expression", Ann. Appl. Stat. 10 (2016) 946-963.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from pyopbench.stats import costs
from pyopbench.stats.unresolved import FewOtherCases, MoreLaunches, OneLaunch, Remedy

Floats: TypeAlias = npt.NDArray[np.float64]

LEAST_COMPARISONS = 10
"""With fewer spreads there is nothing to call usual."""
MOST_DEGREES = 8.0
"""More would trust few launches that happen to agree, in a case that is noisier than the others. Simulated without a
minimum effect: one case in 200 with five times the spread of the others made a false verdict in 22% of 100 reports with
30 and without `RARE`, in 5% with 8, in 2% with both."""
LEAST_DEGREES = 0.1
"""Fewer are no different: what is usual then counts for nothing."""
ALL_EQUAL = 1000.0
"""With more the spreads are all but equal."""
MOST_STEPS = 200
"""Spreads whose logs lie further apart than this are not told apart from one another."""
NEAR_VARIANCE, NEAR_DEGREES = 1e-9, 1e-5
"""How near the fit comes to the logs of both."""
MOST_AT_ONCE = 1_000_000
"""Comparisons times fits that are computed at the same time: 8 MB for each intermediate result."""
RARE = 0.2
"""A spread that is passed less often than this under what is usual is moved towards it by less in proportion."""

LEVEL = 0.95
"""Level of every interval that is shown for itself."""
FAMILY_ERROR = 0.05
"""How often one of the corrected verdicts of a report may be wrong."""
MOST_LAUNCHES = 1000
"""Where the search for enough launches ends: nobody waits for more."""
LARGEST_LOG = 700.0
"""Just below the largest logarithm whose power float64 can hold (709.78)."""
TRIMMED = 6
"""One launch in so many is trimmed at each end, so that fewer launches are all kept. One in five or four costs more
where nothing is wrong and gains little where something is: docs/statistics.md has the figures."""
TRIMMED_ALONE = 9
"""From so many launches on they are trimmed where little else tells their spread. With six, trimming would double the
smallest slowdown that five find; with nine and heavy tails it makes no difference."""
DEGREES_PER_PAIR = 2.6
"""Degrees of freedom that trimming one launch at each end costs. Yuen's approximation takes 2; the winsorized variances
of a million normal samples (6 to 24 launches) vary as if it were 2.5 to 2.8, and with 2 a p value below 0.001 comes
1.2 to 1.5 times as often as it should."""
BAD_LUCK = 2.0
"""Standard errors that a mean may have been unlucky by: it is further off in one case of forty."""
NOISE_SHARE = 0.5
"""A cost is too noisy to be shown if its interval includes 0 and its standard error is above this share of the cost,
and of what the current callback costs. Two launches are then more than three times apart, which is not so on machines
where anything can be told: of pairs that differ by a third (lognormal) 2% are, and of costs that are nothing but noise
85%; with more launches fewer and more."""
UNIT = ["tool", "run", "launch"]
"""What makes one independent launch; the tool is in it because a ratio is never taken across two clocks."""


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation of some values, in any order.

    Returns:
        nan for both if there is no value, or one that is no finite number; nan for the deviation of one.
    """
    n = len(values)
    if not n or not all(map(math.isfinite, values)):
        return math.nan, math.nan
    ordered = sorted(values)
    mean = _sum(ordered) / n
    if n < 2:
        return mean, math.nan
    return mean, math.sqrt(_sum([(one - mean) * (one - mean) for one in ordered]) / (n - 1))


def _sum(values: Sequence[float]) -> float:
    """Return the sum of at least one value, rounded as NumPy's is, in every version of Python."""
    rest = 0.0
    for one in values[1:]:
        rest += one
    return values[0] + rest


@dataclass(frozen=True)
class Spread:
    """What is usual: `variance` between launches, worth as much as `degrees` degrees of freedom. (0, 0) is nothing."""

    degrees: float = 0.0
    variance: float = 0.0

    def weight(self, variance: float, degrees: float) -> float:
        """Return the degrees of freedom that this is worth to a variance with `degrees` of its own.

        All of them, unless so large a ratio of variances is `RARE` by Fisher's F distribution.
        """
        if self.degrees == 0:
            return 0.0
        passed = float(special.fdtrc(degrees, self.degrees, variance / self.variance))
        return self.degrees * min(1.0, passed / RARE)

    def moderate(self, variance: float, degrees: float) -> float:
        """Return the mean of the usual variance and one with `degrees` degrees of freedom, weighted by these."""
        weight = self.weight(variance, degrees)
        return (weight * self.variance + degrees * variance) / (weight + degrees)


UNKNOWN = Spread()


def usual_spread(samples: Iterable[tuple[float, float]], least: int = LEAST_COMPARISONS) -> Spread:
    """Fit what is usual to the spreads of many comparisons.

    Args:
        samples: for each comparison the standard deviation over its launches, and its degrees of freedom; those
            without degrees of freedom, or without any spread, are passed over.
        least: how many it takes.

    Returns:
        The fit by maximum likelihood; `UNKNOWN` for fewer than `least`.
    """
    known = [(deviation, degrees) for deviation, degrees in samples if degrees > 0 and deviation > 0]
    if len(known) < least:
        return UNKNOWN
    deviations, own = np.array(known, dtype=np.float64).T
    (found,) = _most_likely(deviations**2, own, np.ones((1, own.size)))
    return found


def usual_without_each(deviations: Floats, own: float) -> tuple[Spread, ...]:
    """Return for each comparison what is usual of all the others, as `usual_spread` of them.

    Args:
        deviations: `(comparisons,)` float64, the standard deviations; one that is not above zero counts nowhere.
        own: the degrees of freedom of each.
    """
    known = np.flatnonzero(deviations > 0)
    found = [UNKNOWN] * deviations.size
    enough = np.flatnonzero(known.size - (deviations > 0) >= LEAST_COMPARISONS)
    for some in np.array_split(enough, enough.size * known.size // MOST_AT_ONCE + 1):
        if some.size:
            others = (some[:, None] != known).astype(np.float64)
            fits = _most_likely(deviations[known] ** 2, np.full(known.size, own), others)
            for place, fit in zip(some, fits, strict=True):
                found[place] = fit
    return tuple(found)


def _most_likely(variances: Floats, own: Floats, counted: Floats) -> list[Spread]:
    """Return the spreads that variances with `own` degrees are likeliest drawn by: variance * F(own, degrees).

    Where both derivatives of the log likelihood are 0: the one by the variance for given degrees, within that by them.

    Args:
        variances: `(comparisons,)` float64.
        own: `(comparisons,)` float64, the degrees of freedom of each.
        counted: `(fits, comparisons)` float64, how often each comparison counts in each fit.
    """
    unit = float(np.median(variances))
    scaled = own * variances / unit
    kinds, kind = np.unique(own, return_inverse=True)  # launches are mostly as many for all: few special functions
    counts = counted @ (kind[:, None] == np.arange(kinds.size))
    total, last = counted @ own, np.zeros(len(counted))

    def best_variances(degrees: Floats) -> Floats:
        """Return the logs of the likeliest variances, by Newton's steps from the last ones; none is longer than 1."""
        for _ in range(MOST_STEPS):
            part = 1 / (1 + (degrees * np.exp(last))[:, None] / scaled)
            weighted = counted * (own + degrees[:, None]) * part
            step = (weighted.sum(axis=1) - total) / (weighted * (1 - part)).sum(axis=1)
            np.add(last, np.clip(step, -1.0, 1.0), out=last)
            if float(np.abs(step).max()) < NEAR_VARIANCE:
                break
        return last

    def too_few(degrees: Floats) -> npt.NDArray[np.bool_]:
        logs = np.log1p(scaled * (np.exp(-best_variances(degrees)) / degrees)[:, None])
        trend = special.digamma((kinds + degrees[:, None]) / 2) - special.digamma(degrees / 2)[:, None]
        # The rest is 0 where the derivative by the variance is.
        found: npt.NDArray[np.bool_] = (counts * trend).sum(axis=1) > (counted * logs).sum(axis=1)
        return found

    low, high = (np.full(len(counted), math.log(end)) for end in (LEAST_DEGREES, ALL_EQUAL))
    while float((high - low).max()) > NEAR_DEGREES:
        middle = (low + high) / 2
        more = too_few(np.exp(middle))
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    degrees = np.exp((low + high) / 2)
    found = unit * np.exp(best_variances(degrees))
    return [Spread(min(one, MOST_DEGREES), two) for one, two in zip(degrees.tolist(), found.tolist(), strict=True)]


def exp(log: float) -> float:
    """Return e to the power of `log`, infinite where that is beyond float64: two launches can leave an end that far."""
    return math.inf if log > LARGEST_LOG else math.exp(log)


@dataclass(frozen=True)
class Estimate:
    """A trimmed mean over launches, usually of logs: a launch that went wrong pulls it no further than its neighbours.

    With fewer than `TRIMMED` launches it is the plain mean and the plain standard deviation; with fewer than
    `TRIMMED_ALONE`, if it is estimated `alone`.

    Attributes:
        mean: mean over launches without the `trimmed` lowest and highest; nan if there are none.
        deviation: standard deviation between launches, as far as the mean goes by it: the standard error of the mean,
            from the winsorized variance, times the root of `n`; nan for fewer than two launches.
        n: launches, trimmed ones included.
        usual: the spread that is usual in the run, as a multiple of `scale`, towards which `deviation` is moved.
        scale: the variance between launches that was predicted for this estimate; 1 where none was.
        shared: a variance that all launches have in common, so that more of them do not average it out.
        is_alone: whether it is trimmed only from `TRIMMED_ALONE` launches on, as after `alone`.
        launches: one value per launch, from which `alone` estimates again; empty where trimming is the same.

    Sources: J. W. Tukey and D. H. McLaughlin, "Less vulnerable confidence and significance procedures for location
    based on a single sample", Sankhya A 25 (1963) 331-352; K. K. Yuen, "The two-sample trimmed t for unequal population
    variances", Biometrika 61 (1974) 165-170.
    """

    mean: float
    deviation: float
    n: int
    usual: Spread = UNKNOWN
    scale: float = 1.0
    shared: float = 0.0
    is_alone: bool = False
    launches: tuple[float, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Estimate:
        """Estimate from one value per launch: `(launches,)` float64."""
        array = np.array(values, dtype=np.float64)
        n = array.size
        if n < TRIMMED:
            return cls(*mean_and_deviation(array.tolist()), n)
        launches = tuple(array.tolist()) if n < TRIMMED_ALONE else ()
        array.sort()
        # What is no number would be sorted to an end and trimmed away.
        if not (math.isfinite(array[0]) and math.isfinite(array[-1])):
            return cls(math.nan, math.nan, n)
        out = trimmed(n)
        kept = array[out : n - out]
        mean = float(np.add.reduce(kept) / kept.size)
        # The sums that `mean` and `var` of NumPy make, which take longer to find out what they are given.
        array[:out], array[n - out :] = kept[0], kept[-1]
        off = array - np.add.reduce(array) / n
        winsorized = float(np.add.reduce(off * off) / (n - 1))
        deviation = math.sqrt(winsorized * n * (n - 1) / (kept.size * (kept.size - 1)))
        return cls(mean, deviation, n, launches=launches)

    def alone(self) -> Estimate:
        """Return the estimate without a usual spread, trimmed only from `TRIMMED_ALONE` launches on."""
        mean, deviation = mean_and_deviation(self.launches) if self.launches else (self.mean, self.deviation)
        return replace(self, mean=mean, deviation=deviation, usual=UNKNOWN, is_alone=True)

    def with_usual(self, usual: Spread) -> Estimate:
        """Return the estimate, for a verdict on a ratio, with its spread moved towards what is usual.

        If what is usual is worth fewer degrees of freedom than trimming a pair of launches costs, it is trimmed as
        `alone`.
        """
        return replace(self.alone() if usual.degrees < DEGREES_PER_PAIR else self, usual=usual)

    @property
    def trimmed(self) -> int:
        """How many launches count at each end only as being there."""
        return trimmed(self.n, alone=self.is_alone)

    @property
    def own_degrees(self) -> float:
        """The degrees of freedom of `deviation`; 0 or less for fewer than two launches."""
        return own_degrees(self.n, alone=self.is_alone)

    @cached_property
    def _relative(self) -> float:
        """The variance between launches over the one that was predicted."""
        return self.deviation**2 / self.scale

    @cached_property
    def spread_degrees(self) -> float:
        """The degrees of freedom of the moderated spread: of these launches, and of what is usual."""
        return self.own_degrees + (self.usual.weight(self._relative, self.own_degrees) if self.n > 1 else 0)

    @cached_property
    def degrees(self) -> float:
        """The degrees of freedom of the standard error, after Satterthwaite: the shared variance is taken as known."""
        if self.shared == 0 or self.n < 2:
            return self.spread_degrees
        within = self.moderated**2 / self.n
        return self.spread_degrees * ((within + self.shared) / within) ** 2 if within else math.inf

    @cached_property
    def moderated(self) -> float:
        """The standard deviation between launches, moved towards what is usual; nan for fewer than two launches."""
        if self.n < 2:
            return math.nan
        return math.sqrt(self.scale * self.usual.moderate(self._relative, self.own_degrees))

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; nan for fewer than two launches."""
        return math.sqrt(self.moderated**2 / self.n + self.shared) if self.n > 1 else math.nan

    @property
    def known(self) -> bool:
        """Whether there is a spread to judge by."""
        return self.n > 1

    @property
    def why_unknown(self) -> OneLaunch | FewOtherCases:
        """Why there is no interval."""
        return OneLaunch()

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the ends of the t interval; nan if there is no spread to judge by."""
        if not self.known:
            return math.nan, math.nan
        half = float(special.stdtrit(self.degrees, (1 + level) / 2)) * self.standard_error
        return self.mean - half, self.mean + half

    def next_interval(self, between_runs: float) -> tuple[float, float]:
        """Return the ends of the prediction interval for a single launch at another time; nan without a spread.

        One launch differs from the mean by the spread between launches, and the mean is not known exactly. The state of
        the machine, which all launches of a run share, differs from run to run as well. Both are added in quadrature:
        simulated, that covers at least 95%, with Satterthwaite's degrees of freedom 89% for two launches.

        Source: G. J. Hahn, "Factors for calculating two-sided prediction intervals for samples from a normal
        distribution", Journal of the American Statistical Association 64 (1969) 878-888.

        Args:
            between_runs: standard deviation from run to run, on the scale of the mean.
        """
        if not self.known:
            return math.nan, math.nan
        within = self.moderated * math.sqrt(1 + 1 / self.n)
        quantiles = special.stdtrit(self.spread_degrees, (1 + LEVEL) / 2), special.ndtri((1 + LEVEL) / 2)
        half = math.hypot(quantiles[0] * within, quantiles[1] * math.hypot(between_runs, math.sqrt(self.shared)))
        return self.mean - half, self.mean + half

    def is_too_noisy(self, today: float = 0.0) -> bool:
        """Is this, as the cost of something, so noisy that it should not be shown as a number?

        What costs next to nothing beside the current callback is known to do so as long as it is known to a fraction of
        what that costs.

        Args:
            today: seconds that the current callback takes there; 0 where that is not known, or what this is about.
        """
        most = NOISE_SHARE * max(self.mean, today, 0.0)
        if self.mean <= 0 and -self.mean >= most:
            return True  # nothing costs so much less than nothing
        return self.known and self.interval()[0] <= 0 and self.standard_error > most

    def upper_reach(self, many: int) -> float:
        """Return how far above `mean` the true one can lie, so that all of `many` estimates stay below together.

        Each gets the level's root of order `many`, which is exact for estimates that are independent; those that have
        something in common stay below together more often. Sources: Z. Sidak, "Rectangular confidence regions for the
        means of multivariate normal distributions", J. Am. Stat. Assoc. 62 (1967) 626-633; D. Slepian, Bell Syst. Tech.
        J. 41 (1962) 463-501. docs/statistics.md says why it is not the quantile of Dunnett (1955).

        Returns:
            At least 0; infinite if there is no spread to judge by.
        """
        if not self.known:
            return math.inf
        return float(special.stdtrit(self.degrees, LEVEL ** (1 / many))) * self.standard_error

    def effect_p(self, delta: float) -> float:
        """Return the smallest a at which the interval of level 1 - a excludes [-delta, delta] or lies inside it.

        The interval reaches t(1 - a/2) standard errors to each side of the mean, and the nearer end of
        [-delta, delta] is `||mean| - delta|` away. Below 0.05 the interval of 95% has left the border behind: on the
        outside the mean differs by more than delta, on the inside by less.

        Args:
            delta: the minimum effect on the log scale, at least 0.

        Returns:
            A probability; 1 if there is no spread to judge by.
        """
        if not self.known:
            return 1.0
        distance = abs(abs(self.mean) - delta)
        if self.standard_error == 0:
            return 0.0 if distance > 0 else 1.0
        return float(2 * special.stdtr(self.degrees, -distance / self.standard_error))

    def launches_to_clear(self, border: float, level: float) -> int | None:
        """Return about how many launches would take the interval clear of `border`, if mean and spread stay.

        Returns:
            A number of launches in all that does where one less does not; None if it is above `MOST_LAUNCHES` or
            there are fewer than two to judge the spread by.
        """
        return self._launches(abs(self.mean - border), self.moderated, level) if self.n > 1 else None

    def fewest_launches(self, border: float, level: float) -> int | None:
        """Return how few launches could take the interval clear of `border`, if luck has been bad so far.

        Few launches tell neither mean nor spread well, and what is given up for good is to be out of reach of more
        than a guess. So the mean is taken `BAD_LUCK` standard errors further away from the border, and the spread for
        no more than what is usual.

        Returns:
            As `launches_to_clear`; 2 for one launch, and none for no launch.
        """
        if self.n < 2:
            return 2 if self.n else None
        usual = math.sqrt(self.scale * self.usual.variance) if self.usual.degrees else self.moderated
        distance = abs(self.mean - border) + BAD_LUCK * self.standard_error
        return self._launches(distance, min(self.moderated, usual), level)

    def _launches(self, distance: float, spread: float, level: float) -> int | None:
        usual_degrees, upper = self.spread_degrees - self.own_degrees, (1 + level) / 2
        fewest_degrees = min(self.own_degrees, own_degrees(self._next_trimmed(), alone=self.is_alone)) + usual_degrees
        # No quantile is below that of the normal distribution, nor above that of the fewest degrees of freedom.
        least, most = float(special.ndtri(upper)), float(special.stdtrit(fewest_degrees, upper))

        def clears(n: int) -> bool:
            error = math.sqrt(spread**2 / n + self.shared)
            if least * error >= distance or most * error < distance:
                return most * error < distance
            return float(special.stdtrit(own_degrees(n, alone=self.is_alone) + usual_degrees, upper)) * error < distance

        # Intervals shrink with launches, but for a step back where one more is trimmed: no matter, this is a forecast.
        launches = range(self.n, MOST_LAUNCHES + 1)
        place = bisect_left(launches, 1, key=clears)
        return launches[place] if place < len(launches) else None

    def _next_trimmed(self) -> int:
        """Return with how many launches one more is trimmed at each end."""
        if self.is_alone and self.n < TRIMMED_ALONE:
            return TRIMMED_ALONE
        return (self.n // TRIMMED + 1) * TRIMMED

    def remedy(self, border: float, level: float) -> Remedy:
        """Return what would take the interval clear of `border`: how many launches, as `launches_to_clear`."""
        return MoreLaunches(self.n, self.launches_to_clear(border, level), MOST_LAUNCHES)


def trimmed(n: int, *, alone: bool = False) -> int:
    """Return how many of `n` launches are trimmed at each end; `alone` as in `Estimate.alone`."""
    return 0 if alone and n < TRIMMED_ALONE else n // TRIMMED


def own_degrees(n: int, *, alone: bool = False) -> float:
    """Return the degrees of freedom of a deviation over `n` launches; `alone` as in `Estimate.alone`."""
    return n - 1 - DEGREES_PER_PAIR * trimmed(n, alone=alone)


def launch_logs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one number per case and launch, the log of the median over rounds of its cost.

    A launch whose cost is not above zero has no logarithm and is absent.

    Args:
        frame: one row per timed block, in any order, as `measured_run.Run.frame`.

    Returns:
        Columns case, tool, run, launch, value; sorted by them.
    """
    medians = costs.round_costs(frame, UNIT).groupby(["case", *UNIT], observed=True)["seconds"].median()
    medians = medians[medians > 0]
    return medians.map(math.log).rename("value").reset_index()


def paired_logs(frame: pd.DataFrame, baseline_of: Mapping[str, str]) -> pd.DataFrame:
    """Return one number per case and launch, the log of the median over rounds of case / baseline, paired by round.

    Args:
        frame: as in `launch_logs`.
        baseline_of: id of a case -> id of the case that it is compared to.

    Returns:
        Columns case, tool, run, launch, value; sorted by them. Launches without a common round are absent, and those
        in which the median of the ratios is not above zero.
    """
    return ratio_logs(costs.round_costs(frame, UNIT), baseline_of, UNIT)


def ratio_logs(measured: pd.DataFrame, baseline_of: Mapping[str, str], unit: Sequence[str]) -> pd.DataFrame:
    """Return one number per case and unit, as `paired_logs`, from what each case costs in each round.

    Args:
        measured: columns case, those of `unit`, round, seconds, as `costs.round_costs`.
        baseline_of: id of a case -> id of the case that it is compared to.
        unit: the columns that make one launch, or a pair of launches.
    """
    medians = costs.ratios(measured, baseline_of, unit).groupby(["case", *unit], observed=True)["ratio"].median()
    medians = medians[medians > 0]
    return medians.map(math.log).rename("value").reset_index()


def estimates(logs: pd.DataFrame) -> dict[str, Estimate]:
    """Return the estimate over launches of each case, from `launch_logs` or `paired_logs`."""
    return {str(case): Estimate.of(values.to_numpy()) for case, values in logs.groupby("case", observed=True)["value"]}


def usual_of(estimates: Iterable[Estimate], least: int = LEAST_COMPARISONS) -> Spread:
    """Return which spread is usual among estimates, as `usual_spread`."""
    return usual_spread(((one.deviation, one.own_degrees) for one in estimates), least)


def moderated(estimates: Sequence[Estimate]) -> list[Estimate]:
    """Return estimates whose spread is moved towards what is usual among them, trimmed from `TRIMMED` launches on.

    For numbers that are shown, which a launch that went wrong must not move. Verdicts use `Estimate.with_usual`.
    """
    usual = usual_of(estimates)
    return [replace(estimate, usual=usual) for estimate in estimates]
