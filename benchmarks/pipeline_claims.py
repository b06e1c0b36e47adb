"""What `pyopbench pipeline` promises, held against what comes of it on an idle machine.

    python benchmarks/pipeline_claims.py answers      # three bodies of known answer, three times each: always the same?
    python benchmarks/pipeline_claims.py predictions  # a training changed as the report says: as quick as predicted?

The bodies are those of `examples/input_pipeline`, and the training is its `train.py`. Each prints a table; the exit
code is 1 if a promise was not kept. With `--quick` everything is too brief to be believed, to try the script.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[1] / "examples" / "input_pipeline"
KNOWN = {"augment": ("processes", "port", "batch_njit"), "denoise": ("parallel",), "brighten": ("batch",)}
"""Body -> the actions, or forms of one, that are right by how it is built: it holds the lock, which processes, a port
and Numba get rid of; lets go of it; is over at once."""
MOST_SECONDS = 90.0
STEP_SHARES = (0.25, 0.75)
"""How long a step waits for an accelerator, as a share of what its current input takes: the input holds it up by much,
and by little."""
BATCH = 32
NEAR = 0.1
TRAINED_SECONDS = 8.0
FEWEST_STEPS, MOST_STEPS = 60, 400
"""Steps of a training: as many as are expected in `TRAINED_SECONDS`, within these."""
TRAININGS = 3
"""Trainings before and after a change, in turns: the median of each is what came of it."""
QUICK = ("--launches", "2", "--budget", "12s", "--parallel", "1,AUTOTUNE", "--batch", "32")
CHANGES = {"map": "map", "switch": "switch", "processes": "processes", "port": "port"}
OF_BATCHES = {"batch_body": "batch", "batch_loop": "loop", "batch_njit": "njit", "port_batch": "port-of-batch"}
"""Form -> change of `train.py`, for an element as it is and for a batch."""


def run(command: Sequence[str]) -> str:
    """Return what a command prints; what it says on its way goes to the terminal."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def pipeline(body: str, *options: str) -> dict[str, Any]:
    """Return what `pyopbench pipeline` decides of a body, and what it measured."""
    found: dict[str, Any] = json.loads(
        run((sys.executable, "-m", "pyopbench", "pipeline", str(EXAMPLE / f"{body}.py"), "--json", *options))
    )
    return found


