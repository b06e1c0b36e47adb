"""What launches, machines and runs differ by: predictions of spreads, estimates over machines, shifts between runs.

**Launches.** A launch's number for a variant, its cost as a share `rho` of the current callback's, varies for two
reasons. Where code and data lie in a process makes it a few percent faster or slower than in the next, in proportion to
`rho`; and a median over some rounds has a standard error of its own, which the rounds show. So

    variance between launches = relative * rho^2 + rounds * (standard error over rounds)^2

with two numbers for a whole report, fitted to all of its variants by iterated least squares under a variance in
proportion to the square of the mean (P. McCullagh and J. A. Nelder, "Generalized Linear Models", 1989, chapter 8).
What few launches have shown of one variant is then moved towards its own prediction (`spread`), and not towards that of
variants which cost a hundred times as much. Two launches are so worth nearly twice as many degrees of freedom as with
one spread for all (docs/statistics.md has the figures).

Launches of one run share the state that the machine was in: ports shifted against callbacks by some percent from one
run to the next. More launches do not average that out, so it is added to every share of a port, with `run_effect`.

**Machines.** What a port saves on one machine is not quite what it saves on the next. So differences are taken within a
launch, a mean over launches on each machine, and machines count as drawn from all those that are alike:

    mean of machine i = mu + b_i + e_i,  Var(b_i) = between^2,  Var(e_i) = within^2 / launches of i

`within` is pooled over machines, because few launches on each tell little of it. `between` is that at which the
weighted squares around the mean are as many as there are degrees of freedom (R. C. Paule and J. Mandel, "Consensus
values and weighting factors", J. Res. Natl. Bur. Stand. 87 (1982) 377-385). The interval is that of J. Hartung and
G. Knapp, "A refined method for the meta-analysis of controlled clinical trials with binary outcome", Stat. Med. 20
(2001) 3875-3889: Student's t with one degree of freedom less than machines, and an error from how the machines lie
around the mean; where they happen to lie closer than launches alone explain, launches count (C. Roever, G. Knapp and
T. Friede, "Hartung-Knapp-Sidik-Jonkman approach and its modification for random-effects meta-analysis with few
studies", BMC Med. Res. Methodol. 15 (2015) 99). Normal quantiles, which are usual with many studies, would be far too
narrow for few machines.

`i_squared` is the share of the variance between the machines' means that launches do not explain (J. P. T. Higgins and
S. G. Thompson, "Quantifying heterogeneity in a meta-analysis", Stat. Med. 21 (2002) 1539-1558).

**Runs.** Launches of one run share the state of the machine: where pages lie, which frequencies and neighbours there
are. The cost of a port over that of a callback then differs from run to run by more than the spread between launches
explains. Here the variance of a share between runs, less what its standard errors within the runs explain, is averaged
over ports. A port whose share is known to a tenth of itself tells little of an effect of some percent, and one that is
known to a hundredth much, so each is weighted by the inverse square of the variance that is expected of it: the
variance of a sample variance is in proportion to its own square, which makes this the average of least variance.

Two things make the estimate uncertain. What is common to all ports of a run is taken for one observation of it, so that
three runs leave two degrees of freedom, whatever the number of ports. And errors within runs add a noise of their own,
which averages out over ports. An effect above that noise is *shown*.

What intervals allow for is more than an effect that is shown, because a standard deviation from a few runs is often too
small: a 95% interval that is all run effect would hold the truth in 81% of cases with the point estimate from three
runs, and in 99% with the upper end of its interval, which is six times the estimate and leaves nothing to be told. With
the ratio of Student's t to the normal quantile, 2.2 for three runs, it is 95%. Where none is shown, intervals allow for
the usual one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import mul

import numpy as np
import pandas as pd
from scipy import optimize, special

from pyopbench.stats.estimate import (
    LEAST_COMPARISONS,
    MOST_LAUNCHES,
    TRIMMED,
    UNKNOWN,
    Estimate,
    Floats,
    Spread,
    estimates,
    mean_and_deviation,
    own_degrees,
    usual_spread,
)
from pyopbench.stats.unresolved import MoreMachines, Remedy

STEPS = 100
"""Newton's steps towards `between`; it takes fewer than ten."""
NEAR = 1e-10
"""How near to its degrees of freedom the sum of squares comes."""

