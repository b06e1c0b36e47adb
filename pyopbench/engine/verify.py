"""Checks values and gradients of every case, and batched forms against a loop over examples; nothing is timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from pyopbench.engine import require
from pyopbench.engine.plan import ask_for_plan, check_axes, python_for, require_cases, require_loaded
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, CaseLost, Worker, WorkerLoop
from pyopbench.model.case import DTYPES, GPU, PLACEMENTS, Axes, Case, Failure
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.side import Environment
from pyopbench.store.line_types import RequirementLine

VERIFIED_SIZES = 2
"""How many of an op's quick sizes are verified, the smallest first: one alone, and one that vector code works on."""

EVERYTHING = Axes(
    directions=("forward", "backward"),
    modes=("eager", "call"),
    dtypes=DTYPES,
    gradients=("all",),
    quick=True,
    parts=False,
)
"""What is verified unless a part of it is asked for: forward+backward is backward once more, and a copy of mode node
is built as in mode call."""


@dataclass(frozen=True)
class Finding:
    """What came out for one case: the errors against the references, or a failure."""

    case: str
    checked: dict[str, float | None] | None
    failure: Failure | None

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return asdict(self)


def verify_cases(
    axes: Axes,
    timeout_seconds: float,
    tell: Callable[[int, int], None],
    tf: str | None = None,
    own: OwnOps = NO_OWN_OPS,
) -> list[Finding]:
    """Verify every case of `axes`.

    Args:
        axes: what to cover; `EVERYTHING`, or a part of it.
        timeout_seconds: how long a case may be silent.
        tell: is told how many cases are done, of how many.
        tf: version of TensorFlow to verify on; None is the one beside this Python.
        own: the own ops among the ops.

    Returns:
        A finding for each case, in the order of the plan.

    Raises:
        BadInput: a bad name or size, or axes that leave no case.
    """
    check_axes(axes, own)
    python = python_for(tf)
    hides_gpu = GPU not in axes.placements
    with Worker(START_TIMEOUT_SECONDS, python, own=own, hides_gpu=hides_gpu) as planner:
        plan = ask_for_plan(axes, own, environment=Environment(tf), worker=planner)
        require_cases(plan, axes)
        cases = _chosen([Case.from_id(key) for key in plan["cases"]], plan["catalogue"], axes)
        verification = _Verification(cases, partial(Worker, timeout_seconds, python, own=own), tell)
        planner.timeout_seconds = timeout_seconds
        is_usable = hides_gpu == (cases[0].placement != GPU)
        verification.run(planner if is_usable else None)  # it has imported TensorFlow already
    return verification.findings


def verify_requirements(
    axes: Axes,
    requires: Sequence[str],
    tell: Callable[[int, int], None],
    tf: str | None = None,
    own: OwnOps = NO_OWN_OPS,
) -> list[RequirementLine]:
    """Try requirements with each op, variant and gradient of `axes`, and return what came of each."""
    plan = ask_for_plan(axes, own, environment=Environment(tf))
    cases = [Case.from_id(key) for key in plan["cases"]]
    gradients = {name: one["gradients"] for name, one in plan["catalogue"]["variants"].items()}
    found: list[RequirementLine] = []
    attempts = require.attempts_of(cases, gradients, requires)
    start = partial(Worker, require.TIMEOUT_SECONDS, python_for(tf), own=own, hides_gpu=True)
    require.try_all(attempts, start, found.append, tell)
    return found


def _chosen(cases: Sequence[Case], catalogue: dict[str, Any], axes: Axes) -> list[Case]:
    """Return cases, those of the CPU first, without larger sizes and forward cases whose values backward checks too."""
    checked = {case.forward_pass for case in cases if case.direction == "backward"}
    return [
        case
        for case in sorted(cases, key=lambda case: PLACEMENTS.index(case.placement))
        if case.size in (axes.sizes or catalogue["ops"][case.op]["quick_sizes"][:VERIFIED_SIZES])
        and (case.direction == "backward" or case not in checked)
    ]


