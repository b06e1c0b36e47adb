"""An op in a pipeline: its arrangements as cases, and preparing these, so that blocks of elements can be timed.

Elements of an op alone are drawn by a loop in a graph, so that pyopbench's own Python does not compete with a callback
for the interpreter. Those of a user's program are drawn by a loop in Python, as training does. The iterator stays from
block to block. While others are measured, a pipeline fills its buffers and stops; the elements in them are drawn before
the clock starts.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import tensorflow as tf

from pyopbench.model import machine
from pyopbench.model.arrangement import AUTOTUNE, CURRENT, Arrangement
from pyopbench.model.case import PIPELINE, Case, Failure
from pyopbench.model.errors import BadInput, Unsupported, WrongResult, describe_error
from pyopbench.ops.load import describe, load_op, load_variants, why_unloadable
from pyopbench.worker import environment
from pyopbench.worker.pipeline.arrangements import Build, PipelineContext, PipelineSettings, arrange_all, write_module
from pyopbench.worker.pipeline.elements import make_elements
from pyopbench.worker.pipeline.program import Program, change_for, flat_arrays
from pyopbench.worker.prepare.node_graph import OUT_OF_MEMORY
from pyopbench.worker.prepare.prepare import OutOfMemory

Emit: TypeAlias = Callable[[Mapping[str, Any]], None]
Made: TypeAlias = dict[str, "ElementsOfPipeline | Exception"]

THE_BODY = "the body alone"
"""Names in events what is called before there is any arrangement."""
WARM_UP_SECONDS = 1.0
"""How long elements are drawn before any are timed."""
CHUNK_SECONDS = 0.01
PREFETCHED = 1
"""Deliveries that are made ahead. Without it the last stage would wait for the step, and with more of them it evens out
steps that vary, but makes no element come quicker."""
QUIET_SECONDS, LEAST_REST_SECONDS, MOST_REST_SECONDS = 0.002, 0.3, 5.0
"""How long each check for activity lasts, and how long to wait for rest: as long as filling buffers takes, within
these."""
FILLING_MARGIN = 1.5
"""By how much longer than when last timed that may take."""
BUSY_SHARE = 0.2


class RunningPipeline:
    """A pipeline of one arrangement.

    Attributes:
        period: elements after which it repeats itself: whole deliveries, and as many batches as are made at the same
            time, because those come at the same time. Fewer would be timed as nothing, or as all of them.
        seconds_per_element: as last seen; infinite before.
    """

    def __init__(self, arrangement: Arrangement, build: Build, context: PipelineContext) -> None:
        """Build it; nothing is drawn yet."""
        self._context = context
        self.delivered = context.elements.delivered
        batch = max(arrangement.batch, 1)
        parallel = len(machine.usable_cores()) if arrangement.parallel == AUTOTUNE else arrangement.parallel
        self.period = math.lcm(parallel * batch, self.delivered)
        # Results of the call under way and of calls that run ahead, which a plain map has none of, what the last stage
        # has made, and what it is making.
        calls = 1 if parallel == 1 else parallel + 1
        self._buffered = calls * batch + (PREFETCHED + 1) * self.delivered
        dataset = _in_deliveries(build(context), arrangement, self.delivered).prefetch(PREFETCHED)
        self._iterator = iter(dataset)
        self._draw = _drawing(self._iterator)
        self.seconds_per_element = math.inf

    def check(self) -> float:
        """Draw all elements once, compare them with what the body makes of them, and return the largest error."""
        elements, seen, largest = self._context.elements, [], 0.0
        many = len(elements.inputs)
        for _ in range(math.ceil(many / self.delivered)):
            error, numbers = self._check_delivery()
            largest = max(largest, error)
            seen += numbers
        if seen != [place % many for place in range(len(seen))]:
            raise WrongResult("elements are not in their order")
        return largest

    def _check_delivery(self) -> tuple[float, list[int]]:
        """Draw a delivery and return its largest error and the numbers of its elements."""
        elements = self._context.elements
        *outputs, numbers = next(self._iterator)
        if not numbers.shape.rank:  # an element without a batch axis
            numbers, outputs = numbers[None], [one[None] for one in outputs]
        return elements.check(numbers.numpy(), outputs), numbers.numpy().tolist()

    def warm_up(self) -> None:
        """Draw for a while, until threads run and buffers are full, and find out how long an element takes."""
        until = time.perf_counter() + WARM_UP_SECONDS
        chunk = self.period
        found: list[float] = []
        while not found or time.perf_counter() < until:
            seconds = self._timed(chunk)
            found.append(seconds / chunk)
            if seconds < CHUNK_SECONDS:
                chunk *= 2
        self.seconds_per_element = statistics.median(found[len(found) // 2 :])

    def block(self, seconds: float) -> tuple[int, float]:
        """Draw what lies in buffers, then elements for about so many seconds; return how many, and what they took."""
        self._check_delivery()
        # One more than the buffers hold, which has to be waited for, so that the clock starts when an element arrives.
        self._timed((math.ceil(self._buffered / self.delivered) + 1) * self.delivered)
        periods = max(1, round(seconds / max(self.seconds_per_element * self.period, 1e-9)))
        elements = periods * self.period
        taken = self._timed(elements)
        self.seconds_per_element = taken / elements
        return elements, taken

    def _timed(self, elements: int) -> float:
        deliveries = tf.constant(elements // self.delivered)
        start = time.perf_counter()
        self._draw(deliveries)
        return time.perf_counter() - start

    def rest(self) -> None:
        """Wait until what runs ahead has come to its end, so that the next pipeline is measured alone.

        A loop over a batch of slow bodies, once begun, takes seconds, during which it competes for the interpreter.
        """
        filling = self._buffered * self.seconds_per_element if math.isfinite(self.seconds_per_element) else 0.0
        until = time.perf_counter() + min(max(LEAST_REST_SECONDS, FILLING_MARGIN * filling), MOST_REST_SECONDS)
        while time.perf_counter() < until:
            cpu = time.process_time()
            time.sleep(QUIET_SECONDS)
            is_working = time.process_time() - cpu > BUSY_SHARE * QUIET_SECONDS
            if not is_working and not self._context.is_busy:
                return


class RunningProgram(RunningPipeline):
    """The pipeline of a user's program, with its stage rearranged; a delivery is one of its elements, e.g. a batch."""

    def __init__(self, arrangement: Arrangement, context: PipelineContext) -> None:
        """Build it; nothing is drawn yet."""
        assert context.program is not None
        self._context, self._program = context, context.program
        self.delivered = self._program.step_elements
        batch = max(arrangement.batch, 1)
        parallel = len(machine.usable_cores()) if arrangement.parallel == AUTOTUNE else arrangement.parallel
        # At least as many elements as are made at the same time, in whole steps.
        self.period = self.delivered * math.ceil(parallel * batch / self.delivered)
        dataset, ahead = self._program.build(change_for(arrangement, context))
        calls = 1 if parallel == 1 else parallel + 1
        self._buffered = calls * batch + (ahead + 1) * self.delivered
        self._iterator = iter(dataset)
        self.seconds_per_element = math.inf

    def check(self) -> float:
        """Draw the first elements and compare them with those of the unchanged program."""
        return self._program.check([flat_arrays(next(self._iterator)) for _ in self._program.reference])

    def _check_delivery(self) -> tuple[float, list[int]]:
        next(self._iterator)  # there is no way to know which element it is
        return 0.0, []

    def _timed(self, elements: int) -> float:
        """Draw as a training loop does: in Python, which needs the GIL that a callback may hold."""
        iterator, start = self._iterator, time.perf_counter()
        for _ in range(elements // self.delivered):
            next(iterator)
        return time.perf_counter() - start


def _in_deliveries(dataset: tf.data.Dataset, arrangement: Arrangement, delivered: int) -> tf.data.Dataset:
    """Return elements or batches as deliveries; an element alone, without a batch axis, where outputs do not stack."""
    if arrangement.batch == delivered or (not arrangement.batch and delivered == 1):
        return dataset
    if not arrangement.batch:
        return dataset.batch(delivered, drop_remainder=True)
    if hasattr(dataset, "rebatch"):
        return dataset.rebatch(delivered, drop_remainder=True)
    return dataset.unbatch().batch(delivered, drop_remainder=True)


def _drawing(iterator: Any) -> Callable[[Any], Any]:
    """Return a function that draws so many deliveries in a loop in a graph."""

    def draw(deliveries: Any) -> Any:
        def one(place: Any) -> Any:
            with tf.control_dependencies(tf.nest.flatten(iterator.get_next())):
                return place + 1

        return tf.while_loop(lambda place: place < deliveries, one, [tf.constant(0)], parallel_iterations=1)

    function: Callable[[Any], Any] = tf.function(draw, autograph=False, input_signature=[tf.TensorSpec((), tf.int32)])
    return function


class ElementsOfPipeline:
    """Elements of a pipeline that is built, checked and warm."""

    def __init__(self, arrangement: Arrangement, build: Build, context: PipelineContext) -> None:
        # Kept, whatever comes of it: TensorFlow waits for calls under way when it frees a pipeline, and holds the
        # interpreter's lock, for which those calls wait.
        if context.program is None:
            running = RunningPipeline(arrangement, build, context)
        else:
            running = RunningProgram(arrangement, context)
        self._running = running
        context.kept.append(running)
        self.largest_error = running.check()
        running.warm_up()
        running.rest()
        self.pool_seconds = context.start_seconds.get(arrangement.key)  # None where it has no processes

    def expected_seconds(self, seconds: float) -> float:
        """Return about how long a block lasts, in seconds."""
        return max(seconds, self._running.period * self._running.seconds_per_element)

    def block(self, seconds: float) -> tuple[int, float]:
        """Draw elements for about so many seconds, and wait until the pipeline is idle.

        Returns:
            How many elements came, and the seconds that they took.
        """
        found = self._running.block(seconds)
        self._running.rest()
        return found

    def waits(self) -> None:
        """Nobody asks how long a single element takes."""


def prepare_pipelines(cases: Sequence[Case], request: Mapping[str, Any], at: Callable[[Case], object]) -> Made:
    """Build, check and warm the arrangements of a group, the current callback first.

    Without the current callback there is nothing to compare with, so that nothing else is then prepared. `at` is called
    with each case before it is prepared.

    Returns:
        By `Case.runner` what is to be timed, or why it cannot be.
    """
    start, asked = time.perf_counter(), request["plan_request"]
    ordered = sorted(cases, key=lambda case: case.arrangement != CURRENT)
    at(ordered[0])
    try:
        context = _context_of(asked)
        builds = {one.key: (one, build) for one, build in arrange_all(context)}
        if context.elements.op.own is not None and context.elements.op.own.is_random:
            _write_files([builds[case.arrangement][0] for case in cases if case.arrangement in builds], context)
    except OUT_OF_MEMORY as error:
        raise OutOfMemory(ordered[0], error) from error
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return {ordered[0].runner: error}
    efforts = {key: arrangement.effort for key, (arrangement, _) in builds.items()}
    ordered[1:] = sorted(ordered[1:], key=lambda case: efforts.get(case.arrangement, math.inf))
    made: Made = {}
    for case in ordered:
        if made and asked["budget_seconds"] is not None and time.perf_counter() - start > asked["budget_seconds"]:
            made[case.runner] = Unsupported("time ran out before it could be prepared")
            continue
        at(case)
        try:
            arrangement, build = builds[case.arrangement]
            if isinstance(build, str):
                raise Unsupported(build)
            made[case.runner] = ElementsOfPipeline(arrangement, build, context)
        except OUT_OF_MEMORY as error:
            raise OutOfMemory(case, error) from error
        except Exception as error:  # noqa: BLE001 - what a pipeline raises is the answer
            made[case.runner] = error
            if case.arrangement == CURRENT:
                return made
    return made


def _write_files(arrangements: Iterable[Arrangement], context: PipelineContext) -> None:
    """Write the files of arrangements before any pipeline starts.

    Writing a file compares two seeded calls of the body, and a pipeline that fills its buffers would draw between them.
    """
    for one in arrangements:
        try:
            write_module(one, context)
        except OUT_OF_MEMORY:  # noqa: PERF203 - each file may fail by itself
            raise
        except Exception:  # noqa: BLE001 - raised again where the arrangement is built
            continue


def _context_of(asked: Mapping[str, Any]) -> PipelineContext:
    """Return what the arrangements of a plan are made from."""
    op = load_op(asked["op"])
    size = asked["size"] or op.quick_sizes[len(op.quick_sizes) // 2]
    elements = make_elements(op.name, asked["variant"], size, asked["dtype"] or op.dtypes[0], asked["elements"])
    target = elements.target
    program = Program(target.program, elements) if target is not None and target.program else None
    # A program has its own batches, and a stage that is moved after `batch` gets those.
    is_batched = program is not None and program.step_elements > 1
    batch = (program.step_elements,) if program is not None and is_batched else tuple(asked["batch"])
    settings = PipelineSettings(tuple(asked["parallel"]), batch, asked["processes"])
    return PipelineContext(elements, settings, program)


def describe_program(program: Program | None) -> dict[str, Any] | None:
    """Return what is known about the user's pipeline, as in `store.types.ProgramFacts`; None without one."""
    if program is None:
        return None
    name = Path(program.text.rpartition(":")[0]).name
    return {
        "name": f"{name}:{program.text.rpartition(':')[2]}",
        "stage": f"{Path(program.place[0]).name}:{program.place[1]}",
        "step_elements": program.step_elements,
        "is_repeatable": program.is_repeatable,
    }


def describe_pipelines(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request for the arrangements of an op, or the error of its file, or what the body raised.

    The request has `op`, `variant` (the current callback), `parallel`, `batch`, `processes`, and `size`, `dtype`,
    `elements`, `forms` and `variants`: None for the usual ones or all.
    """
    reason = why_unloadable()
    if reason:
        return {"error": reason}
    emit({"event": "at", "case": THE_BODY})
    forms, variants = request["forms"], request["variants"]
    try:
        context = _context_of(request)
        arranged = [
            (one, build)
            for one, build in arrange_all(context)
            if (forms is None or one.form in forms) and (variants is None or one.variant in {"", *variants})
        ]
    except BadInput as error:  # of the program
        return {"error": {**error.as_plain(), "traceback": "".join(traceback.format_exception(error))}}
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return {"failure": describe_error(error)}
    elements, op = context.elements, context.elements.op
    there = [one for one, build in arranged if callable(build)]
    case = elements.case

    def case_of(key: str, variant: str = "") -> str:
        return replace(case, variant=variant or case.variant, mode=f"{PIPELINE}:{key}").id

    return {
        "cases": [case_of(one.key, one.variant) for one in there],
        "skips": [
            dataclasses.asdict(Failure(case_of(one.key, one.variant), "unsupported", build))
            for one, build in arranged
            if not callable(build)
        ],
        "plan": {
            "arrangements": [dataclasses.asdict(one) for one, _ in arranged],
            "elements": len(elements.inputs),
            "program": describe_program(context.program),
            "body_seconds": elements.body_seconds,
        },
        "size": case.size,
        "dtype": case.dtype,
        "catalogue": describe({op.name: op}, load_variants()),
        "environment": {**machine.describe(), **environment.software()},
    }
