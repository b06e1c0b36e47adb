"""The current callback and everything that could take its place, in one setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyopbench.judge.contrasts import Contrasts, contrasts_of
from pyopbench.judge.decision import Bar, Unknown
from pyopbench.judge.findings import BaselineFailed, BaselineNotMeasured, BaselineTooNoisy, finite
from pyopbench.judge.latencies import label_of, standing, usual_gradients
from pyopbench.judge.program import Mix
from pyopbench.model.case import Case, Failure
from pyopbench.model.label import Label
from pyopbench.stats.estimate import Floats
from pyopbench.stats.launch_model import LaunchModel

if TYPE_CHECKING:
    from pyopbench.store.measured_run import Run


TOO_NOISY = "too noisy"
"""What is said of a case of the baseline that was measured, next to the statuses of those that failed."""
USES = {"forward": "inference", "forward_backward": "training"}
"""The direction that is run in each use; backward alone is run in none."""
KEYS = ["op", "direction", "mode", "dtype", "placement"]


@dataclass(frozen=True)
class Setting:
    """What one decision is about; `direction` is `forward` for inference, `forward_backward` for training."""

    op: str
    direction: str
    mode: str
    dtype: str
    placement: str

    @classmethod
    def of(cls, case: Case) -> Setting:
        """Return the setting of a case."""
        return cls(case.op, case.direction, case.mode, case.dtype, case.placement)

    @property
    def use(self) -> Literal["inference", "training"]:
        """What this direction is run for."""
        return "inference" if self.direction == "forward" else "training"


@dataclass(frozen=True, eq=False)
class Candidate:
    """Something that could stand in for the current callback.

    Attributes:
        label: `variant` or `variant+gradient`.
        kind: `callback` or `port`.
        effort: rank of the work to get there; infinite where the catalogue has none.
        shares: one row per launch, one column per size: its seconds over the baseline's; nan is no number.
    """

    label: str
    kind: str
    effort: float
    shares: pd.DataFrame

    def over(self, mix: Mix) -> Floats:
        """Return the shares that the mix draws on, `(launches, needed)`, of the launches that have all of them."""
        missing = np.full(len(self.shares), np.nan)
        shares = np.stack([self._by_size.get(size, missing) for size in mix.needed], axis=1)
        return np.asarray(shares[~np.isnan(shares).any(axis=1)])

    def lacks(self, mix: Mix) -> tuple[int, ...]:
        """Return the sizes that the mix draws on and no launch has."""
        return tuple(size for size in mix.needed if np.isnan(self._by_size.get(size, np.nan)).all())

    @cached_property
    def _by_size(self) -> dict[int, Floats]:
        return {int(str(size)): self.shares[size].to_numpy(dtype="float64") for size in self.shares}


@dataclass(frozen=True, eq=False)
class SettingComparison:
    """The baseline of one setting, its candidates, and what is missing.

    Attributes:
        setting: what it is about.
        baseline: label of the current callback; the variant's name if it has no number.
        seconds: size -> seconds per call of the baseline, ascending; empty if it has no number.
        candidates: every other label that was paired with the baseline somewhere, in the order of their labels.
        curves: seconds per call, one row per size, one column per label; nan is no number.
        contrasts: differences of what labels cost, in shares of the baseline's time.
        too_noisy: what was measured of the baseline without a cost above zero, by size, ascending.
        unclear: (label, size) of costs that are too noisy to be shown (`Estimate.is_too_noisy`).
        planned: sizes that were planned or measured for any label, ascending.
        failures: (label, size) -> the first failure.
        barred: what was removed because it cannot do what is required.
        unknown: what is required and was not tried with some labels.
        must_change: may the current callback not stay, for it cannot do what is required?
    """

    setting: Setting
    baseline: str
    seconds: Mapping[int, float]
    candidates: tuple[Candidate, ...]
    curves: pd.DataFrame
    contrasts: Contrasts
    planned: tuple[int, ...]
    failures: Mapping[tuple[str, int], Failure]
    too_noisy: tuple[BaselineTooNoisy, ...] = ()
    unclear: frozenset[tuple[str, int]] = frozenset()
    barred: tuple[Bar, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    must_change: bool = False

    def statuses(self, label: str, sizes: Iterable[int]) -> tuple[str, ...]:
        """Return how a label failed at some sizes, each status once; empty where nothing is known of that."""
        noisy = {(one.label, one.size) for one in self.too_noisy}
        known = dict.fromkeys(noisy, TOO_NOISY) | {place: one.status for place, one in self.failures.items()}
        return tuple(dict.fromkeys(known[label, size] for size in sizes if (label, size) in known))

    def baseline_failure(self) -> BaselineFailed | BaselineNotMeasured | BaselineTooNoisy:
        """Return why the baseline has no number at all."""
        if self.too_noisy:
            return self.too_noisy[0]
        for (label, size), failure in sorted(self.failures.items()):
            if Label.parse(label).variant == self.baseline:
                return BaselineFailed(label, size, failure.status, failure.reason)
        return BaselineNotMeasured(self.baseline)


def settings_of(run: Run) -> list[Setting]:
    """Return what there is to decide: ops in the order of the catalogue, inference before training.

    A setting counts if anything in it was planned or measured. An op with nothing but skips, or with nothing but
    backward passes, gets the settings that these belong to, so that no op is left without an answer.
    """
    busy = [Case.from_id(key) for key in dict.fromkeys([*run.cases, *run.frame["case"].unique()])]
    idle = [Case.from_id(failure.case) for failure in run.failures]
    found = {Setting.of(case) for case in busy if case.direction in USES}
    for rest in (idle, [_forward(case) for case in (*busy, *idle)]):
        answered = {setting.op for setting in found}
        found |= {Setting.of(case) for case in rest if case.direction in USES and case.op not in answered}
    names = [*run.catalogue.ops, *sorted({setting.op for setting in found} - set(run.catalogue.ops))]
    return sorted(found, key=lambda one: (names.index(one.op), one.direction, one.mode, one.dtype, one.placement))


def _forward(case: Case) -> Case:
    return Case(case.op, case.variant, "none", "forward", case.mode, case.dtype, case.size, case.placement)


def compare(setting: Setting, measured: MeasuredSize, baseline: str) -> SettingComparison:
    """Return the comparison of one setting.

    The current callback has the first of its gradients that was measured at any size.

    Args:
        setting: what it is about.
        measured: in it and in others.
        baseline: the baseline variant.
    """
    run, rows = measured.run, measured.rows_of(setting)
    order = usual_gradients(run.catalogue, baseline)
    ours = [row for row in rows if row.variant == baseline]
    # Of a cost that is not above zero there are no shares.
    usual = min(((not row.seconds > 0, standing(row.gradient, order), row.gradient) for row in ours), default=None)
    ours = [row for row in ours if usual is not None and row.gradient == usual[-1]]
    today = [row for row in ours if row.seconds > 0]
    seconds = {row.size: row.seconds for row in today}
    others = [row for row in rows if row not in today and row.size in seconds]
    label = ours[0].label if ours else baseline
    kinds = {row.label: run.catalogue.variant(row.variant).kind or "port" for row in others}
    ports = frozenset(name for name in kinds if kinds[name] == "port")
    contrasts = contrasts_of(measured.ratios_of(others), label, ports, measured.model)
    return SettingComparison(
        setting,
        label,
        seconds,
        tuple(
            Candidate(name, kinds[name], run.catalogue.variant(variant).effort, contrasts.shares(name))
            for name, variant in sorted({(row.label, row.variant) for row in others})
            if name in contrasts.labels
        ),
        _curves(rows),
        contrasts,
        tuple(sorted({case.size for case in measured.planned_in(setting)} | {row.size for row in rows})),
        _failures(measured, setting),
        tuple(_as_finding(row) for row in sorted(ours, key=lambda row: row.size) if not row.seconds > 0),
        frozenset((row.label, row.size) for row in rows if row.too_noisy),
    )


def _as_finding(row: LatencyRow) -> BaselineTooNoisy:
    return BaselineTooNoisy(row.label, row.size, row.seconds, finite(row.low), finite(row.high), row.launches)


def _curves(rows: Sequence[LatencyRow]) -> pd.DataFrame:
    sizes, labels = sorted({row.size for row in rows}), sorted({row.label for row in rows})
    values = np.full((len(sizes), len(labels)), np.nan)
    for row in rows:
        values[sizes.index(row.size), labels.index(row.label)] = row.seconds
    return pd.DataFrame(values, pd.Index(sizes, name="size"), pd.Index(labels, name="label"))


def _failures(measured: MeasuredSize, setting: Setting) -> dict[tuple[str, int], Failure]:
    found: dict[tuple[str, int], Failure] = {}
    for case, failure in measured.failures_in(setting):
        found.setdefault((label_of(measured.run.catalogue, case.variant, case.gradient), case.size), failure)
    return found


class LatencyRow(NamedTuple):
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
class MeasuredSize:
    """What was measured in a run.

    Attributes:
        run: for its catalogue, planned cases, failures and machines.
        latencies: `latencies.latency_table`.
        ratios: `costs.ratios` of these cases against the baselines of their groups.
        model: what launches differ by.
    """

    run: Run
    latencies: pd.DataFrame
    ratios: pd.DataFrame
    model: LaunchModel

    def rows_of(self, setting: Setting) -> Sequence[LatencyRow]:
        """Return the measured cases of a setting, in the order of the latencies."""
        return self._rows.get(setting, ())

    def planned_in(self, setting: Setting) -> Sequence[Case]:
        """Return the cases of a setting that were planned."""
        return self._planned.get(setting, ())

    def failures_in(self, setting: Setting) -> Sequence[tuple[Case, Failure]]:
        """Return the failures of cases of a setting."""
        return self._failures.get(setting, ())

    def ratios_of(self, rows: Iterable[LatencyRow]) -> pd.DataFrame:
        """Return the ratios of some cases, with their label and size beside them."""
        found = [(row, self._places[row.case]) for row in rows if row.case in self._places]
        counts = np.array([len(places) for _, places in found], dtype=np.intp)
        taken = self.ratios.take(np.concatenate([places for _, places in found]) if found else [])
        labels = np.array([row.label for row, _ in found], dtype=object)
        sizes = np.array([row.size for row, _ in found], dtype=np.int64)
        return taken.assign(label=np.repeat(labels, counts), size=np.repeat(sizes, counts))

    @cached_property
    def _rows(self) -> Mapping[Setting, list[LatencyRow]]:
        found: dict[Setting, list[LatencyRow]] = {}
        settings = self.latencies[KEYS].itertuples(index=False, name=None)
        rows = self.latencies[list(LatencyRow._fields)].itertuples(index=False, name=None)
        for setting, values in zip(settings, rows, strict=True):
            case, label, size, variant, gradient, seconds, low, high, launches, too_noisy = values
            names = (str(case), str(label), int(size), str(variant), str(gradient))
            row = LatencyRow(*names, float(seconds), float(low), float(high), int(launches), bool(too_noisy))
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
