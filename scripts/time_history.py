"""Print how long `pyopbench history` takes over a made-up folder of asv's results, in seconds of processor and clock.

python scripts/time_history.py FOLDER [--files 3000] [--benchmarks 30] [--samples 0]

The folder is made if it is not there: a file for each commit, in which two thirds of the benchmarks have six
combinations of parameters, one fails, one was skipped, one counts, and one is of pyopbench's own suite. A sixth of the
series changes by a step somewhere. asv keeps samples only if it is asked to; `--samples` says how many of each. The
digests of what is written, in FOLDER/history, show whether a change of the code has changed a byte of it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

COLUMNS = [
    *("result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25"),
    *("stats_q_75", "stats_number", "stats_repeat", "samples"),
]
PARAMS = [["'float32'", "'float64'"], ["100", "10000", "1000000"]]
OWN = [["'sinh'"], ["'native'", "'numpy_function'"], ["1", "1000", "1000000"]]
FIRST = 1_700_000_000_000
"""The first commit, in milliseconds since 1970; there is one every six hours."""


def params_of(number: int) -> list[list[str]]:
    """Return the parameters of a benchmark."""
    return OWN if number == 0 else PARAMS if number % 3 else []


def name_of(number: int) -> str:
    """Return the name of a benchmark."""
    if number == 0:
        return "latency.ForwardLatency.time_call"
    return f"suite_{number // 10}.Benchmark{number}.{'track_size' if number == 3 else 'time_it'}"


def row(rng: random.Random, number: int, commit: int, samples: int) -> list[Any]:
    """Return a benchmark's row in the file of a commit."""
    params = params_of(number)
    many = len(params[0]) * len(params[1]) * (len(params[2]) if len(params) > 2 else 1) if params else 1
    begun = FIRST + commit * 21_600_000
    levels = [1e-6 * (1 + number) * 3**place for place in range(many)]
    steps = [1.2 if (number * 7 + place) % 6 == 0 and commit > 40 + 50 * place else 1.0 for place in range(many)]
    found = [level * step * rng.lognormvariate(0.0, 0.02) for level, step in zip(levels, steps, strict=True)]
    results: list[Any] = [None if number == 4 else one for one in found]
    if number == 5:
        results[0] = float("nan")
    of_each: list[list[Any]] = [[factor * one for one in found] for factor in (0.97, 1.04, 0.99, 1.01)]
    kept = [[one * rng.lognormvariate(0.0, 0.01) for _ in range(samples)] for one in found] if samples else None
    head = [results, params, hashlib.sha256(name_of(number).encode()).hexdigest(), begun + number, 3.5]
    return [*head, *of_each, [10] * many, [5] * many, *([kept] if kept else [])]


def write(folder: Path, files: int, benchmarks: int, samples: int) -> None:
    """Write a folder as asv does."""
    machine = folder / "a-machine"
    machine.mkdir(parents=True)
    about = {"machine": "a-machine", "os": "Linux 6.1", "arch": "x86_64", "cpu": "a CPU", "num_cpu": "8", "ram": "32"}
    (machine / "machine.json").write_text(json.dumps({**about, "version": 1}), encoding="utf-8")
    rng = random.Random(1)
    for commit in range(files):
        digest = hashlib.sha1(str(commit).encode(), usedforsecurity=False).hexdigest()
        document = {
            "commit_hash": digest,
            "env_name": "virtualenv-py3.11-numpy",
            "date": FIRST + commit * 21_600_000,
            "params": {**about, "python": "3.11", "numpy": ""},
            "python": "3.11",
            "requirements": {"numpy": "2.1"},
            "env_vars": {},
            "result_columns": COLUMNS,
            "results": {name_of(number): row(rng, number, commit, samples) for number in range(benchmarks)},
            "durations": {},
            "version": 2,
        }
        (machine / f"{digest[:8]}-virtualenv-py3.11-numpy.json").write_text(json.dumps(document), encoding="utf-8")


def main() -> None:
    """Write the folder if it is not there, and time the command."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=3000)
    parser.add_argument("--benchmarks", type=int, default=30)
    parser.add_argument("--samples", type=int, default=0)
    given = parser.parse_args()
    results, written = given.folder / "results", given.folder / "history"
    if not results.exists():
        write(results, given.files, given.benchmarks, given.samples)
    command = (sys.executable, "-m", "pyopbench", "history", str(results), "--out", str(written))
    begun, before = time.perf_counter(), os.times()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    files = len(list(results.rglob("*.json"))) - 1
    print(f"{files:,} files: {seconds:.1f} s of processor, {time.perf_counter() - begun:.1f} s of clock")
    print(f"exit code {done.returncode}; {hashlib.sha256(done.stdout).hexdigest()[:16]} stdout")
    for path in sorted(written.glob("history.*")):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()[:16]} {path.name}")


if __name__ == "__main__":
    main()
