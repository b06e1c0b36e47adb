"""Read the test files of asv, of pytest-benchmark and of tools that read their results, and compare each value.

python benchmarks/outside/reader_fixtures.py FOLDER [--json FILE]    writes results/outside/reader_fixtures.json

`FOLDER` contains checkouts of repositories, or only these parts of them; one that is missing is left out:

    asv/test/example_results              airspeed-velocity/asv
    pytest-benchmark/tests                ionelmc/pytest-benchmark
    benchzoo/tests/data                   nyrkio/benchzoo, one folder for each tool
    github-action-benchmark/test/data     benchmark-action/github-action-benchmark, likewise
    asv-older, pytest-benchmark-older     all other versions of these files in git's history, without symbolic links
    written                               made by asv and pytest-benchmark here, from the benchmarks in their own tests:
        asv run -E existing:same --quick --record-samples --set-commit-hash HASH      (of asv/test/benchmark)
        pytest pytest-benchmark/tests/test_{sample,normal,pedantic,skip}.py --benchmark-json FILE

Values in files of asv are compared with those that asv itself reads, values in files of pytest-benchmark with their
JSON. A file in version 1 of asv's format is tried unchanged, and again after asv has converted it. Only counts are
stored.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
import stored_document
from markdown_table import table
from outside import tallies
from pyopbench.model.errors import PyopbenchError
from pyopbench.store.read import read_source

VERSION = 1
STORED = tallies.RESULTS / "reader_fixtures.json"
SOURCES: Mapping[str, str] = {
    "asv": "test/example_results",
    "asv-older": ".",
    "pytest-benchmark": "tests",
    "pytest-benchmark-older": ".",
    "benchzoo": "tests/data",
    "github-action-benchmark": "test/data",
    "written": ".",
}
"""Repository -> the folder of its files."""
NOT_JSON, OF_OTHERS = "not JSON", "JSON of something else"
ASV_1, CONVERTED = "asv, version 1", "asv, version 1, after asv update"
OUTCOMES = ("read", "refused", "failed")
"""Outcomes of a file: `failed` means an error that is not one of pyopbench's own."""
Numbers = dict[str, tuple[float, ...] | None]
"""Name of a benchmark -> its seconds; None if it has no time."""


def kind_of(path: Path) -> str:
    """Return the tool that wrote a file, with the version of its format."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return NOT_JSON
    keys = document.keys() if isinstance(document, dict) else set()
    if {"commit_hash", "results"} <= keys:
        return f"asv, version {document['version']}"
    if {"benchmarks", "machine_info"} <= keys:
        return f"pytest-benchmark {document['version']}"
    return OF_OTHERS


def numbers_by_tool(path: Path) -> Numbers:
    """Return the times in a file: for asv as asv reads them, for pytest-benchmark as they are in the JSON."""
    if kind_of(path).startswith("asv"):
        return dict(_by_asv(path))
    stats = {one["fullname"]: one["stats"] for one in json.loads(path.read_text(encoding="utf-8"))["benchmarks"]}
    return {name: tuple(one.get("data") or [one["median"]]) for name, one in stats.items()}


def _by_asv(path: Path) -> Iterator[tuple[str, tuple[float, ...] | None]]:
    from asv.results import Results
    from asv_runner.benchmarks.time import TimeBenchmark
    from asv_runner.benchmarks.timeraw import TimerawBenchmark

    found = Results.load(str(path))
    for name in found.get_all_result_keys():
        last = name.rpartition(".")[2]
        if not any(sort.name_regex.match(last) for sort in (TimeBenchmark, TimerawBenchmark)):
            continue
        params = found.get_result_params(name)
        results = found.get_result_value(name, params)
        samples = found.get_result_samples(name, params)
        for values, result, kept in zip(product(*params), results, samples, strict=True):
            full = f"{name}({', '.join(values)})" if values else name
            has_number = result is not None and not math.isnan(result)
            yield full, tuple(kept or (result,)) if has_number else None


def numbers_here(path: Path) -> Numbers:
    """Return the times in a file as pyopbench reads them.

    Raises:
        PyopbenchError: it is refused.
    """
    (run,) = read_source(path)
    found: Numbers = dict.fromkeys(failure.case for failure in (*run.failures, *run.other_failures))
    for rows in (run.frame, run.others):
        for name, block in rows.groupby("case", sort=False):
            found[str(name)] = tuple((block["seconds"] / block["calls"]).tolist())
    return found


def differing(first: Numbers, second: Numbers) -> int:
    """Return how many benchmarks have different seconds, or are in only one; a division may round the last digit."""
    return sum(not _is_same(first.get(name, ()), second.get(name, ())) for name in {*first, *second})


def _is_same(first: tuple[float, ...] | None, second: tuple[float, ...] | None) -> bool:
    if first is None or second is None:
        return first is second
    return len(first) == len(second) > 0 and all(
        math.isclose(one, other, rel_tol=1e-12) for one, other in zip(first, second, strict=True)
    )


def rows_of(name: str, folder: Path) -> list[dict[str, Any]]:
    """Read all files of a folder, and return the counts of each kind."""
    found: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        paths = [path for path in sorted(folder.rglob("*.json")) if path.is_file() and not path.is_symlink()]
        for number, path in enumerate(paths):
            kind = kind_of(path)
            found.setdefault(kind, Counter()).update(_counts(path))
            if kind == ASV_1 and (copied := _converted(path, Path(scratch) / str(number))):
                found.setdefault(CONVERTED, Counter()).update(_counts(copied))
    keys = ("files", *OUTCOMES, "benchmarks", "differing")
    return [{"source": name, "kind": kind, **{key: found[kind][key] for key in keys}} for kind in sorted(found)]


def _counts(path: Path) -> dict[str, int]:
    try:
        here = numbers_here(path)
    except PyopbenchError:
        return {"files": 1, "refused": 1}
    except Exception:  # noqa: BLE001 - any unexpected error is counted
        return {"files": 1, "failed": 1}
    return {"files": 1, "read": 1, "benchmarks": len(here), "differing": differing(here, numbers_by_tool(path))}


def _converted(path: Path, folder: Path) -> Path | None:
    """Return a copy of a file that asv has converted to its current format; None if it cannot."""
    from asv.results import Results
    from asv.util import UserError

    folder.mkdir()
    copied = Path(shutil.copy(path, folder))
    try:
        Results.update(str(copied))
    except UserError:
        return None
    return copied


def results_table(document: Mapping[str, Any]) -> str:
    """Return a row for each source and kind of file, as Markdown."""
    head = ("source", "written by", "files", *OUTCOMES, "benchmarks", "different values")
    keys = ("files", *OUTCOMES, "benchmarks", "differing")
    return table(head, [(row["source"], row["kind"], *(f"{row[key]:,}" for key in keys)) for row in document["rows"]])


def main(arguments: Sequence[str] | None = None) -> None:
    """Read each source in the folder, store the counts, and print them."""
    options, there = tallies.read_folders(tallies.parser_of(__doc__, STORED), arguments, SOURCES)
    document = stored_document.begin(VERSION, ("asv", "asv_runner", "pytest-benchmark"), {})
    document |= {"rows": [row for name, folder in there.items() for row in rows_of(name, folder)]}
    stored_document.write(options.json, document)
    sys.stdout.write(results_table(document))


if __name__ == "__main__":
    main()
