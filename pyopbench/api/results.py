"""Judges stored results, `pyopbench.read` and `compare`; results are objects with frames, for scripts and notebooks.

`docs/python.md` has the columns of every frame and their units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from pyopbench.engine import stored_run
from pyopbench.engine.sides import failing_slowdown, find_measured, refuse_to_fail, resolve_thresholds
from pyopbench.engine.stored_run import find_target, planned_effect
from pyopbench.judge import requirements
from pyopbench.judge.comparison import gate as gate_wording
from pyopbench.judge.comparison.diff import Comparison, compare_sides
from pyopbench.judge.comparison.gate import Gate, VersionComparison, judge_versions, read_gate
from pyopbench.judge.comparison.sides import read_sides
from pyopbench.judge.judge import Judgement, Judging, judge
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput
from pyopbench.model.files import write_atomically
from pyopbench.report import columns
from pyopbench.store.mix_file import Calls, read_mix
from pyopbench.store.run import OpenRun, Source, open_sources, report_folder

Mix: TypeAlias = Mapping[int, float] | str | Path | None
"""size -> how often it is called, or the path of such a CSV file; None for an even mix."""


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
        where = formatting.listing([str(one) for one in self.sources])
        lines = [f"  {one.op} for {one.use}: {one.answer.text()}" for one in decisions]
        return "\n".join([f"RunResult of {where}: {formatting.count(len(decisions), 'decision')}", *lines])


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
        self.across = None if run.has_revisions else self._each

    @cached_property
    def _each(self) -> VersionComparison:
        measured, unmeasured = find_measured(self._run)
        return judge_versions(self._run, measured, self._judging, self.gate, unmeasured)

    @cached_property
    def runs(self) -> Mapping[str, RunResult]:
        """Label -> the result of that side alone, of those that have a sample and are no control."""
        return {
            label: RunResult(judgement, [self.folder], report_folder(self.folder, label))
            for label, judgement in self._each.judgements.items()
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


def read(
    *results: str | Path,
    baseline: str | None = None,
    minimum_effect: float | None = None,
    mix: Mix = None,
    requires: Sequence[str] = (),
    fail_on: str | None = None,
) -> AnyResult:
    """Read stored results and judge them. Nothing is measured, and nothing is written.

    Args:
        results: a folder of a run, or several of one environment, which are pooled; or one file of asv or
            pytest-benchmark. A folder of a run with `tf` or `rev` cannot be pooled.
        baseline: the variant that is the current callback; None for that of the run.
        minimum_effect: the smallest difference that matters, as a share; None for that of the run.
        mix: as for `run`.
        requires: as for `run`.
        fail_on: for a run over revisions, the slowdown that fails it: `slower`, `slower:5%` or `never`; None for
            `slower`.

    Returns:
        The decisions, verdicts and latencies, as frames and as a report: a `RunResult`, or what `run` returned with
        `tf` or `rev`.

    Raises:
        BadInput: there are no such results, or an argument is out of range.
        NothingMeasured: they have no sample.

    >>> pyopbench.read("results/reference").decisions  # doctest: +SKIP
    """
    paths = [Path(one) for one in results]
    sources, judging, folder, fail_on = open_judged(paths, baseline, minimum_effect, mix, requires, fail_on)
    run = run_on_sides(sources)
    return RunResult(judge(sources, judging), paths, folder) if run is None else SidesResult(run, judging, fail_on)


def open_judged(  # noqa: PLR0913 - the options of `read`
    paths: Sequence[Path],
    baseline: str | None,
    minimum_effect: float | None,
    mix: Mix,
    requires: Sequence[str],
    fail_on: str | None,
) -> tuple[list[Source], Judging, Path, str | None]:
    """Open results, and return how to judge them, the folder of their report, and the slowdown that fails too."""
    if not paths:
        raise BadInput("no results are named", received="nothing", hint='for example "results/reference"')
    sources = list(open_sources(paths))
    run = run_on_sides(sources)
    usual, folder = find_target(sources) if run is None else (run.plan.settings.baseline, run.folder)
    judging, fail_on = how_to_judge(sources, baseline or usual, minimum_effect, mix, requires, fail_on)
    return sources, judging, folder, fail_on


def how_to_judge(  # noqa: PLR0913 - the options of `read`
    sources: Sequence[Source],
    baseline: str,
    minimum_effect: float | None,
    mix: Mix,
    requires: Sequence[str],
    fail_on: str | None,
) -> tuple[Judging, str | None]:
    """Return how to judge results, and the slowdown that fails: options that are None come from the run."""
    run = run_on_sides(sources)
    if run is not None:
        minimum_effect, fail_on = resolve_thresholds(run, minimum_effect, fail_on)
    else:
        refuse_to_fail(fail_on)
    effect = planned_effect(sources) if minimum_effect is None else minimum_effect
    return judging_of(baseline, effect, mix, requires), fail_on


def run_on_sides(sources: Sequence[Source]) -> OpenRun | None:
    """Return the run on several sides that the only source is; None for anything else."""
    run = sources[0]
    return run if len(sources) == 1 and isinstance(run, OpenRun) and run.has_several_sides else None


def compare(first: str | Path, second: str | Path, minimum_effect: float | None = None) -> ComparisonResult:
    """Compare two stored results.

    Args:
        first: the folder or the file of side A.
        second: that of side B.
        minimum_effect: the smallest difference that matters, as a share; None for 0.03.

    Returns:
        A verdict on each case that both sides have.

    Raises:
        BadInput: there are no such results, or the sides are of different tools.
        NothingMeasured: no case has a number on both sides.
    """
    effect = judging_of("", MINIMUM_EFFECT if minimum_effect is None else minimum_effect).minimum_effect
    return ComparisonResult(compare_sides(read_sides(first, second), effect))


def judging_of(
    baseline: str, minimum_effect: float = MINIMUM_EFFECT, mix: Mix = None, requires: Sequence[str] = ()
) -> Judging:
    """Return how to judge, from options that are checked."""
    if not 0 < minimum_effect < 1:
        raise BadInput(
            "the minimum effect is out of range",
            received=f"minimum_effect={minimum_effect!r}",
            hint="give a share above 0 and below 1; 0.03 is 3%",
        )
    return Judging(baseline, minimum_effect, _calls(mix), requires=requirements.check(tuple(requires)))


def _calls(mix: Mix) -> Calls | None:
    if isinstance(mix, str | Path):
        return read_mix(Path(mix))
    if mix is not None and not (mix and all(size >= 1 and 0 < weight < math.inf for size, weight in mix.items())):
        raise BadInput(
            "not a mix of sizes",
            received=f"mix={dict(mix)!r}",
            hint="give size -> how often it is called, sizes from 1 and weights above 0: mix={1000: 5, 1_000_000: 1}",
        )
    return mix
