"""Where a series changes its level: a segmentation whose rate of false alarms is known.

Every point has an error of its own, known from its launches, so that what is sought is a shift of a mean under known
variances. For a stretch of the series and a split of it, the statistic is how many standard errors the weighted means
of both sides differ by; its largest value over all splits of a series is the likelihood ratio test for one change (D.
M. Hawkins, J. Am. Stat. Assoc. 72 (1977) 180-186; K. J. Worsley, J. Am. Stat. Assoc. 74 (1979) 365-367, for an unknown
variance). A change that is taken back soon is lost in the whole series, so that it is sought in many stretches (wild
binary segmentation: P. Fryzlewicz, Ann. Statist. 42 (2014) 2243-2281), which are not drawn at random but laid out
evenly (S. Kovacs, P. Buhlmann, H. Li and A. Munk, Biometrika 110 (2023) 249-256): the same series gives the same
changes.

What exceeds the threshold is a change. `THRESHOLDS` has how high the largest statistic over all stretches and
splits gets in series without one.

**Noise.** Points differ by their errors, except for the few between which the level changes. So the median of their
differences shows the noise, whatever the levels are (J. Rice, Ann. Statist. 12 (1984) 1215-1230). Autocorrelated noise
makes neighbours alike, so that differences are taken over `LAG` points. Changes are not noise: once some are found, it
is estimated again, from differences that cross none of them (`scale_within`).

**Drift.** The level of a machine may drift, and no threshold for noise of a known kind covers that. So a step must
explain the points around it better than a slope does (`_steeper`), and must be large compared with the differences
between the means of the points before and after every place that is not near a change (`_outstanding`). A single point
is not a level: one run may be off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pyopbench.stats.estimate import LEVEL, Floats

ALARM_RATE = 0.01
"""Share of series without a change in which one is found."""
LENGTHS = (5, 6, 8, 10, 12, 15, 19, 20, 25, 30, 40, 50, 70, 100, 150, 200, 300, 500, 1000)
# fmt: off
THRESHOLDS = (
    2.77, 3.10, 3.54, 3.89, 4.30, 4.56, 4.85, 5.46, 5.71, 5.90, 6.28, 6.36, 6.73, 6.93, 7.26, 7.32, 7.51, 7.81, 8.18,
)
"""For each of `LENGTHS`, what is exceeded as often as `ALARM_RATE`, simulated: of noise that is normal, has the tails
of Student's t with 3 degrees of freedom, or is normal with an autocorrelation of 0.5, whichever needs most."""
UNCORRELATED_THRESHOLDS = (
    2.77, 2.97, 3.18, 3.24, 3.45, 3.53, 3.68, 3.65, 3.78, 3.84, 3.96, 4.10, 4.27, 4.35, 4.45, 4.67, 4.79, 4.94, 5.24,
)
"""The same without the noise that has an autocorrelation."""
# fmt: on

FEWEST_POINTS = 5
"""Fewer points have no change: one of four may be off, and nothing shows what their noise is."""
WINDOW = 7
"""Points of a running median; a level of four points or more survives it."""
FARTHEST = 3.0
"""A point further from its running median than so many standard errors is moved to there: it alone is no level."""
LAG = 3
"""With an autocorrelation of 0.5, differences over three points show 94% of the noise, those of neighbours 71%."""
MANY_POINTS = 20
"""From this number on, runs are judged by how much they differ from one another."""
QUANTILES = (0.5, 0.75)
"""Quantiles of differences: the noise is the larger of the two estimates. For a machine that switches between two
speeds and usually has the same one three points later, the median alone would give hardly any noise."""
NORMAL_QUANTILES = (0.6744897501960817, 1.1503493803760079)
"""The same quantiles of the absolute value of a standard normal number."""
SMALLEST_ERROR = 1e-4
"""A hundredth of a percent: no clock is more precise for a call, and points are weighted by one over its square."""
FEWEST_DIFFERENCES = 10
"""Fewer differences do not show their usual size."""
PASSES = 3
"""How often noise is estimated again without the changes that were found."""
WANDERING = 1.5
"""A series drifts if means of neighbouring stretches differ by more than this many times what autocorrelated noise
explains. Chosen by simulation, like `OUTSTANDING`: with 1.3, a step in noise with an autocorrelation of 0.5 was found
in 70 of 100 series, with 1.5 in 79, with 1.7 in 83; of random walks 17, 24 and 33 of 100 had a change."""
OUTSTANDING = 4.0
"""A change must be this many times the usual difference elsewhere in a series that drifts. Without this rule, 90 of 100
simulated random walks of 100 points had a change."""
LONGEST_SHARE = 8
"""The length of a series divided by this is the maximum length of a stretch on either side of a place."""
LASTING = 0.5
"""The autocorrelation of noise that the thresholds are for."""
Places: TypeAlias = npt.NDArray[np.intp]
Measure: TypeAlias = Callable[[int, int, int, list[int]], float]
"""Called with the change before, a change, the change after it, and all remaining changes."""

