"""Differences of what variants of one setting cost, in shares of the current time, launch by launch.

Two variants that were timed in the same round lie within moments of each other. So the difference of any two is taken
within each round, and its median over rounds is the number of a launch: that varies by 8% to 41% less than the
difference of two medians, each of its own against the current callback (docs/statistics.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pyopbench.judge.mix import Mix
from pyopbench.judge.verdicts import ONE_MACHINE
from pyopbench.stats import costs
from pyopbench.stats.estimate import UNIT, Bools, Estimate, Floats
from pyopbench.stats.launch_model import LaunchModel, Shares


@dataclass(frozen=True, eq=False)
class Contrasts:
    """What variants of a setting cost less one another, in shares of the current callback's time.

    Attributes:
        baseline: label of the current callback, whose share is 1.
        ports: labels of the ports; all others are callbacks.
        sizes: ascending.
        labels: with the baseline first.
        medians: `(launches, sizes, labels, labels)` float64, share of the row less that of the column; nan is no
            number.
        errors: its standard errors over rounds, likewise.
        runs: how many runs the launches are of.
        model: what launches differ by.
        machines: the machine of each launch; none where all were on one.
    """

    baseline: str
    ports: frozenset[str]
    sizes: tuple[int, ...]
    labels: tuple[str, ...]
    medians: Floats
    errors: Floats
    runs: int
    model: LaunchModel
    machines: tuple[str, ...] = ()
    _known: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, repr=False)
    """What was estimated before: choices, trends and crossovers ask for the same differences again and again."""

    def shares(self, label: str) -> pd.DataFrame:
        """Return the share of a label, one row per launch and one column per size; nan is no number."""
        return pd.DataFrame(1 + self.medians[:, :, self._place(label), 0], columns=list(self.sizes))

    def over(self, mix: Mix, label: str, other: str) -> Estimate:
        """Return the estimate of the share of a label less that of another, over the launches with all sizes."""
        columns = [self.sizes.index(size) for size in mix.needed]
        return self._estimate(label, other, columns, mix.pull)

    def at(self, size: float, label: str, other: str) -> Estimate:
        """Return the same at one size, between two measured ones straight over the log of the size."""
        right = int(np.searchsorted(self.sizes, size))
        if self.sizes[right] == size:
            return self._estimate(label, other, [right], np.ones(1))
        left = right - 1
        part = float(np.log(size / self.sizes[left]) / np.log(self.sizes[right] / self.sizes[left]))
        return self._estimate(label, other, [left, right], np.array([1 - part, part]))

    def _estimate(self, label: str, other: str, columns: Sequence[int], pull: Floats) -> Estimate:
        key = (label, other, tuple(columns), pull.tobytes())
        if key not in self._known:
            self._known[key] = self._estimated(label, other, columns, pull)
        found: Estimate = self._known[key]
        return found

    def _estimated(self, label: str, other: str, columns: Sequence[int], pull: Floats) -> Estimate:
        row, column = self._place(label), self._place(other)
        values = self.medians[:, columns, row, column] @ pull
        there = ~np.isnan(values)
        errors = np.sqrt(self.errors[:, columns, row, column] ** 2 @ pull**2)
        share, than = (self._mean_share(place, columns, pull) for place in (row, column))
        found = Shares(values[there], errors[there], self._leverage(row, column, share, than), self._machines(there))
        moved = share * (label in self.ports) - than * (other in self.ports)
        return self.model.estimate(found, moved, self.runs)

    def _machines(self, there: Bools) -> tuple[str, ...]:
        """Return the machines of some launches."""
        return tuple(name for name, is_there in zip(self.machines, there, strict=False) if is_there)

    def _leverage(self, row: int, column: int, share: float, other: float) -> float:
        """Return what the relative variance of a share of one counts for here.

        A share is a cost over today's, and half of its relative variance is from either. Today's is common to both.
        """
        if column == 0 or row == 0:
            return (share if column == 0 else other) ** 2
        return (share**2 + other**2 + (share - other) ** 2) / 2

    def _mean_share(self, place: int, columns: Sequence[int], pull: Floats) -> float:
        key = (place, tuple(columns), pull.tobytes())
        if key not in self._known:
            values = 1 + self.medians[:, columns, place, 0] @ pull
            known = values[~np.isnan(values)]
            self._known[key] = float(known.mean()) if known.size else 0.0
        return float(self._known[key])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def _place(self, label: str) -> int:
        return self._places[label]


def contrasts_of(
    ratios: pd.DataFrame,
    baseline: str,
    ports: frozenset[str],
    model: LaunchModel,
    hosts: Mapping[int, str] = ONE_MACHINE,
) -> Contrasts:
    """Return the contrasts of one setting.

    Args:
        ratios: columns label, size, those of `UNIT`, round and ratio (cost over the baseline's in that round), of every
            label but the baseline's.
        baseline: label of the current callback.
        ports: labels of the ports.
        model: what launches differ by.
        hosts: number of a launch -> the machine that it was on; none where all were on one.
    """
    wide = ratios.pivot(index=[*UNIT, "size", "round"], columns="label", values="ratio")
    labels = (baseline, *map(str, wide.columns))
    wide.insert(0, baseline, 1.0)
    sizes = tuple(sorted(int(size) for size in ratios["size"].unique()))
    launches = list(dict.fromkeys(zip(*(wide.index.get_level_values(name) for name in UNIT), strict=True)))
    shape = (len(launches), len(sizes), len(labels), len(labels))
    medians, errors = np.full(shape, np.nan), np.full(shape, np.nan)
    for key, rounds in wide.groupby(level=[*UNIT, "size"], observed=True):
        *launch, size = tuple(key)
        place = launches.index(tuple(launch)), sizes.index(size)
        values = rounds.to_numpy(dtype="float64")
        medians[place], errors[place] = costs.median_and_error(values[:, :, None] - values[:, None, :])
    runs = len({launch[:-1] for launch in launches})
    machines = tuple(hosts[launch[-1]] for launch in launches) if hosts else ()
    return Contrasts(baseline, ports, sizes, labels, medians, errors, max(runs, 1), model, machines)
