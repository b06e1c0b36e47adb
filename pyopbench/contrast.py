"""What changed between the two sides of a comparison: a verdict on each case that both have, and what else differs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from pyopbench import stats
from pyopbench.decision import Verdict
from pyopbench.errors import NothingMeasured
from pyopbench.model import MINIMUM_EFFECT
from pyopbench.sides import UNKNOWN, Side, Sides
from pyopbench.spending import ONE_LOOK, Looks
from pyopbench.stats import Estimate
from pyopbench.unpaired import RUN_SPREAD, unpaired
from pyopbench.verdicts import Yardstick, verdicts_from

OUTCOMES = ("slower", "unresolved", "equivalent", "faster")
"""From the worst on."""
SHOWN_FACTS = (
    *("tensorflow", "numpy", "python", "pyopbench", "commit", "dirty", "cpu", "cores", "memory_bytes", "machine"),
    *("os", "governor", "intra_op_threads", "inter_op_threads", "variables", "environment"),
)
"""What of the environment can move a ratio; the load of the moment differs always."""


@dataclass(frozen=True)
class Line:
    """One case on both sides.

    Attributes:
        case: what it is matched by.
        verdict: the ratio is the second side's seconds over the first's.
        first_seconds, second_seconds: of a call, geometric means over launches.
        first_launches, second_launches: how many launches each has.
    """

    case: str
    verdict: Verdict
    first_seconds: float
    second_seconds: float
    first_launches: int
    second_launches: int


@dataclass(frozen=True)
class Difference:
    """A fact of the environment that is not the same on both sides; `loud` if times cannot be compared across it."""

    name: str
    first: str
    second: str
    loud: bool


@dataclass(frozen=True)
class Alone:
    """A case that only one side, `A` or `B`, has a number for, and why."""

    case: str
    side: str
    reason: str


@dataclass(frozen=True, eq=False)
class Contrast:
    """All that a comparison has to say.

    Attributes:
        sides: what was compared.
        minimum_effect: the smallest difference that counts, as a share.
        run_spread: the least by which two runs are taken to differ, as a share; used where they are not paired.
        lines: the cases that both have, worst first.
        alone: those that one of them has.
        differences: of the environments.
        smallest: the smallest slowdown that the pair could show in a usual case, as a share; None if none has an
            interval.
        common: by how much all cases moved together, the median of the ratios.
    """

    sides: Sides
    minimum_effect: float
    run_spread: float
    lines: tuple[Line, ...]
    alone: tuple[Alone, ...]
    differences: tuple[Difference, ...]
    smallest: float | None
    common: float

    def counts(self) -> dict[str, int]:
        """Return how many cases have each outcome, from the worst on."""
        found = Counter(line.verdict.outcome for line in self.lines)
        return {outcome: found[outcome] for outcome in OUTCOMES}  # type: ignore[index]

    def slower_by(self, share: float) -> tuple[Line, ...]:
        """Return the cases that are shown to be slower, and by at least this share as far as can be told."""
        return tuple(
            line for line in self.lines if line.verdict.outcome == "slower" and line.verdict.ratio >= 1 + share
        )


def contrast(sides: Sides, minimum_effect: float = MINIMUM_EFFECT, run_spread: float = RUN_SPREAD) -> Contrast:
    """Compare two sides.

    Args:
        sides: as from `axes.read_sides`.
        minimum_effect: a relative difference that is worth acting on.
        run_spread: the least by which two runs that were not interleaved differ, as one standard deviation.

    Raises:
        NothingMeasured: no case has a number on both sides.
    """
    first, second = (stats.estimates(stats.launch_logs(side.frame)) for side in (sides.first, sides.second))
    common = [case for case in first if case in second]
    alone = (
        *_alone("A", ("B", sides.second), [case for case in first if case not in second]),
        *_alone("B", ("A", sides.first), [case for case in second if case not in first]),
    )
    if not common:
        raise NothingMeasured(
            "nothing to compare: no case has a number on both sides",
            received=f"{len(first):,} cases in {sides.first.label}, {len(second):,} in {sides.second.label}"
            + (f"; {alone[0].case}: {alone[0].reason}" if alone else ""),
            legal="results that have cases in common",
            next_step="measure the same ops, variants, sizes and dtypes on both sides",
        )
    estimates = _estimates(sides, common, first, second, run_spread)
    looks = Looks.of(sides.first.runs[0].settings) if sides.paired else ONE_LOOK
    verdicts = verdicts_from(estimates, dict(zip(common, common, strict=True)), minimum_effect, looks)
    lines = [_line(verdict, first[verdict.case], second[verdict.case]) for verdict in verdicts]
    return Contrast(
        sides,
        minimum_effect,
        run_spread,
        tuple(sorted(lines, key=_badness)),
        alone,
        _differences(sides),
        _smallest(estimates, Yardstick(math.log1p(minimum_effect), len(common), looks)),
        stats.exp(float(pd.Series([one.mean for one in estimates]).median())),
    )


def _line(verdict: Verdict, first: Estimate, second: Estimate) -> Line:
    return Line(verdict.case, verdict, stats.exp(first.mean), stats.exp(second.mean), first.n, second.n)


def _badness(line: Line) -> tuple[int, float, str]:
    ratio = line.verdict.ratio
    return OUTCOMES.index(line.verdict.outcome), -ratio if math.isfinite(ratio) else 0.0, line.case


def _estimates(
    sides: Sides,
    common: Sequence[str],
    first: Mapping[str, Estimate],
    second: Mapping[str, Estimate],
    run_spread: float,
) -> Sequence[Estimate]:
    if not sides.paired:
        return unpaired([first[case] for case in common], [second[case] for case in common], run_spread)
    pairs = paired_by_round(sides) if sides.paired == "round" else paired_by_block(sides)
    found = stats.estimates(pairs)
    return stats.moderated([found.get(case, Estimate.of([])) for case in common])


def paired_by_round(sides: Sides) -> pd.DataFrame:
    """Return one log ratio for each case and launch, paired by round: both sides are of the same processes."""
    before = sides.first.frame.assign(case="first " + sides.first.frame["case"])
    after = sides.second.frame.assign(case="second " + sides.second.frame["case"])
    partners = {f"second {case}": f"first {case}" for case in sides.second.frame["case"].unique()}
    pairs = stats.paired_logs(pd.concat([before, after], ignore_index=True), partners)
    return pairs.assign(case=pairs["case"].str.removeprefix("second "))


def paired_by_block(sides: Sides) -> pd.DataFrame:
    """Return one log ratio for each case and block of launches.

    A block holds a launch of each side, in random order, so that what the machine did meanwhile is common to both. A
    block in which either has no number is left out; several launches of one side in a block become their mean.

    Returns:
        Columns case, run, block, value; sorted by them.
    """
    first, second = (_block_logs(side.frame) for side in (sides.first, sides.second))
    pairs = first.merge(second, on=["case", "run", "block"], suffixes=("_first", "_second"))
    pairs = pairs.assign(value=pairs["value_second"] - pairs["value_first"])
    return pairs[["case", "run", "block", "value"]].sort_values(["case", "run", "block"], ignore_index=True)


def _block_logs(frame: pd.DataFrame) -> pd.DataFrame:
    blocks = frame[["run", "launch", "block"]].drop_duplicates()
    logs = stats.launch_logs(frame).merge(blocks, on=["run", "launch"])
    return logs.groupby(["case", "run", "block"], observed=True)["value"].mean().reset_index()


def _alone(side: str, lacking: tuple[str, Side], cases: Sequence[str]) -> list[Alone]:
    """Say for each case of one side why the other one, by name, has no number for it."""
    name, other = lacking
    planned = {case for run in other.runs for case in run.cases}

    def reason(case: str) -> str:
        failure = other.failures.get(case)
        if failure is not None:
            return f"{failure.status} in {name}: {failure.reason}"
        return f"planned in {name} but not reached" if case in planned else f"not measured in {name}"

    return [Alone(case, side, reason(case)) for case in sorted(cases)]


def _differences(sides: Sides) -> tuple[Difference, ...]:
    first, second = sides.first.environment, sides.second.environment
    return tuple(
        Difference(name, a, b, loud=name == "cpu" and UNKNOWN not in (a, b))
        for name in SHOWN_FACTS
        if (a := _told(first.get(name))) != (b := _told(second.get(name)))
    )


def _told(values: Sequence[str] | None) -> str:
    return ", ".join(values or [UNKNOWN])


def _smallest(estimates: Sequence[Estimate], yardstick: Yardstick) -> float | None:
    """Return the slowdown whose corrected interval would just leave the minimum effect, in the median over cases."""
    intervals = [one.interval(yardstick.level) for one in estimates if one.known]
    if not intervals:
        return None
    half = float(pd.Series([(high - low) / 2 for low, high in intervals]).median())
    return stats.exp(yardstick.delta + half) - 1
