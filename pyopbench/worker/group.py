"""Prepares the cases of a group, keeps them prepared, and times them in rounds on request."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from pyopbench.model.case import GPU, Case, Failure
from pyopbench.model.variant import Variant
from pyopbench.ops.load import load_variant
from pyopbench.ops.port_file import PORTS, PortFile
from pyopbench.worker import environment
from pyopbench.worker.noise import measure_noise
from pyopbench.worker.prepare import node_graph
from pyopbench.worker.prepare.checks import Checked
from pyopbench.worker.prepare.node_graph import OUT_OF_MEMORY
from pyopbench.worker.prepare.prepare import OutOfMemory, Prepared, prepare_group
from pyopbench.worker.prepare.segments import timed_segments
from pyopbench.worker.sampling import (
    Block,
    Calibration,
    Segments,
    Stretch,
    Timer,
    balanced_orders,
    calibrate,
    equal_calls,
    measure_block,
    measure_timer,
    quiet_garbage_collector,
    rounds_within,
    same_calls,
    sample_rounds,
)

Emit: TypeAlias = Callable[[Mapping[str, Any]], None]


class RunnerFailed(Exception):
    """A prepared case raised while it was timed."""

    def __init__(self, runner: str) -> None:
        super().__init__(runner)
        self.runner = runner


class PreparedGroup:
    """Prepared cases of one group, which take turns block by block whenever they are sampled."""

    def __init__(self, runners: Mapping[str, Prepared]) -> None:
        self.runners = dict(runners)  # what is timed, by `Case.runner`
        self._calibrations: dict[str, Calibration] = {}

    def sample(
        self, wanted: Sequence[str], request: Mapping[str, Any], rng: np.random.Generator, timer: Timer, emit: Emit
    ) -> dict[str, list[Block]]:
        """Time some runners in rounds, and return the blocks of each.

        Args:
            wanted: which.
            request: `block_seconds` of a block, `group_seconds` of all rounds, and the most `rounds`.
            rng: gives the orders.
            timer: what reading the clock costs.
            emit: is called with an event before each block.

        Raises:
            RunnerFailed: one has raised.
        """
        block_seconds = float(request["block_seconds"])
        self._calibrate(wanted, block_seconds, timer, emit)
        calibrations = {runner: self._calibrations[runner] for runner in wanted}
        round_seconds = sum(calibration.seconds for calibration in calibrations.values())
        rounds = rounds_within(round_seconds, float(request["group_seconds"]), int(request["rounds"]))
        empty = next((runner for runner in wanted if self.runners[runner].copies == 0), None)
        empty_seconds = calibrations[empty].seconds if empty else 0.0

        def measure(runner: str, segments: Segments, calls: int) -> tuple[int, tuple[float, ...]]:
            nonlocal empty_seconds
            prepared = self.runners[runner]
            with self._timing(runner, emit):
                if prepared.source is not None:
                    calls, taken = prepared.source.block(block_seconds)
                    return calls, (taken,)
                stretch = Stretch(prepared.stretch, empty_seconds)
                seconds = tuple(measure_block(segments, calls, time.perf_counter, timer, stretch))
            if runner == empty:  # the last block of it, so that a slowdown follows what the machine does meanwhile
                empty_seconds = seconds[0]
            return calls, seconds

        return sample_rounds(
            {runner: self.runners[runner].segments for runner in wanted},
            {runner: calibration.calls for runner, calibration in calibrations.items()},
            balanced_orders(len(wanted), rounds, rng),
            measure,
        )

    def _calibrate(self, wanted: Sequence[str], block_seconds: float, timer: Timer, emit: Emit) -> None:
        """Find how many calls make a block, once: all blocks of a process have as many, whenever they are timed.

        Later only one call is made of what is shorter than a block: since then another worker has had the caches.
        """
        runners = {runner: self.runners[runner] for runner in wanted}
        if self._calibrations.keys() >= runners.keys():
            for runner, prepared in runners.items():
                if self._calibrations[runner].calls > 1:
                    with self._timing(runner, emit):
                        prepared()
            return
        found: dict[str, Calibration] = {}
        for runner, prepared in runners.items():
            with self._timing(runner, emit):
                if prepared.source is not None:  # makes blocks of a time, and not of a number of calls
                    found[runner] = Calibration(1, prepared.source.expected_seconds(block_seconds))
                else:
                    found[runner] = calibrate(prepared.segments, block_seconds, time.perf_counter, timer)
        if any(prepared.case.mode == "node" for prepared in runners.values()):
            found = same_calls(found)
        elif all(prepared.source is None for prepared in runners.values()):
            variants = {runner: load_variant(prepared.case.variant) for runner, prepared in runners.items()}
            found = _limit_components(equal_calls(found), variants)
        self._calibrations = found

    @contextmanager
    def _timing(self, runner: str, emit: Emit) -> Iterator[None]:
        """Announce a runner before it does something, because it may hang or crash."""
        emit({"event": "timing", "case": self.runners[runner].case.id})
        try:
            yield
        except Exception as error:
            raise RunnerFailed(runner) from error


def _limit_components(found: Mapping[str, Calibration], variants: Mapping[str, Variant]) -> dict[str, Calibration]:
    """Return calibrations with no more calls in a block of a cost component than in those of the callbacks it explains.

    The first call of a block finds caches cold and threads asleep, which a component that is called a hundred times in
    a row would hardly notice, and a callback that is called once in full.
    """
    most = max(
        (found[name].calls for name, one in variants.items() if one.is_callback),
        default=max(one.calls for one in found.values()),
    )
    return {
        name: Calibration(min(one.calls, most), min(one.calls, most) * one.call_seconds)
        if variants[name].is_part
        else one
        for name, one in found.items()
    }


class WarmGroups:
    """The groups that this process has prepared: they stay, so that they can be timed again and again."""

    def __init__(self) -> None:
        self._groups: dict[str, PreparedGroup] = {}
        self._is_frozen = False

    def prepare(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request to prepare the cases of one group: how far they were off, and failures.

        Raises:
            OutOfMemory: a case wanted too much; the group is for another process.
        """
        cases = [Case.from_id(key) for key in request["cases"]]
        launch = int(request["launch"])
        PORTS.give(PortFile(**one) for one in request.get("ports", ()))
        rng = np.random.default_rng([request["seed"], launch, *cases[0].group.encode()])
        # What is prepared later was up to 2% faster than identical code before it: in a random order that is noise.
        shuffled = [cases[place] for place in rng.permutation(len(cases))]

        def at(case: Case) -> None:
            emit({"event": "at", "case": case.id})

        answer: dict[str, Any] = {}
        made: Mapping[str, Prepared | Exception]
        if cases[0].arrangement:
            made, answer["pool_seconds"] = _prepare_pipelines(shuffled, request["pipeline"], at)
        else:
            made = prepare_group(shuffled, finite_differences=bool(request["finite_differences"]), at=at)
        runners = {runner: one for runner, one in made.items() if isinstance(one, Prepared)}
        self._groups[cases[0].group] = PreparedGroup(runners)
        self._is_frozen = False
        errors = {case: made[case.runner] for case in cases if isinstance(made.get(case.runner), Exception)}
        answer["failures"] = [
            dataclasses.asdict(Failure.of(case, error, launch))
            for case, error in errors.items()
            if isinstance(error, Exception)
        ]
        if news := PORTS.news():
            answer["ports"] = list(map(dataclasses.asdict, news))
        if request["finite_differences"]:
            answer["checked"] = {one.case.id: _errors(one.checked) for one in runners.values()}
        return answer

    def sample(self, request: Mapping[str, Any], emit: Emit) -> dict[str, Any]:
        """Answer a request to time prepared cases of one group, interleaved: their samples and failures.

        Raises:
            OutOfMemory: a case wanted too much.
        """
        if not self._is_frozen:  # or else the garbage collector would look through all that is prepared
            gc.collect()
            gc.freeze()
            self._is_frozen = True
        cases = [Case.from_id(key) for key in request["cases"]]
        group, launch = self._groups[cases[0].group], int(request["launch"])
        node_graph.use_grappler(enabled=cases[0].mode != "node")  # state of the process, and other groups are others
        rng = np.random.default_rng([request["seed"], launch, request["pass"], *cases[0].group.encode()])
        timer = measure_timer(time.perf_counter)
        wanted = [runner for runner in dict.fromkeys(case.runner for case in cases) if runner in group.runners]
        blocks: dict[str, list[Block]] = {}
        noise: dict[str, Any] = {"wall_seconds": 0.0, "steal_seconds": None, "load": None}
        failures = []
        while wanted:
            try:
                with quiet_garbage_collector(), measure_noise() as noise:
                    blocks = group.sample(wanted, request, rng, timer, emit)
                break
            except RunnerFailed as lost:
                cause = lost.__cause__ or lost
                if isinstance(cause, OUT_OF_MEMORY):
                    raise OutOfMemory(group.runners[lost.runner].case, cause) from cause
                del group.runners[lost.runner]
                wanted.remove(lost.runner)
                failures += [Failure.of(case, cause, launch) for case in cases if case.runner == lost.runner]
        timed = {case: group.runners[case.runner] for case in cases if case.runner in blocks}
        waits = {case.id: one.source.waits() for case, one in timed.items() if one.source is not None}
        answer: dict[str, Any] = {
            "samples": {
                case.id: _rows(case, one, blocks[case.runner], request["first_round"]) for case, one in timed.items()
            },
            "failures": [dataclasses.asdict(failure) for failure in failures],
            "timer_seconds": timer.seconds,
            "timer_error_seconds": timer.error_seconds,
            "noise": noise,
        }
        if known := {key: quantiles for key, quantiles in waits.items() if quantiles is not None}:
            answer["waits"] = known
        if any(case.placement == GPU for case in cases):  # right after the work, which makes the clocks what they are
            answer["noise"]["gpus"] = environment.read_gpus()
        return answer


