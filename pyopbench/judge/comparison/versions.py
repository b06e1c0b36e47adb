"""One run on several environments: the answers on each of them, and the changes from the first to the others.

Every report of such a run shows all of them, in addition to what it says of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.judge.comparison.diff import Comparison
from pyopbench.judge.decision import Decision
from pyopbench.judge.judge import judge
from pyopbench.model.errors import NothingMeasured

if TYPE_CHECKING:
    from pyopbench.judge.comparison.gate import Gate
    from pyopbench.judge.judge import Judgement, Judging
    from pyopbench.store.run import OpenRun
    from pyopbench.store.types import Side


@dataclass(frozen=True, eq=False)
class VersionResult:
    """What was judged of one environment.

    Attributes:
        label: as `store.types.Side.label`.
        numpy: the version of NumPy there; "" where that is not known.
        decisions: as of its judgement.
        latencies: as `latencies.latency_table`.
    """

    label: str
    numpy: str
    decisions: tuple[Decision, ...]
    latencies: pd.DataFrame


@dataclass(frozen=True, eq=False)
class VersionComparison:
    """All environments of a run.

    Attributes:
        shown: label of the one that the report is of.
        versions: in the order in which they were asked for; the others are compared with the first.
        comparisons: label -> the changes from the first to that one; none without a case in common with it.
        unmatched: label -> why there is no comparison.
        unmeasured: label -> why one that was asked for has no sample; it is in none of the others.
    """

    shown: str
    versions: tuple[VersionResult, ...]
    comparisons: Mapping[str, Comparison]
    unmatched: Mapping[str, NothingMeasured]
    unmeasured: Mapping[str, str] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in their order."""
        return tuple(version.label for version in self.versions)


def judge_versions(
    run: OpenRun, versions: Sequence[Side], judging: Judging, gate: Gate, unmeasured: Mapping[str, str]
) -> tuple[dict[str, Judgement], VersionComparison]:
    """Judge every environment of a run, next to how they compare.

    Args:
        run: on several environments.
        versions: those that have a sample, at least one.
        judging: how to judge.
        gate: of the run.
        unmeasured: label -> why an environment has no sample.
    """
    labels = {version.label for version in versions}
    judgements = {
        measured.side.label: judge([run.alone(measured)], judging)
        for measured in run.measured
        if measured.side.label in labels
    }
    results = tuple(
        VersionResult(label, str(one.run.environment.get("numpy") or ""), one.decisions, one.latencies)
        for label, one in judgements.items()
    )
    unmatched = {label: error for label, error in gate.unmatched.items() if label in labels}
    return judgements, VersionComparison(results[0].label, results, gate.comparisons, unmatched, unmeasured)
