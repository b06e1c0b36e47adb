"""The format of asv's results: one file for each commit and environment, checked as a whole before it is used.

As `asv/results.py` of asv 0.6 writes it, `api_version` 2: for each benchmark a row of columns, in it the lists of
parameters as Python prints them, and one result for each combination of them: seconds of a call (the median over
samples), null where the benchmark failed, NaN where it was skipped. Columns at the end that are null are left out.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from msgspec import Struct

from pyopbench.model import formatting
from pyopbench.store.foreign import common
from pyopbench.store.foreign.common import damaged
from pyopbench.store.json_file import problem

VERSION = 2
MACHINE = "machine.json"
NEXT_TO_RESULTS = (MACHINE, "benchmarks.json")
"""Files that asv writes next to its results."""
CONVERT = "convert the whole folder of results with `asv update`; nothing was read from this file"
MOST_COMBINATIONS = 1_000_000
"""More would be months of asv's time, and is a file that nobody measured."""
TIMES = re.compile(r"(time_|timeraw_|Time[A-Z_]|Timeraw[A-Z_])")
"""What the last part of a name begins with where asv times it (`asv_runner/benchmarks/time.py`)."""


class Document(Struct):
    """What is read of a file."""

    commit_hash: str
    env_name: str
    params: dict[str, Any]
    requirements: dict[str, Any]
    result_columns: list[str]
    results: dict[str, list[Any]]
    date: float | None = None


class AsvRow(Struct, kw_only=True):
    """What is read of a benchmark, by the names of the columns."""

    result: list[Any] | None = None
    params: list[list[str]]
    started_at: float | None = None
    stats_number: list[Any] | None = None
    samples: list[Any] | None = None


@dataclass(frozen=True)
class AsvEntry:
    """One combination of parameters of one benchmark.

    Attributes:
        benchmark: its name.
        values: of the parameters, as Python prints them.
        result: seconds of a call; NaN where it was skipped, None where it failed.
        calls: calls in each sample.
        samples: seconds of a call; None where they were not kept.
    """

    benchmark: str
    values: tuple[str, ...]
    result: float | None
    calls: int
    samples: tuple[float, ...] | None

    @property
    def name(self) -> str:
        """The name with the parameters, as asv prints it."""
        return common.in_one_line(f"{self.benchmark}({', '.join(self.values)})" if self.values else self.benchmark)


def is_result(document: Any) -> bool:
    """Whether JSON is a result of asv, though it may be damaged."""
    return isinstance(document, dict) and {"commit_hash", "results"} <= document.keys()


def files_in(folder: Path) -> list[Path]:
    """Return the files below a folder of results that hold results, sorted; none if it is no such folder."""
    machines = sorted(folder.rglob(MACHINE)) if folder.is_dir() else []
    return [
        path
        for machine in machines
        for path in sorted(machine.parent.glob("*.json"))
        if path.name not in NEXT_TO_RESULTS
    ]


def entries_of(path: Path, document: Mapping[str, Any]) -> list[AsvEntry]:
    """Return an entry for each combination of parameters of each benchmark that asv times.

    Args:
        path: the file, for messages.
        document: its JSON.

    Raises:
        BadInput: it is of another version, or not as asv writes it; with file and place.
    """
    _check(path, document)
    return [entry for name, row in document["results"].items() for entry in _entries(path, document, name, row)]


def others_of(document: Mapping[str, Any]) -> list[str]:
    """Return the benchmarks that measure no time: memory, counts and the like."""
    return sorted(common.shown(name) for name in document["results"] if not _is_timed(name))


def created_of(path: Path, document: Mapping[str, Any]) -> str:
    """Return when the last benchmark was begun; "" where that is not told."""
    columns = document["result_columns"]
    if "started_at" not in columns:
        return ""
    place = columns.index("started_at")
    begun = [row[place] for row in document["results"].values() if len(row) > place and row[place] is not None]
    return _moment(path, "started_at", max(begun)) if begun else ""


