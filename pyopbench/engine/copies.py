"""What crosses between host and device: copies are counted for every variant and place, or their time is measured.

The device is simulated, or real. Counting happens in a worker of its own; one that hangs or dies costs the case that it
was at. What comes out is plain data that is the same every time, for a file beside a run's results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import pyopbench
from pyopbench.engine.plan import ask_for_plan, no_gpu, python_for, require_cases
from pyopbench.engine.worker_process import CaseLost, Worker, WorkerLoop, ask_once
from pyopbench.model.case import GPU, SIMULATED, Axes, Case
from pyopbench.model.discover import find, require_known
from pyopbench.model.errors import NothingMeasured, WorkerLost
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.places import PINS
from pyopbench.model.side import Environment
from pyopbench.store import copy_costs, counted_copies
from pyopbench.store.catalogue_facts import declared

DEVICES = {"simulated": SIMULATED, "gpu": GPU}
"""What `--device` takes, and the placement of the cases."""

SIZE = 10
"""What an op is counted at: how often it copies does not depend on that. Only loops over elements copy with each round,
and in their gradients with each pair of rounds: a million times where there are thirty active sites."""

SOFTWARE = ("tensorflow", "numpy", "python")
"""What counts may depend on; nothing of the machine is kept, so that two machines write the same file."""

REMEDIES = {"py_function_numpy": "py_function_numpy_host"}
"""Variants that copy more than they have to, and what to write instead, which is counted beside them."""

EVERYTHING = Axes(directions=("forward", "forward_backward"), modes=("eager", "call"), sizes=(1, SIZE), parts=False)


@dataclass(frozen=True)
class CountRequest:
    """What is to be counted: axes, a key of `DEVICES`, and how long a case may be silent, in seconds.

    `tf` is the version of TensorFlow to count on, and `own` are the own ops among the ops, as in `plan.Request`.
    """

    axes: Axes
    device: str
    timeout_seconds: float
    tf: str | None = None
    own: OwnOps = NO_OWN_OPS


@dataclass(frozen=True)
class PinnedCase:
    """A case that a worker is asked to count, pinned to one of `places.PINS`."""

    case: Case
    pinned: str


Tell: TypeAlias = Callable[[int, int], None]
"""Is told how many requests are done, of how many."""


def count(request: CountRequest, tell: Tell) -> dict[str, Any]:
    """Count and return the document that results/README.md describes.

    Raises:
        BadInput: a bad name or size, axes that leave no case, or no GPU where one is asked for.
        NothingMeasured: not a single case could be counted; with the reason.
    """
    require_known("mode to count in", request.axes.modes, EVERYTHING.modes)
    require_known("direction to count", request.axes.directions, EVERYTHING.directions)
    require_known("device axis, which --device is for", request.axes.placements, EVERYTHING.placements)
    axes = with_own_sizes(_with_remedies(request.axes, request.own), request.own)
    plan = _one_size_each(ask_for_plan(axes, request.own, compiles=False, environment=Environment(request.tf)))
    require_cases(plan, axes)
    placement = DEVICES[request.device]
    cases = [replace(Case.from_id(key), placement=placement) for key in plan["cases"]]
    pinned_cases = [PinnedCase(case, pinned) for case in cases for pinned in PINS]
    document = {**_head(request, plan), "rows": [], "failures": []}
    counting = _Counting(pinned_cases, request, document, tell)
    try:
        counting.run()
    except WorkerLost as lost:  # what was counted before is kept
        counting.give_up("crashed", lost.message)
    if not document["rows"]:
        raise NothingMeasured(
            "nothing was counted",
            received=document["failures"][0]["reason"],
            legal="at least one case whose copies can be counted here",
            hint="fix that, or use --device gpu on a machine with a GPU",
        )
    return document


def _with_remedies(axes: Axes, own: OwnOps) -> Axes:
    """Name the variants, those that are measured by name only too, and the remedy of each that has one.

    What is tried by itself for ops of one's own alone is named for those alone.
    """
    roles = {name: one.get("role") for name, one in declared("variants").items()}
    for_own = {name for name, role in roles.items() if role == "own_attempt"}
    names = axes.variants or tuple(name for name in find("variants") if own or name not in for_own)
    wanted = {*names, *(REMEDIES[name] for name in names if name in REMEDIES)}
    return replace(axes, variants=tuple(sorted(wanted)))


def with_own_sizes(axes: Axes, own: OwnOps) -> Axes:
    """Name no sizes where all ops are a user's own and none were asked for: such an op may have those of its inputs."""
    is_default = axes.sizes == EVERYTHING.sizes
    if is_default and axes.ops and set(axes.ops) <= set(own):
        return replace(axes, sizes=(), quick=True)
    return axes


