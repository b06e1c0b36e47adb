"""The measuring process: reads requests, one JSON object a line, and answers with events, one JSON object a line.

`{"do": "plan"}` answers what can be measured, `{"do": "verify"}` checks one case, `{"do": "measure"}` prepares and
samples the cases of one group, `{"do": "overhead"}` times bodies of known cost. Before each step that may hang or crash
the marker names the case, so that the parent knows which one it was; events show that there is life. The standard
output of the process belongs to the parent; what bodies print goes to the log.
"""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import json
import os
import signal
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any, Literal, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench import environment
from pyopbench.catalogue import (
    describe,
    describe_instruments,
    load_floor,
    load_ops,
    load_parts,
    load_variant,
    load_variants,
)
from pyopbench.checks import Checked
from pyopbench.errors import Elided, PyopbenchError, Unsupported, WrongResult
from pyopbench.marker import Marker
from pyopbench.messages import describe_error
from pyopbench.model import NATIVE, NO_GRADIENT, Axes, Case, Failure, Op, Variant
from pyopbench.noise import Meter
from pyopbench.overhead import DURATIONS, known_seconds, waiting
from pyopbench.plan import Instruments, make_plan, plan_instruments, sizes_of
from pyopbench.prepare import Prepared, prepare_all
from pyopbench.sampling import (
    Block,
    Calibration,
    Segments,
    Timer,
    balanced_orders,
    calibrate,
    measure_block,
    measure_timer,
    quiet_garbage_collector,
    rounds_within,
    sample_rounds,
)
from pyopbench.segments import timed_segments

Emit = Callable[[Mapping[str, Any]], None]
Blocks: TypeAlias = dict[str, dict[int, list[Block]]]
"""Timed blocks by runner and by copies of the op in a call."""

SIGN_OF_LIFE_SECONDS = 1.0
"""How often the parent is told that timing goes on; it counts a longer silence of one case, which lasts seconds."""

PR_SET_PDEATHSIG = 1
"""Linux' prctl(2): the signal that a process gets when its parent has ended."""


class RunnerFailed(Exception):
    """A prepared case raised while it was timed."""

    def __init__(self, runner: str) -> None:
        super().__init__(runner)
        self.runner = runner


