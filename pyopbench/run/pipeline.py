"""Measures an op inside a `tf.data` pipeline: launch after launch, its arrangements interleaved in random order.

Each launch is a worker process. It prepares every arrangement, and then times a block of each in turn, round after
round. A worker that hangs or dies costs the arrangement that it was at, which no later launch tries again.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import pyopbench
from pyopbench.core.arrangement import AUTOTUNE, Arrangement
from pyopbench.core.cores import usable_cores
from pyopbench.core.errors import NothingMeasured, WorkerLost
from pyopbench.results.pipeline_file import SCHEMA
from pyopbench.run.pipeline_request import PipelineRequest, thread_counts
from pyopbench.run.planning import require_loaded
from pyopbench.run.worker_process import CaseLost, Worker

FEWEST_LAUNCHES = 2
"""Without a second one there is no interval; further ones are not begun where they would end far too late."""
OVERTIME_SECONDS = 10.0
"""That a launch may end after the budget."""
FEWEST_ROUNDS, MOST_ROUNDS = 3, 12
BLOCK_SECONDS = 0.1
THREADS_SECONDS = 0.05
HOPELESS = 3.0
"""What takes so many times as long as the best in the first launch is not measured in later ones."""
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
    return run.document()


class _PipelineRun:
    def __init__(
        self, request: PipelineRequest, tell: Tell, start: Callable[[], Worker], clock: Callable[[], float]
    ) -> None:
        self._request, self._tell, self._start, self._clock = request, tell, start, clock
        self._began = self._began_launch = clock()
        self._described: dict[str, Any] = {}
        self._arrangements: dict[str, Arrangement] = {}
        self._at, self._longest, self._shortest = "", 0.0, 0.0
        self._wants_threads, self._wants_processes = True, True
        self._holes: list[dict[str, Any]] = []
        self._failures: list[dict[str, Any]] = []
        self._prepared: list[dict[str, Any]] = []
        self._blocks: list[dict[str, Any]] = []
        self._rates: list[dict[str, Any]] = []

    @property
    def _baseline(self) -> str:
        return next((key for key, one in self._arrangements.items() if one.action == "keep"), "")

    @property
    def _has_lost_baseline(self) -> bool:
        """Has the current callback failed, so that there is nothing to pair further blocks with?"""
        return any(one["key"] == self._baseline for one in self._failures)

    def _left(self) -> float:
        return self._request.budget_seconds - (self._clock() - self._began)

    def measure(self) -> None:
        for launch in range(self._request.most_launches):
            began = self._clock()
            if self._has_lost_baseline or not self._has_time_for(launch):
                break
            try:
                self._measure_until_whole(launch)
            except (NothingMeasured, WorkerLost):  # the body fails now and then, or no worker starts any more
                if not self._blocks:
                    raise
                break
            self._longest = max(self._longest, self._clock() - began) if launch else 0.0
        self._require_baseline()

    def _has_time_for(self, launch: int) -> bool:
        if launch >= self._request.planned_launches:
            return self._left() >= self._longest
        return launch < FEWEST_LAUNCHES or self._left() + OVERTIME_SECONDS >= self._shortest

    def _measure_until_whole(self, launch: int) -> None:
        is_over = False
        while not (is_over or self._has_lost_baseline) and not self._has(launch) and (self._left() > 0 or not launch):
            is_over = self._attempt(launch)

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

    def _has(self, launch: int) -> bool:
        """Has a launch rounds enough, so that it need not be made again?"""
        return len({one["round"] for one in self._blocks if one["launch"] == launch}) >= FEWEST_ROUNDS

    def _lose(self, launch: int, lost: CaseLost) -> None:
        if self._at == THREADS:
            self._wants_threads = False
        elif self._at not in self._arrangements:
            raise _body_fails(lost.reason) from lost
        self._fail(self._at, lost.status, lost.reason, launch)
        if not self._has(launch):
            self._prepared = [one for one in self._prepared if one["launch"] != launch]
            self._blocks = [one for one in self._blocks if one["launch"] != launch]
            self._rates = [one for one in self._rates if one["launch"] != launch]

    def _fail(self, key: str, status: str, reason: str, launch: int) -> None:
        self._failures.append({"key": key, "status": status, "reason": reason, "launch": launch})

    def _progress(self, doing: Literal["starting", "preparing", "sampling"], launch: int, key: str = "") -> None:
        self._at = key
        self._tell(PipelineProgress(doing, launch, key, max(self._left(), 0.0)))

    def _measure_launch(self, worker: Worker, launch: int) -> None:
        self._describe(worker)
        rng = random.Random(f"{self._request.seed}/{launch}")
        keys = self._open(launch)
        prepared = self._prepare_all(worker, launch, rng.sample(keys, len(keys)))
        planned = self._request.planned_launches
        until = self._request.budget_seconds * min(launch + 1, planned) / planned
        preparing, slowest = self._clock() - self._began_launch, 0.0
        for turn in range(MOST_ROUNDS):
            began = self._clock()
            if turn >= FEWEST_ROUNDS and began - self._began + slowest > until:
                return
            for place, key in enumerate(rng.sample(prepared, len(prepared))):
                if not self._block(worker, launch, turn, place, key):
                    prepared.remove(key)
            if self._has_lost_baseline:
                return
            if self._wants_threads:
                self._threads(worker, launch, turn)
            slowest = max(slowest, self._clock() - began)
            self._shortest = preparing + FEWEST_ROUNDS * slowest

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
                "elements": self._described.get("elements"),
            }
        )
        require_loaded(answer)
        if "failure" in answer:
            raise _body_fails(answer["failure"])
        if not self._described:
            self._described = answer
            found = (Arrangement(**one) for one in answer["arrangements"])
            self._arrangements = {one.key: one for one in found}
            for hole in answer["holes"]:
                self._holes.append({"key": Arrangement(**hole["arrangement"]).key, "reason": hole["reason"]})

    def _open(self, launch: int) -> list[str]:
        """Return the arrangements that a launch is to measure: without what has failed or is far from the best."""
        failed = {one["key"] for one in self._failures} | {one["key"] for one in self._holes}
        keys = [key for key in self._arrangements if key not in failed]
        if not launch:
            return keys
        seconds = {key: _typical(self._blocks, key) for key in keys}
        best = min((one for one in seconds.values() if one is not None), default=0.0)
        return [key for key in keys if key == self._baseline or (seconds[key] or 0.0) <= HOPELESS * best]

    def _prepare_all(self, worker: Worker, launch: int, keys: Sequence[str]) -> list[str]:
        prepared: list[str] = []
        for key in sorted(keys, key=lambda one: one != self._baseline):
            if self._left() < 0 and prepared and not launch:
                self._holes.append({"key": key, "reason": "time ran out before it could be prepared"})
                continue
            self._progress("preparing", launch, key)
            answer = worker.ask({"do": "pipeline_prepare", "key": key})
            if "failure" in answer:
                self._fail(key, answer["failure"]["status"], answer["failure"]["reason"], launch)
                if key == self._baseline:
                    return []
                continue
            prepared.append(key)
            self._prepared.append({"key": key, "launch": launch, **answer})
        return prepared

    def _block(self, worker: Worker, launch: int, turn: int, place: int, key: str) -> bool:
        self._progress("sampling", launch, key)
        answer = worker.ask({"do": "pipeline_block", "key": key, "seconds": BLOCK_SECONDS})
        if "failure" in answer:
            self._fail(key, answer["failure"]["status"], answer["failure"]["reason"], launch)
            return False
        self._blocks.append({"key": key, "launch": launch, "round": turn, "order": place, **answer})
        return True

    def _threads(self, worker: Worker, launch: int, turn: int) -> None:
        self._progress("sampling", launch, THREADS)
        failed = {one["key"] for one in self._failures}
        pools = [key for key, one in self._arrangements.items() if one.action == "processes" and key not in failed]
        counts = thread_counts(max(len(usable_cores()), 2))
        threads = counts[turn % len(counts)]
        request = {"threads": threads, "seconds": THREADS_SECONDS, "processes": bool(pools)}
        answer = worker.ask({"do": "pipeline_threads", **request})
        if "failure" in answer:
            self._wants_threads = False
            self._fail(THREADS, answer["failure"]["status"], answer["failure"]["reason"], launch)
            return
        self._rates.append({"launch": launch, "round": turn, "many": threads, **answer})

    def _require_baseline(self) -> None:
        if _typical(self._blocks, self._baseline) is not None:
            return
        reasons = [one["reason"] for one in self._failures if one["key"] == self._baseline]
        raise NothingMeasured(
            "the current callback could not be measured in a pipeline",
            received=reasons[0] if reasons else "no block of it",
            legal=f"an op whose {self._request.baseline} runs in Dataset.map",
            next_step="fix that, or choose another callback with --baseline",
        )

    def document(self) -> dict[str, Any]:
        """Return what was measured, as `results.pipeline_file` describes it."""
        request, found = self._request, self._described
        facts = ("size", "dtype", "elements", "delivered", "told_apart", "body_seconds", "output_shapes", "environment")
        # What the current callback did before it failed is what all others are compared with.
        failed = {one["key"] for one in self._failures} - {self._baseline}
        return {
            "schema": SCHEMA,
            "pyopbench": pyopbench.__version__,
            "op": {"name": request.op, **found["op"]},
            **{name: found[name] for name in facts},
            "baseline": self._baseline,
            "settings": {**asdict(request), "parallel": list(request.parallel), "batch": list(request.batch)},
            "seconds": self._clock() - self._began,
            "arrangements": [
                {"key": key, "effort": one.effort, **asdict(one)} for key, one in self._arrangements.items()
            ],
            "prepared": [one for one in self._prepared if one["key"] not in failed],
            "blocks": [one for one in self._blocks if one["key"] not in failed],
            "rates": self._rates,
            "holes": self._holes,
            "failures": self._failures,
        }


def _typical(blocks: Sequence[Mapping[str, Any]], key: str) -> float | None:
    """Return the median of the seconds that an element took; None where there is no block."""
    found = [one["seconds"] / one["elements"] for one in blocks if one["key"] == key]
    return statistics.median(found) if found else None


def _body_fails(reason: str) -> NothingMeasured:
    return NothingMeasured(
        "the function fails even without a pipeline",
        received=reason,
        legal="a function that works for every element of its inputs",
        next_step="`pyopbench verify` shows why",
    )
