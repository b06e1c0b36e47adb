"""Judges what is stored: `pyopbench.read` and `pyopbench.compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from pyopbench.api.judging import Mix, judging_of
from pyopbench.api.results import ComparisonResult, RunResult
from pyopbench.api.several_results import AnyResult, SidesResult, result_of
from pyopbench.engine.sides import refuse_to_fail, resolve_thresholds
from pyopbench.engine.stored_run import find_target, planned_effect
from pyopbench.judge.comparison.diff import compare_sides
from pyopbench.judge.comparison.sides import read_sides
from pyopbench.judge.judge import judge
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput
from pyopbench.stats.unpaired import RUN_SPREAD
from pyopbench.store.run import OpenRun, open_sources

Source: TypeAlias = str | Path
"""A folder of a run, a folder or file of asv, or a file of pytest-benchmark."""


def read(
    *results: Source,
    baseline: str | None = None,
    minimum_effect: float | None = None,
    mix: Mix = None,
    requires: Sequence[str] = (),
    fail_on: str | None = None,
) -> AnyResult:
    """Read stored results and judge them. Nothing is measured, and nothing is written.

    Args:
        results: a folder of a run, or several of one environment, which are pooled; or one file of asv or
            pytest-benchmark. A folder of a run with `tf` or `rev` is given by itself.
        baseline: the variant that is the current callback; None for that of the run.
        minimum_effect: the smallest difference that matters, as a share; None for that of the run.
        mix: as for `run`.
        requires: as for `run`.
        fail_on: of a run over revisions, what fails: `slower`, `slower:5%` or `never`; None for `slower`.

    Returns:
        The decisions, verdicts and latencies, as frames and as a report: a `RunResult`, or what `run` returned with
        `tf` or `rev`.

    Raises:
        BadInput: there are no such results, they are not as they were written, or an argument is out of range.
        NothingMeasured: they hold no sample.

    >>> pyopbench.read("results/reference").decisions  # doctest: +SKIP
    """
    paths = [Path(one) for one in results]
    if not paths:
        raise BadInput(
            "no results are named",
            received="read()",
            legal="a folder of a run, or a file of asv or pytest-benchmark",
            hint='for example pyopbench.read("results/reference")',
        )
    resolve_thresholds(None, minimum_effect, fail_on)  # checks it before anything is read
    sources = open_sources(paths)
    run = sources[0]
    if len(sources) == 1 and isinstance(run, OpenRun) and run.has_several_sides:
        effect, fail_on = resolve_thresholds(run, minimum_effect, fail_on)
        usual = run.plan.settings.baseline
        judging = judging_of(baseline or usual, effect, mix, requires)
        return result_of(run, judging, fail_on)
    refuse_to_fail(fail_on)
    usual, folder = find_target(sources)
    effect = planned_effect(sources) if minimum_effect is None else minimum_effect
    judging = judging_of(baseline or usual, effect, mix, requires)
    return RunResult(judge(sources, judging), paths, folder)


def compare(
    *sides: Source | RunResult | SidesResult,
    axis: str = "run",
    minimum_effect: float = MINIMUM_EFFECT,
    run_spread: float = RUN_SPREAD,
) -> ComparisonResult:
    """Compare two results, or two parts of one.

    Args:
        sides: two results, side A and side B, each a path or what `run` or `read` returned; or one result and two
            labels of an axis: `compare("store/versions", "2.16.2", "2.21.0", axis="tf")`.
        axis: what they differ in: `run`, `commit`, `tf`, `side` or `variant`.
        minimum_effect: the smallest difference that matters, as a share: 0.03 is 3%.
        run_spread: how much two separate runs of the same code differ at least, as a share, one standard deviation.

    Returns:
        A verdict on each case that both sides have.

    Raises:
        BadInput: there are no such results or labels, or the sides are of different tools.
        NothingMeasured: no case has a number on both sides.
    """
    words = [_word(side) for side in sides]
    judging_of("", minimum_effect)  # checks it
    return ComparisonResult(compare_sides(read_sides(words, axis), minimum_effect, run_spread))


def _word(side: Source | RunResult | SidesResult) -> str:
    if isinstance(side, SidesResult):
        return str(side.folder)
    if not isinstance(side, RunResult):
        return str(side)
    if len(side.sources) > 1:
        raise BadInput(
            "a side of a comparison is one result, and this one was pooled from several",
            received=" ".join(map(str, side.sources)),
            legal="the folder of one run",
            hint="compare them one by one",
        )
    return str(side.sources[0])
