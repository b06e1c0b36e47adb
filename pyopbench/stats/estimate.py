"""Estimates over launches: weighted means, intervals, the usual spread between launches, and Holm's correction.

The process is the unit of analysis: samples inside a launch are reduced to one number, and only these numbers, one per
launch, are independent. Ratios that are compared between sides are on the log scale, where a ratio is a difference.

**A launch counts by the precision of its turns.** Its number varies because processes differ, and because it is the
median over some rounds:

    variance of launch i = usual variance between launches * leverage + (standard error over its rounds)^2

Launches are weighted by the inverse of that (W. G. Cochran, "Problems arising in the analysis of a series of similar
experiments", J. R. Stat. Soc. Suppl. 4 (1937) 102-118). The scatter around the weighted mean, in units of these
variances, is the factor by which the launches really vary (J. Hartung and G. Knapp, Stat. Med. 20 (2001) 3875-3889).

**Few launches say little about their own spread.** So the factor is averaged with 1, its expected value, which counts
for `PRIOR_DEGREES` degrees of freedom:

    factor = (4 * 1 + (launches - 1) * own factor) / (4 + launches - 1)

With equal turns that is s^2 = (4 s0^2 + nu s^2) / (4 + nu), the moderated variance of G. K. Smyth (Stat. Appl. Genet.
Mol. Biol. 3 (2004), article 3) with a fixed weight. docs/statistics.md has simulations of it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from pyopbench.stats import costs

Floats: TypeAlias = npt.NDArray[np.float64]

PRIOR_DEGREES = 4.0
"""Degrees of freedom of the usual spread. By maximum likelihood, three runs on one machine gave 4.6, 7.1 and 8+."""
USUAL_SPREAD = 0.05
"""Standard deviation between launches of a log ratio, where too few cases show it: 4% to 9% were measured."""
FEWEST_CASES, FEWEST_DEGREES = 6, 10
"""With fewer cases, or fewer degrees of freedom in all of them, their median spread is too uncertain: six cases of two
launches that differ by 10% would give a false alarm in 1.5% of the gates that promise 1%."""
SMALLEST_VARIANCE = 1e-18
"""A share of a billionth: below what any clock shows, and above zero, because it is divided by."""
RUN_EFFECT = 0.04
"""Standard deviation, from run to run, of the log of a port's cost over a callback's: three runs of 12 ops on one idle
machine (2 cores) differed by that. Launches of one run share it, so that more of them do not average it out."""

LEVEL = 0.95
"""Level of every interval that is shown."""
FAMILY_ERROR = 0.05
"""How often any of the verdicts that are corrected together may be wrong."""
INTERIM_ERROR = 0.001
"""The same at an interim analysis, so that the final one can use the full error (J. L. Haybittle, Br. J. Radiol. 44
(1971) 793-797; R. Peto et al., Br. J. Cancer 34 (1976) 585-612)."""
MOST_LAUNCHES = 1000
"""Where the search for enough launches ends: nobody waits for more."""
LARGEST_LOG = 700.0
"""Just below the largest logarithm whose power float64 can hold (709.78)."""
BAD_LUCK = 2.0
"""Standard errors that a mean may have been unlucky by: it is further off in one case of forty."""
NOISE_SHARE = 0.5
"""A cost is too noisy to be shown if its interval includes 0 and its standard error is above this share of the cost,
and of what the current callback costs. Of pairs of launches that differ by a third (lognormal) 2% are, and of costs
that are nothing but noise 85%."""
UNIT = ["tool", "run", "launch"]
"""The columns that identify an independent launch; the tool, because no ratio is taken across two clocks."""


def exp(log: float) -> float:
    """Return e to the power of `log`, infinite where that is beyond float64: two launches can leave an end that far."""
    return math.inf if log > LARGEST_LOG else math.exp(log)


@dataclass(frozen=True, eq=False)
class Launches:
    """One number per launch, of one case."""

    values: Floats  # `(launches,)` float64
    # `(launches,)` float64, standard errors over rounds; nan where unknown, None where none is known
    errors: Floats | None = None
    # Factor of the usual variance between launches: the square of a share of the current time, which varies in
    # proportion to itself
    leverage: float = 1.0

    @property
    def squared_errors(self) -> Floats:
        """The squared standard errors over rounds, `(launches,)`; 0 where unknown."""
        return np.zeros(len(self.values)) if self.errors is None else np.nan_to_num(self.errors**2)


@dataclass(frozen=True)
class Spread:
    """How much launches differ: `variance` between them, which counts for so many `degrees` of freedom."""

    variance: float
    degrees: float = PRIOR_DEGREES

    def estimate(self, launches: Launches, shared: float = 0.0) -> Estimate:
        """Return the weighted mean of the launches of a case with its moderated spread; `shared` as in `Estimate`."""
        values = np.asarray(launches.values, dtype=np.float64)
        n = values.size
        if not n or not np.isfinite(values).all():
            return Estimate(math.nan, math.nan, n)
        if n < 2:
            return Estimate(float(values[0]), math.nan, n)
        variances = np.maximum(self.variance * launches.leverage + launches.squared_errors, SMALLEST_VARIANCE)
        weights = 1 / variances
        total = math.fsum(weights)
        mean = math.fsum(weights * values) / total
        own = math.fsum(weights * (values - mean) ** 2)  # (n - 1) times the own factor
        degrees = self.degrees + n - 1
        factor = (self.degrees + own) / degrees
        return Estimate(mean, math.sqrt(factor * n / total), n, degrees, shared)


UNKNOWN = Spread(USUAL_SPREAD**2)
OWN = Spread(0.0, 0.0)
"""Nothing but the launches themselves shows their spread: the mean and interval of Student's t."""


