"""Measures the cases of one group: prepares them, times them in rounds, and tells their samples and failures."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.catalogue.load import load_variant
from pyopbench.core.failures import describe_error, failure_of
from pyopbench.core.model import GPU, NATIVE, NO_GRADIENT, Case, Failure
from pyopbench.core.variant import Variant
from pyopbench.prepare.checks import Checked
from pyopbench.prepare.prepare import Prepared, prepare_all
from pyopbench.prepare.segments import timed_segments
from pyopbench.worker import gpu_state
from pyopbench.worker.leftovers import Leftovers
from pyopbench.worker.noise import Meter
from pyopbench.worker.overhead import DURATIONS, known_seconds, waiting
from pyopbench.worker.sampling import (
    Block,
    Calibration,
    Segments,
    Timer,
    balanced_orders,
    calibrate,
    equal_calls,
    measure_block,
    measure_timer,
    quiet_garbage_collector,
    rounds_within,
    sample_rounds,
)

Emit = Callable[[Mapping[str, Any]], None]
Blocks: TypeAlias = dict[str, dict[int, list[Block]]]
"""Timed blocks by runner and by copies of the op in a call."""


class RunnerFailed(Exception):
    """A prepared case raised while it was timed."""

    def __init__(self, runner: str) -> None:
        super().__init__(runner)
        self.runner = runner


class OutOfMemory(Exception):
    """A case wanted more memory than there is; what is asked of this process later would fail for want of it."""

    def __init__(self, case: Case, error: BaseException) -> None:
        super().__init__(case.id)
        self.case = case.id
        self.reason = describe_error(error)


def _require_memory(case: Case, error: BaseException) -> None:
    if isinstance(error, (MemoryError, tf.errors.ResourceExhaustedError)):
        raise OutOfMemory(case, error) from error


def measure(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request to measure the cases of one group, interleaved: their samples and failures.

    Raises:
        OutOfMemory: a case wanted too much; the group is for another process, without that case.
    """
    cases = [Case.from_id(key) for key in request["cases"]]
    launch = int(request["launch"])
    leftovers = Leftovers()
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
            _require_memory(prepared[lost.runner][0].case, lost.__cause__ or lost)
            del prepared[lost.runner]
            failed = [case for case in cases if runner_of(case) == lost.runner]
            failures += [failure_of(case, lost.__cause__ or lost, launch) for case in failed]
    return {
        "samples": {case.id: _samples(blocks[runner_of(case)], case) for case in cases if runner_of(case) in blocks},
        "failures": [dataclasses.asdict(failure) for failure in failures],
        # The first launch checks against finite differences too; a later one would say the same again.
        **({"checked": _errors(prepared.values())} if request["finite_differences"] else {}),
        **_crossings(one for several in prepared.values() for one in several),
        "timer_seconds": timer.seconds,
        "timer_error_seconds": timer.error_seconds,
        "noise": {**meter.noise, **_gpus_of(cases)},
        **({"left_behind": found} if (found := leftovers.found()) else {}),
    }


def _errors(prepared: Iterable[Sequence[Prepared]]) -> dict[str, dict[str, float]]:
    """Return by how much each case was off, by its id; what was not checked is left out."""
    last = (several[-1] for several in prepared)
    return {
        one.case.id: {
            name: float(error) for name, error in dataclasses.asdict(one.checked).items() if error is not None
        }
        for one in last
    }


def _gpus_of(cases: Iterable[Case]) -> dict[str, Any]:
    """Return the state of the GPUs right after cases were timed on one: clocks are then what the work made of them."""
    return {"gpus": gpu_state.read()["gpus"]} if any(case.placement == GPU for case in cases) else {}


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
            _require_memory(case, error)
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

    calibrations = equal_calls({name: calibrated(name) for name in runners})
    round_seconds = sum(calibration.seconds for calibration in calibrations.values())
    rounds = rounds_within(round_seconds, float(request["group_seconds"]), int(request["rounds"]))
    variants = {name: load_variant(one.case.variant) for name, (_, one) in flat.items()}
    calls = _as_warm({name: calibration.calls for name, calibration in calibrations.items()}, variants)
    found = sample_rounds(runners, calls, balanced_orders(len(runners), rounds, rng), timed)
    blocks: Blocks = {runner: {} for runner in prepared}
    for name, (runner, one) in flat.items():
        blocks[runner][one.copies] = found[name]
    return blocks


def _as_warm(calls: Mapping[str, int], variants: Mapping[str, Variant]) -> dict[str, int]:
    """Return the calls of each block, for a part no more than for the callbacks that it explains.

    The first call of a block finds caches cold and threads asleep, which a part that is called a hundred times in a
    row would hardly notice, and a callback that is called once in full.
    """
    most = max((calls[name] for name, one in variants.items() if one.is_callback), default=max(calls.values()))
    return {name: min(count, most) if variants[name].is_part else count for name, count in calls.items()}


def _samples(blocks: Mapping[int, list[Block]], case: Case) -> list[list[float]]:
    timed = timed_segments(case)
    return [
        [block.round, block.order, block.calls, sum(block.segment_seconds[i] for i in timed), *_copies(case, copies)]
        for copies, found in blocks.items()
        for block in found
    ]


def _copies(case: Case, copies: int) -> tuple[int, ...]:
    return (copies,) if case.mode == "node" and not load_variant(case.variant).is_body_alone else ()


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
