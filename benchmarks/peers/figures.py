"""What two measurements of identical code are worth: how far they moved, how narrow the interval is, what was said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scipy import stats

from pyopbench.store.json_file import without_nan

LEVEL = 0.95
NEAR = 0.03
"""A case is resolved if the interval of the ratio lies within one plus or minus this: pyopbench's minimum effect."""
MOVES = (0.03, 0.05, 0.10)
"""The movements that are counted."""

Interval = tuple[float, float]
NO_INTERVAL = (math.nan, math.nan)


@dataclass(frozen=True)
class Pair:
    """One case measured twice.

    Attributes:
        case: its id.
        first, second: seconds of a call, or any other estimate whose ratio is of interest.
        low, high: interval of second / first at `LEVEL`; nan where the tool states nothing to make one of.
        different: whether the tool calls the two different; None where it gives no verdict.
    """

    case: str
    first: float
    second: float
    low: float
    high: float
    different: bool | None

    @property
    def move(self) -> float:
        """By how much the larger estimate is above the smaller, as a share."""
        return max(self.first, self.second) / min(self.first, self.second) - 1

    @property
    def is_resolved(self) -> bool:
        """Whether the interval lies within `NEAR` of no difference."""
        return self.low >= 1 - NEAR and self.high <= 1 + NEAR

    @property
    def misses(self) -> bool:
        """Whether the interval leaves out what is true of identical code, no difference."""
        return self.low > 1 or self.high < 1


@dataclass(frozen=True)
class Row:
    """A tool's line in the table.

    Attributes:
        tool: its name, and what of it is shown where it has several lines.
        run_seconds: wall time of one run, the mean of those that were made.
        compare_seconds: wall time of all that the comparison takes.
        pairs: the cases.
        note: what was compared, how the interval was made, what its verdict is, what was cut.
    """

    tool: str
    run_seconds: float
    compare_seconds: float
    pairs: tuple[Pair, ...]
    note: str

    def share_moved(self, threshold: float) -> float:
        """Return the share of cases whose estimates moved by more than `threshold`."""
        return _share(pair.move > threshold for pair in self.pairs)

    @property
    def resolved(self) -> float | None:
        """The share of cases that are resolved; None without intervals."""
        return _share(pair.is_resolved for pair in self.pairs) if self._has_intervals else None

    @property
    def missed(self) -> float | None:
        """The share of cases whose interval leaves out the truth; None without intervals."""
        return _share(pair.misses for pair in self.pairs) if self._has_intervals else None

    @property
    def _has_intervals(self) -> bool:
        return not all(math.isnan(pair.low) for pair in self.pairs)

    @property
    def called_different(self) -> int | None:
        """How many of the identical cases the tool calls different; None without verdicts."""
        verdicts = [pair.different for pair in self.pairs if pair.different is not None]
        return sum(verdicts) if verdicts else None

    def content(self) -> dict[str, Any]:
        """Return the row with its figures, for JSON; what is no number or not finite is null."""
        figures = {
            "moved": {f"{threshold:.0%}": self.share_moved(threshold) for threshold in MOVES},
            "resolved": self.resolved,
            "missed": self.missed,
            "called_different": self.called_different,
        }
        return {**asdict(self), **figures, "pairs": [without_nan(asdict(pair)) for pair in self.pairs]}


def _share(answers: Any) -> float:
    counted = list(answers)
    return sum(counted) / len(counted)


@dataclass(frozen=True)
class Stated:
    """An estimate with the interval that a tool states for it."""

    value: float
    low: float
    high: float


def ratio_of_stated(first: Stated, second: Stated, level: float) -> Interval:
    """Return the interval at `LEVEL` of second / first, from intervals of each at `level`.

    Distances from the estimates are added as squares on the log scale (G. Y. Zou, A. Donner, "Construction of
    confidence limits about effect measures: a general approach", Stat. Med. 27, 2008, 1693-1702), and scaled between
    levels as for a normal distribution.

    Returns:
        The ends; 0 and infinity where a stated interval has an end that is not finite and positive.
    """
    ends = (first.low, first.high, second.low, second.high)
    if not all(math.isfinite(end) and end > 0 for end in ends):
        return 0.0, math.inf
    scale = float(stats.norm.isf((1 - LEVEL) / 2) / stats.norm.isf((1 - level) / 2))
    middle = math.log(second.value / first.value)
    down = math.hypot(math.log(second.value / second.low), math.log(first.high / first.value))
    up = math.hypot(math.log(second.high / second.value), math.log(first.value / first.low))
    return math.exp(middle - scale * down), math.exp(middle + scale * up)


@dataclass(frozen=True)
class Moments:
    """A mean with the standard deviation of the `n` values that it is the mean of."""

    mean: float
    deviation: float
    n: int


def ratio_of_means(first: Moments, second: Moments) -> Interval:
    """Return the t interval at `LEVEL` of second / first, the values taken for independent.

    On the log scale, where the standard error of a mean is its relative one; degrees of freedom by Welch and
    Satterthwaite (B. L. Welch, Biometrika 34, 1947, 28-35).

    Returns:
        The ends; 0 and infinity for fewer than two values.
    """
    if min(first.n, second.n) < 2:
        return 0.0, math.inf
    squares = [(each.deviation / each.mean) ** 2 / each.n for each in (first, second)]
    middle = math.log(second.mean / first.mean)
    if not any(squares):
        return math.exp(middle), math.exp(middle)
    parts = [square**2 / (each.n - 1) for square, each in zip(squares, (first, second), strict=True)]
    degrees = sum(squares) ** 2 / sum(parts)
    half = float(stats.t.isf((1 - LEVEL) / 2, degrees)) * math.sqrt(sum(squares))
    return math.exp(middle - half), math.exp(middle + half)


def missing(wanted: Sequence[str], *found: Any) -> list[str]:
    """Return the cases that any of the results lacks."""
    return [case for case in wanted if not all(case in one for one in found)]
