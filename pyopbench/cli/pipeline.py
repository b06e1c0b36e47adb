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
from pyopbench.cli.report import write_report
from pyopbench.cli.run import measure_and_report
from pyopbench.engine import stored_run
from pyopbench.find.draft import BASELINES
from pyopbench.find.record import inputs_of
from pyopbench.model.case import BASELINE
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import usual_baseline
from pyopbench.store.run_sides import OpenRun, Source, open_sources

if TYPE_CHECKING:
    from pyopbench.judge.pipeline import TrainingStep


def pipeline(
    *,
    op: str,
    inputs: Sequence[str],
    recording: Path | None,
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
    results: Path | None,
    out_path: Path | None,
    as_json: bool,
    **wanted: Any,
) -> int:
    """Measure an op inside tf.data, and find the best of threads, batches, processes and ports."""
    from pyopbench.engine import pipeline as pipelines

    rare = dict(settings)
    step = _read_step(step_seconds, step_elements)
    sources = [] if results is None else open_sources([results])
    for source in sources:
        _require_pipeline(source)
    usual = stored_run.find_target(sources)[0] if sources else None
    options = judging_of(
        baseline or usual or BASELINE,
        minimum_effect,
        calls_per_step=step_elements if step_seconds else None,
        step_seconds=step_seconds,
    )
    if results is not None:
        return write_report(sources, out_path or results, options, as_json=as_json)
    if recording is not None:
        inputs, recorded = _read_recording(recording, op, inputs)
        baseline = baseline or recorded
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
    return measure_and_report(begun, replace(options, baseline=request.baseline), probe=False, as_json=as_json)


def _read_recording(recording: Path, op: str, inputs: Sequence[str]) -> tuple[Sequence[str], str]:
    """Return the inputs of a function in a recording, and the variant that its callback is.

    Raises:
        BadInput: it has none, the op is not a function in a file, or inputs were given too.
    """
    _, colon, function = op.rpartition(":")
    if inputs or not colon:
        named = op if colon else f"{op if op.endswith('.py') else 'FILE.py'}:FUNCTION"
        raise BadInput(
            "--recording gives the inputs of a function",
            received=f"{op} with --input" if inputs else op,
            legal="FILE.py:FUNCTION, without --input",
            hint=f"pyopbench pipeline {named} --recording {recording}",
        )
    found, kind = inputs_of(recording, function)
    return found, BASELINES[kind]


def _require_pipeline(source: Source) -> None:
    """Check that results are of a run in a pipeline: a report of any other would be written over its own.

    Raises:
        BadInput: they are not.
    """
    if isinstance(source, OpenRun) and any(side.content.pipeline is not None for side in source.measured):
        return
    folder = source.folder if isinstance(source, OpenRun) else source
    raise BadInput(
        "these results are not of a run in a pipeline",
        received=f"--results {folder}",
        hint=f"name a folder of `pyopbench pipeline`; for any other results: pyopbench report {folder}",
    )


def _read_step(seconds: float | None, elements: int) -> TrainingStep:
    from pyopbench.judge.pipeline import TrainingStep

    if seconds is not None and not 0 < seconds < math.inf:
        raise BadInput(
            "a step takes more than 0 milliseconds",
            received=f"--step-ms {1000 * seconds:g}",
            hint="for example --step-ms 120 --step-elements 32",
        )
    return TrainingStep(elements, seconds)