def _prepare_pipelines(
    cases: Sequence[Case], request: Mapping[str, Any], at: Callable[[Case], object]
) -> tuple[dict[str, Prepared | Exception], dict[str, float]]:
    """Prepare the arrangements of a pipeline; return the runners, and what starting processes took, by case."""
    from pyopbench.worker.pipeline.measure import prepare_pipelines  # process pools and batches, for these cases alone

    by_runner = {case.runner: case for case in cases}
    runners: dict[str, Prepared | Exception] = {}
    pool_seconds = {}
    for runner, made in prepare_pipelines(cases, request, at).items():
        if isinstance(made, Exception):
            runners[runner] = made
            continue
        runners[runner] = Prepared(by_runner[runner], (), Checked(made.largest_error), source=made)
        if made.pool_seconds is not None:
            pool_seconds[by_runner[runner].id] = made.pool_seconds
    return runners, pool_seconds


def _errors(checked: Checked) -> dict[str, float]:
    """Return by how much a case was off; what was not checked is left out."""
    return {name: float(error) for name, error in dataclasses.asdict(checked).items() if error is not None}


def _rows(case: Case, prepared: Prepared, blocks: Iterable[Block], first_round: int) -> list[list[float]]:
    """Return the rows of a case; in mode node with the copies in a call, but for a body alone."""
    has_copies = case.mode == "node" and load_variant(case.variant).role != "body_alone"
    copies = [prepared.copies] if has_copies else []
    return [
        [
            first_round + block.round,
            block.order,
            block.calls,
            sum(block.segment_seconds[place] for place in timed_segments(case)),
            *copies,
        ]
        for block in blocks
    ]
