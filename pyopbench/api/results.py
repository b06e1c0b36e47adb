"""The results of `pyopbench.run`, `read` and `compare`: objects with frames, for scripts and notebooks.

`docs/python.md` has the columns of every frame and their units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from pyopbench.engine import stored_run
from pyopbench.engine.sides import failing_slowdown, find_measured
from pyopbench.judge.comparison import gate as gate_wording
from pyopbench.judge.comparison.diff import Comparison
from pyopbench.judge.comparison.gate import Gate, VersionComparison, judge_versions, read_gate
from pyopbench.judge.decision import Decision
from pyopbench.judge.judge import Judgement, Judging, judge
from pyopbench.model import formatting
from pyopbench.model.errors import BadInput
from pyopbench.model.files import write_atomically
from pyopbench.report import columns
from pyopbench.store.run import OpenRun, report_folder

SHOWN = 20
"""Decisions shown in the text of a result; its frame has all."""


class RunResult:
    """Measurements of ops, and the decisions on them.

    Attributes:
        judgement: everything that the report shows; not a stable interface.
        sources: the folders and files that it was read from.
        folder: the default folder of its report.
    """

    def __init__(self, judgement: Judgement, sources: Sequence[Path], folder: Path) -> None:
        self.judgement, self.sources, self.folder = judgement, tuple(sources), folder

    @cached_property
    def decisions(self) -> pd.DataFrame:
        """The decisions: a row for each op and use."""
        return columns.DECISIONS.frame(self.judgement)

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """How each variant compares with the current callback: a row for each case but those of the baseline."""
        return columns.VERDICTS.frame(self.judgement)

    @cached_property
    def latencies(self) -> pd.DataFrame:
        """How long a call takes, in seconds: a row for each measured case."""
        return columns.LATENCIES.frame(self.judgement)

    @cached_property
    def failures(self) -> pd.DataFrame:
        """The cases without a number, and why: a row for each."""
        return columns.FAILURES.frame(self.judgement)

    @cached_property
    def arrangements(self) -> pd.DataFrame:
        """How fast each arrangement is in a run of `pyopbench pipeline`, the quickest first.

        Raises:
            BadInput: the run was not measured in a pipeline.
        """
        if self.judgement.pipeline is None:
            raise BadInput("not measured in a pipeline", received=self, hint="pyopbench pipeline OP --out DIR")
        return columns.ARRANGEMENTS.frame(self.judgement.pipeline)

    def report(self, folder: str | Path | None = None) -> Path:
        """Write `report.html`, `report.md` and `decisions.json`, and return the path of the first.

        Args:
            folder: where; None for that of the results, or `results/report-NAME` for a file of another tool.
        """
        from pyopbench.report.write import write  # half a second, which no frame needs

        return write(self.judgement, self.folder if folder is None else Path(folder))[0]

    def __repr__(self) -> str:
        decisions = self.judgement.decisions
        lines = [f"  {one.op} for {one.use}: {one.answer.text()}{_saving(one)}" for one in decisions[:SHOWN]]
        more = [f"  and {len(decisions) - SHOWN:,} more"] if len(decisions) > SHOWN else []
        where = formatting.listing([str(one) for one in self.sources])
        return "\n".join([f"RunResult of {where}: {formatting.count(len(decisions), 'decision')}", *lines, *more])


class ComparisonResult:
    """The changes from one result, side A, to another, side B.

    Attributes:
        comparison: everything that the outputs show; not a stable interface.
    """

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """The verdicts on side B: a row for each case of both sides, the worst first."""
        return columns.COMPARED.frame(self.comparison)

    @cached_property
    def unmatched(self) -> pd.DataFrame:
        """The cases with a number on one side only: a row for each."""
        return columns.UNMATCHED.frame(self.comparison)

    def report(self, folder: str | Path) -> Path:
        """Write `comparison.md` into a folder, and return its path."""
        from pyopbench.report.comparison import markdown

        path = Path(folder) / "comparison.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, markdown(self.comparison, "").encode())
        return path

    def __repr__(self) -> str:
        return f"ComparisonResult: {self.comparison.title()}\n  {self.comparison.summary()}"


class SidesResult:
    """Measurements on several sides, each compared with the first: `run` with `tf`, `rev`, ...

    Attributes:
        folder: of the run; the report of each environment has a folder in it.
        comparisons: label -> the changes from the first side to that one.
        gate: everything that `comment.md` and `gate.json` show; not a stable interface.
        across: the same for the reports of environments; None for revisions.
    """

    def __init__(self, run: OpenRun, judging: Judging, fail_on: str | None = None) -> None:
        """Compare the sides; `fail_on` is what fails, as the option, and None for `slower` of revisions."""
        self.folder, self._run, self._judging = run.folder, run, judging
        slowdown = failing_slowdown(run, fail_on, judging.minimum_effect)
        self.gate: Gate = read_gate(run, judging.minimum_effect, slowdown)
        self.comparisons = {label: ComparisonResult(one) for label, one in self.gate.comparisons.items()}
        self.across: VersionComparison | None = None
        if not run.has_revisions:
            measured, unmeasured = find_measured(run)
            self.across = judge_versions(run, measured, judging, self.gate, unmeasured)

    @cached_property
    def runs(self) -> Mapping[str, RunResult]:
        """Label -> the result of that side alone, of those that have a sample and are no control."""
        if self.across is not None:
            judgements = self.across.judgements
        else:
            labels = {side.label for side in find_measured(self._run)[0]}
            sides = [one for one in self._run.measured if one.side.label in labels]
            judgements = {one.side.label: judge([self._run.alone(one)], self._judging) for one in sides}
        return {
            label: RunResult(judgement, [self.folder], report_folder(self.folder, label))
            for label, judgement in judgements.items()
        }

    @property
    def outcome(self) -> str:
        """`passed`, `failed`, or `nothing` where there is nothing to compare; as the exit code of `run --rev`."""
        return self.gate.outcome

    def report(self) -> Path:
        """Write `comment.md` and `gate.json`, and a report of each environment; return the folder."""
        from pyopbench.report.gate import write
        from pyopbench.report.write import write_versions

        if self.across is not None:
            write_versions(self._run, self.across)
        write(self.gate, self.folder)
        return self.folder

    def __repr__(self) -> str:
        names = [f"  {gate_wording.name_text(one)}" for one in (self.gate.first, *self.gate.others)]
        return "\n".join([f"SidesResult of {self.folder}: {self.gate.answer_text()}", *names])


AnyResult: TypeAlias = RunResult | SidesResult
"""The result of a run: on one side, or on several."""


def result_of(run: OpenRun, judging: Judging, fail_on: str | None = None) -> AnyResult:
    """Judge a run, be it on one side or on several; raises `NothingMeasured` if there is no sample."""
    if run.has_several_sides:
        return SidesResult(run, judging, fail_on)
    stored_run.require_measured(run.measured[0])
    return RunResult(judge([run], judging), [run.folder], run.folder)


def _saving(one: Decision) -> str:
    return "" if one.saved is None else f", saves {formatting.saved_at_least(one.saved, one.saved_low)}"
