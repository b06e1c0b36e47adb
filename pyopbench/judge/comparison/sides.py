"""The two sides of a comparison, and what is paired of them where they were interleaved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from pyopbench.judge.latencies import checked_frame, with_pipeline
from pyopbench.model.case import Failure
from pyopbench.model.errors import BadInput
from pyopbench.model.files import real_path
from pyopbench.stats import costs, estimate
from pyopbench.store.measured_run import Run
from pyopbench.store.read import read_source

BLOCK = "block"
"""The column of frames whose launches of one number were made in turns, one of each side."""
BLOCK_COLUMNS = ["run", BLOCK]
"""What makes a block: launches of one number, one of each version or revision, which sample in turns."""


@dataclass(frozen=True, eq=False)
class ComparedSide:
    """One side of a comparison."""

    label: str
    run: Run
    frame: pd.DataFrame  # its samples as `measured_run.Run.frame`; a benchmark of another suite has its name for a case
    failures: Mapping[str, Failure]  # what it has no number for, by case


@dataclass(frozen=True, eq=False)
class Sides:
    """Both sides of a comparison; `interleaved` where their launches took turns, so that they are paired by block."""

    first: ComparedSide
    second: ComparedSide
    interleaved: bool

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The log ratios of interleaved sides, by `sweep_logs`."""
        return sweep_logs(self.first.frame, self.second.frame)


def side_of(label: str, run: Run) -> ComparedSide:
    """Return a run as a side of a comparison, with its cases in an input pipeline among all others."""
    run = with_pipeline(run)
    frames = [part for part in (checked_frame(run), run.others) if len(part)]
    frame = pd.concat(frames, ignore_index=True) if frames else run.frame
    failures: dict[str, Failure] = {}
    for failure in (*run.failures, *run.other_failures):
        failures.setdefault(failure.case, failure)
    return ComparedSide(label, run, frame, failures)


def read_sides(first: Path | str, second: Path | str) -> Sides:
    """Return two stored results as the sides of a comparison; they were not interleaved.

    Raises:
        BadInput: a path is not of the results of one run, both are the same, or they are of different tools.
    """
    if real_path(Path(first)) == real_path(Path(second)):
        raise BadInput("both sides are the same results", received=first, hint="name the folder of the other run")
    sides: list[ComparedSide] = []
    for path in (first, second):
        runs = read_source(Path(path))
        if len(runs) > 1:
            raise BadInput(
                "a side of a comparison is one result, and here are several",
                received=path,
                hint="name single files of results; `pyopbench report` compares the sides of one run",
            )
        sides.append(side_of(str(path), runs[0]))
    tools = [side.run.tool for side in sides]
    if tools[0] != tools[1]:
        raise BadInput(
            "results of different tools cannot be compared, because each has its own clock",
            received=f"{tools[0]} and {tools[1]}",
            hint="compare results of the same tool",
        )
    return Sides(sides[0], sides[1], interleaved=False)


def sweep_logs(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Return one log ratio for each case and block of launches, paired by sweep.

    A block holds a launch of each side. In each sweep both sample a group right after one another, so that what the
    machine did meanwhile is common to both; a round of the one has no partner in the other. So the medians of the
    rounds of a sweep are paired, and several launches of one side in a block are pooled. A block in which either side
    has no number is left out.

    Args:
        first: samples of a side, as `Run.frame`, with a column `block`.
        second: of the other, as the first.

    Returns:
        Columns case, run, block, value (the natural log of second over first) and error; sorted by case, run and block.
    """
    before, after = (_sweep_costs(frame) for frame in (first, second))
    cases = {f"second {case}": str(case) for case in after["case"].unique()}
    both = pd.concat(
        [
            before.assign(case="first " + before["case"].astype("str")),
            after.assign(case="second " + after["case"].astype("str")),
        ],
        ignore_index=True,
    )
    partners = {name: f"first {case}" for name, case in cases.items()}
    pairs = estimate.ratio_logs(both, partners, BLOCK_COLUMNS)
    return pairs.assign(case=pairs["case"].map(cases))


def _sweep_costs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what each case costs in each sweep of a block, with the sweep in place of the round."""
    rounds = costs.round_costs(frame, [*BLOCK_COLUMNS, "launch", "sweep"])
    medians = rounds.groupby(["case", *BLOCK_COLUMNS, "sweep"], observed=True)["seconds"].median()
    return medians.reset_index().rename(columns={"sweep": "round"})