def _one_size_each(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the largest size of each op: an op that has one size only is planned at that, and any other at both."""
    sizes: dict[str, int] = {}
    for case in map(Case.from_id, plan["cases"]):
        sizes[case.op] = max(case.size, sizes.get(case.op, 0))

    def is_kept(key: str) -> bool:
        case = Case.from_id(key)
        return case.size == sizes.get(case.op, case.size)

    skips = [skip for skip in plan["skips"] if is_kept(skip["case"])]
    return {**plan, "cases": [key for key in plan["cases"] if is_kept(key)], "skips": skips}


def _head(request: CountRequest, plan: Mapping[str, Any]) -> dict[str, Any]:
    catalogue = plan["catalogue"]
    cases = [Case.from_id(key) for key in plan["cases"]]
    return {
        "schema": counted_copies.SCHEMA,
        "device": request.device,
        "pyopbench": pyopbench.__version__,
        **{name: plan["environment"][name] for name in SOFTWARE},
        "ops": {case.op: {"size_unit": catalogue["ops"][case.op]["size_unit"], "arrays": {}} for case in cases},
        "variants": {
            name: {key: catalogue["variants"][name][key] for key in ("kind", "body")}
            for name in sorted({case.variant for case in cases})
        },
        "holes": [{"case": skip["case"], "reason": skip["reason"]} for skip in plan["skips"]],
    }


class _Counting(WorkerLoop[PinnedCase]):
    """Puts the rows and failures of each case that a worker was asked to count into the document."""

    def __init__(
        self, pinned_cases: Sequence[PinnedCase], request: CountRequest, document: dict[str, Any], tell: Tell
    ) -> None:
        super().__init__(pinned_cases)
        self._request = request
        self._document = document
        self._tell = tell

    def start(self) -> Worker:
        return Worker(self._request.timeout_seconds, python_for(self._request.tf), own=self._request.own)

    def prepare(self, worker: Worker) -> bool:
        """Open the device; where it is not there, nothing is counted.

        Raises:
            BadInput: a GPU was asked for, and TensorFlow sees none.
        """
        reason = _why_no_device(worker, self._request)
        if reason:
            self.give_up("unsupported", reason)
        return not reason

    def ask(self, worker: Worker, item: PinnedCase) -> bool:
        self._tell(self.done, len(self.items))
        answer = worker.ask({"do": "count_copies", "case": item.case.id, "pinned": item.pinned})
        if "failure" in answer:
            self._fail(item, answer["failure"]["status"], answer["failure"]["reason"])
        else:
            self._document["ops"][item.case.op]["arrays"] = answer["arrays"]
            rows = [{"case": item.case.id, "pinned": item.pinned, **row} for row in answer["rows"]]
            self._document["rows"] += rows
        return True

    def record_loss(self, item: PinnedCase, lost: CaseLost) -> bool:
        self._fail(item, lost.status, lost.reason)
        return True

    def give_up(self, status: str, reason: str) -> None:
        """Let everything that is left fail for one and the same reason."""
        for item in self.left:
            self._fail(item, status, reason)
        self.end()

    def _fail(self, item: PinnedCase, status: str, reason: str) -> None:
        failure = {"case": item.case.id, "pinned": item.pinned, "status": status, "reason": reason}
        self._document["failures"].append(failure)


def _why_no_device(worker: Worker, request: CountRequest) -> str:
    """Open the device in a worker; return why it is not there, or an empty text.

    Raises:
        BadInput: a GPU was asked for, and TensorFlow sees none.
    """
    try:
        answer = worker.ask({"do": "device", "placement": DEVICES[request.device]})
    except CaseLost as lost:
        return f"the {request.device} device cannot be loaded: {lost.reason}"
    if answer["reason"] and request.device == "gpu":
        raise no_gpu(answer["devices"])
    return str(answer["reason"])


TIMEOUT_SECONDS = 120.0
"""Longest silence; each block is told, and lasts milliseconds."""


def measure_bridges() -> dict[str, Any]:
    """Measure the bridges of the TensorFlow that is installed; return the document that results/README.md describes.

    Raises:
        NothingMeasured: the worker hung or died.
    """
    return {"schema": copy_costs.SCHEMA, **_answer_of("host_copies")}


def measure_with_gpu() -> dict[str, Any]:
    """Measure what `measure` does, and under `transfers` the copies between host and GPU.

    Raises:
        NothingMeasured: a worker hung or died, as where TensorFlow sees no GPU: see `require_gpu`.
    """
    return {**measure_bridges(), "transfers": _answer_of("gpu_copies")}


def _answer_of(request: str) -> dict[str, Any]:
    try:
        return ask_once({"do": request}, TIMEOUT_SECONDS)
    except CaseLost as lost:
        raise NothingMeasured(
            f"the {request.replace('_', ' ')} could not be measured",
            received=f"{lost.reason}, at {lost.case}",
            legal=f"a worker that answers within {TIMEOUT_SECONDS:g} s and runs to the end",
            hint="run it again; if it happens again, TensorFlow ends the process",
        ) from lost
