"""The folders of shards that are to become one run: what each holds, and what is wrong with it, as values."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pyopbench.model.errors import BadInput
from pyopbench.model.paths import real_path
from pyopbench.store import open_file, probes, run_folder, run_sides
from pyopbench.store.integrity import LineChecker, seal_of
from pyopbench.store.line_types import (
    EndedLine,
    GroupLine,
    LaunchLine,
    LookLine,
    LostLine,
    PreparedLine,
    decode_line,
)
from pyopbench.store.run_json import RunContent, Shard

Kind: TypeAlias = Literal[
    "missing", "doubled", "torn", "unfinished", "unreadable", "changed", "foreign", "contradicting"
]
HOLES: tuple[Kind, ...] = ("missing", "torn", "unfinished", "unreadable")
"""What `--allow-missing` lets be: what is there is whole, but it is not all."""

SAME_SOFTWARE = (
    *("tensorflow", "numpy", "python", "pyopbench", "commit", "dirty"),
    *("variables", "intra_op_threads", "inter_op_threads"),
)
"""What all shards have to be measured with; processors, cores and memory may differ, which is what hosts are for."""

LAUNCH = re.compile(rb'\{"kind":"(group|prepared)","launch":([0-9]{1,9}),')
"""How most lines begin, as `run_folder.OpenSide.append` writes them, so that they need not be parsed."""


OF_A_LAUNCH = (LaunchLine, GroupLine, PreparedLine, LostLine)
"""Lines that are of a launch with their number."""


@dataclass(frozen=True)
class Problem:
    """Why a shard is not as it has to be.

    Attributes:
        kind: `torn` has an unfinished last line or lacks a file, `unfinished` no line that says that measuring ended,
            `unreadable` a file that is none of pyopbench; `foreign` is of another plan or of none, `contradicting` was
            measured with other software.
        index: number of the shard; None where that is not known.
        folder: its folder; None for one that is missing.
        told: what was seen.
    """

    kind: Kind
    index: int | None
    folder: Path | None
    told: str


@dataclass(frozen=True)
class Samples:
    """What the samples of a run hold, without a look at numbers.

    Attributes:
        launches: one more than the largest number of a launch.
        looks: the look lines, in order.
        ended: the last line that says what ended the measuring; None where none does.
        torn: has it an unfinished last line, or no samples at all?
        changed: numbers of the lines that are not as they were written.
    """

    launches: int = 0
    looks: tuple[LookLine, ...] = ()
    ended: EndedLine | None = None
    torn: bool = False
    changed: tuple[int, ...] = ()


@dataclass(frozen=True)
class ShardRun:
    """The run of a shard on one version of TensorFlow: its folder, the content of its `run.json`, and its samples."""

    folder: Path
    content: RunContent
    samples: Samples


@dataclass(frozen=True)
class ShardFolder:
    """A shard: its folder, which part of which plan it is, and its runs, by the label of the version."""

    folder: Path
    shard: Shard
    sides: tuple[run_sides.Side, ...] = ()
    runs: Mapping[str, ShardRun] = field(default_factory=dict)

    @property
    def first(self) -> ShardRun:
        """The run of the first version."""
        return next(iter(self.runs.values()))

    @property
    def launches(self) -> int:
        """How many numbers its launches take: as many in each version, whose launches of one number are compared."""
        return max(run.samples.launches for run in self.runs.values())

    @property
    def seal(self) -> tuple[bytes, ...]:
        """What two copies of the same results have in common, and two measurements of the same shard have not."""
        return tuple(
            open_file.read_bytes(run.folder / run_folder.RUN_FILE, open_file.RUN) for run in self.runs.values()
        )


def read(folders: Sequence[Path]) -> tuple[list[ShardFolder], list[Problem]]:
    """Read the shards in folders, in the order of their numbers; and what is no shard, or cannot be read."""
    found: list[ShardFolder] = []
    problems: list[Problem] = []
    for folder in dict.fromkeys(real_path(path) for path in folders):
        try:
            one = _read(folder)
        except BadInput as error:
            is_there = any(os.path.lexists(folder / name) for name in (run_folder.RUN_FILE, run_sides.FILE))
            problems.append(Problem("unreadable" if is_there else "foreign", None, folder, error.in_a_line))
            continue
        if one is None:
            problems.append(Problem("foreign", None, folder, "results of a run without --shard"))
        else:
            found.append(one)
    return sorted(found, key=lambda one: (one.shard.index, str(one.folder))), problems


def _read(folder: Path) -> ShardFolder | None:
    parts = tuple(run_sides.read(folder)) if run_sides.is_here(folder) else ()
    places = {part.label: part.folder for part in parts} or {"": folder}
    contents = {label: run_folder.read_run(place) for label, place in places.items()}
    shards = [content.shard for content in contents.values()]
    if shards[0] is None or None in shards:
        return None
    runs = {label: ShardRun(places[label], content, inspect(places[label])) for label, content in contents.items()}
    return ShardFolder(folder, shards[0], parts, runs)


def shard_of(run: ShardRun) -> Shard:
    """Return which part of the plan the run of a shard is."""
    assert run.content.shard is not None, "_read takes no other"
    return run.content.shard


def inspect(folder: Path) -> Samples:
    """Return what the samples of a run hold; every line is looked at for whether it is as it was written."""
    launches, torn, number = 0, False, 0
    looks: list[LookLine] = []
    ended: EndedLine | None = None
    changed = [0] if run_folder.changes(folder) else []
    path = folder / run_folder.SAMPLES_FILE
    checker = LineChecker(seal_of(open_file.read_bytes(folder / run_folder.RUN_FILE, open_file.RUN)))
    for number, raw in enumerate(_lines(path), start=1):
        if not raw.endswith(b"\n"):
            torn = True
            continue
        state, content = checker.check(raw[:-1])
        changed += [number] if state == "changed" else []
        head = LAUNCH.match(content)
        if head and state == "whole":
            launches = max(launches, int(head[2]) + 1)
            continue
        line = decode_line(content, f"{path}:{number}")
        looks += [line] if isinstance(line, LookLine) else []
        ended = line if isinstance(line, EndedLine) else ended
        if isinstance(line, OF_A_LAUNCH):
            launches = max(launches, line.launch + 1)
    return Samples(launches, tuple(looks), ended, torn, tuple(changed))


def _lines(path: Path) -> Iterator[bytes]:
    try:
        yield from open_file.read_lines(path, open_file.SAMPLES)
    except (FileNotFoundError, NotADirectoryError):
        return


def check(found: Sequence[ShardFolder]) -> tuple[list[ShardFolder], list[Problem]]:
    """Return the shards of the plan that most are of, each number once, and what is wrong with all of them."""
    if not found:
        return [], []
    plan = Counter(one.shard.plan for one in found).most_common(1)[0][0]
    problems = [
        Problem("foreign", one.shard.index, one.folder, f"of another plan: {_other_plan(one, found, plan)}")
        for one in found
        if one.shard.plan != plan
    ]
    kept: dict[int, ShardFolder] = {}
    for one in (one for one in found if one.shard.plan == plan):
        before = kept.setdefault(one.shard.index, one)
        if before is not one:
            what = "the same results as" if before.seal == one.seal else "measured a second time, in addition to"
            problems.append(Problem("doubled", one.shard.index, one.folder, f"{what} {before.folder}"))
    whole = list(kept.values())
    problems += _missing(whole) + _incomplete(whole) + _contradicting(whole)
    return whole, problems


def _other_plan(one: ShardFolder, found: Sequence[ShardFolder], plan: str) -> str:
    """Say by what a shard differs from those of the plan, as far as a command tells it."""
    usual = next(other for other in found if other.shard.plan == plan)
    ours, theirs = (bare_command(each.first.content.command) for each in (one, usual))
    if ours != theirs:
        return f"{shlex.join(ours)}, where others have {shlex.join(theirs)}"
    if (one.shard.of, one.shard.replicates) != (usual.shard.of, usual.shard.replicates):
        return f"{one.shard.of} shards, where others have {usual.shard.of}"
    return "the same command, but other cases, settings or own ops: its machine cannot measure what others can"


def _missing(found: Sequence[ShardFolder]) -> list[Problem]:
    there = {one.shard.index for one in found}
    return [
        Problem("missing", index, None, f"no folder of shard {index}")
        for index in range(1, found[0].shard.of + 1)
        if index not in there
    ]


def _incomplete(found: Sequence[ShardFolder]) -> list[Problem]:
    problems: list[Problem] = []
    for one in found:
        for run in one.runs.values():
            samples, index = run.samples, one.shard.index
            try:
                probes_of(run)
            except BadInput as error:
                problems.append(Problem("unreadable", index, run.folder, error.in_a_line))
            if samples.changed:
                lines = ", ".join(f"line {line:,}" if line else run_folder.RUN_FILE for line in samples.changed[:3])
                problems.append(Problem("changed", index, run.folder, f"not as written: {lines}"))
            if samples.torn:
                problems.append(Problem("torn", index, run.folder, "the last line is unfinished"))
            elif samples.ended is None and run.content.cases:
                problems.append(Problem("unfinished", index, run.folder, "no line says that measuring ended"))
    return problems


def probes_of(run: ShardRun) -> dict[str, Any] | None:
    """Return what probes found beside the run of a shard; None where there is nothing.

    Raises:
        BadInput: it cannot be read.
    """
    path = run.folder / probes.FILE
    return probes.read(path) if path.exists() else None


def _contradicting(found: Sequence[ShardFolder]) -> list[Problem]:
    """Return the shards that were measured with other software than most."""
    problems: list[Problem] = []
    for label in found[0].runs:
        environments = {one.shard.index: one.runs[label].content.environment for one in found}
        for key in SAME_SOFTWARE:
            usual = Counter(repr(one.get(key)) for one in environments.values()).most_common(1)[0][0]
            problems += [
                Problem(
                    "contradicting",
                    one.shard.index,
                    one.runs[label].folder,
                    f"{key} {environments[one.shard.index].get(key)!r}, where others have {usual}",
                )
                for one in found
                if repr(environments[one.shard.index].get(key)) != usual
            ]
    return problems


def bare_command(command: Sequence[str]) -> list[str]:
    """Return a command without the options that concern a single folder of results."""
    words: list[str] = []
    skip = False
    for word in command:
        if skip or word in ("--shard", "--out"):
            skip = not skip
        elif not word.startswith(("--shard=", "--out=")):
            words.append(word)
    return words


def command_again(one: ShardFolder, index: int) -> str:
    """Return the command that measures a shard of the plan that another one is of."""
    words = bare_command(one.first.content.command)
    return shlex.join([*words, "--shard", f"{index}/{one.shard.of}", "--out", f"shard-{index}"])
