"""Real files of asv and pytest-benchmark, and changed copies of them, for the tests of what reads them.

`foreign/` holds what asv 0.6.6 and pytest-benchmark 5.3.1 wrote for a few trivial functions under the names of
pyopbench's own suites; names of paths and of a processor's features were shortened afterwards.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from places import DATA

FOLDER = DATA / "foreign"
FORWARD = "latency.ForwardLatency.time_call"


def document(name: str) -> Any:
    """Return the JSON of a real file, to be changed at will."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def write(path: Path, content: Any) -> Path:
    """Write JSON as both tools do, and return its path; numbers that JSON lacks are written as Python writes them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def column(content: Any, benchmark: str, name: str) -> Any:
    """Return the column of an asv benchmark."""
    return content["results"][benchmark][content["result_columns"].index(name)]


def with_column(content: Any, benchmark: str, name: str, value: Any) -> Any:
    """Return a copy of asv's JSON with another column."""
    changed = copy.deepcopy(content)
    changed["results"][benchmark][changed["result_columns"].index(name)] = value
    return changed


def scaled(content: Any, factor: float, *, only: str = "") -> Any:
    """Return a copy of asv's JSON with results and samples multiplied, of all benchmarks or of those named so."""
    changed = copy.deepcopy(content)
    for name, row in changed["results"].items():
        if only in name and ".time" in name:
            for key in ("result", "samples"):
                place = changed["result_columns"].index(key)
                if place < len(row):
                    row[place] = _times(row[place], factor)
    return changed


def _times(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [_times(item, factor) for item in value]
    return value if value is None else value * factor


def asv_folder(folder: Path, **documents: Any) -> Path:
    """Write a folder of asv's results of one machine, a file for each document by name, and return it."""
    write(folder / "here" / "machine.json", {"machine": "here", "version": 1})
    write(folder / "benchmarks.json", {"version": 2})
    for name, content in documents.items():
        write(folder / "here" / f"{name}.json", content)
    return folder
