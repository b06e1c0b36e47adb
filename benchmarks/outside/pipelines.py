"""Compare the rates that `pyopbench pipeline --program` predicts with those of programs before and after the change.

    python benchmarks/outside/pipelines.py FOLDER            # every program, one after another; 3 to 4 minutes for each
    python benchmarks/outside/pipelines.py FOLDER NAME       # one of them; stored only with --json
    python benchmarks/outside/pipelines.py FOLDER --resume   # those that are not stored yet
    python benchmarks/outside/pipelines.py FOLDER --budget 20s --seconds 2 --json try.json   # to try it out

A program is a folder with `program.json`: `op` (as on the command line), `inputs` (an expression for each argument of a
function), `program` (`train.py:make_dataset`), and where needed `seed_with` and `baseline`. It is measured, the
recommended arrangement is written by `pyopbench port`, and the program runs with and without it in separate processes,
three times each, interleaved: a Python loop draws from its dataset, as a training loop does. The requirements: at least
9 of 10 realised rates are in the promised interval, 8 of 10 are within 15% of its middle, and no change is slower. Exit
codes: 0 all are met, 1 not all are met, 2 bad usage.
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
NEAR = 0.15
IN_INTERVAL, IN_MIDDLE = 0.9, 0.8
"""Required shares of the programs whose realised rates are in the interval, and near its middle."""
COLUMNS = ("program", "answer", "steps/s promised now", "measured", "promised after", "measured", "gain", "in interval")
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
    """Return how it was made, a row for each program, and how many promises were kept, as Markdown."""
    return "\n".join(part(document) for part in (tallies.made, programs, totals))


def programs(document: Mapping[str, Any]) -> str:
    """Return a row for each program, as Markdown."""
    return table(COLUMNS, [_row(name, one) for name, one in document["examined"].items()])


def totals(document: Mapping[str, Any]) -> str:
    """Return how many promises were kept, as Markdown."""
    found = list(document["examined"].values())
    promises = [one for each in found for one in _promises(each)]
    inside, near = (sum(check(*one) for one in promises) for check in (_is_inside, _is_near))
    slower, failed = sum(map(_is_slower, found)), sum("error" in one for one in found)
    return (
        f"Of {len(promises)} promises for {len(found)} programs, {inside} intervals contain the measured rate, and "
        f"{near} middles are within {NEAR:.0%} of it. {slower} changes made a program slower; {failed} programs "
        "could not be measured.\n"
    )


def examine(folder: Path, budget: str, seconds: float) -> dict[str, Any]:
    """Return what is promised for a program, and what it makes: steps a second."""
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


def _promises(found: Mapping[str, Any]) -> list[tuple[list[float | None], float]]:
    """Return each promise, as a rate and the ends of its interval, with the rate that was made."""
    step = found.get("step", {})
    pairs = (("now", step.get("steps_per_second")), ("after", step.get("steps_per_second_after")))
    made = [(promised, _made(found, when)) for when, promised in pairs]
    return [(promised, rate) for promised, rate in made if promised and rate is not None]


def _is_inside(promised: Sequence[float | None], rate: float) -> bool:
    _, low, high = promised
    return low is not None and high is not None and low <= rate <= high


def _is_near(promised: Sequence[float | None], rate: float) -> bool:
    return promised[0] is not None and abs(rate / promised[0] - 1) <= NEAR


def _is_slower(found: Mapping[str, Any]) -> bool:
    now, after = _made(found, "now"), _made(found, "after")
    return now is not None and after is not None and after < now


def _holds(found: Sequence[Mapping[str, Any]]) -> bool:
    promises = [one for each in found for one in _promises(each)]
    if not promises or any(map(_is_slower, found)) or any("error" in one for one in found):
        return False
    inside = statistics.mean(_is_inside(*one) for one in promises)
    return inside >= IN_INTERVAL and statistics.mean(_is_near(*one) for one in promises) >= IN_MIDDLE


def _row(name: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    if "error" in found:
        last = found["error"].splitlines()[-1] if found["error"] else "failed"
        return (name, last, *[""] * (len(COLUMNS) - 2))
    step, now, after = found["step"], _made(found, "now"), _made(found, "after")
    return (
        name,
        str(found["arrangement"] or found["action"]),
        _interval(step["steps_per_second"]),
        _each(found["now"]),
        _interval(step["steps_per_second_after"]) if found["after"] else "",
        _each(found["after"]),
        f"{after / now:.2f}" if now and after else "",
        ", ".join("yes" if _is_inside(*one) else "no" for one in _promises(found)),
    )


def _interval(rate: Sequence[float | None] | None) -> str:
    if not rate:
        return ""
    value, low, high = ("?" if one is None else f"{one:.3g}" for one in rate)
    return f"{value} ({low} to {high})"


def _each(rates: Sequence[float | None]) -> str:
    return ", ".join("failed" if one is None else f"{one:.3g}" for one in rates)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
