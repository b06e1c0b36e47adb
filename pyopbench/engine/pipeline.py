"""Measures an op inside a `tf.data` pipeline: launch after launch, its arrangements interleaved in random order.

Each launch is a worker process. It prepares every arrangement, and then times a block of each in turn, round after
round. A worker that hangs or dies costs the arrangement that it was at, which no later launch tries again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pyopbench.engine.pipeline_record import FEWEST_ROUNDS, PipelineRecord
from pyopbench.engine.pipeline_request import PipelineRequest, thread_counts
from pyopbench.engine.planning import require_loaded
from pyopbench.engine.worker_process import CaseLost, Worker
from pyopbench.model.arrangement import AUTOTUNE
from pyopbench.model.cores import usable_cores
from pyopbench.model.errors import NothingMeasured, WorkerLost

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
