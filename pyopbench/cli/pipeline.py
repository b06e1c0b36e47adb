"""`pyopbench pipeline`: the op inside a `tf.data` pipeline."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyopbench.api.judging import judging_of
from pyopbench.api.listeners import ConsoleListener, say_planned
from pyopbench.cli.output import err
from pyopbench.cli.run import measure_and_report
from pyopbench.model.case import BASELINE
from pyopbench.model.discover import read_ops
from pyopbench.model.own_target import usual_baseline


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
    out_path: Path | None,
    as_json: bool,
    **wanted: Any,
) -> int:
    """Measure an op inside tf.data, and find the best of threads, batches, processes and ports."""
    from pyopbench.engine import pipeline as pipelines
    from pyopbench.judge.pipeline import TrainingStep

    step = TrainingStep(step_elements, step_seconds)
    options = judging_of(baseline or BASELINE, minimum_effect)
    (name,), own = read_ops([op], inputs, seed_with)
    own = pipelines.with_program(name, own, program)
    request = pipelines.PipelineRequest(
        name,
        parallel=parallel or pipelines.usual_parallel(),
        batch=batch,
        baseline=baseline or usual_baseline([name], own),
        step_seconds=step.seconds_per_element,
        step_elements=step_elements,
        minimum_effect=minimum_effect,
        budget_seconds=pipelines.BUDGET_SECONDS if budget_seconds is None else budget_seconds,
        own=own,
        **wanted,
    )
    listener = ConsoleListener(err)
    with listener.busy("planning"):
        begun = pipelines.begin(out_path, request, ("pyopbench", *sys.argv[1:]))
    say_planned(begun, listener)
    return measure_and_report(begun, replace(options, baseline=request.baseline), as_json=as_json)
