"""Results of asv and pytest-benchmark, read as a `Run`.

A file of asv is of one commit in one environment (`asv/results.py` of asv 0.6, `api_version` 2): for each benchmark a
row of columns, among them the lists of parameters as Python prints them, and for each combination of these the seconds
of a call (the median over samples), null where the benchmark failed, NaN where it was skipped. A file of
pytest-benchmark (2.5 to 5) is a session: benchmarks with statistics in seconds, and with samples where the file was
written by `--benchmark-json` or with `--benchmark-save-data`.

A benchmark of pyopbench's own suites names one case: in asv by its class and its parameters op, variant, size and
placement, in pytest-benchmark in its `extra_info`, which then has the key `pyopbench` too. Those of other suites keep
their names, and can be compared but not reported on.
"""

from __future__ import annotations

import ast
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import pandas as pd
from msgspec import Meta, Struct, field, structs

from pyopbench.model.case import BASELINE, NO_GRADIENT, Case, Failure
from pyopbench.model.errors import BadInput
from pyopbench.store.caveats import LIMITATIONS, NO_SAMPLES, Caveat
from pyopbench.store.json_file import convert, corrupt
from pyopbench.store.measured_run import CASE_COLUMNS, COLUMNS, Run, no_rows
from pyopbench.store.types import Catalogue, Settings, builtin_catalogue

MACHINE = "machine.json"
BESIDE_RESULTS = (MACHINE, "benchmarks.json")
"""Files that asv writes next to its results."""
DIRECTIONS = {
    "latency.ForwardLatency.time_call": "forward",
    "latency.BackwardLatency.time_call": "backward",
    "latency.ForwardBackwardLatency.time_call": "forward_backward",
}
"""The benchmarks of pyopbench's own suite for asv that time cases."""
TIMES = re.compile(r"(time_|timeraw_|Time[A-Z_]|Timeraw[A-Z_])")
"""What the last part of a name begins with where asv times it (`asv_runner/benchmarks/time.py`)."""
TENSORFLOW = ("tensorflow-cpu", "tensorflow")
"""Names of it in asv's matrix."""

Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e9)]
"""Of a call; more than thirty years is no measurement."""
Calls: TypeAlias = Annotated[float, Meta(ge=1, le=1e12)]
"""In a sample; asv writes some as 1.0."""
Moment: TypeAlias = Annotated[float, Meta(ge=0, le=1e14)]
"""Milliseconds since 1970, until the year 5138."""


@dataclass(frozen=True)
class Benchmark:
    """A benchmark of another tool that was timed."""

    name: str  # what the tool calls it, with its parameters
    case: Case | None  # that it is; None for a benchmark that is not one of pyopbench
    calls: int  # in each sample, at least 1
    seconds: Sequence[float]  # of one call, for each sample in the order of the file; else the median alone

    @property
    def key(self) -> str:
        """The id of the case, or the name."""
        return self.name if self.case is None else self.case.id


def asv_files(folder: Path) -> list[Path]:
    """Return the files below a folder of asv that hold results, sorted; none if it is no such folder."""
    machines = sorted(folder.rglob(MACHINE)) if folder.is_dir() else []
    return [
        path
        for machine in machines
        for path in sorted(machine.parent.glob("*.json"))
        if path.name not in BESIDE_RESULTS
    ]


def read_file(path: Path) -> Run | None:
    """Return the run in a file; None if it is JSON, but neither asv's nor pytest-benchmark's.

    Raises:
        BadInput: it is not JSON, or not as its tool writes it; names the file.
    """
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise corrupt(str(path), f"not JSON: {error}") from error
    keys = document.keys() if isinstance(document, dict) else set()
    if {"commit_hash", "results"} <= keys:
        return _asv_run(path, convert(document, _AsvFile, str(path)))
    if {"benchmarks", "machine_info"} <= keys:
        return _pytest_run(path, convert(document, _PytestFile, str(path)))
    return None


class _AsvFile(Struct):
    version: Literal[2]
    commit_hash: str
    env_name: str
    params: dict[str, Any]
    requirements: dict[str, Any]
    result_columns: list[str]
    results: dict[str, list[Any]]
    python: str | None = None
    date: Moment | None = None


class _AsvRow(Struct):
    """The columns of a benchmark that are read; those at the end that are null are left out in the file."""

    params: list[list[str]]
    result: list[float | None] | None = None
    started_at: Moment | None = None
    stats_number: list[Calls | None] | None = None
    samples: list[list[Seconds] | None] | None = None


