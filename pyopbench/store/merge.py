"""Puts the folders of shards together as one run, line by line, so that no more than a line is held at a time."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from msgspec import structs

from pyopbench.model.errors import BadInput, CannotStore, NothingMeasured
from pyopbench.model.formatting import listing
from pyopbench.model.write_file import opened_folder, write_atomically, written_atomically
from pyopbench.store import integrity, open_file, probes, run_folder, run_sides, shard_folders
from pyopbench.store.integrity import LineChecker
from pyopbench.store.line_types import FAILING, AnyLine, EndedLine, LaunchLine, LookLine, WorkersLine, decode_line
from pyopbench.store.run_json import Merged, MergedShard, RunContent, join_catalogues
from pyopbench.store.shard_folders import HOLES, LAUNCH, Problem, ShardFolder, ShardRun, shard_of

MOST_SHOWN = 5
"""Problems that an error names."""
NO_FAILURES = b'"failures":[]'
"""What a line holds that names no launch but in its beginning."""
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
        NothingMeasured: no folder contains a shard.
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
    return Merging(
        out, len(found), found[0].shard.of, hosts, tuple(problems), tuple(found[0].shard.units_without(there))
    )


def _write_all(out: Path, found: Sequence[ShardFolder], missing: Sequence[int]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    named = run_sides.name_sides(out, found[0].sides)
    places = {side.label: side.folder for side in named}
    for label in found[0].runs:
        _write(places.get(label, out), found, label, missing)
    if found[0].sides:
        run_sides.write(out, named, *run_sides.read_thresholds(found[0].folder))


def _require_new(out: Path) -> None:
    run_folder.require_new(out)
    if run_sides.is_here(out):
        raise BadInput(
            "the output folder already contains a run of several versions",
            received=out,
            legal="an empty or new folder",
            hint="choose another --out",
        )


def _nothing(foreign: Sequence[Problem]) -> NothingMeasured:
    return NothingMeasured(
        "no folder contains a shard",
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
        yield "restore the files that were changed"
    left_out = [str(one.folder) for kind in ("doubled", "foreign") for one in of_kind.get(kind, ())]
    if left_out:
        yield f"leave out {listing(left_out[:MOST_SHOWN])}"


def _hosts_of(run: ShardRun) -> list[str]:
    return [shard_of(run).host]


def _write(folder: Path, found: Sequence[ShardFolder], label: str, missing: Sequence[int]) -> None:
    """Write the run of one version: samples first, so that a `run.json` stands for a run that is whole."""
    folder.mkdir(exist_ok=True)
    content = _content(folder, found, label, missing)
    run = run_folder.encode(content)
    with opened_folder(folder) as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)  # whoever merges into it too waits here, and finds a run
        run_folder.require_new(folder)
        before = integrity.seal_of(run).checksum or 0
        with written_atomically(folder / run_folder.SAMPLES_FILE) as stream:
            for line in _merged_lines([(one.runs[label], one.launches) for one in found]):
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


def _content(folder: Path, found: Sequence[ShardFolder], label: str, missing: Sequence[int]) -> RunContent:
    runs = [one.runs[label] for one in found]
    contents = [run.content for run in runs]
    first, shard = contents[0], found[0].shard
    starts = [0]
    for one in found:
        starts.append(starts[-1] + one.launches)
    skips = {(skip.case, skip.status): skip for content in contents for skip in content.skips}
    merged = Merged(
        of=shard.of,
        replicates=shard.replicates,
        plan=shard.plan,
        parts=shard.parts,
        shards=[
            MergedShard(
                index=one.shard.index,
                run=run.content.run,
                created=run.content.created,
                host=shard_of(run).host,
                launches=(start, end),
            )
            for one, run, start, end in zip(found, runs, starts[:-1], starts[1:], strict=True)
        ],
        missing=list(missing),
        hosts={shard_of(run).host: run.content.environment for run in reversed(runs)},
    )
    return RunContent(
        run=folder.resolve().name,
        created=min(content.created for content in contents),
        command=first.command,
        settings=first.settings,
        environment=_environment([content.environment for content in contents]),
        catalogue=join_catalogues([content.catalogue for content in contents]),
        cases=list(dict.fromkeys(key for content in contents for key in content.cases)),
        skips=list(skips.values()),
        own={name: own for content in reversed(contents) for name, own in content.own.items()},
        merged=merged,
    )


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


def _merged_lines(shards: Sequence[tuple[ShardRun, int]]) -> Iterator[bytes]:
    """Yield the lines of all shards with their launches numbered anew, without checksums; one is held at a time.

    Args:
        shards: the run of each, and how many numbers its launches take.
    """
    offset, runs = 0, [run for run, _ in shards]
    most_looks = max(range(len(runs)), key=lambda place: len(runs[place].samples.looks))
    for place, (run, launches) in enumerate(shards):
        yield from _lines_of(run, offset, with_looks=place == most_looks)
        offset += launches
    ended = [run.samples.ended for run in runs if run.samples.ended is not None]
    if len(ended) == len([run for run in runs if run.content.cases]) and ended:
        yield run_folder.encode_line(_join_ends(ended, offset))


def _lines_of(run: ShardRun, offset: int, *, with_looks: bool) -> Iterator[bytes]:
    path = run.folder / run_folder.SAMPLES_FILE
    checker = LineChecker(integrity.seal_of(open_file.read_bytes(run.folder / run_folder.RUN_FILE, open_file.RUN)))
    try:
        for number, raw in enumerate(open_file.read_lines(path, open_file.SAMPLES), start=1):
            if not raw.endswith(b"\n"):
                return
            state, content = checker.check(raw[:-1])
            head = LAUNCH.match(content)
            if head and state == "whole" and NO_FAILURES in content:
                yield b'{"kind":"%s","launch":%d,%s' % (head[1], int(head[2]) + offset, content[head.end() :])
                continue
            line = decode_line(content, f"{path}:{number}")
            if isinstance(line, EndedLine) or (isinstance(line, LookLine) and not with_looks):
                continue
            yield run_folder.encode_line(_renumber(line, offset, shard_of(run).host))
    except (FileNotFoundError, NotADirectoryError):
        return


def _renumber(line: AnyLine, offset: int, host: str) -> AnyLine:
    """Return a line with the numbers of its launches in the whole run.

    An interim analysis says how many launches there were, and stays as it is.
    """
    if isinstance(line, LookLine):
        return line
    changes: dict[str, Any] = {"launch": line.launch + offset}
    if isinstance(line, FAILING):
        changes["failures"] = [
            failure if failure.launch is None else replace(failure, launch=failure.launch + offset)
            for failure in line.failures
        ]
    if isinstance(line, WorkersLine):
        changes["launches"] = [launch + offset for launch in line.launches]
    if isinstance(line, LaunchLine):
        changes["environment"] = {"host": host, **line.environment}
    return structs.replace(line, **changes)


def _join_ends(each: Sequence[EndedLine], launches: int) -> EndedLine:
    """Return what ended the measuring of all: the budget if it did that of one; seconds are those of all machines."""
    reasons = {one.by for one in each}
    return EndedLine(
        launch=launches,
        by="budget" if "budget" in reasons else "launches" if "launches" in reasons else "look",
        looks=max(one.looks for one in each),
        seconds=sum(one.seconds for one in each),
        sampling_seconds=sum(one.sampling_seconds for one in each),
    )
