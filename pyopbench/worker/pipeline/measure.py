"""An op in a pipeline: its arrangements as cases, and preparing these, so that blocks of elements can be timed.

Elements of an op alone are drawn by a loop in a graph, so that pyopbench's own Python does not compete with a callback
for the interpreter. Those of a user's program, and those in front of a training step on the GPU, are drawn by a loop in
Python, as training does. The iterator stays from block to block. While others are measured, a pipeline fills its
buffers and stops; the elements in them are drawn before the clock starts.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.arrangement import (
    AUTOTUNE,
    CURRENT,
    POOLED_FORMS,
    STEP,
    Arrangement,
    body_key,
    read_body_key,
    read_key,
    thread_counts,
)
from pyopbench.model.case import GPU, PIPELINE, Case, Failure
from pyopbench.model.cores import usable_cores
from pyopbench.model.errors import BadInput, Unsupported, WrongResult
from pyopbench.model.failures import describe_error
from pyopbench.model.threads import call_together
from pyopbench.ops.kernels.simulated_device import listed
from pyopbench.ops.load import describe, load_op, load_variants, why_unloadable
from pyopbench.ports.arrays import as_given, byte_count
from pyopbench.worker import environment
from pyopbench.worker.pipeline.elements import make_elements
from pyopbench.worker.pipeline.form import (
    Build,
    PipelineContext,
    PipelineSettings,
    port_of_batch,
    usual_batch,
    written_module,
)
from pyopbench.worker.pipeline.forms import FORMS
from pyopbench.worker.pipeline.program import Program, change_for, flat_arrays
from pyopbench.worker.pipeline.training_step import SimulatedStep
from pyopbench.worker.prepare import gpu
from pyopbench.worker.prepare.node_graph import OUT_OF_MEMORY

Emit: TypeAlias = Callable[[Mapping[str, Any]], None]
Known: TypeAlias = tuple[int | None, float | None]
"""After how many elements an arrangement was steady in other workers, and what one took then; None is not known."""
Source: TypeAlias = "CallsOfBody | ElementsOfPipeline"
Made: TypeAlias = dict[str, "CallsOfBody | ElementsOfPipeline | Exception"]

BLOCK_SECONDS = 0.1
THREADS_SECONDS = 0.05
THE_BODY = "the body alone"
"""Names in events what is called before there is any arrangement."""
ELEMENTS = 8
ROWS_SECONDS, MOST_ROWS, MOST_ROWS_BYTES = 0.005, 4096, 4 << 20
"""How long a call of a pool should take when bodies in processes are timed, and how many bytes it may pass."""


def cpu_seconds() -> float:
    """Return the CPU seconds that child processes (Grain's) have used so far; 0 if Linux does not report them.

    `times` reports children only when they have ended, and /proc/PID/stat in hundredths of a second.
    """
    used = 0
    for child in multiprocessing.active_children():
        for path in Path(f"/proc/{child.pid}/task").glob("*/schedstat"):
            with suppress(OSError, ValueError, IndexError):  # it has ended, or the kernel has no such figures
                used += int(path.read_text(encoding="ascii").split()[0])
    return used / NANOSECONDS


NANOSECONDS = 1e9


def thread_rate(context: PipelineContext, threads: int, seconds: float) -> float:
    """Return calls of the body a second by so many threads at once, each over and over on elements of its own copies.

    Raises:
        Exception: whatever the body raises, in any thread.
    """
    rows = [[as_given(row) for row in context.elements.inputs[:ELEMENTS]] for _ in range(threads)]
    return sum(call_together([partial(_calls_a_second, context.elements.body, own, seconds) for own in rows]))


def process_rate(context: PipelineContext, processes: int, seconds: float) -> float:
    """Return how often per second so many processes together call the body, each with batches that take a while.

    Raises:
        CannotPort: there is no pool, because its file cannot be written.
        RuntimeError: the body raised in a process, or one has ended.
    """
    elements = context.elements
    if not elements.stacks or not context.settings.batch:
        key, rows = "processes", 1
        columns: list[Any] = list(elements.inputs[0])
    else:
        many = int(np.clip(ROWS_SECONDS / max(elements.body_seconds, 1e-9), 1, MOST_ROWS))
        size = sum(map(byte_count, elements.inputs[0]))
        key = f"processes batch={usual_batch(context.settings)}"
        rows = max(min(many, MOST_ROWS_BYTES // max(size, 1)), 1)
        chosen = [elements.inputs[place % len(elements.inputs)] for place in range(rows)]
        columns = [np.stack(column) for column in zip(*chosen, strict=True)]
    pool = context.pool(key)

    def call_over_and_over() -> float:
        calls, start = 0, time.perf_counter()
        while calls == 0 or time.perf_counter() - start < seconds:
            pool.call(*columns)
            calls += rows
        return calls / (time.perf_counter() - start)

    return sum(call_together([call_over_and_over] * processes))


def _calls_a_second(body: Any, rows: list[tuple[Any, ...]], seconds: float) -> float:
    calls = 0
    start = now = time.perf_counter()
    while now - start < seconds:
        body(*rows[calls % len(rows)])
        calls += 1
        now = time.perf_counter()
    return calls / (now - start)


LONGEST_SHARE = 0.5
"""Of the chunks: if more would be left out, there is no steady part to speak of, and more chunks have to be seen."""
DRIFT = 0.25
"""What the last third of the chunks may take more or less than the first, by their medians: more is no noise but a
change that still goes on. The rule below takes a change near the end for noise."""


def warm_up_of(seconds: Sequence[float]) -> int | None:
    """Return how many of the first chunks belong to the warm-up; None if it has not ended in what was seen.

    The marginal standard error rule: left out is what makes the mean of the rest best known, with its variance over its
    count as the measure, among all that leave half of the chunks. Outliers of the machine are capped at three times the
    median first, or one of them late in the series would make all before it the warm-up.

    Source: K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69
    (1997) 323-334; the bound of one half is of K. P. White, M. J. Cobb and S. C. Spratt, "A comparison of five
    steady-state truncation heuristics for simulation", Proc. Winter Simulation Conference (2000) 755-760.

    Args:
        seconds: that chunks of as many elements took, in order.
    """
    series = np.asarray(seconds, dtype=np.float64)
    most = int(LONGEST_SHARE * series.size)
    if most < 2:
        return None
    series = np.minimum(series, 3 * np.median(series))
    left_out = int(np.argmin([_error(series[count:]) for count in range(most + 1)]))
    return None if left_out == most or _drifts(series[left_out:]) else left_out


def _error(rest: Any) -> float:
    """Return the square of the marginal standard error of what is kept."""
    return float(np.sum((rest - rest.mean()) ** 2) / rest.size**2)


def _drifts(kept: Any) -> bool:
    third = max(kept.size // 3, 1)
    first, last = np.median(kept[:third]), np.median(kept[-third:])
    return bool(abs(last - first) > DRIFT * first)


CHUNK_SECONDS = 0.01
FIRST_CHUNKS, MOST_CHUNKS = 12, 48
MOST_WARM_UP_SECONDS = 2.0
PREFETCHED = 1
"""Deliveries that are made ahead. Without it the last stage would wait for the step, and with more of them it evens out
steps that vary, but makes no element come quicker."""
QUIET_SECONDS, LEAST_REST_SECONDS, MOST_REST_SECONDS = 0.002, 0.3, 5.0
"""How long a look lasts that finds a pipeline at rest, and how long to wait for one: as long as filling buffers takes,
within these."""
FILLING_MARGIN = 1.5
"""By how much longer than when last timed that may take."""
BUSY_SHARE = 0.2


WIDEST_SPREAD = 2.0


@dataclass(frozen=True)
class WarmUp:
    """How a pipeline became steady.

    Attributes:
        is_steady: was an end of the warm-up found?
        elements: drawn until then.
        seconds: that took.
        seconds_per_element: afterwards.
        spread: how many times as long as the quickest the slowest chunks took then: their 90% over their 10% quantile.
    """

    is_steady: bool
    elements: int
    seconds: float
    seconds_per_element: float
    spread: float = 1.0

    @property
    def is_precise(self) -> bool:
        """Is the time of an element known to within a factor of 2?"""
        return self.is_steady and self.spread <= WIDEST_SPREAD


class RunningPipeline:
    """A pipeline of one arrangement.

    Attributes:
        arrangement: which.
        period: elements after which it repeats itself: whole deliveries, and as many batches as are made at the same
            time, because those come at the same time. Fewer would be timed as nothing, or as all of them.
        seconds_per_element: as last seen; infinite before.
    """

    def __init__(self, arrangement: Arrangement, build: Build, context: PipelineContext) -> None:
        """Build it; nothing is drawn yet.

        Raises:
            Exception: whatever TensorFlow or the form raises.
        """
        self.arrangement, self._context = arrangement, context
        self.delivered = context.elements.delivered
        batch = max(arrangement.batch, 1)
        parallel = len(usable_cores()) if arrangement.parallel == AUTOTUNE else arrangement.parallel
        self.period = math.lcm(parallel * batch, self.delivered)
        # Results of the call under way and of calls that run ahead, which a plain map has none of, what the last stage
        # has made, and what it is making.
        calls = 1 if parallel == 1 else parallel + 1
        self._buffered = calls * batch + (PREFETCHED + 1) * self.delivered + arrangement.ahead
        dataset = _in_deliveries(build(context), arrangement, self.delivered).prefetch(PREFETCHED)
        self._iterator = iter(_with_threads(dataset, context.settings.private_threads))
        self._draw = _drawing(self._iterator)
        self._step = _step_of(arrangement, context)
        self.seconds_per_element = math.inf

    def check(self) -> tuple[float, bool]:
        """Draw all elements once and compare them with what the body makes of them.

        Returns:
            The largest error, relative as in `Elements.check`, and whether they came in their order.

        Raises:
            WrongResult: some are not the body's, or are missing.
            Exception: whatever the pipeline raises.
        """
        elements, seen, largest = self._context.elements, [], 0.0
        many = len(elements.inputs)
        for _ in range(math.ceil(many / self.delivered)):
            error, numbers = self._check_delivery()
            largest = max(largest, error)
            seen += numbers
        is_ordered = seen == [place % many for place in range(len(seen))]
        if not is_ordered and self._promises_order:
            raise WrongResult("elements are not in the order that deterministic=True promises")
        return largest, is_ordered

    def _check_delivery(self) -> tuple[float, list[int]]:
        """Draw a delivery and return its largest error and the numbers of its elements; raises as `check`."""
        elements = self._context.elements
        *outputs, numbers = next(self._iterator)
        if self._step is not None:
            outputs = self._step(outputs)
        if self.arrangement.form == "device":
            gpu.require_there("output", outputs)
        if not numbers.shape.rank:  # an element without a batch axis
            numbers, outputs = numbers[None], [one[None] for one in outputs]
        return elements.check(numbers.numpy(), outputs), numbers.numpy().tolist()

    @property
    def _promises_order(self) -> bool:
        return self.arrangement.parallel == 1 or self._context.settings.deterministic

    def warm_up(self, elements: int | None = None, typical_seconds: float | None = None) -> WarmUp:
        """Draw until the pipeline is steady, or for as long as there is time for.

        Args:
            elements: after which it was steady in another process; None where it is to be found out.
            typical_seconds: what an element took there once it was: by a few cold ones blocks would come out too short.
        """
        if elements is not None:
            found = self._warm_up_by(max(math.ceil(elements / self.period), 1) * self.period)
            self.seconds_per_element = typical_seconds or found.seconds_per_element
            return found
        start = time.perf_counter()
        drawn, chunk, seconds = 0, self.period, 0.0
        while seconds < CHUNK_SECONDS:
            chunk = chunk * 2 if seconds else chunk
            seconds = self._timed(chunk)
            drawn += chunk
        series = [seconds]
        left_out = None
        while left_out is None and len(series) < MOST_CHUNKS:
            series.append(self._timed(chunk))
            if time.perf_counter() - start > MOST_WARM_UP_SECONDS:
                left_out = warm_up_of(series)
                break
            if len(series) >= FIRST_CHUNKS:
                left_out = warm_up_of(series)
        steady = series[left_out or 0 :]
        seconds = sum(steady) / len(steady) / chunk
        self.seconds_per_element = typical_seconds or seconds
        before = drawn + chunk * ((left_out or 0) - 1)
        quick, slow = np.quantile(steady, (0.1, 0.9))
        taken = time.perf_counter() - start
        return WarmUp(left_out is not None, max(before, 0), taken, seconds, float(slow / quick))

    def _warm_up_by(self, elements: int) -> WarmUp:
        seconds = self._timed(elements)
        return WarmUp(True, elements, seconds, seconds / elements)

    def block(self, seconds: float) -> tuple[int, float]:
        """Draw what lies in buffers, then elements for about so many seconds; return how many, and what they took.

        Raises:
            WrongResult: the first delivery is not the body's: it was right once, and is no more.
            Exception: whatever the pipeline raises.
        """
        self._check_delivery()
        # One more than the buffers hold, which has to be waited for, so that the clock starts when an element arrives.
        self._timed((math.ceil(self._buffered / self.delivered) + 1) * self.delivered)
        periods = max(1, round(seconds / max(self.seconds_per_element * self.period, 1e-9)))
        elements = periods * self.period
        taken = self._timed(elements)
        self.seconds_per_element = taken / elements
        return elements, taken

    def _timed(self, elements: int) -> float:
        if self._step is not None:
            return self._timed_in_python(elements)
        deliveries = tf.constant(elements // self.delivered)
        start = time.perf_counter()
        self._draw(deliveries)
        return time.perf_counter() - start

    def _timed_in_python(self, elements: int) -> float:
        """Draw as a training loop does: in Python, which needs the GIL that a callback may hold."""
        iterator, step, start = self._iterator, self._step, time.perf_counter()
        for _ in range(elements // self.delivered):
            delivery = next(iterator)
            if step is not None:
                step(self._for_step(delivery))
        return time.perf_counter() - start

    def _for_step(self, delivery: Any) -> Sequence[Any]:
        """Return the part of a delivery that a step takes: everything but the numbers of its elements."""
        components: Sequence[Any] = delivery[:-1]
        return components

    def autotuned(self) -> dict[str, Any] | None:
        """Return what `tf.data.AUTOTUNE` has chosen, as in `store.line_types.Autotuned`; None if it tunes nothing.

        Older versions of TensorFlow do not report it.
        """
        get_model = getattr(tf.data.experimental, "get_model_proto", None)
        if get_model is None:
            return None
        try:
            model = get_model(self._iterator)
        except tf.errors.NotFoundError:  # a program may turn it off
            return None
        tuned: dict[str, int] = {}
        for node in sorted(model.nodes.values(), key=lambda one: int(one.id)):  # from the end to the source
            for one in node.parameters:
                if one.name == "parallelism" and one.tunable:
                    same = sum(name.split()[0] == node.name for name in tuned)
                    tuned[f"{node.name} {same + 1}" if same else node.name] = int(one.state_value)
        if not tuned:
            return None
        budgets = model.optimization_params
        return {"parallel": tuned, "cpu_budget": budgets.cpu_budget, "ram_budget_bytes": budgets.ram_budget}

    def rest(self) -> None:
        """Wait until what runs ahead has come to its end, so that the next pipeline is measured alone.

        A loop over a batch of slow bodies, once begun, takes seconds, during which it competes for the interpreter.
        """
        filling = self._buffered * self.seconds_per_element if math.isfinite(self.seconds_per_element) else 0.0
        until = time.perf_counter() + min(max(LEAST_REST_SECONDS, FILLING_MARGIN * filling), MOST_REST_SECONDS)
        while time.perf_counter() < until:
            cpu = time.process_time() + cpu_seconds()
            time.sleep(QUIET_SECONDS)
            is_working = time.process_time() + cpu_seconds() - cpu > BUSY_SHARE * QUIET_SECONDS
            if not is_working and not self._context.is_busy:
                return


class RunningProgram(RunningPipeline):
    """The pipeline of a user's program, with its stage rearranged; a delivery is one of its elements, e.g. a batch."""

    def __init__(self, arrangement: Arrangement, context: PipelineContext) -> None:
        """Build it; nothing is drawn yet.

        Raises:
            Exception: whatever TensorFlow, the program or the arrangement raises.
        """
        self.arrangement, self._context = arrangement, context
        assert context.program is not None
        self._program = context.program
        self.delivered = self._program.step_elements
        batch = max(arrangement.batch, 1)
        parallel = len(usable_cores()) if arrangement.parallel == AUTOTUNE else arrangement.parallel
        # At least as many elements as are made at the same time, in whole steps.
        self.period = self.delivered * math.ceil(parallel * batch / self.delivered)
        is_step = arrangement.key == STEP
        dataset, ahead = (context.ready(), 0) if is_step else self._program.build(change_for(arrangement, context))
        calls = 1 if parallel == 1 else parallel + 1
        self._buffered = calls * batch + (ahead + 1) * self.delivered
        self._iterator = iter(_with_threads(dataset, context.settings.private_threads))
        self._step = context.step
        self.seconds_per_element = math.inf

    def check(self) -> tuple[float, bool]:
        """Draw the first elements and compare them with those of the unchanged program; raises as overridden."""
        drawn = [flat_arrays(next(self._iterator)) for _ in self._program.reference]
        is_ordered = self._promises_order
        return self._program.check(drawn, is_ordered=is_ordered), is_ordered

    def _check_delivery(self) -> tuple[float, list[int]]:
        next(self._iterator)  # there is no way to know which element it is
        return 0.0, []

    def _timed(self, elements: int) -> float:
        return self._timed_in_python(elements)

    def _for_step(self, delivery: Any) -> Sequence[Any]:
        flat: Sequence[Any] = tf.nest.flatten(delivery, expand_composites=True)
        return flat


def _step_of(arrangement: Arrangement, context: PipelineContext) -> SimulatedStep | None:
    """Return the training step that an arrangement is measured in front of, or within."""
    step = context.step
    if step is None or arrangement.form != "device":
        return step
    return step.behind(port_of_batch(context, arrangement))


def _in_deliveries(dataset: tf.data.Dataset, arrangement: Arrangement, delivered: int) -> tf.data.Dataset:
    """Return elements or batches as deliveries; an element alone, without a batch axis, where outputs do not stack."""
    if arrangement.key == STEP or arrangement.batch == delivered or (not arrangement.batch and delivered == 1):
        return dataset
    if not arrangement.batch:
        return dataset.batch(delivered, drop_remainder=True)
    if hasattr(dataset, "rebatch"):
        return dataset.rebatch(delivered, drop_remainder=True)
    return dataset.unbatch().batch(delivered, drop_remainder=True)


def _with_threads(dataset: tf.data.Dataset, private_threads: int) -> tf.data.Dataset:
    if not private_threads:
        return dataset
    options = tf.data.Options()
    options.threading.private_threadpool_size = private_threads
    return dataset.with_options(options)


def _drawing(iterator: Any) -> Callable[[Any], Any]:
    """Return a function that draws so many deliveries in a loop in a graph."""

    def draw(deliveries: Any) -> Any:
        def one(place: Any) -> Any:
            with tf.control_dependencies(tf.nest.flatten(iterator.get_next())):
                return place + 1

        return tf.while_loop(lambda place: place < deliveries, one, [tf.constant(0)], parallel_iterations=1)

    function: Callable[[Any], Any] = tf.function(draw, autograph=False, input_signature=[tf.TensorSpec((), tf.int32)])
    return function


class CallsOfBody:
    """Calls of the body alone, each over and over, by so many threads of this process or by so many of the pool."""

    def __init__(self, context: PipelineContext, what: str, many: int) -> None:
        self._context, self._what, self._many = context, what, many

    def __call__(self) -> None:
        """Call once or more, for a moment."""
        self.block(0.0)

    def expected_seconds(self, seconds: float) -> float:
        """Return about how long a block lasts, in seconds."""
        return THREADS_SECONDS

    def block(self, seconds: float) -> tuple[int, float]:
        """Call for a while.

        Returns:
            How many calls were made, and the seconds in which they are made at the rate of all together.

        Raises:
            Exception: whatever the body raises; `RuntimeError` in a process.
        """
        rate_of = thread_rate if self._what == "threads" else process_rate
        rate = rate_of(self._context, self._many, THREADS_SECONDS)
        calls = max(round(rate * THREADS_SECONDS), 1)
        return calls, calls / rate

    def waits(self) -> None:
        """Nobody asks how long a single call takes."""


LEAST_CALLS, MOST_CALLS, CALL_SECONDS = 12, 32, 0.5
"""Calls in each process that are compared, and about how many seconds they may take. One call is not enough: two
processes may toss the same side of a coin."""


def call_in_each(pool: Any, values: Sequence[Any], calls: int) -> list[list[Any]]:
    """Call the body with arrays so many times in each process of a pool, and return the results of each process.

    The pool may be computing elements ahead, and an answer goes to whoever waits for one. So all processes are taken
    out of the pool first.
    """
    held = [pool._idle.get() for _ in pool._workers]
    try:
        return [[worker.call(values) for _ in range(calls)] for worker in held]
    finally:
        for worker in held:
            pool._idle.put(worker)


def require_draws_apart(context: PipelineContext, arrangement: Arrangement) -> None:
    """Check that the processes of a pool do not draw the same random numbers, if the body draws any.

    Raises:
        WrongResult: two of them do.
    """
    op = context.elements.op
    if op.own is None or not op.own.is_random:
        return
    inputs = context.elements.inputs[0]
    given = [np.stack([one]) for one in inputs] if arrangement.batch else list(inputs)
    calls = int(np.clip(CALL_SECONDS / max(context.elements.body_seconds, 1e-9), LEAST_CALLS, MOST_CALLS))
    drawn = call_in_each(context.pool(arrangement.key), given, calls)
    if any(all(_are_equal(one, mine[0]) for one in mine) for mine in drawn):
        return  # for these inputs it draws nothing
    for mine, others in itertools.combinations(drawn, 2):
        if all(map(_are_equal, mine, others)):
            raise WrongResult(
                "two processes of the pool draw the same random numbers: importing the file creates a generator with "
                "a fixed seed; draw from np.random, or create the generator from a seed that is an input"
            )


def _are_equal(outputs: Sequence[Any], others: Sequence[Any]) -> bool:
    return all(map(np.array_equal, outputs, others))


class ElementsOfPipeline:
    """Elements of a pipeline that is built, checked and warm.

    Attributes:
        warm_up: how it became steady.
        pool_seconds: what starting its processes took; None where it has none.
        largest_error: of its elements, as from `RunningPipeline.check`.
    """

    def __init__(self, arrangement: Arrangement, build: Build, context: PipelineContext, known: Known | None) -> None:
        """Build, check and warm it.

        Args:
            arrangement: which.
            build: builds it.
            context: of the worker.
            known: what another worker has found; None in the first one.

        Raises:
            Exception: whatever the pipeline raises.
        """
        # Kept, whatever comes of it: TensorFlow waits for calls under way when it frees a pipeline, and holds the
        # interpreter's lock, for which those calls wait.
        if context.program is None:
            running = RunningPipeline(arrangement, build, context)
        else:
            running = RunningProgram(arrangement, context)
        self._running = running
        context.kept.append(running)
        self._context = context
        self.largest_error, _ = running.check()
        if arrangement.form in POOLED_FORMS:
            require_draws_apart(context, arrangement)
        self.warm_up = running.warm_up(*(known or (None, None)))
        running.rest()
        self.pool_seconds = context.start_seconds.get(arrangement.key)

    def __call__(self) -> None:
        """Draw a block of elements that is as short as can be."""
        self.block(0.0)

    def expected_seconds(self, seconds: float) -> float:
        """Return about how long a block lasts, in seconds."""
        return max(seconds, self._running.period * self._running.seconds_per_element)

    def block(self, seconds: float) -> tuple[int, float]:
        """Draw elements for about so many seconds, and wait until the pipeline is idle; raises as its `block`.

        Returns:
            How many elements came, and the seconds that they took.
        """
        found = self._running.block(seconds)
        self._running.rest()
        return found

    def autotuned(self) -> dict[str, Any] | None:
        """Return what `tf.data.AUTOTUNE` has chosen; None if it tunes nothing."""
        return self._running.autotuned()

    def waits(self) -> None:
        """Nobody asks how long a single element takes."""


def prepare_pipelines(cases: Sequence[Case], request: Mapping[str, Any], at: Callable[[Case], object]) -> Made:
    """Build, check and warm the arrangements of a group, the current callback first and what is only tried last.

    Without the current callback there is nothing to compare with, so that nothing else is then prepared.

    Args:
        cases: of one op in a pipeline.
        request: `plan_request` and `known`: what other workers have found of an arrangement, as elements and seconds.
        at: is told each case before it is prepared.

    Returns:
        By `Case.runner` what is to be timed, or why it cannot be.
    """
    start, asked = time.perf_counter(), request["plan_request"]
    by_key = {case.arrangement: case for case in cases}
    first = next((case for case in cases if case.arrangement == CURRENT), cases[0])
    at(first)
    try:
        context = _context_of(asked)
    except OUT_OF_MEMORY:
        raise
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return {first.runner: error}
    batches = [one.batch for key in by_key if (one := read_key(key)) is not None and one.form == "pydataset"]
    if batches:  # the planning process timed the body to choose this; another process may choose otherwise
        context.elements = replace(context.elements, step_elements=batches[0])
    arranged = {one.key: (one, build) for one, build in arrange_all(context)}
    if context.elements.op.own is not None and context.elements.op.own.is_random:
        _write_files([arranged[key][0] for key in by_key if key in arranged], context)
    known = {key: (elements, seconds) for key, (elements, seconds) in request["known"].items()}
    found: Made = {}
    warm: dict[str, tuple[float, float]] = {}

    def order(key: str) -> tuple[bool, bool, bool, bool]:
        return key != CURRENT, key != STEP, key in arranged and arranged[key][0].is_attempt, key not in arranged

    for key in sorted(by_key, key=order):
        case, is_new = by_key[key], key not in known and key in arranged
        spent = time.perf_counter() - start
        reason = _why_not_prepare(arranged[key][0], warm, asked, spent) if warm and is_new and not known else ""
        if reason:
            found[case.runner] = Unsupported(reason)
            continue
        at(case)
        try:
            made = _source_of(key, arranged, context, known)
        except OUT_OF_MEMORY:
            raise
        except Exception as error:  # noqa: BLE001 - what a pipeline raises is the answer
            found[case.runner] = error
            if key == CURRENT:
                return found
            continue
        found[case.runner] = made
        # An inexact time is no reason to leave something else out.
        if isinstance(made, ElementsOfPipeline) and (key in (CURRENT, STEP) or made.warm_up.is_precise):
            warm[key] = (arranged[key][0].effort, made.warm_up.seconds_per_element)
    return found


def _write_files(arrangements: Iterable[Arrangement], context: PipelineContext) -> None:
    """Write the files of arrangements before any pipeline starts.

    Writing a file compares two seeded calls of the body, and a pipeline that fills its buffers would draw between them.
    """
    for one in arrangements:
        try:
            written_module(one, context)
        except OUT_OF_MEMORY:  # noqa: PERF203 - each file may fail by itself
            raise
        except Exception:  # noqa: BLE001 - raised again where the arrangement is built
            continue


def _source_of(
    key: str,
    arranged: Mapping[str, tuple[Arrangement, Build | str]],
    context: PipelineContext,
    known: Mapping[str, Known],
) -> Source:
    of_body = read_body_key(key)
    if of_body is not None:
        calls = CallsOfBody(context, *of_body)
        calls()
        return calls
    arrangement, build = arranged[key]
    if not callable(build):
        raise Unsupported(build)
    return ElementsOfPipeline(arrangement, build, context, known.get(key))


def _why_not_prepare(
    tried: Arrangement, warm: Mapping[str, tuple[float, float]], asked: Mapping[str, Any], spent: float
) -> str:
    """Return why the first worker does not prepare an arrangement; empty where it does.

    Of a port that nobody wrote, which takes seconds: what leaves no more of the current time than the smallest effect
    worth acting on is as good as anything that there can be, so that nothing of more work is chosen. As warm-ups take
    longer than what follows, more than that is spared.

    Args:
        tried: the arrangement.
        warm: effort, and seconds of an element, of each arrangement that is warm.
        asked: of the plan.
        spent: seconds since preparing began.
    """
    if asked["budget_seconds"] is not None and spent > asked["budget_seconds"]:
        return "time ran out before it could be prepared"
    _, current = warm.get(CURRENT, (0.0, 0.0))
    _, step = warm.get(STEP, (0.0, asked["step_seconds"]))
    most = step + asked["minimum_effect"] * current
    enough = [
        key for key, (effort, seconds) in warm.items() if key != STEP and seconds <= most and effort < tried.effort
    ]
    if not tried.is_attempt or not enough:
        return ""
    return f"not tried, because {enough[0]} takes less work and leaves next to nothing to gain"


def _context_of(asked: Mapping[str, Any]) -> PipelineContext:
    """Return what the arrangements of a plan are made from.

    Raises:
        Exception: whatever inputs or body raise.
    """
    gpu.use_device(asked["placement"])
    op = load_op(asked["op"])
    size = asked["size"] or op.quick_sizes[len(op.quick_sizes) // 2]
    elements = make_elements(op.name, asked["variant"], size, asked["dtype"] or op.dtypes[0], asked["elements"])
    if asked["placement"] == GPU:
        elements = replace(elements, step_elements=asked["step_elements"])
    target = elements.target
    program = Program(target.program, elements) if target is not None and target.program else None
    # A program has its own batches, and a stage that is moved after `batch` gets those.
    is_batched = program is not None and program.step_elements > 1
    batch = (program.step_elements,) if program is not None and is_batched else tuple(asked["batch"])
    settings = PipelineSettings(
        tuple(asked["parallel"]),
        batch,
        asked["deterministic"],
        asked["processes"],
        asked["private_threads"],
        asked["step_seconds"],
        asked["placement"],
    )
    return PipelineContext(elements, settings, program)


def arrange_all(context: PipelineContext) -> list[tuple[Arrangement, Build | str]]:
    """Return every arrangement of an op, with what builds it or why there is none."""
    return [one for arrange in FORMS.values() for one in arrange(context)]


def describe_program(program: Program | None) -> dict[str, Any] | None:
    """Return what is known about the user's pipeline, as in `store.run_json.ProgramFacts`; None without one."""
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

    If a GPU is requested and there is none, the answer is the `devices` that TensorFlow sees.

    Args:
        request: `op`, `variant` (the current callback), `size`, `dtype` (each None for the usual one), `parallel`,
            `batch`, `deterministic`, `processes`, `private_threads`, `step_seconds`, `step_elements`, `placement`,
            `elements`, None for as many as is usual, and `forms` and `variants`, those to measure, None for all.
        emit: sends an event.
    """
    try:
        gpu.use_device(request["placement"])  # before a user's module makes TensorFlow look for devices
    except Unsupported:
        return {"devices": listed()}
    reason = why_unloadable()
    if reason:
        return {"error": reason}
    emit({"event": "at", "case": THE_BODY})
    try:
        context = _context_of(request)
        shapes = context.elements.shapes
    except BadInput as error:  # of the program
        said = {name: getattr(error, name) for name in ("message", "received", "legal", "hint")}
        shown = {name: None if value is None else str(value) for name, value in said.items()}
        return {"error": {**shown, "traceback": "".join(traceback.format_exception(error))}}
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return {"failure": describe_error(error)}
    elements, op = context.elements, context.elements.op
    forms, variants = request["forms"], request["variants"]
    arranged = [
        (one, build)
        for one, build in arrange_all(context)
        if (forms is None or one.form in forms) and (variants is None or one.variant in {"", *variants})
    ]
    there = [one for one, build in arranged if callable(build)]
    counts = (1, *thread_counts(context.settings.processes))
    what: tuple[Literal["threads", "processes"], ...] = ("threads", "processes")
    bodies = [body_key(one, many) for one in what for many in counts]
    case = replace(elements.case, placement=request["placement"])

    def case_of(key: str, variant: str = "") -> str:
        return replace(case, variant=variant or case.variant, mode=f"{PIPELINE}:{key}").id

    return {
        "cases": [*(case_of(one.key, one.variant) for one in there), *map(case_of, bodies)],
        "skips": [
            dataclasses.asdict(Failure(case_of(one.key, one.variant), "unsupported", build))
            for one, build in arranged
            if not callable(build)
        ],
        "plan": {
            "arrangements": [dataclasses.asdict(one) for one, _ in arranged],
            "elements": len(elements.inputs),
            "delivered": elements.delivered if context.program is None else context.program.step_elements,
            "program": describe_program(context.program),
            "told_apart": elements.are_told_apart,
            "body_seconds": elements.body_seconds,
            "output_shapes": [list(shape) for shape in shapes],
        },
        "size": case.size,
        "dtype": case.dtype,
        "catalogue": describe({op.name: op}, load_variants(), {op.name: (case.size,)}),
        "environment": {**environment.machine(), **environment.software()},
    }
