"""Prepares the cases of a group, keeps them, and times them in rounds whenever it is asked to."""

from __future__ import annotations

import dataclasses
import gc
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pyopbench.model.case import GPU, NATIVE, NO_GRADIENT, Case
from pyopbench.model.failures import failure_of
from pyopbench.worker import gpu_state
from pyopbench.worker.leftovers import Leftovers
from pyopbench.worker.noise import Meter
from pyopbench.worker.overhead import DURATIONS, known_seconds, waiting
from pyopbench.worker.prepare import node_graph
from pyopbench.worker.prepare.checks import Checked
from pyopbench.worker.prepare.prepare import Prepared
from pyopbench.worker.prepare.segments import timed_segments
from pyopbench.worker.prepared_group import (
    Blocks,
    PreparedGroup,
    RunnerFailed,
    prepare_runners,
    require_memory,
)
from pyopbench.worker.sampling import measure_timer, quiet_garbage_collector

Emit = Callable[[Mapping[str, Any]], None]


class WarmGroups:
    """The groups that this process has prepared: they stay, so that they can be timed again and again."""

    def __init__(self) -> None:
        self._groups: dict[str, PreparedGroup] = {}
        self._is_frozen = False

    def prepare(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request to prepare the cases of one group: how far they were off, what crosses, and failures.

        Raises:
            OutOfMemory: a case wanted too much; the group is for another process.
        """
        cases = [Case.from_id(key) for key in request["cases"]]
        launch, differences = int(request["launch"]), bool(request["finite_differences"])
        leftovers = Leftovers()
        rng = np.random.default_rng([request["seed"], launch, *cases[0].group.encode()])
        # What is prepared later was up to 2% faster than identical code before it: in a random order that is noise.
        shuffled = [cases[place] for place in rng.permutation(len(cases))]
        runners, errors = prepare_runners(
            shuffled,
            emit,
            finite_differences=differences,
            linearity=bool(request.get("linearity")),
            further=bool(request.get("further", True)),
        )
        self._groups[cases[0].group] = PreparedGroup(runners)
        self._is_frozen = False
        failed = [case for case in cases if case.runner in errors]
        failures = [failure_of(case, errors[case.runner], launch) for case in failed]
        return {
            "failures": [dataclasses.asdict(failure) for failure in failures],
            **({"checked": _errors(runners.values())} if differences else {}),
            **_crossings(one for several in runners.values() for one in several),
            **({"left_behind": found} if (found := leftovers.found()) else {}),
        }

    def sample(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request to time prepared cases of one group, interleaved: their samples and failures.

        Raises:
            OutOfMemory: a case wanted too much.
        """
        self._freeze()
        cases = [Case.from_id(key) for key in request["cases"]]
        group, launch = self._groups[cases[0].group], int(request["launch"])
        node_graph.use_grappler(enabled=cases[0].mode != "node")  # state of the process, and other groups are others
        rng = np.random.default_rng([request["seed"], launch, request["pass"], *cases[0].group.encode()])
        timer, meter = measure_timer(time.perf_counter), Meter()
        wanted = [runner for runner in dict.fromkeys(case.runner for case in cases) if runner in group.runners]
        blocks: Blocks = {}
        failures = []
        while wanted:
            try:
                with quiet_garbage_collector(), meter:
                    blocks = group.sample(wanted, request, rng, timer, emit)
                break
            except RunnerFailed as lost:
                cause = lost.__cause__ or lost
                require_memory(group.runners[lost.runner][0].case, cause)
                group.drop(lost.runner)
                wanted.remove(lost.runner)
                failures += [failure_of(case, cause, launch) for case in cases if case.runner == lost.runner]
        return {
            "samples": {
                case.id: _samples(group, blocks, case, request["first_round"])
                for case in cases
                if case.runner in blocks
            },
            "failures": [dataclasses.asdict(failure) for failure in failures],
            "timer_seconds": timer.seconds,
            "timer_error_seconds": timer.error_seconds,
            "noise": {**meter.noise, **_gpus_of(cases)},
        }

    def _freeze(self) -> None:
        """Keep the garbage collector from looking through all that is prepared, before every group that is timed."""
        if not self._is_frozen:
            gc.collect()
            gc.freeze()
            self._is_frozen = True


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


def _samples(group: PreparedGroup, blocks: Blocks, case: Case, first_round: int) -> list[list[float]]:
    """Return the rows of a case; how many copies a call runs is told in mode node, but not of a body alone."""
    timed, runner = timed_segments(case), case.runner
    has_copies = case.mode == "node" and not group.is_alone(runner)
    return [
        [
            first_round + block.round,
            block.order,
            block.calls,
            sum(block.segment_seconds[place] for place in timed),
            *((copies,) if has_copies else ()),
        ]
        for copies, found in blocks[runner].items()
        for block in found
    ]


def overhead(request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
    """Answer a request to time bodies of known cost as cases are timed: known and found seconds per call of each."""
    bodies = {case: waiting(seconds, time.perf_counter) for case, seconds in _waits().items()}
    prepared = {case.op: (Prepared(case, (body,), Checked(0.0)),) for case, body in bodies.items()}
    timer = measure_timer(time.perf_counter)
    with quiet_garbage_collector():
        known = known_seconds(time.perf_counter)
        blocks = PreparedGroup(prepared).sample(list(prepared), request, np.random.default_rng(0), timer, emit)
    found = [statistics.median(block.segment_seconds[0] / block.calls for block in some[1]) for some in blocks.values()]
    return {
        "overheads": [list(pair) for pair in zip(known, found, strict=True)],
        "timer_seconds": timer.seconds,
        "timer_error_seconds": timer.error_seconds,
    }


def _waits() -> dict[Case, float]:
    names = {f"wait_{seconds * 1e6:.0f}us": seconds for seconds in DURATIONS}
    return {Case(name, NATIVE, NO_GRADIENT, "forward", "call", "float32", 1): names[name] for name in names}
