"""Measures an op inside a `tf.data` pipeline: launch after launch, its arrangements interleaved in random order.

Each launch is a worker process. It prepares every arrangement, and then times a block of each in turn, round after
round. A worker that hangs or dies costs the arrangement that it was at, which no later launch tries again.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import pyopbench
from pyopbench.engine.plan import require_loaded
from pyopbench.engine.worker_process import CaseLost, Worker
from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.model.case import BASELINE, DTYPES, MINIMUM_EFFECT
from pyopbench.model.cores import usable_cores
from pyopbench.model.discover import find, require_known
from pyopbench.model.errors import BadInput, NothingMeasured, WorkerLost
from pyopbench.store.catalogue_facts import declared
from pyopbench.store.pipeline_file import SCHEMA

LAUNCHES, MOST_LAUNCHES = 5, 8
"""Where no number is asked for, launches beyond `LAUNCHES` are made while there is time for a whole one. The first has
most to prepare. Further ones tell more than longer ones: what launches differ by is known to none alone."""
BUDGET_SECONDS = 75.0
"""What starting the first worker and writing the report take comes on top: an answer is there within 90 s."""
TIMEOUT_SECONDS = 30.0
"""Of an arrangement, without a sign of life."""
BATCH = (1, 32, 256)


def usual_parallel() -> tuple[int, ...]:
    """Return the usual values of `num_parallel_calls`: 1, as many as there are cores, and `AUTOTUNE`."""
    return tuple(dict.fromkeys((1, max(len(usable_cores()), 2), AUTOTUNE)))


def thread_counts(cores: int) -> tuple[int, ...]:
    """Return how many threads are held against one, the most first: as many as there are cores, and powers of two."""
    powers = (2**power for power in range(1, cores.bit_length()))
    return tuple(sorted({cores, *powers}, reverse=True))


@dataclass(frozen=True)
class PipelineRequest:
    """What is to be measured, and for how long.

    Attributes:
        op: its name.
        size: of an element, in the op's unit; None for the middle one of a quick run.
        dtype: None for the op's first, of which float32 is the first if it has it.
        parallel: values of `num_parallel_calls`; 1 is always among them.
        batch: elements that one callback gets.
        deterministic: do elements keep their order?
        baseline: variant that is the current callback.
        launches: worker processes at the most; None for `LAUNCHES`, and up to `MOST_LAUNCHES` where time is left.
        budget_seconds: that all of them may take together.
        timeout_seconds: longest silence of one arrangement.
        seed: makes the order of everything repeatable.
        private_threads: of a thread pool that is the pipeline's own; 0 for TensorFlow's.
        step_seconds: that a training step takes for each of its elements; 0 where that is not known. An arrangement
            that keeps up with it is of interest, however much quicker others are.
        minimum_effect: the smallest share of the current time that is worth acting on.
    """

    op: str
    size: int | None = None
    dtype: str | None = None
    parallel: tuple[int, ...] = field(default_factory=usual_parallel)
    batch: tuple[int, ...] = BATCH
    deterministic: bool = True
    baseline: str = BASELINE
    launches: int | None = None
    budget_seconds: float = BUDGET_SECONDS
    timeout_seconds: float = TIMEOUT_SECONDS
    seed: int = 0
    private_threads: int = 0
    step_seconds: float = 0.0
    minimum_effect: float = MINIMUM_EFFECT

    @property
    def planned_launches(self) -> int:
        """How many launches share the budget."""
        return self.launches or LAUNCHES

    @property
    def most_launches(self) -> int:
        """How many launches are made where there is time."""
        return self.launches or MOST_LAUNCHES

    def check(self) -> None:
        """Check what can be checked without TensorFlow.

        Raises:
            BadInput: an unknown op, variant or dtype, or a number out of range.
        """
        require_known("op", [self.op], find("ops"))
        callbacks = [name for name, one in declared("variants").items() if one.get("kind") == "callback"]
        require_known("callback", [self.baseline], callbacks)
        require_known("dtype", [self.dtype] if self.dtype else [], DTYPES)
        wrong = [one for one in self.batch if one < 1] + [one for one in self.parallel if one < 1 and one != AUTOTUNE]
        if wrong or not self.batch or (self.size is not None and self.size < 1):
            raise BadInput(
                "not valid for a pipeline",
                received=f"parallel={self.parallel}, batch={self.batch}, size={self.size}",
                legal="whole numbers from 1, and AUTOTUNE for --parallel",
                hint="for example --parallel 1,4,AUTOTUNE --batch 32 --size 1000",
            )


FEWEST_ROUNDS = 3
"""In a launch that counts."""
NEAR_BEST, NEAR_SHARE = 2.0, 0.1
"""What takes more than so many times as long as the best, or as the training step if that is longer, and by more than
this share of the current callback's time longer, is measured no more: it is not as good, whatever noise there was."""