def usual_spread(cases: Iterable[Launches]) -> Spread:
    """Return how much launches usually differ among cases, beyond their standard errors over rounds.

    With few cases it is at least `USUAL_SPREAD`; with many it is their median, so that a few noisy ones weigh little.
    """
    found = []
    for one in cases:
        n, variance = len(one.values), float(np.var(one.values, ddof=1)) if len(one.values) > 1 else math.nan
        if math.isfinite(variance) and one.leverage > 0:
            found.append((n - 1, variance, float(one.squared_errors.mean()), one.leverage))
    if not found:
        return UNKNOWN
    degrees, variances, within, leverage = np.array(found, dtype=np.float64).T
    if len(found) < FEWEST_CASES or degrees.sum() < FEWEST_DEGREES:
        # Sums, because the mean of ratios would go to the case with the smallest leverage, a port at 1% of the time.
        pooled = float(degrees @ (variances - within) / (degrees @ leverage))
        return Spread(max(pooled, USUAL_SPREAD**2))
    # A variance of few launches is mostly below its expectation; of two, the median is 0.45 of it.
    usual = variances * degrees / special.chdtri(degrees, 0.5)
    return Spread(max(float(np.median((usual - within) / leverage)), 0.0))


def moderated(cases: Sequence[Launches]) -> list[Estimate]:
    """Return the estimate of each case, with the spread that is usual among them."""
    usual = usual_spread(cases)
    return [usual.estimate(one) for one in cases]