RUN_EFFECT = 0.04
"""Standard deviation, from run to run, of the log of a port's cost over a callback's: three runs of 12 ops on one idle
machine (2 cores) differed by that (docs/statistics.md)."""
RELATIVE = 0.035
"""Standard deviation between launches of a log ratio, where too few variants tell it (3.3% to 4.0% were measured)."""
ITERATIONS = 8
FAR = 10.0
"""A variance this many times its prediction is taken for that many times and no more, so that one case that goes wrong
does not raise what is predicted for all."""
SMALLEST_VARIANCE = 1e-18
"""A share of a billionth: below what any clock tells, and above zero, because it is divided by."""


@dataclass(frozen=True)
class MachinesEstimate(Estimate):
    """An estimate over at least two machines; `n` counts the launches on all of them.

    Attributes:
        machines: how many.
        between: standard deviation between machines.
        within: standard deviation between launches of a machine.
        error: the standard error of the mean.
        i_squared: share of the variance between the means of machines that launches do not explain, 0 to 1.
    """

    machines: int = 2
    between: float = 0.0
    within: float = 0.0
    error: float = 0.0
    i_squared: float = 0.0

    @property
    def degrees(self) -> float:
        """The degrees of freedom: one less than machines."""
        return self.machines - 1

    @property
    def moderated(self) -> float:
        """The standard deviation between launches of a machine."""
        return self.within

    @property
    def standard_error(self) -> float:
        """The standard error of the mean."""
        return self.error

    def _launches(self, distance: float, spread: float, level: float) -> int | None:
        """Return how many launches on these machines would do; none where machines differ by too much for any."""

        def clears(n: int) -> bool:
            quantile = float(special.stdtrit(self.degrees, (1 + level) / 2))
            return quantile * math.sqrt(spread**2 / n + self.between**2 / self.machines) < distance

        launches = range(self.n, MOST_LAUNCHES + 1)
        place = bisect_left(launches, 1, key=clears)
        return launches[place] if place < len(launches) else None

    def remedy(self, border: float, level: float) -> Remedy:
        """Return what would take the interval clear of `border`: about how many machines, with as many launches."""
        return MoreMachines(self.machines, self.machines_to_clear(border, level))

    def machines_to_clear(self, border: float, level: float) -> int | None:
        """Return about how many machines would take the interval clear of `border`, if mean and spread stay.

        Returns:
            A number of machines in all, each with as many launches; None if it is above `MOST_LAUNCHES`.
        """
        distance = abs(self.mean - border)
        of_one = math.sqrt(self.machines) * self.error

        def clears(machines: int) -> bool:
            return float(special.stdtrit(machines - 1, (1 + level) / 2)) * of_one / math.sqrt(machines) < distance

        machines = range(self.machines, MOST_LAUNCHES + 1)
        place = bisect_left(machines, 1, key=clears)
        return machines[place] if place < len(machines) else None


def over_machines(
    values: Floats | Sequence[float], machines: Sequence[str], usual: Spread = UNKNOWN, scale: float = 1.0
) -> MachinesEstimate:
    """Estimate from one value per launch, on at least two machines.

    Args:
        values: `(launches,)` float64.
        machines: the machine of each launch.
        usual: the spread between launches that is usual in the run, as a multiple of `scale`.
        scale: the variance between launches that was predicted; what counts where no machine has two launches.
    """
    each = _by_machine(values, machines)
    means, counts = [mean for mean, _, _ in each], [n for _, _, n in each]
    deviation, degrees = _pooled(each)
    within = scale * usual.moderate(deviation**2 / scale, degrees) if degrees > 0 else scale * (usual.variance or 1.0)
    variances = [within / n for n in counts]
    between = _between(means, variances)
    weights = [1 / (variance + between) for variance in variances] if within or between else [1.0] * len(each)
    mean, squares = _weighted(means, weights)
    least = 1.0 if within or between else 0.0
    return MachinesEstimate(
        mean=mean,
        deviation=deviation if degrees > 0 else math.sqrt(within),
        n=sum(counts),
        usual=usual,
        scale=scale,
        shared=between / len(each),
        machines=len(each),
        between=math.sqrt(between),
        within=math.sqrt(within),
        error=math.sqrt(max(squares / (len(each) - 1), least) / sum(weights)),
        i_squared=_i_squared(means, variances),
    )


