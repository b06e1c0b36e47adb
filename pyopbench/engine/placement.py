"""Counts the copies of calls between host and device, by variant and route, and times copies to a GPU.

Counting happens in a worker of its own; one that hangs or dies costs the case that it was at. A real GPU, or a
simulated one: then the counts are the same every time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyopbench
from pyopbench.engine import environments
from pyopbench.engine.plan import ask_for_plan, left_out, require_cases, require_gpu
from pyopbench.engine.worker_process import Worker, ask_each
from pyopbench.model.case import GPU, SIMULATED, Axes, Case
from pyopbench.model.errors import NothingMeasured, WorkerLost
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.side import Environment

DEVICES = {"simulated": SIMULATED, "gpu": GPU}
"""What `--device` takes, and the placement of the cases."""
EVERYTHING = Axes(directions=("forward", "forward_backward"), modes=("call",), sizes=(1, 10), parts=False)
"""Calls of a `tf.function`, at the larger size that an op has: how often it copies does not depend on that."""
COUNT_SECONDS, TIMED_SECONDS = 180.0, 120.0
"""Longest silence of a case that is counted, and of copies that are timed."""


def count(
    axes: Axes, device: str, show: Callable[[int, int], None], tf: str | None = None, own: OwnOps = NO_OWN_OPS
) -> dict[str, Any]:
    """Count and return a document: `device`, versions, `rows`, and `failures` of the cases that have none.

    A row has `op`, `variant`, `direction`, `inputs` and `result` (`host` or `device`), and either `refused` with the
    reason, or `to_device` and `to_host` (copies and bytes of a call with new inputs).

    `show` is called with how many cases are done, and how many there are; `tf` is the version of TensorFlow, None the
    installed one. Raises `NothingMeasured` if not a single case could be counted.
    """
    if own:
        axes = replace(axes, sizes=(), quick=True)  # an op of the user's may have the sizes of its inputs alone
    plan = ask_for_plan(axes, own, compiles=False, environment=Environment(tf))
    require_cases(plan, axes)
    planned = [Case.from_id(key) for key in plan["cases"]]
    sizes = {case.op: max(other.size for other in planned if other.op == case.op) for case in planned}
    cases = [replace(case, placement=DEVICES[device]) for case in planned if case.size == sizes[case.op]]
    asked = [(case, {"do": "count_copies", "case": case.id}) for case in cases]
    rows: list[dict[str, Any]] = []
    failures = [_failed(Case.from_id(lost.case), lost.status, lost.reason) for lost in left_out(plan, axes)]
    done = 0
    show(done, len(cases))
    try:
        for case, answer in ask_each(asked, lambda: _open_device(device, tf, own)):
            if "failure" in answer:
                failed = answer["failure"]
                failures.append(_failed(case, failed["status"], failed["reason"]))
            else:
                rows += [{**_names(case), **row} for row in answer["rows"]]
            done += 1
            show(done, len(cases))
    except WorkerLost as lost:  # what was counted before is kept
        failures += [_failed(case, "crashed", lost.message) for case in cases[done:]]
    if not rows:
        hint = "fix that, or use --device gpu on a machine with a GPU"
        raise NothingMeasured("nothing was counted", received=failures[-1]["reason"], hint=hint)
    return {
        "device": device,
        "pyopbench": pyopbench.__version__,
        "tensorflow": plan["environment"]["tensorflow"],
        "rows": rows,
        "failures": failures,
    }


def _failed(case: Case, status: str, reason: str) -> dict[str, str]:
    return {**_names(case), "status": status, "reason": reason}


def _names(case: Case) -> dict[str, str]:
    return {"op": case.op, "variant": case.variant, "direction": case.direction}


def _open_device(device: str, tf: str | None, own: OwnOps) -> Worker:
    """Return a worker that has the device; raises `BadInput` or `WorkerLost` if there is none."""
    worker = Worker(COUNT_SECONDS, environments.python_of(Environment(tf)), own=own)
    try:
        if device == GPU:
            require_gpu(worker)
        reason = worker.ask({"do": "device", "placement": DEVICES[device]})["reason"]
        if reason:
            raise WorkerLost(reason)
    except BaseException:
        worker.close()
        raise
    return worker


def measure_copies() -> dict[str, Any]:
    """Time copies between host and GPU: `devices`, and `rows` with `way`, `direction`, `bytes` and `seconds`."""
    with Worker(TIMED_SECONDS) as worker:
        require_gpu(worker)
        return worker.ask({"do": "gpu_copies"})