DECAY = 2**-0.5
"""By what stretches become shorter from layer to layer, as Kovacs et al. have it."""
SHORTEST_STRETCH = 4
MOST_PASSES = 10
"""So often changes are placed anew between their neighbours; two passes were enough for every series that was tried."""


def threshold(n: int, thresholds: Sequence[float] = THRESHOLDS) -> float:
    """Return what the statistic of a series of `n` points without a change exceeds as often as `ALARM_RATE`."""
    return float(np.interp(math.log(n), np.log(LENGTHS), thresholds))


@dataclass(frozen=True)
class Level:
    """A stretch of a series between two changes."""

    start: int  # start and stop: its first point, and the one after its last
    stop: int
    mean: float  # weighted mean of its points
    error: float  # standard error of the mean


@dataclass(frozen=True)
class ChangePoint:
    """A change of the level of a series."""

    place: int  # the first point after it
    first: int  # first and last: the first point after it lies between these, with the usual level of intervals
    last: int
    step: float  # by how much the level changed; of logs, when the series is of logs
    error: float  # standard error of `step`. Both are of the place that was found, and so a little too optimistic.


@dataclass(frozen=True)
class Segmentation:
    """A series as stretches of one level each."""

    levels: tuple[Level, ...]  # in order, at least one
    changes: tuple[ChangePoint, ...]  # between them, one fewer than levels


class Splits(NamedTuple):
    """Splits of stretches of a series: where a stretch begins, where it is split, where it ends."""

    starts: Places
    middles: Places
    stops: Places


def segment(values: Floats, errors: Floats, between: float = 0.0) -> Segmentation:
    """Find the changes of level in a series.

    Args:
        values: `(n,)` float64, in order.
        errors: `(n,)` float64 above 0, the standard error of each.
        between: the part of the errors that is estimated from the values, by `between_runs`.
    """
    n = values.size
    if n < FEWEST_POINTS:
        return Segmentation((_level(values, errors, 0, n),), ())
    limit = threshold(n)
    if n >= MANY_POINTS:
        known = np.maximum(np.sqrt(np.maximum(errors**2 - between**2, 0.0)), SMALLEST_ERROR)
        places: list[int] = []
        for _ in range(PASSES):
            judged = np.maximum(errors * scale_within(values, errors, places), known)
            before, places = places, _changes(values, judged, limit)
            if places == before:
                break
            # The alarm rate is that of a first change. A new estimate from shorter stretches never removes the
            # last change again.
            places = places or before
    else:
        judged = errors * max(scale_within(values, errors), 1.0)
        places = _changes(values, judged, limit)
    ends = [0, *places, n]
    levels = tuple(_level(values, judged, start, stop) for start, stop in pairwise(ends))
    series = _Series(clipped(values, judged), judged**-2.0, limit)
    # Noise that lasts makes likelihoods as much too steep as it makes statistics too large.
    tempered = (threshold(n, UNCORRELATED_THRESHOLDS) / limit) ** 2 if places else 1.0
    changes = tuple(_change(series, levels[number], levels[number + 1], tempered) for number in range(len(levels) - 1))
    return Segmentation(levels, changes)