def over_each_machine(medians: pd.DataFrame, hosts: Mapping[int, str] | None) -> dict[str, Estimate]:
    """Return the estimate of each case over launches, and over machines where it was on several.

    Args:
        medians: columns case, launch and value, as from `costs.launch_medians`.
        hosts: number of a launch -> the machine that it was on; empty if all launches were on one.
    """
    if not hosts:
        return estimates(medians)
    every = np.array([hosts[launch] for launch in medians["launch"].tolist()])
    values = medians["value"].to_numpy(dtype="float64")
    found: dict[str, Estimate] = {}
    for case, places in sorted(medians.groupby("case", observed=True).indices.items()):
        machines = every[places].tolist()
        some = values[places]
        found[str(case)] = over_machines(some, machines) if len(set(machines)) > 1 else Estimate.of(some)
    return found


def spread_within(values: Floats | Sequence[float], machines: Sequence[str]) -> tuple[float, float]:
    """Return the standard deviation between launches of one machine, and its degrees of freedom; nan and 0 for none."""
    return _pooled(_by_machine(values, machines))


def _by_machine(values: Floats | Sequence[float], machines: Sequence[str]) -> list[tuple[float, float, int]]:
    """Return mean, deviation and number of the launches of each machine, as `Estimate.of`, in the order of names."""
    of_machine: dict[str, list[float]] = {}
    for name, value in zip(machines, map(float, values), strict=True):
        of_machine.setdefault(name, []).append(value)
    return [_of_one(found) for _, found in sorted(of_machine.items())]


def _of_one(values: list[float]) -> tuple[float, float, int]:
    if len(values) < TRIMMED:  # thousands of these are asked for
        return (*mean_and_deviation(values), len(values))
    found = Estimate.of(values)
    return found.mean, found.deviation, found.n


def _pooled(each: Sequence[tuple[float, float, int]]) -> tuple[float, float]:
    known = [(deviation, own_degrees(n)) for _, deviation, n in each if n > 1]
    degrees = sum(own for _, own in known)
    if degrees <= 0:
        return math.nan, 0.0
    return math.sqrt(sum(own * deviation**2 for deviation, own in known) / degrees), degrees


