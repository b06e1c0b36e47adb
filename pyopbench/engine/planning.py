"""What can be measured: axes are checked, and a worker is asked for the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyopbench.engine.environments import python_of
from pyopbench.engine.worker_process import Worker, ask_once
from pyopbench.model.case import DIRECTIONS, DTYPES, GPU, MECHANISMS, MODES, PLACEMENTS, SIMULATED, Axes
from pyopbench.model.discover import find, require_known
from pyopbench.model.errors import BadInput
from pyopbench.model.option_text import option_text


def check_axes(axes: Axes) -> None:
    """Check every name and size before a worker is started.

    Raises:
        BadInput: an unknown op (with the nearest names), variant, direction, mode, dtype or placement, or a bad size.
    """
    require_known("op", axes.ops, find("ops"))
    require_known("variant", axes.variants, find("variants"))
    require_known("direction", axes.directions, DIRECTIONS)
    require_known("mode", axes.modes, MODES)
    require_known("dtype", axes.dtypes, DTYPES)
    require_known("device", axes.placements, PLACEMENTS)
    _check_placements(axes.placements)
    require_known("gradient mechanism", axes.gradients, (*MECHANISMS, "all"))
    if "all" in axes.gradients and len(axes.gradients) > 1:
        raise BadInput(
            "--gradient has all and also names",
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


def _check_placements(placements: Sequence[str]) -> None:
    if SIMULATED in placements:
        raise BadInput(
            "nothing is timed on the simulated device",
            received=f"device={SIMULATED}",
            legal=", ".join(name for name in PLACEMENTS if name != SIMULATED),
            hint="`pyopbench placement` counts copies there",
        )
    if len(set(placements)) > 1:
        raise BadInput(
            "a run has one device, because a process that sees a GPU measures the CPU differently",
            received=", ".join(placements),
            legal="one of them",
            hint="make one run per device, and compare their ratios",
        )


def ask_for_plan(
    axes: Axes, *, compiles: bool = True, tf: str | None = None, worker: Worker | None = None
) -> dict[str, Any]:
    """Return cases, skips, catalogue and environment for `axes`, from a worker.

    Args:
        axes: what to cover.
        compiles: compile the kernels that cases need and are not there yet; else it is taken that they can be.
        tf: version of TensorFlow to plan for, as in `Request`.
        worker: that is asked; one of its own if None.

    Raises:
        BadInput: a bad name or size, or a file of an op or a variant that cannot be loaded.
    """
    check_axes(axes)
    python = python_for(tf)
    if GPU in axes.placements:
        require_gpu(python)
    request = {"do": "plan", "axes": asdict(axes), "compile": compiles}
    plan = ask_once(request, python=python) if worker is None else worker.ask(request)
    require_loaded(plan)
    if tf is not None and plan["environment"].get("tensorflow") != tf:
        raise BadInput(
            "the worker imports another TensorFlow than the one you chose",
            received=f"{plan['environment'].get('tensorflow')}, for {option_text('tf', [tf])}",
            legal=f"TensorFlow {tf} from {python}",
            hint="remove folders with a TensorFlow from PYTHONPATH",
        )
    return plan


def require_loaded(answer: Mapping[str, Any]) -> None:
    """Check that a worker could load every op and variant.

    Raises:
        BadInput: it could not; with the file's error.
    """
    if "error" in answer:
        said = dict(answer["error"])
        in_worker = RuntimeError(said.pop("traceback"))  # for --debug, because it happened there
        raise BadInput(**said) from in_worker


def python_for(tf: str | None) -> Path | None:
    """Return the interpreter that has a version of TensorFlow; None, for this one, if no version is asked for."""
    return None if tf is None else python_of(tf)


def require_gpu(python: Path | None = None) -> None:
    """Check that the TensorFlow of an interpreter, this one if None, sees a GPU, by a worker of its own.

    Raises:
        BadInput: it does not; with the devices that it sees.
    """
    answer = ask_once({"do": "device", "placement": GPU}, python=python)
    if answer["reason"]:
        raise no_gpu(answer["devices"])


def no_gpu(devices: Sequence[str]) -> BadInput:
    """Return the error for who asks for a GPU where there is none."""
    return BadInput(
        "TensorFlow sees no GPU",
        received=f"{option_text('device', GPU)}, with {', '.join(devices) or 'no device at all'}",
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
        legal="a combination that `pyopbench list` shows as a case",
        hint=f"the first of {len(reasons)} reasons: {reasons[0]}",
    )


def _shown(axes: Axes) -> str:
    chosen = {name: value for name, value in asdict(axes).items() if value and not isinstance(value, bool)}
    return ", ".join(f"{name}={','.join(map(str, value))}" for name, value in chosen.items())


def count_reasons(skips: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """Return each reason with the number of cases that it stands for, the most frequent first."""
    return Counter(str(skip["reason"]) for skip in skips).most_common()