class _Verification(WorkerLoop[Case]):
    """Keeps a finding for each case; a worker verifies cases of one placement."""

    def __init__(self, cases: Sequence[Case], start: Callable[..., Worker], tell: Callable[[int, int], None]) -> None:
        super().__init__(cases)
        self.findings: list[Finding] = []
        self._start = start
        self._tell = tell

    def start(self) -> Worker:
        return self._start(hides_gpu=self.left[0].placement != GPU)

    def ask(self, worker: Worker, item: Case) -> bool:
        self._tell(self.done, len(self.items))
        answer = worker.ask({"do": "verify", "case": item.id, "finite_differences": True})
        failure = Failure(**answer["failure"]) if "failure" in answer else None
        self.findings.append(Finding(item.id, answer.get("checked"), failure))
        return {case.placement for case in self.left[:2]} == {item.placement}

    def record_loss(self, item: Case, lost: CaseLost) -> bool:
        self.findings.append(Finding(item.id, None, Failure(item.id, lost.status, lost.reason)))
        return True


Outcome: TypeAlias = Literal["right", "wrong", "cannot", "timeout", "crashed", "raised"]

LOOP = "numpy_loop"
"""The plain loop inside one callback: the form that any op should have."""


@dataclass(frozen=True)
class BatchedFinding:
    """What came of one batched form.

    Attributes:
        op, dtype, size: of which, and of an example.
        form: name of the form.
        batch: how many examples.
        outcome: `right`; `wrong`, where it does not agree with a loop; `cannot`, where it does not exist; or how the
            worker was lost.
        reason: why it is not right; "" where it is.
        checked: the largest errors by what was checked, relative to the largest magnitude expected; None if not right.
    """

    op: str
    dtype: str
    size: int
    form: str
    batch: int
    outcome: Outcome
    reason: str = ""
    checked: dict[str, float | None] | None = None

    @property
    def is_broken(self) -> bool:
        """Is it one that nobody can put down to the op: a lost worker, or the plain loop itself?"""
        return self.outcome not in ("right", "wrong", "cannot") or (self.form == LOOP and self.outcome == "wrong")

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return asdict(self)


def verify_batched(  # noqa: PLR0913 - as `verify_cases`, and the batch
    axes: Axes,
    batch: int,
    timeout_seconds: float,
    tell: Callable[[int, int], None],
    tf: str | None = None,
    own: OwnOps = NO_OWN_OPS,
) -> list[BatchedFinding]:
    """Check every batched form of some ops.

    Args:
        axes: which ops, sizes and dtypes, and what the forms are made of; of the other axes nothing counts.
        batch: examples in a batch, from 1.
        timeout_seconds: how long a form may be silent.
        tell: is told how many forms are done, of how many.
        tf: version of TensorFlow to check on; None is the one beside this Python.
        own: the own ops among the ops.

    Returns:
        A finding for each form.

    Raises:
        BadInput: a bad name or size, or axes that leave no form.
    """
    check_axes(axes, own)
    python = python_for(tf)
    asked = {name: list(getattr(axes, name)) for name in ("ops", "variants", "dtypes", "sizes")}
    with Worker(START_TIMEOUT_SECONDS, python, own=own) as first:
        answer = first.ask({"do": "batched_forms", **asked})
        require_loaded(answer)
        _require_forms(answer["forms"], asked)
        start = partial(Worker, timeout_seconds, python, own=own)
        verification = _BatchedVerification(answer["forms"], batch, start, tell)
        first.timeout_seconds = timeout_seconds
        verification.run(first)  # which has imported TensorFlow already
    return verification.findings


def _require_forms(forms: Sequence[Mapping[str, Any]], asked: Mapping[str, Sequence[object]]) -> None:
    if not forms:
        raise BadInput(
            "no op has a batched form with these options",
            received=", ".join(f"{name}={','.join(map(str, values))}" for name, values in asked.items() if values),
            legal="a size and a dtype that the op has",
            hint="`pyopbench run OP --list` shows them",
        )


class _BatchedVerification(WorkerLoop[dict[str, Any]]):
    """Keeps a finding for each form that a worker was asked to check."""

    def __init__(
        self,
        forms: Sequence[dict[str, Any]],
        batch: int,
        start: Callable[[], Worker],
        tell: Callable[[int, int], None],
    ) -> None:
        super().__init__(forms)
        self.findings: list[BatchedFinding] = []
        self._batch = batch
        self._start = start
        self._tell = tell

    def start(self) -> Worker:
        return self._start()

    def ask(self, worker: Worker, item: dict[str, Any]) -> bool:
        self._tell(self.done, len(self.items))
        answer = worker.ask({"do": "batched", "batch": self._batch, **item})
        self.findings.append(BatchedFinding(**item, batch=self._batch, **answer))
        return True

    def record_loss(self, item: dict[str, Any], lost: CaseLost) -> bool:
        self.findings.append(BatchedFinding(**item, batch=self._batch, outcome=lost.status, reason=lost.reason))
        return True
