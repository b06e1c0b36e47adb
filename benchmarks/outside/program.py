"""Does a program save what was promised? An augmentation with a loop, measured as an op, then in `Dataset.map`.

    python benchmarks/outside/program.py

A body as a public program has it: 20 rounds, each with the maximum of two elements less the minimum of all, in a list.
`pyopbench run` names the answer and what it saves; `pyopbench port` writes it, and must write the bytes that were
measured; then the same pipeline runs with the callback and with the file by turns. Exit codes: 0 the file is what was
measured and the program gains at least the lower bound that was told, 1 it is not or it does not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

SOURCE = '''"""Rounds of a loop over an example."""

import numpy as np

from pyopbench import OwnOp


def rounds(x):
    found = []
    for k in range(20):
        found.append(np.max(x[2 * k : 2 * k + 2]) - np.min(x))
    return np.stack(found)


OP = OwnOp(inputs=lambda size, rng: (rng.random(size, dtype=np.float32),), sizes=(40, 1000, 20000), numpy=rounds)
'''

PROGRAM = """
import sys, time
import numpy as np, tensorflow as tf
sys.path.insert(0, sys.argv[1])
from rounds import rounds
from rounds_port import rounds as port
data = np.random.default_rng(0).random((20_000, 1000), dtype=np.float32)

def callback(x):
    y = tf.numpy_function(rounds, [x], tf.float32)
    y.set_shape([20])
    return y

def rate(function):
    dataset = tf.data.Dataset.from_tensor_slices(data).repeat().map(function).prefetch(4)
    items = iter(dataset)
    for _ in range(200):
        next(items)
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < 2.0:
        next(items)
        count += 1
    return count / (time.perf_counter() - begun)

for _ in range(3):
    print(rate(callback), rate(port), flush=True)
"""


def main(arguments: Sequence[str]) -> int:
    """Measure, write and run; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", default="60s")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "rounds.py").write_text(SOURCE, encoding="utf-8")
        results, port = folder / "results", folder / "rounds_port.py"
        _run("run", str(folder / "rounds.py"), "--quick", "--budget", options.budget, "--out", str(results))
        decisions = json.loads((results / "decisions.json").read_text(encoding="utf-8"))["decisions"]
        (answer,) = [one for one in decisions if one["op"] == "rounds" and one["use"] == "inference"]
        variant = str(answer["choice"]).split("/", maxsplit=1)[0].split(" ", maxsplit=1)[0]
        print(f"answer: {answer['action']} {variant}, saves {answer['saved']:.0%} (at least {answer['saved_low']:.0%})")
        _run("port", str(folder / "rounds.py"), "--to", variant, "--out", str(port))
        measured = next((results / "ports").glob(f"rounds_{variant}_*.py"))
        is_same = measured.read_bytes() == port.read_bytes()
        print(f"the file has the bytes that were measured: {is_same}")
        command = [sys.executable, "-c", PROGRAM, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        pairs = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
        for callback, written in pairs:
            print(f"callback {callback:,.0f} elements a second, file {written:,.0f}: {written / callback:.2f} times")
        gain = statistics.median(written / callback for callback, written in pairs)
    promised = 1 / (1 - answer["saved_low"])
    print(f"the program gains {gain:.2f} times; at least {promised:.2f} times was promised for the op")
    return 0 if is_same and gain >= 1 else 1


def _run(*words: str) -> None:
    begun = time.monotonic()
    command = [sys.executable, "-m", "pyopbench", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}")
    print(f"pyopbench {words[0]}: {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
