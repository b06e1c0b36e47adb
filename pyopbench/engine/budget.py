"""The time of a run: what is left of its budget, what of it was sampling, and what the next request will take."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

LEAST_LAUNCHES = 2
"""With fewer there is no interval, so that many are sampled once whatever the budget."""

LimitedBy = Literal["", "memory", "budget"]
"""Why no more workers take turns: nothing stands against it, the memory, or what preparing another one would take."""


@dataclass(frozen=True)
class Progress:
    """Where a run stands, for people.

    Attributes:
        doing: what the workers are doing.
        workers: how many are preparing, or take turns.
        limited_by: why there are no more of them.
        launches: launches that have samples.
        sweep: over all that is open, from 0, since the workers were prepared.
        group: that is about to be prepared or sampled.
        done, total: groups of the sweep that are done with, or prepared by all workers, and all of them.
        planned: groups of the plans of all runs; later sweeps may have fewer.
        seconds_left: how long the run may still last; None where nothing limits it.
    """

    doing: Literal["preparing", "sampling"]
    workers: int
    limited_by: LimitedBy
    launches: int
    sweep: int
    group: str
    done: int
    total: int
    planned: int
    seconds_left: float | None


Tell = Callable[[Progress], None]


@dataclass
class Budget:
    """The time of a run, or of several that take turns.

    Attributes:
        seconds: that it may take; None where nothing limits it.
        began: when, on the monotonic clock.
        reserve: seconds of it that are kept for what comes after the workers that are warm.
        sampling_seconds: that workers have sampled for.
        look_seconds: that the last look took; before there was one about what one takes.
        round_seconds: what a round of a runner took the last time, by its key.
        request_seconds: what a request for samples took beside its blocks, on average.
    """

    seconds: float | None
    began: float
    reserve: float = 0.0
    sampling_seconds: float = 0.0
    look_seconds: float = 4.0
    round_seconds: dict[str, float] = field(default_factory=dict)
    request_seconds: float = 0.0
    _requests: int = 0

    @property
    def spent(self) -> float:
        """How many seconds it has taken by now."""
        return time.monotonic() - self.began

    @property
    def left(self) -> float:
        """How many seconds are left, less what is reserved; infinite where nothing limits it."""
        return math.inf if self.seconds is None else self.seconds - self.spent - self.reserve

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Count the time within as sampling."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.sampling_seconds += time.monotonic() - began

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Note what a look takes."""
        began = time.monotonic()
        yield
        self.look_seconds = time.monotonic() - began

    def affordable(self, made: float) -> float:
        """Return how many more rounds there is time for, if they take as long as those that were made."""
        return max(self.left, 0.0) * made / self.sampling_seconds if self.sampling_seconds else math.inf

    def note_request(self, seconds: float, blocks: float) -> None:
        """Note what a request for samples took in all, and its blocks."""
        self._requests += 1
        self.request_seconds += (max(seconds - blocks, 0.0) - self.request_seconds) / self._requests