def plan(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request for the cases of `axes`: cases, skips, catalogue and environment, or a file's error."""
    given: dict[str, Any] = {name: _as_tuple(value) for name, value in request["axes"].items()}
    axes = Axes(**given)
    try:
        ops, variants = load_ops(), load_variants()
    except PyopbenchError as error:
        return {"error": f"{error.what}: {error.received}"}
    except Exception as error:  # noqa: BLE001 - a file that is somebody else's may raise anything
        place = traceback.extract_tb(error.__traceback__)[-1]
        return {"error": f"{describe_error(error)} ({place.filename}:{place.lineno})"}
    made = make_plan(axes, ops, variants)
    instruments = Instruments(load_parts(), load_floor()) if axes.parts else Instruments()
    beside = plan_instruments(made.cases, variants, instruments)
    return {
        "cases": [case.id for case in (*made.cases, *beside)],
        "skips": [dataclasses.asdict(skip) for skip in made.skips],
        "catalogue": {**_catalogue(axes, ops, variants), **describe_instruments(instruments.parts, instruments.floor)},
        "environment": {**environment.machine(), **environment.software()},
    }


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _catalogue(axes: Axes, ops: dict[str, Op], variants: dict[str, Variant]) -> dict[str, Any]:
    chosen = {name: op for name, op in ops.items() if not axes.ops or name in axes.ops}
    return describe(chosen, variants, {name: sizes_of(op, axes) for name, op in chosen.items()})


def verify(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request to check one case: the errors found, or the failure."""
    case = Case.from_id(request["case"])
    emit({"event": "at", "case": case.id})
    try:
        prepared = prepare_all(case, finite_differences=bool(request["finite_differences"]))
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return {"failure": dataclasses.asdict(failure_of(case, error, None))}
    return {"checked": dataclasses.asdict(prepared[-1].checked)}


def measure(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request to measure the cases of one group, interleaved: their samples and failures."""
    cases = [Case.from_id(key) for key in request["cases"]]
    launch = int(request["launch"])
    rng = np.random.default_rng([request["seed"], launch, *cases[0].group.encode()])
    # What is prepared later was up to 2% faster than identical code before it: in a random order that is noise.
    prepared, failures = _prepare_all([cases[place] for place in rng.permutation(len(cases))], request, emit)
    timer = measure_timer(time.perf_counter)
    blocks: Blocks = {}
    meter = Meter()
    while prepared:
        try:
            with quiet_garbage_collector(), meter:
                blocks = _sample(prepared, request, rng, timer, emit)
            break
        except RunnerFailed as lost:
            del prepared[lost.runner]
            failed = [case for case in cases if runner_of(case) == lost.runner]
            failures += [failure_of(case, lost.__cause__ or lost, launch) for case in failed]
    return {
        "samples": {case.id: _samples(blocks[runner_of(case)], case) for case in cases if runner_of(case) in blocks},
        "failures": [dataclasses.asdict(failure) for failure in failures],
        **_crossings(one for several in prepared.values() for one in several),
        "timer_seconds": timer.seconds,
        "timer_error_seconds": timer.error_seconds,
        "noise": meter.noise,
    }


def _crossings(prepared: Iterable[Prepared]) -> dict[str, dict[str, Any]]:
    """Return what crosses a bridge, by the ids of the parts that know it."""
    found = {one.case.id: one.crossing for one in prepared if one.crossing is not None}
    return {
        "bytes": {key: [crossing.bytes_in, crossing.bytes_out] for key, crossing in found.items()},
        "aligned": {key: crossing.aligned for key, crossing in found.items() if crossing.aligned is not None},
    }


def runner_of(case: Case) -> str:
    """Return the key of what is timed for a case: backward and forward+backward come from one and the same pass."""
    return f"{case.variant}/{case.gradient}"


def _prepare_all(
    cases: list[Case], request: Mapping[str, Any], emit: Emit
) -> tuple[dict[str, tuple[Prepared, ...]], list[Failure]]:
    prepared: dict[str, tuple[Prepared, ...]] = {}
    errors: dict[str, Exception] = {}
    for case in cases:
        runner = runner_of(case)
        if runner in prepared or runner in errors:
            continue
        emit({"event": "at", "case": case.id})
        try:
            prepared[runner] = prepare_all(case, finite_differences=bool(request["finite_differences"]))
        except Exception as error:  # noqa: BLE001 - a body may raise anything
            errors[runner] = error
    failed = [case for case in cases if runner_of(case) in errors]
    return prepared, [failure_of(case, errors[runner_of(case)], int(request["launch"])) for case in failed]


def _sample(
    prepared: Mapping[str, tuple[Prepared, ...]],
    request: Mapping[str, Any],
    rng: np.random.Generator,
    timer: Timer,
    emit: Emit,
) -> Blocks:
    # In mode node a case has a runner for each number of copies, and all of them take their turns.
    flat = {f"{runner}/{one.copies}": (runner, one) for runner, several in prepared.items() for one in several}
    runners: dict[str, Segments] = {name: one.segments for name, (_, one) in flat.items()}

    def at(name: str, action: Callable[[], Any]) -> Any:
        runner, one = flat[name]
        emit({"event": "timing", "case": one.case.id})
        try:
            return action()
        except Exception as error:
            raise RunnerFailed(runner) from error

    def calibrated(name: str) -> Calibration:
        seconds = float(request["block_seconds"])
        found: Calibration = at(name, lambda: calibrate(runners[name], seconds, time.perf_counter, timer))
        return found

    def timed(name: str, segments: Segments, calls: int) -> tuple[float, ...]:
        return tuple(at(name, lambda: measure_block(segments, calls, time.perf_counter, timer, flat[name][1].stretch)))

    calibrations = {name: calibrated(name) for name in runners}
    round_seconds = sum(calibration.seconds for calibration in calibrations.values())
    rounds = rounds_within(round_seconds, float(request["group_seconds"]), int(request["rounds"]))
    kinds = {name: load_variant(one.case.variant).kind for name, (_, one) in flat.items()}
    calls = _as_warm({name: calibration.calls for name, calibration in calibrations.items()}, kinds)
    found = sample_rounds(runners, calls, balanced_orders(len(runners), rounds, rng), timed)
    blocks: Blocks = {runner: {} for runner in prepared}
    for name, (runner, one) in flat.items():
        blocks[runner][one.copies] = found[name]
    return blocks


def _as_warm(calls: Mapping[str, int], kinds: Mapping[str, str]) -> dict[str, int]:
    """Return the calls of each block, for a part no more than for the callbacks that it explains.

    The first call of a block finds caches cold and threads asleep, which a part that is called a hundred times in a
    row would hardly notice, and a callback that is called once in full.
    """
    most = max((calls[name] for name, kind in kinds.items() if kind == "callback"), default=max(calls.values()))
    return {name: min(count, most) if kinds[name] == "part" else count for name, count in calls.items()}


def _samples(blocks: Mapping[int, list[Block]], case: Case) -> list[list[float]]:
    timed = timed_segments(case)
    return [
        [block.round, block.order, block.calls, sum(block.segment_seconds[i] for i in timed), *_copies(case, copies)]
        for copies, found in blocks.items()
        for block in found
    ]


def _copies(case: Case, copies: int) -> tuple[int, ...]:
    return (copies,) if case.mode == "node" else ()


def overhead(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request to time bodies of known cost as cases are timed: known and found seconds per call of each."""
    bodies = {case: waiting(seconds, time.perf_counter) for case, seconds in _waits().items()}
    prepared = {case.op: (Prepared(case, (body,), Checked(0.0)),) for case, body in bodies.items()}
    timer = measure_timer(time.perf_counter)
    with quiet_garbage_collector():
        known = known_seconds(time.perf_counter)
        blocks = _sample(prepared, request, np.random.default_rng(0), timer, emit)
    found = [statistics.median(block.segment_seconds[0] / block.calls for block in some[1]) for some in blocks.values()]
    return {
        "overheads": [list(pair) for pair in zip(known, found, strict=True)],
        "timer_seconds": timer.seconds,
        "timer_error_seconds": timer.error_seconds,
    }


def _waits() -> dict[Case, float]:
    names = {f"wait_{seconds * 1e6:.0f}us": seconds for seconds in DURATIONS}
    return {Case(name, NATIVE, NO_GRADIENT, "forward", "call", "float32", 1): names[name] for name in names}


def failure_of(case: Case, error: BaseException, launch: int | None) -> Failure:
    """Return the failure that an exception means for a case."""
    status: Literal["unsupported", "wrong", "elided", "raised"] = "raised"
    if isinstance(error, Unsupported):
        status = "unsupported"
    elif isinstance(error, WrongResult):
        status = "wrong"
    elif isinstance(error, Elided):
        status = "elided"
    return Failure(case.id, status, describe_error(error), launch)


HANDLERS: dict[str, Callable[[Mapping[str, Any], Emit], dict[str, Any]]] = {
    "plan": plan,
    "verify": verify,
    "measure": measure,
    "overhead": overhead,
}


@dataclasses.dataclass
class Line:
    """The worker's end of the line to its parent."""

    answers: IO[str]
    log: IO[str]
    marker: Marker
    told: float = 0.0

    def emit(self, event: Mapping[str, Any]) -> None:
        """Send an event; of those that say what is being timed, only one now and then, as a sign of life."""
        if "case" in event:
            self.marker.set(event["case"])
            now = time.monotonic()
            if event["event"] == "timing" and now - self.told < SIGN_OF_LIFE_SECONDS:
                return
            self.told = now
            self.log.write(f"{event['case']}\n")  # what the log says from here on belongs to this case
            self.log.flush()
        self.answers.write(json.dumps(event) + "\n")
        self.answers.flush()


def serve(requests: IO[str], line: Line) -> None:
    """Answer every request until the parent closes its end."""
    emit = line.emit

    tf.get_logger().setLevel("ERROR")
    # TensorFlow itself is never garbage, and looking through it takes a tenth of a second each time.
    gc.collect()
    gc.freeze()
    versions = {"tensorflow": tf.__version__, "numpy": np.__version__}
    emit({"event": "ready", "environment": {**environment.of_launch(), **versions}})
    for request in map(json.loads, requests):
        emit({"event": "done", **HANDLERS[request["do"]](request, emit)})


def _end_with_parent() -> None:
    # A parent that is killed closes no pipe that a body in an endless loop would ever look at. Where there is no
    # prctl, such a worker stays; any other ends when it next reads or answers.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Take standard input and output for the parent, and leave bodies an empty input and the log for their output."""
    _end_with_parent()
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    serve(requests, Line(answers, sys.stderr, Marker.inherited(os.environ)))


if __name__ == "__main__":
    main()
