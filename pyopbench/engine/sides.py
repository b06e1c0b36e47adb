"""Begins a run on the sides that are asked for: plans each, compares what they compute, draws the A/A control.

A side is an environment (a TensorFlow, versions of packages, a Python), a revision, or one of these with the other.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from pyopbench.engine import environments, git, plan, revisions, stored_run
from pyopbench.engine.shards import narrowed
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, CaseLost, Worker
from pyopbench.model.case import MINIMUM_EFFECT, Case
from pyopbench.model.checkout import Checkout
from pyopbench.model.errors import BadInput, NothingMeasured, PyopbenchError
from pyopbench.model.option_text import option_text
from pyopbench.model.own_target import OwnOps
from pyopbench.model.parse import parse_fail_on
from pyopbench.model.side import HERE, Environment
from pyopbench.store import run_sides
from pyopbench.store.run_json import Revision, RunContent
from pyopbench.store.run_sides import OpenRun, Side, ValueDifference, Values

GROUPS_PER_CONTROL = 6
"""Groups of which one is measured a second time on the first side. A group has several variants, so that a run of any
length has a few identical pairs, and they cost less than a tenth of it."""
USUAL_FAILURE = "slower"
EFFECT_PER_SLOWDOWN = 3
"""A slowdown that is to fail is as often the smallest difference that counts, where only the one is given."""


@dataclass(frozen=True)
class AskedSides:
    """Which sides to measure: each environment, with each revision where there are some.

    Attributes:
        environments: at least one.
        revisions: those that are named; none for the working tree.
        fail_on: what the comparison fails on, as the option; None if it is not given. With it, as with revisions, the
            first side is measured a second time.
        minimum_effect: the smallest difference that counts, as a share.
        each_has_budget: is the budget that of one side, and not of all?
    """

    environments: tuple[Environment, ...] = (HERE,)
    revisions: tuple[str, ...] = ()
    fail_on: str | None = None
    minimum_effect: float = MINIMUM_EFFECT
    each_has_budget: bool = False

    @property
    def are_just_here(self) -> bool:
        """Whether nothing is asked for but what runs this."""
        return self.environments == (HERE,) and not self.revisions

    @property
    def wants_control(self) -> bool:
        """Whether a control is measured."""
        return bool(self.revisions) or (self.fail_on is not None and len(self.environments) > 1)


JUST_HERE = AskedSides()


def check_sides(asked: AskedSides) -> None:
    """Check what is asked for of sides before anything is done.

    Raises:
        BadInput: `fail_on` is given for one side alone, or an environment is not available.
    """
    if not asked.revisions and len(asked.environments) < 2:
        refuse_to_fail(asked.fail_on)
    environments.require_available(asked.environments)


def refuse_to_fail(fail_on: str | None) -> None:
    """Refuse a condition to fail on for a run of one side.

    Raises:
        BadInput: there is one.
    """
    if fail_on is not None:
        raise BadInput(
            "one side alone cannot be compared with anything",
            received=option_text("fail_on", fail_on),
            hint=f"for example {option_text('rev', ['main', 'HEAD'])}; pyopbench compare does it for stored results",
        )


def slowdown_of(fail_on: str | None, minimum_effect: float) -> float | None:
    """Return the slowdown that fails, as a share; None if none does.

    Raises:
        BadInput: as `parse.parse_fail_on`.
    """
    return parse_fail_on(fail_on or USUAL_FAILURE, minimum_effect)


def failing_slowdown(run: OpenRun, fail_on: str | None, minimum_effect: float) -> float | None:
    """Return the slowdown that a run fails on, as a share; None if none does.

    Revisions are compared to find what became slower. Environments are measured to choose one, so that a slower one
    fails only where that is asked for.
    """
    if fail_on is None and not run.has_revisions:
        return None
    return slowdown_of(fail_on, minimum_effect)


def resolve_thresholds(
    run: OpenRun | None, minimum_effect: float | None, fail_on: str | None
) -> tuple[float, str | None]:
    """Return the smallest difference that counts, and the condition to fail on.

    Options that are given count. Without `fail_on`, the run's own values fill in what is missing. With `fail_on` alone,
    the smallest difference is the usual one for it, because the stored one may be too large.

    Args:
        run: a run over several sides; None if there is none.
        minimum_effect: as a share; None if not given.
        fail_on: as the option; None if not given.

    Raises:
        BadInput: `fail_on` is no condition, or is below the smallest difference that counts.
    """
    given = fail_on
    if run is not None and fail_on is None:
        fail_on = run.fail_on
        minimum_effect = run.minimum_effect if minimum_effect is None else minimum_effect
    effect = usual_effect(fail_on) if minimum_effect is None else minimum_effect
    if given is None and run is not None and fail_on is not None and effect > (slowdown_of(fail_on, 0.0) or math.inf):
        raise BadInput(
            "the smallest difference that counts is above the slowdown that this run was begun to fail on",
            received=f"{option_text('minimum_effect', effect)}, and {fail_on!r} in {run.folder / run_sides.FILE}",
            legal=f"a share of at most {slowdown_of(fail_on, 0.0):g}",
            hint=f"give {option_text('fail_on')} as well",
        )
    slowdown_of(fail_on, effect)
    return effect, fail_on


def usual_effect(fail_on: str | None) -> float:
    """Return the smallest difference that counts where none is given: the usual one, or less for a strict gate.

    A verdict says that a slowdown is above the smallest difference that counts, so that one which is to fail has to be
    well above it to be found.
    """
    slowdown = parse_fail_on(fail_on, 0.0) if fail_on else None
    return min(slowdown / EFFECT_PER_SLOWDOWN, MINIMUM_EFFECT) if slowdown else MINIMUM_EFFECT


def begin(folder: Path | None, request: plan.Request, asked: AskedSides) -> OpenRun:
    """Plan every side and make the folders; a revision that cannot be planned is left out, with why.

    Args:
        folder: where; None for a new folder under `results/`.
        request: what to measure on each side.
        asked: the sides, in the order to show them in; one may be named twice, to see what noise is.

    Returns:
        The run; of its sides the control is the last.

    Raises:
        BadInput: there is no repository or no such revision, an environment cannot be had, or as `plan.begin`.
        NothingMeasured: fewer than two revisions can be planned.
    """
    if asked.are_just_here:
        side = plan.begin(folder, request)
        return OpenRun(side.folder, (side,), own=request.own)
    plan.check_request(request)
    environments.require_available(asked.environments)
    folder = folder or plan.new_folder()
    plan.require_new_folder(folder)
    # What is asked for becomes a list of sides, whatever they differ in.
    repository = revisions.repository_of(request.axes.ops, request.own) if asked.revisions else None
    # A comparison finds slowdowns, and for these only variants in use matter; to choose one, all are needed.
    if asked.wants_control and not request.axes.variants:
        request = changed(request, axes=changed(request.axes, in_use=request.baseline))
    named = revisions.named(repository, asked.revisions) if repository is not None else [None]
    wanted = [Side("", one.tf, one.packages, one.python, revision) for revision in named for one in asked.environments]
    seconds = request.settings.budget_seconds
    if asked.each_has_budget and seconds is not None:
        request = changed(request, settings=changed(request.settings, budget_seconds=seconds * len(wanted)))
    # Each is planned by a worker of its own, which computes values as well.
    planned_sides = _Plans(request, repository).plan(wanted)
    if repository is not None:
        _require_two(planned_sides)
    contents = narrowed([content for _, content in planned_sides if content is not None], request.shard)
    if asked.wants_control:
        first = next(side for side, content in planned_sides if content is not None)
        planned_sides.append((replace(first, is_control=True, values=Values()), contents[0]))
        contents.append(_draw_control(contents[0]))
    sides = run_sides.name_sides(folder, [side for side, _ in planned_sides])
    folders = [side.folder for side in sides if side.problem is None]
    measured = tuple(plan.create(place, content) for place, content in zip(folders, contents, strict=True))
    run_sides.write(folder, sides, asked.minimum_effect, asked.fail_on)
    return OpenRun(folder, measured, tuple(sides), asked.fail_on, asked.minimum_effect, own=request.own)


def _require_two(planned: Sequence[tuple[Side, RunContent | None]]) -> None:
    if sum(content is not None for _, content in planned) > 1:
        return
    said = [f"{side.revision.asked}: {side.problem}" for side, _ in planned if side.revision and side.problem]
    raise NothingMeasured(
        "fewer than two revisions can be measured, so there is nothing to compare",
        received="; ".join(said),
        hint="pyopbench verify, with one of them checked out, shows what is wrong",
    )


def _draw_control(content: RunContent) -> RunContent:
    """Return the first side's run with a few of its groups: an identical pair for each of their cases."""
    groups = list(dict.fromkeys(Case.from_id(key).group for key in content.cases))
    drawn = set(groups[::GROUPS_PER_CONTROL])
    return content.with_changes(cases=[key for key in content.cases if Case.from_id(key).group in drawn])


