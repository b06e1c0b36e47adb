"""Begins a run on the sides that are asked for: plans each, compares their values, draws the A/A control.

A side is an environment (a TensorFlow, versions of packages, a Python), a revision, or a combination of both.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import structs

from pyopbench.engine import environments, git, plan, stored_run
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, CaseLost, Worker
from pyopbench.model.case import MINIMUM_EFFECT, Case
from pyopbench.model.errors import BadInput, NothingMeasured, PyopbenchError
from pyopbench.model.parse import parse_fail_on
from pyopbench.model.side import Checkout, Environment
from pyopbench.store.run import OpenRun, create, name_sides, require_new
from pyopbench.store.types import Revision, Side, ValueDifference, Values

GROUPS_PER_CONTROL = 6
"""Groups of which one is measured a second time on the first side. A group has several variants, so that a run of any
length has a few identical pairs, and they cost less than a tenth of it."""
USUAL_FAILURE = "slower"
EFFECT_PER_SLOWDOWN = 3
"""If only a slowdown that fails is given, the minimum effect is that slowdown divided by this: a verdict says that a
slowdown is above the smallest difference that counts, so it has to be well above it to be found."""


def refuse_to_fail(fail_on: str | None) -> None:
    """Raise `BadInput` if there is a condition to fail on, for a run of one side."""
    if fail_on is not None:
        hint = "for example --rev main --rev HEAD; pyopbench compare does it for stored results"
        what = "a run with one side has nothing to compare it with"
        raise BadInput(what, received=f"--fail-on {fail_on}", hint=hint)


def failing_slowdown(run: OpenRun, fail_on: str | None, minimum_effect: float) -> float | None:
    """Return the slowdown that a run fails on, as a share; None if none does.

    Revisions are compared to find what became slower. Environments are measured to choose one, so that a slower one
    fails only where that is asked for.
    """
    if fail_on is None and not run.has_revisions:
        return None
    return parse_fail_on(fail_on or USUAL_FAILURE, minimum_effect)


def resolve_thresholds(
    run: OpenRun | None, minimum_effect: float | None, fail_on: str | None
) -> tuple[float, str | None]:
    """Return the smallest difference that counts, and the condition to fail on.

    Options that are not None count. Without `fail_on`, the values of a run over several sides fill in what is missing.
    With `fail_on` alone, the smallest difference is the usual one for it, because the stored one may be too large.
    """
    if run is not None and fail_on is None:
        fail_on = run.plan.fail_on
        minimum_effect = run.plan.minimum_effect if minimum_effect is None else minimum_effect
    slowdown = parse_fail_on(fail_on, 0.0) if fail_on else None
    if minimum_effect is None:
        minimum_effect = min(slowdown / EFFECT_PER_SLOWDOWN, MINIMUM_EFFECT) if slowdown else MINIMUM_EFFECT
    parse_fail_on(fail_on or USUAL_FAILURE, minimum_effect)
    return minimum_effect, fail_on


def begin(folder: Path | None, request: plan.Request) -> OpenRun:
    """Plan every side and make the folder; a revision that cannot be planned is left out, with why.

    Of several environments and revisions the first side is measured a second time as a control, the last side of the
    run, where a slowdown fails the run. `folder` is None for a new one under `results/`.

    Raises:
        BadInput: a bad name, a folder that holds a run, no such revision, an environment that cannot be had, or axes
            that leave no case.
        NothingMeasured: fewer than two revisions can be planned.
    """
    if not (request.revisions or len(request.environments) > 1):
        refuse_to_fail(request.fail_on)
    plan.check_request(request)
    environments.missing(request.environments)  # refuses what cannot be had
    folder = folder or plan.new_folder()
    require_new(folder)
    repository = git.repository_of(request.axes.ops, request.own) if request.revisions else None
    named = git.resolve(repository, request.revisions) if repository is not None else [None]
    wanted = [(environment, revision) for revision in named for environment in request.environments]
    wants_control = bool(request.revisions) or request.fail_on is not None
    # A comparison finds slowdowns, and for these only variants in use matter; to choose one, all are needed.
    if wants_control and not request.axes.variants:
        in_use = dataclasses.replace(request.axes, in_use=request.settings.baseline)
        request = dataclasses.replace(request, axes=in_use)
    sides = _plan_sides(request, repository, wanted)
    measured = [side for side in sides if side.problem is None]
    if repository is not None and len(measured) < 2:
        problems = [f"{side.revision.asked}: {side.problem}" for side in sides if side.revision and side.problem]
        what = "fewer than two revisions can be measured, so there is nothing to compare"
        hint = "pyopbench verify, with one of them checked out, shows what is wrong"
        raise NothingMeasured(what, received="; ".join(problems), hint=hint)
    if wants_control:
        # The first side once more with a few of its groups: an identical pair for each of their cases.
        first = measured[0]
        drawn = {*list(dict.fromkeys(Case.from_id(key).group for key in first.cases))[::GROUPS_PER_CONTROL]}
        cases = [key for key in first.cases if Case.from_id(key).group in drawn]
        sides.append(structs.replace(first, is_control=True, values=Values(), cases=cases))
    return create(folder, plan.plan_of(request, name_sides(sides)), request.own)


def _plan_sides(
    request: plan.Request, repository: Path | None, wanted: Sequence[tuple[Environment, Revision | None]]
) -> list[Side]:
    """Plan each side by a worker of its own, which also compares what it computes with the first one.

    An environment that cannot be planned for raises an error; a revision is left out instead.
    """
    sides = list[Side]()
    with TemporaryDirectory() as scratch:
        values = Path(scratch) if len(wanted) > 1 else None
        for environment, revision in wanted:
            is_first = all(side.problem is not None for side in sides)
            if revision is None or repository is None:
                side = _plan_side(request, environment, None, values, is_first=is_first)
            else:
                with git.checkout_of(repository, revision) as checkout:
                    try:
                        side = _plan_side(request, environment, checkout, values, is_first=is_first)
                    except PyopbenchError as error:
                        # Files are named as in the repository, wherever the worktree is.
                        problem = error.in_a_line.replace(f"{checkout.folder}{os.sep}", "")
                        tf, packages, python = environment.tf, environment.packages, environment.python
                        side = Side(tf=tf, packages=packages, python=python, problem=problem)
            sides.append(structs.replace(side, revision=revision))
    return sides


def _plan_side(
    request: plan.Request, environment: Environment, checkout: Checkout | None, values: Path | None, *, is_first: bool
) -> Side:
    for target in checkout.moved_ops(request.own).values() if checkout is not None else ():
        if target.is_file and not Path(target.place).is_file():
            raise BadInput("the revision does not have the op", received=target.place)
    python = environments.python_of(environment)
    with Worker(START_TIMEOUT_SECONDS, python, checkout=checkout, own=request.own) as worker:
        answer = plan.plan_in(worker, request.axes, environment)
        plan.require_cases(answer, request.axes)
        compared = Values() if values is None else _compare_values(worker, answer, values, is_first=is_first)
    return structs.replace(plan.side_of(answer, request.own, environment, checkout), values=compared)


def _compare_values(worker: Worker, answer: Mapping[str, Any], folder: Path, *, is_first: bool) -> Values:
    """Return the values of a side that differ from the first one, for each op, size and dtype that both have.

    What the first side computes is kept in a folder.
    """
    cases = [Case.from_id(key) for key in answer["cases"]]
    wanted = dict.fromkeys((case.op, case.size, case.dtype) for case in cases if case.op in answer["catalogue"]["ops"])
    compared, differences = 0, []
    for op, size, dtype in wanted:
        path = folder / f"{op}-{size}-{dtype}.npz"
        if not is_first and not path.exists():
            continue  # the first side does not have it, or its body raised, which is said of that side
        asked = {"do": "values", "op": op, "size": size, "dtype": dtype, "save" if is_first else "against": str(path)}
        try:
            outcome = worker.ask(asked)
        except CaseLost as lost:  # a worker of another revision of pyopbench may not know how
            outcome = {"kind": "unknown", "reason": lost.reason}
        compared += not is_first and outcome["kind"] != "unknown"
        if outcome["kind"]:
            differences.append(ValueDifference(op, size, dtype, outcome["kind"], outcome["reason"]))
    return Values(compared, tuple(differences))


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
    """Return the repository of a run over revisions: that of its ops, of which own ones are named again."""
    first = run.measured[0].side
    missing = {name: own for name, own in first.own.items() if name not in run.own}
    stored_run.require_same_own(run.folder, missing, {})
    ops = {Case.from_id(key).op for key in first.cases} & set(first.catalogue.ops)
    return git.repository_of(sorted(ops), run.own)


def find_measured(run: OpenRun) -> tuple[list[Side], dict[str, str]]:
    """Return the sides of a run that have a sample, but for the control, and label -> why the others have none."""
    sides = {measured.side.label: measured for measured in run.measured if not measured.side.is_control}
    whys = {label: stored_run.why_nothing(measured) for label, measured in sides.items()}
    lost = {label: why for label, why in whys.items() if why is not None}
    if len(lost) == len(whys):
        stored_run.require_measured(run.measured[0])
    return [measured.side for label, measured in sides.items() if label not in lost], lost
