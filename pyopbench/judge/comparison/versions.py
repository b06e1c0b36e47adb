"""One run on several versions of TensorFlow: what each version answers, and what changed from the first to the others.

Every report of such a run shows all versions, beside what it says of its own one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.judge.comparison.diff import Comparison, compare_sides
from pyopbench.judge.comparison.sides import Sides, sides_along, usual_over
from pyopbench.judge.decision import Decision
from pyopbench.judge.judge import judge
from pyopbench.judge.verdicts import Correction
from pyopbench.model.errors import NothingMeasured
from pyopbench.store.read import read_source
from pyopbench.store.run import axis_of

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement, Judging
    from pyopbench.store.run import OpenRun
    from pyopbench.store.types import Side


@dataclass(frozen=True, eq=False)
class VersionResult:
    """What was judged of one version.

    Attributes:
        label: the version, as `store.types.Side.label`.
        numpy: the NumPy that it brings; "" where that is not told.
        decisions: as of its judgement.
        latencies: as `latencies.latency_table`.
    """

    label: str
    numpy: str
    decisions: tuple[Decision, ...]
    latencies: pd.DataFrame


@dataclass(frozen=True, eq=False)
class VersionComparison:
    """All versions of a run.

    Attributes:
        shown: label of the version that the report is of.
        versions: in the order in which they were asked for; the others are compared with the first.
        comparisons: label -> what changed to that version from the first one; a version without a case in common with
            the first has none.
        unmatched: label -> why there is no comparison.
        unmeasured: label -> why a version that was asked for has no sample; it is in none of the others.
    """

    shown: str
    versions: tuple[VersionResult, ...]
    comparisons: Mapping[str, Comparison]
    unmatched: Mapping[str, NothingMeasured]
    unmeasured: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """The versions in their order."""
        return tuple(one.label for one in self.versions)


def compare_versions(run: OpenRun, versions: Sequence[VersionResult], minimum_effect: float) -> VersionComparison:
    """Compare the versions of a run with the first of them, which is the one that is shown.

    Args:
        run: on all versions.
        versions: at least one.
        minimum_effect: a relative difference that is worth acting on.
    """
    first, *others = (one.label for one in versions)
    axis, runs = axis_of([measured.side for measured in run.measured]), read_source(run)

    pairs = {label: sides_along(axis, runs, [first, label], str(run.folder)) for label in others}
    # As a gate compares them (`gate.read_gate`): one pair has one verdict, wherever it is shown.
    correction = Correction(max(len(others), 1), usual=usual_over(list(pairs.values())))

    def compare(sides: Sides) -> Comparison | NothingMeasured:
        try:
            return compare_sides(sides, minimum_effect, correction=correction)
        except NothingMeasured as error:
            return error

    found = {label: compare(sides) for label, sides in pairs.items()}
    comparisons = {label: one for label, one in found.items() if isinstance(one, Comparison)}
    unmatched = {label: one for label, one in found.items() if isinstance(one, NothingMeasured)}
    return VersionComparison(first, tuple(versions), comparisons, unmatched)


def judge_versions(
    run: OpenRun, versions: Sequence[Side], judging: Judging, unmeasured: Mapping[str, str]
) -> tuple[dict[str, Judgement], VersionComparison]:
    """Judge every version of a run, and compare the others with the first.

    Args:
        run: on several versions.
        versions: those that have a sample, at least one.
        judging: how to judge.
        unmeasured: label -> why a version has no sample.
    """
    labels = {version.label for version in versions}
    measured = {one.side.label: one for one in run.measured if one.side.label in labels}
    found = {label: judge([run.alone(one)], judging) for label, one in measured.items()}
    each = [
        VersionResult(label, str(one.run.environment.get("numpy") or ""), one.decisions, one.latencies)
        for label, one in found.items()
    ]
    return found, replace(compare_versions(run, each, judging.minimum_effect), unmeasured=unmeasured)
