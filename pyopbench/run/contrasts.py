"""How far launches and rounds differ in what is compared: variants within a process, or versions between processes.

What slows a whole process down cancels between its cases, so that a case counts less the others of its round. Between
processes nothing cancels that lasts shorter than a turn or longer than all of them, so that a case of one version
counts less the same of the first version in the same sweep, and a sweep is what a round is elsewhere: its rounds share
the state that the core happened to be in, and hardly tell more than one of them would.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pyopbench.run.remaining_work import RemainingWork
from pyopbench.run.warm_launch import WarmLaunch
from pyopbench.stats import allocation

LEAST_SWEEPS = 4
"""Of a pair of launches that is counted with; what sweeps of few rounds differ by is mostly noise."""

Values: TypeAlias = dict[str, dict[int, dict[int, float]]]
"""Case -> launch -> round or sweep -> log."""


class Contrasts:
    """The contrasts of all launches of a run so far, or of several that are measured together.

    Attributes:
        are_between: are they between processes of several versions, and their unit the sweep, not the round?
    """

    def __init__(self, works: Sequence[RemainingWork]) -> None:
        """Begin without any.

        Args:
            works: of the runs that are measured together; others are compared with the first.
        """
        self.are_between = len(works) > 1
        self._works = works
        self._values: dict[int, Values] = {id(work): {} for work in works}
        self._told: dict[int, dict[str, list[allocation.Told]]] = {id(work): {} for work in works}

    def keep(self, launch: WarmLaunch, sweep: int, content: Mapping[str, Any]) -> None:
        """Keep what a pass of a group has sampled."""
        logs = {key: _logs(found) for key, found in content["samples"].items()}
        if self.are_between:
            kept = {key: {sweep: statistics.median(found.values())} for key, found in logs.items() if found}
        else:
            kept = _less_others(logs)
        for key, found in kept.items():
            self._values[id(launch.work)].setdefault(key, {}).setdefault(launch.launch, {}).update(found)

    def end_batch(self) -> None:
        """Keep of what was sampled so far what it tells, and not every value: a run has millions of them."""
        self._told = {id(work): dict(self._of(work)) for work in self._works}
        self._values = {id(work): {} for work in self._works}

    def variances(self) -> allocation.Variances | None:
        """Return how far launches and rounds (or sweeps) differ, of the cases that are open, in logs."""
        return allocation.variances([told for work in self._works for _, told in self._of(work)])

    def _of(self, work: RemainingWork) -> Iterator[tuple[str, list[allocation.Told]]]:
        """Yield each open case with what its launches tell, those of earlier batches included."""
        for case in (case for group in work.groups for case in work.cases(group)):
            fresh = [allocation.Told.by(values) for values in self._launches(work, case)]
            yield case, self._told[id(work)].get(case, []) + fresh

    def _launches(self, work: RemainingWork, case: str) -> Iterator[Sequence[float]]:
        """Yield the contrasts of a case in each launch of the batch that has enough of them."""
        values, first = self._values[id(work)], self._values[id(self._works[0])]
        if self.are_between:
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


def _logs(rows: Sequence[Sequence[float]]) -> dict[int, float]:
    """Return the log of the seconds of a call in each round, of the graph that `stats.costs` takes the cost from.

    That is the one of one copy where there is one, as of callbacks, and else the one of the most.
    """
    found: dict[int, tuple[float, float]] = {}
    for number, _, calls, seconds, *copies in rows:
        rank = math.inf if not copies or copies[0] == 1 else copies[0]
        if seconds > 0 and rank >= found.get(int(number), (-1.0, 0.0))[0]:
            found[int(number)] = rank, math.log(seconds / calls)
    return {number: value for number, (_, value) in found.items()}