@dataclass(frozen=True)
class Estimate:
    """A mean over launches."""

    mean: float  # nan if there are no launches
    # Standard deviation of one launch: the standard error of the mean times the root of `n`; nan where nothing shows
    # it, as with one launch
    spread: float
    n: int
    spread_degrees: float = math.nan  # degrees of freedom of the spread
    shared: float = 0.0  # a variance that all launches have in common, so that more of them do not average it out
    shared_degrees: float = math.inf  # its degrees of freedom

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Estimate:
        """Estimate from `(launches,)` float64 alone: the mean and standard deviation."""
        return OWN.estimate(Launches(np.asarray(values, dtype=np.float64)))

    @property
    def known(self) -> bool:
        """Whether there is a spread to judge by."""
        return not math.isnan(self.spread)

    @cached_property
    def standard_error(self) -> float:
        """The standard error of the mean; nan where there is no spread to judge by."""
        return math.sqrt(self.spread**2 / self.n + self.shared) if self.known else math.nan

    @cached_property
    def degrees(self) -> float:
        """The degrees of freedom of the standard error (F. E. Satterthwaite, Biometrics Bulletin 2 (1946) 110-114)."""
        if self.shared == 0 or not self.known:
            return self.spread_degrees
        within = self.spread**2 / self.n
        terms = (within**2 / self.spread_degrees if within else 0.0) + self.shared**2 / self.shared_degrees
        return (within + self.shared) ** 2 / terms if terms else math.inf

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """Return the ends of the t interval; nan if there is no spread to judge by."""
        if not self.known:
            return math.nan, math.nan
        half = float(special.stdtrit(self.degrees, (1 + level) / 2)) * self.standard_error
        return self.mean - half, self.mean + half

    def is_too_noisy(self, today: float = 0.0) -> bool:
        """Is this, as the cost of something, so noisy that it should not be shown as a number?

        Args:
            today: seconds that the current callback takes there, next to which little noise does not matter; 0 where
                that is not known, or if this is its cost.
        """
        most = NOISE_SHARE * max(self.mean, today, 0.0)
        if self.mean <= 0 and -self.mean >= most:
            return True  # nothing costs so much less than nothing
        return self.known and self.interval()[0] <= 0 and self.standard_error > most

    def upper_reach(self, many: int) -> float:
        """Return how far above `mean` the true one can lie, so that all of `many` estimates stay below together.

        Each gets the level's root of order `many`, exact for independent estimates and conservative for dependent ones.
        Sources: Z. Sidak, J. Am. Stat. Assoc. 62 (1967) 626-633; D. Slepian, Bell Syst. Tech. J. 41 (1962) 463-501.

        Returns:
            At least 0; infinite if there is no spread to judge by.
        """
        if not self.known:
            return math.inf
        return float(special.stdtrit(self.degrees, LEVEL ** (1 / many))) * self.standard_error

    def border_p(self, delta: float) -> float:
        """Return the smallest error at which it is shown on which side of the nearer border the mean lies.

        The borders are -delta and delta. At any true mean only one kind of claim can be wrong: within the borders that
        something is slower or faster, beyond one that it is equivalent. So the error is spent on the nearer border, and
        on the farther one only as far as the noise reaches there (D. J. Schuirmann, J. Pharmacokinet. Biopharm. 15
        (1987) 657-680; H. Finner and K. Strassburger, Ann. Statist. 30 (2002) 1194-1213). It is 1 if there is no spread
        to judge by.
        """
        distance = abs(abs(self.mean) - delta)
        if not self.known or not math.isfinite(distance):
            return 1.0
        if self.standard_error == 0:
            return 0.0 if distance > 0 else 1.0
        near, far = distance / self.standard_error, (distance + 2 * delta) / self.standard_error
        return float(special.stdtr(self.degrees, -near) + special.stdtr(self.degrees, -far))

    def launches_to_clear(self, border: float, level: float) -> int | None:
        """Return about how many launches in all would take the interval clear of `border`, if mean and spread stay.

        None if it is above `MOST_LAUNCHES` or there is no spread to judge by.
        """
        return self._launches(abs(self.mean - border), level) if self.known else None

    def fewest_launches(self, border: float, level: float) -> int | None:
        """Return how few launches could take the interval clear of `border`, if the mean was `BAD_LUCK` errors off.

        What is given up for good should be out of reach of more than a guess. One launch needs a second.
        """
        if not self.known:
            return 2 if self.n else None
        return self._launches(abs(self.mean - border) + BAD_LUCK * self.standard_error, level)

    def _launches(self, distance: float, level: float) -> int | None:
        def clears(n: int) -> bool:
            at = replace(self, n=n, spread_degrees=self.spread_degrees + n - self.n)
            return float(special.stdtrit(at.degrees, (1 + level) / 2)) * at.standard_error < distance

        launches = range(self.n, MOST_LAUNCHES + 1)
        place = bisect_left(launches, 1, key=clears)
        return launches[place] if place < len(launches) else None


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p values for their number: if those up to a are rejected, the chance of any false rejection is at most a.

    The i-th smallest of n is multiplied by n - i + 1, never falling below an earlier one nor passing 1.
    Source: S. Holm, Scand. J. Statist. 6 (1979) 65-70.
    """
    array = np.asarray(p, dtype=np.float64)
    order = np.argsort(array, kind="stable")
    adjusted = np.empty_like(array)
    adjusted[order] = np.minimum(np.maximum.accumulate(array[order] * (array.size - np.arange(array.size))), 1.0)
    return [float(value) for value in adjusted]


def launch_logs(rounds: pd.DataFrame) -> pd.DataFrame:
    """Return one number per case and launch, the log of the median over rounds of its cost (`costs.round_costs`).

    Returns:
        Columns case, tool, run, launch, value (nan where the cost is not above zero), error (its standard error over
        rounds); sorted by the first ones.
    """
    return _logs(costs.launch_medians(rounds, "seconds", UNIT))


def ratio_logs(rounds: pd.DataFrame, baseline_of: Mapping[str, str], unit: Sequence[str]) -> pd.DataFrame:
    """Return one number per case and unit, the log of the median over rounds of case / baseline, paired by round.

    The arguments are those of `costs.ratios`, the result is as of `launch_logs`. Launches without a common round are
    absent, and those in which the median of the ratios is not above zero.
    """
    medians = costs.launch_medians(costs.ratios(rounds, baseline_of, unit), "ratio", unit)
    return _logs(medians).dropna(subset="value").reset_index(drop=True)


def _logs(medians: pd.DataFrame) -> pd.DataFrame:
    values = medians["value"].astype("float64")
    # The error of a log is the relative one.
    return medians.drop(columns="rounds").assign(
        value=np.log(values.where(values > 0)), error=medians["error"] / values
    )


def launches_by_case(numbers: pd.DataFrame) -> dict[str, Launches]:
    """Return the launches of each case, from `launch_logs`, `ratio_logs` or `costs.launch_medians`."""
    values, errors = (numbers[name].to_numpy(dtype="float64") for name in ("value", "error"))
    places = numbers.groupby("case", observed=True).indices
    return {str(case): Launches(values[some], errors[some]) for case, some in sorted(places.items())}