def _asv_run(path: Path, file: _AsvFile) -> Run:
    benchmarks: list[Benchmark] = []
    failures: list[tuple[bool, Failure]] = []
    starts: list[float] = []
    untimed, bare = list[str](), False
    for name, cells in file.results.items():
        if TIMES.match(name.rpartition(".")[2]) is None:
            untimed.append(name)
            continue
        row = convert(dict(zip(file.result_columns, cells, strict=False)), _AsvRow, f"{path}: results.{name}")
        starts += [] if row.started_at is None else [row.started_at]
        every = list(itertools.product(*row.params))
        columns = [values or [None] * len(every) for values in (row.result, row.stats_number, row.samples)]
        if any(len(values) != len(every) for values in columns):
            raise corrupt(str(path), f"results.{name} does not have a value for each combination of its parameters")
        for values, result, calls, samples in zip(every, *columns, strict=True):
            case = _asv_case(name, values)
            shown = f"{name}({', '.join(values)})" if values else name
            if result is not None and not math.isnan(result):
                benchmarks.append(Benchmark(shown, case, int(calls or 1), samples or [result]))
                bare = bare or not samples
            else:
                failures.append((case is not None, _asv_failure(shown if case is None else case.id, result)))
    environment = {
        "machine": file.params.get("machine"),
        "cpu": file.params.get("cpu"),
        "cores": int(cores) if (cores := str(file.params.get("num_cpu"))).isdecimal() else None,
        "os": file.params.get("os"),
        "python": file.python,
        "numpy": _version(file, "numpy"),
        "tensorflow": _version(file, *TENSORFLOW),
        "commit": file.commit_hash,
        "environment": file.env_name,
        "commit_date": "" if file.date is None else _moment(file.date),
    }
    ignored = Caveat("no_times", f"ignored, because they do not measure time: {', '.join(sorted(untimed))}")
    return _run(
        path,
        "asv",
        benchmarks,
        bare=bare,
        name=f"{file.commit_hash[:8]} in {file.env_name}",
        created=_moment(max(starts)) if starts else "",
        environment=environment,
        failures=tuple(failure for is_case, failure in failures if is_case),
        other_failures=tuple(failure for is_case, failure in failures if not is_case),
        warnings=(ignored,) if untimed else (),
    )


def _asv_case(benchmark: str, values: Sequence[str]) -> Case | None:
    """Return the case: a `tf.function` of float32, with the variant's usual gradient.

    None for a benchmark of another suite, or backward of a variant whose gradient is not known.
    """
    try:
        direction = DIRECTIONS[benchmark]
        op, variant, size, placement = map(ast.literal_eval, values)
        gradients = [NO_GRADIENT] if direction == "forward" else builtin_catalogue().variant(str(variant)).gradients
        return Case.from_id(f"{op}/{variant}/{gradients[0]}/{direction}/call/float32/{size}/{placement}")
    except (LookupError, ValueError, SyntaxError, BadInput):
        return None


def _asv_failure(key: str, result: float | None) -> Failure:
    if result is None:
        return Failure(key, "raised", "the benchmark failed; `asv show` prints its error output")
    return Failure(key, "unsupported", "no result: the suite skipped the combination, or the run did not select it")


def _version(file: _AsvFile, *packages: str) -> str | None:
    """Return the version of a package in asv's matrix, which puts `pip+` before what is pip's alone."""
    names = [name for package in packages for name in (package, f"pip+{package}")]
    return next((file.requirements[name] for name in names if file.requirements.get(name)), None)


def _moment(milliseconds: float) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat(timespec="seconds")


class _PytestEnvironment(Struct, omit_defaults=True):
    """What is read of the environment that pyopbench's own suite recorded."""

    cpu: str | None = None
    cores: int | None = None
    tensorflow: str | None = None
    numpy: str | None = None
    python: str | None = None


class _ExtraInfo(Struct):
    case: str | None = None
    environment: _PytestEnvironment | None = None


class _Stats(Struct):
    median: Seconds
    iterations: Calls
    data: list[Seconds] = []


class _PytestBenchmark(Struct):
    fullname: str
    stats: _Stats
    extra_info: dict[str, Any] = {}  # which pytest-benchmark did not have before its release 3


class _PytestFile(Struct):
    machine_info: dict[str, Any]
    commit_info: dict[str, Any]
    benchmarks: list[_PytestBenchmark]
    created: str = field(name="datetime")


