"""How quiet the machine was, launch by launch, and whether that was quiet enough for the minimum effect.

No block is dropped because of how long it took. The median over rounds limits the effect of a disturbed block, and the
way in which launches are averaged limits that of a disturbed launch. If two sides take turns, a pair of turns is
discarded if the state of the machine differed between its halves. That is judged by what the system reports and never
by times of samples: a slowdown that only some turns show would be discarded. docs/decisions/0043 has the figures.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from pyopbench.judge.findings import finite
from pyopbench.model import formatting
from pyopbench.model.case import UNLIMITED
from pyopbench.stats import estimate
from pyopbench.stats.costs import NORMAL_MAD
from pyopbench.stats.estimate import Estimate

if TYPE_CHECKING:
    from pyopbench.judge.decision import Verdict
    from pyopbench.store.measured_run import Run


FAR_DEVIATIONS = 5.0
"""Robust standard deviations above the median, beyond which a block was disturbed: normal noise gets there by chance in
one block of three million."""
LEAST_BLOCKS = 8
"""Fewer blocks have no median absolute deviation worth the name."""
LARGE_STEAL = 0.01
"""Other virtual machines took 1% of the CPU time: launches on a quiet machine differ by as much."""
LARGE_FAR = 0.05
"""If one block in twenty is far off, medians begin to move."""
LARGE_CLOCK = math.log1p(0.01)
"""A difference in clock rate of 1%, as a natural log: times differ by as much."""
STEAL_RESOLUTION = 0.02
"""Two ticks of the clock that counts stolen time, in seconds: most of a single tick may have been stolen long
before (proc(5): a tick is 10 ms if USER_HZ is 100)."""
TURN_COLUMNS = ["run", "block", "group", "sweep"]
"""The columns that identify a pair of turns: both sides sampled one group right after one another."""


def _unresolved(disturbance: Disturbance) -> str:
    verb = "is" if disturbance.unresolved == 1 else "are"
    return f"{disturbance.unresolved:,} {verb} unresolved"


def _more_launches(disturbance: Disturbance) -> str:
    enough, which = disturbance.enough_launches, _half(disturbance)
    if enough is None:
        return f"to resolve {which} would take more than {estimate.MOST_LAUNCHES:,} launches"
    more = _asked(disturbance) + (", with enough --budget" if disturbance.remedy() else "")
    return f"about {enough:,} launches would resolve {which} ({more})"


def _asked(disturbance: Disturbance) -> str:
    return " ".join(disturbance.remedy()) or "a longer --budget"


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
        most_launches: the limit on the launches of the run.
        ends_early: whether it ended as soon as its answers were clear, whatever was left unresolved.
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
    most_launches: int = 0
    ends_early: bool = False

    def remedy(self) -> tuple[str, ...]:
        """Return the options with which a run resolves half of the unresolved; none if only a longer budget does."""
        enough = self.enough_launches
        is_limited = not self.is_unlimited and enough is not None and enough > self.most_launches
        return (*((f"--launches {enough}",) if is_limited else ()),)

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
        most_launches=run.settings.launches,
        ends_early=run.settings.until == "decided",
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
    judged = int(blocks["judged"].sum())
    return LaunchNoise(
        run=str(key[0]),
        launch=int(key[1]),
        steal_share=_steal_share(noise, cores),
        load=finite(noise["load"].max()),
        mhz_low=finite(noise["mhz_low"].min()),
        mhz_high=finite(noise["mhz_high"].max()),
        switches_per_second=finite(noise["switches"].sum() / wall) if wall else None,
        collections=int(noise["collections"].sum()) if len(noise) else None,
        blocks=len(blocks),
        far_share=int(blocks["far"].sum()) / judged if judged else None,
    )


def _steal_share(noise: pd.DataFrame, cores: int) -> float | None:
    """Return the share of the cores' time that other guests of the host used; None if it is not known."""
    known = noise[["steal_seconds", "wall_seconds"]].dropna().sum()
    return finite(known["steal_seconds"] / (known["wall_seconds"] * cores)) if known["wall_seconds"] else None


def limits_of(load: float | None, steal: float | None, cores: int) -> tuple[tuple[str, float | None, float], ...]:
    """Return load and stolen time in words, each with its value and the largest at which a machine counts as quiet.

    Args:
        load: tasks that run or wait to run, averaged over a minute; None if it is not known.
        steal: share of the cores' time that other guests of the host used; None if it is not known.
        cores: how many there are.
    """
    return (
        ("" if load is None else f"load {load:.1f} on {formatting.count(cores, 'core')}", load, cores),
        ("" if steal is None else f"{formatting.percent(steal)} of CPU time stolen by other VMs", steal, LARGE_STEAL),
    )


