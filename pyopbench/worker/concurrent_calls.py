"""Answers requests for calls from several threads: what can be called so, preparing it, and timing blocks of calls."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pyopbench.model.case import Axes, Case, Failure
from pyopbench.model.failures import failure_of
from pyopbench.model.label import Label
from pyopbench.model.op import Op
from pyopbench.model.threads import call_together
from pyopbench.ops.load import load_ops, load_variants, why_unloadable
from pyopbench.worker import environment
from pyopbench.worker.plan import make_plan
from pyopbench.worker.prepare.concurrent import ConcurrentCall, prepare_concurrent
from pyopbench.worker.probe import find_out

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
