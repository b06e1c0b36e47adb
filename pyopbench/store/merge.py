"""Puts the folders of shards together as one run: launches are numbered anew, and each knows its machine."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from pyopbench.model.errors import BadInput, CannotStore, NothingMeasured
from pyopbench.model.formatting import listing
from pyopbench.model.paths import real_path
from pyopbench.model.write_file import write_atomically
from pyopbench.store import json_file
from pyopbench.store.run import RUN_FILE, SAMPLES_FILE, OpenRun, OpenSide, open_run, require_new
from pyopbench.store.types import (
    FAILING,
    AnyLine,
    EndedLine,
    LaunchLine,
    LookLine,
    Merged,
    Plan,
    Shard,
    Side,
    join_catalogues,
)

MOST_SHOWN = 5
"""Folders that an error names."""
SAME_SOFTWARE = (
    *("tensorflow", "numpy", "python", "pyopbench", "commit", "dirty"),
    *("variables", "intra_op_threads", "inter_op_threads"),
)
"""What all shards have to be measured with; processors, cores and memory may differ."""
OF_A_LAUNCH = (LaunchLine, *FAILING)
"""Lines that are of a launch with their number."""


@dataclass(frozen=True)
class Merging:
    """The result of a merge: the folder of the run, the number of its shards, and the names of the machines."""

    folder: Path
    shards: int
    hosts: tuple[str, ...]


def merge(folders: Sequence[Path], out: Path) -> Merging:
    """Write one run with the results of all shards of a plan, each of them once.

    Args:
        folders: of the shards.
        out: a new folder.

    Raises:
        BadInput: shards are missing, there twice, of another plan, not measured to the end, or measured with other
            software than the rest; or `out` holds a run.
        NothingMeasured: no folder is given.
    """
    require_new(out)
    shards = sorted(map(_read, dict.fromkeys(map(real_path, folders))), key=lambda one: one.shard.index)
    if not shards:
        raise NothingMeasured("no folder of a shard is named", hint="pyopbench fleet merge shard-* --out merged")
    _check(shards)
    lines = [
        json_file.encode(line) + b"\n"
        for place in range(len(shards[0].run.measured))
        for line in _merged_lines(shards, place)
    ]
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(out / SAMPLES_FILE, b"".join(lines))
        write_atomically(out / RUN_FILE, json_file.encode_in_lines(_merged_plan(out, shards)))
    except OSError as error:
        raise CannotStore(
            "the merged run cannot be stored; the shards are as they were",
            received=error,
            hint="make room, or choose another --out, and merge again",
        ) from error
    return Merging(out, len(shards), tuple(sorted({one.shard.host for one in shards})))


@dataclass(frozen=True)
class _ShardRun:
    """The run of a shard: of each of its sides, what was planned and what was measured."""

    run: OpenRun
    shard: Shard

    @property
    def launches(self) -> int:
        """How many numbers its launches take: as many on each side, whose launches of one number are compared."""
        lines = [line for side in self.run.measured for line in side.lines if isinstance(line, OF_A_LAUNCH)]
        return max((line.launch for line in lines), default=-1) + 1

    @property
    def has_ended(self) -> bool:
        return all(not side.side.cases or _ended(side) is not None for side in self.run.measured)


def _ended(side: OpenSide) -> EndedLine | None:
    return next((line for line in reversed(side.lines) if isinstance(line, EndedLine)), None)


def _read(folder: Path) -> _ShardRun:
    run = open_run(folder)
    if run.plan.shard is None:
        raise BadInput(
            "not a shard", received=folder, legal="folders written by `pyopbench run --shard I/N`", hint="leave it out"
        )
    return _ShardRun(run, run.plan.shard)


def _check(shards: Sequence[_ShardRun]) -> None:
    """Check that these are all shards of one plan, each of them once, measured to the end with the same software."""
    plan = Counter(one.shard.plan for one in shards).most_common(1)[0][0]
    foreign = [one for one in shards if one.shard.plan != plan]
    if foreign:
        raise _refusal("these shards belong to a different plan", foreign, "leave them out")
    many = Counter(one.shard.index for one in shards)
    twice = [one for one in shards if many[one.shard.index] > 1]
    if twice:
        raise _refusal("a shard is given more than once", twice, "leave all but one out")
    missing = [index for index in range(1, shards[0].shard.of + 1) if index not in many]
    if missing:
        raise BadInput(
            "shards are missing",
            received=f"no folder of shard {listing([f'{index:,}' for index in missing])} of {shards[0].shard.of:,}",
            hint=f"measure them: {_command_again(shards[0], missing[0])}",
        )
    unfinished = [one for one in shards if not one.has_ended]
    if unfinished:
        hint = f"continue them: pyopbench resume {shlex.quote(str(unfinished[0].run.folder))}"
        raise _refusal("shards are not measured to the end", unfinished, hint)
    for place in range(len(shards[0].run.measured)):
        _require_same_software([(one, one.run.measured[place].side.environment) for one in shards])


def _require_same_software(shards: Sequence[tuple[_ShardRun, Mapping[str, Any]]]) -> None:
    for key in SAME_SOFTWARE:
        usual = Counter(repr(environment.get(key)) for _, environment in shards).most_common(1)[0][0]
        others = [one for one, environment in shards if repr(environment.get(key)) != usual]
        if others:
            hint = f"measure them again with {key} {usual}: {_command_again(others[0], others[0].shard.index)}"
            raise _refusal(f"shards were measured with a different {key} from the rest", others, hint)


def _refusal(problem: str, shards: Sequence[_ShardRun], hint: str) -> BadInput:
    named = [f"shard {one.shard.index} in {one.run.folder}" for one in shards[:MOST_SHOWN]]
    rest = [f"{len(shards) - MOST_SHOWN:,} more"] if len(shards) > MOST_SHOWN else []
    return BadInput(problem, received=listing(named + rest), hint=hint)


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


def _command_again(one: _ShardRun, index: int) -> str:
    words = bare_command(one.run.plan.command)
    return shlex.join([*words, "--shard", f"{index}/{one.shard.of}", "--out", f"shard-{index}"])


def _merged_plan(out: Path, shards: Sequence[_ShardRun]) -> Plan:
    plans = [one.run.plan for one in shards]
    merged = Merged(hosts={one.shard.host: one.run.measured[0].side.environment for one in shards})
    return structs.replace(
        plans[0],
        run=out.resolve().name,
        created=min(plan.created for plan in plans),
        sides=[_merged_side([plan.sides[place] for plan in plans]) for place in range(len(plans[0].sides))],
        shard=None,
        merged=merged,
    )


def _merged_side(sides: Sequence[Side]) -> Side:
    if sides[0].problem is not None:
        return sides[0]
    return structs.replace(
        sides[0],
        environment=_environment([side.environment for side in sides]),
        catalogue=join_catalogues([side.catalogue for side in sides]),
        cases=list(dict.fromkeys(key for side in sides for key in side.cases)),
        skips=list({(skip.case, skip.status): skip for side in sides for skip in side.skips}.values()),
        own={name: own for side in reversed(sides) for name, own in side.own.items()},
    )


def _environment(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what all machines have in common; where processors or cores differ, all processors and the fewest cores.

    Each machine's own environment is kept as a whole in `merged.hosts`.
    """
    common = {key: value for key, value in each[0].items() if all(one.get(key) == value for one in each)}
    processors = dict.fromkeys(str(one.get("cpu") or "unknown processor") for one in each)
    return {"cpu": listing(list(processors)), "cores": min(one["cores"] for one in each), **common}


