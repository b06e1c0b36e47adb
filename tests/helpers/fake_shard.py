"""Stands for `pyopbench run --shard I/N` in tests of fleets: measures nothing, and stores what such a run would.

python fake_shard.py run [WORDS...] --shard I/N --out DIR
python fake_shard.py resume DIR [WORDS...]

Each shard has `FAKE_SHARD_CASES` cases (2) in one launch, each of which takes `FAKE_SHARD_SECONDS` (0). When each pair
began and ended, by the clock that all processes of a machine share, goes to the file that `FAKE_SHARD_TIMES` names, and
its host. What a run and its lines look like stands in the file that `FAKE_SHARD_TEMPLATE` names.

Words behave: `--fail` ends with exit code 7, `--full` as if the disk were full, `--wrong` stores a wrong case, `--torn`
leaves results that are not whole, `--noisy` stores blocks that spread. A host that `FAKE_SHARD_BAD` names, as in
`HOST=WORD,...`, is as if it had been given the word. A word that ends with `.py` is a file that must be there, whose
content goes to the log.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from pyopbench.model.case import Case
from pyopbench.model.host import host_name
from pyopbench.store import run_folder
from pyopbench.store.line_types import GroupLine, LaunchLine, line_of
from pyopbench.store.run_json import RunContent
from pyopbench.store.strict_json import convert

EXIT_FAILED, EXIT_BAD = 7, 2
ROUNDS = 12


def words_of_host() -> list[str]:
    told = os.environ.get("FAKE_SHARD_BAD", "")
    pairs = [pair.partition("=") for pair in told.split(",") if pair]
    return [word for host, _, word in pairs if host == host_name()]


def sample(seconds: float) -> tuple[float, float]:
    """Pretend to measure one case; return when it began and ended."""
    began = time.monotonic()
    time.sleep(seconds)
    return began, time.monotonic()


def note(shard: int, began: float, ended: float) -> None:
    if "FAKE_SHARD_TIMES" in os.environ:
        line = json.dumps([host_name(), os.getpid(), shard, began, ended]) + "\n"
        with open(os.environ["FAKE_SHARD_TIMES"], "a", encoding="utf-8") as file:
            file.write(line)


def blocks(place: int, *, noisy: bool) -> list[list[float]]:
    """Return the blocks of a case; noisy ones are up to twice as long as others."""
    return [[one, place, 3, 0.5 * (1 + (one % 4) / 3 if noisy else 1 + one % 4 / 300)] for one in range(ROUNDS)]


def template() -> dict[str, Any]:
    with open(os.environ["FAKE_SHARD_TEMPLATE"], encoding="utf-8") as file:
        return dict(json.load(file))


def begin(folder: Path, index: int, of: int, replicates: int) -> None:
    """Make the folder of a run of one shard, which measures an op of its own."""
    parts = [[f"double{part}/call/float32"] for part in range(of // replicates)]
    part = (index - 1) % len(parts)
    shard = {"index": index, "of": of, "replicates": replicates, "plan": "0" * 64, "parts": parts, "host": host_name()}
    run = template()["run"]
    run["catalogue"]["ops"] = {f"double{part}": run["catalogue"]["ops"]["double"]}
    sizes = range(1, int(os.environ.get("FAKE_SHARD_CASES", "2")) // 2 + 1)
    run["cases"] = [
        Case(f"double{part}", variant, "none", "forward", "call", "float32", size).id
        for size in sizes
        for variant in ("py_function_numpy", "native")
    ]
    run_folder.create(folder, convert({**run, "shard": shard}, RunContent, str(folder)))


def measure(folder: Path, words: list[str]) -> int:
    """Measure what is not there yet of a shard, a line for each pair of cases."""
    side = run_folder.open_side(folder)
    side.prepare_to_append()
    run, lines = side.content, side.lines
    done = {case for line in lines if isinstance(line, GroupLine) for case in line.samples}
    made = template()
    if not lines:
        side.append(LaunchLine(launch=0, environment={"pid": os.getpid(), "host": host_name()}))
    seconds = float(os.environ.get("FAKE_SHARD_SECONDS", "0"))
    for first in range(0, len(run.cases), 2):
        pair = run.cases[first : first + 2]
        if done & set(pair):
            continue
        began, ended = sample(2 * seconds)
        side.append(line_of(group_of(made["group"], pair, words), "here"))
        note(run.shard.index, began, ended)
    side.append(line_of(made["ended"], "here"))
    if "--torn" in words:
        samples = folder / run_folder.SAMPLES_FILE
        samples.write_bytes(samples.read_bytes().replace(b"0.5", b"0.6", 1))
    return 1 if "--wrong" in words else 0


def group_of(group: dict[str, Any], pair: list[str], words: list[str]) -> dict[str, Any]:
    """Return the line of a pair of cases."""
    samples = {case: blocks(place, noisy="--noisy" in words) for place, case in enumerate(pair)}
    failures = []
    if "--wrong" in words:
        del samples[pair[1]]
        failures = [{"case": pair[1], "status": "wrong", "reason": "it did not work", "launch": 0}]
    return {**group, "group": Case.from_id(pair[0]).group, "samples": samples, "failures": failures}


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    command, *words = sys.argv[1:]
    if command == "resume":
        return measure(Path(words[0]), words + words_of_host())
    folder = Path(words[words.index("--out") + 1])
    index, _, of = words[words.index("--shard") + 1].partition("/")
    settings = dict(after.split("=", 1) for word, after in itertools.pairwise(words) if word == "--settings")
    replicates = int(settings.get("replicates", 1))
    words += words_of_host()
    for word in words:
        if word.endswith(".py"):
            sys.stdout.write(Path(word).read_text(encoding="utf-8"))
    if "--fail" in words:
        sys.stdout.write(f"it does not work on {host_name()}\n")
        return EXIT_FAILED
    if "--full" in words:
        sys.stdout.write("[Errno 28] No space left on device\n")
        return EXIT_BAD
    folder.mkdir(parents=True, exist_ok=True)
    begin(folder, int(index), int(of), replicates)
    return measure(folder, words)


if __name__ == "__main__":
    sys.exit(main())
