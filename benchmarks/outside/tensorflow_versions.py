"""Measure what callbacks and TensorFlow ops cost in each version of TensorFlow, and confirm the changes.

python benchmarks/outside/tensorflow_versions.py FOLDER [--quick]    writes tensorflow_versions.json

The built-in ops are measured on all versions that this Python can run, interleaved in one run. `pyopbench history`
finds steps between versions, and `--confirm` measures both sides of each again, interleaved. A step that is not
confirmed is listed as a suspicion. Where a callback has a step between two versions that have different versions of
NumPy, the newer TensorFlow is also measured with both, to see whether NumPy is the cause.

`FOLDER` keeps all runs; the same command continues. Every version needs an environment of about 2.8 GB, which is
installed on first use, and 600 MiB of memory while it is measured. `--versions` selects some. With `--quick`, the run
has 18 minutes, and each pair of versions 2 more; otherwise it has 3 hours, and each pair 10 minutes. Nothing else may
run on the machine meanwhile.
"""

from __future__ import annotations

import itertools
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
from pyopbench.model.case import Case
from pyopbench.model.discover import find
from pyopbench.report.gate import DOCUMENT
from pyopbench.store import run_folder, run_sides

VERSION = 1
STORED = tallies.RESULTS / "tensorflow_versions.json"
CALLBACKS = ("numpy_function", "py_function_numpy")
VARIANTS = (*CALLBACKS, "native")
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
    measure = _run(ops, [word for one in versions for word in ("--tf", one)], VARIANTS, run, place)
    history = ["history", str(place), "--by", "tf", "--confirm", "--budget", again, "--out", str(folder / "history")]
    return [measure, history]


def _run(ops: Sequence[str], sides: Sequence[str], variants: Sequence[str], budget: str, place: Path) -> list[str]:
    """Return the command that measures ops on several sides, interleaved, or that continues such a run."""
    if run_sides.is_here(place):
        return ["resume", str(place), "--yes"]
    words = ["run", *ops, *sides, "--axis", f"size={SIZE}", "--direction", "forward", "--variant", ",".join(variants)]
    return [*words, "--baseline", CALLBACKS[0], "--budget", budget, "--out", str(place)]


def read_numpys(folder: Path) -> dict[str, str]:
    """Return the version of NumPy that each version of TensorFlow was measured with."""
    sides = [one for one in run_sides.read(folder / "all") if not one.is_control]
    return {str(one.tf): run_folder.read_run(one.folder).environment["numpy"] for one in sides}


def list_numpy_changes(
    versions: Sequence[str], numpys: Mapping[str, str], rows: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str, str]]:
    """Yield each version of TensorFlow with whose NumPy a callback changed, that of the version before, and its own."""
    steps = {
        (step["before"], step["after"])
        for row in rows
        if Case.from_id(row["case"]).variant in CALLBACKS
        for step in row["steps"]
        if step["status"] != "refuted"
    }
    for before, after in itertools.pairwise(one for one in versions if one in numpys):
        if numpys[before] != numpys[after] and (before, after) in steps:
            yield after, numpys[before], numpys[after]


