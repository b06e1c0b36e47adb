"""The current callback and everything that could take its place, in one setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from pyopbench.judge.contrasts import Contrasts, contrasts_of
from pyopbench.judge.decision import Bar, Unknown
from pyopbench.judge.latencies import label_of, standing, usual_gradients
from pyopbench.model.case import Case, Failure
from pyopbench.stats.estimate import Spread

if TYPE_CHECKING:
    from pyopbench.store.measured_run import Run


TOO_NOISY = "too noisy"
"""What is said of a case of the baseline that was measured, next to the statuses of those that failed."""
USES = {"forward": "inference", "forward_backward": "training"}
"""The direction that is run in each use; backward alone is run in none."""
KEYS = ["op", "direction", "mode", "dtype", "placement"]


@dataclass(frozen=True)
class Setting:
    """The subject of one decision; `direction` is `forward` for inference, `forward_backward` for training."""

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


@dataclass(frozen=True)
class Candidate:
    """Something that could stand in for the current callback."""

    label: str  # `variant` or `variant+gradient`
    kind: str  # `callback` or `port`
    effort: float  # rank of the work to get there; infinite where the catalogue has none


@dataclass(frozen=True, eq=False)
class SettingComparison:
    """The baseline of one setting, its candidates, and what is missing."""

    setting: Setting
    baseline: str  # label of the current callback; the variant's name if it has no number
    seconds: Mapping[int, float]  # size -> seconds per call of the baseline, ascending; empty if it has no number
    # Every other label that was paired with the baseline somewhere, in the order of their labels
    candidates: tuple[Candidate, ...]
    curves: pd.DataFrame  # seconds per call, one row per size, one column per label; nan is no number
    contrasts: Contrasts  # differences of what labels cost, in shares of the baseline's time
    planned: tuple[int, ...]  # sizes that were planned or measured for any label, ascending
    failures: Mapping[tuple[str, int], Failure]  # (label, size) -> the first failure
    # (label, size) -> launches, of what was measured of the baseline and is too noisy to compare with; by size
    too_noisy: Mapping[tuple[str, int], int] = field(default_factory=dict)
    # (label, size) of costs that are too noisy to be shown (`Estimate.is_too_noisy`)
    unclear: frozenset[tuple[str, int]] = frozenset()
    barred: tuple[Bar, ...] = ()  # what was removed because it cannot do what is required
    unknown: tuple[Unknown, ...] = ()  # what is required and was not tried with some labels
    must_change: bool = False  # may the current callback not stay, for it cannot do what is required?

    def statuses(self, label: str, sizes: Iterable[int]) -> tuple[str, ...]:
        """Return how a label failed at some sizes, each status once; empty where nothing is known of that."""
        known = dict.fromkeys(self.too_noisy, TOO_NOISY) | {place: one.status for place, one in self.failures.items()}
        return tuple(dict.fromkeys(known[label, size] for size in sizes if (label, size) in known))


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


def comparisons_of(
    run: Run, latencies: pd.DataFrame, ratios: pd.DataFrame, spread: Spread, baseline: str
) -> tuple[SettingComparison, ...]:
    """Return the comparison of each setting of a run, from `latency_table` and the `costs.ratios` to its baselines."""
    rows: dict[Setting, list[Any]] = {}
    for row in latencies.itertuples(index=False):
        rows.setdefault(Setting(*(str(getattr(row, key)) for key in KEYS)), []).append(row)
    planned: dict[Setting, set[int]] = {}
    for case in map(Case.from_id, run.cases):
        planned.setdefault(Setting.of(case), set()).add(case.size)
    failures: dict[Setting, dict[tuple[str, int], Failure]] = {}
    for failure in run.failures:
        case = Case.from_id(failure.case)
        place = (label_of(run.catalogue, case.variant, case.gradient), case.size)
        failures.setdefault(Setting.of(case), {}).setdefault(place, failure)
    named = ratios.astype({"case": "object"}).merge(latencies[["case", "label", "size"]], on="case")

    def compare(setting: Setting) -> SettingComparison:
        here = rows.get(setting, [])
        # The current callback has the first of its gradients whose cost can be compared with at any size.
        order = usual_gradients(run.catalogue, baseline)
        ours = [row for row in here if row.variant == baseline]
        usual = min(ours, key=lambda row: (not _is_clear(row), standing(row.gradient, order)), default=None)
        ours = [row for row in ours if usual is not None and row.gradient == usual.gradient]
        seconds = {int(row.size): float(row.seconds) for row in ours if _is_clear(row)}
        today = {row.case for row in ours if _is_clear(row)}
        others = [row for row in here if row.case not in today and row.size in seconds]
        variants = {row.label: run.catalogue.variant(row.variant) for row in others}
        ports = frozenset(label for label, facts in variants.items() if (facts.kind or "port") == "port")
        label = ours[0].label if ours else baseline
        contrasts = contrasts_of(named[named["case"].isin([row.case for row in others])], label, ports, spread)
        failed = failures.get(setting, {})
        return SettingComparison(
            setting,
            label,
            seconds,
            tuple(
                Candidate(one, variants[one].kind or "port", variants[one].effort)
                for one in contrasts.labels
                if one in variants
            ),
            pd.DataFrame(here, columns=latencies.columns).pivot(index="size", columns="label", values="seconds"),
            contrasts,
            tuple(sorted(planned.get(setting, set()) | {int(row.size) for row in here})),
            failed,
            {
                (row.label, int(row.size)): int(row.launches)
                for row in sorted(ours, key=lambda row: row.size)
                if not _is_clear(row)
            },
            frozenset((row.label, int(row.size)) for row in here if row.too_noisy),
        )

    return tuple(map(compare, settings_of(run)))


def _is_clear(row: Any) -> bool:
    # A launch with a cost at or below zero has no ratio, and the launches that are left would be the slow ones.
    return bool(row.seconds > 0 and not row.too_noisy)