class _Plans:
    """Plans side by side, and compares what each computes with the first that could be planned."""

    def __init__(self, request: plan.Request, repository: Path | None) -> None:
        self._request, self._repository = request, repository

    def plan(self, wanted: Sequence[Side]) -> list[tuple[Side, RunContent | None]]:
        """Return each side with what came out, and the content of its run; None where there is a problem.

        Raises:
            BadInput, NothingMeasured: an environment cannot be planned for; a revision is left out instead.
        """
        made: dict[object, tuple[Side, RunContent | None]] = {}
        several = len({_identity(side) for side in wanted}) > 1
        with TemporaryDirectory() as scratch:
            for side in wanted:
                if _identity(side) not in made:
                    is_first = all(content is None for _, content in made.values())
                    values = _FirstValues(Path(scratch), is_first=is_first) if several else None
                    made[_identity(side)] = self._plan(side, values)
        found = [made[_identity(side)] for side in wanted]
        return [
            (
                replace(side, problem=same.problem, values=same.values),
                content if content is None or side.revision is None else _with_revision(content, side.revision),
            )
            for side, (same, content) in zip(wanted, found, strict=True)
        ]

    def _plan(self, side: Side, first: _FirstValues | None) -> tuple[Side, RunContent | None]:
        if side.revision is None or self._repository is None:
            return self._plan_on(side, None, first)
        with git.checkout_of(self._repository, side.revision) as checkout:
            try:
                _require_files(checkout, self._request.own)
                return self._plan_on(side, checkout, first)
            except PyopbenchError as error:
                inside = f"{checkout.folder}{os.sep}"  # files are named as in the repository, wherever the worktree is
                return replace(side, problem=error.in_a_line.replace(inside, "")), None

    def _plan_on(self, side: Side, checkout: Checkout | None, first: _FirstValues | None) -> tuple[Side, RunContent]:
        request = changed(self._request, environment=side.environment, checkout=checkout)
        python = environments.python_of(side.environment)
        with Worker(START_TIMEOUT_SECONDS, python, checkout=checkout, own=request.own) as worker:
            answer = plan.ask_for_plan(request.axes, request.own, environment=side.environment, worker=worker)
            plan.require_cases(answer, request.axes)
            values = first.compare(worker, answer) if first is not None else Values()
        return replace(side, values=values), plan.content_of(request, answer)