def row_of_numpy(version: str, before: str, after: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return how long callbacks take with a newer NumPy, relative to an older one, on one version of TensorFlow.

    Args:
        version: of TensorFlow.
        before: the older version of NumPy.
        after: the newer version of NumPy.
        answer: the `gate.json` of the run; without comparisons if one of them could not be installed.
    """
    kept = ("case", "ratio", "low", "high", "outcome")
    cases = [{key: one[key] for key in kept} for found in answer["comparisons"].values() for one in found["cases"]]
    return {"tf": version, "before": before, "after": after, "cases": cases}


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


def means_table(document: Mapping[str, Any]) -> str:
    """Return a row for each version: its NumPy, and the geometric means over the ops that all versions have."""
    versions, numpys = document["versions"], document["numpy"]
    columns, heads, counts = [[numpys.get(one, "") for one in versions]], ["NumPy"], set[int]()
    for variant in VARIANTS:
        every = [row["ratios"] for row in document["rows"] if Case.from_id(row["case"]).variant == variant]
        complete = [ratios for ratios in every if all(one in ratios for one in versions)]
        logs = [sum(math.log(ratios[one]) for ratios in complete) for one in versions]
        columns.append([f"{math.exp(total / len(complete)):.2f}" if complete else "" for total in logs])
        heads.append(f"`{variant}`")
        counts.add(len(complete))
    means = table(("TensorFlow", *heads), list(zip(versions, *columns, strict=True)))
    return f"{means}\nMeans of {' to '.join(map(str, sorted(counts)))} ops.\n"


def results_table(document: Mapping[str, Any]) -> str:
    """Return a row for each case with its time in each version relative to the first, as Markdown."""
    versions = document["versions"]
    rows = [
        (*_names(row["case"]), *(f"{row['ratios'][one]:.2f}" if one in row["ratios"] else "" for one in versions))
        for row in document["rows"]
    ]
    return table(("op", "variant", *versions), rows)


def _names(case: str) -> tuple[str, str]:
    found = Case.from_id(case)
    return f"`{found.op}`", f"`{found.variant}`"


def numpy_table(document: Mapping[str, Any]) -> str:
    """Return what a newer NumPy alone did to callbacks of each TensorFlow, over their ops, as Markdown."""
    lines = []
    for row in document["numpy rows"]:
        for variant in CALLBACKS:
            ratios = sorted(one["ratio"] for one in row["cases"] if Case.from_id(one["case"]).variant == variant)
            if ratios:
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                numpys, ends = f"{row['before']} to {row['after']}", f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
                lines.append((row["tf"], numpys, f"`{variant}`", str(len(ratios)), f"{mean:.2f}", ends))
    return table(("TensorFlow", "NumPy", "variant", "ops", "ratio, geometric mean", "smallest to largest"), lines)


def steps_table(document: Mapping[str, Any]) -> str:
    """Return a row for each step, the largest first: confirmed, refuted, unresolved, or only suspected."""
    return table(("op", "variant", "from", "to", "ratio, interval", "status"), list(_steps(document["rows"])))


def _steps(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    every = [(row["case"], step) for row in rows for step in row["steps"]]
    for case, step in sorted(every, key=lambda pair: -abs(math.log(pair[1]["ratio"]))):
        yield (
            *_names(case),
            step["before"],
            step["after"],
            f"{step['ratio']:.3f} ({step['low']:.3f}-{step['high']:.3f})",
            step["status"],
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, find and confirm steps, store the results, and print the tables."""
    here = versions_here(sys.version_info[:2])
    parser = tallies.parser_of(__doc__, STORED)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="about an hour instead of several")
    parser.add_argument("--versions", nargs="+", choices=here, default=here, metavar="VERSION")
    parser.add_argument("--ops", nargs="+", default=sorted(find("ops")), help="the built-in ops")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for words in commands(folder, options.versions, options.ops, is_quick=options.quick):
        _measure(words)
    rows, numpys = rows_of(_content(folder / "history" / "history.json")), read_numpys(folder)
    document = stored_document.begin(VERSION, (), {"quick": options.quick})
    document |= {"versions": options.versions, "numpy": numpys, "rows": rows, "numpy rows": []}
    for version, before, after in list_numpy_changes(options.versions, numpys, rows):
        place = folder / f"numpy-{version}"
        sides = ["--tf", version, "--with", f"numpy=={before}", "--with", f"numpy=={after}"]
        _measure(_run(options.ops, sides, CALLBACKS, BUDGETS[options.quick][1], place))
        document["numpy rows"].append(row_of_numpy(version, before, after, _content(place / DOCUMENT)))
    stored_document.write(options.json, document)
    sys.stdout.write("\n".join(one(document) for one in (means_table, results_table, steps_table, numpy_table)))


def _measure(words: Sequence[str]) -> None:
    code = subprocess.run([sys.executable, "-m", "pyopbench", *words], check=False).returncode
    if code not in DONE:
        sys.exit(f"exit code {code} of pyopbench {' '.join(words)}; the same command as before continues")


def _content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
