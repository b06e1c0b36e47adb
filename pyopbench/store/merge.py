"""Several runs as one: shards of a plan become a new folder, and runs of one environment are pooled for a report."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.model.files import real_path
from pyopbench.model.formatting import listing
from pyopbench.store.run import OpenRun, open_run, require_new, write_run
from pyopbench.store.types import (
    FAILING,
    AnyLine,
    EndedLine,
    LaunchLine,
    LookLine,
    Merged,
    OwnOpFacts,
    Plan,
    Shard,
    Side,
    join_catalogues,
)

SOFTWARE = (
    *("tensorflow", "numpy", "python", "commit", "dirty"),
    *("variables", "intra_op_threads", "inter_op_threads"),
)
"""Facts that must be equal in the environments of runs that become one."""
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
    if not folders:
        raise NothingMeasured("no folders of shards are named", hint="pyopbench fleet merge shard-* --out merged")
    shards = [(_shard_of(run), run) for run in map(open_run, dict.fromkeys(map(real_path, folders)))]
    shards.sort(key=lambda one: one[0].index)
    _check(shards)
    runs = [run for _, run in shards]
    joined = join_runs(runs)
    hosts = {shard.host: run.measured[0].side.environment for shard, run in shards}
    joined.plan = structs.replace(joined.plan, run=real_path(out).name, shard=None, merged=Merged(hosts=hosts))
    write_run(joined, out)
    return Merging(out, len(shards), tuple(sorted(hosts)))


def pool(runs: Sequence[OpenRun]) -> OpenRun:
    """Return several runs on one side and of one environment as one with more launches.

    Raises:
        BadInput: the environments differ, the code of an own op, or the pipelines.
    """
    own: dict[str, OwnOpFacts] = {}
    for run in runs:
        if _arrangements(run) != _arrangements(runs[0]):
            hint = "report each of them separately"
            raise BadInput("runs of different pipelines cannot become one", received=run.folder, hint=hint)
        _require_same_environment(runs[0], run, ("cpu", "cores", *SOFTWARE), "report each of them separately")
        for name, facts in run.measured[0].side.own.items():
            known = own.setdefault(name, facts)
            if (known.fingerprint, known.revision) != (facts.fingerprint, facts.revision):
                hint = "pyopbench compare A B compares two runs"
                raise BadInput("runs of different code cannot become one", received=name, hint=hint)
    return join_runs(runs)


def _arrangements(run: OpenRun) -> object:
    return run.plan.pipeline and run.plan.pipeline.arrangements


def join_runs(runs: Sequence[OpenRun]) -> OpenRun:
    """Return runs of the same sides as one, in memory: a launch has the same new number on each side.

    Interim analyses are left out, which were of one run each and not of the whole.
    """
    plans = [run.plan for run in runs]
    torn = next((run for run in runs if run.torn), runs[0])
    plan = structs.replace(
        plans[0],
        run=" + ".join(plan.run for plan in plans),
        created=min(plan.created for plan in plans),
        sides=[_join_sides(sides) for sides in zip(*(plan.sides for plan in plans), strict=True)],
    )
    joined = OpenRun(torn.folder, plan, torn=torn.torn)
    launches = list(map(_launches_of, runs))
    for place, side in enumerate(joined.measured):
        each = [run.measured[place].lines for run in runs]
        for number, lines in enumerate(each):
            side.lines += _renumber(lines, sum(launches[:number]))
        ended = [line for lines in each for line in lines if isinstance(line, EndedLine)]
        side.lines += [_join_ends(ended, sum(launches))] if ended else []
    return joined


def _launches_of(run: OpenRun) -> int:
    lines = [line for side in run.measured for line in side.lines if isinstance(line, OF_A_LAUNCH)]
    return max((line.launch for line in lines), default=-1) + 1


def _renumber(lines: Sequence[AnyLine], offset: int) -> Iterator[AnyLine]:
    for line in lines:
        changes: dict[str, Any] = {"launch": line.launch + offset}
        if isinstance(line, FAILING):
            changes["failures"] = [
                failure if failure.launch is None else replace(failure, launch=failure.launch + offset)
                for failure in line.failures
            ]
        if not isinstance(line, LookLine | EndedLine):
            yield structs.replace(line, **changes)


def _join_ends(each: Sequence[EndedLine], launches: int) -> EndedLine:
    """Return why the measuring ended: the budget, if that was so for one; seconds are summed over machines."""
    reasons = {one.by for one in each}
    return structs.replace(
        each[0],
        launch=launches,
        by="budget" if "budget" in reasons else "launches" if "launches" in reasons else "look",
        looks=max(one.looks for one in each),
        seconds=sum(one.seconds for one in each),
        sampling_seconds=sum(one.sampling_seconds for one in each),
    )


def _join_sides(sides: Sequence[Side]) -> Side:
    if sides[0].problem is not None:
        return sides[0]
    return structs.replace(
        sides[0],
        environment=_join_environments([side.environment for side in sides]),
        catalogue=join_catalogues([side.catalogue for side in sides]),
        cases=list(dict.fromkeys(key for side in sides for key in side.cases)),
        skips=list({(skip.case, skip.status): skip for side in sides for skip in side.skips}.values()),
        own={name: own for side in reversed(sides) for name, own in side.own.items()},
    )


def _join_environments(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what all machines have in common; where processors or cores differ, all processors and the fewest cores.

    Each machine's own environment is kept as a whole in `merged.hosts`.
    """
    common = {key: value for key, value in each[0].items() if all(one.get(key) == value for one in each)}
    processors = dict.fromkeys(str(one.get("cpu") or "unknown processor") for one in each)
    return {"cpu": listing(list(processors)), "cores": min(one["cores"] for one in each), **common}


