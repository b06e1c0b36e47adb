"""Divides a plan into shards: the same on every machine from the same command, whole units, of about equal cost."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import structs

from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput
from pyopbench.model.host import host_name
from pyopbench.store.types import RunSettings, Shard, Side, unit_of


@dataclass(frozen=True)
class ShardChoice:
    """Shard `index` (from 1) of `of` shards."""

    index: int
    of: int


def narrowed(
    sides: Sequence[Side], settings: RunSettings, choice: ShardChoice | None
) -> tuple[list[Side], Shard | None]:
    """Return the sides of a plan with the cases and skips of one shard alone, and what that shard is.

    A unit goes to one shard with all sides, because they are compared launch by launch on one machine.

    Args:
        sides: of the whole plan.
        settings: of the run.
        choice: the shard; None for the whole plan.

    Raises:
        BadInput: there are more shards than units.
    """
    if choice is None:
        return list(sides), None
    costs = costs_of(sides)
    measured = sum(cost > 0 for cost in costs.values())
    if choice.of > measured:
        raise BadInput(
            "more shards than the plan can be divided into: an op in one mode and dtype stays together, because its "
            "sizes, variants and devices are compared on one machine",
            received=f"{choice.of} shards, {measured} such units",
            legal=f"at most {measured} shards",
            hint=f"--shard {min(choice.index, measured)}/{measured}",
        )
    parts = balanced(costs, choice.of, settings.seed)
    shard = Shard(index=choice.index, of=choice.of, plan=plan_hash(sides, settings, parts), host=host_name())
    mine = set(parts[choice.index - 1])
    return [_only(side, mine) for side in sides], shard


def costs_of(sides: Sequence[Side]) -> dict[str, int]:
    """Return about what each unit costs to measure, in timed passes; 0 for one of which nothing can be measured.

    Blocks are made equally long whatever they time, and preparing is the same work for each pass, so that what a unit
    takes is in proportion to its passes. Backward comes with forward+backward.
    """
    passes: dict[str, set[tuple[int, str, str]]] = {}
    for number, side in enumerate(sides):
        for key in side.cases:
            case = Case.from_id(key)
            passes.setdefault(unit_of(case), set()).add((number, case.group, case.runner))
        for skip in side.skips:
            passes.setdefault(unit_of(Case.from_id(skip.case)), set())
    return {unit: len(found) for unit, found in passes.items()}


def balanced(costs: Mapping[str, int], many: int, seed: int) -> list[list[str]]:
    """Divide units into parts of about equal cost: the most expensive first, each to the cheapest shard so far.

    No part then costs more than 4/3 of what the best division comes to. Units of equal cost are drawn in random
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


def plan_hash(sides: Sequence[Side], settings: RunSettings, parts: Sequence[Sequence[str]]) -> str:
    """Return a hash of all that has to be alike in every shard: cases, settings, own ops, and how they are divided."""
    plan = {
        "settings": msgspec.to_builtins(settings),
        "sides": [
            {
                "label": side.label,
                "cases": side.cases,
                "own": {name: own.fingerprint for name, own in side.own.items()},
            }
            for side in sides
        ],
        "parts": parts,
    }
    return hashlib.sha256(json.dumps(plan, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _only(side: Side, units: set[str]) -> Side:
    def is_mine(key: str) -> bool:
        return unit_of(Case.from_id(key)) in units

    return structs.replace(
        side, cases=list(filter(is_mine, side.cases)), skips=[skip for skip in side.skips if is_mine(skip.case)]
    )
