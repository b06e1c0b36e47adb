"""Measure what callbacks and TensorFlow ops cost in each version of TensorFlow, and confirm the changes.

python benchmarks/outside/tensorflow_versions.py FOLDER [--quick]    writes tensorflow_versions.json

The built-in ops are measured on all versions that this Python can run, interleaved in one run. `pyopbench history`
finds steps between versions, and `--confirm` measures both sides of each again, interleaved. A step that is not
confirmed is listed as a suspicion.

`FOLDER` keeps all runs; the same command continues. Every version needs an environment of about 2.8 GB, which is
installed on first use, and 600 MiB of memory while it is measured. `--versions` selects some. With `--quick`, the run
has 18 minutes, and each pair of versions 2 more; otherwise it has 3 hours, and each pair 10 minutes. Nothing else may
run on the machine meanwhile.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
import stored_document
from markdown_table import table
from outside import tallies
from pyopbench.engine.environments import LOCKS, NEWEST_PYTHON, NEWEST_PYTHON_BEFORE
from pyopbench.model.discover import find
from pyopbench.store import run_sides

VERSION = 1
STORED = tallies.RESULTS / "tensorflow_versions.json"
VARIANTS = ("numpy_function", "py_function_numpy", "native")
SIZE = "1000"
BUDGETS = {True: ("18m", "2m"), False: ("3h", "10m")}
"""Budgets of the run and of each pair that is measured again: with `--quick` and without."""
DONE = (0, 1)
"""Exit codes: nothing slower, or something that is."""


def versions_here(python: tuple[int, int]) -> list[str]:
    """Return the versions of TensorFlow that have a lock and wheels for a Python, oldest first."""
    found = sorted((path.stem for path in LOCKS.glob("*.txt")), key=_key)
    return [one for one in found if python <= _newest_python(one)]


def _key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _newest_python(version: str) -> tuple[int, int]:
    since = [python for start, python in NEWEST_PYTHON.items() if _key(start) <= _key(version)[:2]]
    return max(since, default=NEWEST_PYTHON_BEFORE)


def commands(folder: Path, versions: Sequence[str], ops: Sequence[str], *, is_quick: bool) -> list[list[str]]:
    """Return the commands that measure all versions, or continue, and that find and confirm steps."""
    run, again = BUDGETS[is_quick]
    place = folder / "all"
    measure = [
        "run",
        *ops,
        *(word for one in versions for word in ("--tf", one)),
        "--axis",
        f"size={SIZE}",
        "--direction",
        "forward",
    ]
    measure += [*(word for one in VARIANTS for word in ("--variant", one)), "--budget", run, "--out", str(place)]
    if run_sides.is_here(place):
        measure = ["resume", str(place), "--yes"]
    history = ["history", str(place), "--by", "tf", "--confirm", "--budget", again, "--out", str(folder / "history")]
    return [measure, history]


def rows_of(history: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return for each case its time in each version, relative to the first, and its steps."""
    labels = [one["label"] for one in history["moments"]]
    found = []
    for number, series in enumerate(history["series"]):
        points = series["points"]
        ratios = {labels[at]: math.exp(value) for at, value in zip(points["moment"], points["value"], strict=True)}
        steps = [
            {key: change[key] for key in ("before", "after", "ratio", "low", "high", "status")}
            for change in history["changes"]
            if change["number"] == number
        ]
        found.append({"case": series["case"], "measure": series["measure"], "ratios": ratios, "steps": steps})
    return found


def results_table(document: Mapping[str, Any]) -> str:
    """Return a row for each case with its time in each version relative to the first, as Markdown."""
    versions = document["versions"]
    rows = [
        (row["case"], *(f"{row['ratios'][one]:.2f}" if one in row["ratios"] else "" for one in versions))
        for row in document["rows"]
    ]
    return table(("case", *versions), rows)


def steps_table(document: Mapping[str, Any]) -> str:
    """Return a row for each step, the largest first: confirmed, refuted, unresolved, or only suspected."""
    return table(("case", "from", "to", "ratio, interval", "status"), list(_steps(document["rows"])))


def _steps(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    every = [(row["case"], step) for row in rows for step in row["steps"]]
    for case, step in sorted(every, key=lambda pair: -abs(math.log(pair[1]["ratio"]))):
        yield (
            case,
            step["before"],
            step["after"],
            f"{step['ratio']:.3f} ({step['low']:.3f}-{step['high']:.3f})",
            step["status"],
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, find and confirm steps, store the results, and print both tables."""
    here = versions_here(sys.version_info[:2])
    parser = tallies.parser_of(__doc__, STORED)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="about 40 minutes in place of several hours")
    parser.add_argument("--versions", nargs="+", choices=here, default=here, metavar="VERSION")
    parser.add_argument("--ops", nargs="+", default=sorted(find("ops")), help="the built-in ops")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for words in commands(folder, options.versions, options.ops, is_quick=options.quick):
        code = subprocess.run([sys.executable, "-m", "pyopbench", *words], check=False).returncode
        if code not in DONE:
            sys.exit(f"exit code {code} of pyopbench {' '.join(words)}; the same command as before continues")
    history = json.loads((folder / "history" / "history.json").read_text(encoding="utf-8"))
    document = stored_document.begin(VERSION, (), {"quick": options.quick})
    document |= {"versions": options.versions, "rows": rows_of(history)}
    stored_document.write(options.json, document)
    sys.stdout.write(f"{results_table(document)}\n{steps_table(document)}")


if __name__ == "__main__":
    main()
