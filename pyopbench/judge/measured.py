"""What all comparisons of a report are made of, by setting: to look through all of it for each one takes far longer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyopbench.judge.candidates import KEYS, Setting
from pyopbench.model.case import Case, Failure
from pyopbench.stats.launch_model import LaunchModel
from pyopbench.stats.node_graphs import Surcharge

if TYPE_CHECKING:
    from pyopbench.store.run import Run


class Row(NamedTuple):
    """A measured case, as in `latencies.latency_table`; `seconds`, and `low` and `high`, are those of a call."""

    case: str
    label: str
    size: int
    variant: str
    gradient: str
    seconds: float
    low: float
    high: float
    launches: int
    too_noisy: bool


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured in a run.

    Attributes:
        run: for its catalogue, planned cases, failures and machines.
        latencies: `latencies.latency_table`.
        ratios: `costs.ratios` of these cases against the baselines of their groups.
        model: what launches differ by.
        surcharges: `costs.surcharges`, by case.
    """

    run: Run
    latencies: pd.DataFrame
    ratios: pd.DataFrame
    model: LaunchModel
    surcharges: Mapping[str, Surcharge] = field(default_factory=dict)

    def rows_of(self, setting: Setting) -> Sequence[Row]:
        """Return the measured cases of a setting, in the order of the latencies."""
        return self._rows.get(setting, ())

    def planned_in(self, setting: Setting) -> Sequence[Case]:
        """Return the cases of a setting that were planned."""
        return self._planned.get(setting, ())

    def failures_in(self, setting: Setting) -> Sequence[tuple[Case, Failure]]:
        """Return the failures of cases of a setting."""
        return self._failures.get(setting, ())

    def ratios_of(self, rows: Iterable[Row]) -> pd.DataFrame:
        """Return the ratios of some cases, with their label and size beside them."""
        found = [(row, self._places[row.case]) for row in rows if row.case in self._places]
        counts = np.array([len(places) for _, places in found], dtype=np.intp)
        taken = self.ratios.take(np.concatenate([places for _, places in found]) if found else [])
        labels = np.array([row.label for row, _ in found], dtype=object)
        sizes = np.array([row.size for row, _ in found], dtype=np.int64)
        return taken.assign(label=np.repeat(labels, counts), size=np.repeat(sizes, counts))

    @cached_property
    def _rows(self) -> Mapping[Setting, list[Row]]:
        found: dict[Setting, list[Row]] = {}
        settings = self.latencies[KEYS].itertuples(index=False, name=None)
        rows = self.latencies[list(Row._fields)].itertuples(index=False, name=None)
        for setting, values in zip(settings, rows, strict=True):
            case, label, size, variant, gradient, seconds, low, high, launches, too_noisy = values
            names = (str(case), str(label), int(size), str(variant), str(gradient))
            row = Row(*names, float(seconds), float(low), float(high), int(launches), bool(too_noisy))
            found.setdefault(Setting(*setting), []).append(row)
        return found

    @cached_property
    def _planned(self) -> Mapping[Setting, list[Case]]:
        found: dict[Setting, list[Case]] = {}
        for case in map(Case.from_id, self.run.cases):
            found.setdefault(Setting.of(case), []).append(case)
        return found

    @cached_property
    def _failures(self) -> Mapping[Setting, list[tuple[Case, Failure]]]:
        found: dict[Setting, list[tuple[Case, Failure]]] = {}
        for failure in self.run.failures:
            case = Case.from_id(failure.case)
            found.setdefault(Setting.of(case), []).append((case, failure))
        return found

    @cached_property
    def _places(self) -> Mapping[str, npt.NDArray[np.intp]]:
        found = self.ratios.groupby("case", observed=True).indices
        return {str(case): np.asarray(places, dtype=np.intp) for case, places in found.items()}
