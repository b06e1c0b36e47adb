"""Plans a run of an op inside a `tf.data` pipeline: each arrangement is a case, which `engine/run.py` measures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from pyopbench.engine import plan
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, CaseLost, Worker
from pyopbench.model.arrangement import AUTOTUNE, CURRENT, STEP_ELEMENTS
from pyopbench.model.case import BASELINE, DTYPES, MINIMUM_EFFECT, Axes
from pyopbench.model.discover import find, require_known
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.model.machine import usable_cores
from pyopbench.model.own_target import OwnOps, read_program
from pyopbench.store.json_file import convert
from pyopbench.store.run import OpenRun, create, require_new
from pyopbench.store.types import PipelinePlan, Settings, builtin_catalogue

MOST_LAUNCHES = 8
BUDGET_SECONDS = 75.0
"""The start of the first worker and the report are not included: an answer is there within 90 s."""
FEWEST_ROUNDS, MOST_ROUNDS = 3, 12
"""Of a launch. More launches are worth more than longer ones: one launch cannot show by how much launches differ."""
TIMEOUT_SECONDS = 30.0
"""Of an arrangement, without a sign of life."""
BLOCK_SECONDS = 0.1
BATCH = (1, 32, 256)


def usual_parallel() -> tuple[int, ...]:
    """Return the usual values of `num_parallel_calls`: 1, as many as there are cores, and `AUTOTUNE`."""
    return tuple(dict.fromkeys((1, max(len(usable_cores()), 2), AUTOTUNE)))


@dataclass(frozen=True)
class PipelineRequest:
    """The work of a run in a pipeline, and how long it may take.

    An arrangement that keeps up with a training step is of interest, however much quicker others are.
    """

    op: str
    size: int | None = None  # of an element, in the op's unit; None for the middle one of a quick run
    dtype: str | None = None
    parallel: tuple[int, ...] = field(default_factory=usual_parallel)  # `num_parallel_calls`; 1 is always among them
    batch: tuple[int, ...] = BATCH  # elements that one callback gets; empty to leave out all arrangements of batches
    baseline: str = BASELINE
    launches: int | None = None  # at the most; None for as many as there is time for, up to `MOST_LAUNCHES`
    budget_seconds: float = BUDGET_SECONDS
    timeout_seconds: float = TIMEOUT_SECONDS
    step_seconds: float = 0.0  # that a training step takes for each of its elements; 0 where that is not known
    step_elements: int = STEP_ELEMENTS
    minimum_effect: float = MINIMUM_EFFECT
    forms: tuple[str, ...] | None = None  # of the arrangements to measure, as `variants`; None for all
    variants: tuple[str, ...] | None = None
    in_program: str = CURRENT  # the arrangement that the program has, with which others are compared
    own: OwnOps = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        """How it is measured: with more time there are more rounds in a launch, too."""
        rounds = int(FEWEST_ROUNDS * self.budget_seconds / BUDGET_SECONDS)
        return Settings(
            baseline=self.baseline,
            launches=self.launches or MOST_LAUNCHES,
            first_rounds=1,  # what is far from the best is seen by then
            rounds=min(max(rounds, FEWEST_ROUNDS), MOST_ROUNDS),
            until="decided",
            block_seconds=BLOCK_SECONDS,
            group_seconds=BLOCK_SECONDS,  # so that a sweep has few rounds: each takes seconds
            budget_seconds=self.budget_seconds,
            case_timeout_seconds=self.timeout_seconds,
        )


def _check(request: PipelineRequest) -> None:
    """Check what can be checked without TensorFlow."""
    require_known("op", [request.op], {*find("ops"), *request.own})
    callbacks = [name for name, facts in builtin_catalogue().variants.items() if facts.kind == "callback"]
    require_known("callback", [request.baseline], callbacks)
    require_known("dtype", [request.dtype] if request.dtype else [], DTYPES)
    numbers = (*request.batch, *(threads for threads in request.parallel if threads != AUTOTUNE), request.size or 1)
    if min(numbers) < 1 or request.size == 0:
        raise BadInput(
            "not valid for a pipeline",
            received=f"parallel={request.parallel}, batch={request.batch}, size={request.size}",
            hint="for example --parallel 1,4,AUTOTUNE --batch 32 --size 1000",
        )


def with_program(name: str, own: OwnOps, program: str) -> OwnOps:
    """Return the own op of a run, `name`, with the program in which it is measured, as typed, if there is one."""
    if not program:
        return own
    if name not in own:
        received = f"--program {program} with " + (f"the built-in op {name}" if name else "no op")
        hint = f"name its file, for example my_op.py --program {program}"
        raise BadInput("--program needs an op of your own", received=received, hint=hint)
    return {name: replace(own[name], program=read_program(program))}


def begin(folder: Path | None, request: PipelineRequest, command: tuple[str, ...]) -> OpenRun:
    """Plan a run in a pipeline and make its folder: a new one under `results/` if it is None."""
    _check(request)
    folder = folder or plan.new_folder()
    require_new(folder)
    settings = {
        "parallel": sorted({1, *request.parallel}, key=lambda threads: (threads == AUTOTUNE, threads)),
        "batch": list(request.batch),
        "processes": max(len(usable_cores()), 2),
    }
    answer = _ask_for_plan(request, settings)
    program = answer["plan"].get("program")
    elements = program["step_elements"] if program else request.step_elements
    # A block of a program has a few steps, in which nothing is heard of the worker.
    patience = max(request.timeout_seconds, 10 * elements * answer["plan"]["body_seconds"])
    measuring = structs.replace(request.settings, case_timeout_seconds=patience)
    asked = plan.Request(Axes(ops=(request.op,)), measuring, command)
    content = {
        **settings,
        "step_seconds": request.step_seconds * request.step_elements / elements,
        "step_elements": elements,
        "minimum_effect": request.minimum_effect,
        "in_program": request.in_program,
        **answer["plan"],
    }
    pipeline = convert(content, PipelinePlan, "the worker's plan")
    planned = plan.plan_of(asked, [plan.side_of(answer, request.own)])
    return create(folder, structs.replace(planned, pipeline=pipeline), request.own)


def _ask_for_plan(request: PipelineRequest, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a request as `worker.pipeline.measure.describe_pipelines` takes it."""
    asked: dict[str, Any] = {"do": "pipeline", "variant": request.baseline, "elements": None, **settings}
    asked |= {name: getattr(request, name) for name in ("op", "size", "dtype", "forms", "variants")}
    try:
        with Worker(START_TIMEOUT_SECONDS, own=request.own) as worker:
            answer = worker.ask(asked)
    except CaseLost as lost:
        answer = {"failure": lost.reason}
    plan.require_loaded(answer)
    if "failure" in answer:
        raise NothingMeasured(
            "the function fails even without a pipeline",
            received=answer["failure"],
            hint="`pyopbench verify` shows why",
        )
    return answer
