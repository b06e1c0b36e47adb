"""Counts what calls copy between host and device, by variant and route, and times copies to a GPU.

Counting happens in a worker of its own; one that hangs or dies costs the case that it was at. A real GPU, or a
simulated one: then the counts are the same every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyopbench
from pyopbench.engine.plan import ask_for_plan, no_gpu, python_for, require_cases
from pyopbench.engine.worker_process import CaseLost, Worker, ask_each, ask_once
from pyopbench.model.case import GPU, SIMULATED, Axes, Case
from pyopbench.model.errors import NothingMeasured, WorkerLost
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.side import Environment

DEVICES = {"simulated": SIMULATED, "gpu": GPU}
"""What `--device` takes, and the placement of the cases."""

SIZE = 10
"""What an op is counted at, because how often it copies does not depend on that."""

EVERYTHING = Axes(directions=("forward", "forward_backward"), modes=("call",), sizes=(1, SIZE), parts=False)
"""Calls of a `tf.function`. An op that has one size only is planned at that."""

COUNT_SECONDS, TIMED_SECONDS = 180.0, 120.0
"""Longest silence of a case that is counted, and of copies that are timed."""

Tell = Callable[[int, int], None]
"""Is called with how many cases are done, of how many."""


@dataclass(frozen=True)
class CountRequest:
    """What is to be counted: axes, a key of `DEVICES`, the version of TensorFlow and the own ops among the ops."""

    axes: Axes
    device: str
    tf: str | None = None
    own: OwnOps = NO_OWN_OPS


def count(request: CountRequest, tell: Tell) -> dict[str, Any]:
    """Count and return a document: `device`, versions, `rows`, and `failures` of the cases that have none.

    A row has `op`, `variant`, `direction`, `inputs` and `result` (`host` or `device`), and either `refused` with the
    reason, or `to_device` and `to_host` (copies and bytes of a call with new inputs).

    Raises:
        BadInput: a bad name or size, axes that leave no case, or no GPU where one is asked for.
        NothingMeasured: not a single case could be counted; with the reason.
    """
    axes = request.axes
    if axes.ops and set(axes.ops) <= set(request.own):
        axes = replace(axes, sizes=(), quick=True)  # an op of the user's may have the sizes of its inputs alone
    plan = ask_for_plan(axes, request.own, compiles=False, environment=Environment(request.tf))
    require_cases(plan, axes)
    planned = [Case.from_id(key) for key in plan["cases"]]
    sizes = {case.op: max(other.size for other in planned if other.op == case.op) for case in planned}
    cases = [replace(case, placement=DEVICES[request.device]) for case in planned if case.size == sizes[case.op]]
    document: dict[str, Any] = {
        "device": request.device,
        "pyopbench": pyopbench.__version__,
        "tensorflow": plan["environment"]["tensorflow"],
        "rows": [],
        "failures": [],
    }
    requests = ask_each(cases, lambda case: {"do": "count_copies", "case": case.id}, lambda: _open_device(request))
    tell(0, len(cases))
    done = 0
    try:
        for case, answer in requests:
            if isinstance(answer, CaseLost):
                document["failures"].append(_failure(case, answer.status, answer.reason))
            elif "failure" in answer:
                document["failures"].append(_failure(case, answer["failure"]["status"], answer["failure"]["reason"]))
            else:
                document["rows"] += [{**_names(case), **row} for row in answer["rows"]]
            done += 1
            tell(done, len(cases))
    except WorkerLost as lost:  # what was counted before is kept
        document["failures"] += [_failure(case, "crashed", lost.message) for case in cases[done:]]
    if not document["rows"]:
        raise NothingMeasured(
            "nothing was counted",
            received=document["failures"][0]["reason"],
            legal="at least one case whose copies can be counted here",
            hint="fix that, or use --device gpu on a machine with a GPU",
        )
    return document


def _open_device(request: CountRequest) -> Worker:
    """Return a worker that has the device.

    Raises:
        BadInput: a GPU was asked for, and TensorFlow sees none.
        WorkerLost: there is no such device, or the worker does not start.
    """
    worker = Worker(COUNT_SECONDS, python_for(request.tf), own=request.own)
    try:
        answer = worker.ask({"do": "device", "placement": DEVICES[request.device]})
        if answer["reason"] and request.device == GPU:
            raise no_gpu(answer["devices"])
        if answer["reason"]:
            raise WorkerLost(answer["reason"])
    except BaseException:
        worker.close()
        raise
    return worker


def _failure(case: Case, status: str, reason: str) -> dict[str, str]:
    return {**_names(case), "status": status, "reason": reason}


def _names(case: Case) -> dict[str, str]:
    return {"op": case.op, "variant": case.variant, "direction": case.direction}


def measure_copies() -> dict[str, Any]:
    """Time copies between host and GPU: `devices`, and `rows` with `way`, `direction`, `bytes` and `seconds`.

    Raises:
        NothingMeasured: the worker hung or died, as where TensorFlow sees no GPU: see `plan.require_gpu`.
    """
    try:
        return ask_once({"do": "gpu_copies"}, TIMED_SECONDS)
    except CaseLost as lost:
        raise NothingMeasured(
            "the copies to the GPU could not be timed",
            received=f"{lost.reason}, at {lost.case}",
            legal=f"a worker that answers within {TIMED_SECONDS:g} s and runs to the end",
            hint="run it again; if it happens again, TensorFlow ends the process",
        ) from lost