def print_row(*cells: object) -> None:
    """Print a row of a table as Markdown, at once."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)  # noqa: T201 - a script


def answers(given: argparse.Namespace) -> bool:
    """Ask for each body several times with the usual settings; are the answers right, the same, and there in time?"""
    kept = True
    print_row("body", "time", "answer", "arrangement", "times as many", "seconds")
    print_row(*["---"] * 6)
    for body in given.bodies:
        right, seen = KNOWN[body], set()
        for turn in range(given.runs):
            began = time.monotonic()
            found = pipeline(body, *(QUICK if given.quick else ()))
            seconds = time.monotonic() - began
            gain = found["gain"] or [None]
            print_row(body, turn + 1, found["action"], found["arrangement"], rounded(gain[0]), f"{seconds:.0f}")
            form = (found["arrangement"] or "").split(" ")[0]
            seen.add(form if form in right else found["action"])
            kept &= seconds <= MOST_SECONDS
        kept &= len(seen) == 1 and seen <= {*right}
        print_row(body, "", f"{'right' if seen <= {*right} else 'WRONG'}: {', '.join(right)} expected", "", "", "")
    return kept


def predictions(given: argparse.Namespace) -> bool:
    """Train with the current callback and as the report says, and hold steps a second against those predicted."""
    print_row("body", "step", "answer", "", "predicted", "interval", "realised", "off by", "")
    print_row(*["---"] * 9)
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        for body in given.bodies:
            measured = Path(folder) / body
            first_options = ("--step-elements", str(BATCH), "--out", str(measured), *(QUICK if given.quick else ()))
            first = pipeline(body, *first_options)
            for share in STEP_SHARES:
                wait = share * first["step"]["input_seconds"][0]
                step = trained(given, body, "ready", wait=wait, expected=1 / wait)
                options = ("--results", str(measured), "--step-elements", str(BATCH), "--step-ms", str(1e3 / step))
                kept &= compare(given, body, wait, pipeline(body, *options))
    return kept


def compare(given: argparse.Namespace, body: str, wait: float, found: Mapping[str, Any]) -> bool:
    """Print predicted and realised steps a second, now and after the change; are both as near as promised?"""
    step = f"{found['step']['seconds'] * 1e3:.2f} ms"
    change = change_of(found)
    rows: list[tuple[str, list[str], Any]] = [("now", ["map"], found["step"]["steps_per_second"])]
    if found["action"] not in ("keep", "undecided"):
        rows.append(("after", change, found["step"]["steps_per_second_after"]))
    realised: list[list[float]] = [[] for _ in rows]
    for _ in range(1 if given.quick else TRAININGS):
        for (_, how, (predicted, _, _)), seen in zip(rows, realised, strict=True):
            if how:
                seen.append(trained(given, body, *how, wait=wait, expected=predicted))
    near = [
        print_prediction((body, step, found["arrangement"], when), predicted, seen)
        for (when, _, predicted), seen in zip(rows, realised, strict=True)
    ]
    return all(near)


def print_prediction(about: Sequence[object], predicted: Sequence[float | None], seen: Sequence[float]) -> bool:
    """Print predicted and realised steps a second; is the median as near as promised, or within the interval?"""
    expected, low, high = predicted
    if expected is None or not seen:
        print_row(*about, rounded(expected), "", "train.py has no such change", "", "")
        return False
    realised = statistics.median(seen)
    off = realised / expected - 1
    within = low is not None and high is not None and low <= realised <= high
    is_near = abs(off) <= NEAR or within
    interval = "" if low is None else f"{rounded(low)}-{rounded(high)}"
    each = f"{rounded(realised)} ({rounded(min(seen))}-{rounded(max(seen))})"
    verdict = "" if abs(off) <= NEAR else "within the interval" if within else "NOT NEAR"
    print_row(*about, rounded(expected), interval, each, f"{off:+.1%}", verdict)
    return is_near


def change_of(found: Mapping[str, Any]) -> list[str]:
    """Return the words for `train.py` that make the change of a decision; none where it cannot make it."""
    arrangement = next((one for one in found["arrangements"] if one["key"] == found["arrangement"]), {"form": ""})
    form, variant = arrangement["form"], arrangement.get("variant")
    if form in OF_BATCHES and variant in ("", "native"):
        return [OF_BATCHES[form], "--batch", str(arrangement["batch"])]
    if (form, variant) == ("switch", "njit"):
        return ["switch-njit"]
    if form == "processes" and arrangement["batch"]:
        return ["processes-of-batch", "--batch", str(arrangement["batch"])]
    if form not in CHANGES or arrangement["batch"] or variant not in ("", "numpy_function", "native"):
        return []
    if form == "map" and arrangement["parallel"] != 1:
        return ["parallel", "--parallel", str(arrangement["parallel"])]
    return [CHANGES[form]]


def trained(given: argparse.Namespace, body: str, *change: str, wait: float, expected: float) -> float:
    """Return steps a second of the training, with so many seconds of waiting in each step, by how many are expected."""
    steps = 24 if given.quick else min(max(round(TRAINED_SECONDS * expected), FEWEST_STEPS), MOST_STEPS)
    words = (body, *change, "--wait-ms", str(wait * 1e3), "--steps", str(steps))
    said = run((sys.executable, str(EXAMPLE / "train.py"), *words))
    return float(said.split()[0])


def rounded(value: float | None) -> str:
    """Return a number with three digits."""
    return "" if value is None else f"{value:.3g}"


QUESTIONS: dict[str, Callable[[argparse.Namespace], bool]] = {"answers": answers, "predictions": predictions}


def main() -> int:
    """Ask one of the questions; 1 if a promise was not kept."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("question", choices=QUESTIONS)
    parser.add_argument("--runs", type=int, default=3, help="of each body, for answers")
    parser.add_argument("--bodies", nargs="+", choices=KNOWN, default=[*KNOWN])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    return 0 if QUESTIONS[given.question](given) else 1


if __name__ == "__main__":
    sys.exit(main())
