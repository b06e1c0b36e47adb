"""Begins a run on the sides that are asked for: plans each, compares what they compute, draws the A/A control.

A side is an environment (a TensorFlow, versions of packages, a Python), a revision, or a combination of both.
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
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, CaseLost, Worker
from pyopbench.model.case import MINIMUM_EFFECT, Case
from pyopbench.model.checkout import Checkout
from pyopbench.model.errors import BadInput, NothingMeasured, PyopbenchError
from pyopbench.model.option_text import option_text
from pyopbench.model.own_target import OwnOps
from pyopbench.model.parse import parse_fail_on
from pyopbench.model.side import HERE, Environment
from pyopbench.store.run import RUN_FILE, OpenRun, create, name_sides, require_new
from pyopbench.store.types import Revision, Side, ValueDifference, Values

GROUPS_PER_CONTROL = 6
"""Groups of which one is measured a second time on the first side. A group has several variants, so that a run of any
length has a few identical pairs, and they cost less than a tenth of it."""
USUAL_FAILURE = "slower"
EFFECT_PER_SLOWDOWN = 3
"""If only a slowdown that fails is given, the minimum effect is that slowdown divided by this."""


@dataclass(frozen=True)
class AskedSides:
    """Which sides to measure: each environment, with each revision where there are some.

    Attributes:
        environments: at least one.
        revisions: those that are named; none for the working tree.
        fail_on: what the comparison fails on, as the option; None if it is not given. With it, as with revisions, the
            first side is measured a second time.
        minimum_effect: the smallest difference that counts, as a share.
        each_has_budget: does the budget apply to each side, rather than to all together?
    """

    environments: tuple[Environment, ...] = (HERE,)
    revisions: tuple[str, ...] = ()
    fail_on: str | None = None
    minimum_effect: float = MINIMUM_EFFECT
    each_has_budget: bool = False

    @property
    def are_just_here(self) -> bool:
        """Whether only the current environment is asked for."""
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
    environments.missing(asked.environments)  # refuses what cannot be had


def refuse_to_fail(fail_on: str | None) -> None:
    """Refuse a condition to fail on for a run of one side.

    Raises:
        BadInput: there is one.
    """
    if fail_on is not None:
        raise BadInput(
            "a run with one side has nothing to compare it with",
            received=option_text("fail_on", fail_on),
            hint=f"for example {option_text('rev', ['main', 'HEAD'])}; pyopbench compare does it for stored results",
        )


def slowdown_of(fail_on: str | None, minimum_effect: float) -> float | None:
    """Return the slowdown that fails, as a share; None if none does."""
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
        fail_on = run.plan.fail_on
        minimum_effect = run.plan.minimum_effect if minimum_effect is None else minimum_effect
    effect = usual_effect(fail_on) if minimum_effect is None else minimum_effect
    if given is None and run is not None and fail_on is not None and effect > (slowdown_of(fail_on, 0.0) or math.inf):
        raise BadInput(
            "the minimum effect is larger than the slowdown that this run should fail on",
            received=f"{option_text('minimum_effect', effect)}, and {fail_on!r} in {run.folder / RUN_FILE}",
            legal=f"a share of at most {slowdown_of(fail_on, 0.0):g}",
            hint=f"give {option_text('fail_on')} as well",
        )
    slowdown_of(fail_on, effect)
    return effect, fail_on


def usual_effect(fail_on: str | None) -> float:
    """Return the smallest difference that counts where none is given: the usual one, or less for a strict gate.

    A verdict says that a slowdown is above the smallest difference that counts, so a slowdown that should fail has
    to be well above it to be found.
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
        return plan.begin(folder, request)
    plan.check_request(request)
    environments.missing(asked.environments)  # refuses what cannot be had
    folder = folder or plan.new_folder()
    require_new(folder)
    # What is asked for becomes a list of sides, whatever they differ in.
    repository = revisions.repository_of(request.axes.ops, request.own) if asked.revisions else None
    # A comparison finds slowdowns, and for these only variants in use matter; to choose one, all are needed.
    if asked.wants_control and not request.axes.variants:
        request = changed(request, axes=changed(request.axes, in_use=request.baseline))
    named = revisions.named(repository, asked.revisions) if repository is not None else [None]
    wanted = [_Wanted(environment, revision) for revision in named for environment in asked.environments]
    seconds = request.settings.budget_seconds
    if asked.each_has_budget and seconds is not None:
        request = changed(request, settings=changed(request.settings, budget_seconds=seconds * len(wanted)))
    sides = _plan_sides(request, repository, wanted)
    if repository is not None:
        _require_two(sides)
    if asked.wants_control:
        sides.append(_draw_control(next(side for side in sides if side.problem is None)))
    planned = plan.plan_of(request, name_sides(sides))
    planned = replace(planned, fail_on=asked.fail_on, minimum_effect=asked.minimum_effect)
    return create(folder, planned, request.own)


