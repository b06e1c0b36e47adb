"""Sizes at which two variants change places, with intervals.

What a variant costs less another, in shares of the current time, is taken to be straight between two measured sizes,
over the log of the size; each launch has such a line of its own. At any size between, the launches give an interval for
the mean, and the sizes at which that interval holds zero are those at which the two may change places. Turning
intervals round like this is what Fieller did for the ratio of two means: E. C. Fieller, "Some problems in interval
estimation", J. R. Stat. Soc. B 16 (1954) 175-185.

Two variants change places only where intervals say so on both sides, held for all sizes and variants at once: from
means alone, five identical variants changed places in 77% of reports with two launches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby, pairwise
from typing import Literal

from scipy import optimize

from pyopbench.judge.candidates import Candidate, SettingComparison
from pyopbench.judge.choice import Rules
from pyopbench.judge.contrasts import Contrasts
from pyopbench.judge.decision import Crossover, SizeTrend
from pyopbench.stats import estimate

UNTOLD = -1.0
"""The margin where no launch, or a single one, has both sizes: not clear."""
NEAR = 1e-7
"""How near to the end of an interval a size comes, as a share of itself: far below what is shown."""


@dataclass(frozen=True)
class Line:
    """What one label costs less another along the size, in shares of the current time."""

    contrasts: Contrasts
    label: str
    other: str

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The sizes at which any launch has both, ascending."""
        return tuple(size for size in self.contrasts.sizes if self.at(size).n)

    def at(self, size: float) -> estimate.Estimate:
        """Return the estimate at a size from the first measured to the last."""
        return self.contrasts.at(size, self.label, self.other)

    def side(self, size: float, level: float) -> int:
        """Return on which side of zero the whole interval lies at a size: 1, -1, or 0 for neither."""
        low, high = self.at(size).interval(level)
        return int(low > 0) - int(high < 0)

    def margin(self, size: float, side: int) -> float:
        """Return how far the 95% interval at a size lies on a side of zero; below 0 where it holds zero."""
        low, high = self.at(size).interval()
        return low if side > 0 else -high

    def clear_sides(self, delta: float, level: float) -> dict[int, int]:
        """Return for each measured size the side on which it clearly lies, by more than `delta`; 0 for neither."""
        return {
            size: self.side(size, level) if abs(self.at(size).mean) > delta else 0  # a nan is on no side
            for size in self.sizes
        }


def size_trend_of(candidate: Candidate, comparison: SettingComparison, rules: Rules) -> SizeTrend:
    """Return how a candidate stands to the current callback along the sizes.

    It crosses where it clearly lies on one side and at a later size clearly on the other.
    """
    line = Line(comparison.contrasts, candidate.label, comparison.baseline)
    clear = line.clear_sides(rules.minimum_effect, _level(line.sizes, 1))
    means = [(size, line.at(size).mean) for size in line.sizes]
    found = []
    for (last, before), (first, _) in _changes(clear):
        centre = _zero([(size, mean * before) for size, mean in means if last <= size <= first])
        names = (comparison.baseline, candidate.label) if before > 0 else (candidate.label, comparison.baseline)
        found.append(Crossover(*names, centre, *_ends(line, clear, before, centre)))
    where = tuple(size for size in clear if clear[size])
    return SizeTrend(candidate.label, _answer(clear), tuple(clear), where, tuple(found))


def _level(sizes: Sequence[int], pairs: int) -> float:
    """Return the level of an interval that holds for all sizes, and so many pairs of labels, at once (Bonferroni)."""
    return 1 - estimate.FAMILY_ERROR / max(len(sizes) * pairs, 1)


def _answer(clear: Mapping[int, int]) -> Literal["crosses", "faster", "slower", "unclear"]:
    sides = set(clear.values()) - {0}
    if len(sides) == 2:
        return "crosses"
    if not sides:
        return "unclear"
    return "slower" if 1 in sides else "faster"


