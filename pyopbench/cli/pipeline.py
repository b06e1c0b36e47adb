"""`pyopbench pipeline`: the op inside a `tf.data` pipeline."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyopbench.api.judging import judging_of
from pyopbench.api.listeners import ConsoleListener
from pyopbench.cli.output import err
from pyopbench.cli.run import measure_and_report
from pyopbench.model.case import BASELINE
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import usual_baseline

if TYPE_CHECKING:
    from pyopbench.judge.pipeline import TrainingStep


def pipeline(
    *,
    op: str,
    inputs: Sequence[str],
    seed_with: str,
    program: str,
    parallel: tuple[int, ...],
    batch: tuple[int, ...],
    baseline: str | None,
    step_seconds: float | None,
    step_elements: int,
    minimum_effect: float,
    budget_seconds: float | None,
    settings: Any,
    out_path: Path | None,
    as_json: bool,
    **wanted: Any,
) -> int:
    """Measure an op inside tf.data, and find the best of threads, batches, processes and ports."""
    from pyopbench.engine import pipeline as pipelines

    rare = dict(settings)
    step = _read_step(step_seconds, step_elements)
    options = judging_of(
        baseline or BASELINE,
        minimum_effect,
        calls_per_step=step_elements if step_seconds else None,
        step_seconds=step_seconds,
    )
    (name,), own = read_ops([op], inputs, seed_with)
    own = pipelines.with_program(name, own, program)
    request = pipelines.PipelineRequest(
        name,
        parallel=parallel or pipelines.usual_parallel(),
        batch=batch,
        baseline=baseline or usual_baseline([name], own),
        timeout_seconds=rare.get("case_timeout", pipelines.TIMEOUT_SECONDS),
        seed=rare.get("seed", 0),
        step_seconds=step.seconds_per_element,
        step_elements=step_elements,
        minimum_effect=minimum_effect,
        budget_seconds=pipelines.BUDGET_SECONDS if budget_seconds is None else budget_seconds,
        own=own,
        **wanted,
    )
    begun = pipelines.begin(out_path, request, ("pyopbench", *sys.argv[1:]), ConsoleListener(err))
    return measure_and_report(begun, replace(options, baseline=request.baseline), as_json=as_json)


def _read_step(seconds: float | None, elements: int) -> TrainingStep:
    from pyopbench.judge.pipeline import TrainingStep

    if seconds is not None and not 0 < seconds < math.inf:
        raise BadInput(
            "a step takes more than 0 milliseconds",
            received=f"--step-ms {1000 * seconds:g}",
            hint="for example --step-ms 120 --step-elements 32",
        )
    return TrainingStep(elements, seconds)
