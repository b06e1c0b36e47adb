"""What is still to be measured of a run: read from what is stored, and smaller with each group, failure and look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyopbench.core.model import Case
from pyopbench.results import store
from pyopbench.run.budget import Position
from pyopbench.run.settings import Settings

Look = Callable[[int], frozenset[str]]
"""Is given how many launches are made and returns the ids of the cases to measure on."""


@dataclass
class RemainingWork:
    """What is still to be done; shrinks as groups are finished, cases fail and looks are taken.

    `losses` counts the workers that variants of ops have cost since the run was begun or resumed.
    `limits` has the launches that asked what the machine can do at most, each with the reason why that is not known.
    """

    folder: Path
    settings: Settings
    planned: Mapping[str, Sequence[str]]
    groups: dict[str, list[str]]
    finished: set[tuple[int, str]]
    failed: set[str]
    looks: dict[int, frozenset[str]]
    environment: Mapping[str, Any]
    limits: dict[int, str]
    python: Path | None
    retried: set[str] = field(default_factory=set)
    losses: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, groups: Iterable[str]) -> int:
        """Return how many cases of some groups there are to measure."""
        return sum(case not in self.failed for group in groups for case in self.groups[group])

    def position(self, launch: int, todo: Sequence[str]) -> Position:
        """Return where the run stands before the first group of `todo`, which is what is left of a launch."""
        done = len(self.groups) - len(todo)
        return Position(launch, todo[0], done, len(self.groups), self.count(todo), self.count(self.groups))

    def unfailed(self) -> list[str]:
        """Return every planned case that has not failed."""
        return [case for cases in self.planned.values() for case in cases if case not in self.failed]

    def narrow(self, launches: int, look: Look) -> None:
        """Keep only what a look after so many launches leaves open; a look that was taken before is not taken again."""
        if launches not in self.looks:
            self.looks[launches] = look(launches)
            line = {"kind": "look", "launch": launches, "open": sorted(self.looks[launches])}
            store.append(self.folder, line)
        runners = {_runner_of(case) for case in self.looks[launches]}
        kept = {group: [case for case in cases if _runner_of(case) in runners] for group, cases in self.planned.items()}
        self.groups = {group: cases for group, cases in kept.items() if cases}


def _runner_of(key: str) -> tuple[str, str, str]:
    """Return what cases of one and the same timed pass have in common: backward comes with forward+backward."""
    case = Case.from_id(key)
    return case.group, case.variant, case.gradient


def remaining_work(folder: Path, settings: Settings, python: Path | None) -> RemainingWork:
    """Return what `run.json` in a folder plans and is not yet in its samples; an unfinished last line is dropped.

    Args:
        folder: of the run.
        settings: how to measure.
        python: the interpreter of its workers; this one if None.
    """
    run = store.read_run(folder)
    store.drop_torn_line(folder)
    lines, _ = store.read_lines(folder)
    groups: dict[str, list[str]] = {}
    for case in run["cases"]:
        groups.setdefault(Case.from_id(case).group, []).append(case)
    return RemainingWork(
        folder=folder,
        settings=settings,
        planned=groups,
        groups=groups,
        finished={(line["launch"], line["group"]) for line in lines if line["kind"] == "group"},
        failed={failure["case"] for line in lines for failure in line.get("failures", ())},
        looks={line["launch"]: frozenset(line["open"]) for line in lines if line["kind"] == "look"},
        environment=run["environment"],
        limits={line["launch"]: line["reason"] for line in lines if line["kind"] == "limits"},
        python=python,
    )
