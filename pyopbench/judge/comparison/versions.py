"""One run on several environments: the answers on each of them, and the changes from the first to the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyopbench.judge.comparison.diff import Comparison
from pyopbench.judge.judge import judge
from pyopbench.model.errors import NothingMeasured

if TYPE_CHECKING:
    from pyopbench.judge.comparison.gate import Gate
    from pyopbench.judge.judge import Judgement, Judging
    from pyopbench.store.run import OpenRun
    from pyopbench.store.types import Side


@dataclass(frozen=True, eq=False)
class VersionComparison:
    """All environments of a run, by the labels of their sides."""

    shown: str  # the one that the report is of
    # In the order in which they were asked for; the others are compared with the first
    judgements: Mapping[str, Judgement]
    # The changes from the first to that one; none without a case in common with it
    comparisons: Mapping[str, Comparison]
    unmatched: Mapping[str, NothingMeasured]  # why there is no comparison
    unmeasured: Mapping[str, str]  # why one that was asked for has no sample; it is in none of the others

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in their order."""
        return tuple(self.judgements)


def judge_versions(
    run: OpenRun, versions: Sequence[Side], judging: Judging, gate: Gate, unmeasured: Mapping[str, str]
) -> VersionComparison:
    """Judge every environment of a run that has a sample, at least one, next to how they compare by its gate."""
    labels = {version.label for version in versions}
    sides = [measured for measured in run.measured if measured.side.label in labels]
    judgements = {measured.side.label: judge([run.alone(measured)], judging) for measured in sides}
    unmatched = {label: error for label, error in gate.unmatched.items() if label in labels}
    return VersionComparison(next(iter(judgements)), judgements, gate.comparisons, unmatched, unmeasured)
