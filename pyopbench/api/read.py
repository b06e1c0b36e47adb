"""Judges stored results: `pyopbench.read` and `pyopbench.compare`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pyopbench.api.results import AnyResult, ComparisonResult, RunResult, result_of
from pyopbench.engine.sides import refuse_to_fail, resolve_thresholds
from pyopbench.engine.stored_run import find_target, planned_effect
from pyopbench.judge import requirements
from pyopbench.judge.comparison.diff import compare_sides
from pyopbench.judge.comparison.sides import read_sides
from pyopbench.judge.judge import Judging, judge
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import BadInput
from pyopbench.store.mix_file import Calls, read_mix
from pyopbench.store.run import OpenRun, Source, open_sources

Mix: TypeAlias = Mapping[int, float] | str | Path | None
"""size -> how often it is called, or the path of such a CSV file; None for an even mix."""


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
        mix: how often each size is called: size -> weight, or the path of a CSV file; None for an even mix.
        requires: as for `run`.
        fail_on: for a run over revisions, the slowdown that fails it: `slower`, `slower:5%` or `never`; None for
            `slower`.

    Returns:
        The decisions, verdicts and latencies, as frames and as a report: a `RunResult`, or what `run` returned with
        `tf` or `rev`.

    Raises:
        BadInput: there are no such results, or an argument is out of range.
        NothingMeasured: they hold no sample.

    >>> pyopbench.read("results/reference").decisions  # doctest: +SKIP
    """
    paths = [Path(one) for one in results]
    sources, judging, folder, fail_on = open_judged(paths, baseline, minimum_effect, mix, requires, fail_on)
    run = run_on_sides(sources)
    if run is not None:
        return result_of(run, judging, fail_on)
    return RunResult(judge(sources, judging), paths, folder)


def open_judged(  # noqa: PLR0913 - the options of `read`
    paths: Sequence[Path],
    baseline: str | None,
    minimum_effect: float | None,
    mix: Mix,
    requires: Sequence[str],
    fail_on: str | None,
) -> tuple[list[Source], Judging, Path, str | None]:
    """Open results; the arguments are those of `read`.

    Returns them, how to judge them, the folder of their report, and the slowdown that fails a run on several sides.
    """
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
    """Return how to judge results, and the slowdown that fails: what is not given is that of the run."""
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


def compare(first: str | Path, second: str | Path, minimum_effect: float = MINIMUM_EFFECT) -> ComparisonResult:
    """Compare two stored results.

    Args:
        first: the folder or the file of side A.
        second: that of side B.
        minimum_effect: the smallest difference that matters, as a share.

    Returns:
        A verdict on each case that both sides have.

    Raises:
        BadInput: there are no such results, or the sides are of different tools.
        NothingMeasured: no case has a number on both sides.
    """
    effect = judging_of("", minimum_effect).minimum_effect
    return ComparisonResult(compare_sides(read_sides(first, second), effect))


def judging_of(
    baseline: str, minimum_effect: float = MINIMUM_EFFECT, mix: Mix = None, requires: Sequence[str] = ()
) -> Judging:
    """Return how to judge, from options that are checked."""
    if not 0 < minimum_effect < 1:
        raise BadInput(
            "the minimum effect is out of range",
            received=f"minimum_effect={minimum_effect!r}",
            legal="above 0 and below 1; 0.03 is 3%",
            hint="for example minimum_effect=0.03",
        )
    return Judging(baseline, minimum_effect, _calls(mix), requires=requirements.check(tuple(requires)))


def _calls(mix: Mix) -> Calls | None:
    if isinstance(mix, str | Path):
        return read_mix(Path(mix))
    if mix is not None and not (mix and all(size >= 1 and 0 < weight < math.inf for size, weight in mix.items())):
        raise BadInput(
            "not a mix of sizes",
            received=f"mix={dict(mix)!r}",
            legal="size -> how often it is called: whole sizes from 1, and weights above 0",
            hint="for example mix={1000: 5, 1_000_000: 1}",
        )
    return mix
