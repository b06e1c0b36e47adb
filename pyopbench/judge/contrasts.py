"""Differences of what variants of one setting cost, in shares of the current time, launch by launch.

Two variants that were timed in the same round lie within moments of each other. So the difference of any two is taken
within each round, and its median over rounds is the number of a launch: that varies less than the
difference of two medians, each of its own against the current callback (docs/statistics.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyopbench.judge.program import Mix
from pyopbench.stats import costs
from pyopbench.stats.estimate import UNIT, Estimate, Floats
from pyopbench.stats.launch_model import LaunchModel, Shares


def leverage(share: float, other: float, baseline: int | None) -> float:
    """Return what the relative variance of a share of one counts for in the difference of two shares.

    A share is a cost over today's, and half of its relative variance is from either. Today's is common to both.

    Args:
        share: what the first leaves of today's time.
        other: what the second leaves.
        baseline: which of the two is the current callback, 0 or 1; None where neither is.
    """
    if baseline is not None:
        return (share if baseline else other) ** 2
    return (share**2 + other**2 + (share - other) ** 2) / 2


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
    """

    baseline: str
    ports: frozenset[str]
    sizes: tuple[int, ...]
    labels: tuple[str, ...]
    medians: Floats
    errors: Floats
    runs: int
    model: LaunchModel
    _known: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, repr=False)
    """What was estimated before: choices ask for the same differences again and again."""

    def shares(self, label: str) -> pd.DataFrame:
        """Return the share of a label, one row per launch and one column per size; nan is no number."""
        return pd.DataFrame(1 + self.medians[:, :, self._place(label), 0], columns=list(self.sizes))

    def over(self, mix: Mix, label: str, other: str) -> Estimate:
        """Return the estimate of the share of a label less that of another, over the launches with all sizes."""
        if not set(mix.needed).issubset(self.sizes):  # the current callback alone has a number there
            return Estimate.of([])
        columns = [self.sizes.index(size) for size in mix.needed]
        return self._estimate(label, other, columns, mix.pull)

    def _estimate(self, label: str, other: str, columns: Sequence[int], pull: Floats) -> Estimate:
        key = (label, other, tuple(columns), pull.tobytes())
        if key not in self._known:
            self._known[key] = self._estimated(label, other, columns, pull)
        found: Estimate = self._known[key]
        return found

    def _estimated(self, label: str, other: str, columns: Sequence[int], pull: Floats) -> Estimate:
        row, column = self._place(label), self._place(other)
        medians, squares = self._over_columns(columns, pull)
        values, errors = medians[:, row, column], np.sqrt(squares[:, row, column])
        there = ~np.isnan(values)
        share, than = (self._mean_share(place, columns, pull) for place in (row, column))
        counts = leverage(share, than, _baseline_of(row, column))
        found = Shares(values[there], errors[there], counts)
        moved = share * (label in self.ports) - than * (other in self.ports)
        return self.model.estimate(found, moved, self.runs)

    def _over_columns(self, columns: Sequence[int], pull: Floats) -> tuple[Floats, Floats]:
        """Return medians and squared errors over some sizes, `(launches, labels, labels)`, of all labels at once."""
        key = (tuple(columns), pull.tobytes())
        if key not in self._known:
            medians = np.tensordot(pull, self.medians[:, columns], axes=(0, 1))
            self._known[key] = medians, np.tensordot(pull**2, self.errors[:, columns] ** 2, axes=(0, 1))
        found: tuple[Floats, Floats] = self._known[key]
        return found

    def _mean_share(self, place: int, columns: Sequence[int], pull: Floats) -> float:
        key = (place, tuple(columns), pull.tobytes())
        if key not in self._known:
            values = 1 + self._over_columns(columns, pull)[0][:, place, 0]
            known = values[~np.isnan(values)]
            self._known[key] = float(known.mean()) if known.size else 0.0
        return float(self._known[key])

    @cached_property
    def _places(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def _place(self, label: str) -> int:
        return self._places[label]


def _baseline_of(row: int, column: int) -> int | None:
    """Return which of two labels is the current callback, which is the first of all; None where neither is."""
    return 1 if column == 0 else 0 if row == 0 else None


def contrasts_of(
    ratios: pd.DataFrame,
    baseline: str,
    ports: frozenset[str],
    model: LaunchModel,
) -> Contrasts:
    """Return the contrasts of one setting.

    Args:
        ratios: columns label, size, those of `UNIT`, round and ratio (cost over the baseline's in that round), of every
            label but the baseline's.
        baseline: label of the current callback.
        ports: labels of the ports.
        model: what launches differ by.
    """
    places, names = pd.factorize(ratios["label"], sort=True)
    sizes, of_size = np.unique(ratios["size"].to_numpy(dtype="int64"), return_inverse=True)
    rounds, of_round = np.unique(ratios["round"].to_numpy(dtype="int64"), return_inverse=True)
    launches, of_launch = _launches_of(ratios)
    labels = (baseline, *map(str, names))
    values = np.full((len(launches), len(rounds), len(sizes), len(labels)), np.nan)
    values[of_launch, of_round, of_size, places + 1] = ratios["ratio"].to_numpy(dtype="float64")
    values[..., 0] = np.where(np.isnan(values[..., 1:]).all(axis=-1), np.nan, 1.0)
    shape = (len(launches), len(sizes), len(labels), len(labels))
    medians, errors = np.full(shape, np.nan), np.full(shape, np.nan)
    for place, one in enumerate(values):  # of all launches at once they might take gigabytes
        medians[place], errors[place] = costs.median_and_error(one[..., :, None] - one[..., None, :])
    runs = len({launch[:-1] for launch in launches})
    return Contrasts(baseline, ports, tuple(sizes.tolist()), labels, medians, errors, max(runs, 1), model)


def _launches_of(ratios: pd.DataFrame) -> tuple[list[tuple[Any, ...]], npt.NDArray[np.intp]]:
    """Return the launches in order, each as its values of `UNIT`, and which of them each row is of."""
    whole = [ratios[name].to_numpy() for name in UNIT]
    if len(ratios) and all((one == one[0]).all() for one in whole[:-1]):  # of one run: pandas takes ten times as long
        launches, of_launch = np.unique(whole[-1], return_inverse=True)
        numbered = np.asarray(of_launch, dtype=np.intp)
        return [(*(one[0] for one in whole[:-1]), launch) for launch in launches.tolist()], numbered
    numbers = np.asarray(ratios.groupby(UNIT, observed=True).ngroup(), dtype=np.intp)
    _, firsts = np.unique(numbers, return_index=True)
    return list(ratios[UNIT].iloc[firsts].itertuples(index=False, name=None)), numbers