def _pytest_run(path: Path, file: _PytestFile) -> Run:
    own = [
        convert(one.extra_info, _ExtraInfo, f"{path}: {one.fullname}")
        if "pyopbench" in one.extra_info
        else _ExtraInfo()
        for one in file.benchmarks
    ]
    try:
        cases = [None if extra.case is None else Case.from_id(extra.case) for extra in own]
    except BadInput as error:
        raise corrupt(str(path), error.in_a_line) from error
    recorded = [extra.environment for extra in own if extra.environment is not None]
    processor = file.machine_info.get("cpu")
    processor = processor if isinstance(processor, dict) else {}
    environment = {
        "cpu": processor.get("brand_raw"),
        "cores": count if isinstance(count := processor.get("count"), int) else None,
        "os": file.machine_info.get("system"),
        "python": file.machine_info.get("python_version"),
        "numpy": None,
        "tensorflow": None,
        "commit": file.commit_info.get("id"),
        "dirty": file.commit_info.get("dirty"),
        **(structs.asdict(recorded[0]) if recorded else {}),
    }
    benchmarks = [
        Benchmark(one.fullname, case, int(one.stats.iterations), one.stats.data or [one.stats.median])
        for one, case in zip(file.benchmarks, cases, strict=True)
    ]
    bare = any(not one.stats.data for one in file.benchmarks)
    facts = {"name": path.stem, "created": file.created, "environment": environment, "failures": ()}
    return _run(path, "pytest-benchmark", benchmarks, bare=bare, **facts)


def _run(path: Path, tool: str, benchmarks: Sequence[Benchmark], *, bare: bool, **facts: Any) -> Run:
    """Return the run of some benchmarks, of which some are bare of samples, with other facts as `Run` has them."""
    twice = [key for key, count in Counter(one.key for one in benchmarks).items() if count > 1]
    if twice:
        raise corrupt(str(path), f"several benchmarks are {twice[0]}")
    timed = [one.case for one in benchmarks if one.case is not None]
    cases = [*timed, *(Case.from_id(failure.case) for failure in facts["failures"])]
    frame, others = (_frame(tool, facts, benchmarks, is_case=is_case) for is_case in (True, False))
    return Run(
        **facts,
        command=(),
        settings=_settings(timed),
        catalogue=_catalogue(cases),
        cases=tuple(dict.fromkeys(case.id for case in cases)),
        frame=frame,
        tool=tool,
        others=others,
        cannot=(*LIMITATIONS[tool], *((Caveat("samples_not_kept", NO_SAMPLES[tool]),) if bare else ())),
    )


def _frame(tool: str, facts: Mapping[str, Any], benchmarks: Sequence[Benchmark], *, is_case: bool) -> pd.DataFrame:
    """Return a row for each sample of the benchmarks that are cases, or of those that are none.

    All samples are of round 0, because a round is what is interleaved, and here nothing is; and of launch 0, because
    neither tool tells which process a sample is from.
    """
    none = (None,) * len(CASE_COLUMNS)
    rows = []
    for one in benchmarks:
        if (one.case is not None) == is_case:
            parts, group = (none, one.name) if one.case is None else (one.case.parts, one.case.group)
            rows += [(group, one.key, one.calls, *parts, seconds * one.calls) for seconds in one.seconds]
    if not rows:
        return no_rows(COLUMNS)
    frame = pd.DataFrame(rows, columns=["group", "case", "calls", *CASE_COLUMNS, "seconds"])
    fixed = {"tool": tool, "run": facts["name"], "launch": 0, "sweep": 0, "round": 0, "copies": 1}
    return frame.assign(**fixed).reindex(columns=list(COLUMNS))


def _catalogue(cases: Iterable[Case]) -> Catalogue:
    """Return what is known of the ops and variants of these cases, with the sizes that were measured."""
    known, sizes = builtin_catalogue(), dict[str, set[int]]()
    for case in cases:
        sizes.setdefault(case.op, set()).add(case.size)
    return Catalogue(
        ops={op: structs.replace(known.op(op), sizes=sorted(of_op)) for op, of_op in sorted(sizes.items())},
        variants={name: known.variant(name) for name in sorted({case.variant for case in cases})},
    )


def _settings(cases: Iterable[Case]) -> Settings:
    """Return how it was measured, as far as known: the baseline is the usual callback, else any, else any variant."""
    known = builtin_catalogue()
    variants = sorted(
        {case.variant for case in cases},
        key=lambda name: (name != BASELINE, known.variant(name).kind != "callback", name),
    )
    return Settings(baseline=(*variants, BASELINE)[0], launches=1)
