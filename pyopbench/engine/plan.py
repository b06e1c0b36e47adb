"""Plans a run: how much is measured, which axes are legal, what a worker can measure, and which shard of it."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

import pyopbench
from pyopbench.engine import environments, git
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, Worker
from pyopbench.model.case import (
    BASELINE,
    DEVICES,
    DIRECTIONS,
    DTYPES,
    GPU,
    MECHANISMS,
    MINIMUM_EFFECT,
    MODES,
    UNLIMITED,
    Axes,
    Case,
    Failure,
)
from pyopbench.model.discover import find, require_known
from pyopbench.model.errors import BadInput
from pyopbench.model.machine import host_name
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.side import HERE, Checkout, Environment
from pyopbench.store.json_file import convert
from pyopbench.store.types import Catalogue, OwnOpFacts, Plan, Settings, Shard, Side, unit_of

RESULTS_FOLDER = Path("results")

FULL = Settings(baseline=BASELINE)
QUICK = Settings(
    baseline=BASELINE,
    launches=8,
    first_rounds=6,
    rounds=120,
    until="decided",
    group_seconds=0.3,
    budget_seconds=170.0,
    case_timeout_seconds=60.0,
    quick=True,
)
QUICK_OP_SECONDS = 45.0
"""Budget of a quick run for each op that it names, up to that of all: with planning and the report, one takes a minute
on two cores."""
THREADS_TIMES = 2
"""By how much longer a quick run is that also calls from several threads, whose blocks last a hundred times as long."""


def settings_for(
    axes: Axes,
    baseline: str = BASELINE,
    *,
    launches: int | None = None,
    budget_seconds: float | None = None,
    sides: int = 1,
) -> Settings:
    """Return the settings of a quick run or of a full one, with what is not None in place of the usual.

    The default budget is multiplied by the number of sides. Where sides are compared within a budget, there are as
    many launches and rounds as it allows.
    """
    usual = QUICK if axes.quick else FULL
    if budget_seconds is None and usual.budget_seconds is not None:
        named = QUICK_OP_SECONDS * len(axes.ops) or usual.budget_seconds
        times = (THREADS_TIMES if axes.threads else 1) * len(axes.placements) * sides
        budget_seconds = min(named, usual.budget_seconds) * times
    if budget_seconds is not None and sides > 1 and launches is None:
        usual = structs.replace(usual, launches=UNLIMITED, rounds=UNLIMITED)
    launches = launches or usual.launches
    return structs.replace(usual, baseline=baseline, launches=launches, budget_seconds=budget_seconds)


@dataclass(frozen=True)
class Request:
    """A run that is asked for: what to cover, how to measure, and the command for the record."""

    axes: Axes
    settings: Settings
    command: tuple[str, ...]
    shard: tuple[int, int] | None = None  # which, from 1, of how many; None for all of the plan
    own: OwnOps = field(default_factory=dict)  # those among the ops, as in the working tree
    # Each environment is a side, with each revision where there are some, in the order to show them in. One may be
    # named twice, to see what noise is.
    environments: tuple[Environment, ...] = (HERE,)
    revisions: tuple[str, ...] = ()
    fail_on: str | None = None  # as the option
    minimum_effect: float = MINIMUM_EFFECT  # the smallest difference that counts, as a share


def new_folder() -> Path:
    """Return a folder under `results/` that is named by the time."""
    return RESULTS_FOLDER / datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")


# What can be checked without TensorFlow.


def check_axes(axes: Axes, own: OwnOps = NO_OWN_OPS) -> None:
    """Check every name before a worker is started; the own ops are among those that there are."""
    require_known("op", axes.ops, {*find("ops"), *own})
    require_known("variant", axes.variants, find("variants"))
    require_known("direction", axes.directions, DIRECTIONS)
    require_known("mode", axes.modes, MODES)
    require_known("dtype", axes.dtypes, DTYPES)
    require_known("device", axes.placements, DEVICES)
    require_known("gradient mechanism", axes.gradients, (*MECHANISMS, "all"))


def check_request(request: Request) -> None:
    """Check axes, and that the baseline is not left out."""
    check_axes(request.axes, request.own)
    baseline, variants = request.settings.baseline, request.axes.variants
    require_known("baseline", [baseline], find("variants"))
    if variants and baseline not in variants:
        raise BadInput(
            "the baseline is not among the variants to measure",
            received=f"--baseline {baseline}, with {', '.join(variants)} to measure",
            hint=f"measure {baseline} too, or choose another baseline",
        )


# What a worker says.


def ask_for_plan(
    axes: Axes, own: OwnOps = NO_OWN_OPS, *, compiles: bool = True, environment: Environment = HERE
) -> dict[str, Any]:
    """Return the plan of `axes` from a worker of its own: see `plan_in`."""
    with Worker(START_TIMEOUT_SECONDS, environments.python_of(environment), own=own) as worker:
        return plan_in(worker, axes, environment, compiles=compiles)


def plan_in(worker: Worker, axes: Axes, environment: Environment = HERE, *, compiles: bool = True) -> dict[str, Any]:
    """Return cases, skips, catalogue and environment for `axes`, whose names are checked.

    `compiles`: compile the kernels that cases need and are not there yet; otherwise assume that they compile.
    """
    if GPU in axes.placements:
        require_gpu(worker)
    answer = worker.ask({"do": "plan", "axes": asdict(axes), "compile": compiles})
    require_loaded(answer)
    imported = answer.get("environment", {})
    pins = [*environment.packages, *([] if environment.tf is None else [f"tensorflow=={environment.tf}"])]
    zeros = re.compile(r"(\.0)+$")  # which do not count: PEP 440
    for name, version in (pin.split("==") for pin in pins):
        if zeros.sub("", imported.get(name, version)) != zeros.sub("", version):
            raise BadInput(
                f"the worker imports another {name} than the one you chose",
                received=f"{imported[name]}, for {environment.text}",
                hint=f"remove folders with {name} from PYTHONPATH",
            )
    return answer


def require_loaded(answer: Mapping[str, Any]) -> None:
    """Check that a worker could load every op and variant; raises `BadInput` with the file's error otherwise."""
    if "error" in answer:
        in_worker = RuntimeError(answer["error"]["traceback"])  # for --debug, because it happened there
        raise BadInput.from_plain(answer["error"]) from in_worker


