"""Measure identical code twice with asv, pytest-benchmark and pyopbench, and show what each makes of it.

    python benchmarks/against_peers.py --out results/against-peers --json peers.json
    python benchmarks/against_peers.py --tools asv,pyopbench --cases 6

Every tool times the callables that `pyopbench.worker.prepare.prepare.prepare` returns; one tool runs after the other.
The table goes to stdout, progress to stderr. Exit codes: 0 done, 1 a tool failed, 2 bad usage. benchmarks/README.md
says what it means.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from peers import asv, own, pytest_benchmark, table
from peers.cases import cases, environment_of
from peers.figures import Row
from peers.processes import PeerFailed, Task
from pyopbench.model.case import Case
from pyopbench.model.errors import PyopbenchError

TOOLS = ("pyopbench", "pytest-benchmark", "asv")
"""The quick ones first: what is done is in the JSON file, also if the rest is interrupted."""


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for and print the table; returns the exit code."""
    options = _read(arguments)
    chosen = cases(options.cases)
    folder = options.out or Path("results") / time.strftime("against-peers-%Y%m%d-%H%M%S")
    _tell(f"{len(chosen)} cases; raw files in {folder}")
    rows: list[Row] = []
    failures: dict[str, str] = {}
    for tool in options.tools:
        task = Task(tuple(case.id for case in chosen), (folder / tool).resolve(), environment_of(chosen))
        try:
            rows += _timed(tool, task, _tools(options)[tool])
        except (PeerFailed, PyopbenchError, OSError) as error:
            failures[tool] = str(error)
            _tell(f"{tool} failed: {error}")
        if options.json:
            document = table.document(rows, failures, [case.id for case in chosen])
            options.json.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    _show(rows, failures, chosen)
    return 1 if failures else 0


def _tools(options: argparse.Namespace) -> dict[str, Callable[[Task], list[Row]]]:
    return {
        "pyopbench": partial(own.compare, settings=own.TRIAL if options.trial else own.SETTINGS),
        "pytest-benchmark": pytest_benchmark.compare,
        "asv": asv.compare,
    }


def _timed(tool: str, task: Task, compare: Callable[[Task], list[Row]]) -> list[Row]:
    _tell(f"{tool}: measuring twice ...")
    began = time.monotonic()
    task.folder.mkdir(parents=True)
    rows = compare(task)
    _tell(f"{tool}: {table.duration(time.monotonic() - began)}")
    return rows


def _show(rows: Sequence[Row], failures: dict[str, str], chosen: Sequence[Case]) -> None:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    if rows:
        console.print(table.table_of(rows))
    goal = table.goal_of(table.document(rows, failures, [case.id for case in chosen]))
    for note in [*table.notes_of(rows), *([goal.text()] if goal else [])]:
        console.print(note, markup=False)
    for tool, reason in failures.items():
        console.print(f"{tool} failed: {reason}", markup=False)


def _tell(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", type=_names, default=TOOLS, help=f"comma-separated; all: {','.join(TOOLS)}")
    parser.add_argument("--cases", type=_positive, default=None, help=f"how many of the {len(cases())} cases")
    parser.add_argument("--trial", action="store_true", help="pyopbench in seconds: shows that it runs, not how well")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table and every pair")
    parser.add_argument("--out", type=Path, metavar="DIR", help="new folder that keeps all raw files")
    options = parser.parse_args(arguments)
    if options.out and options.out.exists() and any(options.out.iterdir()):
        parser.error(f"--out {options.out} is not empty; name a new folder")
    return options


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in TOOLS]:
        raise argparse.ArgumentTypeError(f"unknown {', '.join(unknown)}; legal: {', '.join(TOOLS)}")
    return names


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:  # raw files of what was measured stay where it said that they are
        sys.exit(130)
