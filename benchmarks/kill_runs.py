"""Kills a real run, or its worker, at random moments, goes on with it each time, and says what was lost.

`python benchmarks/kill_runs.py FOLDER [KILLS]`; with TensorFlow in every worker, so a kill takes some ten seconds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

MAIN = (sys.executable, "-c", "from pyopbench.cli.app import main; main()")
VARIANTS = "py_function_numpy,native,numpy_function"
PLAN = f"run sinh --variant {VARIANTS} --no-parts --launches 5 --axis size=10,1000 --budget 2h"
LATEST_SECONDS = 45.0


def lines_of(folder: Path) -> list[bytes]:
    """Return the whole lines of the samples."""
    path = folder / "samples.jsonl"
    return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def read(lines: list[bytes], kind: str) -> list[dict[str, Any]]:
    """Return the lines of a kind."""
    return [line for line in map(json.loads, lines) if line["kind"] == kind]


def is_alive(process: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def main(folder: Path, kills: int) -> None:
    """Begin the run, kill and continue it, finish it, and print what came out."""
    rng = random.Random(1)
    counts: Counter[str] = Counter()
    command = [*MAIN, *PLAN.split(), "--out", str(folder)]
    while counts["kills"] < kills:
        before = lines_of(folder)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(rng.uniform(0.0, LATEST_SECONDS))
        except subprocess.TimeoutExpired:
            workers = [line["environment"]["pid"] for line in read(lines_of(folder), "launch")][-1:]
            victim = workers[0] if workers and is_alive(workers[0]) and rng.random() < 0.4 else process.pid
            counts["worker" if victim != process.pid else "run"] += 1
            os.kill(victim, signal.SIGKILL)
            time.sleep(rng.uniform(0.0, 3.0) if victim != process.pid else 0.0)
            process.kill()
            counts["kills"] += 1
        process.wait()
        after = lines_of(folder)
        counts["lines changed"] += after[: len(before)] != before
        time.sleep(1.0)
        counts["workers left"] += sum(is_alive(one["environment"]["pid"]) for one in read(after, "launch"))
        if (folder / "run.json").exists():
            command = [*MAIN, "resume", str(folder)]
    finished = read(lines_of(folder), "group")
    last = subprocess.run([*MAIN, "resume", str(folder)], capture_output=True, text=True, check=False)
    found = read(lines_of(folder), "group")
    twice = sum(count > 1 for count in Counter((one["launch"], one["group"]) for one in found).values())
    failures = [one for line in map(json.loads, lines_of(folder)) for one in line.get("failures", ())]
    sys.stdout.write(
        f"{dict(counts)}; {len(finished)} groups finished before the last resume, "
        f"{sum(one in found for one in finished)} of them found after it, {len(found)} in all, {twice} twice, "
        f"{len(failures)} failures; it ended with exit code {last.returncode}\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 50)
