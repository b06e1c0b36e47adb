"""Puts the folders of shards together as one run, line by line, so that no more than a line is held at a time."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

from pyopbench.model.errors import BadInput, CannotStore, NothingMeasured
from pyopbench.model.formatting import listing
from pyopbench.model.paths import real_path
from pyopbench.model.write_file import opened_folder, write_atomically, written_atomically
from pyopbench.store import integrity, probes, run_folder, shard_folders, versions
from pyopbench.store.merged_samples import merged_lines
from pyopbench.store.shard_folders import HOLES, Problem, ShardFolder, ShardRun
from pyopbench.store.shards import lacking
from pyopbench.store.strict_json import storable

MOST_SHOWN = 5
"""Problems that an error names."""
OF_A_MOMENT = ("load", "governor", "memory_bytes")
"""Keys of an environment that stand for nothing where machines differ by them."""


@dataclass(frozen=True)
class Merging:
    """What came of it.

    Attributes:
        folder: of the run.
        shards: that are in it.
        of: how many the plan has.
        hosts: names of the machines.
        holes: what is wrong with shards and was allowed.
        lacking: units that no shard in it measures.
    """

    folder: Path
    shards: int
    of: int
    hosts: tuple[str, ...]
    holes: tuple[Problem, ...]
    lacking: tuple[str, ...]


def merge(folders: Sequence[Path], out: Path, *, allow_missing: bool = False) -> Merging:
    """Write one run with the results of all shards of a plan, each of them once.

    Launches are numbered anew, shard by shard; each says which machine it was on. Of looks those of the shard that
    held most are kept, because that many count for every verdict.

    Args:
        folders: of the shards.
        out: a new folder.
        allow_missing: merge what there is where shards are missing, torn, unreadable or not measured to the end.

    Raises:
        BadInput: shards are missing, doubled, torn, unreadable, changed, foreign or contradict each other, or `out`
            holds a run.
        NothingMeasured: no folder holds a shard.
    """
    _require_new(out)
    read, foreign = shard_folders.read(folders)
    found, wrong = shard_folders.check(read)
    problems = [*foreign, *wrong]
    if not found:
        raise _nothing(foreign)
    refused = [one for one in problems if not (allow_missing and one.kind in HOLES)]
    if refused:
        raise _refusal(refused, found)
    try:
        _write_all(out, found, [one.index for one in problems if one.kind == "missing" and one.index])
    except OSError as error:
        raise CannotStore(
            "the merged run cannot be stored; the shards are as they were",
            received=error,
            legal="a disk with room for all shards once more, and a folder that one may write to",
            hint="make room, or choose another --out, and merge again",
        ) from error
    there = [one.shard.index for one in found]
    hosts = tuple(sorted({host for one in found for host in _hosts_of(one.first)}))
    return Merging(out, len(found), found[0].shard.of, hosts, tuple(problems), tuple(lacking(found[0].shard, there)))


def _write_all(out: Path, found: Sequence[ShardFolder], missing: Sequence[int]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for label in found[0].runs:
        _write(out / f"tf-{label}" if found[0].versions else out, found, label, missing)
    if found[0].versions:
        versions.write(out, versions.named(out, [one.tf for one in found[0].versions]))


def _require_new(out: Path) -> None:
    run_folder.require_new(out)
    if versions.is_here(out):
        raise BadInput(
            "the output folder holds a run of several versions already",
            received=out,
            legal="an empty or new folder",
            hint="choose another --out",
        )


def _nothing(foreign: Sequence[Problem]) -> NothingMeasured:
    return NothingMeasured(
        "no folder holds a shard",
        received="; ".join(f"{one.folder}: {one.told}" for one in foreign[:MOST_SHOWN]) or "no folder",
        legal="folders written by `pyopbench run --shard I/N`",
        hint="name the folders of the shards, for example pyopbench merge shards/* --out merged",
    )


def _refusal(problems: Sequence[Problem], found: Sequence[ShardFolder]) -> BadInput:
    told = [f"{_name(one)}: {one.told}" for one in problems[:MOST_SHOWN]]
    if len(problems) > MOST_SHOWN:
        told.append(f"and {len(problems) - MOST_SHOWN:,} more")
    kinds = {one.kind for one in problems}
    holes = "; or merge what there is: --allow-missing" if kinds <= set(HOLES) else ""
    return BadInput(
        "the shards do not make one run",
        received="; ".join(told),
        legal=f"each of the {found[0].shard.of:,} shards of a plan once, whole, measured with the same software",
        hint="; ".join(_steps(problems, found)) + holes,
    )


def _name(problem: Problem) -> str:
    shard = "" if problem.index is None else f" shard {problem.index}"
    return f"{problem.kind}{shard}" + ("" if problem.folder is None else f" in {problem.folder}")


def _steps(problems: Sequence[Problem], found: Sequence[ShardFolder]) -> Iterator[str]:
    """Yield what to do about each kind of problem: which shards to measure again, resume, restore or leave out."""
    of_kind: dict[str, list[Problem]] = {}
    for problem in problems:
        of_kind.setdefault(problem.kind, []).append(problem)
    again = [one.index for kind in ("missing", "contradicting") for one in of_kind.get(kind, ()) if one.index]
    if again:
        others = [str(index) for index in dict.fromkeys(again[1:]) if index != again[0]]
        likewise = f", and likewise {listing(others)}" if others else ""
        yield f"measure again: {shard_folders.command_again(found[0], again[0])}{likewise}"
    unfinished = [*of_kind.get("torn", ()), *of_kind.get("unfinished", ())]
    if unfinished:
        folders = {one.folder: one.folder for one in found} | {
            run.folder: one.folder for one in found for run in one.runs.values()
        }
        names = dict.fromkeys(str(folders[one.folder]) for one in unfinished if one.folder)
        yield f"continue: pyopbench resume {listing(list(names)[:MOST_SHOWN])}"
    if "unreadable" in of_kind:
        names = dict.fromkeys(str(one.folder) for one in of_kind["unreadable"])
        yield f"restore the files, or measure those shards again: {listing(list(names)[:MOST_SHOWN])}"
    if "changed" in of_kind:
        yield "restore the files that were changed, or take them as they are: --allow-changed"
    left_out = [str(one.folder) for kind in ("doubled", "foreign") for one in of_kind.get(kind, ())]
    if left_out:
        yield f"leave out {listing(left_out[:MOST_SHOWN])}"


def _hosts_of(run: ShardRun) -> list[str]:
    return [str(run.content["shard"]["host"])]


def _write(folder: Path, found: Sequence[ShardFolder], label: str, missing: Sequence[int]) -> None:
    """Write the run of one version: samples first, so that a `run.json` stands for a run that is whole."""
    folder.mkdir(exist_ok=True)
    content = _content(folder, found, label, missing)
    run = integrity.sealed(json.dumps(storable({"schema": run_folder.SCHEMA, **content}), indent=1, allow_nan=False))
    with opened_folder(folder) as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)  # whoever merges into it too waits here, and finds a run
        run_folder.require_new(folder)
        before = integrity.seal_of(run).checksum or 0
        with written_atomically(folder / run_folder.SAMPLES_FILE) as stream:
            for line in merged_lines([(one.runs[label], one.launches) for one in found]):
                sealed = integrity.sealed_line(line, before)
                before = integrity.checksum_of(sealed) or 0
                stream.write(sealed + b"\n")
        write_atomically(folder / run_folder.RUN_FILE, run)
    documents = list(_probes(found, label))
    if documents:
        probes.write(folder / probes.FILE, reduce(probes.merged, documents))


def _probes(found: Sequence[ShardFolder], label: str) -> Iterator[dict[str, Any]]:
    for one in found:
        with suppress(BadInput):  # it is one of the holes that are allowed
            document = shard_folders.probes_of(one.runs[label])
            if document is not None:
                yield document


def _content(folder: Path, found: Sequence[ShardFolder], label: str, missing: Sequence[int]) -> dict[str, Any]:
    contents = [one.runs[label].content for one in found]
    first, shard = contents[0], found[0].shard
    starts = [0]
    for one in found:
        starts.append(starts[-1] + one.launches)
    skips = {(skip["case"], skip["status"]): skip for content in contents for skip in content["skips"]}
    return {
        "run": real_path(folder).name,
        "created": min(content["created"] for content in contents),
        "command": first["command"],
        "settings": first["settings"],
        "environment": _environment([content["environment"] for content in contents]),
        "certificate": None,
        "catalogue": _catalogue([content["catalogue"] for content in contents]),
        "cases": list(dict.fromkeys(key for content in contents for key in content["cases"])),
        "skips": list(skips.values()),
        "own": {name: own for content in reversed(contents) for name, own in (content.get("own") or {}).items()},
        "merged": {
            "of": shard.of,
            "replicates": shard.replicates,
            "plan": shard.plan,
            "parts": shard.parts,
            "shards": [
                {
                    "index": one.shard.index,
                    "run": content["run"],
                    "created": content["created"],
                    "host": one.runs[label].content["shard"]["host"],
                    "launches": [start, end],
                }
                for one, content, start, end in zip(found, contents, starts[:-1], starts[1:], strict=True)
            ],
            "missing": list(missing),
            "hosts": {content["shard"]["host"]: content["environment"] for content in reversed(contents)},
        },
    }


def _environment(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what all machines have in common: of processors each is named, and what is of a moment is left out."""
    whole = dict(each[0])
    for key in whole:
        values = [one.get(key) for one in each]
        if all(value == values[0] for value in values):
            continue
        if key == "cpu":
            whole[key] = listing(list(dict.fromkeys(str(value or "unknown") for value in values)))
        elif key in OF_A_MOMENT:
            whole[key] = None
        elif key == "cores":
            whole[key] = min(one["cores"] for one in each)
    return whole


def _catalogue(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what ops, variants and gradients are; shards of a plan say the same of those that they share."""
    parts = dict.fromkeys(part for catalogue in each for part in catalogue)
    return {
        part: {name: value for catalogue in each for name, value in catalogue.get(part, {}).items()} for part in parts
    }