def require_gpu(worker: Worker) -> None:
    """Check that the TensorFlow of a worker sees a GPU; raises `BadInput` with the devices that it sees otherwise."""
    answer = worker.ask({"do": "device", "placement": GPU})
    if answer["reason"]:
        raise BadInput(
            "TensorFlow sees no GPU",
            received=f"device={GPU}, with {', '.join(answer['devices']) or 'no device at all'}",
            hint="`pyopbench placement` counts copies on a simulated device; docs/gpu.md explains how to run on a GPU",
        )


def left_out(plan: Mapping[str, Any], axes: Axes) -> list[Failure]:
    """Return the first reason of each variant that was named and has no case."""
    there = {Case.from_id(key).variant for key in plan["cases"]}
    reasons = {Case.from_id(skip["case"]).variant: Failure(**skip) for skip in reversed(plan["skips"])}
    return [reasons[name] for name in axes.variants if name in reasons.keys() - there]


def require_cases(plan: Mapping[str, Any], axes: Axes) -> None:
    """Check that a plan has a case; raises `BadInput` with the first reason if it has none."""
    if plan["cases"]:
        return
    reasons = [skip["reason"] for skip in plan["skips"]] or ["no chosen variant has a gradient"]
    raise BadInput(
        "there is no case to measure with these options",
        received=f"{', '.join(axes.ops) or 'all ops'}; the first of {len(reasons)} reasons: {reasons[0]}",
        hint="`pyopbench run --list` shows the cases",
    )


# What is stored.