class PipelineRecord:
    """What workers have answered.

    Attributes:
        request: what is measured.
        described: what the first worker said of the op and of where it runs.
        arrangements: by their keys.
        holes: arrangements that are not measured, with reasons.
        failures: what failed, with the launch in which it did.
        prepared: what came of preparing each arrangement in each launch.
        blocks: what was timed.
        rates: of calls from several threads and processes.
    """

    def __init__(self, request: PipelineRequest) -> None:
        self.request = request
        self.described: dict[str, Any] = {}
        self.arrangements: dict[str, Arrangement] = {}
        self.holes: list[dict[str, Any]] = []
        self.failures: list[dict[str, Any]] = []
        self.prepared: list[dict[str, Any]] = []
        self.blocks: list[dict[str, Any]] = []
        self.rates: list[dict[str, Any]] = []

    def describe(self, answer: Mapping[str, Any]) -> None:
        """Take what the first worker says of the op and its arrangements."""
        self.described = dict(answer)
        found = (Arrangement(**one) for one in answer["arrangements"])
        self.arrangements = {one.key: one for one in found}
        for hole in answer["holes"]:
            self.add_hole(Arrangement(**hole["arrangement"]).key, hole["reason"])

    def add_hole(self, key: str, reason: str) -> None:
        """Say why an arrangement is not measured."""
        self.holes.append({"key": key, "reason": reason})

    def fail(self, key: str, status: str, reason: str, launch: int) -> None:
        """Say how an arrangement failed."""
        self.failures.append({"key": key, "status": status, "reason": reason, "launch": launch})

    @property
    def baseline(self) -> str:
        """The key of the current callback in `map`; empty while nothing is described."""
        return next((key for key, one in self.arrangements.items() if one.action == "keep"), "")

    @property
    def failed(self) -> set[str]:
        """Keys of what has failed."""
        return {one["key"] for one in self.failures}

    @property
    def has_lost_baseline(self) -> bool:
        """Has the current callback failed, so that there is nothing to pair further blocks with?"""
        return self.baseline in self.failed

    @property
    def pools(self) -> list[str]:
        """Keys of the arrangements with processes that have not failed."""
        return [key for key, one in self.arrangements.items() if one.action == "processes" and key not in self.failed]

    def has(self, launch: int) -> bool:
        """Has a launch rounds enough, so that it need not be made again?"""
        return len({one["round"] for one in self.blocks if one["launch"] == launch}) >= FEWEST_ROUNDS

    def forget(self, launch: int) -> None:
        """Drop what a launch has measured, which is made again."""
        self.prepared = [one for one in self.prepared if one["launch"] != launch]
        self.blocks = [one for one in self.blocks if one["launch"] != launch]
        self.rates = [one for one in self.rates if one["launch"] != launch]

    @property
    def still_of_interest(self) -> list[str]:
        """Keys of what is to be measured from now on: without what has failed or is far from the best."""
        left_out = self.failed | {one["key"] for one in self.holes}
        seconds = {key: self.typical_seconds(key) for key in self.arrangements if key not in left_out}
        best = min((one for one in seconds.values() if one is not None), default=0.0)
        enough = max(best, self.request.step_seconds)
        most = max(NEAR_BEST * enough, enough + NEAR_SHARE * (seconds.get(self.baseline) or 0.0))
        return [key for key, typical in seconds.items() if key == self.baseline or (typical or 0.0) <= most]

    def why_not_try(self, key: str) -> str:
        """Return why a port that nobody wrote is not tried, which takes seconds; empty where it may be chosen.

        What leaves no more of the current time than the smallest effect worth acting on is as good as anything that
        there can be, so that nothing of more work is chosen. As warm-ups take longer than what follows, more than that
        is spared.
        """
        tried, baseline = self.arrangements[key], self._warm_seconds.get(self.baseline, 0.0)
        most = self.request.step_seconds + self.request.minimum_effect * baseline
        enough = [
            other
            for other, seconds in self._warm_seconds.items()
            if seconds <= most and self.arrangements[other].effort < tried.effort
        ]
        if not tried.is_attempt or not enough:
            return ""
        return f"not tried, because {enough[0]} takes less work and leaves next to nothing to gain"

    @property
    def _warm_seconds(self) -> dict[str, float]:
        """What an element took when its arrangement had become warm, by key."""
        return {one["key"]: one["warm_up"]["seconds_per_element"] for one in self.prepared}

    def warm_up_elements(self, key: str) -> int | None:
        """Return after how many elements an arrangement was steady, at the most; None where it is not known."""
        seen = [one["warm_up"] for one in self.prepared if one["key"] == key]
        return max((one["elements"] for one in seen), default=None) if all(one["is_steady"] for one in seen) else None

    def typical_seconds(self, key: str) -> float | None:
        """Return the median of the seconds that an element took; None where there is no block."""
        found = [one["seconds"] / one["elements"] for one in self.blocks if one["key"] == key]
        return statistics.median(found) if found else None

    def require_baseline(self) -> None:
        """Check that the current callback was measured.

        Raises:
            NothingMeasured: it was not.
        """
        if self.typical_seconds(self.baseline) is not None:
            return
        reasons = [one["reason"] for one in self.failures if one["key"] == self.baseline]
        raise NothingMeasured(
            "the current callback could not be measured in a pipeline",
            received=reasons[0] if reasons else "no block of it",
            legal=f"an op whose {self.request.baseline} runs in Dataset.map",
            hint="fix that, or choose another callback with --baseline",
        )

    def document(self, seconds: float) -> dict[str, Any]:
        """Return what was measured, as `results.pipeline_file` describes it.

        Args:
            seconds: that all of it took.
        """
        request, found = self.request, self.described
        facts = ("size", "dtype", "elements", "delivered", "told_apart", "body_seconds", "output_shapes", "environment")
        # What the current callback did before it failed is what all others are compared with.
        failed = self.failed - {self.baseline}
        return {
            "schema": SCHEMA,
            "pyopbench": pyopbench.__version__,
            "op": {"name": request.op, **found["op"]},
            **{name: found[name] for name in facts},
            "baseline": self.baseline,
            "settings": {**asdict(request), "parallel": list(request.parallel), "batch": list(request.batch)},
            "seconds": seconds,
            "arrangements": [
                {"key": key, "effort": one.effort, **asdict(one)} for key, one in self.arrangements.items()
            ],
            "prepared": [one for one in self.prepared if one["key"] not in failed],
            "blocks": [one for one in self.blocks if one["key"] not in failed],
            "rates": self.rates,
            "holes": self.holes,
            "failures": self.failures,
        }


