"""From stored results to what they say: a look while a run goes on, or its report. Imports what is heavy when asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyopbench.decide import Judgement
    from pyopbench.mix import Calls
    from pyopbench.stopping import Look
    from pyopbench.versions import Version
    from pyopbench.versions_compared import VersionComparison
    from pyopbench.worth import Step


@dataclass(frozen=True)
class Judging:
    """How to judge: baseline, smallest difference that counts, calls of each size, a user's step, requirements."""

    baseline: str
    minimum_effect: float
    mix: Calls | None = None
    step: Step | None = None
    requires: tuple[str, ...] = ()


def look(folder: Path, judging: Judging, launches: int, most: int) -> Look:
    """Judge what a run has measured in so many launches, of at most so many, to see what is left open."""
    from pyopbench import stopping

    return stopping.look(judge([folder], judging), launches, most)


def report(folders: Sequence[Path], folder: Path, judging: Judging) -> Judgement:
    """Judge stored results and write the report.

    Args:
        folders: the results.
        folder: where the report goes.
        judging: how to judge.

    Raises:
        BadInput: the results are not what they should be, or the baseline or the mix does not fit them.
    """
    from pyopbench.report import write

    judgement = judge(folders, judging)
    write(judgement, folder)
    return judgement


def report_versions(
    folder: Path, versions: Sequence[Version], judging: Judging, unmeasured: Mapping[str, str]
) -> tuple[list[Judgement], VersionComparison]:
    """Judge every version of a run, compare the others with the first, and write a report of each with all in it.

    Args:
        folder: of the run on several versions.
        versions: those that have a sample, at least one.
        judging: how to judge.
        unmeasured: label -> why a version has no sample.

    Returns:
        A judgement for each version, which knows of the others by its `across` if there are any; and that, with the
        first one shown.

    Raises:
        BadInput: as `report`.
    """
    from pyopbench.report import write
    from pyopbench.versions_compared import VersionResult, compare_versions

    found = {version: judge([version.folder], judging) for version in versions}
    each = [
        VersionResult(version.label, str(one.run.environment.get("numpy") or ""), one.decisions, one.latencies)
        for version, one in found.items()
    ]
    together = replace(compare_versions(folder, each, judging.minimum_effect), unmeasured=unmeasured)
    if len(each) + len(unmeasured) > 1:
        found = {version: replace(one, across=replace(together, shown=version.label)) for version, one in found.items()}
    for version, judgement in found.items():
        write(judgement, version.folder)
    return list(found.values()), together


def judge(folders: Sequence[Path], judging: Judging) -> Judgement:
    """Judge stored results, of several runs as one; of asv and pytest-benchmark a single one.

    Raises:
        BadInput: the results are not what they should be, or the baseline or the mix does not fit them.
    """
    # pandas, SciPy and Altair cost a second and 150 MB, which a parent does not need before it judges.
    from pyopbench import decide
    from pyopbench.sources import read_one

    return decide.judge(read_one(folders), **vars(judging))