def _merged_lines(shards: Sequence[_ShardRun], place: int) -> Iterator[AnyLine]:
    """Yield the lines of one side of all shards, with their launches numbered anew.

    Only the interim analyses of the shard that had the most are kept, because every verdict is corrected for that many.
    """
    sides = [one.run.measured[place] for one in shards]
    looks = [sum(isinstance(line, LookLine) for line in side.lines) for side in sides]
    offset = 0
    for number, (one, side) in enumerate(zip(shards, sides, strict=True)):
        for line in side.lines:
            if isinstance(line, LookLine):
                if number == looks.index(max(looks)):
                    yield line
            elif not isinstance(line, EndedLine):
                yield _renumber(line, offset, one.shard.host)
        offset += one.launches
    ended = [line for line in map(_ended, sides) if line is not None]
    if ended:
        yield _join_ends(ended, offset)


def _renumber(line: AnyLine, offset: int, host: str) -> AnyLine:
    changes: dict[str, Any] = {"launch": line.launch + offset}
    if isinstance(line, FAILING):
        changes["failures"] = [
            failure if failure.launch is None else replace(failure, launch=failure.launch + offset)
            for failure in line.failures
        ]
    if isinstance(line, LaunchLine):
        changes["environment"] = {"host": host, **line.environment}
    return structs.replace(line, **changes)


def _join_ends(each: Sequence[EndedLine], launches: int) -> EndedLine:
    """Return what ended the measuring of all: the budget if it did that of one; seconds are those of all machines."""
    reasons = {one.by for one in each}
    return EndedLine(
        launch=launches,
        side=each[0].side,
        by="budget" if "budget" in reasons else "launches" if "launches" in reasons else "look",
        looks=max(one.looks for one in each),
        seconds=sum(one.seconds for one in each),
        sampling_seconds=sum(one.sampling_seconds for one in each),
    )
