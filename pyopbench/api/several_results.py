"""What `pyopbench.run` and `read` return of a run on several sides: environments or revisions."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

from pyopbench.api import frames
from pyopbench.api.results import ComparisonResult, RunResult, links_in
from pyopbench.engine import stored_run
from pyopbench.engine.sides import failing_slowdown, find_measured
from pyopbench.judge.comparison import gate as gate_wording
from pyopbench.judge.comparison.gate import Gate, read_gate
from pyopbench.judge.comparison.versions import VersionComparison, judge_versions
from pyopbench.judge.judge import Judging, judge
from pyopbench.store.run import OpenRun, OpenSide, open_run, report_folder, require_new

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement


def result_of(run: OpenRun, judging: Judging, fail_on: str | None = None) -> AnyResult:
    """Judge a run, be it on one side or on several.

    Args:
        run: as it is in memory.
        judging: how to judge.
        fail_on: what a run on several sides fails on, as `--fail-on`.

    Raises:
        BadInput: a file is not as it was written.
        NothingMeasured: there is no sample.
    """
    if run.has_several_sides:
        return SidesResult(run, judging, fail_on)
    stored_run.require_measured(run.measured[0])
    return RunResult(judge([run], judging), [run.folder], run.folder)


class SidesResult:
    """What was measured on several sides, and how the others compare with the first: `run` with `tf`, `packages`, ...

    The frames are those of a `RunResult`, with a first column `side`: the label of the side.

    Attributes:
        folder: of the run; the report of each environment has a folder in it.
        comparisons: label -> what changed to that side from the first.
        gate: all that `comment.md`, `gate.json` and `junit.xml` are made of; its parts are not kept stable.
        across: all that the reports of environments are made of, as little kept stable; None for revisions.
    """

    def __init__(self, run: OpenRun, judging: Judging, fail_on: str | None = None) -> None:
        """Compare what was measured.

        Args:
            run: as it is in memory.
            judging: how to judge.
            fail_on: what fails, as `--fail-on`: `slower`, `slower:5%` or `never`; None for `slower` of revisions.

        Raises:
            NothingMeasured: no environment has a sample.
        """
        self.folder, self._run, self._judging, self._fail_on = run.folder, run, judging, fail_on
        self._judgements: Mapping[str, Judgement] = {}
        self.across: VersionComparison | None = None
        if not run.has_revisions:
            found, unmeasured = find_measured(run)
            self._judgements, self.across = judge_versions(run, found, judging, unmeasured)
        slowdown = failing_slowdown(run, fail_on, judging.minimum_effect)
        self.gate: Gate = read_gate(run, judging.minimum_effect, slowdown)
        found_changes = self.gate.comparisons if self.across is None else self.across.comparisons
        self.comparisons = {label: ComparisonResult(one) for label, one in found_changes.items()}

    @cached_property
    def runs(self) -> Mapping[str, RunResult]:
        """Label -> the result of that side alone, of those that have a sample; the control is none of them."""
        return {
            measured.side.label: RunResult(
                self._judgement_of(measured),
                [self.folder],
                report_folder(self.folder, measured.side.label),
                self._run.alone(measured),
            )
            for measured in self._run.measured
            if not measured.side.is_control and stored_run.why_nothing(measured) is None
        }

    def _judgement_of(self, measured: OpenSide) -> Judgement:
        known = self._judgements.get(measured.side.label)
        return judge([self._run.alone(measured)], self._judging) if known is None else known

    @cached_property
    def decisions(self) -> pd.DataFrame:
        """What to do on each side: a row for each side, op and use."""
        return self._of_each(lambda run: run.decisions)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """How each variant compares with the current callback of its side."""
        return self._of_each(lambda run: run.verdicts)

    @cached_property
    def latencies(self) -> pd.DataFrame:
        """How long a call takes on each side, in seconds."""
        return self._of_each(lambda run: run.latencies)

    @cached_property
    def failures(self) -> pd.DataFrame:
        """What has no number on a side, and why."""
        return self._of_each(lambda run: run.failures)

    @cached_property
    def changes(self) -> pd.DataFrame:
        """What became slower or faster from the first side (A) to each other one (B)."""
        return frames.by_side({label: one.verdicts for label, one in self.comparisons.items()}, frames.COMPARED)

    def slower(self, by: float | None = None) -> pd.DataFrame:
        """Return the rows of `changes` that are slower, and by at least a share; None for the minimum effect.

        An empty frame is what a gate passes on.
        """
        return frames.by_side({label: one.slower(by) for label, one in self.comparisons.items()}, frames.COMPARED)

    def _of_each(self, frame: Callable[[RunResult], pd.DataFrame]) -> pd.DataFrame:
        return frames.by_side({label: frame(run) for label, run in self.runs.items()})

    @property
    def outcome(self) -> str:
        """`passed`, `failed`, or `nothing` where there is nothing to compare; as the exit code of `run --rev`."""
        return self.gate.outcome

    @cached_property
    def values(self) -> pd.DataFrame:
        """What sides compute otherwise than the first: a row for each op, size and dtype."""
        return frames.value_differences(self.gate)

    def report(self) -> Path:
        """Write `comment.md`, `gate.json` and `junit.xml`, and a report of each environment; return the folder."""
        from pyopbench.report.gate import write
        from pyopbench.report.write import write_versions  # half a second, which no frame needs

        if self.across is not None:
            write_versions(self._run, self._judgements, self.across)
        write(self.gate, self.folder)
        return self.folder

    def save(self, folder: str | Path) -> Path:
        """Copy the stored results into a new folder, with what `report` writes, and return the folder.

        Raises:
            BadInput: the folder holds a run.
        """
        place = Path(folder)
        require_new(place)
        copied = Path(shutil.copytree(self.folder, place, ignore=links_in, dirs_exist_ok=True))
        return SidesResult(open_run(copied), self._judging, self._fail_on).report()

    def __repr__(self) -> str:
        if self.across is None:
            names = [f"  {gate_wording.name_text(one)}" for one in (self.gate.first, *self.gate.others)]
            return "\n".join([f"SidesResult of {self.folder}: {self.gate.answer_text()}", *names])
        each = [f"  {one.comparison.title()}\n    {one.comparison.summary()}" for one in self.comparisons.values()]
        return "\n".join([f"SidesResult of {self.folder}: {', '.join(self.runs)}", *each])


AnyResult: TypeAlias = RunResult | SidesResult
"""What a run comes to: on one side, or on several."""
