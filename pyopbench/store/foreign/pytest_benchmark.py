"""Results of pytest-benchmark: one JSON file for each session, which is one run.

The format is that of pytest-benchmark 2.5 to 5: a list of benchmarks with statistics in seconds, and with the samples
themselves under `data` where the file was written by `--benchmark-json` or with `--benchmark-save-data`. A benchmark of
pyopbench's own suite says in its `extra_info` which case it is and in which environment it ran. There it also has the
version of `pyopbench`: without that key, `extra_info` belongs to another suite, whose keys may have the same names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType

from pyopbench.model import formatting
from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput
from pyopbench.store.foreign import common
from pyopbench.store.foreign.common import Timed, TimedRun, damaged
from pyopbench.store.json_file import problem
from pyopbench.store.limitations import Limitation, NotInterleaved, OnlyOneLaunch, samples_not_kept
from pyopbench.store.measured_run import Run

TOOL: Final = "pytest-benchmark"

OWN = "pyopbench"
"""The key in `extra_info` that only pyopbench's own suite writes."""
SAME = ("cpu", "cores", "tensorflow", "numpy", "python")
"""What has to be equal for all benchmarks of a session: it is one process."""


class Document(Struct):
    """What is read of a file."""

    machine_info: dict[str, Any]
    commit_info: dict[str, Any]
    benchmarks: list[Any]
    datetime: str
    version: str


class Environment(Struct):
    """What is read of the environment that pyopbench's own suite recorded."""

    cpu: str | UnsetType | None = UNSET
    cores: int | UnsetType | None = UNSET
    tensorflow: str | UnsetType | None = UNSET


class ExtraInfo(Struct):
    """The keys that are read from the `extra_info` of a benchmark of pyopbench's own suite."""

    case: str | UnsetType = UNSET
    environment: Environment | UnsetType = UNSET


class Stats(Struct):
    """What is read of the statistics of a benchmark."""

    median: float
    rounds: int
    iterations: int
    data: list[Any] | UnsetType = UNSET


class Benchmark(Struct):
    """The keys that are read from a benchmark; before pytest-benchmark 3 it had no `extra_info`."""

    fullname: str
    stats: Stats
    extra_info: dict[str, Any] | UnsetType = UNSET


class OwnBenchmark(Struct):
    """The keys that are also read if the benchmark is one of pyopbench's own suite."""

    extra_info: ExtraInfo


def is_result(document: Any) -> bool:
    """Whether JSON is a file of pytest-benchmark, though it may be damaged."""
    return isinstance(document, dict) and {"benchmarks", "machine_info"} <= document.keys()


def read(path: Path, document: Mapping[str, Any]) -> Run:
    """Read one file.

    Args:
        path: where it is, for messages.
        document: its JSON.

    Raises:
        BadInput: it is not as pytest-benchmark writes it; with file and place.
    """
    wrong = problem(document, Document)
    if wrong is not None:
        raise damaged(path, wrong)
    timed = [_timed(path, place, one) for place, one in enumerate(document["benchmarks"])]
    common.require_once((one.key for one in timed), path)
    environment = _environment(path, document)
    name = common.shown(path.stem)
    ((frame, others),) = common.frames(TOOL, [TimedRun(name, environment["tensorflow"], timed)])
    cases = [one.case for one in timed if one.case is not None]
    return Run(
        name=name,
        command=(),
        created=common.shown(document["datetime"]),
        settings=common.settings_of(cases),
        environment=environment,
        catalogue=common.catalogue_of(cases),
        cases=tuple(case.id for case in cases),
        failures=(),
        launches=(),
        frame=frame,
        tool=TOOL,
        others=others,
        cannot=_cannot(timed),
    )


def _timed(path: Path, place: int, benchmark: Any) -> Timed:
    where = f"benchmarks[{place}]"
    wrong = problem(benchmark, Benchmark)
    if wrong is None and _own(benchmark):
        wrong = problem(benchmark, OwnBenchmark)
    if wrong is not None:
        raise damaged(path, f"{where}: {wrong}")
    stats = benchmark["stats"]
    if not common.is_count(stats["iterations"]) or not common.is_count(stats["rounds"]):
        recorded = f"{where}: rounds {stats['rounds']}, iterations {stats['iterations']}"
        raise damaged(path, recorded, f"for both {common.COUNT}")
    return Timed(
        common.in_one_line(benchmark["fullname"]),
        _case(path, where, _own(benchmark).get("case")),
        stats["iterations"],
        _seconds(path, where, stats),
        bool(stats.get("data")),
    )


def _own(benchmark: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `extra_info` of a benchmark of pyopbench's own suite; empty for any other suite."""
    extra: Mapping[str, Any] = benchmark.get("extra_info", {})
    return extra if OWN in extra else {}


def _case(path: Path, where: str, key: str | None) -> Case | None:
    if key is not None and not key.isprintable():
        raise damaged(path, f"{where}: extra_info.case is {key!r}", "the id of a case")
    try:
        return None if key is None else Case.from_id(key)
    except BadInput as error:
        raise damaged(path, f"{where}: extra_info.case is {key!r}", "the id of a case") from error


def _seconds(path: Path, where: str, stats: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the samples, or the median alone; both are seconds per call (`pytest_benchmark/stats.py`)."""
    values = stats.get("data") or [stats["median"]]
    for value in (stats["median"], *values):
        if not common.is_duration(value):
            raise damaged(path, f"{where}: stats hold {value!r}", common.DURATION)
    if "data" in stats and len(values) != stats["rounds"]:
        raise damaged(path, f"{where}: data has {formatting.count(len(values), 'item')}", f"{stats['rounds']:,} rounds")
    return tuple(map(float, values))


def _environment(path: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the environment that the suite recorded; what is missing is taken from pytest-benchmark's own records."""
    recorded = [info["environment"] for one in document["benchmarks"] if "environment" in (info := _own(one))]
    first = recorded[0] if recorded else {}
    for other in recorded:
        differing = [key for key in SAME if other.get(key) != first.get(key)]
        if differing:
            raise damaged(path, f"benchmarks of several environments: {formatting.listing(differing)}", "one session")
    machine, commit = document["machine_info"], document["commit_info"]
    processor = machine.get("cpu") if isinstance(machine.get("cpu"), dict) else {}
    known = {
        "cpu": common.shown_or_none((processor or {}).get("brand_raw")),
        "cores": _count((processor or {}).get("count")),
        "os": common.shown_or_none(machine.get("system")),
        "python": common.shown_or_none(machine.get("python_version")),
        "numpy": None,
        "tensorflow": None,
        "commit": common.shown_or_none(commit.get("id")),
        "dirty": commit.get("dirty") if isinstance(commit.get("dirty"), bool) else None,
    }
    plain = {key: common.in_one_line(value) if isinstance(value, str) else value for key, value in first.items()}
    return {**known, **plain}


def _count(value: Any) -> int | None:
    return value if type(value) is int else None


def _cannot(timed: Sequence[Timed]) -> tuple[Limitation, ...]:
    return (OnlyOneLaunch(TOOL), NotInterleaved(TOOL), *samples_not_kept(TOOL, [one.has_samples for one in timed]))
