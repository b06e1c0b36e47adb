"""Calls from several threads at once, as a server makes them: built, checked together, and timed block by block.

Each thread has inputs of its own. With the same inputs everywhere, a thread that gets the result of another would not
be noticed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from pyopbench.model.case import Case
from pyopbench.model.errors import WrongResult, describe_error
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.examples import examples_of
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.prepare.checks import Checked, Reference, check_gradients, check_values, dense, make_reference
from pyopbench.worker.prepare.node_graph import OUT_OF_MEMORY
from pyopbench.worker.prepare.segments import constants, forward_and_backward, wrap

Result = TypeVar("Result")

CHECKED_CALLS = 8
"""Of each thread, while all others call too."""
BLOCK_SECONDS = 0.05
"""Least that a block lasts: threads take turns at the interpreter's lock every 5 ms."""
OVERLAP_SECONDS = 0.001
"""By how much longer a body takes, so that those of several threads overlap."""
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
FEWEST_CALLS = 5
"""Calls beyond a quantile, at least, for it to be reported: the 99th of a hundred needs 500."""


@dataclass(frozen=True)
class ConcurrentCall:
    """A call of one thread: of a function that all share, on inputs of its own."""

    op: Op
    dtype: str
    segments: tuple[Callable[[], Any], ...]  # forward, or forward under a tape and backward, to be called in turn
    reference: Reference

    def __call__(self) -> None:
        """Call every segment once, in order."""
        for segment in self.segments:
            segment()

    def check(self) -> tuple[ConcurrentCall, Checked]:
        """Call once, and return this call with gradients for later comparisons, and by how much it was off."""
        values = check_values(self.op, as_tuple(self.segments[0]()), self.reference, self.dtype)
        if len(self.segments) == 1:
            return self, Checked(values)
        gradients = self.segments[1]()
        off = check_gradients(self.op, gradients, self.reference, self.dtype)
        if off is not None:
            return self, Checked(values, off)
        # The op has no gradient in NumPy: those of the first call, which was alone, are the ones that stay.
        known = tuple(np.asarray(one) for one in dense(gradients))
        return replace(self, reference=replace(self.reference, gradients=known)), Checked(values)


class CallsTogether:
    """The calls of all threads, which begin at the same moment, and how long each call of a block took."""

    def __init__(self, calls: Sequence[ConcurrentCall], clock: Callable[[], float] = time.perf_counter) -> None:
        self.calls = tuple(calls)
        self._clock = clock
        self._waits: list[float] = []

    def __call__(self) -> None:
        """Call once from each thread, all at the same time."""
        call_together(self.calls)

    def expected_seconds(self, seconds: float) -> float:
        """Return about how long a block for `seconds` lasts, by a call from each thread."""
        start = self._clock()
        self()
        return max(self._clock() - start, seconds, BLOCK_SECONDS)

    def block(self, seconds: float) -> tuple[int, float]:
        """Call from all threads for about so many seconds, each at least once.

        Returns:
            How many calls were made, and the seconds in which they are made at the rate of all threads together.
        """
        lasting = max(seconds, BLOCK_SECONDS)
        each = call_together([partial(repeat_call, call, lasting, self._clock) for call in self.calls])
        waits = [one for found in each for one in found]
        self._waits += waits
        return len(waits), len(waits) / sum(len(one) / sum(one) for one in each)

    def waits(self) -> dict[str, float | None]:
        """Return how many calls all blocks so far have made, and quantiles of their seconds; None of too few calls."""
        return {"calls": len(self._waits), **quantiles(self._waits)}


def prepare_together(op: Op, variant: Variant, case: Case) -> tuple[CallsTogether, Checked]:
    """Build and check the calls of a case of mode `threads:N`; return by how much the first was off when alone."""
    assert case.threads is not None
    function = wrap(variant.build(op, alone(case)), variant, "call")
    rng = np.random.default_rng([2, case.size, *case.op.encode()])
    examples = examples_of(op, case.size, case.dtype, case.threads)
    references = [make_reference(op, example, case.dtype, rng) for example in examples]
    made = [_call(op, case, function, reference).check() for reference in references]
    calls = [call for call, _ in made]
    _check_together(calls)
    if case.direction != "forward" and variant.is_callback:
        _require_safe_gradient(op, variant, case, references)
    return CallsTogether(calls), made[0][1]


def alone(case: Case) -> Case:
    """Return the case that one thread calls when it is alone."""
    return replace(case, mode="call")


def _call(op: Op, case: Case, function: Body, reference: Reference) -> ConcurrentCall:
    tensors = constants(reference.inputs)
    segments: Sequence[Callable[[], Any]] = (partial(function, *tensors),)
    if case.direction != "forward":
        segments = forward_and_backward(op, function, tensors, constants(reference.output_gradients))
    return ConcurrentCall(op, case.dtype, tuple(segments), reference)


def _check_together(calls: Sequence[ConcurrentCall], how: str = "") -> None:
    def check(call: ConcurrentCall) -> None:
        for _ in range(CHECKED_CALLS):
            call.check()

    try:
        call_together([partial(check, call) for call in calls])
    except OUT_OF_MEMORY:
        raise
    except Exception as error:
        raise WrongResult(f"{how}from {len(calls)} threads at once: {describe_error(error)}") from error


def call_together(functions: Sequence[Callable[[], Result]]) -> list[Result]:
    """Call each function in a thread of its own, all from the same moment on, and return what they return.

    Raises:
        Exception: what the first of them in this order has raised; all have ended by then.
    """
    results: dict[int, Result] = {}
    errors: dict[int, Exception] = {}
    barrier = threading.Barrier(len(functions))

    def work(place: int) -> None:
        barrier.wait()
        try:
            results[place] = functions[place]()
        except Exception as error:  # noqa: BLE001 - is raised again by the thread that asked
            errors[place] = error

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place in sorted(errors):
        raise errors[place]
    return [results[place] for place in range(len(functions))]


def _require_safe_gradient(op: Op, variant: Variant, case: Case, references: Sequence[Reference]) -> None:
    """Check gradients while the Python bodies of all threads overlap: quick ones hardly meet."""

    def slow(body: Body, *inputs: Any) -> Any:
        time.sleep(OVERLAP_SECONDS)
        return body(*inputs)

    slowed = replace(op, **{variant.body: partial(slow, getattr(op, variant.body))})  # type: ignore[arg-type]
    if op.own is not None and op.own.py_function is not None:
        slowed = replace(slowed, own=replace(op.own, py_function=partial(slow, op.own.py_function)))
    function = wrap(variant.build(slowed, alone(case)), variant, "call")
    _check_together([_call(op, case, function, reference).check()[0] for reference in references], "with slow bodies ")


def repeat_call(call: Callable[[], Any], seconds: float, clock: Callable[[], float]) -> list[float]:
    """Call for about so many seconds, at least once, and return how long each call took."""
    found: list[float] = []
    start = before = clock()
    while not found or before - start < seconds:
        call()
        now = clock()
        found.append(now - before)
        before = now
    return found


def quantiles(seconds: Sequence[float]) -> dict[str, float | None]:
    """Return the quantiles of latencies by name; None for one with too few calls beyond it."""
    values = np.sort(np.asarray(seconds))
    return {
        name: float(np.quantile(values, share)) if round(values.size * (1 - share), 6) >= FEWEST_CALLS else None
        for name, share in QUANTILES.items()
    }