def _weighted(means: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """Return the weighted mean, and the weighted sum of squares around it: of a handful faster than by NumPy."""
    mean = sum(map(mul, weights, means)) / sum(weights)
    return mean, sum(weight * (one - mean) ** 2 for weight, one in zip(weights, means, strict=True))


def _between(means: Sequence[float], variances: Sequence[float]) -> float:
    """Return the variance between machines, after Paule and Mandel, by Newton's steps.

    The sum of squares falls and is convex as the variance grows, so that steps from 0 never pass the root. Source: R.
    DerSimonian and R. Kacker, "Random-effects model for meta-analysis of clinical trials: an update", Contemp. Clin.
    Trials 28 (2007) 105-114.
    """
    degrees = len(means) - 1
    if min(variances) == max(variances):
        return max(_weighted(means, [1.0] * len(means))[1] / degrees - variances[0], 0.0)
    found = 0.0
    for _ in range(STEPS):
        weights = [1 / (variance + found) for variance in variances]
        mean, squares = _weighted(means, weights)
        excess = squares - degrees
        if excess <= NEAR * degrees:
            break
        found += excess / sum((weight * (one - mean)) ** 2 for weight, one in zip(weights, means, strict=True))
    return found


def _i_squared(means: Sequence[float], variances: Sequence[float]) -> float:
    if not variances[0]:
        return float(max(means) > min(means))
    _, squares = _weighted(means, [1 / variance for variance in variances])
    return max(0.0, 1 - (len(means) - 1) / squares) if squares else 0.0


@dataclass(frozen=True)
class Shares:
    """The shares of one variant: `values` one per launch, `errors` their standard errors over rounds (nan: unknown).

    `leverage` is the square that the relative variance is multiplied with, of the share or of a contrast of shares.
    `machines` names the machine of each launch; empty where all were on one.
    """

    values: Floats
    errors: Floats
    leverage: float
    machines: tuple[str, ...] = ()

    @property
    def within(self) -> tuple[float, float]:
        """The standard deviation between launches of one machine, and its degrees of freedom; 0 for fewer than two."""
        if self.machines:
            return spread_within(self.values, self.machines)
        found = Estimate.of(self.values)
        return found.deviation, found.own_degrees

    @cached_property
    def squared_error(self) -> float:
        """The mean of the squared standard errors over rounds; 0 where none is known."""
        known = self.errors[np.isfinite(self.errors)]
        return float(np.add.reduce(known * known) / known.size) if known.size else 0.0


@dataclass(frozen=True)
class LaunchModel:
    """What launches of a report differ by.

    Attributes:
        relative: variance between launches of a share of one.
        rounds: what the squared standard error over rounds counts for.
        usual: the spread of variances around their prediction.
        run_effect: standard deviation that ports shift by against callbacks, from run to run, as a share of themselves.
    """

    relative: float = RELATIVE**2
    rounds: float = 1.0
    usual: Spread = UNKNOWN
    run_effect: float = RUN_EFFECT

    def predicted(self, shares: Shares) -> float:
        """Return the variance between launches that is expected."""
        return self.variance(shares.leverage, shares.squared_error)

    def variance(self, leverage: float, squared_error: float) -> float:
        """Return the variance between launches that is expected, of what `Shares` has of these names."""
        return max(self.relative * leverage + self.rounds * squared_error, SMALLEST_VARIANCE)

    def estimate(self, shares: Shares, port_share: float = 0.0, runs: int = 1) -> Estimate:
        """Return the estimate of a share, or of a contrast of shares.

        Args:
            shares: one per launch.
            port_share: how much of it shifts with ports: the share itself of a port against a callback, the difference
                of two ports, 0 of a callback.
            runs: how many runs the launches are of.
        """
        return self.estimated(shares.values, shares.machines, self.predicted(shares), port_share, runs)

    def estimated(
        self,
        values: Floats | Sequence[float],
        machines: Sequence[str],
        variance: float,
        port_share: float,
        runs: int,
    ) -> Estimate:
        """Return the estimate from one value per launch, as `estimate`, where the expected variance is known."""
        if len(set(machines)) > 1:  # what a run is off by is part of what machines differ by
            return over_machines(values, machines, self.usual, variance)
        shared = (self.run_effect * port_share) ** 2 / runs
        return replace(Estimate.of(values), scale=variance, shared=shared).with_usual(self.usual)


def fit(shares: Sequence[Shares], run_effect: float = RUN_EFFECT) -> LaunchModel:
    """Fit the model to the shares of all variants of a report.

    Args:
        shares: of each variant against the current callback; those of one launch are passed over.
        run_effect: as in `LaunchModel`.
    """
    known = [(one, *one.within) for one in shares]
    known = [(one, deviation, degrees) for one, deviation, degrees in known if degrees > 0 and deviation > 0]
    if len(known) < LEAST_COMPARISONS:
        return LaunchModel(run_effect=run_effect)
    terms = np.array([(one.leverage, one.squared_error) for one, _, _ in known])
    found = np.array([deviation**2 for _, deviation, _ in known])
    relative, rounds = _weights(terms, found)
    model = LaunchModel(relative, rounds, run_effect=run_effect)
    return replace(model, usual=usual_spread(_relative(model, known)))


def _weights(terms: Floats, variances: Floats) -> tuple[float, float]:
    weights = np.array([RELATIVE**2, 1.0])
    for _ in range(ITERATIONS):
        predicted = np.maximum(terms @ weights, SMALLEST_VARIANCE)
        capped = np.minimum(variances / predicted, FAR)
        weights, _ = optimize.nnls(terms / predicted[:, None], capped)
    return float(weights[0]), float(weights[1])


def _relative(model: LaunchModel, known: Iterable[tuple[Shares, float, float]]) -> Iterable[tuple[float, float]]:
    """Yield the standard deviation of each variant over the predicted one, and its degrees of freedom."""
    for one, deviation, degrees in known:
        yield deviation / model.predicted(one) ** 0.5, degrees
