"""From an open run to its measurements, as the judging half sees them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyopbench.model.case import PIPELINE, Case
from pyopbench.store.caveats import Caveat, gpu_warnings
from pyopbench.store.measured_run import COLUMNS, NOISE_COLUMNS, WAIT_COLUMNS, Costs, PipelineRows, Run
from pyopbench.store.run import SAMPLES_FILE, OpenSide
from pyopbench.store.types import (
    FAILING,
    AnyLine,
    Catalogue,
    GroupLine,
    Line,
    PipelinePlan,
    PortLine,
    PreparedLine,
    RequirementLine,
    Side,
)

OF_USER = "user_"
"""Before `commit`, `dirty`, `date` and `subject` in an environment: of the user's repository, not of pyopbench."""
NODE = "node"
"""The mode in which copies of an op are timed inside a graph."""
SHARED_COLUMNS = COLUMNS[: COLUMNS.index("round")]
"""Columns that all blocks of a case in a line have in common."""
BODY_ALONE = "body_alone"
"""The role of a body that is called as it is, next to graphs."""
WITH_COPIES = 5
"""Numbers of a sample that says how many copies of the op a call runs; one of a body alone does not, in any mode."""

L = TypeVar("L", bound=Line)


def run_of(side: OpenSide) -> Run:
    """Return the measurements of a side."""
    plan, planned, lines = side.plan, side.side, side.lines
    groups = _of_kind(lines, GroupLine)
    prepared = _of_kind(lines, PreparedLine)
    failures = [failure for line in lines if isinstance(line, FAILING) for failure in line.failures]
    whole = Run(
        name=plan.run,
        command=tuple(plan.command),
        created=plan.created,
        settings=plan.settings,
        environment={**planned.environment, **_commit_of_user(planned)},
        catalogue=planned.catalogue,
        cases=tuple(planned.cases),
        failures=(*planned.skips, *failures),
        frame=_frame(plan.run, planned, groups),
        warnings=(*_torn(side), *gpu_warnings(groups)),
        noise=_noise(plan.run, groups),
        waits=_waits(plan.run, groups),
        checked={key: errors for line in reversed(prepared) for key, errors in (line.checked or {}).items()},
        own={name: tuple(own.words) for name, own in planned.own.items()},
        ports=_once(_of_kind(lines, PortLine)),
        requirements=_of_kind(lines, RequirementLine),
    )
    return _apart(_without_pipeline(whole, plan.pipeline, prepared))


def _torn(side: OpenSide) -> tuple[Caveat, ...]:
    ignored = f"{side.folder / SAMPLES_FILE}: the unfinished last line is ignored"
    return (Caveat("unfinished_line", ignored),) if side.run.torn else ()


def _commit_of_user(planned: Side) -> dict[str, Any]:
    """Return the commit of the user's code, in addition to that of pyopbench; nothing if it is not known.

    It is the revision that the run is of, else that of the first own op that has one.
    """
    own = (one.revision for one in planned.own.values() if one.revision is not None)
    revision = planned.revision or next(own, None)
    if revision is None:
        return {}
    facts = {"commit": revision.commit, "dirty": revision.dirty, "date": revision.date, "subject": revision.subject}
    return {f"{OF_USER}{name}": value for name, value in facts.items()}


def _of_kind(lines: Sequence[AnyLine], kind: type[L]) -> tuple[L, ...]:
    return tuple(line for line in lines if isinstance(line, kind))


def _once(ports: Sequence[PortLine]) -> tuple[PortLine, ...]:
    """Return the first port of each op, variant and dtype: shards write the same ones."""
    return tuple({(one.op, one.variant, one.dtype): one for one in reversed(ports)}.values())[::-1]


def _without_pipeline(run: Run, plan: PipelinePlan | None, prepared: Sequence[PreparedLine]) -> Run:
    """Return the run with its cases in a pipeline put into `pipeline`: what is decided about is arrangements."""
    if plan is None:
        return run
    cases = {key: Case.from_id(key) for key in run.cases}
    inside = run.frame["mode"].str.startswith(f"{PIPELINE}:") if len(run.frame) else run.frame["mode"].astype(bool)
    pool_seconds: dict[str, list[float]] = {}
    for line in prepared:
        for key, seconds in line.pool_seconds.items():
            pool_seconds.setdefault(key, []).append(seconds)
    of_pipeline = [one for one in run.failures if Case.from_id(one.case).arrangement]
    rows = PipelineRows(
        plan,
        tuple(key for key, case in cases.items() if case.arrangement),
        tuple(of_pipeline),
        run.frame[inside].reset_index(drop=True),
        {key: tuple(found) for key, found in pool_seconds.items()},
        run.catalogue.op(next(case.op for case in cases.values() if case.arrangement)).size_unit,
        _launch_seconds(run.frame[inside], prepared),
        tuple(next(iter(run.own.values()), ())),
    )
    return replace(
        run,
        cases=tuple(key for key, case in cases.items() if not case.arrangement),
        failures=tuple(one for one in run.failures if not Case.from_id(one.case).arrangement),
        frame=run.frame[~inside].reset_index(drop=True),
        pipeline=rows,
    )


