"""Makes up the results of many machines, and prints how long merging and judging them takes, and how much memory.

    python scripts/time_merging.py FOLDER [--samples 10000000] [--hosts 40] [--cases 10000] [--versions 10]

Samples are drawn, nothing is measured. Each step is a process of its own, so that its memory is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HERE), str(HERE / "tests" / "helpers")]

SIZES = (1, 10, 100, 1_000)
VARIANTS = 10
REPLICATES = 4
LAUNCHES = 2
"""Of each shard."""
BASELINE = "py_function_numpy"
JUDGE = """
import sys, time
from pathlib import Path
from pyopbench.judge.judge import Judging, judge
began = time.monotonic()
found = judge([Path(sys.argv[1])], Judging(sys.argv[2], 0.03))
print(len(found.run.frame), len(found.verdicts), len(found.decisions), time.monotonic() - began)
"""


def plans(cases: int, versions: int) -> list[dict[str, Any]]:
    """Return the content of the `run.json` of each version."""
    import sharded
    import stored

    ops = [f"op{number}" for number in range(max(cases // (len(SIZES) * VARIANTS), 1))]
    names = [BASELINE, "native", *(f"port{number}" for number in range(VARIANTS - 2))]
    keys = [stored.case(name, op, size) for op in ops for size in SIZES for name in names]
    content = sharded.plan(keys)
    kinds = {name: {**stored.VARIANT, "kind": "callback" if name == BASELINE else "port"} for name in names}
    content["catalogue"]["variants"] = kinds
    versions_of = [f"2.{21 - number}.0" for number in range(versions)]
    return [
        {
            **content,
            "settings": {**content["settings"], "tf": tf},
            "environment": {**content["environment"], "tensorflow": tf},
        }
        for tf in versions_of
    ]


def lines_of(content: dict[str, Any], host: int, rounds: int) -> Iterator[bytes]:
    """Yield the lines that the workers of a shard would have stored."""
    import sharded
    import stored
    from pyopbench.model.case import Case

    rng = np.random.default_rng(host)
    groups: dict[str, list[str]] = {}
    for key in content["cases"]:
        groups.setdefault(Case.from_id(key).group, []).append(key)
    for launch in range(LAUNCHES):
        yield json.dumps(stored.launch_line(launch), separators=(",", ":")).encode()
        for group, keys in groups.items():
            head = {"kind": "group", "launch": launch, "group": group, "samples": {}, "failures": []}
            tail = {"timer_seconds": 4e-8, "timer_error_seconds": 1e-9, "noise": stored.NOISE}
            shares = np.random.default_rng(sharded.hash_of(group)).uniform(0.3, 1.5, len(keys))
            costs = 1e-4 * np.where([BASELINE in key for key in keys], 1.0, shares)
            costs = costs * np.exp(rng.normal(0, 0.03, len(keys)))
            seconds = 1000 * costs[:, None] * np.exp(rng.normal(0, 0.02, (len(keys), rounds)))
            head["samples"] = {
                key: [[number, place, 1000, value] for number, value in enumerate(row)]
                for place, (key, row) in enumerate(zip(keys, seconds.tolist(), strict=True))
            }
            yield json.dumps({**head, **tail}, separators=(",", ":")).encode()
    yield json.dumps(sharded.ENDED, separators=(",", ":")).encode()


def write(folder: Path, content: dict[str, Any], lines: Iterator[bytes]) -> None:
    """Write a run as `store` does, but without waiting for the disk after each line."""
    from pyopbench.store import integrity, run_folder

    run_folder.create(folder, content)
    before = integrity.seal_of((folder / run_folder.RUN_FILE).read_bytes()).checksum or 0
    with (folder / run_folder.SAMPLES_FILE).open("wb") as stream:
        for line in lines:
            sealed = integrity.sealed_line(line, before)
            before = integrity.checksum_of(sealed) or 0
            stream.write(sealed + b"\n")


def make(folder: Path, given: argparse.Namespace) -> None:
    """Write the shards of all machines."""
    from pyopbench.engine.shards import ShardChoice, narrowed
    from pyopbench.store import run_sides
    from pyopbench.store.run_sides import Side

    contents = plans(given.cases, given.versions)
    total = len(contents[0]["cases"]) * given.versions * REPLICATES * LAUNCHES
    rounds = max(round(given.samples / total), 1)
    for index in range(1, given.hosts + 1):
        place = folder / f"shard-{index}"
        named = run_sides.name_sides(place, [Side("", content["settings"]["tf"]) for content in contents])
        for version, content in zip(
            named, narrowed(contents, ShardChoice(index, given.hosts, REPLICATES)), strict=True
        ):
            kind = {"cpu": f"processor {index % 3}"}
            shard = {**content["shard"], "host": f"host-{index}"}
            whole = {**content, "environment": {**content["environment"], **kind}, "shard": shard}
            write(version.folder, whole, lines_of(whole, index, rounds))
        run_sides.write(place, named)


def timed(command: list[str]) -> tuple[str, float, float]:
    """Run a command; return what it printed, seconds, and the most memory in GiB."""
    began = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return printed, time.monotonic() - began, usage.ru_maxrss / 2**20


def main() -> None:
    """Make the results, merge and judge them, and print what that takes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--versions", type=int, default=10)
    given = parser.parse_args()
    began = time.monotonic()
    make(given.folder / "shards", given)
    made = sum(path.stat().st_size for path in given.folder.rglob("*.jsonl"))
    print(f"made up in {time.monotonic() - began:.0f} s: {made / 2**20:,.0f} MiB of samples", flush=True)
    shards = sorted(map(str, (given.folder / "shards").iterdir()))
    merged = given.folder / "merged"
    _, seconds, memory = timed([sys.executable, "-m", "pyopbench", "merge", *shards, "--out", str(merged)])
    print(f"merged in {seconds:.1f} s with {memory:.2f} GiB", flush=True)
    shutil.rmtree(given.folder / "shards")
    total, most, samples = 0.0, 0.0, 0
    for part in sorted(merged.glob("tf-*")):
        printed, seconds, memory = timed([sys.executable, "-c", JUDGE, str(part), BASELINE])
        total, most, samples = total + seconds, max(most, memory), samples + int(printed.split()[0])
        print(f"{part.name}: {seconds:.1f} s, {memory:.2f} GiB: {printed.strip()}", flush=True)
    print(f"{samples:,} samples judged in {total:.0f} s with at most {most:.2f} GiB")


if __name__ == "__main__":
    main()
