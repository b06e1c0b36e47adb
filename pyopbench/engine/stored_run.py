"""A run that is stored: whether it can be continued and how, what it was planned for, and whether it holds anything."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyopbench.engine import git, plan
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT, Case, Failure
from pyopbench.model.discover import find, require_known
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.model.own_target import OwnOps, Target
from pyopbench.store.run import RUN_FILE, OpenRun, OpenSide, Source
from pyopbench.store.types import FAILING, GroupLine, OwnOpFacts


def require_resumable(side: OpenSide, own: OwnOps) -> None:
    """Check that what a run was planned with is still there; `own` are the own ops as the side has them."""
    if side.plan.merged is not None:
        hint = "resume the shards that are unfinished, and merge again into a new folder"
        what = "a merged run is not resumed: its launches are of several machines"
        raise BadInput(what, received=side.folder, hint=hint)
    if side.plan.settings.pairs:
        hint = "pyopbench certify starts again"
        raise BadInput("a run of controls is not resumed", received=side.folder, hint=hint)
    require_same_own(side.folder, side.side.own, own)
    require_known("op", sorted({Case.from_id(key).op for key in side.side.cases}), {*find("ops"), *own})
    then, now = side.side.environment.get("commit"), git.commit_of_package()["commit"]
    if then not in (None, now):  # None: it was begun by an installed package, which has a version instead
        hint = "check out that commit to resume, or start a new run"
        raise BadInput("the run was started at another commit", received=f"{now} now, {then} in {RUN_FILE}", hint=hint)


def require_same_own(folder: Path, then: Mapping[str, OwnOpFacts], now: Mapping[str, Target]) -> None:
    """Check that the own ops of a run are there and unchanged; pyopbench runs no code that only a folder names."""
    for name, stored in then.items():
        is_named = name in now and bool(now[name].program) == bool(stored.program)
        if not is_named or now[name].fingerprint != stored.fingerprint:
            raise BadInput(
                "your op or its program has changed since the run was started"
                if is_named
                else "the run has an op of yours, which you name again to resume it",
                received=f"{name}, from {stored.words[0]}" + (f", in {stored.program}" if stored.program else ""),
                hint="start a new run" if is_named else _resume_command(folder, list(then.values())),
            )


def resume_command(run: OpenRun, requires: Sequence[str] = ()) -> str:
    """Return the command that resumes a run, with its own ops as they are named here, or else as it was planned."""
    return _resume_command(run.folder, [*run.own.values()] or [*run.measured[0].side.own.values()], requires)


def _resume_command(folder: Path, own: Sequence[OwnOpFacts | Target], requires: Sequence[str] = ()) -> str:
    words = [word for op in own for word in op.words]
    words += ["--require", ",".join(requires)] if requires else []
    programs = [word for op in own if op.program for word in ("--program", op.program)]
    return shlex.join(["pyopbench", "resume", str(folder), *words, *programs])


def planned_effect(sources: Sequence[Source]) -> float:
    """Return the minimum effect that a run was planned for; the usual one for results of other tools."""
    plans = [source.plan for source in sources if isinstance(source, OpenRun)]
    planned = [(plan.pipeline or plan).minimum_effect for plan in plans]
    return next((one for one in planned if one is not None), MINIMUM_EFFECT)


def require_measured(side: OpenSide) -> None:
    """Check that a side was measured, as `why_nothing` says; raises `NothingMeasured` with the first reason if not."""
    why = why_nothing(side)
    if why is not None:
        raise NothingMeasured(
            "nothing was measured" if side.plan.pipeline is None else "the current callback was not measured",
            received=f"{side.folder}: {why}",
            hint="pyopbench verify shows what is wrong with each variant",
        )


def why_nothing(side: OpenSide) -> str | None:
    """Return why a side has no sample (in a pipeline: no sample of the current callback), or None.

    Without that there is nothing to compare arrangements with.
    """
    current = None if side.plan.pipeline is None else side.side.current.id
    rows = [line.samples for line in side.lines if isinstance(line, GroupLine)]
    if any(samples if current is None else samples.get(current) for samples in rows):
        return None
    reasons = [failure.reason for failure in failures_in(side) if current in (None, failure.case)]
    return f"{formatting.count(len(reasons), 'failure')}; the first: {reasons[0]}" if reasons else "no sample"


def found_wrong(side: OpenSide) -> bool:
    """Whether a launch found a case wrong."""
    return any(failure.status == "wrong" for failure in failures_in(side))


def failures_in(side: OpenSide) -> Iterator[Failure]:
    """Return the failures that launches of a side have found."""
    return (failure for line in side.lines if isinstance(line, FAILING) for failure in line.failures)


def find_target(sources: Sequence[Source]) -> tuple[str, Path]:
    """Return the baseline that results were measured for, and the folder that their report goes to."""
    own = [source for source in sources if isinstance(source, OpenRun)]
    if len(own) == len(sources):
        for run in own:
            require_measured(run.measured[0])
        return own[0].plan.settings.baseline, own[0].folder
    from pyopbench.store.read import read_cases  # pandas, which takes a second

    # Nothing is put into folders of other tools, which take every JSON there for their own.
    first = next(source for source in sources if isinstance(source, Path))
    return read_cases(sources).settings.baseline, plan.RESULTS_FOLDER / f"report-{first.stem}"
