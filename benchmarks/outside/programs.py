"""Run `pyopbench advise` on programs, and store what each change saved.

    python benchmarks/outside/programs.py FOLDER                      # all: results/outside/programs.json
    python benchmarks/outside/programs.py FOLDER huber spo2           # some; the tables to stdout alone
    python benchmarks/outside/programs.py FOLDER --json OTHER.json --resume

Each program is a folder with one script (`train.py`, or the first `.py` file). A table `sources.tsv` in FOLDER, with
the columns name, kind, source and rule, describes each and how it was found; none of its code is in the result. A
program takes up to `--budget` (8 minutes) and the time to start everything. Programs run one after another, so that
they can be timed; the machine has to be idle.

A change must not make a program slower. Exit codes: 0 none did, 1 one did, or a command failed, 2 bad usage.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import stored_document
from markdown_table import cell, table
from outside import tallies

STORED = tallies.RESULTS / "programs.json"
VERSION = 1
COLUMNS = ("program", "callback", "where", "at most", "answer", "saves alone", "realised", "losses", "seconds")
KEPT = (
    "file",
    "line",
    "function",
    "kind",
    "where",
    "most",
    "action",
    "variant",
    "draws",
    "why",
    "saves_alone",
    "withdrawn",
)
"""The parts of each callback in a report that are stored."""
MISSING = "–"


def main(arguments: Sequence[str]) -> int:
    """Run the requested part; return the exit code."""
    parser = tallies.parser_of(__doc__)
    parser.add_argument("folder", type=Path, help="of programs")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; all if none is named")
    parser.add_argument("--budget", default="8m", help="of each program (8m)")
    parser.add_argument("--out", type=Path, help="keep the folders of results here; by default none is kept")
    parser.add_argument("--json", type=Path, help="write the results here; default: programs.json if all are run")
    parser.add_argument("--resume", action="store_true", help="keep the results that are already in that file")
    options = parser.parse_args(arguments)
    folders = [one for one in sorted(options.folder.iterdir()) if one.is_dir() and list(one.glob("*.py"))]
    folders = [one.resolve() for one in folders if not options.names or one.name in options.names]
    if not folders or len(folders) < len(set(options.names)):
        parser.error(f"no such program in {options.folder}")
    with tempfile.TemporaryDirectory() as scratch:
        out = (options.out or Path(scratch)).resolve()
        out.mkdir(parents=True, exist_ok=True)
        return _advise_all(folders, out, options)


def _advise_all(folders: Sequence[Path], out: Path, options: Any) -> int:
    stored = options.json or (None if options.names else STORED)
    document = {**tallies.begin(VERSION, {"budget": options.budget}), "sources": _sources(options.folder)}
    document |= {"programs": []}
    if options.resume and stored is not None and stored.exists():
        document = stored_document.read_to_go_on(stored, document)
    done = {one["program"] for one in document["programs"]}
    for folder in folders:
        if folder.name in done:
            continue
        found = advise(folder, out / folder.name, options.budget)
        document["programs"].append(found)
        print(f"{folder.name}: {found['seconds']:.0f} s", file=sys.stderr, flush=True)
        if stored is not None:
            stored_document.write(stored, document)
    print(f"{programs_table(document)}\n{totals(document)}\n{reasons(document)}")
    counted = _counts(document)
    return 0 if not counted["slower"] and not counted["failed"] else 1


def _sources(folder: Path) -> dict[str, dict[str, str]]:
    """Return kind, source and rule of each program, by its name."""
    rows = tallies.read_sources(folder)
    return {row["name"]: {key: row[key] for key in ("kind", "source", "rule")} for row in rows}


def script_of(folder: Path) -> Path:
    """Return the script of a program."""
    named = folder / "train.py"
    return named if named.exists() else next(iter(sorted(folder.glob("*.py"))))


def command_of(folder: Path, out: Path, budget: str) -> list[str]:
    """Return the command to try."""
    command = [sys.executable, "-m", "pyopbench", "advise", "--out", str(out), "--budget", budget, "--"]
    return [*command, sys.executable, script_of(folder).name]


def advise(folder: Path, out: Path, budget: str) -> dict[str, Any]:
    """Return what a command reports about a program, and how long it took; a failure is `error`."""
    start = time.perf_counter()
    done = subprocess.run(command_of(folder, out, budget), cwd=folder, capture_output=True, text=True, check=False)
    found: dict[str, Any] = {"program": folder.name, "seconds": time.perf_counter() - start}
    report = out / "report.json"
    if done.returncode or not report.exists():
        last = [line for line in done.stderr.splitlines() if line.strip()]
        return found | {"error": last[-1] if last else f"exit code {done.returncode}"}
    (out.parent / f"{folder.name}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    content = json.loads(report.read_text(encoding="utf-8"))
    return found | {
        "callbacks": [{key: one[key] for key in KEPT} for one in content["callbacks"]],
        "realised": content["realised"],
        "loss_difference": content["loss_difference"],
        "is_changed": content["patch"] is not None,
    }


def _share(value: float | None) -> str:
    return MISSING if value is None else f"{value:.0%}"


def _interval(found: Mapping[str, float] | None) -> str:
    """Return a share with its interval as percentages."""
    if found is None or found["value"] is None:
        return MISSING
    low, high = (found.get(name) for name in ("low", "high"))
    ends = "" if low is None or high is None else f" ({low:.0%} to {high:.0%})"
    return f"{found['value']:.0%}{ends}"


def _counts(document: Mapping[str, Any]) -> dict[str, int]:
    programs = document["programs"]
    changed = [one for one in programs if one.get("is_changed")]
    ends = [one["realised"]["high"] for one in changed]
    return {
        "programs": len(programs),
        "failed": sum("error" in one for one in programs),
        "left as they are": sum("error" not in one and not one["is_changed"] for one in programs),
        "changed": len(changed),
        "slower": sum(end is not None and end < 0 for end in ends),
    }


def totals(document: Mapping[str, Any]) -> str:
    """Return how many programs were changed, and how many became slower, as Markdown."""
    return table(("programs", "number"), [(name, f"{number}") for name, number in _counts(document).items()])


def programs_table(document: Mapping[str, Any]) -> str:
    """Return a row for each callback and each change that was withdrawn, as Markdown."""
    return table(COLUMNS, [tuple(map(cell, row)) for one in document["programs"] for row in _rows(one)])


def reasons(document: Mapping[str, Any]) -> str:
    """Return why callbacks were left as they are, as a list in Markdown."""
    return "".join(
        f"- {one['program']}: {cell(callback['why'])}\n"
        for one in document["programs"]
        for callback in one.get("callbacks", ())
        if callback["action"] == "leave"
    )


def _rows(one: Mapping[str, Any]) -> list[tuple[str, ...]]:
    name, seconds = one["program"], f"{one['seconds']:.0f}"
    if "error" in one:
        return [(name, one["error"], *[MISSING] * 6, seconds)]
    rows = []
    for callback in one["callbacks"]:
        title = f"{callback['file']}:{callback['line']} {callback['function'].rpartition('<locals>.')[2]}"
        place = (callback["where"], f"{callback['most']:.1%}")
        is_change = callback["action"] != "leave"
        changes = sum(each["action"] != "leave" for each in one["callbacks"])
        realised = one["realised"] if is_change and changes == 1 else None
        losses = one["loss_difference"] if is_change else None
        rows.append(
            (
                name,
                title,
                *place,
                callback["variant"] if is_change else "leave it",
                _share(callback["saves_alone"]),
                _interval(realised),
                MISSING if losses is None else f"{losses:.1g}",
                seconds,
            )
        )
        for tried in callback["withdrawn"]:
            shown = (_share(tried["saves_alone"]), _interval(tried["realised"]))
            rows.append((name, title, *place, f"{tried['variant']}: withdrawn", *shown, MISSING, MISSING))
    return rows or [(name, "no callback", *[MISSING] * 6, seconds)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