def _identity(side: Side) -> tuple[object, ...]:
    revision = side.revision
    return side.environment, revision and (revision.commit, revision.is_worktree)


def _with_revision(content: RunContent, revision: Revision) -> RunContent:
    return content.with_changes(revision=revision)


class _FirstValues:
    """What the first side computes, in files of a folder that goes with this process."""

    def __init__(self, folder: Path, *, is_first: bool) -> None:
        self._folder, self._is_first = folder, is_first

    def compare(self, worker: Worker, answer: Mapping[str, Any]) -> Values:
        """Return what a worker computes otherwise than the first side, for each op, size and dtype that both have."""
        cases = [Case.from_id(key) for key in answer["cases"]]
        wanted = dict.fromkeys(
            (case.op, case.size, case.dtype) for case in cases if case.op in answer["catalogue"]["ops"]
        )
        compared, differences = 0, []
        for op, size, dtype in wanted:
            path = self._folder / f"{op}-{size}-{dtype}.npz"
            if not self._is_first and not path.exists():
                continue  # the first side does not have it, or its body raised, which is said of that side
            inputs = {"do": "values", "op": op, "size": size, "dtype": dtype}
            outcome = _ask(worker, {**inputs, "save" if self._is_first else "against": str(path)})
            compared += not self._is_first and outcome["kind"] != "unknown"
            if outcome["kind"]:
                differences.append(ValueDifference(op, size, dtype, outcome["kind"], outcome["reason"]))
        return Values(compared, tuple(differences))


def _ask(worker: Worker, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Ask for values; a worker of another revision of pyopbench may not know how."""
    try:
        return worker.ask(request)
    except CaseLost as lost:
        return {"kind": "unknown", "reason": lost.reason}


def _require_files(checkout: Checkout, own: OwnOps) -> None:
    """Check that a revision has the files of the ops.

    Raises:
        BadInput: one is not there.
    """
    for target in checkout.moved_ops(own).targets:
        if target.is_file and not Path(target.place).is_file():
            raise BadInput(
                "the revision does not have the op",
                received=Path(target.place).relative_to(checkout.folder),
                hint="compare revisions that have the file at the same place",
            )


@contextmanager
def checkouts_of(run: OpenRun) -> Iterator[dict[Path, Checkout]]:
    """Give the checkout of each side that is a revision, by its folder.

    Raises:
        BadInput: as `git.checkout_of`.
    """
    with ExitStack() as stack:
        repository = repository_of(run) if run.has_revisions else Path()
        yield {
            side.folder: stack.enter_context(git.checkout_of(repository, side.revision))
            for side in run.measured_sides
            if side.revision is not None
        }


def repository_of(run: OpenRun) -> Path:
    """Return the repository of a run over revisions: that of its ops, of which own ones are named again.

    Raises:
        BadInput: as `revisions.repository_of`; or one of the run's own ops is not named again.
    """
    content = run.measured[0].content
    missing = {name: own for name, own in content.own.items() if name not in run.own}
    stored_run.require_same_own(run.folder, missing, {})
    ops = {Case.from_id(key).op for key in content.cases} & set(content.catalogue.ops)
    return revisions.repository_of(sorted(ops), run.own)


def find_measured(run: OpenRun) -> tuple[list[Side], dict[str, str]]:
    """Return the sides of a run that have a sample, but for the control, and label -> why the others have none.

    Raises:
        NothingMeasured: none has; with the first reasons.
    """
    pairs = zip(run.measured_sides, run.measured, strict=True)
    whys = {side.label: stored_run.why_nothing(measured) for side, measured in pairs if not side.is_control}
    lost = {label: why for label, why in whys.items() if why is not None}
    if len(lost) == len(whys):
        stored_run.require_measured(run.measured[0])
    return [side for side in run.measured_sides if whys.get(side.label, "a control") is None], lost
