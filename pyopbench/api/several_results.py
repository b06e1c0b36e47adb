"""What `pyopbench.run` and `read` return of a run on several versions of TensorFlow, or over several revisions."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

from pyopbench.api import frames
from pyopbench.api.results import ComparisonResult, RunResult, links_in
from pyopbench.engine import plan, stored_run
from pyopbench.engine.revision_request import slowdown_of
from pyopbench.judge.comparison.gate import Gate, read_gate
from pyopbench.judge.comparison.versions import VersionComparison, judge_versions
from pyopbench.judge.judge import Judging, judge
from pyopbench.model.ownership import require_own
from pyopbench.report import notebook
from pyopbench.report.wording import gate as gate_wording
from pyopbench.report.wording.comparison import summary, title
from pyopbench.store import run_folder, versions
from pyopbench.store.versions import Version

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement


def result_of(folder: Path, judging: Judging, fail_on: str | None = None) -> AnyResult:
    """Judge the run in a folder, be it of one version or of several.

    Args:
        folder: of the run.
        judging: how to judge.
        fail_on: what a run over revisions fails on, as `--fail-on`.

    Raises:
        BadInput: a file is not as it was written.
        NothingMeasured: there is no sample.
    """
    if versions.is_of_revisions(folder):
        return RevisionsResult(folder, judging, fail_on)
    if versions.is_here(folder):
        return VersionsResult(folder, judging)
    stored_run.require_measured(folder)
    return RunResult(judge([folder], judging), [folder], folder)


class SeveralResults:
    """What was measured on several versions, each a run of its own, and how the others compare with the first.

    The frames are those of a `RunResult`, with a first column `version`: the label of the version.

    Attributes:
        folder: of all; each version has a folder in it.
        runs: label -> the result of that version alone.
        comparisons: label -> what changed to that version from the first.
    """

    folder: Path
    runs: Mapping[str, RunResult]
    comparisons: Mapping[str, ComparisonResult]

    @cached_property
    def decisions(self) -> pd.DataFrame:
        """What to do on each version: a row for each version, op and use."""
        return self._of_each(lambda run: run.decisions)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """How each variant compares with the current callback of its version."""
        return self._of_each(lambda run: run.verdicts)

    @cached_property
    def latencies(self) -> pd.DataFrame:
        """How long a call takes on each version, in seconds."""
        return self._of_each(lambda run: run.latencies)

    @cached_property
    def failures(self) -> pd.DataFrame:
        """What has no number on a version, and why."""
        return self._of_each(lambda run: run.failures)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """What became slower or faster from the first version (side A) to each other one (side B)."""
        return frames.by_version({label: one.verdicts for label, one in self.comparisons.items()}, frames.COMPARED)

    def slower(self, by: float | None = None) -> pd.DataFrame:
        """Return the rows of `changes` that are slower, and by at least a share; None for the minimum effect.

        An empty frame is what a gate passes on.
        """
        return frames.by_version({label: one.slower(by) for label, one in self.comparisons.items()}, frames.COMPARED)

    def _of_each(self, frame: Callable[[RunResult], pd.DataFrame]) -> pd.DataFrame:
        return frames.by_version({label: frame(run) for label, run in self.runs.items()})

    def _copy_to(self, folder: str | Path) -> Path:
        place = Path(folder)
        run_folder.require_new(place)
        plan.require_new_folder(place)
        require_own(place)
        return Path(shutil.copytree(self.folder, place, ignore=links_in, dirs_exist_ok=True))


class VersionsResult(SeveralResults):
    """What was measured on several versions of TensorFlow: `pyopbench.run(..., tf=[...])`.

    Attributes:
        across: all that the report is made of; its parts are not kept stable.
    """

    def __init__(self, folder: Path, judging: Judging) -> None:
        """Judge what is stored.

        Raises:
            NothingMeasured: no version has a sample.
        """
        self.folder, self._judging = folder, judging
        found, unmeasured = plan.find_measured(folder)
        self._judgements: Mapping[Version, Judgement]
        self.across: VersionComparison
        self._judgements, self.across = judge_versions(folder, found, judging, unmeasured)
        self.runs = {
            version.label: RunResult(judgement, [version.folder], version.folder)
            for version, judgement in self._judgements.items()
        }
        self.comparisons = {label: ComparisonResult(one) for label, one in self.across.comparisons.items()}

    def report(self) -> Path:
        """Write a report into the folder of each version, and each comparison into that of all; return that folder."""
        from pyopbench.report.write import write_versions  # half a second, which no frame needs

        require_own(self.folder)
        for version in self._judgements:
            require_own(version.folder)
        write_versions(self.folder, self._judgements, self.across)
        return self.folder

    def save(self, folder: str | Path) -> Path:
        """Copy the stored results into a new folder, with their reports, and return the folder.

        Raises:
            BadInput: the folder holds a run, or is another user's.
        """
        return VersionsResult(self._copy_to(folder), self._judging).report()

    def __repr__(self) -> str:
        each = [f"  {title(one.comparison)}\n    {summary(one.comparison)}" for one in self.comparisons.values()]
        return "\n".join([f"VersionsResult of {self.folder}: {', '.join(self.runs)}", *each])

    def _repr_html_(self) -> str:
        return self._html

    @cached_property
    def _html(self) -> str:
        return notebook.versions_html(next(iter(self._judgements.values())), self.across)


class RevisionsResult(SeveralResults):
    """What was measured over revisions of your repository: `pyopbench.run(..., rev=[...])`.

    Attributes:
        gate: all that the outputs are made of; its parts are not kept stable.
    """

    def __init__(self, folder: Path, judging: Judging, fail_on: str | None = None) -> None:
        """Compare what is stored.

        Args:
            folder: of the run.
            judging: how to judge.
            fail_on: what fails, as `--fail-on`: `slower`, `slower:5%` or `never`; None for `slower`.
        """
        self.folder, self._judging, self._fail_on = folder, judging, fail_on
        self.gate: Gate = read_gate(folder, judging.minimum_effect, slowdown_of(fail_on, judging.minimum_effect))
        self.comparisons = {label: ComparisonResult(one) for label, one in self.gate.comparisons.items()}

    @cached_property
    def runs(self) -> Mapping[str, RunResult]:  # type: ignore[override]
        """Label -> the result of that revision alone, of those that have a sample; the control is none of them."""
        found = [one for one in versions.read(self.folder) if one.revision is not None and not one.revision.twin]
        return {
            one.label: RunResult(judge([one.folder], self._judging), [one.folder], one.folder)
            for one in found
            if stored_run.why_nothing(one.folder) is None
        }

    @property
    def outcome(self) -> str:
        """`passed`, `failed`, or `nothing` where there is nothing to compare; as the exit code of `run --rev`."""
        return self.gate.outcome

    @cached_property
    def values(self) -> pd.DataFrame:
        """What revisions compute otherwise than the first: a row for each op, size and dtype."""
        return frames.value_differences(self.gate)

    @cached_property
    def control(self) -> ComparisonResult | None:
        """A part of the first revision, measured twice: what noise alone does; None where it has no number."""
        return None if self.gate.twins is None else ComparisonResult(self.gate.twins)

    def report(self) -> Path:
        """Write `comment.md`, `gate.json` and `junit.xml` into the folder, and return it."""
        from pyopbench.report.gate import write

        require_own(self.folder)
        write(self.gate, self.folder)
        return self.folder

    def save(self, folder: str | Path) -> Path:
        """Copy the stored results into a new folder, with what `report` writes, and return the folder.

        Raises:
            BadInput: the folder holds a run, or is another user's.
        """
        return RevisionsResult(self._copy_to(folder), self._judging, self._fail_on).report()

    def __repr__(self) -> str:
        names = [f"  {gate_wording.name_text(one)}" for one in (self.gate.first, *self.gate.others)]
        return "\n".join([f"RevisionsResult of {self.folder}: {gate_wording.answer_text(self.gate)}", *names])

    def _repr_html_(self) -> str:
        return self._html

    @cached_property
    def _html(self) -> str:
        return notebook.gate_html(self.gate)


AnyResult: TypeAlias = RunResult | VersionsResult | RevisionsResult
"""What a run comes to: of one version, of several versions of TensorFlow, or over revisions."""
