"""Asks workers about one item after another and survives their loss: a lost worker costs the item that it was at."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from pyopbench.engine.worker_process import CaseLost, Worker

Item = TypeVar("Item")


class WorkerLoop(ABC, Generic[Item]):
    """Asks about items in order, by one worker for as long as that lasts, and by the next one from there on.

    A subclass says how workers are started and asked, and records what came of each item.

    Attributes:
        items: what is asked about.
        done: how many of them, from the first, are done with.
    """

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.done = 0

    @property
    def left(self) -> Sequence[Item]:
        """What is still to be asked about, the current item first."""
        return self.items[self.done :]

    def run(self, first: Worker | None = None) -> None:
        """Ask about every item.

        Args:
            first: a worker that is up already, to be asked before any is started; it is ended as all are.

        Raises:
            WorkerLost: a worker did not start; what is left was not asked about.
        """
        while self.left:
            with first or self.start() as worker:
                first = None
                is_usable = self.prepare(worker)
                while is_usable and self.left:
                    is_usable = self._ask_next(worker)

    def _ask_next(self, worker: Worker) -> bool:
        item = self.items[self.done]
        try:
            is_usable, is_done = self.ask(worker, item), True
        except CaseLost as lost:
            is_usable, is_done = False, self.record_loss(item, lost)
        self.done += is_done
        return is_usable

    def end(self) -> None:
        """Count all that is left as done with, and ask no more."""
        self.done = len(self.items)

    @abstractmethod
    def start(self) -> Worker:
        """Start a worker.

        Raises:
            WorkerLost: it does not start.
        """

    def prepare(self, worker: Worker) -> bool:
        """Do what comes before the first item of each worker; can it be asked about items?

        What it asks the worker it has to survive itself. If it returns False, it has to have changed something, or the
        next worker ends in the same way.
        """
        return True

    @abstractmethod
    def ask(self, worker: Worker, item: Item) -> bool:
        """Ask about an item and record the answer; can the same worker be asked about the next one?

        Raises:
            CaseLost: the worker was lost.
        """

    @abstractmethod
    def record_loss(self, item: Item, lost: CaseLost) -> bool:
        """Record that a worker was lost at an item, and why; is that all there is to the item?

        If not, the next worker is asked about it again, so that each loss has to leave less to ask.
        """
