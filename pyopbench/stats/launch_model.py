"""What launches and runs differ by: predictions of spreads, and shifts between runs.

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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import optimize

from pyopbench.stats.estimate import (
    LEAST_COMPARISONS,
    UNKNOWN,
    Estimate,
    Floats,
    Spread,
    usual_spread,
)

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
class Shares:
    """The shares of one variant: `values` one per launch, `errors` their standard errors over rounds (nan: unknown).

    `leverage` is the square that the relative variance is multiplied with, of the share or of a contrast of shares.
    """

    values: Floats
    errors: Floats
    leverage: float

    @property
    def within(self) -> tuple[float, float]:
        """The standard deviation between launches, and its degrees of freedom; 0 for fewer than two."""
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
        return self.estimated(shares.values, self.predicted(shares), port_share, runs)

    def estimated(
        self,
        values: Floats | Sequence[float],
        variance: float,
        port_share: float,
        runs: int,
    ) -> Estimate:
        """Return the estimate from one value per launch, as `estimate`, where the expected variance is known."""
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