def _changes(values: Floats, errors: Floats, limit: float) -> list[int]:
    """Return the places of the changes in a series whose errors explain the differences of its points."""
    values = clipped(values, errors)
    series = _Series(values, errors**-2.0, limit)
    places = _placed(series, sorted(_found(series, 0, values.size)))
    places = _steeper(values, errors, _longer(values, places))
    return _outstanding(values, errors, places) if values.size >= MANY_POINTS else places


class _Series:
    """A series, with the terms of sums over its stretches."""

    def __init__(self, values: Floats, weights: Floats, limit: float) -> None:
        self.size, self.limit = values.size, limit
        self.sums, self.weights = _cumulated(values * weights), _cumulated(weights)

    def statistics(self, splits: Splits) -> Floats:
        """Return by how many standard errors the weighted means of both sides of each split differ."""
        starts, middles, stops = splits
        left, right = self.weights[middles] - self.weights[starts], self.weights[stops] - self.weights[middles]
        before = (self.sums[middles] - self.sums[starts]) / left
        after = (self.sums[stops] - self.sums[middles]) / right
        found: Floats = np.abs(after - before) / np.sqrt(1 / left + 1 / right)
        return found

    def best(self, start: int, stop: int) -> tuple[float, int]:
        """Return the largest statistic of a stretch of at least two points, and its split."""
        splits = _whole(start, stop)
        found = self.statistics(splits)
        place = int(found.argmax())
        return float(found[place]), int(splits.middles[place])


def _level(values: Floats, errors: Floats, start: int, stop: int) -> Level:
    """Return a stretch with its mean, for which a point counts for no more than it may be off the stretch's median.

    The running median by which changes are found does not know of a level of three points at an end.
    """
    part, weights = values[start:stop], errors[start:stop] ** -2.0
    reach = FARTHEST * errors[start:stop]
    kept = np.median(part) + np.clip(part - np.median(part), -reach, reach)
    return Level(start, stop, float(kept @ weights / weights.sum()), float(weights.sum() ** -0.5))


def _cumulated(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])


def _whole(start: int, stop: int) -> Splits:
    middles = np.arange(start + 1, stop)
    return Splits(np.full(middles.size, start), middles, np.full(middles.size, stop))


