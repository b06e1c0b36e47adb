"""Cases and numbers of threads are interleaved, launch after launch; a case that fails or hangs costs itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pipelines import Clock
from pyopbench.engine.concurrent_calls import BUDGET_SECONDS, FEWEST_ROUNDS, LAUNCHES, MOST_ROUNDS, measure
from pyopbench.engine.worker_process import CaseLost
from pyopbench.model.case import Axes
from pyopbench.store import threads_file
from pyopbench.store.strict_json import problem
from thread_calls import case_of

CASES = tuple(map(case_of, ("py_function_numpy", "numpy_function", "native")))
THREADS = (1, 4)


class FakeWorker:
    def __init__(self, clock: Clock, bad: Mapping[str, str], seconds: float) -> None:
        self.clock, self.bad, self.seconds = clock, bad, seconds

    def __enter__(self) -> FakeWorker:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self.clock.now += self.seconds
        if request["do"] == "concurrent":
            labels = {one: one.split("/")[1] for one in CASES}
            kinds = dict.fromkeys(labels.values(), "callback")
            return {"cases": list(CASES), "labels": labels, "kinds": kinds, "environment": {}}
        bad = self.bad.get(request["case"], "")
        if bad.endswith(request["do"]):
            if bad.startswith("lost"):
                raise CaseLost(request["case"], "timeout", "no sign of life")
            return {"failure": {"status": "raised", "reason": "ValueError: no"}}
        if request["do"] == "concurrent_block":
            return {"calls": 10, "rate": 100.0 * request["threads"]}
        if request["do"] == "concurrent_latencies":
            return {"calls": 10, "p50": 0.01, "p95": None, "p99": None}
        return {}


def run(bad: Mapping[str, str] | None = None, seconds: float = 0.1) -> dict[str, Any]:
    clock = Clock()
    start = lambda: FakeWorker(clock, bad or {}, seconds)  # noqa: E731
    found = measure(Axes(), THREADS, start, lambda *_: None, clock)  # type: ignore[arg-type]
    assert problem(found, threads_file.ThreadCalls) is None
    return found


def test_every_case_is_called_by_every_number_of_threads_in_every_round_of_every_launch() -> None:
    found = run()
    rounds = {(one["launch"], one["round"]) for one in found["blocks"]}
    assert rounds == {(launch, turn) for launch in range(LAUNCHES) for turn in range(MOST_ROUNDS)}
    for where in rounds:
        inside = [one for one in found["blocks"] if (one["launch"], one["round"]) == where]
        assert sorted((one["case"], one["threads"]) for one in inside) == sorted(
            (case, threads) for case in CASES for threads in THREADS
        )
    orders = {tuple(one["case"] for one in found["blocks"] if one["round"] == turn) for turn in range(MOST_ROUNDS)}
    assert len(orders) > 1
    assert len(found["latencies"]) == LAUNCHES * len(CASES) * len(THREADS)


def test_rounds_beyond_the_fewest_are_made_only_while_there_is_time() -> None:
    found = run(seconds=BUDGET_SECONDS / 10)
    assert {one["round"] for one in found["blocks"]} == set(range(FEWEST_ROUNDS))


@pytest.mark.parametrize("bad", ["raised concurrent_prepare", "raised concurrent_block", "lost concurrent_prepare",
                                 "lost concurrent_block"])  # fmt: skip
def test_a_bad_case_costs_itself_and_is_not_tried_again(bad: str) -> None:
    found = run({CASES[1]: bad})
    (failure,) = found["failures"]
    assert failure["case"] == CASES[1]
    assert failure["status"] == ("timeout" if bad.startswith("lost") else "raised")
    for case in CASES:
        launches = {one["launch"] for one in found["blocks"] if one["case"] == case}
        assert launches == (set() if case == CASES[1] else set(range(LAUNCHES)))
    keys = [(one["case"], one["threads"], one["launch"], one["round"]) for one in found["blocks"]]
    assert len(keys) == len(set(keys))
