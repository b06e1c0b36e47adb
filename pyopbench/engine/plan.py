"""Plans a run: axes are checked, a worker says what can be measured, and the folder is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyopbench
from pyopbench.engine import environments, git, revisions
from pyopbench.engine.settings import Settings
from pyopbench.engine.shards import ShardChoice, narrowed
from pyopbench.engine.worker_process import Worker, ask_once
from pyopbench.model.case import (
    DEVICES,
    DIRECTIONS,
    DTYPES,
    GPU,
    MECHANISMS,
    MODES,
    PLACEMENTS,
    SIMULATED,
    Axes,
    Failure,
)
from pyopbench.model.checkout import Checkout
from pyopbench.model.discover import find, require_known
from pyopbench.model.errors import BadInput
from pyopbench.model.option_text import option_text
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.side import HERE, Environment
from pyopbench.store.json_file import convert
from pyopbench.store.run import OpenRun, create, require_new
from pyopbench.store.types import Catalogue, OwnOp, Plan, RunSettings, Side


def check_axes(axes: Axes, own: OwnOps = NO_OWN_OPS) -> None:
    """Check every name and size before a worker is started; the own ops are among those that there are.

    Raises:
        BadInput: an unknown op (with the nearest names), variant, direction, mode, dtype or placement, or a bad size.
    """
    require_known("op", axes.ops, {*find("ops"), *own})
    require_known("variant", axes.variants, find("variants"))
    require_known("direction", axes.directions, DIRECTIONS)
    require_known("mode", axes.modes, MODES)
    require_known("dtype", axes.dtypes, DTYPES)
    require_known("device", axes.placements, PLACEMENTS)
    if SIMULATED in axes.placements:
        raise BadInput(
            "nothing is timed on the simulated device",
            received=f"device={SIMULATED}",
            legal=", ".join(DEVICES),
            hint="`pyopbench placement` counts copies there",
        )
    require_known("gradient mechanism", axes.gradients, (*MECHANISMS, "all"))
    if "all" in axes.gradients and len(axes.gradients) > 1:
        raise BadInput(
            "--axis gradient has all and also names",
            received=",".join(axes.gradients),
            legal="all, or names",
            hint="leave one of them out",
        )
    for size in axes.sizes:
        if size < 1:
            raise BadInput(
                "a size must be at least 1",
                received=size,
                legal="whole numbers from 1",
                hint="for example --axis size=1e3,1e6",
            )


def ask_for_plan(
    axes: Axes,
    own: OwnOps = NO_OWN_OPS,
    *,
    compiles: bool = True,
    environment: Environment = HERE,
    worker: Worker | None = None,
) -> dict[str, Any]:
    """Return cases, skips, catalogue and environment for `axes`, from a worker.

    Args:
        axes: what to cover.
        own: the own ops among the ops.
        compiles: compile the kernels that cases need and are not there yet; otherwise assume that they compile.
        environment: to plan for.
        worker: that is asked, started with the same own ops; one of its own if None.

    Raises:
        BadInput: a bad name or size, or a file of an op or a variant that cannot be loaded.
    """
    check_axes(axes, own)
    if GPU in axes.placements:
        require_gpu(environments.python_of(environment))
    request = {"do": "plan", "axes": asdict(axes), "compile": compiles}
    if worker is not None:
        plan = worker.ask(request)
    else:
        plan = ask_once(request, python=environments.python_of(environment), own=own)
    require_loaded(plan)
    _require_versions(plan.get("environment", {}), environment)
    return plan


def _require_versions(imported: Mapping[str, Any], environment: Environment) -> None:
    """Check that a worker imports the versions that were asked for, as far as it says which ones it imports.

    Raises:
        BadInput: it imports another one.
    """
    wanted = dict(pin.split("==") for pin in environment.packages)
    if environment.tf is not None:
        wanted["tensorflow"] = environment.tf
    for name, version in wanted.items():
        if name in imported and imported[name] != version:
            raise BadInput(
                f"the worker imports another {name} than the one you chose",
                received=f"{imported[name]}, for {environment.text}",
                hint=f"remove folders with {name} from PYTHONPATH",
            )


def require_loaded(answer: Mapping[str, Any]) -> None:
    """Check that a worker could load every op and variant.

    Raises:
        BadInput: it could not; with the file's error.
    """
    if "error" in answer:
        in_worker = RuntimeError(answer["error"]["traceback"])  # for --debug, because it happened there
        raise BadInput.from_plain(answer["error"]) from in_worker


def python_for(tf: str | None) -> Path | None:
    """Return the interpreter that has a version of TensorFlow; None, for this one, if no version is asked for."""
    return environments.python_of(Environment(tf))


def require_gpu(python: Path | None = None) -> None:
    """Check that the TensorFlow of an interpreter, this one if None, sees a GPU, by a worker of its own.

    Raises:
        BadInput: it does not; with the devices that it sees.
    """
    answer = ask_once({"do": "device", "placement": GPU}, python=python)
    if answer["reason"]:
        raise no_gpu(answer["devices"])


def no_gpu(devices: Sequence[str]) -> BadInput:
    """Return the error for a missing GPU."""
    return BadInput(
        "TensorFlow sees no GPU",
        received=f"device={GPU}, with {', '.join(devices) or 'no device at all'}",
        legal="a machine with a GPU, and TensorFlow with GPU support",
        hint="`pyopbench placement` counts copies on a simulated device; docs/gpu.md explains how to run on a GPU",
    )


def require_cases(plan: Mapping[str, Any], axes: Axes) -> None:
    """Check that a plan has a case.

    Raises:
        BadInput: it has none; with the first reason.
    """
    if plan["cases"]:
        return
    reasons = [skip["reason"] for skip in plan["skips"]] or ["no chosen variant has a gradient"]
    raise BadInput(
        "there is no case to measure with these options",
        received=_shown(axes),
        legal="a combination that `pyopbench run --list` shows as a case",
        hint=f"the first of {len(reasons)} reasons: {reasons[0]}",
    )


def _shown(axes: Axes) -> str:
    chosen = {name: value for name, value in asdict(axes).items() if value and not isinstance(value, bool)}
    return ", ".join(f"{name}={','.join(map(str, value))}" for name, value in chosen.items())


def count_reasons(skips: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Return each reason with the number of cases that it stands for, the most frequent first."""
    return Counter(str(skip["reason"]) for skip in skips).most_common()