@lru_cache(maxsize=64)
def _stretches(n: int) -> tuple[Splits, Places, Places, Places]:
    """Return every split of every stretch; and for each stretch where its splits begin, its start and its stop."""
    ends = list(dict.fromkeys(_seeded(n)))
    parts = [_whole(start, stop) for start, stop in ends]
    splits = Splits(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    firsts = np.cumsum([0, *(part.middles.size for part in parts[:-1])])
    starts, stops = (np.array(column) for column in zip(*ends, strict=True))
    return splits, firsts, starts, stops


def _seeded(n: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches, the whole first: layers of ever shorter ones that overlap (Kovacs et al., definition 1)."""
    yield 0, n
    length = n * DECAY
    while length >= SHORTEST_STRETCH:
        many = 2 * int(np.ceil(n / length)) - 1
        for begin in np.linspace(0, n - length, many):
            yield int(np.floor(begin)), min(int(np.ceil(begin + length)), n)
        length *= DECAY


def _found(series: _Series, start: int, stop: int) -> Iterator[int]:
    """Yield the changes between two points: of the stretch with the largest statistic, then of both of its sides."""
    if stop - start < 2:
        return
    largest, place = series.best(start, stop)
    splits, firsts, starts, stops = _stretches(series.size)
    inside = (starts >= start) & (stops <= stop)
    if inside.any():
        statistics = series.statistics(splits)
        of_stretch = np.where(inside, np.maximum.reduceat(statistics, firsts), 0.0)
        number = int(of_stretch.argmax())
        if of_stretch[number] > largest:
            largest, place = series.best(int(starts[number]), int(stops[number]))
    if largest > series.limit:
        yield place
        yield from _found(series, start, place)
        yield from _found(series, place, stop)


def _placed(series: _Series, places: list[int]) -> list[int]:
    """Return changes where they fit best between their neighbours, without those that exceed no threshold there."""
    for _ in range(MOST_PASSES):
        before = list(places)
        for place in before:
            number = places.index(place)
            ends = [0, *places, series.size]
            largest, better = series.best(ends[number], ends[number + 2])
            places[number : number + 1] = [better] if largest > series.limit else []
        if places == before:
            break
    return places


def _longer(values: Floats, places: list[int]) -> list[int]:
    """Return the changes without those that end a level of a single point: of its two, the smaller step is dropped."""
    places = list(places)
    number = 0
    while number < len(places) - 1:
        before, place, after = (places[number - 1] if number else 0), places[number], places[number + 1]
        if after - place > 1:
            number += 1
            continue
        end = places[number + 2] if number + 2 < len(places) else values.size
        into, out = (abs(values[place] - np.median(part)) for part in (values[before:place], values[after:end]))
        del places[number if into < out else number + 1]
        number = max(number - 1, 0)
    return places


def _steeper(values: Floats, errors: Floats, places: list[int]) -> list[int]:
    """Return the changes without those around which a slope explains the points better than a step.

    A series that drifts evenly looks like a staircase of significant steps. The steps are dropped first whose slope
    explains most beyond the step; the levels on both sides are then one. `values` are clipped.
    """

    def gain(before: int, place: int, after: int, _: list[int]) -> float:
        part, weights, at = values[before:after], errors[before:after] ** -2.0, np.arange(before, after)
        return _explained(part, weights, at >= place) - _explained(part, weights, at)

    return _reaching(0.0, gain, values.size, places)


def _reaching(least: float, measure: Measure, size: int, places: list[int]) -> list[int]:
    """Return the changes with a large enough measure; the smallest is dropped first, and others are measured again."""
    while places:
        ends = [0, *places, size]
        found = [measure(*three, places) for three in zip(ends, places, ends[2:], strict=False)]
        smallest = int(np.argmin(found))
        if found[smallest] >= least:
            break
        places = [*places[:smallest], *places[smallest + 1 :]]
    return places


def _explained(values: Floats, weights: Floats, by: npt.NDArray[Any]) -> float:
    """Return the weighted sum of squares of values, about their mean, that another variable explains linearly."""
    shares = weights / weights.sum()
    centred = by - shares @ by
    return float((weights * centred) @ values) ** 2 / float(weights @ centred**2)


def _outstanding(values: Floats, errors: Floats, places: list[int]) -> list[int]:
    """Return the changes without those that a drifting series could have anywhere; the smallest are dropped first."""
    usual = float(np.median(errors))

    def ratio(before: int, place: int, after: int, left: list[int]) -> float:
        return _against_elsewhere(values, left, place, min(place - before, after - place), usual)

    return _reaching(OUTSTANDING, ratio, values.size, places)


def _against_elsewhere(values: Floats, places: Sequence[int], place: int, width: int, usual: float) -> float:
    """Return the size of a change in units of the usual difference elsewhere; infinite if noise explains the latter.

    If changes are so dense that hardly any place is far from all, the narrowest stretches are compared everywhere.
    """
    for wide in range(max(min(width, values.size // LONGEST_SHARE), 1), 0, -1):
        sums = _cumulated(values)
        middles = np.arange(wide, values.size - wide + 1)
        moves = np.abs(sums[middles + wide] - 2 * sums[middles] + sums[middles - wide]) / wide
        near = np.abs(middles[:, None] - np.array(places)).min(axis=1) < wide
        if (~near).sum() >= max(FEWEST_DIFFERENCES, values.size // 4):
            break
    elsewhere = moves if near.all() else moves[~near]
    shown = _larger_estimate(elsewhere)
    if shown <= WANDERING * usual * _lasting_difference(wide):
        return math.inf
    return float(moves[place - wide]) / shown


@lru_cache(maxsize=1024)
def _lasting_difference(width: int) -> float:
    """Return the standard deviation of the difference between two neighbouring means of `width` points each.

    It is in units of that of a point; the noise of points has an autocorrelation of `LASTING`.
    """
    # The variance of a weighted sum: its own terms, and twice those of points that are 1, 2, ... apart.
    signs = np.repeat([-1.0, 1.0], width) / width
    products = np.correlate(signs, signs, "full")[2 * width - 1 :]
    decay = LASTING ** np.arange(2 * width)
    return float(np.sqrt(products[0] + 2 * (products[1:] @ decay[1:])))


def _change(series: _Series, left: Level, right: Level, tempered: float) -> ChangePoint:
    """Return a change; where it lies follows from the likelihood of each place.

    All places between the neighbours are taken for as likely beforehand (A. F. M. Smith, "A Bayesian approach to
    inference about a change-point in a sequence of random variables", Biometrika 62 (1975) 407-416), and those that are
    least likely afterwards are left out.
    """
    splits = _whole(left.start, right.stop)
    statistics = series.statistics(splits)
    likely = np.exp(tempered * (statistics**2 - statistics.max() ** 2) / 2)
    order = np.argsort(-likely, kind="stable")
    enough = int(np.searchsorted(np.cumsum(likely[order]) / likely.sum(), LEVEL)) + 1
    kept = splits.middles[order[:enough]]
    return ChangePoint(
        place=right.start,
        first=int(kept.min()),
        last=int(kept.max()),
        step=right.mean - left.mean,
        error=float(np.hypot(left.error, right.error)),
    )


def clipped(values: Floats, errors: Floats) -> Floats:
    """Return a series in which no point is further from its running median than `FARTHEST` standard errors."""
    n = values.size
    window = min(WINDOW, n - 1 + n % 2)
    medians = np.median(np.lib.stride_tricks.sliding_window_view(values, window), axis=1)
    middle = medians[np.clip(np.arange(n) - window // 2, 0, n - window)]
    found: Floats = middle + np.clip(values - middle, -FARTHEST * errors, FARTHEST * errors)
    return found


def scale_within(values: Floats, errors: Floats, places: Sequence[int] = ()) -> float:
    """Return the standard deviation of the noise of a series as a multiple of its errors, apart from its changes.

    Args:
        values: `(n,)` float64, of at least two points.
        errors: `(n,)` float64.
        places: of changes; differences across one do not count, unless hardly any others are left.
    """
    lag = LAG if values.size >= MANY_POINTS else 1
    starts = np.arange(values.size - lag)
    inside = np.ones(starts.size, dtype=bool)
    for place in places:
        inside &= (starts + lag < place) | (starts >= place)
    differences: Floats = np.abs(values[lag:] - values[:-lag]) / np.hypot(errors[lag:], errors[:-lag])
    return _larger_estimate(differences[inside] if inside.sum() >= FEWEST_DIFFERENCES else differences)


def _larger_estimate(differences: Floats) -> float:
    """Return the larger estimate of a standard deviation, from two quantiles."""
    return float(np.max(np.quantile(differences, QUANTILES) / NORMAL_QUANTILES))


def between_runs(values: Floats, errors: Floats, assumed: float) -> float:
    """Return the standard deviation between separate runs, beyond their errors, for points that are one run each.

    Args:
        values: `(n,)` float64.
        errors: `(n,)` float64; 0 if nothing is known.
        assumed: the least value with fewer than `MANY_POINTS` runs, which show too little; they may show a larger one.
    """
    # Against errors of 1, the scale is the standard deviation itself.
    shown = scale_within(values, np.ones(values.shape)) if values.size > 1 else 0.0
    beyond = math.sqrt(max(shown**2 - float(np.median(errors**2)), 0.0))
    return beyond if values.size >= MANY_POINTS else max(beyond, assumed)
