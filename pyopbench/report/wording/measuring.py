"""How the measuring goes on, and what its time went into, in words."""

from __future__ import annotations

from typing import Protocol

from pyopbench.core import formatting

FEWER = {
    "memory": "fewer than three, to fit the memory",
    "budget": "fewer than three, to fit the budget",
}


class Step(Protocol):
    """What is told of a step: `run.budget.Progress`, which a report must not know."""

    @property
    def doing(self) -> str:
        """`preparing` or `sampling`."""

    @property
    def workers(self) -> int:
        """How many are at it."""

    @property
    def limited_by(self) -> str:
        """Why there are no more of them, a key of `FEWER`, or nothing."""

    @property
    def sweep(self) -> int:
        """From 0."""


def stage_text(step: Step) -> str:
    """Return what workers are doing, for a line of progress."""
    workers = formatting.count(step.workers, "worker")
    if step.doing == "preparing":
        return f"{workers} preparing"
    return f"sweep {step.sweep + 1} ({workers})"


def workers_text(step: Step) -> str:
    """Return why there are no more workers; nothing where nothing stands against it."""
    return FEWER.get(step.limited_by, "")


def sampling_text(sampling_seconds: float, seconds: float) -> str:
    """Return what share of the time was sampling, and not preparing, looking or waiting."""
    share = sampling_seconds / seconds if seconds else 0.0
    return f"{formatting.percent(round(share, 2))} of {formatting.duration(seconds)} of measuring was sampling"