RESULTS_FOLDER = Path("results")


@dataclass(frozen=True)
class Request:
    """A run that is asked for: what to cover, how to measure, the baseline of ratios, the command for the record.

    `pairs` compares variants in pairs of their own, as in `latencies.baseline_of`. `environment` is what workers import
    and are run by. `checkout` has the files of the revision to measure; None is the working tree. `shard` is the part
    of the plan to measure; None is all of it. `own` are the own ops among the ops, as in the working tree.
    """

    axes: Axes
    settings: Settings
    baseline: str
    command: tuple[str, ...]
    pairs: Mapping[str, str] = field(default_factory=dict)
    environment: Environment = HERE
    checkout: Checkout | None = None
    shard: ShardChoice | None = None
    own: OwnOps = NO_OWN_OPS


def begin(folder: Path | None, request: Request) -> OpenRun:
    """Plan a run on one side and make its folder.

    Args:
        folder: where; None for a new folder under `results/`.
        request: what is asked for.

    Raises:
        BadInput: a bad name, a baseline that is left out, a folder that holds a run, or axes that leave no case.
    """
    folder = folder or new_folder()
    check_request(request)
    require_new(folder)
    answer = ask_for_plan(request.axes, request.own, environment=request.environment)
    require_cases(answer, request.axes)
    return create(folder, plan_of(request, [side_of(request, answer)]), request.own)


def new_folder() -> Path:
    """Return a folder under `results/` that is named by the time."""
    return RESULTS_FOLDER / datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")


def check_request(request: Request) -> None:
    """Check what can be checked before a worker is started.

    Raises:
        BadInput: a bad name or size, or a baseline that is left out.
    """
    check_axes(request.axes, request.own)
    require_known("baseline", [request.baseline], find("variants"))
    variants = request.axes.variants
    if variants and request.baseline not in variants:
        raise BadInput(
            "the baseline is not among the variants to measure",
            received=f"{option_text('baseline', request.baseline)}, with {', '.join(variants)} to measure",
            legal=f"one of {', '.join(variants)}",
            hint=f"measure {request.baseline} too, or choose another baseline",
        )


def side_of(request: Request, answer: Mapping[str, Any]) -> Side:
    """Return a side as its worker has planned it."""
    measured = request.own if request.checkout is None else request.checkout.moved_ops(request.own)
    revision_of = revisions.find_checked_out_commits(request.own) if request.checkout is None else {}
    return Side(
        tf=request.environment.tf,
        packages=request.environment.packages,
        python=request.environment.python,
        environment={**answer["environment"], **git.commit_of_package(), "pyopbench": pyopbench.__version__},
        catalogue=convert(answer["catalogue"], Catalogue, "the worker's plan"),
        cases=answer["cases"],
        skips=convert(answer["skips"], list[Failure], "the worker's plan"),
        own={
            name: OwnOp(
                words=one.words,
                fingerprint=measured[name].fingerprint,
                program=one.program,
                revision=revision_of.get(name),
            )
            for name, one in request.own.items()
        },
    )


def plan_of(request: Request, sides: Sequence[Side]) -> Plan:
    """Return the content of `run.json` of what is asked for, on sides that are planned."""
    settings = RunSettings(
        **asdict(request.settings),
        quick=request.axes.quick,
        baseline=request.baseline,
        pairs=dict(request.pairs or {}),
    )
    mine, shard = narrowed(sides, settings, request.shard)
    created = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Plan(run="", created=created, command=list(request.command), settings=settings, sides=mine, shard=shard)