def _require_two(sides: Sequence[Side]) -> None:
    if sum(side.problem is None for side in sides) > 1:
        return
    said = [f"{side.revision.asked}: {side.problem}" for side in sides if side.revision and side.problem]
    raise NothingMeasured(
        "fewer than two revisions can be measured, so there is nothing to compare",
        received="; ".join(said),
        hint="pyopbench verify, with one of them checked out, shows what is wrong",
    )


def _draw_control(first: Side) -> Side:
    """Return the first side once more with a few of its groups: an identical pair for each of their cases."""
    groups = list(dict.fromkeys(Case.from_id(key).group for key in first.cases))
    drawn = set(groups[::GROUPS_PER_CONTROL])
    cases = [key for key in first.cases if Case.from_id(key).group in drawn]
    return replace(first, is_control=True, values=Values(), cases=cases)


@dataclass(frozen=True)
class _Wanted:
    """A side that is asked for."""

    environment: Environment
    revision: Revision | None

    @property
    def identity(self) -> tuple[object, ...]:
        """What two sides that compute alike have in common."""
        revision = self.revision
        return self.environment, revision and (revision.commit, revision.is_worktree)


def _plan_sides(request: plan.Request, repository: Path | None, wanted: Sequence[_Wanted]) -> list[Side]:
    """Plan each side by a worker of its own, which also compares what it computes with the first one.

    Raises:
        BadInput, NothingMeasured: an environment cannot be planned for; a revision is left out instead.
    """
    planned: dict[object, Side] = {}
    several = len({one.identity for one in wanted}) > 1
    with TemporaryDirectory() as scratch:
        for one in wanted:
            if one.identity not in planned:
                is_first = all(side.problem is not None for side in planned.values())
                values = _FirstValues(Path(scratch), is_first=is_first) if several else None
                planned[one.identity] = _plan_side(request, repository, one, values)
    return [replace(planned[one.identity], revision=one.revision) for one in wanted]


def _plan_side(request: plan.Request, repository: Path | None, wanted: _Wanted, first: _FirstValues | None) -> Side:
    request = changed(request, environment=wanted.environment)
    if wanted.revision is None or repository is None:
        return _plan_on(request, first)
    with git.checkout_of(repository, wanted.revision) as checkout:
        try:
            _require_files(checkout, request.own)
            return _plan_on(changed(request, checkout=checkout), first)
        except PyopbenchError as error:
            inside = f"{checkout.folder}{os.sep}"  # files are named as in the repository, wherever the worktree is
            asked = wanted.environment
            problem = error.in_a_line.replace(inside, "")
            return Side(tf=asked.tf, packages=asked.packages, python=asked.python, problem=problem)


def _plan_on(request: plan.Request, first: _FirstValues | None) -> Side:
    python = environments.python_of(request.environment)
    with Worker(START_TIMEOUT_SECONDS, python, checkout=request.checkout, own=request.own) as worker:
        answer = plan.ask_for_plan(request.axes, request.own, environment=request.environment, worker=worker)
        plan.require_cases(answer, request.axes)
        values = first.compare(worker, answer) if first is not None else Values()
    return replace(plan.side_of(request, answer), values=values)


class _FirstValues:
    """What the first side computes, in files of a folder that goes with this process."""

    def __init__(self, folder: Path, *, is_first: bool) -> None:
        self._folder, self._is_first = folder, is_first

    def compare(self, worker: Worker, answer: Mapping[str, Any]) -> Values:
        """Return what a worker computes differently from the first side, for each op, size and dtype that both have."""
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
def checkouts_of(run: OpenRun) -> Iterator[dict[str, Checkout]]:
    """Yield the checkout of each side that is a revision, by its label."""
    with ExitStack() as stack:
        repository = repository_of(run) if run.has_revisions else Path()
        yield {
            side.label: stack.enter_context(git.checkout_of(repository, side.revision))
            for side in (measured.side for measured in run.measured)
            if side.revision is not None
        }


def repository_of(run: OpenRun) -> Path:
    """Return the repository of a run over revisions: that of its ops, of which own ones are named again.

    Raises:
        BadInput: as `revisions.repository_of`; or one of the run's own ops is not named again.
    """
    first = run.measured[0].side
    missing = {name: own for name, own in first.own.items() if name not in run.own}
    stored_run.require_same_own(run.folder, missing, {})
    ops = {Case.from_id(key).op for key in first.cases} & set(first.catalogue.ops)
    return revisions.repository_of(sorted(ops), run.own)


def find_measured(run: OpenRun) -> tuple[list[Side], dict[str, str]]:
    """Return the sides of a run that have a sample, but for the control, and label -> why the others have none.

    Raises:
        NothingMeasured: none has; with the first reasons.
    """
    sides = {measured.side.label: measured for measured in run.measured if not measured.side.is_control}
    whys = {label: stored_run.why_nothing(measured) for label, measured in sides.items()}
    lost = {label: why for label, why in whys.items() if why is not None}
    if len(lost) == len(whys):
        stored_run.require_measured(run.measured[0])
    return [measured.side for label, measured in sides.items() if label not in lost], lost
