"""Prepares the cases of a group, keeps them, and times them in rounds whenever it is asked to."""

from __future__ import annotations

import dataclasses
import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.case import GPU, Case
from pyopbench.model.failures import describe_error, failure_of
from pyopbench.model.variant import Variant
from pyopbench.ops.load import load_variant
from pyopbench.ops.port_file import PORTS, PortFile
from pyopbench.worker import environment
from pyopbench.worker.noise import Leftovers, Meter
from pyopbench.worker.pipeline.measure import ElementsOfPipeline
from pyopbench.worker.prepare import node_graph
from pyopbench.worker.prepare.prepare import Asked, Prepared, prepare_group
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
Runners: TypeAlias = dict[str, tuple[Prepared, ...]]
"""Prepared callables by runner; several where a case is timed with several numbers of copies."""
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


def require_memory(case: Case, error: BaseException) -> None:
    """Check that what a case raised is no want of memory.

    Raises:
        OutOfMemory: it is.
    """
    if isinstance(error, (MemoryError, tf.errors.ResourceExhaustedError)):
        raise OutOfMemory(case, error) from error


def prepare_runners(
    cases: Sequence[Case],
    emit: Emit,
    *,
    finite_differences: bool,
    further: bool = True,
    pipeline: Mapping[str, Any] | None = None,
) -> tuple[Runners, dict[str, Exception]]:
    """Prepare what is timed for some cases of one group.

    Args:
        cases: in the order in which they are prepared.
        emit: is told of each before that.
        finite_differences: also check gradients against them.
        further: in mode node, make a second graph of callbacks.
        pipeline: what pipelines are prepared by.

    Returns:
        What is prepared, and the error of what is not, by runner.

    Raises:
        OutOfMemory: a case wanted too much.
    """
    last: list[Case] = []

    def at(case: Case) -> None:
        last[:] = [case]
        emit({"event": "at", "case": case.id})

    try:
        asked = Asked(finite_differences, further, at=at, pipeline=pipeline or {})
        made = prepare_group(cases, asked)
    except Exception as error:
        require_memory((last or cases)[0], error)
        raise
    prepared = {runner: one for runner, one in made.items() if not isinstance(one, Exception)}
    return prepared, {runner: one for runner, one in made.items() if isinstance(one, Exception)}


class PreparedGroup:
    """Prepared cases of one group, which take turns block by block whenever they are sampled.

    Attributes:
        runners: what is timed.
    """

    def __init__(self, runners: Mapping[str, tuple[Prepared, ...]]) -> None:
        self.runners = dict(runners)
        # In mode node a case has a callable for each number of copies, and all of them take their turns.
        self._flat = {f"{runner}/{one.copies}": (runner, one) for runner, several in runners.items() for one in several}
        self._variants = {runner: load_variant(several[0].case.variant) for runner, several in runners.items()}
        self._calibrations: dict[str, Calibration] = {}

    def drop(self, runner: str) -> None:
        """Let go of what cannot be timed."""
        del self.runners[runner]
        self._flat = {name: of for name, of in self._flat.items() if of[0] != runner}

    def is_alone(self, runner: str) -> bool:
        """Whether it is the body of a callback, without a bridge."""
        return self._variants[runner].is_body_alone

    def sample(
        self,
        wanted: Sequence[str],
        request: Mapping[str, Any],
        rng: np.random.Generator,
        timer: Timer,
        emit: Emit,
    ) -> Blocks:
        """Time some runners in rounds.

        Args:
            wanted: which.
            request: `block_seconds` of a block, `group_seconds` of all rounds, and the most `rounds`.
            rng: gives the orders.
            timer: what reading the clock costs.
            emit: is told of each block before it.

        Raises:
            RunnerFailed: one has raised.
        """
        flat = {name: of for name, of in self._flat.items() if of[0] in wanted}
        at = _Announced(flat, emit)
        self._calibrate(at, float(request["block_seconds"]), timer)
        found = {name: self._calibrations[name] for name in flat}
        seconds = sum(one.seconds for one in found.values())
        rounds = rounds_within(seconds, float(request["group_seconds"]), int(request["rounds"]))

        empty = next((name for name, (_, one) in flat.items() if one.copies == 0), None)
        beside = found[empty].seconds if empty else 0.0

        def timed(name: str, segments: Segments, calls: int) -> tuple[int, tuple[float, ...]]:
            nonlocal beside
            source = flat[name][1].source
            if source is not None:
                made, taken = at(name, lambda: source.block(float(request["block_seconds"])))
                return made, (taken,)
            stretch = Stretch(flat[name][1].stretch, beside)
            seconds = tuple(at(name, lambda: measure_block(segments, calls, time.perf_counter, timer, stretch)))
            if name == empty:  # the last block of it, so that a slowdown follows what the machine does meanwhile
                beside = seconds[0]
            return calls, seconds

        runners: dict[str, Segments] = {name: one.segments for name, (_, one) in flat.items()}
        orders = balanced_orders(len(runners), rounds, rng)
        sampled = sample_rounds(runners, {name: one.calls for name, one in found.items()}, orders, timed)
        blocks: Blocks = {runner: {} for runner in wanted}
        for name, (runner, one) in flat.items():
            blocks[runner][one.copies] = sampled[name]
        return blocks

    def _calibrate(self, at: _Announced, block_seconds: float, timer: Timer) -> None:
        """Find how many calls make a block, once: all blocks of a process have as many, whenever they are timed.

        Later only one call is made of what is shorter than a block: since then another worker has had the caches.
        """
        if self._calibrations.keys() >= at.flat.keys():
            for name, (_, one) in at.flat.items():
                if self._calibrations[name].calls > 1:
                    at(name, one)
            return

        def calibrated(name: str, one: Prepared) -> Calibration:
            source = one.source
            if source is not None:  # makes blocks of a time, and not of a number of calls
                return Calibration(1, at(name, lambda: source.expected_seconds(block_seconds)))
            found: Calibration = at(name, lambda: calibrate(one.segments, block_seconds, time.perf_counter, timer))
            return found

        found = {name: calibrated(name, one) for name, (_, one) in at.flat.items()}
        if any(one.case.mode == "node" for _, one in at.flat.values()):
            self._calibrations = same_calls(found)
            return
        if any(one.source is not None for _, one in at.flat.values()):
            self._calibrations = found
            return
        variants = {name: self._variants[runner] for name, (runner, _) in at.flat.items()}
        self._calibrations = _as_warm(equal_calls(found), variants)


