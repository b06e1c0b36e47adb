"""Calls from several threads, as a server makes them: what can be called so, preparing it, and timing blocks of calls.

Each thread has inputs of its own. With the same inputs everywhere, a thread that gets the result of another would not
be noticed.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pyopbench.model.case import Axes, Case, Failure
from pyopbench.model.errors import WrongResult
from pyopbench.model.failures import describe_error, failure_of
from pyopbench.model.label import Label
from pyopbench.model.op import Body, Op
from pyopbench.model.threads import call_together
from pyopbench.ops.batched.examples import examples_of
from pyopbench.ops.load import load_op, load_ops, load_variant, load_variants, why_unloadable
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker import environment
from pyopbench.worker.plan import make_plan
from pyopbench.worker.prepare.checks import Reference, check_gradients, check_values, dense, make_reference
from pyopbench.worker.prepare.prepare import preparing
from pyopbench.worker.prepare.segments import constants, forward_and_backward, wrap
from pyopbench.worker.probe import find_out

CHECKED_CALLS = 8
"""Of each thread, while all others call too."""


@dataclass(frozen=True)
class ConcurrentCall:
    """A call of one thread: of a function that all share, on inputs of its own.

    Attributes:
        op: what is called.
        dtype: of the case.
        segments: forward, or forward under a tape and backward, to be called in turn.
        reference: what should come of it.
    """

    op: Op
    dtype: str
    segments: tuple[Callable[[], Any], ...]
    reference: Reference

    def __call__(self) -> None:
        """Call every segment once, in order."""
        for segment in self.segments:
            segment()

    def check(self) -> ConcurrentCall:
        """Call once, look at what came of it, and return this call with gradients to be held against from now on.

        Raises:
            WrongResult: values or gradients are not the reference's.
        """
        check_values(self.op, as_tuple(self.segments[0]()), self.reference, self.dtype)
        if len(self.segments) == 1:
            return self
        gradients = self.segments[1]()
        if check_gradients(self.op, gradients, self.reference, self.dtype) is not None:
            return self
        # The op has no gradient in NumPy: those of the first call, which was alone, are the ones that stay.
        known = tuple(np.asarray(one) for one in dense(gradients))
        return replace(self, reference=replace(self.reference, gradients=known))


def prepare_concurrent(case: Case, threads: int) -> tuple[ConcurrentCall, ...]:
    """Build and check a call for each of several threads.

    Args:
        case: of mode call or eager; forward, or forward_backward.
        threads: how many.

    Raises:
        WrongResult: a call alone is wrong, or calls from all threads at once are; the reason says which.
        Unsupported: what nobody wrote for this op does not work for it.
        Exception: whatever the body raises.
    """
    op, variant = load_op(case.op), load_variant(case.variant)
    with preparing(op, variant, case):
        function = wrap(variant.build(op, case), variant, case.mode)
        rng = np.random.default_rng([2, case.size, *case.op.encode()])
        examples = examples_of(op, case.size, case.dtype, threads).each
        references = [make_reference(op, example, case.dtype, rng) for example in examples]
        calls = tuple(_call(op, case, function, reference).check() for reference in references)
    _check_together(calls)
    return calls


def _call(op: Op, case: Case, function: Body, reference: Reference) -> ConcurrentCall:
    tensors = constants(reference.inputs)
    segments: Sequence[Callable[[], Any]] = (partial(function, *tensors),)
    if case.direction != "forward":
        segments = forward_and_backward(op, function, tensors, constants(reference.output_gradients))
    return ConcurrentCall(op, case.dtype, tuple(segments), reference)


def _check_together(calls: Sequence[ConcurrentCall]) -> None:
    def check(call: ConcurrentCall) -> None:
        for _ in range(CHECKED_CALLS):
            call.check()

    try:
        call_together([partial(check, call) for call in calls])
    except Exception as error:
        raise WrongResult(f"from {len(calls)} threads at once: {describe_error(error)}") from error


Emit = Callable[[Mapping[str, Any]], None]
DIRECTIONS = ("forward", "forward_backward")
PROBE = "concurrent_calls"
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
FEWEST_CALLS = 5
"""Calls beyond a quantile, at least, for it to be told: the 99th of a hundred needs 500."""


def describe(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request for the cases of `axes` that threads can call: one size of each op unless sizes are given."""
    reason = why_unloadable()
    if reason:
        return {"error": reason}
    given: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in request["axes"].items()
    }
    axes = Axes(**given)
    ops, variants = load_ops(), load_variants()
    directions = tuple(one for one in axes.directions or DIRECTIONS if one in DIRECTIONS)
    wanted = dataclasses.replace(axes, modes=("call",), directions=directions, placements=("cpu",), quick=True)
    made = make_plan(wanted, ops, variants)
    return {
        "cases": [case.id for case in made.cases if axes.sizes or case.size == _usual_size(ops[case.op])],
        "labels": {
            case.id: str(Label.of(case.variant, case.gradient, variants[case.variant].gradients)) for case in made.cases
        },
        "kinds": {name: variant.kind for name, variant in variants.items()},
        "environment": {**environment.machine(), **environment.software()},
    }


def _usual_size(op: Op) -> int:
    return op.quick_sizes[len(op.quick_sizes) // 2]


class ConcurrentCases:
    """The cases of one worker that are called from threads, and how long each call took."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[ConcurrentCall, ...]] = {}
        self._latencies: dict[tuple[str, int], list[float]] = {}

    def prepare(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request to prepare a `case` for so many `threads`: nothing, or the failure.

        A gradient that the probe finds wrong under threads is refused: quick bodies hardly meet, so that calls of the
        op itself may be right for as long as one looks.
        """
        case = Case.from_id(request["case"])
        emit({"event": "at", "case": case.id})
        reason = _refused(case)
        if reason:
            return {"failure": dataclasses.asdict(Failure(case.id, "wrong", reason))}
        try:
            self._calls[case.id] = prepare_concurrent(case, request["threads"])
        except Exception as error:  # noqa: BLE001 - a body may raise anything
            return {"failure": dataclasses.asdict(failure_of(case, error, None))}
        return {}

    def block(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request for calls of a `case` by `threads` for about `seconds`: calls, and calls a second."""
        case, threads = request["case"], request["threads"]
        emit({"event": "at", "case": case})
        calls = self._calls[case][:threads]
        try:
            each = call_together([partial(timed_calls, call, request["seconds"], time.perf_counter) for call in calls])
        except Exception as error:  # noqa: BLE001 - as above
            return {"failure": dataclasses.asdict(failure_of(Case.from_id(case), error, None))}
        latencies = [one for found in each for one in found]
        self._latencies.setdefault((case, threads), []).extend(latencies)
        return {"calls": len(latencies), "rate": sum(len(one) / sum(one) for one in each)}

    def latencies(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request for the quantiles of all calls of a `case` by `threads`, in seconds; None of too few."""
        found = self._latencies[request["case"], request["threads"]]
        return {"calls": len(found), **quantiles(found)}


def timed_calls(call: Callable[[], Any], seconds: float, clock: Callable[[], float]) -> list[float]:
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


def _refused(case: Case) -> str:
    """Return what the probe of calls from several threads found wrong with a gradient; empty for none."""
    if case.direction == "forward":
        return ""
    with TemporaryDirectory(prefix="pyopbench-probe-") as folder:
        found = find_out(PROBE, case.variant, case.gradient, Path(folder))
    if found.status in ("works", "does not apply"):
        return ""
    return f"its gradient is wrong when several threads call it, as the probe {PROBE} finds: {found.told}"
