"""Sizes at which two variants change places, with intervals.

The log of a ratio of times is taken to be straight between two measured sizes, over the log of the size; each launch
has such a line of its own. At any size between, the launches give an interval for the mean, and the sizes at which that
interval holds zero are those at which the two may change places. Turning intervals round like this is what Fieller did
for the ratio of two means: E. C. Fieller, "Some problems in interval estimation", J. R. Stat. Soc. B 16 (1954) 175-185.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from pyopbench.judge.candidates import Candidate
from pyopbench.judge.choice import Rules
from pyopbench.judge.decision import Crossover, SizeTrend
from pyopbench.stats import estimate
from pyopbench.stats.estimate import Estimate, Floats
from pyopbench.stats.spread import UNKNOWN, Spread

LogRatios: TypeAlias = pd.DataFrame | float
"""One row per launch and one column per size, or 0 for the baseline that the ratios are taken to."""
STEPS = 16
"""Places between two measured sizes at which the interval is looked at, before the end is narrowed down."""
HALVINGS = 12
"""Narrow a step down to a few millionths of the distance, far below what is shown."""


@dataclass(frozen=True, eq=False)
class LogRatioCurve:
    """The log of one variant's time over another's along the size.

    Attributes:
        logs: `(launches, sizes)`, columns ascending; nan is no number. A launch counts where it has both neighbours.
        usual: the spread between launches that is usual.
    """

    logs: pd.DataFrame
    usual: Spread = UNKNOWN

    @cached_property
    def sizes(self) -> list[int]:
        """The sizes at which there is any number, ascending."""
        return [int(size) for size in sorted(self.logs.columns[self.logs.notna().any()])]

    @cached_property
    def columns(self) -> dict[int, Floats]:
        """The logs by size, `(launches,)` each."""
        return {size: self.logs[size].to_numpy(dtype="float64") for size in self.sizes}

    def at(self, size: float) -> Estimate:
        """Return the estimate at a size from the first measured to the last."""
        right = next(known for known in self.sizes if known >= size)
        values = self.columns[right]
        if size < right:
            left = max(known for known in self.sizes if known < size)
            share = math.log(size / left) / math.log(right / left)
            values = (1 - share) * self.columns[left] + share * values
        return replace(Estimate.of(values[~np.isnan(values)]), usual=self.usual)

    def side(self, size: float, level: float) -> int:
        """Return on which side of zero the whole interval lies at a size: 1, -1, or 0 for neither."""
        low, high = self.at(size).interval(level)
        return int(low > 0) - int(high < 0)

    def clear_sides(self, delta: float) -> dict[int, int]:
        """Return for each measured size the side on which it clearly lies, by more than `delta`; 0 for neither.

        Held for all sizes at once (Bonferroni), so that many sizes do not make a crossover out of noise.
        """
        level = 1 - estimate.FAMILY_ERROR / max(len(self.sizes), 1)
        return {
            size: self.side(size, level) if abs(self.at(size).mean) > delta else 0  # a nan is on no side
            for size in self.sizes
        }


def size_trend_of(candidate: Candidate, baseline: str, rules: Rules) -> SizeTrend:
    """Return how a candidate stands to the callback of today along the sizes.

    It crosses where it clearly lies on one side and at a later size clearly on the other. Where only one of two sides
    is clear and the means at the outermost sizes lie on the other by more than the minimum effect, the crossover has an
    open end.
    """
    line = LogRatioCurve(candidate.log_ratios.sort_index(axis=1), rules.usual)
    delta = math.log1p(rules.minimum_effect)
    clear = line.clear_sides(delta)
    means = [(size, line.at(size).mean) for size in line.sizes]
    found = []
    for (last, before), (first, _) in _changes(clear, means, delta):
        centre = _zero([(size, mean * before) for size, mean in means if last <= size <= first])
        names = (baseline, candidate.label) if before > 0 else (candidate.label, baseline)
        found.append(Crossover(*names, centre, *_ends(line, clear, before, centre)))
    where = tuple(size for size in clear if clear[size])
    return SizeTrend(candidate.label, _answer(clear), tuple(clear), where, tuple(found))


def _answer(clear: Mapping[int, int]) -> Literal["crosses", "faster", "slower", "unclear"]:
    sides = set(clear.values()) - {0}
    if len(sides) == 2:
        return "crosses"
    if not sides:
        return "unclear"
    return "slower" if 1 in sides else "faster"


def _changes(
    clear: Mapping[int, int], means: Sequence[tuple[int, float]], delta: float
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return (last size, side) before and (first size, side) after each change of side."""
    ends = {size for size, _ in (*means[:1], *means[-1:])}
    outer = {size: int(mean > delta) - int(mean < -delta) for size, mean in means if size in ends}
    sides = {size: side or outer.get(size, 0) for size, side in clear.items()}
    if not any(clear.values()):
        return []
    runs = [list(run) for _, run in groupby([pair for pair in sides.items() if pair[1]], key=lambda pair: pair[1])]
    return [(before[-1], after[0]) for before, after in pairwise(runs)]