def _require_same_environment(first: OpenRun, other: OpenRun, keys: Sequence[str], hint: str) -> None:
    for ours, theirs in zip(first.measured, other.measured, strict=True):
        for key in keys:
            values = [side.side.environment.get(key) for side in (ours, theirs)]
            if values[0] != values[1]:
                raise BadInput(
                    f"results of different environments cannot become one run: {key} differs",
                    received=f"{first.plan.run}: {values[0]!r}, {other.plan.run}: {values[1]!r}",
                    hint=hint,
                )


def _shard_of(run: OpenRun) -> Shard:
    if run.plan.shard is None:
        legal = "folders written by `pyopbench run --shard I/N`"
        raise BadInput("not a shard", received=run.folder, legal=legal, hint="leave it out")
    return run.plan.shard


def _check(shards: Sequence[tuple[Shard, OpenRun]]) -> None:
    """Check that these are all shards of one plan, each of them once, measured to the end with the same software."""
    plan = Counter(shard.plan for shard, _ in shards).most_common(1)[0][0]
    numbers = Counter(shard.index for shard, _ in shards)
    first, run = shards[0]
    unfinished = [run for _, run in shards if not _has_ended(run)]
    resume = f"continue them: pyopbench resume {shlex.quote(str(unfinished[0].folder))}" if unfinished else ""
    for problem, runs, hint in (
        ("these shards belong to a different plan", [run for one, run in shards if one.plan != plan], "leave them out"),
        ("a shard is given more than once", [run for one, run in shards if numbers[one.index] > 1], "leave one out"),
        ("shards are not finished", unfinished, resume),
    ):
        if runs:
            raise BadInput(problem, received=listing([str(run.folder) for run in runs]), hint=hint)
    missing = [index for index in range(1, first.of + 1) if index not in numbers]
    if missing:
        raise BadInput(
            "shards are missing",
            received=f"no folder of shard {listing(list(map(str, missing)))} of {first.of:,}",
            hint=f"measure them: {_command_again(run.plan, first.of, missing[0])}",
        )
    for shard, other in shards:
        hint = f"measure it again with the same software: {_command_again(other.plan, shard.of, shard.index)}"
        _require_same_environment(run, other, SOFTWARE, hint)


def _has_ended(run: OpenRun) -> bool:
    return all(not side.side.cases or any(isinstance(line, EndedLine) for line in side.lines) for side in run.measured)


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


def _command_again(plan: Plan, of: int, index: int) -> str:
    words = bare_command(plan.command)
    return shlex.join([*words, "--shard", f"{index}/{of}", "--out", f"shard-{index}"])
