"""What the scripts share that try ports of many op files: a process for each, a file that grows, tables of outcomes."""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from pyopbench.model.files import write_atomically

PORTED = Path(__file__).with_name("ported.py")
PACKAGES = ("tensorflow-cpu", "tensorflow", "numpy", "numba", "llvmlite", "scipy", "asv", "pytest-benchmark")
OUTCOMES = ("right", "refused", "failed", "wrong")
"""Of a port: `refused` if none can be written, `failed` where it raises or its own test fails, `wrong` if other draws
than those of its test differ."""

FILE_SECONDS = 900.0
"""How long all forms of one op file may take."""


def parse_options(
    parser: argparse.ArgumentParser, arguments: Sequence[str], *, in_parallel: bool = False
) -> argparse.Namespace:
    """Return the options of a script, with those that all these scripts have, or those whose files can run together."""
    parser.add_argument("--json", type=Path, help="write the results here; what it already has is not tried again")
    if in_parallel:
        parser.add_argument("--processes", type=int, default=2, help="files at a time (2; 1 with --time)")
    return parser.parse_args(arguments)


def new_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser that keeps the lines of a description."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def read_sources(folder: Path) -> list[dict[str, str]]:
    """Return the rows of `sources.tsv` in a folder, the origin of its content; none without that file."""
    path = folder / "sources.tsv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


class Document:
    """Results by name, in a JSON file that is written after each, so that an interrupted script can go on."""

    def __init__(self, path: Path | None, settings: Mapping[str, Any]) -> None:
        """Read what is there.

        Raises:
            SystemExit: the file was made with other versions or settings.
        """
        made_with = {"versions": installed_versions(), "settings": dict(settings)}
        self.path = path
        self.content: dict[str, Any] = {"created": time.strftime("%Y-%m-%d"), **made_with, "results": {}}
        if path is not None and path.exists():
            self.content = json.loads(path.read_text(encoding="utf-8"))
            if {key: self.content.get(key) for key in made_with} != made_with:
                sys.exit(f"{path} was made with other versions or settings; name a new file with --json")

    @property
    def results(self) -> dict[str, Any]:
        """What is there, by name."""
        results: dict[str, Any] = self.content["results"]
        return results

    def add(self, name: str, result: Any) -> None:
        """Keep a result."""
        self.results[name] = result
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self.path, (json.dumps(self.content, indent=1) + "\n").encode())

    def add_all(self, names: Iterable[str], result_of: Callable[[str], Any], processes: int = 1) -> None:
        """Compute and keep the results that are not there yet, several at a time."""
        missing = [name for name in names if name not in self.results]
        with ThreadPoolExecutor(processes) as pool:
            for name, result in zip(missing, pool.map(result_of, missing), strict=True):
                self.add(name, result)
                print(f"{name}: {_summary(result)}", file=sys.stderr, flush=True)


def installed_versions() -> dict[str, str]:
    """Return the versions of packages that results depend on."""
    installed = {one.name.lower(): one.version for one in metadata.distributions()}
    return {name: installed[name] for name in PACKAGES if name in installed}


def _summary(result: Mapping[str, Any]) -> str:
    forms = ", ".join(f"{form} {outcome['became']}" for form, outcome in result.get("forms", {}).items())
    return str(result.get("failed") or forms or "done")


def examine(path: Path, *words: str, before: Sequence[str] = ()) -> dict[str, Any]:
    """Return what becomes of the ports of an op file: `forms`, `seconds` if asked for, or `failed`.

    Args:
        path: of the op.
        words: options of `ported.py`.
        before: what starts the process, such as `taskset`.
    """
    command = [*before, sys.executable, str(PORTED), str(path), *words]
    result: dict[str, Any] = {"forms": {}}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FILE_SECONDS, check=False)
        lines, why = done.stdout.splitlines(), ""
        if done.returncode:
            why = f"the process ended with {done.returncode}: {(done.stderr.strip().splitlines() or [''])[-1][:200]}"
    except subprocess.TimeoutExpired as error:
        lines, why = (error.stdout or b"").decode().splitlines(), f"took longer than {FILE_SECONDS:g} s"
    for line in map(json.loads, lines):
        if "form" in line:
            result["forms"][line.pop("form")] = line
        else:
            result |= line
    return result if not why or "failed" in result else {**result, "failed": why}


def share(count: int, of: int) -> str:
    """Return a count, the share that it is, and Wilson's 95% interval of that, such as `33 of 60, 55% (42-67%)`.

    Wilson, J. Am. Stat. Assoc. 22 (1927), as SciPy computes it.
    """
    if not of:
        return "0 of 0"
    ends = binomtest(count, of).proportion_ci(0.95, method="wilson")
    return f"{count} of {of}, {count / of:.0%} ({ends.low * 100:.0f}-{ends.high:.0%})"


def has_right(result: Mapping[str, Any], *forms: str) -> bool:
    """Is a form right, of some or of all?"""
    tried = result.get("forms", {})
    return any(tried[form]["became"] == "right" for form in forms or tried if form in tried)


def outcomes_table(results: Mapping[str, Any]) -> str:
    """Return how often each form had which outcome, as Markdown."""
    counted = Counter(
        (form, outcome["became"]) for one in results.values() for form, outcome in one.get("forms", {}).items()
    )
    forms = dict.fromkeys(form for form, _ in counted)
    return table(("form", *OUTCOMES), [(form, *(str(counted[form, one]) for one in OUTCOMES)) for form in forms])


def obstacles_table(results: Mapping[str, Any]) -> str:
    """Return a row for each form that is not right, with the reason, as Markdown."""
    rows = [(name, "all", "failed", one["failed"]) for name, one in results.items() if "failed" in one]
    rows += [
        (name, form, outcome["became"], f"{outcome['reason']} ({outcome['at']})")
        for name, one in results.items()
        for form, outcome in one.get("forms", {}).items()
        if outcome["became"] != "right"
    ]
    return table(("body", "form", "became", "reason"), rows) if rows else "Everything is right.\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown, a line for each row and a newline at its end."""
    lines = [[" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in (head, ["---"] * len(head), *rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def exit_code(results: Mapping[str, Any]) -> int:
    """Return 0, or 1 where something could not be examined or is wrong."""
    outcomes = [outcome["became"] for one in results.values() for outcome in one.get("forms", {}).values()]
    return 1 if "wrong" in outcomes or any("failed" in one for one in results.values()) else 0