@dataclass(frozen=True)
class MachineState:
    """The state of the machine while two or more sides took turns.

    Attributes:
        turns: pairs of turns, in which both sides sampled a group right after one another.
        discarded: how many of these had halves in different states.
        load: median over all turns of the load over 1 minute; None if it is not known.
        steal_share: share of the cores' time that other guests of the host used; None if it is not known.
        cores: the number of usable cores.
    """

    turns: int
    discarded: int
    load: float | None
    steal_share: float | None
    cores: int

    @property
    def too_large(self) -> tuple[str, ...]:
        """The values that were beyond the limits of a quiet machine, in words."""
        limits = limits_of(self.load, self.steal_share, self.cores)
        return tuple(text for text, value, most in limits if value is not None and value > most)

    @property
    def is_quiet(self) -> bool:
        """Was the machine quiet enough to trust a verdict?"""
        return not self.too_large

    def text(self) -> str:
        """Return the state of the machine, and how many pairs of turns were discarded, in sentences."""
        known = [text for text, *_ in limits_of(self.load, self.steal_share, self.cores) if text]
        said = f"Machine: {formatting.listing(known)}. " if known else ""
        if not self.discarded:
            return f"{said}No pair of turns was discarded because of different machine states."
        pairs = formatting.count(self.turns, "pair of turns", "pairs of turns")
        return (
            f"{said}{self.discarded:,} of {pairs} discarded: clock rate or stolen time differed between the two halves."
        )

    def warning_text(self, command: Sequence[str]) -> str:
        """Return why the verdict cannot be trusted and the command to repeat, in sentences; "" if it can be trusted."""
        if self.is_quiet:
            return ""
        stolen = self.steal_share is not None and self.steal_share > LARGE_STEAL
        quieter = "Use a machine without other VMs" if stolen else "Stop other programs"
        return (
            f"The machine was too busy to trust this result: {formatting.listing(self.too_large)}. Slowdowns can be "
            f"missed. {quieter} and repeat: {shlex.join(command)}"
        )


def machine_state(runs: Sequence[Run], turns: int, discarded: int) -> MachineState | None:
    """Return the state of the machine during the runs of all sides; None if nothing was recorded.

    Args:
        runs: one for each side.
        turns: pairs of turns of all comparisons.
        discarded: how many of these were discarded.
    """
    noise = pd.concat([run.noise for run in runs], ignore_index=True)
    if not len(noise):
        return None
    cores = int(runs[0].environment.get("cores") or 1)
    return MachineState(turns, discarded, finite(noise["load"].median()), _steal_share(noise, cores), cores)


def unlike_turns(first: pd.DataFrame, second: pd.DataFrame, cores: int) -> tuple[pd.DataFrame, int]:
    """Return the pairs of turns whose halves ran in different states of the machine, and how many pairs there are.

    The state of a half is its clock rates and the share of its time that was stolen, never the times of the samples.
    Context switches are not used: on a machine that other programs kept busy, they did not predict the ratio of a
    pair. The median over the pairs of a group is the effect of the code itself, so only pairs far from it count.

    Args:
        first: `measured_run.Run.noise` of one side, with the column `block`.
        second: of the other.
        cores: the number of usable cores.

    Returns:
        A frame of `TURN_COLUMNS`, and a count.
    """
    pairs = _turns(first).merge(_turns(second), on=TURN_COLUMNS, suffixes=("_first", "_second"))
    stolen, walls = (
        [pairs[f"{name}_{side}"].to_numpy(dtype="float64") for side in ("first", "second")]
        for name in ("steal_seconds", "wall_seconds")
    )
    steal = np.where(
        np.abs(stolen[1] - stolen[0]) >= STEAL_RESOLUTION * (1 - 1e-9),  # 10 ms is not an exact binary fraction
        stolen[1] / (walls[1] * cores) - stolen[0] / (walls[0] * cores),
        0.0,
    )
    clocks = [np.log(pairs[f"{name}_second"] / pairs[f"{name}_first"]) for name in ("mhz_low", "mhz_high")]
    differences = np.column_stack([steal, *clocks])
    unlike = np.zeros(len(pairs), dtype=bool)
    for places in pairs.groupby(["run", "group"], observed=True).indices.values():
        unlike[places] = are_unlike(differences[places])
    return pairs.loc[unlike, TURN_COLUMNS], len(pairs)


def are_unlike(differences: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Return for each pair of turns whether its halves ran in different states, unlike those of most pairs.

    A pair is far from the median if it is `FAR_DEVIATIONS` robust standard deviations from it, and by more than is
    large: if most pairs do not differ at all, that deviation is 0. That can be less than half of all pairs.

    Args:
        differences: `(pairs, 3)` float64: share of time stolen, and logs of the lowest and the highest clock rate, of
            the second half minus the first; nan is not known.

    Returns:
        `(pairs,)` bool; all False for fewer than `LEAST_BLOCKS` pairs, whose median means little.
    """
    if len(differences) < LEAST_BLOCKS:
        return np.zeros(len(differences), dtype=bool)
    known = np.where(np.isnan(differences), 0.0, differences)  # what a system never reports differs in no pair
    off = np.abs(known - np.median(known, axis=0))
    reach = np.maximum(FAR_DEVIATIONS * NORMAL_MAD * np.median(off, axis=0), (LARGE_STEAL, LARGE_CLOCK, LARGE_CLOCK))
    found: npt.NDArray[np.bool_] = (off > reach).any(axis=1)
    return found


def _turns(noise: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each turn of a side; a group that was measured again has several turns."""
    by = {"steal_seconds": "sum", "wall_seconds": "sum", "mhz_low": "min", "mhz_high": "max"}
    return noise.groupby(TURN_COLUMNS, observed=True).agg(by).reset_index()
