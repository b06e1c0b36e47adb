"""Where the next second goes: into further rounds of the launches that are warm, or into other launches.

The mean over L launches of r rounds has the variance `between / L + within / (L r)`: what launches differ by, and what
is left of the noise of rounds. A launch costs its preparing and a round its blocks, so that the number of rounds which
gives most for the time is `sqrt(launch_seconds / round_seconds * within / between)`, whatever the time.

Source: T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013, section 5; variances by the
analysis of variance there, but of medians (of rounds, and of cases), which a spoilt round or an odd case does not move.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from scipy import special

MEDIAN_VARIANCE = math.pi / 2
"""Variance of the median of many normal numbers over that of their mean."""
DEVIATION_OF_MAD = 1.4826
"""Standard deviation of normal numbers over the median of their distances from the median."""
SMALL_SAMPLE = 0.8
"""C. Croux and P. J. Rousseeuw, "Time-efficient algorithms for two robust estimators of scale", COMPSTAT 1992."""
LEAST_ROUNDS = 4
"""Of a launch that is counted with: fewer have no median worth the name."""
MOST_FURTHER = 100
"""Further launches that are weighed."""
LEVEL = 0.99
"""Of the interval whose width is weighed. Few launches tell little of their own spread, for which it is wider."""


@dataclass(frozen=True)
class Variances:
    """Of a case: of what launches truly differ by, and of a round within a launch, as it counts in a median."""

    between: float
    within: float

    def of_launch(self, rounds: float) -> float:
        """Return the variance of the number that a launch of so many rounds gives."""
        return self.between + self.within / rounds


@dataclass(frozen=True)
class Costs:
    """Seconds that it takes to prepare another launch, and that a round of a launch takes, over all that is open.

    As in `Made`, they are of a block of launches and of a sweep where versions are compared.
    """

    launch_seconds: float
    round_seconds: float


@dataclass(frozen=True)
class LaunchSummary:
    """Of the values of a case in a launch: their median, their variance, and how many `rounds` (or sweeps) they are of.

    Values are natural logs or shares, so that cases of any length are alike.
    """

    median: float
    variance: float
    rounds: int

    @classmethod
    def of(cls, values: Sequence[float]) -> LaunchSummary:
        """Return the summary of two values or more."""
        middle = statistics.median(values)
        return cls(middle, _variance(values, middle), len(values))


def variances(cases: Iterable[Sequence[LaunchSummary]]) -> Variances | None:
    """Return the variances of the middle one of some cases.

    Args:
        cases: of each case, a summary of each launch.

    Returns:
        In the square of the values' unit; None if no case has two launches.
    """
    withins, spreads, rounds = [], [], []
    for launches in cases:
        if len(launches) < 2:
            continue
        withins.append(MEDIAN_VARIANCE * statistics.fmean(one.variance for one in launches))
        spread = statistics.variance(one.median for one in launches)
        spreads.append(spread / _middle_of_variance(len(launches) - 1))
        rounds.append(statistics.harmonic_mean([one.rounds for one in launches]))
    if not withins:
        return None
    within = statistics.median(withins)
    return Variances(max(statistics.median(spreads) - within / statistics.median(rounds), 0.0), within)


def _variance(values: Sequence[float], middle: float) -> float:
    """Return the variance by the distances from the median; few of them are too near (Croux and Rousseeuw, 1992)."""
    near = len(values) / (len(values) - SMALL_SAMPLE)
    return (near * DEVIATION_OF_MAD * statistics.median(abs(value - middle) for value in values)) ** 2


def _middle_of_variance(degrees: int) -> float:
    """Return the median of a variance with so few degrees of freedom, of numbers whose variance is 1.

    E. B. Wilson and M. M. Hilferty, "The distribution of chi-square", PNAS 17 (1931) 684-688.
    """
    return (1 - 2 / (9 * degrees)) ** 3


def best_rounds(found: Variances, costs: Costs) -> float:
    """Return how many rounds a launch should have, where time is no limit; infinite where launches do not differ."""
    if found.between == 0 or costs.round_seconds == 0:
        return math.inf
    return math.sqrt(costs.launch_seconds / costs.round_seconds * found.within / found.between)


@dataclass(frozen=True)
class Made:
    """What there is of a batch: so many `launches`, at least 1, each with so many `rounds`, at least 1.

    Where versions are compared, these are blocks of launches, one of each version, and sweeps.
    """

    launches: int
    rounds: float


@dataclass(frozen=True)
class Left:
    """What a run may still take: so many seconds, which may be infinite, and so many launches."""

    seconds: float
    launches: int = MOST_FURTHER


def better(
    found: Variances,
    costs: Costs,
    batches: Sequence[Made],
    left: Left,
    known: float = math.inf,
) -> Literal["rounds", "launch"]:
    """Return what makes the interval of a case narrower by the end of the time that is left.

    Further launches share the time with these, which first get as many rounds as the others will have: a launch of few
    rounds counts as much in a mean over launches as one of many.

    Args:
        found: the variances.
        costs: of a launch and a round.
        batches: what there is, one at least; the last one is warm, and the others have gone.
        left: what the run may still take.
        known: degrees of freedom that the spread between launches has beside those of the launches themselves.
    """
    *earlier, made = batches
    if math.isinf(left.seconds):
        return "launch" if made.rounds >= best_rounds(found, costs) else "rounds"
    sum_before = sum(one.launches * found.of_launch(one.rounds) for one in earlier)
    many_before = sum(one.launches for one in earlier)

    def width(further: int) -> float:
        whole = sum_before + _sum_of_variances(found, costs, made, left.seconds, further)
        return _reach(many_before + made.launches + further, known) * math.sqrt(whole)

    most = min(left.launches, MOST_FURTHER)
    if costs.launch_seconds:
        most = min(int(left.seconds / costs.launch_seconds), most)
    best = min(range(most + 1), key=width)
    return "launch" if best and made.rounds >= _rounds_each(costs, made, left.seconds, best) else "rounds"


def _reach(launches: int, known: float) -> float:
    """Return how far an interval reaches, over the root of the sum of the variances of its launches."""
    degrees = launches - 1 + known
    if degrees <= 0:
        return math.inf
    return float(special.stdtrit(degrees, (1 + LEVEL) / 2)) / launches


def _sum_of_variances(found: Variances, costs: Costs, made: Made, seconds: float, further: int) -> float:
    """Return the sum over these launches and further ones, at the end of the time; infinite where it is too short."""
    rounds = _rounds_each(costs, made, seconds, further)
    if rounds >= made.rounds:
        return (made.launches + further) * found.of_launch(rounds)
    left = seconds - further * costs.launch_seconds
    of_others = left / (further * costs.round_seconds) if costs.round_seconds else math.inf
    if of_others < LEAST_ROUNDS:
        return math.inf
    return made.launches * found.of_launch(made.rounds) + further * found.of_launch(of_others)


def _rounds_each(costs: Costs, made: Made, seconds: float, further: int) -> float:
    """Return how many rounds each of these launches and of further ones has, if all have as many in the end."""
    if not costs.round_seconds:
        return math.inf
    left = (seconds - further * costs.launch_seconds) / costs.round_seconds
    return (made.launches * made.rounds + left) / (made.launches + further)
