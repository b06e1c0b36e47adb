"""Run programs before and after the change that `pyopbench pipeline --program` recommends.

    python benchmarks/outside/pipelines.py FOLDER            # every program, one after another; 3 to 4 minutes for each
    python benchmarks/outside/pipelines.py FOLDER NAME       # one of them; stored only with --json
    python benchmarks/outside/pipelines.py FOLDER --resume   # those that are not stored yet
    python benchmarks/outside/pipelines.py FOLDER --budget 20s --seconds 2 --json try.json   # to try it out

A program is a folder with `program.json`: `op` (as on the command line), `inputs` (an expression for each argument of a
function), `program` (`train.py:make_dataset`), and where needed `seed_with` and `baseline`. It is measured, the
recommended arrangement is written by `pyopbench port`, and the program runs with and without it in separate processes,
three times each, interleaved: a Python loop draws from its dataset, as a training loop does. The requirements: no
change is slower and every program can be measured. Exit codes: 0 both are met, 1 not both are met, 2 bad usage.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import stored_document
from markdown_table import table
from outside import tallies

RUNNER = Path(__file__).with_name("examine_pipeline.py")
STORED = tallies.RESULTS / "pipelines.json"
VERSION = 1
ROUNDS = 3
COLUMNS = ("program", "answer", "steps a second now", "after", "gain")
KEPT = ("action", "arrangement", "gain", "program", "step", "left_out")
"""The parts of a decision that are stored."""


def main(arguments: Sequence[str]) -> int:
    """Measure the programs that were asked for; returns the exit code."""
    parser = tallies.parser_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="programs; all of the folder if none is named")
    parser.add_argument("--budget", default="75s", help="of each measurement (75s)")
    parser.add_argument("--seconds", type=float, default=8.0, help="how long a program draws from its dataset (8)")
    parser.add_argument("--json", type=Path, help=f"where the results are stored ({STORED} for all programs)")
    parser.add_argument("--resume", action="store_true", help="keep the results that are already in that file")
    given = parser.parse_args(arguments)
    folders = sorted(path.parent for path in given.folder.glob("*/program.json"))
    folders = [one for one in folders if not given.names or one.name in given.names]
    if not folders:
        parser.error(f"no program.json in {given.folder}/*/")
    stored = given.json or (None if given.names else STORED)
    settings = {"budget": given.budget, "seconds": given.seconds, "rounds": ROUNDS}
    document = stored_document.begin(VERSION, ("tensorflow-cpu", "keras", "numpy", "scipy", "numba"), settings)
    document["examined"] = {}
    if given.resume and stored is not None:
        document = stored_document.read_to_go_on(stored, document)
    for folder in folders:
        if folder.name in document["examined"]:
            continue
        print(f"{folder.name} ...", file=sys.stderr, flush=True)
        document["examined"][folder.name] = examine(folder, given.budget, given.seconds)
        if stored is not None:
            stored_document.write(stored, document)
    print(programs(document))
    print(totals(document))
    return 0 if _holds(list(document["examined"].values())) else 1


def report(document: Mapping[str, Any]) -> str:
    """Return how it was made, a row for each program, and how many are slower, as Markdown."""
    return "\n".join(part(document) for part in (tallies.made, programs, totals))


def programs(document: Mapping[str, Any]) -> str:
    """Return a row for each program, as Markdown."""
    return table(COLUMNS, [_row(name, one) for name, one in document["examined"].items()])


def totals(document: Mapping[str, Any]) -> str:
    """Return how many changes made a program slower, as Markdown."""
    found = list(document["examined"].values())
    slower, failed = sum(map(_is_slower, found)), sum("error" in one for one in found)
    return f"{slower} changes made a program slower; {failed} of {len(found)} programs could not be measured.\n"


def examine(folder: Path, budget: str, seconds: float) -> dict[str, Any]:
    """Return what is recommended for a program, and what it makes: steps a second."""
    began = time.monotonic()
    found = _examined(folder, budget, seconds)
    return {**found, "seconds": round(time.monotonic() - began, 1)}


def _examined(folder: Path, budget: str, seconds: float) -> dict[str, Any]:
    facts = json.loads((folder / "program.json").read_text(encoding="utf-8"))
    named = [facts["op"], *(word for one in facts.get("inputs", ()) for word in ("--input", one))]
    named += ["--seed-with", facts["seed_with"]] if facts.get("seed_with") else []
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / "run"
        command = ["pipeline", *named, "--program", facts["program"], "--budget", budget, "--out", str(run), "--json"]
        command += ["--baseline", facts["baseline"]] if facts.get("baseline") else []
        done = _pyopbench(command, folder)
        if done.returncode:
            return {"error": done.stderr.strip()[-2000:]}
        decision = json.loads(done.stdout)
        result: dict[str, Any] = {**{key: decision[key] for key in KEPT}, "now": [], "after": []}
        key, changed = decision["arrangement"], decision["action"] not in ("keep", "undecided")
        arranged = Path(scratch) / "arranged.py"
        if changed:
            written = _pyopbench(["port", *named, "--to", key, "--out", str(arranged)], folder)
            result["not_written"] = written.stderr.strip()[-2000:] if written.returncode else ""
        for _ in range(ROUNDS):
            result["now"].append(_steps_a_second(folder, facts, seconds, "map", None))
            if changed:
                path = arranged if arranged.exists() else None
                result["after"].append(_steps_a_second(folder, facts, seconds, key, path))
    return result


def _pyopbench(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pyopbench", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _steps_a_second(
    folder: Path, facts: Mapping[str, Any], seconds: float, key: str, arranged: Path | None
) -> float | None:
    words = [json.dumps(facts), str(seconds), key, str(arranged or "")]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, str(RUNNER), *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return None
    return float(done.stdout.split()[-1])


def _made(found: Mapping[str, Any], when: str) -> float | None:
    rates = [one for one in found.get(when, ()) if one is not None]
    return statistics.median(rates) if rates else None


def _is_slower(found: Mapping[str, Any]) -> bool:
    now, after = _made(found, "now"), _made(found, "after")
    return now is not None and after is not None and after < now


def _holds(found: Sequence[Mapping[str, Any]]) -> bool:
    return not any(_is_slower(one) or "error" in one for one in found)


def _row(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    if "error" in found:
        last = found["error"].splitlines()[-1] if found["error"] else "failed"
        return (name, last, *[""] * (len(COLUMNS) - 2))
    now, after = _made(found, "now"), _made(found, "after")
    return (
        name,
        str(found["arrangement"] or found["action"]),
        _each(found["now"]),
        _each(found["after"]),
        f"{after / now:.2f}" if now and after else "",
    )


def _each(rates: Sequence[float | None]) -> str:
    return ", ".join("failed" if one is None else f"{one:.3g}" for one in rates)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
