"""Bodies that misbehave in a real worker: what cannot be measured is told, and whoever is beside them is measured.

`hostile.py` has the bodies; run by itself, it measures all of them, which takes minutes. Those that cost a worker each
are shown on fake ones in test_worker_process.py, and four of them in test_cli.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import hostile
from pyopbench.engine.memory import LEAST_BYTES
from pyopbench.engine.worker_process import CaseLost, Worker
from pyopbench.model.discover import PATH_VARIABLE
from pyopbench.model.errors import WorkerLost

pytestmark = [pytest.mark.slow, pytest.mark.measures]

SECONDS = 120.0


def case(variant: str) -> str:
    return f"negate/{variant}/none/forward/call/float32/4/cpu"


def request(*variants: str) -> dict[str, Any]:
    keys = [case(variant) for variant in ("native", *variants)]
    settings = {"seed": 0, "rounds": 2, "block_seconds": 1e-6, "group_seconds": 1.0, "finite_differences": False}
    return {"cases": keys, "launch": 1, "first_round": 0, "pass": 0, **settings}


def measure(worker: Worker, *variants: str) -> dict[str, Any]:
    """Return what a worker answers to the requests to prepare and to sample, together."""
    prepared = worker.ask({"do": "prepare", **request(*variants)})
    sampled = worker.ask({"do": "sample", **request(*variants)})
    return {**prepared, **sampled, "failures": prepared["failures"] + sampled["failures"]}


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Worker]]:
    """A function that returns a worker with as little memory as may be, a new one if the one before has ended."""
    workers: list[Worker] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PATH_VARIABLE, hostile.write(tmp_path_factory.mktemp("hostile")))

        def current() -> Worker:
            if not workers or workers[-1]._process.poll() is not None:
                workers.append(Worker(SECONDS, limit_bytes=LEAST_BYTES))
            return workers[-1]

        yield current
        for one in workers:
            one.close()


@pytest.mark.parametrize("fault", ["printing_in_c", "flooding"])
def test_what_a_body_prints_is_nothing_that_the_parent_reads(worker: Callable[[], Worker], fault: str) -> None:
    answer = measure(worker(), fault)
    assert set(answer["samples"]) == {case("native"), case(fault)}
    assert answer["failures"] == []


@pytest.mark.parametrize("fault", ["forking", "forking_in_two"])
def test_a_process_that_a_body_forks_neither_answers_nor_takes_requests(
    worker: Callable[[], Worker], fault: str
) -> None:
    answer = measure(worker(), fault)
    assert set(answer["samples"]) == {case("native"), case(fault)}
    again = measure(worker(), "py_function_numpy")
    assert set(again["samples"]) == {case("native"), case("py_function_numpy")}


def test_threads_that_a_body_leaves_are_told_with_what_they_take(worker: Callable[[], Worker]) -> None:
    left = measure(worker(), "spinning")["left_behind"]
    assert left["threads"] == 2
    assert left["cores"] > 0


def test_a_body_that_wants_all_memory_is_refused_it_and_named(worker: Callable[[], Worker]) -> None:
    with pytest.raises(CaseLost) as caught:
        measure(worker(), "eating")
    assert (caught.value.case, caught.value.status) == (case("eating"), "raised")
    assert caught.value.reason == (
        "MemoryError: Unable to allocate 256. MiB for an array with shape (33554432,) and data type float64"
    )
    worker().close()  # its memory is full of what the body keeps


def test_a_limit_that_is_too_low_is_named_as_the_reason() -> None:
    with pytest.raises(WorkerLost) as caught:
        Worker(SECONDS, limit_bytes=64 << 20)
    ended = caught.value.__cause__
    assert isinstance(ended, CaseLost)
    limit = "within the memory limit of 67,108,864 bytes"
    assert caught.value.message == f"the worker process did not start {limit}: {ended.reason}"
