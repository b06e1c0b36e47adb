"""From stored results to one tidy frame: a row for each timed block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from pyopbench import store
from pyopbench.errors import BadInput
from pyopbench.model import Case, Failure

CASE_COLUMNS = ("op", "variant", "gradient", "direction", "mode", "dtype", "size", "placement")
COLUMNS = (
    "tool", "run", "launch", "group", "case", *CASE_COLUMNS, "tf",
    "round", "order", "calls", "seconds", "copies", "timer_seconds", "timer_error_seconds",
)  # fmt: skip

POOLED_ENVIRONMENT = (
    *("cpu", "cores", "tensorflow", "numpy", "python", "commit", "dirty"),
    *("variables", "intra_op_threads", "inter_op_threads"),
)
"""What has to be equal for launches of several runs to count as launches of one."""


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
        launches: the launch lines, in order.
        looks: the look lines, in order; none where several runs are pooled.
        frame: one row for each timed block, with `COLUMNS`; seconds are of the whole block, copies is how many of the
            op a call runs (1 in every mode but `node`).
        warnings: what a reader should know about the files.
    """

    name: str
    command: tuple[str, ...]
    created: str
    settings: Mapping[str, Any]
    environment: Mapping[str, Any]
    catalogue: Mapping[str, Any]
    cases: tuple[str, ...]
    failures: tuple[Failure, ...]
    launches: tuple[Mapping[str, Any], ...]
    frame: pd.DataFrame
    warnings: tuple[str, ...] = ()
    looks: tuple[Mapping[str, Any], ...] = ()


def read_runs(folders: Sequence[Path]) -> Run:
    """Read one run, or several of one environment as one with more launches.

    Args:
        folders: folders written by `pyopbench run`.

    Raises:
        BadInput: a file is missing or corrupt, or the environments differ.
    """
    runs = [_read_run(folder) for folder in dict.fromkeys(folder.resolve() for folder in folders)]
    first, *others = runs
    for other in others:
        _require_same_environment(first, other)
    return _pool(runs) if others else first


def _read_run(folder: Path) -> Run:
    content = store.read_run(folder)
    lines, warnings = store.read_lines(folder)
    groups = [line for line in lines if line["kind"] == "group"]
    rows = list(_rows(content, groups))
    failures = [_failure(skip) for skip in content["skips"]]
    failures += [_failure(failure) for line in lines for failure in line.get("failures", ())]
    return Run(
        name=content["run"],
        command=tuple(content["command"]),
        created=content["created"],
        settings=content["settings"],
        environment=content["environment"],
        catalogue=content["catalogue"],
        cases=tuple(content["cases"]),
        failures=tuple(failures),
        launches=tuple(line for line in lines if line["kind"] == "launch"),
        frame=pd.DataFrame(rows, columns=list(COLUMNS)),
        warnings=tuple(warnings),
        looks=tuple(line for line in lines if line["kind"] == "look"),
    )


def _failure(stored: Mapping[str, Any]) -> Failure:
    return Failure(stored["case"], stored["status"], stored["reason"], stored["launch"])


def _rows(content: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
    version = content["environment"].get("tensorflow")
    for line in groups:
        for key, samples in line["samples"].items():
            case = Case.from_id(key)
            head = ("pyopbench", content["run"], line["launch"], line["group"], key, *case.parts, version)
            tail = (line["timer_seconds"], line["timer_error_seconds"])
            for sample in samples:
                yield (*head, *(sample if case.mode == "node" else (*sample, 1)), *tail)


def _require_same_environment(first: Run, other: Run) -> None:
    for key in POOLED_ENVIRONMENT:
        ours, theirs = first.environment.get(key), other.environment.get(key)
        if ours != theirs:
            raise BadInput(
                f"runs of different environments cannot be pooled: {key} differs",
                received=f"{first.name}: {ours!r}, {other.name}: {theirs!r}",
                legal=f"equal {', '.join(POOLED_ENVIRONMENT)}",
                next_step="report each of them on its own",
            )


def _pool(runs: Sequence[Run]) -> Run:
    frames, launches, failures, offset = [], [], [], 0
    for run in runs:
        frames.append(run.frame.assign(launch=run.frame["launch"] + offset))
        launches += [{**line, "launch": line["launch"] + offset} for line in run.launches]
        failures += [
            failure if failure.launch is None else replace(failure, launch=failure.launch + offset)
            for failure in run.failures
        ]
        offset += 1 + max((line["launch"] for line in run.launches), default=-1)
    first = runs[0]
    return Run(
        name=" + ".join(run.name for run in runs),
        command=first.command,
        created=first.created,
        settings=first.settings,
        environment=first.environment,
        catalogue=_merge_catalogues([run.catalogue for run in runs]),
        cases=tuple(dict.fromkeys(case for run in runs for case in run.cases)),
        failures=tuple(dict.fromkeys(failures)),
        launches=tuple(launches),
        frame=pd.concat(frames, ignore_index=True),
        warnings=tuple(warning for run in runs for warning in run.warnings),
    )


def _merge_catalogues(catalogues: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        part: {name: value for catalogue in catalogues for name, value in catalogue[part].items()}
        for part in ("ops", "variants", "gradients")
    }