def committed_of(path: Path, document: Mapping[str, Any]) -> str:
    """Return when the commit was made; "" where that is not told."""
    date = document.get("date")
    return "" if date is None else _moment(path, "date", date)


def _moment(path: Path, name: str, milliseconds: float) -> str:
    """Return a time of asv's, which are milliseconds since 1970, in ISO 8601."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError) as error:
        raise damaged(path, f"{name} is {milliseconds!r}", "milliseconds since 1970") from error


def _check(path: Path, document: Mapping[str, Any]) -> None:
    version = document.get("version")
    if version != VERSION or type(version) is not int:
        # asv wrote version 1 before its release 0.5, and can convert it.
        hints = (CONVERT,) if version == 1 else ()
        raise damaged(path, f"version is {version!r}", f"version {VERSION}", *hints)
    wrong = problem(document, Document)
    if wrong is not None:
        raise damaged(path, wrong)
    columns = document["result_columns"]
    if len(set(columns)) < len(columns) or not {"result", "params"} <= set(columns):
        raise damaged(path, f"result_columns are {columns}", "result, params and others, each once")


def _entries(path: Path, document: Mapping[str, Any], name: str, row: Sequence[Any]) -> Iterator[AsvEntry]:
    """Yield an entry for each combination of parameters of a benchmark that is timed."""
    columns = document["result_columns"]
    if len(row) > len(columns):
        raise damaged(path, f"results.{name} has {len(row)} columns", f"at most {len(columns)}")
    cells: dict[str, Any] = dict.fromkeys(AsvRow.__struct_fields__)
    cells.update(zip(columns, row, strict=False))
    wrong = problem(cells, AsvRow)
    if wrong is not None:
        raise damaged(path, f"results.{name}: {wrong}")
    if not _is_timed(name):
        return
    many = math.prod(map(len, cells["params"]))
    if many > MOST_COMBINATIONS:
        raise damaged(path, f"results.{name}: {many:,} combinations of params", f"at most {MOST_COMBINATIONS:,}")
    results, numbers, samples = (
        _fitting(path, name, cells, column, many) for column in ("result", "stats_number", "samples")
    )
    for place, values in enumerate(itertools.product(*cells["params"])):
        where = f"results.{name}({', '.join(values)})"
        yield AsvEntry(
            name,
            values,
            _result(path, where, results[place]),
            _calls(path, where, numbers[place]),
            _samples(path, where, samples[place]),
        )


def _is_timed(name: str) -> bool:
    return TIMES.match(name.rpartition(".")[2]) is not None


def _fitting(path: Path, name: str, cells: Mapping[str, Any], column: str, many: int) -> list[Any]:
    """Return a column as one item for each combination; null stands for as many nulls."""
    values = cells[column]
    if values is not None and len(values) != many:
        raise damaged(
            path,
            f"results.{name}: {column} has {formatting.count(len(values), 'item')}",
            f"one for each of {many} combinations of params",
        )
    return [None] * many if values is None else list(values)


def _result(path: Path, where: str, value: Any) -> float | None:
    """Return seconds, NaN for a benchmark that was skipped, or None for one that failed."""
    skipped = type(value) is float and math.isnan(value)
    if value is not None and not skipped and not common.is_duration(value):
        raise damaged(path, f"{where}: result is {value!r}", f"{common.DURATION}, null or NaN")
    return None if value is None else float(value)


def _calls(path: Path, where: str, value: Any) -> int:
    if value is None:
        return 1
    if not common.is_count(value):
        raise damaged(path, f"{where}: stats_number is {value!r}", f"{common.COUNT}, or null")
    return int(value)


def _samples(path: Path, where: str, values: Any) -> tuple[float, ...] | None:
    if values is None:
        return None
    if type(values) is not list or not values:
        raise damaged(path, f"{where}: samples are {values!r}", "a list of seconds, or null")
    for value in values:
        if not common.is_duration(value):
            raise damaged(path, f"{where}: samples hold {value!r}", common.DURATION)
    return tuple(map(float, values))
