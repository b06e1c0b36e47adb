"""From an open run to what was measured in it, as the judging half sees it; several of one environment are pooled."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pandas as pd
from msgspec import structs

from pyopbench.model.case import PIPELINE, Case, Failure
from pyopbench.model.errors import BadInput
from pyopbench.store.caveats import Caveat, gpu_warnings
from pyopbench.store.measured_run import NOISE_COLUMNS, WAIT_COLUMNS, Costs, PipelineRows, Run
from pyopbench.store.run import SAMPLES_FILE, OpenSide
from pyopbench.store.sample_frame import frame_of
from pyopbench.store.types import (
    FAILING,
    AnyLine,
    GroupLine,
    LaunchLine,
    Line,
    LookLine,
    PipelinePlan,
    PortLine,
    PreparedLine,
    RequirementLine,
    Side,
    join_catalogues,
)

POOLED_ENVIRONMENT = (
    *("cpu", "cores", "tensorflow", "numpy", "python", "commit", "dirty"),
    *("variables", "intra_op_threads", "inter_op_threads"),
)
"""What has to be equal for launches of several runs to count as launches of one."""
OF_USER = "user_"
"""Before `commit`, `dirty`, `date` and `subject` in an environment: of the user's repository, not of pyopbench."""


L = TypeVar("L", bound=Line)
OfCase = TypeVar("OfCase")


def pool(runs: Sequence[Run]) -> Run:
    """Return several runs of one environment as one with more launches, and one as it is.

    Raises:
        BadInput: the environments differ.
    """
    first, *others = runs
    for other in others:
        _require_same_environment(first, other)
    return _pool(runs) if others else first


def run_of(side: OpenSide) -> Run:
    """Return what was measured on a side."""
    plan, planned, lines = side.plan, side.side, side.lines
    groups = _of_kind(lines, GroupLine)
    prepared = _of_kind(lines, PreparedLine)
    launches = _of_kind(lines, LaunchLine)
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
        launches=launches,
        frame=frame_of(plan.run, planned, groups),
        warnings=(*_torn(side), *gpu_warnings(groups)),
        looks=_of_kind(lines, LookLine),
        noise=_noise(plan.run, groups),
        waits=_waits(plan.run, groups),
        checked={key: errors for line in prepared for key, errors in (line.checked or {}).items()},
        own={name: tuple(own.words) for name, own in planned.own.items()},
        ports=_once(_of_kind(lines, PortLine)),
        requirements=_of_kind(lines, RequirementLine),
        asked=planned.asked,
    )
    return _apart(_without_pipeline(whole, plan.pipeline, prepared))


def _torn(side: OpenSide) -> tuple[Caveat, ...]:
    ignored = f"{side.folder / SAMPLES_FILE}: the unfinished last line is ignored"
    return (Caveat("unfinished_line", ignored),) if side.run.torn else ()


def _commit_of_user(planned: Side) -> dict[str, Any]:
    """Return the commit of the user's code, beside that of pyopbench; nothing if it is not known.

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
        tuple(failure for failure in run.failures if explains(failure.case)),
        run.frame[beside].reset_index(drop=True),
    )
    return replace(
        run,
        cases=tuple(case for case in run.cases if not explains(case)),
        failures=tuple(failure for failure in run.failures if not explains(failure.case)),
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


def _require_same_environment(first: Run, other: Run) -> None:
    for key in POOLED_ENVIRONMENT:
        ours, theirs = first.environment.get(key), other.environment.get(key)
        if ours != theirs:
            raise BadInput(
                f"runs of different environments cannot be pooled: {key} differs",
                received=f"{first.name}: {ours!r}, {other.name}: {theirs!r}",
                legal=f"equal {', '.join(POOLED_ENVIRONMENT)}",
                hint="report each of them separately",
            )


def _pool(runs: Sequence[Run]) -> Run:
    frames, launches, failures, costs, noises, waits, offset = [], [], [], [], [], [], 0
    offsets = []
    for run in runs:
        offsets.append(offset)
        frames.append(run.frame.assign(launch=run.frame["launch"] + offset))
        costs.append(_shifted(run.costs, offset))
        noises.append(run.noise.assign(launch=run.noise["launch"] + offset))
        waits.append(run.waits.assign(launch=run.waits["launch"] + offset))
        launches += [structs.replace(line, launch=line.launch + offset) for line in run.launches]
        failures += _later(run.failures, offset)
        offset += 1 + max((line.launch for line in run.launches), default=-1)
    first = runs[0]
    return Run(
        name=" + ".join(run.name for run in runs),
        command=first.command,
        created=first.created,
        settings=first.settings,
        environment=first.environment,
        catalogue=join_catalogues([run.catalogue for run in runs]),
        cases=tuple(dict.fromkeys(case for run in runs for case in run.cases)),
        failures=tuple(dict.fromkeys(failures)),
        launches=tuple(launches),
        frame=pd.concat(frames, ignore_index=True),
        warnings=tuple(warning for run in runs for warning in run.warnings),
        costs=Costs(
            tuple(dict.fromkeys(case for cost in costs for case in cost.cases)),
            tuple(dict.fromkeys(failure for cost in costs for failure in cost.failures)),
            pd.concat([cost.frame for cost in costs], ignore_index=True),
        ),
        looks=max((run.looks for run in runs), key=len),
        noise=pd.concat(noises, ignore_index=True),
        checked={key: errors for run in reversed(runs) for key, errors in run.checked.items()},
        pipeline=_pool_pipelines(runs, offsets),
        waits=pd.concat(waits, ignore_index=True),
        requirements=tuple(line for run in runs for line in run.requirements),
        own={name: words for run in reversed(runs) for name, words in run.own.items()},
        ports=_once([port for run in runs for port in run.ports]),
    )


def _pool_pipelines(runs: Sequence[Run], offsets: Sequence[int]) -> PipelineRows | None:
    """Return the cases in pipelines of several runs as those of one that is planned as the first of them."""
    found = [(run.pipeline, offset) for run, offset in zip(runs, offsets, strict=True) if run.pipeline is not None]
    if not found:
        return None
    return replace(
        found[0][0],
        cases=tuple(dict.fromkeys(case for one, _ in found for case in one.cases)),
        failures=tuple(dict.fromkeys(late for one, offset in found for late in _later(one.failures, offset))),
        frame=pd.concat(
            [one.frame.assign(launch=one.frame["launch"] + offset) for one, offset in found], ignore_index=True
        ),
        pool_seconds=_joined([one.pool_seconds for one, _ in found]),
    )


def _joined(several: Sequence[Mapping[str, tuple[OfCase, ...]]]) -> dict[str, tuple[OfCase, ...]]:
    """Return the values of several runs for each case, one after another."""
    keys = dict.fromkeys(key for one in several for key in one)
    return {key: tuple(value for one in several for value in one.get(key, ())) for key in keys}


def _shifted(costs: Costs, offset: int) -> Costs:
    return replace(
        costs,
        failures=tuple(_later(costs.failures, offset)),
        frame=costs.frame.assign(launch=costs.frame["launch"] + offset),
    )


def _later(failures: Sequence[Failure], offset: int) -> list[Failure]:
    return [
        failure if failure.launch is None else replace(failure, launch=failure.launch + offset) for failure in failures
    ]
