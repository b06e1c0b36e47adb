"""A side of a comparison: samples of one or several runs, each under what it is matched by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd

from pyopbench.judge.comparison.case_key import CaseKey, environment_name
from pyopbench.judge.latencies import checked_frame
from pyopbench.model import formatting
from pyopbench.model.case import Case, Failure
from pyopbench.model.errors import BadInput
from pyopbench.store.run import Run

UNKNOWN = "unknown"
"""Stands for a fact of the environment that is not told."""


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison.

    Attributes:
        label: what it is called.
        runs: where it comes from.
        frame: its samples as `results.run.Run.frame`; in place of the id of a case stands its key, as text.
        failures: what it has no number for, by the text of its key.
        environment: what it ran on, with a set of texts for each name: several runs may differ.
        keys: text of a key -> the key, of every case in `frame` and `failures`.
    """

    label: str
    runs: tuple[Run, ...]
    frame: pd.DataFrame
    failures: Mapping[str, Failure]
    environment: Mapping[str, Any]
    keys: Mapping[str, CaseKey]


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides, and in which way they are paired: by `round` or `block`, or "" if they were not interleaved."""

    axis: str
    first: Side
    second: Side
    paired: Literal["round", "block", ""]

    @property
    def tool(self) -> str:
        """What measured both."""
        return self.first.runs[0].tool


def side_of(label: str, runs: Sequence[Run], match: Callable[[Case], CaseKey], apart: Sequence[str]) -> Side:
    """Return a side of a comparison.

    Args:
        label: what it is called.
        runs: where it comes from.
        match: case -> what it is matched by. A benchmark of another suite is matched by its name.
        apart: parts of the environment that tell several runs from each other; they become part of what a case is
            matched by. None for a single run.

    Raises:
        BadInput: two runs that nothing tells apart.
    """
    frames: list[pd.DataFrame] = []
    failures: dict[str, Failure] = {}
    keys: dict[str, CaseKey] = {}
    for run, environment in zip(runs, _environments(label, runs, apart), strict=True):
        cases = dict.fromkeys([*run.frame["case"].unique(), *(failure.case for failure in run.failures)])
        found = {str(case): match(Case.from_id(str(case))) for case in cases}
        found |= {str(name): CaseKey(str(name)) for name in run.others["case"].unique()}
        found = {case: replace(key, environment=environment) for case, key in found.items()}
        keys |= {str(key): key for key in found.values()}
        # Compared by their names: benchmarks of other suites have nothing else.
        checked = [part for part in (checked_frame(run), run.others) if len(part)]
        frame = pd.concat(checked, ignore_index=True) if checked else run.frame
        frames.append(frame.assign(case=frame["case"].map({case: str(key) for case, key in found.items()})))
        for failure in run.failures:
            failures.setdefault(str(found[failure.case]), failure)
    return Side(label, tuple(runs), pd.concat(frames, ignore_index=True), failures, _environment(runs), keys)


def _environments(label: str, runs: Sequence[Run], apart: Sequence[str]) -> list[tuple[tuple[str, str], ...]]:
    """Return for each run what tells it from the others of its side; nothing for each if `apart` is empty.

    Raises:
        BadInput: two of them have the same.
    """
    found: list[tuple[tuple[str, str], ...]] = []
    for run in runs:
        environment = tuple((name, str(run.environment.get(name))) for name in apart)
        if environment in found and apart:
            raise BadInput(
                "several results on one side that cannot be distinguished",
                received=f"{label}: {environment_name(environment)}",
                legal=f"one for each {formatting.listing(list(apart))}",
                hint="name single files of results",
            )
        found.append(environment)
    return found


def _environment(runs: Sequence[Run]) -> dict[str, Any]:
    names = dict.fromkeys(name for run in runs for name in run.environment)
    return {name: sorted({_told(run.environment.get(name)) for run in runs}) for name in names}


def _told(value: Any) -> str:
    return UNKNOWN if value is None else str(value)
