"""The lines of samples of a merged run: those of its shards, with launches numbered anew; one is held at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyopbench.store import integrity, open_file, run_folder
from pyopbench.store.integrity import LineChecker
from pyopbench.store.shard_folders import LAUNCH, ShardRun
from pyopbench.store.strict_json import storable

NO_FAILURES = b'"failures":[]'
"""What a line holds that names no launch but in its beginning."""


def merged_lines(shards: Sequence[tuple[ShardRun, int]]) -> Iterator[bytes]:
    """Yield the lines of all shards with their launches numbered anew, without checksums.

    Args:
        shards: the run of each, and how many numbers its launches take.
    """
    offset, runs = 0, [run for run, _ in shards]
    most_looks = max(range(len(runs)), key=lambda place: len(runs[place].samples.looks))
    for place, (run, launches) in enumerate(shards):
        yield from _lines_of(run, offset, with_looks=place == most_looks)
        offset += launches
    ended = [run.samples.ended for run in runs if run.samples.ended is not None]
    if len(ended) == len([run for run in runs if run.content["cases"]]) and ended:
        yield _encoded(_ended(ended, offset))


def _lines_of(run: ShardRun, offset: int, *, with_looks: bool) -> Iterator[bytes]:
    path = run.folder / run_folder.SAMPLES_FILE
    checker = LineChecker(integrity.seal_of(open_file.read_bytes(run.folder / run_folder.RUN_FILE, open_file.RUN)))
    try:
        for number, line in enumerate(open_file.read_lines(path, open_file.SAMPLES), start=1):
            if not line.endswith(b"\n"):
                return
            state, content = checker.check(line[:-1])
            head = LAUNCH.match(content)
            if head and state == "whole" and NO_FAILURES in content:
                yield b'{"kind":"%s","launch":%d,%s' % (head[1], int(head[2]) + offset, content[head.end() :])
                continue
            parsed = run_folder.parse_line(content, f"{path}:{number}")
            if parsed["kind"] == "ended" or (parsed["kind"] == "look" and not with_looks):
                continue
            yield _encoded(_renumbered(parsed, offset, str(run.content["shard"]["host"])))
    except (FileNotFoundError, NotADirectoryError):
        return


def _renumbered(line: dict[str, Any], offset: int, host: str) -> dict[str, Any]:
    """Return a line with the numbers of its launches in the whole run; a look says how many there were, and stays."""
    if line["kind"] == "look":
        return line
    changed = {**line, "launch": line["launch"] + offset}
    if "failures" in line:
        changed["failures"] = [
            {**one, "launch": None if one["launch"] is None else one["launch"] + offset} for one in line["failures"]
        ]
    if line["kind"] == "workers":
        changed["launches"] = [launch + offset for launch in line["launches"]]
    if line["kind"] == "launch":
        changed["environment"] = {"host": host, **line["environment"]}
    return changed


def _ended(each: Sequence[Mapping[str, Any]], launches: int) -> dict[str, Any]:
    """Return what ended the measuring of all: the budget if it did that of one; seconds are those of all machines."""
    by = {one["by"] for one in each}
    return {
        "kind": "ended",
        "launch": launches,
        "by": next(why for why in ("budget", "launches", "look") if why in by),
        "looks": max(one["looks"] for one in each),
        "seconds": sum(one["seconds"] for one in each),
        "sampling_seconds": sum(one["sampling_seconds"] for one in each),
    }


def _encoded(line: Mapping[str, Any]) -> bytes:
    return json.dumps(storable(line), allow_nan=False, separators=(",", ":")).encode()
