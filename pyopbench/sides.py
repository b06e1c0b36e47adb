"""A side of a comparison: samples of one or several runs, each under what it is matched by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pyopbench import text
from pyopbench.errors import BadInput
from pyopbench.latencies import checked_frame
from pyopbench.model import Failure
from pyopbench.results import Run

UNKNOWN = "unknown"
"""Stands for a fact of the environment that is not told."""


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison.

    Attributes:
        label: what it is called.
        runs: where it comes from.
        frame: its samples as `results.Run.frame`; in place of the id of a case stands what it is matched by.
        failures: what it has no number for, by what it is matched by.
        environment: what it ran on, with a set of texts for each name: several runs may differ.
    """

    label: str
    runs: tuple[Run, ...]
    frame: pd.DataFrame
    failures: Mapping[str, Failure]
    environment: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides, and in which way they are paired: by `round` or `block`, or "" if they were not interleaved."""

    axis: str
    first: Side
    second: Side
    paired: str

    @property
    def tool(self) -> str:
        """What measured both."""
        return self.first.runs[0].tool


def side_of(label: str, runs: Sequence[Run], name: Callable[[str], str], apart: Sequence[str]) -> Side:
    """Return a side of a comparison.

    Args:
        label: what it is called.
        runs: where it comes from.
        name: id of a case -> what it is matched by.
        apart: parts of the environment that tell several runs from each other; they become part of what a case is
            matched by. None for a single run.

    Raises:
        BadInput: two runs that nothing tells apart.
    """
    frames: list[pd.DataFrame] = []
    failures: dict[str, Failure] = {}
    seen: set[str] = set()
    for run in runs:
        suffix = " ".join(_apart_by(key, run.environment.get(key)) for key in apart)
        if suffix in seen and apart:
            raise BadInput(
                "several results on one side that nothing tells apart",
                received=f"{label}: {suffix}",
                legal=f"one for each {text.listing(list(apart))}",
                next_step="name single files of results",
            )
        seen.add(suffix)
        # Compared by their names: benchmarks of other suites have nothing else.
        checked = [part for part in (checked_frame(run), run.others) if len(part)]
        frame = pd.concat(checked, ignore_index=True) if checked else run.frame
        names = {key: name(str(key)) + (f" in {suffix}" if apart else "") for key in frame["case"].unique()}
        frames.append(frame.assign(case=frame["case"].map(names)))
        for failure in run.failures:
            failures.setdefault(name(failure.case) + (f" in {suffix}" if apart else ""), failure)
    return Side(label, tuple(runs), pd.concat(frames, ignore_index=True), failures, _environment(runs))


def _apart_by(name: str, value: Any) -> str:
    """Return what tells a run from others: names of asv's environments say what they are, a bare version does not."""
    return f"TensorFlow {value}" if name == "tensorflow" else str(value)


def _environment(runs: Sequence[Run]) -> dict[str, Any]:
    names = dict.fromkeys(name for run in runs for name in run.environment)
    return {name: sorted({_told(run.environment.get(name)) for run in runs}) for name in names}


def _told(value: Any) -> str:
    return UNKNOWN if value is None else str(value)
