"""Begins and continues a run: the path from a request to a folder with samples."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyopbench
from pyopbench.core import formatting
from pyopbench.core.checkout import Checkout, is_installed
from pyopbench.core.discover import PACKAGE, find, require_known
from pyopbench.core.errors import BadInput, NothingMeasured
from pyopbench.core.model import FLOOR_SUFFIX, TWIN_SUFFIX, Axes, Case
from pyopbench.core.option_text import option_text
from pyopbench.core.own_target import Target, brought
from pyopbench.core.paths import real_path
from pyopbench.results import certificate, store
from pyopbench.run import git
from pyopbench.run.planning import ask_for_plan, check_axes, require_cases
from pyopbench.run.settings import Settings
from pyopbench.run.shards import ShardChoice, narrowed, require_unmerged

QUICK = Settings(
    seed=0,
    launches=8,
    first_rounds=6,
    rounds=120,
    until="decided",
    block_seconds=0.0005,
    group_seconds=0.3,
    budget_seconds=170.0,
    case_timeout_seconds=60.0,
)
QUICK_OP_SECONDS = 45.0
"""Budget of a quick run for each op that it names, up to that of all: with planning and the report, one takes a minute
on two cores."""
FULL = Settings(
    seed=0,
    launches=24,
    first_rounds=12,
    rounds=240,
    until="resolved",
    block_seconds=0.0005,
    group_seconds=1.0,
    budget_seconds=None,
    case_timeout_seconds=120.0,
)

RESULTS_FOLDER = Path("results")


@dataclass(frozen=True)
class Request:
    """A run that is asked for: what to cover, how to measure, the baseline of ratios, the command for the record.

    `pairs` compares variants in pairs of their own, as in `latencies.baseline_of`. `tf` is the version of TensorFlow to
    measure on, of those of `environments.available`; None is the one beside this Python. `checkout` has the files of
    the revision to measure; None is the working tree. `shard` is the part of the plan to measure; None is all of it.
    """

    axes: Axes
    settings: Settings
    baseline: str
    command: tuple[str, ...]
    pairs: Mapping[str, str] = field(default_factory=dict)
    tf: str | None = None
    checkout: Checkout | None = None
    shard: ShardChoice | None = None


@dataclass(frozen=True)
class PlannedRun:
    """A run that has been planned and has its folder."""

    folder: Path
    cases: int
    skips: int


def begin(folder: Path | None, request: Request) -> PlannedRun:
    """Plan a run and make its folder.

    Args:
        folder: where; None for a new folder under `results/`.
        request: what is asked for.

    Raises:
        BadInput: a bad name, a baseline that is left out, a folder that holds a run, or axes that leave no case.
    """
    folder = folder or new_folder()
    return begin_all([(folder, request)])[0]


def begin_all(asked: Sequence[tuple[Path, Request]]) -> list[PlannedRun]:
    """Plan several runs, and make their folders when all are planned: one that cannot be leaves nothing of the others.

    Raises:
        BadInput: as `begin`.
    """
    for folder, request in asked:
        check_request(request)
        store.require_new(folder)
    contents = narrowed([_planned(request) for _, request in asked], asked[0][1].shard)
    return create_all([(folder, content) for (folder, _), content in zip(asked, contents, strict=True)])


def create_all(planned: Sequence[tuple[Path, Mapping[str, Any]]]) -> list[PlannedRun]:
    """Make the folders of runs, each with its content as from `content_of`.

    Raises:
        BadInput: one of them holds a run, or cannot be written to.
    """
    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    for folder, content in planned:
        store.create(folder, {"run": real_path(folder).name, "created": created, **content})
    return [PlannedRun(folder, len(content["cases"]), len(content["skips"])) for folder, content in planned]


def _planned(request: Request) -> dict[str, Any]:
    plan = ask_for_plan(request.axes, tf=request.tf)
    require_cases(plan, request.axes)
    return content_of(request, plan)


def new_folder() -> Path:
    """Return a folder under `results/` that is named by the time."""
    return RESULTS_FOLDER / datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")


def check_request(request: Request) -> None:
    """Check what can be checked before a worker is started.

    Raises:
        BadInput: a bad name or size, or a baseline that is left out.
    """
    check_axes(request.axes)
    require_known("baseline", [request.baseline], find("variants"))
    variants = request.axes.variants
    if variants and request.baseline not in variants:
        raise BadInput(
            "the baseline is not among the variants to measure",
            received=f"{option_text('baseline', request.baseline)}, with {', '.join(variants)} to measure",
            legal=f"one of {', '.join(variants)}",
            next_step=f"measure {request.baseline} too, or choose another baseline",
        )


def content_of(request: Request, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the `run.json` of what is asked for, but for its name and when it was made."""
    own = brought() if request.checkout is None else request.checkout.own()
    settings = {**asdict(request.settings), "quick": request.axes.quick, "baseline": request.baseline}
    if request.pairs:
        settings["pairs"] = dict(request.pairs)
    if request.tf is not None:
        settings["tf"] = request.tf
    environment = {**plan["environment"], **_commit(), "pyopbench": pyopbench.__version__}
    return {
        "command": list(request.command),
        "settings": settings,
        "environment": environment,
        "certificate": certificate.find(environment),
        "catalogue": plan["catalogue"],
        "cases": plan["cases"],
        "skips": plan["skips"],
        "own": {name: {"words": brought()[name].words, "fingerprint": one.fingerprint} for name, one in own.items()},
    }


