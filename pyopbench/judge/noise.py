"""How quiet the machine was, launch by launch, and whether that was quiet enough for the minimum effect.

Nothing is dropped for it: a disturbed block is weighed down by the median over rounds, a disturbed launch by the way in
which launches are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import special

from pyopbench.model import formatting
from pyopbench.model.case import UNLIMITED
from pyopbench.stats import estimate
from pyopbench.stats.estimate import Estimate

if TYPE_CHECKING:
    from pyopbench.judge.decision import Verdict
    from pyopbench.store.measured_run import Run


FAR_DEVIATIONS = 5.0
"""Robust standard deviations above the median, beyond which a block was disturbed: normal noise gets there by chance in
one block of three million."""
NORMAL_MAD = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation, 1 / 0.6745."""
LEAST_BLOCKS = 8
"""Fewer blocks have no median absolute deviation worth the name."""
LARGE_STEAL = 0.01
"""Other virtual machines took one hundredth of the CPU time: launches on a quiet machine differ by as much."""
LARGE_FAR = 0.05
"""If one block in twenty is far off, medians begin to move."""


def _unresolved(disturbance: Disturbance) -> str:
    verb = "is" if disturbance.unresolved == 1 else "are"
    return f"{disturbance.unresolved:,} {verb} unresolved"


def _more_launches(disturbance: Disturbance) -> str:
    enough, which = disturbance.enough_launches, _half(disturbance)
    if enough is None:
        return f"to resolve {which} would take more than {estimate.MOST_LAUNCHES:,} launches"
    more = _asked(disturbance) + ("" if disturbance.is_unlimited else ", with enough --budget")
    return f"about {enough:,} launches would resolve {which} ({more})"


def _asked(disturbance: Disturbance) -> str:
    """Return what to ask for: where only the budget limits launches, a number would limit them."""
    return "a longer --budget" if disturbance.is_unlimited else f"--launches {disturbance.enough_launches}"


def _half(disturbance: Disturbance) -> str:
    return "it" if disturbance.unresolved == 1 else "half of them"


def _larger_effect(smallest: float) -> str:
    # Rounded up, so that the advice is enough; a minimum effect of 1 or more is none.
    effect = math.ceil(smallest * 100) / 100
    return f" Or accept a larger minimum effect (--min-effect {effect:.2f})." if effect < 1 else ""


@dataclass(frozen=True)
class LaunchNoise:
    """What went on during one launch; None is not told.

    Attributes:
        run, launch: which.
        steal_share: share of the time of the used cores that other guests of the host had.
        load: highest load over 1 minute at the end of a group.
        mhz_low, mhz_high: lowest and highest frequency that was read.
        switches_per_second: how often a thread of the worker was taken off its core.
        collections: runs of Python's garbage collector while timing.
        blocks: timed blocks.
        far_share: share of them further than `FAR_DEVIATIONS` above their own median in the launch; None where every
            case has fewer than `LEAST_BLOCKS`.
    """

    run: str
    launch: int
    steal_share: float | None
    load: float | None
    mhz_low: float | None
    mhz_high: float | None
    switches_per_second: float | None
    collections: int | None
    blocks: int
    far_share: float | None


@dataclass(frozen=True)
class Disturbance:
    """How quiet the machine was, by the spreads and intervals that verdicts are judged by.

    Attributes:
        launches: one by one.
        launches_made: how many a verdict usually has.
        verdicts, unresolved: how many there are, and how many of them are unresolved although they have an interval.
        usual_spread: what launches differ by in a typical comparison, a share of the baseline's time: the median of the
            standard deviations that verdicts are judged by; None where no comparison has two launches.
        smallest_effect: the smallest difference that a typical comparison can show with the launches that were made, a
            share of the baseline's time: the median of half the intervals, at the level corrected for all verdicts and
            without what runs differ by; None as above.
        minimum_effect: the smallest difference that counts.
        enough_launches: about how many launches would resolve half of the unresolved; None without any, or above
            `estimate.MOST_LAUNCHES`.
        is_unlimited: whether only its budget limited the launches of the run.
    """

    launches: tuple[LaunchNoise, ...]
    launches_made: int
    verdicts: int
    unresolved: int
    usual_spread: float | None
    smallest_effect: float | None
    minimum_effect: float
    enough_launches: int | None
    is_unlimited: bool = False

    @property
    def too_noisy(self) -> bool:
        """Whether verdicts are left open because launches differ by too much for the minimum effect."""
        return self.unresolved > 0 and (self.smallest_effect or 0.0) > self.minimum_effect

    def reach_text(self) -> str:
        """Return what the launches that were made can show, a clause; there has to be a smallest effect."""
        made = formatting.count(self.launches_made, "launch", "launches")
        effect = formatting.smallest_difference(self.smallest_effect)
        if effect == formatting.TOO_NOISY:
            return f"{made} cannot even show a factor of two"
        return f"{made} cannot show a difference below {effect}"

    def spread_text(self) -> str:
        """Return what launches differ by and what they can show, a sentence; there has to be a smallest effect."""
        every = formatting.count(self.verdicts, "comparison")
        return (
            f"In a typical comparison launches differ by {formatting.percent(self.usual_spread)} of the current "
            f"time. {self.reach_text()} there, once intervals are corrected for {every}."
        )

    def warning_text(self) -> str:
        """Return what noise leaves open, and what would help, in sentences; empty where it leaves nothing open."""
        if not self.too_noisy or self.smallest_effect is None:
            return ""
        return (
            f"{self.spread_text()} {_unresolved(self)}; {_more_launches(self)}. Stop other work, or "
            f"pin the run to idle cores (taskset -c 0,1 pyopbench run ...).{_larger_effect(self.smallest_effect)}"
        )

    def line_text(self, undecided: int, decisions: int) -> str:
        """Return the same in one line for a terminal.

        Args:
            undecided: how many of the decisions are left open.
            decisions: how many there are.
        """
        if not self.too_noisy or self.smallest_effect is None:
            return ""
        enough = self.enough_launches
        left = (
            f"{undecided:,} of {formatting.count(decisions, 'answer')} undecided" if undecided else "answers are clear"
        )
        what = f"{left}, {self.unresolved:,} of {formatting.count(self.verdicts, 'comparison')} unresolved"
        if enough is None:
            return f"Noise: {what}; stop other work on the machine"
        if undecided:
            return f"Noise: {what}"  # each undecided answer has a command of its own
        return f"Noise: {what}; {_asked(self)} would resolve {_half(self)}"


