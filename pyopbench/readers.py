"""From stored results to one tidy frame: a row for each timed block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from pyopbench import capabilities, copies, placements, remains, store, throttling
from pyopbench.errors import BadInput
from pyopbench.model import Case, Failure

CASE_COLUMNS = ("op", "variant", "gradient", "direction", "mode", "dtype", "size", "placement")
COLUMNS = (
    "tool", "run", "launch", "group", "case", *CASE_COLUMNS, "tf",
    "round", "order", "calls", "seconds", "copies", "timer_seconds", "timer_error_seconds",
)  # fmt: skip

NOISE_COLUMNS = (
    "run", "launch", "group", "wall_seconds", "cpu_seconds", "steal_seconds", "switches", "collections", "load",
    "mhz_low", "mhz_high",
)  # fmt: skip

POOLED_ENVIRONMENT = (
    *("cpu", "cores", "tensorflow", "numpy", "python", "commit", "dirty"),
    *("variables", "intra_op_threads", "inter_op_threads"),
)
"""What has to be equal for launches of several runs to count as launches of one."""


CROSSING_COLUMNS = ("tool", "run", "launch", "case", "bytes_in", "bytes_out", "aligned")


def _no_rows(columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame([], columns=list(columns))


@dataclass(frozen=True)
class Costs:
    """What was measured to explain callbacks: bodies alone and the floor of each bridge; never decided about.

    Attributes:
        cases: ids of the planned cases.
        failures: of these cases.
        frame: one row for each timed block of these cases, as `Run.frame`.
        crossings: one row for each body and launch, with `CROSSING_COLUMNS`; `aligned` is nan where it is not known.
    """

    cases: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    frame: pd.DataFrame = field(default_factory=lambda: _no_rows(COLUMNS))
    crossings: pd.DataFrame = field(default_factory=lambda: _no_rows(CROSSING_COLUMNS))


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
        costs: what explains the callbacks; it is in none of `cases`, `failures` and `frame`.
        noise: one row for each group of a launch for which it was recorded, with `NOISE_COLUMNS`; nan is not told.
        certificate: what was known about the machine when the run began, as `certificate.Certificate.as_json`.
        limits: the lines that say what the machine can do at most, in order; none for runs from before they were there.
        tool: what measured it: `pyopbench`, `asv` or `pytest-benchmark`; ratios are never formed across tools.
        others: benchmarks of another tool that are no cases, as `frame`, with their name for the case and no parts.
        cannot: what results of this tool cannot support, in sentences; nothing for runs of pyopbench.
        checked: id of a case -> by how much it was off its reference in the first launch, by `values`, `gradient` and
            `finite_difference`, as `checks.Checked`; none for runs from before that was stored.
        placement, copies, probes: what `pyopbench placement`, `copies` and `probe` found, where that is kept beside the
            samples; else None.
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
    costs: Costs = Costs()
    noise: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(NOISE_COLUMNS)))
    certificate: Mapping[str, Any] | None = None
    limits: tuple[Mapping[str, Any], ...] = ()
    tool: str = "pyopbench"
    others: pd.DataFrame = field(default_factory=lambda: _no_rows(COLUMNS))
    cannot: tuple[str, ...] = ()
    checked: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    placement: Mapping[str, Any] | None = None
    copies: Mapping[str, Any] | None = None
    probes: Mapping[str, Any] | None = None


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
    frame = pd.DataFrame(list(_rows(content, groups)), columns=list(COLUMNS))
    failures = [_failure(skip) for skip in content["skips"]]
    failures += [_failure(failure) for line in lines for failure in line.get("failures", ())]
    whole = Run(
        name=content["run"],
        command=tuple(content["command"]),
        created=content["created"],
        settings=content["settings"],
        environment=content["environment"],
        catalogue=content["catalogue"],
        cases=tuple(content["cases"]),
        failures=tuple(failures),
        launches=tuple(line for line in lines if line["kind"] == "launch"),
        frame=frame,
        warnings=(*warnings, *remains.warnings_of(groups), *throttling.warnings(groups)),
        looks=tuple(line for line in lines if line["kind"] == "look"),
        noise=_noise(content["run"], groups),
        certificate=content.get("certificate"),
        limits=tuple(line for line in lines if line["kind"] == "limits"),
        checked={key: errors for group in groups for key, errors in group.get("checked", {}).items()},
    )
    for name, path, read in (
        ("placement", folder / placements.FILE, placements.read),
        ("copies", folder / copies.FILE, copies.read),
        ("probes", folder / capabilities.FILE, capabilities.read),
    ):
        whole = _with_beside(whole, name, path, read)
    return _apart(whole, pd.DataFrame(list(_crossings(content, groups)), columns=list(CROSSING_COLUMNS)))


def _with_beside(run: Run, name: str, path: Path, read: Callable[[Path], dict[str, Any]]) -> Run:
    """Return the run with a file that is kept beside it; one that cannot be read is a warning."""
    if not path.exists():
        return run
    try:
        found: dict[str, Any] = {name: read(path)}
    except BadInput as error:
        return replace(run, warnings=(*run.warnings, f"{error.what}: {error.received}; it is left out"))
    return replace(run, **found)


def _apart(run: Run, crossings: pd.DataFrame) -> Run:
    """Return the run with all that only explains callbacks put into its `costs`, out of the way of what judges."""
    parts, floor = (run.catalogue.get(key, {}) for key in ("parts", "floor"))

    def explains(key: str) -> bool:
        case = Case.from_id(key)
        return case.variant in parts or case.op in floor

    beside = run.frame["variant"].isin(list(parts)) | run.frame["op"].isin(list(floor))
    costs = Costs(
        tuple(case for case in run.cases if explains(case)),
        tuple(failure for failure in run.failures if explains(failure.case)),
        run.frame[beside].reset_index(drop=True),
        crossings,
    )
    return replace(
        run,
        cases=tuple(case for case in run.cases if not explains(case)),
        failures=tuple(failure for failure in run.failures if not explains(failure.case)),
        frame=run.frame[~beside].reset_index(drop=True),
        costs=costs,
    )


def _crossings(content: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
    for line in groups:
        shares = line.get("aligned", {})
        for key, sides in line.get("bytes", {}).items():
            yield ("pyopbench", content["run"], line["launch"], key, *sides, shares.get(key, math.nan))


def _noise(run: str, groups: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    rows = [
        {**line["noise"], "run": run, "launch": line["launch"], "group": line["group"]}
        for line in groups
        if "noise" in line
    ]
    # None becomes nan, also where a whole column has nothing else.
    numbers = dict.fromkeys(NOISE_COLUMNS[3:], "float64")
    return pd.DataFrame(rows, columns=list(NOISE_COLUMNS)).astype(numbers)


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
    frames, launches, failures, costs, noises, limits, offset = [], [], [], [], [], [], 0
    for run in runs:
        frames.append(run.frame.assign(launch=run.frame["launch"] + offset))
        costs.append(_shifted(run.costs, offset))
        noises.append(run.noise.assign(launch=run.noise["launch"] + offset))
        launches += [{**line, "launch": line["launch"] + offset} for line in run.launches]
        limits += [{**line, "launch": line["launch"] + offset} for line in run.limits]
        failures += _later(run.failures, offset)
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
        costs=Costs(
            tuple(dict.fromkeys(case for cost in costs for case in cost.cases)),
            tuple(dict.fromkeys(failure for cost in costs for failure in cost.failures)),
            pd.concat([cost.frame for cost in costs], ignore_index=True),
            pd.concat([cost.crossings for cost in costs], ignore_index=True),
        ),
        noise=pd.concat(noises, ignore_index=True),
        certificate=first.certificate,
        limits=tuple(limits),
        checked={key: errors for run in reversed(runs) for key, errors in run.checked.items()},
        placement=next((run.placement for run in runs if run.placement), None),
        copies=next((run.copies for run in runs if run.copies), None),
        probes=next((run.probes for run in runs if run.probes), None),
    )


def _shifted(costs: Costs, offset: int) -> Costs:
    return replace(
        costs,
        failures=tuple(_later(costs.failures, offset)),
        frame=costs.frame.assign(launch=costs.frame["launch"] + offset),
        crossings=costs.crossings.assign(launch=costs.crossings["launch"] + offset),
    )


def _later(failures: Sequence[Failure], offset: int) -> list[Failure]:
    return [
        failure if failure.launch is None else replace(failure, launch=failure.launch + offset) for failure in failures
    ]


def _merge_catalogues(catalogues: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        part: {name: value for catalogue in catalogues for name, value in catalogue.get(part, {}).items()}
        for part in ("ops", "variants", "gradients", "parts", "floor")
    }
