"""Prints how long reading a run takes in one checkout against another, by CPU time, in pairs.

    python scripts/time_reading.py OTHER_CHECKOUT [--samples 100000] [--pairs 7]

Both read what the other checkout writes and each what it writes itself; each reading is in a process of its own, in
turns, so that a slower hour of the machine costs both alike.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROUNDS = 20
VARIANTS = 8

WRITE = """
import sys, random
from pathlib import Path
import stored
folder, many, rounds, variants = Path(sys.argv[1]), *map(int, sys.argv[2:])
rng = random.Random(0)
sizes = range(1, many // (rounds * variants) + 1)
cases = [[stored.case(f"v{variant}", size=size) for variant in range(variants)] for size in sizes]
def line(keys):
    samples = {key: [[number, place, 1000, rng.random()] for number in range(rounds)] for place, key in enumerate(keys)}
    return {**stored.group_line(0, keys), "samples": samples}
stored.store.os.fsync = lambda descriptor: None
stored.write(folder, stored.run([key for keys in cases for key in keys]), [stored.launch_line(0), *map(line, cases)])
"""
READ = """
import sys, time
from pathlib import Path
from pyopbench.store.read import read_one
start = time.process_time()
frame = read_one([Path(sys.argv[1])]).frame
print(time.process_time() - start, len(frame))
"""


def run(checkout: Path, code: str, *words: object) -> str:
    """Run code with the package of a checkout, and its helpers of tests; return what it prints."""
    paths = os.pathsep.join([str(checkout), str(checkout / "tests" / "helpers")])
    command = [sys.executable, "-c", code, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("--samples", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folders = {checkout: Path(scratch, str(number)) for number, checkout in enumerate((given.other, HERE))}
        for checkout, folder in folders.items():
            run(checkout, WRITE, folder, given.samples, ROUNDS, VARIANTS)
        for name, folder in (("as the other wrote them", folders[given.other]), ("each as it writes", None)):
            ratios = []
            for number in range(given.pairs):
                order = (given.other, HERE) if number % 2 else (HERE, given.other)
                seconds = {one: float(run(one, READ, folder or folders[one]).split()[0]) for one in order}
                ratios.append(seconds[HERE] / seconds[given.other])
            spread = f"{min(ratios):.3f} to {max(ratios):.3f}"
            print(f"{given.samples:,} samples, {name}: here / there {statistics.median(ratios):.3f} ({spread})")


if __name__ == "__main__":
    main()