class _Announced:
    """Does something with a runner, and says so before: it may hang or crash."""

    def __init__(self, flat: Mapping[str, tuple[str, Prepared]], emit: Emit) -> None:
        self.flat = flat
        self._emit = emit

    def __call__(self, name: str, action: Callable[[], Any]) -> Any:
        runner, one = self.flat[name]
        self._emit({"event": "timing", "case": one.case.id})
        try:
            return action()
        except Exception as error:
            raise RunnerFailed(runner) from error


def _as_warm(found: Mapping[str, Calibration], variants: Mapping[str, Variant]) -> dict[str, Calibration]:
    """Return the calibrations with no more calls in a block of a part than in those of the callbacks it explains.

    The first call of a block finds caches cold and threads asleep, which a part that is called a hundred times in a
    row would hardly notice, and a callback that is called once in full.
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
        """Answer a request to prepare the cases of one group: how far they were off, what crosses, and failures.

        Raises:
            OutOfMemory: a case wanted too much; the group is for another process.
        """
        cases = [Case.from_id(key) for key in request["cases"]]
        launch, differences = int(request["launch"]), bool(request["finite_differences"])
        PORTS.give(PortFile(**one) for one in request.get("ports", ()))
        leftovers = Leftovers()
        rng = np.random.default_rng([request["seed"], launch, *cases[0].group.encode()])
        # What is prepared later was up to 2% faster than identical code before it: in a random order that is noise.
        shuffled = [cases[place] for place in rng.permutation(len(cases))]
        runners, errors = prepare_runners(
            shuffled,
            emit,
            finite_differences=differences,
            further=bool(request.get("further", True)),
            pipeline=request.get("pipeline"),
        )
        self._groups[cases[0].group] = PreparedGroup(runners)
        self._is_frozen = False
        is_pipeline = bool(cases[0].arrangement)
        failed = [case for case in cases if case.runner in errors]
        failures = [failure_of(case, errors[case.runner], launch) for case in failed]
        return {
            "failures": [dataclasses.asdict(failure) for failure in failures],
            **({"ports": list(map(dataclasses.asdict, news))} if (news := PORTS.news()) else {}),
            **({"checked": _errors(runners.values())} if differences else {}),
            **(_pool_seconds(runners.values()) if is_pipeline else {}),
            # Pipelines have threads, and pools processes, that are at rest and stay.
            **({"left_behind": found} if not is_pipeline and (found := leftovers.found()) else {}),
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
            **_waits_of(group, [case for case in cases if case.runner in blocks]),
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


def _pool_seconds(prepared: Iterable[Sequence[Prepared]]) -> dict[str, Any]:
    """Return what starting the processes of pipelines took, by the ids of their cases."""
    found = {several[0].case.id: several[0].source for several in prepared}
    return {
        "pool_seconds": {
            key: source.pool_seconds
            for key, source in found.items()
            if isinstance(source, ElementsOfPipeline) and source.pool_seconds is not None
        }
    }


def _waits_of(group: PreparedGroup, cases: Iterable[Case]) -> dict[str, Any]:
    """Return how long callers waited, by the ids of the cases whose blocks tell it."""
    sources = {case.id: group.runners[case.runner][0].source for case in cases}
    found = {key: source.waits() for key, source in sources.items() if source is not None}
    known = {key: waits for key, waits in found.items() if waits is not None}
    return {"waits": known} if known else {}


def _gpus_of(cases: Iterable[Case]) -> dict[str, Any]:
    """Return the state of the GPUs right after cases were timed on one: clocks are then what the work made of them."""
    return {"gpus": environment.read_gpus()["gpus"]} if any(case.placement == GPU for case in cases) else {}


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