def side_of(
    answer: Mapping[str, Any], own: OwnOps, environment: Environment = HERE, checkout: Checkout | None = None
) -> Side:
    """Return a side as its worker has planned it; the own ops are those of the working tree."""
    measured = own if checkout is None else checkout.moved_ops(own)
    revision_of = git.find_checked_out_commits(own) if checkout is None else {}
    return Side(
        tf=environment.tf,
        packages=environment.packages,
        python=environment.python,
        environment={**answer["environment"], **git.commit_of_package(), "pyopbench": pyopbench.__version__},
        catalogue=convert(answer["catalogue"], Catalogue, "the worker's plan"),
        cases=answer["cases"],
        skips=convert(answer["skips"], list[Failure], "the worker's plan"),
        own={
            name: OwnOpFacts(
                words=target.words,
                fingerprint=measured[name].fingerprint,
                program=target.program,
                revision=revision_of.get(name),
            )
            for name, target in own.items()
        },
    )


def plan_of(request: Request, sides: Sequence[Side]) -> Plan:
    """Return the content of `run.json` of what is asked for, on sides that are planned."""
    mine, shard = narrow_to_shard(sides, request.settings, request.shard)
    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Plan(
        run="",
        created=created,
        command=list(request.command),
        settings=request.settings,
        sides=mine,
        fail_on=request.fail_on,
        minimum_effect=request.minimum_effect,
        shard=shard,
    )


# Shards: the same on every machine from the same command, whole units, of about equal cost.


def narrow_to_shard(
    sides: Sequence[Side], settings: Settings, choice: tuple[int, int] | None
) -> tuple[list[Side], Shard | None]:
    """Return the sides of a plan with the cases and skips of one shard alone, and what that shard is.

    A unit goes to one shard with all sides, because they are compared launch by launch on one machine.
    """
    if choice is None:
        return list(sides), None
    index, of = choice
    costs = costs_of(sides)
    measured = sum(cost > 0 for cost in costs.values())
    if of > measured:
        raise BadInput(
            "more shards than the plan can be divided into: an op in one mode and dtype stays together, because its "
            "sizes, variants and devices are compared on one machine",
            received=f"{of} shards, {measured} such units",
            hint=f"--shard {min(index, measured)}/{measured}",
        )
    parts = balance(costs, of, settings.seed)
    shard = Shard(index=index, of=of, plan=plan_hash(sides, settings, parts), host=host_name())
    mine = set(parts[index - 1])

    def is_mine(key: str) -> bool:
        return unit_of(Case.from_id(key)) in mine

    narrowed = [
        structs.replace(
            side, cases=list(filter(is_mine, side.cases)), skips=[skip for skip in side.skips if is_mine(skip.case)]
        )
        for side in sides
    ]
    return narrowed, shard


def costs_of(sides: Sequence[Side]) -> dict[str, int]:
    """Return the approximate cost of measuring each unit, in timed passes; 0 if nothing of it can be measured.

    Blocks are made equally long whatever they time, and preparing is the same work for each pass, so that what a unit
    takes is in proportion to its passes. Backward comes with forward+backward.
    """
    passes: dict[str, set[tuple[int, str, str]]] = {}
    for number, side in enumerate(sides):
        for case in map(Case.from_id, side.cases):
            passes.setdefault(unit_of(case), set()).add((number, case.group, case.runner))
        for skip in side.skips:
            passes.setdefault(unit_of(Case.from_id(skip.case)), set())
    return {unit: len(timed) for unit, timed in passes.items()}


def balance(costs: Mapping[str, int], many: int, seed: int) -> list[list[str]]:
    """Deal units out to parts, the most expensive first: no two parts differ by more than its cost.

    Units of equal cost are drawn in random order.
    """
    units = sorted(costs)
    random.Random(f"shards/{seed}").shuffle(units)
    units.sort(key=lambda unit: -costs[unit])
    return [sorted(units[part::many]) for part in range(many)]


def plan_hash(sides: Sequence[Side], settings: Settings, parts: Sequence[Sequence[str]]) -> str:
    """Return a hash of all that has to be alike in every shard: cases, settings, own ops, and how they are divided."""
    alike = [(side.label, side.cases, {name: own.fingerprint for name, own in side.own.items()}) for side in sides]
    return hashlib.sha256(msgspec.json.encode((settings, alike, parts), order="deterministic")).hexdigest()
