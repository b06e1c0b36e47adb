"""Made-up shards of one plan, as `pyopbench run --shard` stores them on machines that are told to be such."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

import stored
from pyopbench.engine.plan import narrow_to_shard
from pyopbench.model.case import Case

CASES = [
    stored.case(variant, op, size)
    for op in ("double", "sinh", "cube", "relu")
    for size in (1, 10)
    for variant in ("py_function_numpy", "native")
]
ENDED = {"kind": "ended", "launch": 2, "by": "launches", "looks": 0, "seconds": 8.0, "sampling_seconds": 6.0}
LAUNCHES = 2

Seconds = Callable[[str, int, int], float]
"""Is given the id of a case, the number of a shard and that of a launch, and returns the seconds of a block."""


def steady(key: str, index: int, launch: int) -> float:
    """Return what a block takes: native half of what the callback does, with a little noise."""
    noise = 1 + 0.001 * ((hash_of(key) + 7 * index + 13 * launch) % 11)
    return (0.25 if "/native/" in key else 0.5) * noise


def hash_of(text: str) -> int:
    """Return a number that is the same in every process."""
    return sum(place * ord(one) for place, one in enumerate(text, 1))


def plan(cases: Sequence[str] = CASES, **changes: Any) -> dict[str, Any]:
    """Return the content of the `run.json` of a whole plan."""
    content = stored.run(cases, **changes)
    variants = {**content["catalogue"]["variants"], "native": {**stored.VARIANT, "kind": "port", "effort": 3}}
    settings = {**stored.SETTINGS, "baseline": "py_function_numpy", **changes.get("settings", {})}
    return {"own": {}, **content, "settings": settings, "catalogue": {**content["catalogue"], "variants": variants}}


def narrow(content: dict[str, Any], choice: tuple[int, int]) -> dict[str, Any]:
    """Return the content of the `run.json` of a shard, as it is stored."""
    plan = stored.typed(content)
    sides, shard = narrow_to_shard(plan.sides, plan.settings, choice)
    whole: dict[str, Any] = msgspec.to_builtins(replace(plan, sides=sides, shard=shard), str_keys=True)
    return whole


def lines_of(cases: Sequence[str], index: int, seconds: Seconds = steady) -> list[dict[str, Any]]:
    """Return what the workers of a shard have stored of its cases."""
    groups: dict[str, list[str]] = {}
    for key in cases:
        groups.setdefault(Case.from_id(key).group, []).append(key)
    lines: list[dict[str, Any]] = []
    for launch in range(LAUNCHES):
        lines.append(stored.launch_line(launch))
        for keys in groups.values():
            line = stored.group_line(launch, keys)
            line["samples"] = {
                key: [[number, place, 3, seconds(key, index, launch)] for number in range(3)]
                for place, key in enumerate(keys)
            }
            lines.append(line)
    return lines


def write_shard(folder: Path, index: int, of: int, host: str = "", seconds: Seconds = steady, **changes: Any) -> Path:
    """Write a shard of `plan()` and return its folder; `changes` are of the content of its `run.json`."""
    whole = plan(**{key: changes.pop(key) for key in ("settings", "own") if key in changes})
    content = {**narrow(whole, (index, of)), "run": folder.name}
    (side,) = content["sides"]
    ours = {key: changes.pop(key) for key in stored.PLANNED_OF_A_SIDE if key in changes}
    content = {**content, **changes, "sides": [{**side, **ours}]}
    content["shard"] = {**content["shard"], "host": host or f"host-{index}"}
    return stored.write(folder, content, [*lines_of(side["cases"], index, seconds), ENDED])


def write_shards(folder: Path, of: int = 4) -> list[Path]:
    """Write all shards of `plan()`, each on a machine of its own, and return their folders."""
    return [write_shard(folder / f"shard-{index}", index, of) for index in range(1, of + 1)]


def write_versions(folder: Path, index: int, of: int, tensorflows: Sequence[str]) -> Path:
    """Write a shard that is measured on several versions of TensorFlow."""
    named = stored.name_versions(tensorflows)
    sides = [
        {"label": side.label, "tf": side.tf, "environment": {**stored.ENVIRONMENT, "tensorflow": side.tf}}
        for side in named
    ]
    content = narrow(stored.nested(plan(), *sides), (index, of))
    content["shard"] = {**content["shard"], "host": f"host-{index}"}
    lines = [
        {**line, "side": number}
        for number, side in enumerate(content["sides"])
        for line in [*lines_of(side["cases"], index), ENDED]
    ]
    return stored.write(folder, content, lines)
