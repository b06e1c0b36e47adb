"""Many verdicts at several interim analyses, corrected so that the chance of any false one stays what is promised.

**Interim analyses.** A verdict that may be reached at any of several analyses of the data has several chances to be
wrong. Each analysis therefore gets an equal share of the error (Bonferroni), so a p value counts as many times as there
are analyses. That holds whatever the dependence between them and whatever makes a case stop: of K probabilities that
are each too small with a chance of at most a / K, the one at which somebody stops is too small with a chance of at
most a.

**Many verdicts.** A case is slower, faster or equivalent once its ratio is shown to lie on one side of a border of the
minimum effect. Of these claims at most one kind can be wrong at any true ratio: within the borders that it is slower or
faster, beyond one that it is equivalent. So the error of a claim is spent on one side of the interval, and on the far
side of the other border only as far as the noise reaches there.

Cases are tested by Holm's steps: the smallest probability of n at a / n, the next at a / (n - 1), until one fails. The
interval of a case is the one that decides it: at the level of its own step, or of the step that failed. It holds the
border exactly where the verdict is open. The chance that any claim is wrong is at most a, whatever the dependence.

Sources: K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983)
659-663, for an error that is spent over analyses planned beforehand; docs/statistics.md says why in equal shares. S.
Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6 (1979) 65-70. D. J. Schuirmann, "A
comparison of the two one-sided tests procedure and the power approach", J. Pharmacokinet. Biopharm. 15 (1987) 657-680,
for equivalence. H. Finner and K. Strassburger, "The partitioning principle", Ann. Statist. 30 (2002) 1194-1213, for
claims that exclude one another. docs/statistics.md has what simulations say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from pyopbench.stats.estimate import FAMILY_ERROR, Estimate

MOST_ANALYSES = 5
"""Each look makes all others stricter; with five, a p value has to be a fifth of what one look asks for."""

HALVINGS = 50
"""Narrow a quantile down to the last digits of a float."""


@dataclass(frozen=True)
class Analyses:
    """At how many looks at the data a verdict could be reached."""

    planned: int = 1

    @classmethod
    def of(cls, held: int) -> Analyses:
        """Return the looks that a run is charged for: those that were held, and the one at what is there now.

        A look that was planned and not held has cost nothing: time ended the run, and not the data. What was closed at
        a look was closed with `ALL_ANALYSES` charged, so that no number of further ones opens it again.

        Args:
            held: how many looks were held while it went on; none of results of other tools.
        """
        return cls(min(held + 1, MOST_ANALYSES))

    def spent(self, p: float) -> float:
        """Return a p value as it counts at one of these looks; above 1 means no more than 1."""
        return self.planned * p

    def share(self, error: float, many: int) -> float:
        """Return the part of an error that is left to one of `many` intervals at one look."""
        return error / (many * self.planned)


ONE_ANALYSIS = Analyses()
ALL_ANALYSES = Analyses(MOST_ANALYSES)


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p values for being many, by the step-down method.

    The i-th smallest of n is multiplied by n - i + 1, never falling below an earlier one nor passing 1. Rejecting what
    is at most a keeps the chance of any false rejection at a or below, whatever the dependence.
    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6 (1979) 65-70.

    Args:
        p: probabilities in any order.

    Returns:
        The adjusted probabilities, in the order of `p`.
    """
    array = np.asarray(p, dtype=np.float64)
    order = np.argsort(array, kind="stable")
    stepped = np.maximum.accumulate(array[order] * (array.size - np.arange(array.size)))
    adjusted = np.empty_like(array)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in adjusted]


@dataclass(frozen=True)
class Step:
    """How one of many cases was tested.

    Attributes:
        p: probability, adjusted for all cases and looks; at most the error where the case is resolved.
        level: of the two-sided interval that decides the case; nan where there is no spread to judge by.
        cases: how many cases shared the error in its step.
    """

    p: float
    level: float
    cases: int


def step_down(
    estimates: Sequence[Estimate], delta: float, looks: Analyses = ONE_ANALYSIS, error: float = FAMILY_ERROR
) -> list[Step]:
    """Test estimates against the borders of [-delta, delta], the clearest first.

    Args:
        estimates: with the spread that they are to be judged by. Those without one take no part and share no error.
        delta: the minimum effect on the log scale, at least 0.
        looks: how often the data are looked at.
        error: how often any claim may be wrong.

    Returns:
        A step for each estimate, in order.
    """
    known = [place for place, one in enumerate(estimates) if one.known]
    steps = [Step(1.0, math.nan, len(known))] * len(estimates)
    p = [border_p(estimates[place], delta) for place in known]
    adjusted = holm([looks.spent(one) for one in p])
    # Each case that passes leaves its share of the error to those after it, up to the first that fails.
    order, sharing, cases = sorted(range(len(p)), key=lambda place: p[place]), len(p), [0] * len(p)
    for passed, place in enumerate(order):
        if not passed or adjusted[order[passed - 1]] <= error:
            sharing = len(p) - passed
        cases[place] = sharing
    levels = _decisive_levels([estimates[place] for place in known], delta, [looks.share(error, n) for n in cases])
    for place, step in zip(known, map(Step, adjusted, levels, cases), strict=True):
        steps[place] = step
    return steps


def border_p(estimate: Estimate, delta: float) -> float:
    """Return the smallest error at which it is shown on which side of the nearer border the mean lies.

    The nearer border is `||mean| - delta|` away and the farther one 2 delta more; a mean in between is off either one
    by chance on one side each. With `delta` 0 it is the two-sided probability, with a large one the one-sided.
    """
    distance = abs(abs(estimate.mean) - delta)
    if estimate.standard_error == 0:
        return 0.0 if distance > 0 else 1.0
    x = distance / estimate.standard_error
    found = float(_both_tails(estimate.degrees, x, 2 * delta / estimate.standard_error))
    return found if found <= 1.0 else 1.0  # also for a nan


def decisive_level(estimate: Estimate, delta: float, error: float) -> float:
    """Return the level of the two-sided interval that holds the nearer border where `border_p` is above `error`."""
    return _decisive_levels([estimate], delta, [error])[0] if estimate.known else math.nan


def _decisive_levels(estimates: Sequence[Estimate], delta: float, errors: Sequence[float]) -> list[float]:
    """Return `decisive_level` of estimates that are known, each with its error, all at once."""
    degrees = np.array([one.degrees for one in estimates])
    apart = np.array([2 * delta / one.standard_error if one.standard_error else math.inf for one in estimates])
    wanted = np.array(errors)
    low, high = (special.stdtrit(degrees, 1 - share) for share in (wanted, wanted / 2))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        too_near = _both_tails(degrees, middle, apart) > wanted
        low, high = np.where(too_near, middle, low), np.where(too_near, high, middle)
    return [float(level) for level in 1 - 2 * special.stdtr(degrees, -high)]


def _both_tails(degrees: Any, x: Any, apart: Any) -> Any:
    near, far = (special.stdtr(degrees, -end) for end in (x, x + apart))
    return near + far
