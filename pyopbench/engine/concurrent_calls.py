"""Measures calls from several threads: launch after launch, cases and numbers of threads interleaved in random order.

A worker that hangs or dies costs the case that it was at.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from pyopbench.engine.plan import check_axes, require_loaded
from pyopbench.engine.worker_process import CaseLost, Worker, WorkerLoop
from pyopbench.model.case import Axes, Case
from pyopbench.store.threads_file import SCHEMA

LAUNCHES = 3
FEWEST_ROUNDS, MOST_ROUNDS = 3, 8
BLOCK_SECONDS = 0.1
BUDGET_SECONDS = 180.0
"""Of all launches: rounds beyond the fewest are made while there is time for them."""

Tell: TypeAlias = Callable[[int, int, str], None]
"""Is told the launch, of how many, and the case that is at hand."""


def measure(
    axes: Axes,
    threads: Sequence[int],
    start: Callable[[], Worker],
    tell: Tell,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Measure calls of the cases of some axes and return the document that `results.threads_file` describes.

    Args:
        axes: which ops, variants, gradients, directions, dtypes and sizes; of modes it is a call.
        threads: how many threads call at once, one number after another.
        start: starts a worker.
        tell: is told where the measuring stands.
        clock: in seconds.

    Raises:
        BadInput: a bad name or size.
        WorkerLost: no worker starts.
    """
    check_axes(axes)
    with start() as worker:
        answer = worker.ask({"do": "concurrent", "axes": asdict(axes)})
    require_loaded(answer)
    launches = _Launches(answer["cases"], threads, start, tell, clock)
    launches.run()
    cases = [
        {"case": one, "label": answer["labels"][one], "kind": answer["kinds"][Case.from_id(one).variant]}
        for one in answer["cases"]
    ]
    found = {"blocks": launches.blocks, "latencies": launches.latencies, "failures": launches.failures}
    return {
        "schema": SCHEMA,
        "environment": answer["environment"],
        "threads": list(threads),
        "cases": cases,
        **found,
    }


class _Launches(WorkerLoop[int]):
    """Measures launches, each by a worker of its own; one that is lost is begun again without the case it was at."""

    def __init__(
        self,
        cases: Sequence[str],
        threads: Sequence[int],
        start: Callable[[], Worker],
        tell: Tell,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(range(LAUNCHES))
        self.blocks: list[dict[str, Any]] = []
        self.latencies: list[dict[str, Any]] = []
        self.failures: list[dict[str, Any]] = []
        self._cases, self._threads = cases, threads
        self._start, self._tell, self._clock = start, tell, clock
        self._began, self._at = clock(), ""

    def start(self) -> Worker:
        return self._start()

    def ask(self, worker: Worker, item: int) -> bool:
        """Measure a launch; the next one has a worker of its own."""
        rng = random.Random(f"threads/{item}")
        failed = {one["case"] for one in self.failures}
        cases = [one for one in self._cases if one not in failed]
        open_ = [one for one in rng.sample(cases, len(cases)) if self._prepare(worker, item, one)]
        until = BUDGET_SECONDS * (item + 1) / LAUNCHES
        for turn in range(MOST_ROUNDS):
            if turn >= FEWEST_ROUNDS and self._clock() - self._began > until:
                break
            self._round(worker, item, turn, open_, rng)
        measured = {(one["case"], one["threads"]) for one in self.blocks if one["launch"] == item}
        for case, threads in sorted(measured):
            answer = worker.ask({"do": "concurrent_latencies", "case": case, "threads": threads})
            self.latencies.append({"case": case, "threads": threads, "launch": item, **answer})
        return False

    def _prepare(self, worker: Worker, launch: int, case: str) -> bool:
        return "failure" not in self._ask(
            worker, launch, case, {"do": "concurrent_prepare", "threads": max(self._threads)}
        )

    def _round(self, worker: Worker, launch: int, turn: int, cases: list[str], rng: random.Random) -> None:
        pairs = [(case, threads) for case in cases for threads in self._threads]
        for order, (case, threads) in enumerate(rng.sample(pairs, len(pairs))):
            if case not in cases:  # it has failed in this round
                continue
            request = {"do": "concurrent_block", "threads": threads, "seconds": BLOCK_SECONDS}
            answer = self._ask(worker, launch, case, request)
            if "failure" in answer:
                cases.remove(case)
                continue
            where = {"case": case, "threads": threads, "launch": launch, "round": turn, "order": order}
            self.blocks.append({**where, **answer})

    def _ask(self, worker: Worker, launch: int, case: str, request: Mapping[str, Any]) -> dict[str, Any]:
        self._at = case
        self._tell(launch, LAUNCHES, case)
        answer = worker.ask({**request, "case": case})
        if "failure" in answer:
            self._fail(case, launch, answer["failure"]["status"], answer["failure"]["reason"])
        return answer

    def _fail(self, case: str, launch: int, status: str, reason: str) -> None:
        self.failures.append({"case": case, "status": status, "reason": reason, "launch": launch})
        # What fails now and then has no number: what it did before was luck.
        self.blocks = [one for one in self.blocks if one["case"] != case]
        self.latencies = [one for one in self.latencies if one["case"] != case]

    def record_loss(self, item: int, lost: CaseLost) -> bool:
        self._fail(self._at, item, lost.status, lost.reason)
        self.blocks = [one for one in self.blocks if one["launch"] != item]
        self.latencies = [one for one in self.latencies if one["launch"] != item]
        return False
