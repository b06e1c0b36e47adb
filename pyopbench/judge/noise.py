"""How quiet the machine was, launch by launch, and whether that was quiet enough for the minimum effect.

Nothing is dropped for it: a disturbed block is weighed down by the median over rounds, a disturbed launch by the way in
which launches are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from pyopbench.stats import estimate
from pyopbench.stats.estimate import Estimate, Floats
from pyopbench.stats.spread import UNKNOWN, Spread

if TYPE_CHECKING:
    from pyopbench.judge.decision import Verdict
    from pyopbench.results.run import Run

Whole: TypeAlias = npt.NDArray[np.int64]

FAR_DEVIATIONS = 5.0
"""Robust standard deviations above the median, beyond which a block was disturbed: normal noise gets there by chance in
one block of three million."""
NORMAL_MAD = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation, 1 / 0.6745."""
LEAST_BLOCKS = 8
"""Fewer blocks have no median absolute deviation worth the name."""


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
    """How quiet the machine was.

    Attributes:
        launches: one by one.
        launches_made: how many a verdict usually has.
        verdicts, unresolved: how many there are, and how many of them are unresolved although they have an interval.
        usual_spread: what launches usually differ by in a ratio, as a share; None where none has two.
        smallest_effect: the smallest difference that a verdict could be told at with the launches that were made, as a
            share: half of the usual interval at the level corrected for all verdicts; None as above.
        minimum_effect: the smallest difference that counts.
        enough_launches: about how many launches would tell the minimum effect; None above `estimate.MOST_LAUNCHES`.
    """

    launches: tuple[LaunchNoise, ...]
    launches_made: int
    verdicts: int
    unresolved: int
    usual_spread: float | None
    smallest_effect: float | None
    minimum_effect: float
    enough_launches: int | None

    @property
    def too_noisy(self) -> bool:
        """Whether verdicts are left open because launches differ by too much for the minimum effect."""
        return self.unresolved > 0 and (self.smallest_effect or 0.0) > self.minimum_effect


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
    usual = _usual(estimates)
    made = int(np.median([one.n for one in estimates if one.n > 1] or [0]))
    half = float(_half_widths(usual, np.array([made]), level)[0]) if made > 1 and usual != UNKNOWN else math.nan
    return Disturbance(
        launches=_launches(run),
        launches_made=made,
        verdicts=len(verdicts),
        unresolved=sum(verdict.outcome == "unresolved" and verdict.launches > 1 for verdict in verdicts),
        usual_spread=None if usual == UNKNOWN else math.sqrt(usual.variance),
        smallest_effect=None if math.isnan(half) else half,
        minimum_effect=minimum_effect,
        enough_launches=None if usual == UNKNOWN else _enough(usual, minimum_effect, level),
    )


def _usual(estimates: Sequence[Estimate]) -> Spread:
    """Return the usual spread; of too few comparisons for a fit, their median variance, which adds no degrees."""
    fitted = next((one.usual for one in estimate.moderated(list(estimates))), UNKNOWN)
    variances = [one.deviation**2 for one in estimates if one.n > 1]
    return Spread(0.0, float(np.median(variances))) if fitted == UNKNOWN and variances else fitted


def _half_widths(usual: Spread, launches: Whole, level: float) -> Floats:
    degrees = launches - 1 + usual.degrees
    widths: Floats = special.stdtrit(degrees, (1 + level) / 2) * math.sqrt(usual.variance) / np.sqrt(launches)
    return widths


def _enough(usual: Spread, delta: float, level: float) -> int | None:
    launches = np.arange(2, estimate.MOST_LAUNCHES + 1)
    enough = launches[_half_widths(usual, launches, level) <= delta]
    return int(enough[0]) if enough.size else None


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
