"""Begins a run over revisions of the user's repository: plans each, compares what they compute, draws the twins."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from pyopbench.engine import environments, git, revisions, stored_run
from pyopbench.engine import plan as planning
from pyopbench.engine.plan import ask_for_plan, require_cases, require_new_folder
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, CaseLost, Worker
from pyopbench.model.case import Case
from pyopbench.model.checkout import Checkout
from pyopbench.model.errors import BadInput, NothingMeasured, PyopbenchError
from pyopbench.model.own_target import brought
from pyopbench.model.process_guard import TemporaryFolder
from pyopbench.store import run_folder, versions
from pyopbench.store.content import RunContent
from pyopbench.store.versions import Revision, ValueDifference, Values

GROUPS_PER_TWIN = 6
"""Groups of which one is measured a second time at the first revision. A group has several variants, so that a run of
any length has a few identical pairs, and they cost less than a tenth of it."""


def begin(
    folder: Path | None,
    request: planning.Request,
    asked: Sequence[str],
    every: int = 1,
    *,
    each_has_budget: bool = False,
) -> tuple[Path, list[planning.PlannedRun]]:
    """Plan a run for each revision and make the folders; a revision that cannot be planned is left out, with why.

    Args:
        folder: where; None for a new folder under `results/`.
        request: what is asked for.
        asked: revisions as a command line names them; one may be named twice, to see what noise is.
        every: of a range, each how manieth commit.
        each_has_budget: is the budget of the request that of one revision, and not of all?

    Returns:
        The folder of all, and each run in it.

    Raises:
        BadInput: there is no repository or no such revision, fewer than two can be planned, or as `plan.begin`.
    """
    planning.check_request(request)
    folder = folder or planning.new_folder()
    require_new_folder(folder)
    repository = revisions.repository_of(request.axes.ops)
    wanted = revisions.named(repository, asked, every)
    seconds = request.settings.budget_seconds
    if each_has_budget and seconds is not None:
        seconds *= len(wanted)
    settings = replace(request.settings, budget_seconds=seconds)
    planned = _Plans(replace(request, settings=settings), repository).of(wanted)
    try:
        _require_two(planned)
    except NothingMeasured:
        git.give_back(git.checkout_of(repository, revision.commit) for revision, _ in planned)
        raise
    twin = _twin_of(next(content for _, content in planned if content is not None))
    found = [*planned, (msgspec.structs.replace(_first(planned), twin=True, values=Values()), twin)]
    named = versions.named_revisions(folder, [revision for revision, _ in found])
    begun = planning.create_all(
        [(one.folder, content) for one, (_, content) in zip(named, found, strict=True) if content]
    )
    versions.write(folder, named)
    return folder, begun


def checkouts_in(folder: Path) -> dict[Path, Checkout]:
    """Return the checkout of each run in a folder of revisions, made where it is not there.

    Raises:
        BadInput: as `git.checkout_of`.
    """
    parts = versions.read(folder)
    repository = repository_in(folder)
    return {one.folder: git.checkout_of(repository, one.revision.commit) for one in parts if one.revision is not None}


def repository_in(folder: Path) -> Path:
    """Return the repository of a run over revisions: that of the ops which this process was given.

    Raises:
        BadInput: as `revisions.repository_of`; or this process was not given one of the run's own ops.
    """
    part = versions.read(folder)[0].folder
    run = run_folder.read_run(part)
    stored_run.require_same_own(folder, {name: one for name, one in run.own.items() if name not in brought()}, {})
    ops = {Case.from_id(key).op for key in run.cases} & set(run.catalogue.ops)
    return revisions.repository_of(sorted(ops))


def _require_two(planned: Sequence[tuple[Revision, RunContent | None]]) -> None:
    able = [revision for revision, content in planned if content is not None]
    if len(able) > 1:
        return
    said = [f"{revision.asked}: {revision.problem}" for revision, _ in planned if revision.problem is not None]
    raise NothingMeasured(
        "fewer than two revisions can be measured, so there is nothing to compare",
        received="; ".join(said),
        legal="two revisions that have the op and can be imported here",
        hint="pyopbench verify, with one of them checked out, shows what is wrong",
    )


def _first(planned: Sequence[tuple[Revision, RunContent | None]]) -> Revision:
    return next(revision for revision, content in planned if content is not None)


class _Plans:
    """Plans revision by revision, and compares what each computes with the first that could be planned."""

    def __init__(self, request: planning.Request, repository: Path) -> None:
        self._request, self._repository = request, repository

    def of(self, wanted: Sequence[Revision]) -> list[tuple[Revision, RunContent | None]]:
        """Return each revision with what came out, and the content of its run; None where there is a problem."""
        made: dict[str, tuple[Revision, RunContent | None]] = {}
        with TemporaryFolder() as scratch:
            for revision in wanted:
                if revision.commit not in made:
                    made[revision.commit] = self._plan(revision, _Kept(scratch))
        found = [made[revision.commit] for revision in wanted]
        return [
            (
                msgspec.structs.replace(revision, problem=told.problem, values=told.values),
                None if content is None else content.with_changes(revision=versions.stored_in_run(revision)),
            )
            for revision, (told, content) in zip(wanted, found, strict=True)
        ]

    def _plan(self, revision: Revision, kept: _Kept) -> tuple[Revision, RunContent | None]:
        checkout = git.checkout_of(self._repository, revision.commit)
        try:
            _require_files(checkout)
            request = replace(self._request, checkout=checkout)
            with Worker(
                START_TIMEOUT_SECONDS, environments.python_of(request.environment), checkout=checkout
            ) as worker:
                plan = ask_for_plan(request.axes, environment=request.environment, worker=worker)
                require_cases(plan, request.axes)
                values = kept.compare(worker, plan)
            content = planning.content_of(request, plan)
        except PyopbenchError as error:
            inside = f"{checkout.folder}{os.sep}"  # files are named as in the repository, wherever the worktree is
            return msgspec.structs.replace(revision, problem=error.in_a_line.replace(inside, "")), None
        return msgspec.structs.replace(revision, values=values), content


class _Kept:
    """What the first revision computes, in files of a folder that goes with this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def compare(self, worker: Worker, plan: Mapping[str, Any]) -> Values:
        """Return what a worker computes otherwise, for each op, size and dtype that both have; keep what is new."""
        cases = [Case.from_id(key) for key in plan["cases"]]
        wanted = dict.fromkeys(
            (case.op, case.size, case.dtype) for case in cases if case.op in plan["catalogue"]["ops"]
        )
        compared, differences = 0, []
        for op, size, dtype in wanted:
            path = self._folder / f"{op}-{size}-{dtype}.npz"
            is_there = path.exists()
            asked = {"do": "values", "op": op, "size": size, "dtype": dtype}
            told = _ask(worker, {**asked, "against" if is_there else "save": str(path)})
            compared += is_there and told["kind"] != "unknown"
            if told["kind"]:
                differences.append(ValueDifference(op, size, dtype, told["kind"], told["reason"]))
        return Values(compared, tuple(differences))


def _ask(worker: Worker, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Ask for values; a worker of another revision of pyopbench may not know how."""
    try:
        return worker.ask(request)
    except CaseLost as lost:
        return {"kind": "unknown", "reason": lost.reason}


def _require_files(checkout: Checkout) -> None:
    """Check that a revision has the files of the ops.

    Raises:
        BadInput: one is not there.
    """
    for target in checkout.own().values():
        if target.is_file and not Path(target.place).is_file():
            raise BadInput(
                "the revision does not have the op",
                received=Path(target.place).relative_to(checkout.folder),
                legal="revisions that have the file of the op at the same place",
                hint="compare revisions that have the file",
            )


def _twin_of(content: RunContent) -> RunContent:
    """Return the first revision's run with a few of its groups: an identical pair for each of their cases."""
    groups = list(dict.fromkeys(Case.from_id(key).group for key in content.cases))
    drawn = set(groups[::GROUPS_PER_TWIN])
    return content.with_changes(cases=[key for key in content.cases if Case.from_id(key).group in drawn])
