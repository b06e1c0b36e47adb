"""Every item is asked about in order, whatever becomes of the workers; by workers that are no processes."""

from __future__ import annotations

from types import TracebackType

import pytest

from pyopbench.engine.worker_loop import WorkerLoop
from pyopbench.engine.worker_process import CaseLost
from pyopbench.model.errors import WorkerLost


class Worker:
    """Stands for `worker_process.Worker`, and knows whether it has been closed."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.closed = False

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None):
        self.closed = True


LOST = WorkerLost("the worker process did not start")


class Loop(WorkerLoop[str]):
    """Records `(worker, item)`; an item does to its worker what it is named after."""

    def __init__(self, *items: str, workers: int = 10, refuses: int = 0) -> None:
        super().__init__(items)
        self.records: list[tuple[int, str]] = []
        self.losses: list[tuple[int, str]] = []
        self.started: list[Worker] = []
        self.workers = workers
        self.refuses = refuses

    def start(self):
        assert all(worker.closed for worker in self.started), "one worker at a time"
        if len(self.started) == self.workers:
            raise LOST
        self.started.append(Worker(len(self.started)))
        return self.started[-1]

    def prepare(self, worker) -> bool:
        return worker.number >= self.refuses

    def ask(self, worker, item: str) -> bool:
        if item in ("crashes", "crashes once") and (item, len(self.losses)) != ("crashes once", 1):
            raise CaseLost(item, "crashed", "it ended")
        self.records.append((worker.number, item))
        return item != "spoils"

    def record_loss(self, item: str, lost: CaseLost) -> bool:
        self.losses.append((self.started[-1].number, lost.reason))
        return item != "crashes once"


def test_one_worker_is_asked_about_everything_while_it_lasts() -> None:
    loop = Loop("a", "b", "c")
    loop.run()
    assert loop.records == [(0, "a"), (0, "b"), (0, "c")]
    assert loop.started[0].closed


def test_nothing_to_ask_starts_no_worker() -> None:
    loop = Loop()
    loop.run()
    assert loop.started == []


def test_a_lost_worker_costs_its_item_and_the_next_worker_goes_on_behind_it() -> None:
    loop = Loop("a", "crashes", "b", "crashes")
    loop.run()
    assert loop.records == [(0, "a"), (1, "b")]
    assert loop.losses == [(0, "it ended"), (1, "it ended")]
    assert len(loop.started) == 2, "nothing was left for a third"


def test_an_item_that_is_not_done_with_is_asked_about_again() -> None:
    loop = Loop("crashes once", "b")
    loop.run()
    assert loop.records == [(1, "crashes once"), (1, "b")]


def test_a_worker_that_an_answer_has_spoilt_is_replaced() -> None:
    loop = Loop("spoils", "b")
    loop.run()
    assert loop.records == [(0, "spoils"), (1, "b")]


def test_a_worker_that_cannot_be_prepared_is_asked_about_no_item() -> None:
    loop = Loop("a", refuses=2)
    loop.run()
    assert loop.records == [(2, "a")]
    assert all(worker.closed for worker in loop.started)


def test_a_worker_that_does_not_start_leaves_the_rest() -> None:
    loop = Loop("a", "crashes", "b", "c", workers=1)
    with pytest.raises(WorkerLost) as caught:
        loop.run()
    assert caught.value is LOST
    assert list(loop.left) == ["b", "c"]
    assert loop.done == 2


def test_ended_from_within_it_asks_no_more() -> None:
    class Ending(Loop):
        def prepare(self, worker) -> bool:
            self.end()
            return False

    loop = Ending("a", "b")
    loop.run()
    assert (loop.records, list(loop.left), len(loop.started)) == ([], [], 1)
