"""What to do, and what to do on each kind of machine where they have other answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Action: TypeAlias = Literal["keep", "switch", "port", "undecided"]


@dataclass(frozen=True)
class Answer:
    """What to do, and the label to go to; None for keep and undecided."""

    action: Action
    choice: str | None


@dataclass(frozen=True)
class KindAnswer:
    """The answer on the machines of one kind alone.

    Attributes:
        machine: the kind: processor, cores, and GPUs where anything ran on one.
        machines: how many of them have measured it.
        action, choice, saved, saved_low, saved_high, launches: as in `Decision`.
    """

    machine: str
    machines: int
    action: Action
    choice: str | None
    saved: float | None
    saved_low: float | None
    saved_high: float | None
    launches: int | None

    @property
    def answer(self) -> Answer:
        """What to do there."""
        return Answer(self.action, self.choice)


@dataclass(frozen=True)
class DiffersByMachine:
    """Kinds of machine have different answers, each of them clear; `answers` has all kinds."""

    answers: tuple[KindAnswer, ...]
    kind: Literal["differs_by_machine"] = "differs_by_machine"


def finite(value: float | None) -> float | None:
    """Return a number; None for what is infinite, no number, or not there."""
    return value if value is not None and math.isfinite(value) else None
