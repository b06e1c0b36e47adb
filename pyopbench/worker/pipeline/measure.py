"""Answers requests for an op in a pipeline: its arrangements, preparing one, timing a block of it.

Elements are drawn by a loop in a graph, so that no Python of pyopbench's competes with a callback for the interpreter.
The iterator stays from block to block. While others are measured a pipeline fills its buffers and comes to rest; what
lies in them is drawn before the clock starts.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.model.cores import usable_cores
from pyopbench.model.errors import WrongResult
from pyopbench.model.failures import describe_error, failure_of
from pyopbench.model.threads import call_together
from pyopbench.ops.load import load_op, why_unloadable
from pyopbench.ports.arrays import as_given
from pyopbench.worker import environment
from pyopbench.worker.pipeline import process_pool
from pyopbench.worker.pipeline.elements import make_elements
from pyopbench.worker.pipeline.form import Build, PipelineContext, PipelineSettings
from pyopbench.worker.pipeline.forms import FORMS

ELEMENTS = 8


def thread_rate(context: PipelineContext, threads: int, seconds: float) -> float:
    """Return calls of the body a second by so many threads at once, each over and over on elements of its own copies.

    Raises:
        Exception: whatever the body raises, in any thread.
    """
    rows = [[as_given(row) for row in context.elements.inputs[:ELEMENTS]] for _ in range(threads)]
    return sum(call_together([partial(_calls_a_second, context.elements.body, own, seconds) for own in rows]))


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


@dataclass(frozen=True)
class WarmUp:
    """How a pipeline became steady.

    Attributes:
        is_steady: was an end of the warm-up found?
        elements: drawn until then.
        seconds: that took.
        seconds_per_element: afterwards.
    """

    is_steady: bool
    elements: int
    seconds: float
    seconds_per_element: float


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
        numbers, *outputs = next(self._iterator)
        if not elements.stacks:
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
        self.seconds_per_element = sum(steady) / len(steady) / chunk
        before = drawn + chunk * ((left_out or 0) - 1)
        return WarmUp(left_out is not None, max(before, 0), time.perf_counter() - start, self.seconds_per_element)

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
        self._draw(tf.constant(math.ceil(self._buffered / self.delivered)))
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
            cpu = time.process_time() + process_pool.cpu_seconds()
            time.sleep(QUIET_SECONDS)
            is_working = time.process_time() + process_pool.cpu_seconds() - cpu > BUSY_SHARE * QUIET_SECONDS
            if not is_working and not self._context.is_busy:
                return


def _in_deliveries(dataset: tf.data.Dataset, arrangement: Arrangement, delivered: int) -> tf.data.Dataset:
    """Return elements or batches as deliveries; an element alone, without a batch axis, where outputs do not stack."""
    if arrangement.batch == delivered or (not arrangement.batch and delivered == 1):
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


Emit = Callable[[Mapping[str, Any]], None]
BODY = "the body alone"
"""Names in events what is called before there is any arrangement."""


class Pipelines:
    """The pipelines of one op in one worker."""

    def __init__(self) -> None:
        self._context: PipelineContext | None = None
        self._arranged: dict[str, tuple[Arrangement, Build | str]] = {}
        self._running: dict[str, RunningPipeline] = {}

    def describe(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request for the arrangements of an op, or the error of its file, or what the body raised.

        Args:
            request: `op`, `variant` (the current callback), `size`, `dtype` (each empty for the usual one), `parallel`,
                `batch`, `deterministic`, `processes`, `private_threads`, and `elements`, how many, or None in the first
                worker.
            emit: sends an event.
        """
        reason = why_unloadable()
        if reason:
            return {"error": reason}
        emit({"event": "at", "case": BODY})
        settings = PipelineSettings(
            tuple(request["parallel"]),
            tuple(request["batch"]),
            request["deterministic"],
            request["processes"],
            request["private_threads"],
        )
        try:
            op = load_op(request["op"])
            size = request["size"] or op.quick_sizes[len(op.quick_sizes) // 2]
            dtype = request["dtype"] or op.dtypes[0]
            elements = make_elements(op.name, request["variant"], size, dtype, request["elements"])
            shapes = elements.shapes
        except Exception as error:  # noqa: BLE001 - a body may raise anything
            return {"failure": describe_error(error)}
        self._context = PipelineContext(elements, settings)
        found = [one for arrange in FORMS.values() for one in arrange(self._context)]
        self._arranged = {arrangement.key: (arrangement, build) for arrangement, build in found}
        return {
            "arrangements": [dataclasses.asdict(one) for one, build in self._arranged.values() if callable(build)],
            "holes": [
                {"arrangement": dataclasses.asdict(one), "reason": build}
                for one, build in self._arranged.values()
                if not callable(build)
            ],
            "op": {"summary": op.summary, "size_unit": op.size_unit},
            "size": size,
            "dtype": dtype,
            "elements": len(elements.inputs),
            "delivered": elements.delivered,
            "told_apart": elements.are_told_apart,
            "body_seconds": elements.body_seconds,
            "output_shapes": [list(shape) for shape in shapes],
            "environment": {**environment.machine(), **environment.software()},
        }

    def prepare(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request to build, check and warm an arrangement: how it became steady, or the failure.

        Args:
            request: `key`, and of another worker `elements`, after which it was steady, and `typical_seconds`, that one
                took then; or None.
            emit: sends an event.
        """
        arrangement, build = self._arranged[request["key"]]
        emit({"event": "at", "case": arrangement.key})
        assert self._context is not None
        assert callable(build)
        start = time.perf_counter()
        try:
            # Kept, whatever comes of it: TensorFlow waits for calls under way when it frees a pipeline, and holds the
            # interpreter's lock, for which those calls wait.
            running = self._running[arrangement.key] = RunningPipeline(arrangement, build, self._context)
            largest, is_ordered = running.check()
            warm_up = running.warm_up(request["elements"], request["typical_seconds"])
        except Exception as error:  # noqa: BLE001 - what a pipeline raises is the answer
            return {"failure": self._failure(error)}
        running.rest()
        pool_seconds = self._context.start_seconds.get(arrangement.form)
        if arrangement.action == "processes":
            pool_seconds = self._context.pool.start_seconds
        return {
            "checked": {"values": largest, "is_ordered": is_ordered},
            "warm_up": dataclasses.asdict(warm_up),
            "pool_start_seconds": pool_seconds,
            "seconds": time.perf_counter() - start,
        }

    def block(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request to time a block of an arrangement that was prepared: elements and seconds, or a failure."""
        running = self._running[request["key"]]
        assert self._context is not None
        emit({"event": "at", "case": request["key"]})
        try:
            if running.arrangement.action == "processes":
                self._context.start_pool()  # another arrangement may have broken it
            elements, seconds = running.block(request["seconds"])
        except Exception as error:  # noqa: BLE001 - a body may raise at any element
            return {"failure": self._failure(error)}
        running.rest()
        return {"elements": elements, "seconds": seconds}

    def _failure(self, error: Exception) -> dict[str, str]:
        assert self._context is not None
        failure = failure_of(self._context.elements.case, error, None)
        return {"status": failure.status, "reason": failure.reason}

    def threads(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request for calls of the body a second: by threads and by processes, one and several of each."""
        emit({"event": "at", "case": "threads"})
        assert self._context is not None
        seconds, many = request["seconds"], request["threads"]
        try:
            pool = self._context.pool if request["processes"] else None
            return {
                "one_thread": thread_rate(self._context, 1, seconds),
                "threads": thread_rate(self._context, many, seconds),
                "one_process": None if pool is None else pool.rate(1, seconds),
                "processes": None if pool is None else pool.rate(many, seconds),
            }
        except Exception as error:  # noqa: BLE001 - a body may raise anything
            return {"failure": self._failure(error)}
