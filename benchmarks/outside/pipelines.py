"""Run programs before and after the change that `pyopbench pipeline --program` recommends.

    python benchmarks/outside/pipelines.py FOLDER --json pipelines.json   # all, 3 to 4 minutes for each
    python benchmarks/outside/pipelines.py FOLDER NAME --budget 20s --seconds 2     # one of them, to try it out

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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tally import Document, new_parser, parse_options, table

RUNNER = Path(__file__).with_name("examine_pipeline.py")
ROUNDS = 3
COLUMNS = ("program", "answer", "steps a second now", "after", "gain")
KEPT = ("action", "arrangement", "gain", "program", "step", "left_out")
"""The parts of a decision that are stored."""


def main(arguments: Sequence[str]) -> int:
    """Measure programs; return the exit code."""
    parser = new_parser(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; all of the folder if none is named")
    parser.add_argument("--budget", default="75s", help="of each measurement (75s)")
    parser.add_argument("--seconds", type=float, default=8.0, help="how long a program draws from its dataset (8)")
    options = parse_options(parser, arguments)
    folders = {path.parent.name: path.parent for path in sorted(options.folder.glob("*/program.json"))}
    folders = {name: one for name, one in folders.items() if not options.names or name in options.names}
    if not folders:
        parser.error(f"no program.json in {options.folder}/*/")
    document = Document(options.json, {"budget": options.budget, "seconds": options.seconds, "rounds": ROUNDS})
    document.add_all(folders, lambda name: examine(folders[name], options.budget, options.seconds))
    results = {name: document.results[name] for name in folders}
    slower = sum(map(_is_slower, results.values()))
    failed = sum("failed" in one or None in (*one["now"], *one["after"]) for one in results.values())
    print(table(COLUMNS, [_row(name, one) for name, one in results.items()]))
    print(f"{slower} changes made a program slower; {failed} of {len(results)} programs could not be measured.")
    return 1 if slower or failed else 0


def examine(folder: Path, budget: str, seconds: float) -> dict[str, Any]:
    """Return what is recommended for a program, and its steps per second `now` and `after` the change."""
    facts = json.loads((folder / "program.json").read_text(encoding="utf-8"))
    named = [facts["op"], *(word for one in facts.get("inputs", ()) for word in ("--input", one))]
    named += ["--seed-with", facts["seed_with"]] if facts.get("seed_with") else []
    with tempfile.TemporaryDirectory() as scratch:
        run, arranged = Path(scratch) / "run", Path(scratch) / "arranged.py"
        command = ["pipeline", *named, "--program", facts["program"], "--budget", budget, "--out", str(run), "--json"]
        command += ["--baseline", facts["baseline"]] if facts.get("baseline") else []
        done = _pyopbench(command, folder)
        if done.returncode:
            return {"failed": (done.stderr.strip().splitlines() or ["it ended"])[-1]}
        decision = json.loads(done.stdout)
        result: dict[str, Any] = {**{key: decision[key] for key in KEPT}, "now": [], "after": []}
        key, is_changed = decision["arrangement"], decision["action"] not in ("keep", "undecided")
        if is_changed and not key.startswith("map"):
            done = _pyopbench(["port", *named, "--to", key, "--out", str(arranged)], folder)
            if done.returncode:
                return {"failed": (done.stderr.strip().splitlines() or ["it ended"])[-1]}
        for _ in range(ROUNDS):
            result["now"].append(_steps_a_second(folder, facts, seconds, "map", ""))
            if is_changed:
                file = str(arranged) if arranged.exists() else ""
                result["after"].append(_steps_a_second(folder, facts, seconds, key, file))
    return result


def _pyopbench(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pyopbench", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _steps_a_second(folder: Path, facts: Mapping[str, Any], seconds: float, key: str, file: str) -> float | None:
    command = [sys.executable, str(RUNNER), json.dumps(facts), str(seconds), key, file]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return None
    return float(done.stdout.split()[-1])


def _median(found: Mapping[str, Any], when: str) -> float | None:
    rates = [one for one in found.get(when, ()) if one is not None]
    return statistics.median(rates) if rates else None


def _is_slower(found: Mapping[str, Any]) -> bool:
    now, after = _median(found, "now"), _median(found, "after")
    return now is not None and after is not None and after < now


def _row(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    if "failed" in found:
        return (name, found["failed"], "", "", "")
    now, after = _median(found, "now"), _median(found, "after")
    rates = (", ".join("failed" if one is None else f"{one:.3g}" for one in found[when]) for when in ("now", "after"))
    return (name, str(found["arrangement"] or found["action"]), *rates, f"{after / now:.2f}" if now and after else "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
