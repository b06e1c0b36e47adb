"""Measures an op in an input pipeline from Python: `pyopbench.pipeline`."""

from __future__ import annotations

from collections.abc import Sequence

from pyopbench.api.alone import alone_on_this_machine
from pyopbench.api.judging import judging_of
from pyopbench.api.listeners import listener_here, pipeline_text
from pyopbench.api.own_function import Inputs, Op, brought_op
from pyopbench.api.results import PipelineResult
from pyopbench.engine import pipeline as pipelines
from pyopbench.judge.pipeline import TrainingStep, judge
from pyopbench.model.arrangement import STEP_ELEMENTS
from pyopbench.model.case import BASELINE, MINIMUM_EFFECT
from pyopbench.model.own_target import usual_baseline
from pyopbench.model.process_guard import TemporaryFolder


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
    budget_seconds: float = pipelines.BUDGET_SECONDS,
    launches: int | None = None,
    case_timeout_seconds: float = 30.0,
    seed: int = 0,
    seed_with: str = "",
    progress: bool = True,
) -> PipelineResult:
    """Measure an op inside a `tf.data` pipeline, and find the best arrangement: `pyopbench pipeline` from Python.

    Args:
        op: a function of one element, as for `run`.
        inputs: an example of each argument, as for `run`.
        size: of one element of a built-in op; None for a middle one.
        dtype: `float32` or `float64`; None for the first of the op.
        parallel: values of `num_parallel_calls` to try, -1 for `tf.data.AUTOTUNE`; 1, the cores and AUTOTUNE if empty.
        batch: batch sizes to try where the callback gets a batch.
        deterministic: keep the order of elements in a parallel map.
        private_threads: threads of a pool of the pipeline's own; 0 for TensorFlow's.
        baseline: the variant that is the current callback; None as for `run`.
        minimum_effect: the smallest difference that matters, as a share: 0.03 is 3%.
        step_seconds: how long a training step takes if its input is ready, in seconds.
        step_elements: elements of a training step.
        budget_seconds: stop measuring after so many seconds.
        launches: maximum number of launches (worker processes); None for 5, or up to 8 if time is left.
        case_timeout_seconds: give up on an arrangement after so many seconds without a sign of life.
        seed: of the random order of measurement.
        seed_with: a statement that runs before each call of a body that draws random numbers.
        progress: show how it goes.

    Returns:
        The answer, and how many elements a second each arrangement delivers. Nothing is written before its `save`.

    Raises:
        BadInput: something cannot be measured as it is.
        NothingMeasured: the body fails, or the current callback does.
    """
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
            budget_seconds=budget_seconds,
            timeout_seconds=case_timeout_seconds,
            seed=seed,
            step_seconds=training.floor,
            minimum_effect=minimum_effect,
        )
        with alone_on_this_machine(), listener_here(progress=progress).busy("starting") as show:
            document = pipelines.measure(request, lambda step: show(pipeline_text(step)))
    return PipelineResult(judge(document, minimum_effect, training))