FEWEST_LAUNCHES = 2
"""Without a second one there is no interval; further ones are not begun where they would end far too late."""
OVERTIME_SECONDS = 5.0
"""That a launch may end after the budget."""
MOST_ROUNDS = 12
BLOCK_SECONDS = 0.1
THREADS_SECONDS = 0.05
THREADS = "threads"
"""Stands for the calls from threads and processes beside the keys of arrangements."""


@dataclass(frozen=True)
class PipelineProgress:
    """Where the measuring stands, for people."""

    doing: Literal["starting", "preparing", "sampling"]
    launch: int
    key: str
    seconds_left: float


Tell = Callable[[PipelineProgress], None]


def measure(
    request: PipelineRequest,
    tell: Tell,
    start: Callable[[], Worker] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Measure an op in a pipeline and return the document that `results.pipeline_file` describes.

    Args:
        request: what.
        tell: is told before each request.
        start: starts a worker.
        clock: in seconds.

    Raises:
        BadInput: as `PipelineRequest.check`, or a file that cannot be loaded.
        NothingMeasured: the body itself fails, or the current callback in `map` does.
    """
    request.check()
    run = _PipelineRun(request, tell, start or (lambda: Worker(request.timeout_seconds)), clock)
    run.measure()
    return run.record.document(clock() - run.began)


class _PipelineRun:
    def __init__(
        self, request: PipelineRequest, tell: Tell, start: Callable[[], Worker], clock: Callable[[], float]
    ) -> None:
        self._request, self._tell, self._start, self._clock = request, tell, start, clock
        self.record = PipelineRecord(request)
        self.began = self._began_launch = clock()
        self._at, self._longest, self._shortest = "", 0.0, 0.0
        self._wants_threads = True

    def _left(self) -> float:
        return self._request.budget_seconds - (self._clock() - self.began)

    def measure(self) -> None:
        for launch in range(self._request.most_launches):
            began = self._clock()
            if self.record.has_lost_baseline or not self._has_time_for(launch):
                break
            try:
                self._measure_until_whole(launch)
            except (NothingMeasured, WorkerLost):  # the body fails now and then, or no worker starts any more
                if not self.record.blocks:
                    raise
                break
            self._longest = max(self._longest, self._clock() - began) if launch else 0.0
        self.record.require_baseline()

    def _has_time_for(self, launch: int) -> bool:
        if launch >= self._request.planned_launches:
            return self._left() >= self._longest
        return launch < FEWEST_LAUNCHES or self._left() + OVERTIME_SECONDS >= self._shortest

    def _measure_until_whole(self, launch: int) -> None:
        while not (self.record.has_lost_baseline or self.record.has(launch)) and (self._left() > 0 or not launch):
            if self._attempt(launch):
                return

    def _attempt(self, launch: int) -> bool:
        """Measure a launch; has its worker come to the end?"""
        self._began_launch = self._clock()
        try:
            self._progress("starting", launch)
            with self._start() as worker:
                self._measure_launch(worker, launch)
        except CaseLost as lost:
            self._lose(launch, lost)
            return False
        return True

    def _lose(self, launch: int, lost: CaseLost) -> None:
        if self._at == THREADS:
            self._wants_threads = False
        elif self._at not in self.record.arrangements:
            raise _body_fails(lost.reason) from lost
        self.record.fail(self._at, lost.status, lost.reason, launch)
        if not self.record.has(launch):
            self.record.forget(launch)

    def _progress(self, doing: Literal["starting", "preparing", "sampling"], launch: int, key: str = "") -> None:
        self._at = key
        self._tell(PipelineProgress(doing, launch, key, max(self._left(), 0.0)))

    def _measure_launch(self, worker: Worker, launch: int) -> None:
        until = self._began_launch + self._left() / max(self._request.planned_launches - launch, 1)
        self._describe(worker)
        rng = random.Random(f"{self._request.seed}/{launch}")
        keys = self.record.still_of_interest
        prepared = self._prepare_all(worker, launch, rng.sample(keys, len(keys)))
        preparing, taken = self._clock() - self._began_launch, 0.0
        for turn in range(MOST_ROUNDS):
            began = self._clock()
            if turn >= FEWEST_ROUNDS and began + taken > until:
                return
            keys = [key for key in self.record.still_of_interest if key in prepared]
            for place, key in enumerate(rng.sample(keys, len(keys))):
                self._block(worker, launch, turn, place, key)
            if self.record.has_lost_baseline:
                return
            if self._wants_threads:
                self._threads(worker, launch, turn)
            taken = self._clock() - began
            self._shortest = preparing + FEWEST_ROUNDS * taken

    def _describe(self, worker: Worker) -> None:
        request = self._request
        answer = worker.ask(
            {
                "do": "pipeline",
                "op": request.op,
                "variant": request.baseline,
                "size": request.size,
                "dtype": request.dtype,
                "parallel": sorted({1, *request.parallel}, key=lambda one: (one == AUTOTUNE, one)),
                "batch": list(request.batch),
                "deterministic": request.deterministic,
                "processes": max(len(usable_cores()), 2),
                "private_threads": request.private_threads,
                "elements": self.record.described.get("elements"),
            }
        )
        require_loaded(answer)
        if "failure" in answer:
            raise _body_fails(answer["failure"])
        if not self.record.described:
            self.record.describe(answer)

    def _prepare_all(self, worker: Worker, launch: int, keys: Sequence[str]) -> list[str]:
        prepared: list[str] = []
        # What is only tried comes last: by then it is known whether it could be chosen.
        for key in sorted(
            keys, key=lambda one: (one != self.record.baseline, self.record.arrangements[one].is_attempt)
        ):
            reason = self._why_not_prepare(key) if prepared and not launch else ""
            if reason:
                self.record.add_hole(key, reason)
                continue
            self._progress("preparing", launch, key)
            known = {
                "elements": self.record.warm_up_elements(key),
                "typical_seconds": self.record.typical_seconds(key),
            }
            answer = worker.ask({"do": "pipeline_prepare", "key": key, **known})
            if "failure" in answer:
                self.record.fail(key, answer["failure"]["status"], answer["failure"]["reason"], launch)
                if key == self.record.baseline:
                    return []
                continue
            prepared.append(key)
            self.record.prepared.append({"key": key, "launch": launch, **answer})
        return prepared

    def _why_not_prepare(self, key: str) -> str:
        return "time ran out before it could be prepared" if self._left() < 0 else self.record.why_not_try(key)

    def _block(self, worker: Worker, launch: int, turn: int, place: int, key: str) -> None:
        self._progress("sampling", launch, key)
        answer = worker.ask({"do": "pipeline_block", "key": key, "seconds": BLOCK_SECONDS})
        if "failure" in answer:
            self.record.fail(key, answer["failure"]["status"], answer["failure"]["reason"], launch)
        else:
            self.record.blocks.append({"key": key, "launch": launch, "round": turn, "order": place, **answer})

    def _threads(self, worker: Worker, launch: int, turn: int) -> None:
        self._progress("sampling", launch, THREADS)
        counts = thread_counts(max(len(usable_cores()), 2))
        threads = counts[turn % len(counts)]
        request = {"threads": threads, "seconds": THREADS_SECONDS, "processes": bool(self.record.pools)}
        answer = worker.ask({"do": "pipeline_threads", **request})
        if "failure" in answer:
            self._wants_threads = False
            self.record.fail(THREADS, answer["failure"]["status"], answer["failure"]["reason"], launch)
            return
        self.record.rates.append({"launch": launch, "round": turn, "many": threads, **answer})


def _body_fails(reason: str) -> NothingMeasured:
    return NothingMeasured(
        "the function fails even without a pipeline",
        received=reason,
        legal="a function that works for every element of its inputs",
        hint="`pyopbench verify` shows why",
    )