def disturbance_of(
    run: Run, verdicts: Sequence[Verdict], estimates: Sequence[Estimate], minimum_effect: float, level: float
) -> Disturbance:
    """Return how quiet the machine was during a run.

    Args:
        run: for its blocks and its noise.
        verdicts: of the report.
        estimates: of the differences that these were made from, in shares of the baseline's time.
        minimum_effect: a share of the baseline's time that is worth acting on.
        level: of an interval that is corrected for all verdicts.
    """
    known = [one for one in estimates if one.n > 1]
    unresolved = [verdict for verdict in verdicts if verdict.outcome == "unresolved" and verdict.launches > 1]
    return Disturbance(
        launches=_launches(run),
        launches_made=int(np.median([one.n for one in known] or [0])),
        verdicts=len(verdicts),
        unresolved=len(unresolved),
        usual_spread=_typical(one.moderated for one in known),
        smallest_effect=_typical(_reach(one, level) for one in known),
        minimum_effect=minimum_effect,
        enough_launches=_enough(unresolved),
        is_unlimited=run.settings.launches >= UNLIMITED,
    )


def _typical(values: Iterable[float]) -> float | None:
    """Return the median, because comparisons differ by so much; None of none."""
    found = [value for value in values if math.isfinite(value)]
    return float(np.median(found)) if found else None


def _reach(known: Estimate, level: float) -> float:
    """Return half of an interval as wide as launches alone make it: what runs differ by is no noise of this machine.

    It is no wider than the one that is judged by: beside what runs differ by, which is taken as known, a spread that
    few launches tell counts for less.
    """
    low, high = known.interval(level)
    alone = float(special.stdtrit(known.spread_degrees, (1 + level) / 2)) * known.moderated / math.sqrt(known.n)
    return min(alone, (high - low) / 2)


def _enough(unresolved: Sequence[Verdict]) -> int | None:
    """Return how many launches resolve half of these, if means and spreads stay; None above what is searched."""
    needed = sorted(math.inf if verdict.needed is None else verdict.needed for verdict in unresolved)
    middle = needed[(len(needed) - 1) // 2] if needed else math.inf
    return None if math.isinf(middle) else int(middle)


def _launches(run: Run) -> tuple[LaunchNoise, ...]:
    cores = int(run.environment.get("cores") or 1)
    noise = dict(iter(run.noise.groupby(["run", "launch"])))
    launches = [*_judged_blocks(run.frame).groupby(["run", "launch"], observed=True)]
    return tuple(
        _launch(key, blocks, noise.get(key, run.noise.iloc[:0]), cores)
        for key, blocks in sorted(launches, key=lambda pair: pair[0][::-1])
    )


def _judged_blocks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return run, launch, whether a block can be judged, and whether it is far above its median, for every block."""
    blocks = frame[["case", "copies", "run", "launch"]].assign(value=frame["seconds"] / frame["calls"])
    keys = [blocks[key] for key in ("case", "copies", "run", "launch")]
    groups = blocks["value"].groupby(keys, observed=True)
    above = blocks["value"] - groups.transform("median")
    reach = FAR_DEVIATIONS * NORMAL_MAD * above.abs().groupby(keys, observed=True).transform("median")
    judged = groups.transform("size") >= LEAST_BLOCKS
    return blocks.assign(judged=judged, far=judged & (reach > 0) & (above > reach))


def _launch(key: tuple[str, int], blocks: pd.DataFrame, noise: pd.DataFrame, cores: int) -> LaunchNoise:
    wall = float(noise["wall_seconds"].sum())
    steal = noise[["steal_seconds", "wall_seconds"]].dropna().sum()
    judged = int(blocks["judged"].sum())
    return LaunchNoise(
        run=str(key[0]),
        launch=int(key[1]),
        steal_share=_known(steal["steal_seconds"] / (steal["wall_seconds"] * cores)) if steal["wall_seconds"] else None,
        load=_known(noise["load"].max()),
        mhz_low=_known(noise["mhz_low"].min()),
        mhz_high=_known(noise["mhz_high"].max()),
        switches_per_second=_known(noise["switches"].sum() / wall) if wall else None,
        collections=int(noise["collections"].sum()) if len(noise) else None,
        blocks=len(blocks),
        far_share=int(blocks["far"].sum()) / judged if judged else None,
    )


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
