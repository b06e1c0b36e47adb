"""Workers prepare at the same time, as many as there are cores for and memory, until enough of them are warm.

A launch has a worker for each placement: a worker that sees a GPU measures the CPU differently, and a worker for the
CPU has hidden the GPU, which TensorFlow cannot undo.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from contextlib import ExitStack

from pyopbench.engine import memory
from pyopbench.engine.budget import LEAST_LAUNCHES, Budget, LimitedBy, Progress, Tell
from pyopbench.engine.launch import WarmLaunch
from pyopbench.engine.remaining_work import RemainingWork
from pyopbench.model.case import GPU, by_placement
from pyopbench.model.cores import usable_cores
from pyopbench.store.line_types import WorkersLine

MOST_WORKERS = 3
"""Workers of a run that take turns: three have nearly the error of two in the same time, and tell twice as much about
how far launches differ (two and one degrees of freedom)."""
LEAST_SAMPLING = 0.6
"""Share of the time that is left before preparing, which a third worker has to leave for sampling. With less it costs
more rounds than it is worth: docs/decisions/0011-warm-workers.md."""
SILENT_SECONDS = 1.0
"""How often it is looked whether a worker has been silent for too long."""


class Warming:
    """Has the workers of one launch number after another prepare, for all runs that take turns.

    Attributes:
        launches: all that were begun, in order.
        limited_by: why there are no more.
    """

    def __init__(self, works: Sequence[RemainingWork], budget: Budget, tell: Tell, stack: ExitStack) -> None:
        """Plan the launches: as many for each run as it needs, `MOST_WORKERS` at the most.

        Args:
            works: of the runs that have something open.
            budget: of all of them.
            tell: is told of every group that a worker has prepared.
            stack: ends the workers.
        """
        self.launches: list[WarmLaunch] = []
        self.limited_by: LimitedBy = ""
        self._budget, self._tell, self._stack = budget, tell, stack
        self._works = works
        self._active: list[WarmLaunch] = []
        self._began, self._left = budget.spent, budget.left
        first = max(work.next_launch for work in works)
        self._heard = threading.Event()
        # The first worker of a pipeline runs alone, to find out when the pipeline becomes steady. Later ones start,
        # check and warm up at the same time; they sample in turns, each while the others are idle.
        # While a training step on a GPU is calibrated, nothing else may use that GPU.
        is_on_gpu = any(work.is_in_pipeline and work.side.content.current.placement == GPU for work in works)
        self._most_at_once = 1 if is_on_gpu else len(usable_cores())
        most = 1 if any(work.is_in_pipeline and not work.launches for work in works) else MOST_WORKERS
        rows = min(most, max(work.most_needed for work in works))
        self._rows = [[one for work in works for one in self._planned(work, first, row)] for row in range(rows)]

    def run(self) -> list[WarmLaunch]:
        """Prepare, store which workers there are, and return those that are warm.

        Raises:
            BadInput, WorkerLost: as `WarmLaunch.go_on`.
        """
        at_once = 0
        while self._active or self._rows:
            while self._rows and self._may_begin():
                self._begin(self._rows[0].pop(0))
                if not self._rows[0]:
                    self._rows.pop(0)
            at_once = max(at_once, len(self._active))
            self._heard.wait(SILENT_SECONDS)
            self._heard.clear()
            self._active = [launch for launch in self._active if not self._go_on(launch)]
        for work in self._works:
            self._store(work, self._budget.spent - self._began, at_once)
        return [launch for launch in self.launches if not launch.is_lost]

    def _planned(self, work: RemainingWork, first: int, row: int) -> list[WarmLaunch]:
        """Return the workers of a launch, one for each placement that still needs it."""
        needed = by_placement(group for group in work.groups if work.needs(group) > row)
        launches = [WarmLaunch(work, first + row, groups) for groups in needed.values()]
        for launch in launches:
            launch.heard = self._heard
        return launches

    def _begin(self, launch: WarmLaunch) -> None:
        self._stack.callback(launch.close)
        self._active.append(launch)
        self.launches.append(launch)
        launch.begin()

    def _go_on(self, launch: WarmLaunch) -> bool:
        left = len(launch.todo)
        is_done = launch.go_on(0.0)
        if launch.todo and (len(launch.todo) != left):
            self._show(launch)
        return is_done

    def _may_begin(self) -> bool:
        """Whether the next launch may begin now; those that may never are taken out of the plan."""
        if not self.launches:
            return True
        if len(self._active) >= self._most_at_once:
            return False
        if self._rows[0][0].launch == self.launches[-1].launch:
            return True  # the same launch has begun in another run or on another device, and is to have its partner
        stands_against = self._stands_against()
        if stands_against and not self._active:
            self._rows, self.limited_by = [], stands_against
        return not stands_against

    def _stands_against(self) -> LimitedBy:
        """Return what another launch of each run lacks by now: memory, time, or nothing."""
        begun = len({launch.launch for launch in self.launches})
        known = [launch.worker_bytes for launch in self.launches if launch.worker_bytes is not None]
        growing = [memory.resident_bytes(one.worker.process) if one.worker else None for one in self._active]
        expected = max([*known, *((one or 0) for one in growing)]) if known else memory.ASSUMED_BYTES
        if not memory.has_room(len(self._rows[0]), expected, growing):
            return "memory"
        # The time of earlier ones, if none of these is warm yet.
        taken = [launch.seconds for launch in self.launches if launch.seconds]
        taken = taken or [seconds for work in self._works if (seconds := work.preparing_seconds())]
        earlier = min(work.launches for work in self._works)
        if begun + earlier >= LEAST_LAUNCHES and taken:
            needed = math.ceil(len(self._rows[0]) / len(usable_cores())) * max(taken)
            if self._budget.spent - self._began + needed > (1 - LEAST_SAMPLING) * self._left:
                return "budget"
        return ""

    def _store(self, work: RemainingWork, seconds: float, at_once: int) -> None:
        own = [launch for launch in self.launches if launch.work is work]
        if own:
            work.append(
                WorkersLine(
                    launch=own[0].launch,
                    launches=list(dict.fromkeys(launch.launch for launch in own)),
                    at_once=at_once,
                    limited_by=self.limited_by,
                    worker_bytes=max((one.worker_bytes for one in own if one.worker_bytes is not None), default=None),
                    available_bytes=memory.available_bytes(),
                    seconds=seconds,
                )
            )

    def _show(self, launch: WarmLaunch) -> None:
        work = launch.work
        total = len(launch.todo) + len(launch.prepared)
        self._tell(
            Progress(
                doing="preparing",
                workers=len(self._active),
                limited_by=self.limited_by,
                launches=work.launches,
                sweep=0,
                group=launch.todo[0],
                done=len(launch.prepared),
                total=total,
                planned=len(work.planned),
                seconds_left=None if self._budget.seconds is None else max(self._budget.left, 0.0),
            )
        )
