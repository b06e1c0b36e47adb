"""How far launches and rounds differ in what is compared: variants within a process, or versions between processes.

Within a process, what slows everything down cancels. So a contrast is the log of a case's time minus the median log of
all cases in that round. Between processes it does not cancel. So a contrast is the log of a case's time in one version
minus that in the first version, in the same sweep. A sweep is then what a round is elsewhere: its rounds share the
state that the core happens to be in, and tell hardly more than one of them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pyopbench.engine.remaining_work import RemainingWork
from pyopbench.engine.warm_launch import WarmLaunch
from pyopbench.stats import allocation

LEAST_SWEEPS = 4
"""Of a pair of launches that is counted with; what sweeps of few rounds differ by is mostly noise."""

ROW_WITH_COPIES = 5
"""Numbers of a sample in mode node: round, order, calls, seconds, copies."""

Values: TypeAlias = dict[str, dict[int, dict[int, float]]]
"""Case -> launch -> round or sweep -> log."""


class Contrasts:
    """The contrasts of all launches of a run so far, or of several that are measured together.

    Attributes:
        are_by_sweep: are versions compared? Contrasts are then of sweeps, and otherwise of rounds.
    """

    def __init__(self, works: Sequence[RemainingWork]) -> None:
        """Begin without any.

        Args:
            works: of the runs that are measured together; others are compared with the first.
        """
        self.are_by_sweep = len(works) > 1
        self._works = works
        self._values: dict[int, Values] = {id(work): {} for work in works}
        self._earlier: dict[int, dict[str, list[allocation.LaunchSummary]]] = {id(work): {} for work in works}

    def keep(self, launch: WarmLaunch, sweep: int, content: Mapping[str, Any]) -> None:
        """Keep what a sweep has sampled of a group."""
        samples = content["samples"]
        floors = _floors(row for rows in samples.values() for row in rows)
        logs = {key: _logs(rows, floors) for key, rows in samples.items()}
        if self.are_by_sweep:
            kept = {key: {sweep: statistics.median(found.values())} for key, found in logs.items() if found}
        else:
            kept = _less_others(logs)
        for key, found in kept.items():
            self._values[id(launch.work)].setdefault(key, {}).setdefault(launch.launch, {}).update(found)

    def end_batch(self) -> None:
        """Replace the values of the batch by a summary of each launch: a run has millions of values."""
        self._earlier = {id(work): dict(self._summaries(work)) for work in self._works}
        self._values = {id(work): {} for work in self._works}

    def variances(self) -> allocation.Variances | None:
        """Return how far launches and rounds (or sweeps) differ, of the cases that are open, in logs."""
        return allocation.variances([launches for work in self._works for _, launches in self._summaries(work)])

    def _summaries(self, work: RemainingWork) -> Iterator[tuple[str, list[allocation.LaunchSummary]]]:
        """Yield each open case with the summaries of its launches, those of earlier batches included."""
        for case in (case for group in work.groups for case in work.cases(group)):
            of_batch = [allocation.LaunchSummary.of(values) for values in self._launches(work, case)]
            yield case, self._earlier[id(work)].get(case, []) + of_batch

    def _launches(self, work: RemainingWork, case: str) -> Iterator[Sequence[float]]:
        """Yield the contrasts of a case in each launch of the batch that has enough of them."""
        values, first = self._values[id(work)], self._values[id(self._works[0])]
        if self.are_by_sweep:
            found = values.get(case, {}).items() if work is not self._works[0] else ()
            pairs = (_difference(logs, first.get(case, {}).get(launch, {})) for launch, logs in found)
            yield from (pair for pair in pairs if len(pair) >= LEAST_SWEEPS)
        else:
            yield from (list(logs.values()) for logs in values.get(case, {}).values() if len(logs) > 1)


def _difference(values: Mapping[int, float], first: Mapping[int, float]) -> list[float]:
    return [value - first[number] for number, value in values.items() if number in first]


def _less_others(logs: Mapping[str, Mapping[int, float]]) -> dict[str, dict[int, float]]:
    """Return the logs less those of all cases of the group in the round: as verdicts, paired."""
    rounds = {number for found in logs.values() for number in found}
    middle = {
        number: statistics.median(found[number] for found in logs.values() if number in found) for number in rounds
    }
    return {key: {number: value - middle[number] for number, value in found.items()} for key, found in logs.items()}


def _floors(rows: Iterable[Sequence[float]]) -> dict[int, float]:
    """Return the seconds of a call of the empty function, the graph of no copies, in each round that has one."""
    empty = [row for row in rows if len(row) == ROW_WITH_COPIES and row[-1] == 0]
    return {int(number): seconds / calls for number, _, calls, seconds, _ in empty}


def _logs(rows: Sequence[Sequence[float]], floors: Mapping[int, float]) -> dict[int, float]:
    """Return the log of what an op costs in each round, as `stats.costs`; without rounds in which it costs nothing.

    In mode node that is of the graph of one copy where there is one, as of callbacks, and else of the one of the most,
    less the empty function and over its copies: each process finds out for itself how many copies are enough.
    """
    costs: dict[int, tuple[float, float]] = {}
    for number, _, calls, seconds, *copies in rows:
        many = copies[0] if copies else 1
        rank = math.inf if many == 1 else many
        if seconds > 0 and many and rank >= costs.get(int(number), (-1.0, 0.0))[0]:
            costs[int(number)] = rank, (seconds / calls - floors.get(int(number), 0.0)) / many
    return {number: math.log(cost) for number, (_, cost) in costs.items() if cost > 0}
