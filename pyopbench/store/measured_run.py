"""Measurements as the judging half sees them: a run, its bodies alone and controls, and the columns of its frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pandas as pd

from pyopbench.model.arrangement import CURRENT
from pyopbench.model.case import Case, Failure
from pyopbench.store.caveats import Caveat
from pyopbench.store.types import (
    Catalogue,
    PipelinePlan,
    PortLine,
    RequirementLine,
    Settings,
)

CASE_COLUMNS = ("op", "variant", "gradient", "direction", "mode", "dtype", "size", "placement")
COLUMNS = (
    "tool", "run", "launch", "group", "case", *CASE_COLUMNS,
    "sweep", "round", "calls", "seconds", "copies", "floor_seconds",
)  # fmt: skip

NOISE_COLUMNS = ("run", "launch", "wall_seconds", "steal_seconds", "load")

WAIT_COLUMNS = ("run", "launch", "case", "p50", "p95", "p99")


@cache  # a history has thousands of runs
def no_rows(columns: tuple[str, ...]) -> pd.DataFrame:
    """Return a frame of columns without a row, the same each time."""
    return pd.DataFrame([], columns=list(columns))


@dataclass(frozen=True)
class Costs:
    """Cases that explain callbacks: bodies alone and A/A controls; there are no decisions on them.

    Attributes:
        cases: ids of the planned cases.
        frame: one row for each timed block of these cases, as `Run.frame`.
    """

    cases: tuple[str, ...] = ()
    frame: pd.DataFrame = field(default_factory=lambda: no_rows(COLUMNS))


@dataclass(frozen=True)
class PipelineRows:
    """The measurements of an op in an input pipeline, which has a decision of its own."""

    plan: PipelinePlan  # what its cases stand for
    cases: tuple[str, ...]  # ids of the planned cases, at least that of the current callback
    failures: tuple[Failure, ...]  # of these cases, skips of the plan among them
    frame: pd.DataFrame  # as `Run.frame`; calls are elements
    pool_seconds: Mapping[str, tuple[float, ...]]  # id of a case -> starting its processes, in each launch
    size_unit: str  # of an element
    launch_seconds: float = 0.0  # preparing its pipelines, and its blocks; 0 where that is not known
    words: tuple[str, ...] = ()  # what names the op on a command line; none for a built-in one

    @property
    def current(self) -> Case:
        """The case of the current callback in a plain `map`."""
        return next(case for case in map(Case.from_id, self.cases) if case.arrangement == CURRENT)


@dataclass(frozen=True)
class Run:
    """What was measured, as the judging half sees it.

    Attributes:
        name: of the run; names joined by " + " where several are pooled.
        command: the command line that made it.
        created: date and time, ISO 8601.
        settings, environment, catalogue: as in `run.json`.
        cases: ids of the planned cases.
        failures: skips of the plan and failures of launches, in the order of the files.
        frame: one row for each timed block, with `COLUMNS`; sweep is how often the launch had sampled the group before
            (0 for other tools), seconds are of the whole block, copies is how many of the op a call runs (1 in every
            mode but `node`), floor_seconds what a call of the empty function took in the same round (0 for a body
            alone; nan in every mode but `node`, and where it was not timed).
        warnings: what a reader should know about the files, each with its sentence.
        costs: what explains the callbacks; it is in neither `cases` nor `frame`.
        noise: one row for each pass of a group of a launch for which it was recorded, with `NOISE_COLUMNS`; nan if
            unknown.
        tool: what measured it: `pyopbench`, `asv` or `pytest-benchmark`; ratios are never formed across tools.
        others: benchmarks of another tool that are no cases, as `frame`, with their name for the case and no parts.
        other_failures: the benchmarks that are no cases, and failed or were skipped.
        cannot: what results of this tool cannot support; nothing for runs of pyopbench.
        checked: id of a case -> by how much it was off its reference in the first launch, by `values`, `gradient` and
            `finite_difference`, as `checks.Checked`.
        waits: one row for each launch of a case that several threads call, with `WAIT_COLUMNS`: quantiles of the
            seconds that a call took; nan is not known.
        pipeline: cases of an op in an input pipeline; they are in none of `cases`, `failures` and `frame`. None in a
            run without.
        requirements: what was tried for `--require`.
        own: name of an op of the user's own -> the words that name it on a command line, with its inputs.
        ports: what was written of own ops and measured, each once.
    """

    name: str
    command: tuple[str, ...]
    created: str
    settings: Settings
    environment: Mapping[str, Any]
    catalogue: Catalogue
    cases: tuple[str, ...]
    failures: tuple[Failure, ...]
    frame: pd.DataFrame
    warnings: tuple[Caveat, ...] = ()
    costs: Costs = Costs()
    noise: pd.DataFrame = field(default_factory=lambda: no_rows(NOISE_COLUMNS))
    tool: str = "pyopbench"
    others: pd.DataFrame = field(default_factory=lambda: no_rows(COLUMNS))
    other_failures: tuple[Failure, ...] = ()
    cannot: tuple[Caveat, ...] = ()
    checked: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    waits: pd.DataFrame = field(default_factory=lambda: no_rows(WAIT_COLUMNS))
    requirements: tuple[RequirementLine, ...] = ()
    pipeline: PipelineRows | None = None
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ports: tuple[PortLine, ...] = ()