def _launch_seconds(frame: pd.DataFrame, prepared: Sequence[PreparedLine]) -> float:
    """Return what a launch takes: preparing, the median, and its blocks; 0 where none was prepared."""
    if not prepared:
        return 0.0
    blocks = float(frame["seconds"].sum()) / len(prepared) if len(frame) else 0.0
    return statistics.median(line.seconds for line in prepared) + blocks


def _apart(run: Run) -> Run:
    """Return the run with all that only explains callbacks put into its `costs`, out of the way of what judges."""
    parts = run.catalogue.parts

    def explains(key: str) -> bool:
        return Case.from_id(key).variant in parts

    beside = run.frame["variant"].isin(list(parts))
    costs = Costs(
        tuple(case for case in run.cases if explains(case)),
        run.frame[beside].reset_index(drop=True),
    )
    return replace(
        run,
        cases=tuple(case for case in run.cases if not explains(case)),
        frame=run.frame[~beside].reset_index(drop=True),
        costs=costs,
    )


def _noise(run: str, groups: Sequence[GroupLine]) -> pd.DataFrame:
    rows = [
        (run, line.launch, *(getattr(line.noise, name) for name in NOISE_COLUMNS[2:]))
        for line in groups
        if line.noise is not None
    ]
    # None becomes nan, also where a whole column has nothing else.
    numbers = dict.fromkeys(NOISE_COLUMNS[2:], "float64")
    return pd.DataFrame(rows, columns=list(NOISE_COLUMNS)).astype(numbers)


def _waits(run: str, groups: Sequence[GroupLine]) -> pd.DataFrame:
    """Return the last line's waits of each case in each launch: they are over all sweeps before, too."""
    found = {(line.launch, key): waits for line in groups for key, waits in line.waits.items()}
    rows = [(run, *of, *(getattr(waits, name) for name in WAIT_COLUMNS[3:])) for of, waits in found.items()]
    return pd.DataFrame(rows, columns=list(WAIT_COLUMNS)).astype(dict.fromkeys(WAIT_COLUMNS[3:], "float64"))


def _frame(run: str, side: Side, groups: Sequence[GroupLine]) -> pd.DataFrame:
    """Return one row for each block, with `COLUMNS`; what all blocks of a case in a line share is looked up once.

    A row at a time, of which there may be millions, takes several times as long, and gigabytes.
    """
    parts: dict[str, tuple[str | int, ...]] = {}
    shared: list[tuple[Any, ...]] = []
    blocks: list[Sequence[float]] = []
    counts: list[int] = []
    for line in groups:
        for key, samples in line.samples.items():
            if key not in parts:
                parts[key] = Case.from_id(key).parts
            head = ("pyopbench", run, line.launch, line.group, key, *parts[key])
            shared.append((*head, line.sweep))
            blocks += samples
            counts.append(len(samples))
    if not blocks:
        return pd.DataFrame([], columns=list(COLUMNS))
    rows = pd.DataFrame(shared, columns=list(SHARED_COLUMNS))
    numbers = _numbers(blocks)
    frame = rows.loc[rows.index.repeat(counts)].reset_index(drop=True)
    columns = dict(zip(("round", "order", "calls", "seconds", "copies"), numbers.T, strict=True))
    whole = {name: values.astype(np.int64) for name, values in columns.items() if name != "seconds"}
    frame = frame.assign(**{**columns, **whole}, floor_seconds=math.nan)[list(COLUMNS)]
    return _with_floor(frame, side.catalogue)


def _numbers(blocks: Sequence[Sequence[float]]) -> npt.NDArray[np.float64]:
    """Return `(blocks, WITH_COPIES)`; a block that does not say how many copies it has is one of one copy."""
    if len(set(map(len, blocks))) > 1:
        blocks = [one if len(one) == WITH_COPIES else (*one, 1) for one in blocks]
    found = np.fromiter(chain.from_iterable(blocks), np.float64).reshape(len(blocks), -1)
    return found if found.shape[1] == WITH_COPIES else np.column_stack([found, np.ones(len(found))])


def _with_floor(frame: pd.DataFrame, catalogue: Catalogue) -> pd.DataFrame:
    """Add to each block of a graph of copies the time of the empty function in the same round.

    A body alone is called as it is, so that there is nothing to take off.
    """
    keys = ["run", "launch", "group", "round"]
    empty = frame["copies"] == 0
    if not empty.any():
        return frame
    floors = (frame["seconds"] / frame["calls"])[empty].groupby([frame[key][empty] for key in keys]).median()
    found = pd.Series(floors.reindex(pd.MultiIndex.from_frame(frame[keys])).to_numpy(), index=frame.index)
    alone = frame["variant"].isin(catalogue.parts_of_role(BODY_ALONE))
    return frame.assign(floor_seconds=found.where(frame["mode"] == NODE).mask(alone, 0.0))
