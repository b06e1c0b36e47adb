"""Divides a plan into shards: the same on every machine from the same command, whole units, of about equal cost."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput
from pyopbench.model.host import host_name
from pyopbench.store.run_json import RunContent, Shard, unit_of


@dataclass(frozen=True)
class ShardChoice:
    """The shard that is asked for: number `index`, from 1, `of` so many."""

    index: int
    of: int


def narrowed(contents: Sequence[RunContent], choice: ShardChoice | None) -> list[RunContent]:
    """Return the contents of `run.json` with the cases and skips of one shard alone.

    Args:
        contents: of the runs that are begun together, one for each version of TensorFlow: a unit goes to one shard with
            all of them, because versions are compared launch by launch on one machine.
        choice: the shard; None for the whole plan.

    Raises:
        BadInput: there are more parts than units.
    """
    if choice is None:
        return list(contents)
    costs = costs_of(contents)
    measured = sum(cost > 0 for cost in costs.values())
    if choice.of > measured:
        raise BadInput(
            "more shards than the plan can be divided into: an op in one mode and dtype stays together, because its "
            "sizes, variants and devices are compared on one machine",
            received=f"{choice.of} shards, {measured} such units",
            legal=f"at most {measured} shards",
            hint=f"--shard {min(choice.index, measured)}/{measured}",
        )
    parts = balanced(costs, choice.of, contents[0].settings.seed)
    shard = Shard(index=choice.index, of=choice.of, plan=plan_hash(contents, choice, parts), host=host_name())
    mine = set(parts[choice.index - 1])
    return [_only(content, mine).with_changes(shard=shard) for content in contents]


def require_unmerged(run: RunContent, folder: Path) -> RunContent:
    """Return the content of a `run.json`, which is not that of a merged run.

    Raises:
        BadInput: it is, so that what is open of it is open in a shard.
    """
    if run.merged is None:
        return run
    raise BadInput(
        "a merged run is not resumed: its launches are of several machines",
        received=folder,
        legal="the folder of a shard",
        hint="resume the shards that are unfinished, and merge again into a new folder",
    )


def costs_of(contents: Sequence[RunContent]) -> dict[str, int]:
    """Return about what each unit costs to measure, in timed passes; 0 for one of which nothing can be measured.

    Blocks are made equally long whatever they time, and preparing is the same work for each pass, so that what a unit
    takes is in proportion to its passes. Backward comes with forward+backward.
    """
    passes: dict[str, set[tuple[int, str, str]]] = {}
    for number, content in enumerate(contents):
        for key in content.cases:
            case = Case.from_id(key)
            passes.setdefault(unit_of(case), set()).add((number, case.group, case.runner))
        for skip in content.skips:
            passes.setdefault(unit_of(Case.from_id(skip.case)), set())
    return {unit: len(found) for unit, found in passes.items()}


def balanced(costs: Mapping[str, int], many: int, seed: int) -> list[list[str]]:
    """Divide units into parts of about equal cost: the dearest first, each to the part that has least.

    No part then costs more than 4/3 of what the best division comes to. Units that cost as much are drawn in random
    order. Source: R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17 (1969) 416-429.
    """
    units = sorted(costs)
    random.Random(f"shards/{seed}").shuffle(units)
    loads, parts = [0] * many, [list[str]() for _ in range(many)]
    for unit in sorted(units, key=lambda unit: -costs[unit]):
        place = min(range(many), key=lambda part: (loads[part], len(parts[part]), part))
        loads[place] += costs[unit]
        parts[place].append(unit)
    return [sorted(part) for part in parts]


def plan_hash(contents: Sequence[RunContent], choice: ShardChoice, parts: Sequence[Sequence[str]]) -> str:
    """Return a hash of all that has to be alike in every shard: cases, settings, own ops, and how they are divided."""
    plan = {
        "runs": [
            {
                "cases": content.cases,
                "settings": msgspec.to_builtins(content.settings),
                "own": {name: own.fingerprint for name, own in content.own.items()},
            }
            for content in contents
        ],
        "of": choice.of,
        "parts": parts,
    }
    return hashlib.sha256(json.dumps(plan, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _only(content: RunContent, units: set[str]) -> RunContent:
    def is_mine(key: str) -> bool:
        return unit_of(Case.from_id(key)) in units

    cases = [key for key in content.cases if is_mine(key)]
    return content.with_changes(cases=cases, skips=[skip for skip in content.skips if is_mine(skip.case)])
