"""A pipeline that runs: drawn from inside a graph, warmed until it is steady, and timed in blocks.

Elements are drawn by a loop in a graph, so that no Python of pyopbench's competes with a callback for the interpreter.
The iterator stays from block to block. While others are measured a pipeline fills its buffers and comes to rest; what
lies in them is drawn before the clock starts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.model.cores import usable_cores
from pyopbench.model.errors import WrongResult
from pyopbench.worker.pipeline import children
from pyopbench.worker.pipeline.form import Build, PipelineContext
from pyopbench.worker.pipeline.warm_up import warm_up_of

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
            cpu = time.process_time() + children.cpu_seconds()
            time.sleep(QUIET_SECONDS)
            is_working = time.process_time() + children.cpu_seconds() - cpu > BUSY_SHARE * QUIET_SECONDS
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
