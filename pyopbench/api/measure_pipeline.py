"""Measures an op in an input pipeline from Python: `pyopbench.pipeline`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyopbench.api.alone import alone_on_this_machine
from pyopbench.api.judging import judging_of
from pyopbench.api.listeners import listener_here, pipeline_text
from pyopbench.api.own_function import Inputs, Op, brought_op
from pyopbench.api.results import PipelineResult
from pyopbench.engine import pipeline as pipelines
from pyopbench.judge.pipeline import TrainingStep, judge
from pyopbench.model.arrangement import STEP_ELEMENTS
from pyopbench.model.case import BASELINE, MINIMUM_EFFECT
from pyopbench.model.options import PIPELINE, describe_arguments, read_settings
from pyopbench.model.own_target import usual_baseline
from pyopbench.model.process_guard import TemporaryFolder


@describe_arguments(PIPELINE)
def pipeline(  # noqa: PLR0913 - each is an option, and all but the op have a default
    op: Op,
    inputs: Inputs = None,
    *,
    size: int | None = None,
    dtype: str | None = None,
    parallel: Sequence[int] = (),
    batch: Sequence[int] = pipelines.BATCH,
    deterministic: bool = True,
    private_threads: int = 0,
    baseline: str | None = None,
    minimum_effect: float = MINIMUM_EFFECT,
    step_seconds: float | None = None,
    step_elements: int = STEP_ELEMENTS,
    budget_seconds: float | None = None,
    launches: int | None = None,
    seed_with: str = "",
    settings: Mapping[str, Any] | None = None,
    progress: bool = True,
) -> PipelineResult:
    """Measure an op inside a `tf.data` pipeline, and find the best arrangement: `pyopbench pipeline` from Python.

    Args:
        op: a function of one element, as for `run`.
        inputs: an example of each argument, as for `run`.
        {options}
        progress: show how it goes.

    Returns:
        The answer, and how many elements a second each arrangement delivers. Nothing is written before its `save`.

    Raises:
        BadInput: something cannot be measured as it is.
        NothingMeasured: the body fails, or the current callback does.
    """
    rare = read_settings(("case_timeout", "seed"), settings or {})
    judging_of(
        baseline or BASELINE,
        minimum_effect,
        calls_per_step=step_elements if step_seconds else None,
        step_seconds=step_seconds,
    )
    training = TrainingStep(step_elements, step_seconds)
    with TemporaryFolder() as scratch, brought_op(op, inputs, scratch, seed_with) as name:
        request = pipelines.PipelineRequest(
            name,
            size,
            dtype,
            parallel=tuple(parallel) or pipelines.usual_parallel(),
            batch=tuple(batch),
            deterministic=deterministic,
            private_threads=private_threads,
            baseline=baseline or usual_baseline([name]),
            launches=launches,
            budget_seconds=pipelines.BUDGET_SECONDS if budget_seconds is None else budget_seconds,
            timeout_seconds=rare.get("case_timeout", pipelines.TIMEOUT_SECONDS),
            seed=rare.get("seed", 0),
            step_seconds=training.floor,
            minimum_effect=minimum_effect,
        )
        with alone_on_this_machine(), listener_here(progress=progress).busy("starting") as show:
            document = pipelines.measure(request, lambda step: show(pipeline_text(step)))
    return PipelineResult(judge(document, minimum_effect, training))