def require_resumable(folder: Path, own: Mapping[str, Target] | None = None) -> None:
    """Check that what a run was planned with is still there.

    Args:
        folder: of the run.
        own: the own ops of this process, as the revision of the run has them; None for those of the working tree.

    Raises:
        BadInput: an op or a variant has gone (else each of its cases would be recorded as failed), or pyopbench is at
            another commit, so that what is measured now could not be compared with what was.
    """
    run = require_unmerged(store.read_run(folder), folder)
    store.require_unchanged([*store.changes(folder), *store.read_lines(folder)[1]])
    require_same_own(folder, run.get("own", {}), brought() if own is None else own)
    cases = [Case.from_id(key) for key in run["cases"]]
    known = find("variants")
    require_known("op", sorted({case.op for case in cases}), {**find("ops"), **find("floor")})
    require_known(
        "variant",
        sorted({case.variant for case in cases}),
        {*known, *find("parts"), *(name + suffix for name in known for suffix in (FLOOR_SUFFIX, TWIN_SUFFIX))},
    )
    then, now = run["environment"].get("commit"), _commit()["commit"]
    if then is not None and then != now:  # None: it was begun by an installed package, which has a version instead
        raise BadInput(
            "the run was started at another commit",
            received=f"{now} now, {then} in {store.RUN_FILE}",
            legal="the same commit",
            next_step="check out that commit to resume, or start a new run",
        )


def require_same_own(folder: Path, then: Mapping[str, Any], now: Mapping[str, Target]) -> None:
    """Check that the own ops of a run are there and unchanged; the arguments are those of then and of now."""
    then_words = [word for one in then.values() for word in one["words"]]
    for name, one in then.items():
        if name not in now or now[name].fingerprint != one["fingerprint"]:
            raise BadInput(
                "your op has changed since the run was started" if name in now else "the run has an op of yours",
                received=f"{name}, from {one['words'][0]}",
                legal="your ops named again, unchanged, because pyopbench runs no code named by a folder",
                next_step=_resume_command(folder, then_words) if name not in now else "start a new run",
            )


def resume_command(folder: Path) -> str:
    """Return the command that resumes a run of this process."""
    return _resume_command(folder, [word for target in brought().values() for word in target.words])


def stored_resume_command(folder: Path, part: Path) -> str:
    """Return the command that resumes a run on several versions, with the own ops that a part of it was planned for."""
    own = store.read_run(part).get("own", {})
    return _resume_command(folder, [word for one in own.values() for word in one["words"]])


def _resume_command(folder: Path, own_words: Sequence[str]) -> str:
    return shlex.join(["pyopbench", "resume", str(folder), *own_words])


def settings_of(folder: Path) -> Settings:
    """Return how the run in a folder is measured, to continue it.

    Raises:
        BadInput: it was planned without a setting that is needed now.
    """
    settings = store.read_run(folder)["settings"]
    known = fields(Settings)
    missing = [one.name for one in known if one.default is MISSING and one.name not in settings]
    if missing:
        raise BadInput(
            "the run lacks settings that are needed to continue it",
            received=f"{folder / store.RUN_FILE} without {formatting.listing(missing)}",
            legal="a run of this version of pyopbench",
            next_step="start a new run; pyopbench report shows what this one has measured",
        )
    return Settings(**{one.name: settings[one.name] for one in known if one.name in settings})


def tf_of(folder: Path) -> str | None:
    """Return the version of TensorFlow that a run was asked for; None is the one beside this Python."""
    tf: str | None = store.read_run(folder)["settings"].get("tf")
    return tf


def _commit() -> dict[str, Any]:
    """Return the commit of the checkout that pyopbench runs from; None where it runs from an installed package."""
    if is_installed(PACKAGE):  # which may lie in a repository of the user's, as a .venv does
        return {"commit": None, "dirty": None}
    commit = git.ask(PACKAGE, "rev-parse", "HEAD")
    changes = git.ask(PACKAGE, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if commit is None else bool(changes)}


def require_measured(folder: Path) -> None:
    """Check that a folder holds at least one sample.

    Raises:
        NothingMeasured: it does not; with the first reasons.
    """
    why = why_nothing(folder)
    if why is not None:
        raise NothingMeasured(
            "nothing was measured",
            received=f"{folder}: {why}",
            legal="at least one case with a sample",
            next_step="pyopbench verify shows what is wrong with each variant",
        )


def why_nothing(folder: Path) -> str | None:
    """Return why a folder has no sample, with the first reason; None if it has one."""
    lines, _ = store.read_lines(folder)
    if any(line.get("samples") for line in lines):
        return None
    reasons = [failure["reason"] for line in lines for failure in line.get("failures", ())]
    return f"{formatting.count(len(reasons), 'failure')}; the first: {reasons[0]}" if reasons else "no sample"


def found_wrong(folder: Path) -> bool:
    """Whether a launch found a case wrong."""
    lines, _ = store.read_lines(folder)
    return any(failure["status"] == "wrong" for line in lines for failure in line.get("failures", ()))


def are_own(paths: Sequence[Path]) -> bool:
    """Whether all are folders that `pyopbench run` made, and not results of another tool."""
    return all((path / store.RUN_FILE).exists() for path in paths)


def baseline_of(folder: Path) -> str:
    """Return the baseline that a run was made for."""
    return str(store.read_run(folder)["settings"]["baseline"])
