"""Differences of what variants of one setting cost, in shares of the current time, launch by launch.

Two variants that were timed in the same round lie within moments of each other. So the difference of any two is taken
within each round, and its median over rounds is the number of a launch: that varies less than the difference of two
medians, each of its own against the current callback, and other answers would follow (docs/statistics.md).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from pyopbench.judge.program import Mix
from pyopbench.stats.costs import MEDIAN_ERROR, NORMAL_MAD
from pyopbench.stats.estimate import RUN_EFFECT, UNIT, Estimate, Floats, Launches, Spread


@dataclass(frozen=True, eq=False)
class Contrasts:
    """Shares of the current callback's time."""

    baseline: str  # label of the current callback, whose share is 1
    ports: frozenset[str]  # labels that shift by `RUN_EFFECT` against callbacks from run to run
    sizes: tuple[int, ...]  # ascending
    labels: tuple[str, ...]  # with the baseline first
    # `(launches, rounds, sizes, labels)` float64, cost over the baseline's in that round; nan where there is none
    ratios: Floats
    spread: Spread  # the usual spread between launches
    _medians: dict[tuple[str, str], tuple[Floats, Floats]] = field(default_factory=dict, init=False, repr=False)
    _estimates: dict[tuple[str, str, tuple[int, ...], bytes], Estimate] = field(
        default_factory=dict, init=False, repr=False
    )
    """What was computed before: choices ask for the same differences again and again."""

    def lacks(self, mix: Mix, label: str) -> tuple[int, ...]:
        """Return the sizes that the mix draws on and no launch has a number of the label at."""
        there = np.isfinite(self.ratios[..., self.labels.index(label)])
        known = {size for number, size in enumerate(self.sizes) if there[:, :, number].any()}
        return tuple(size for size in mix.needed if size not in known)

    def over(self, mix: Mix, label: str, other: str) -> Estimate:
        """Return the estimate of the share of a label less that of another, over the launches with all sizes."""
        key = (label, other, mix.needed, mix.pull.tobytes())
        if key not in self._estimates:
            self._estimates[key] = self._estimate(mix, label, other)
        return self._estimates[key]

    def _estimate(self, mix: Mix, label: str, other: str) -> Estimate:
        if not set(mix.needed).issubset(self.sizes):  # the current callback alone has a number there
            return Estimate.of([])
        sizes = [self.sizes.index(size) for size in mix.needed]
        medians, squares = self._differences(label, other)
        values = medians[:, sizes] @ mix.pull
        there = ~np.isnan(values)
        share, than = (self._share(mix, sizes, one) for one in (label, other))
        counts = leverage(share, than, None if self.baseline not in (label, other) else int(other == self.baseline))
        launches = Launches(values[there], np.sqrt(squares[:, sizes] @ mix.pull**2)[there], counts)
        moved = share * (label in self.ports) - than * (other in self.ports)
        return self.spread.estimate(launches, (RUN_EFFECT * moved) ** 2)

    def _share(self, mix: Mix, sizes: list[int], label: str) -> float:
        values = 1 + self._differences(label, self.baseline)[0][:, sizes] @ mix.pull
        return float(np.mean(values[~np.isnan(values)])) if not np.isnan(values).all() else 0.0

    def _differences(self, label: str, other: str) -> tuple[Floats, Floats]:
        """Return medians over rounds and their squared errors, `(launches, sizes)`, as `costs.launch_medians`."""
        if (label, other) not in self._medians:
            first, second = (self.labels.index(one) for one in (label, other))
            rounds = self.ratios[..., first] - self.ratios[..., second]
            counts = np.isfinite(rounds).sum(axis=1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # where no round has a number, there is no median
                medians = np.nanmedian(rounds, axis=1)
                spreads = np.nanmedian(np.abs(rounds - medians[:, None]), axis=1)
                noise = np.nanmedian(np.where(counts > 1, spreads, np.nan), axis=0)
            squares = (NORMAL_MAD * MEDIAN_ERROR * noise) ** 2 / np.maximum(counts, 1)
            self._medians[label, other] = medians, squares
        return self._medians[label, other]


def leverage(share: float, other: float, baseline: int | None) -> float:
    """Return what the usual variance between launches counts for in the difference of two shares.

    A share is a cost over today's, and half of its relative variance is from either. Today's is common to both.

    Args:
        share: what the first leaves of today's time.
        other: what the second leaves.
        baseline: which of the two is the current callback, 0 or 1; None where neither is.
    """
    if baseline is not None:
        return (share if baseline else other) ** 2
    return (share**2 + other**2 + (share - other) ** 2) / 2


def contrasts_of(ratios: pd.DataFrame, baseline: str, ports: frozenset[str], spread: Spread) -> Contrasts:
    """Return the contrasts of one setting.

    Args:
        ratios: columns label, size, those of `UNIT`, round and ratio (cost over the baseline's in that round), of every
            label but the baseline's.
        baseline: label of the current callback.
        ports: labels of the ports.
        spread: the usual spread between launches.
    """
    labels, sizes = sorted(ratios["label"].unique()), sorted(ratios["size"].unique())
    rows = ratios.pivot(index=[*UNIT, "round"], columns=["size", "label"], values="ratio")
    rows = rows.reindex(columns=pd.MultiIndex.from_product([sizes, labels]))
    launch, rounds = rows.groupby(UNIT, observed=True).ngroup(), rows.groupby(UNIT, observed=True).cumcount()
    values = np.full((launch.nunique(), rounds.max() + 1 if len(rows) else 0, len(sizes), len(labels) + 1), np.nan)
    values[launch, rounds, :, 1:] = rows.to_numpy(dtype="float64").reshape(len(rows), len(sizes), len(labels))
    # The current callback is there wherever anything was compared with it.
    values[..., 0] = np.where(np.isnan(values[..., 1:]).all(axis=-1), np.nan, 1.0)
    return Contrasts(baseline, ports, tuple(map(int, sizes)), (baseline, *labels), values, spread)