def _changes(clear: Mapping[int, int]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return (last size, side) before and (first size, side) after each change of side."""
    known = [pair for pair in clear.items() if pair[1]]
    runs = [list(run) for _, run in groupby(known, key=lambda pair: pair[1])]
    return [(before[-1], after[0]) for before, after in pairwise(runs)]


def crossovers(comparison: SettingComparison, rules: Rules) -> tuple[Crossover, ...]:
    """Return where the fastest label changes, in the order of the sizes.

    A change counts if the one before was clearly ahead of the one after at some smaller measured size, and is clearly
    behind it now, each time by more than the minimum effect; what happens in between is a tie.

    Args:
        comparison: of one setting.
        rules: the minimum effect.
    """
    contrasts, sizes = comparison.contrasts, list(comparison.contrasts.sizes)
    labels = [comparison.baseline, *(candidate.label for candidate in comparison.candidates)]
    level = _level(sizes, len(labels) * (len(labels) - 1) // 2)

    @cache
    def clear(label: str, other: str) -> dict[int, int]:
        return Line(contrasts, label, other).clear_sides(rules.minimum_effect, level)

    found: list[Crossover] = []
    before = ""
    for size in sizes:
        after = _fastest(contrasts, labels, size)
        if not before or after == before:
            before = after
        elif clear(after, before).get(size) == -1:
            if any(side == 1 for earlier, side in clear(after, before).items() if earlier < size):
                found.append(_crossover(Line(contrasts, after, before), clear(after, before), size))
            before = after
    return tuple(found)


def _fastest(contrasts: Contrasts, labels: Sequence[str], size: int) -> str:
    means = {label: contrasts.at(size, label, contrasts.baseline).mean for label in labels}
    return min(labels, key=lambda label: (math.isnan(means[label]), means[label], label))


def _crossover(line: Line, clear: Mapping[int, int], size: int) -> Crossover:
    """Return where a label that is clearly ahead at `size`, and was clearly behind, goes ahead."""
    last = max(earlier for earlier, side in clear.items() if side == 1 and earlier < size)
    means = [(one, line.at(one).mean) for one in line.sizes if last <= one <= size]
    centre = _zero(means)
    return Crossover(line.other, line.label, centre, *_ends(line, clear, 1, centre))


def _zero(lead: Sequence[tuple[int, float]]) -> float:
    """Return the size at which `lead` (by size, positive first) falls to zero, linear in the log of the size."""
    place = next(place for place, (_, value) in enumerate(lead) if value <= 0)
    (left, above), (right, below) = lead[place - 1 : place + 1]
    return float(math.exp(math.log(left) + math.log(right / left) * above / (above - below)))


def _ends(line: Line, clear: Mapping[int, int], before: int, centre: float) -> tuple[float | None, float | None]:
    """Return the outermost sizes around `centre` at which the interval holds zero; None where no end is clear."""
    below = [size for size in line.sizes if size < centre and clear[size] == before]
    above = [size for size in line.sizes if size > centre and clear[size] == -before]
    low = _first_open(line, [*(size for size in line.sizes if below and below[-1] <= size < centre), centre], before)
    high = _first_open(
        line, [*(size for size in line.sizes[::-1] if above and above[0] >= size > centre), centre], -before
    )
    return (low if below else None), (high if above else None)


def _first_open(line: Line, stations: Sequence[float], side: int) -> float:
    """Return the first size on the way over `stations` at which the interval is not all on `side`; else the last.

    Between two stations the mean is straight, and the standard error, the length of a vector that is straight as well,
    is convex. So the margin is concave: it is above zero between two stations where it is that at both.
    """
    for clear, candidate in pairwise(stations):
        if not line.margin(candidate, side) > 0:
            return _zero_of_margin(line, clear, candidate, side)
    return float(stations[-1])


def _zero_of_margin(line: Line, clear: float, unclear: float, side: int) -> float:
    """Return the size at which the margin falls to zero, over the log of the size; the clear one if none is told."""
    if not (line.margin(clear, side) > 0 and math.isfinite(line.margin(unclear, side))):
        return clear
    low, high = sorted((clear, unclear))

    def size_at(log: float) -> float:
        return min(max(math.exp(log), low), high)

    def margin(log: float) -> float:
        found = line.margin(size_at(log), side)
        return UNTOLD if math.isnan(found) else found

    return size_at(float(optimize.brentq(margin, math.log(clear), math.log(unclear), xtol=NEAR)))