def crossovers(curves: pd.DataFrame, log_ratios: Mapping[str, LogRatios], rules: Rules) -> tuple[Crossover, ...]:
    """Return where the fastest variant changes, in the order of the sizes.

    A change counts if the one before led the one after by more than the minimum effect at some smaller measured size
    and trails it by more than that now; what happens in between is a tie. The curves are straight between measured
    sizes with both axes in logs, and so is their difference, whose zero is the crossover.

    Args:
        curves: seconds per call, one row per size (ascending), one column per label; nan is no number.
        log_ratios: by label; intervals are paired by launch where both labels have them, else both ends are open.
        rules: the minimum effect, and the usual spread.
    """
    logs = curves[curves.notna().any(axis=1)].apply(np.log)
    leaders = [str(row.idxmin()) for _, row in logs.iterrows()]
    delta = math.log1p(rules.minimum_effect)
    found: list[Crossover] = []
    before = leaders[0] if leaders else ""
    for place, after in enumerate(leaders):
        lead = (logs[after] - logs[before]).iloc[: place + 1]
        if math.isnan(lead.iloc[-1]):
            before = after
        elif lead.iloc[-1] < -delta:
            if (lead > delta).any():
                centre = _zero(_pairs(lead.loc[lead[lead > delta].index[-1] :]))
                found.append(
                    Crossover(before, after, centre, *_paired_ends((before, after), log_ratios, centre, rules))
                )
            before = after
    return tuple(found)


def _paired_ends(
    labels: tuple[str, str], log_ratios: Mapping[str, LogRatios], centre: float, rules: Rules
) -> tuple[float | None, float | None]:
    before, after = (log_ratios.get(label) for label in labels)
    if before is None or after is None:
        return None, None
    lead = after - before
    if not isinstance(lead, pd.DataFrame):
        return None, None
    line = LogRatioCurve(lead.sort_index(axis=1), rules.usual)
    return _ends(line, line.clear_sides(math.log1p(rules.minimum_effect)), 1, centre)


def _pairs(lead: pd.Series[float]) -> list[tuple[int, float]]:
    known = lead.dropna()
    return list(zip(known.index.tolist(), known.tolist(), strict=True))


def _zero(lead: Sequence[tuple[int, float]]) -> float:
    """Return the size at which `lead` (by size, positive first) falls to zero, linear in the log of the size."""
    place = next(place for place, (_, value) in enumerate(lead) if value <= 0)
    (left, above), (right, below) = lead[place - 1 : place + 1]
    return float(math.exp(math.log(left) + math.log(right / left) * above / (above - below)))


def _ends(
    line: LogRatioCurve, clear: Mapping[int, int], before: int, centre: float
) -> tuple[float | None, float | None]:
    """Return the outermost sizes around `centre` at which the interval holds zero; None where no end is clear."""
    below = [size for size in line.sizes if size < centre and clear[size] == before]
    above = [size for size in line.sizes if size > centre and clear[size] == -before]
    low = _first_open(line, [*(size for size in line.sizes if below and below[-1] <= size < centre), centre], before)
    high = _first_open(
        line, [*(size for size in line.sizes[::-1] if above and above[0] >= size > centre), centre], -before
    )
    return (low if below else None), (high if above else None)


def _first_open(line: LogRatioCurve, stations: Sequence[float], side: int) -> float:
    """Return the first size on the way over `stations` at which the interval is not all on `side`; else the last."""
    grid = [start * (stop / start) ** (step / STEPS) for start, stop in pairwise(stations) for step in range(STEPS)]
    for clear, candidate in pairwise([*grid, stations[-1]]):
        if line.side(candidate, estimate.LEVEL) != side:
            return _narrowed(line, clear, candidate, side)
    return float(stations[-1])


def _narrowed(line: LogRatioCurve, clear: float, unclear: float, side: int) -> float:
    for _ in range(HALVINGS):
        middle = math.sqrt(clear * unclear)
        if line.side(middle, estimate.LEVEL) == side:
            clear = middle
        else:
            unclear = middle
    return unclear
