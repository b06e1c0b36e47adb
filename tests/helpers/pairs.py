"""Made-up runs to compare with each other, for the tests of comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import stored
from pyopbench.model.case import Case

VARIANTS = ("py_function_numpy", "native", "xla")
SIZES = (1, 10)
SPREAD = 0.002


def cases(variants: Sequence[str] = VARIANTS, ops: Sequence[str] = ("double",)) -> list[str]:
    """Return the ids of forward cases."""
    return [
        Case(op, name, "none", "forward", "call", "float32", size).id
        for op in ops
        for name in variants
        for size in SIZES
    ]


def write_run(folder: Path, keys: Sequence[str], **how: Any) -> Path:
    """Write a run with the lines of `lines_of`; any other of `how` is a key of `run.json`. Return its folder."""
    ours = {name: how.pop(name) for name in ("factors", "seed", "launches", "clocks", "noise") if name in how}
    content = {**content_of(folder.name, keys, ours.get("launches", 4)), **how}
    return stored.write(folder, content, lines_of(keys, **ours))


def content_of(name: str, keys: Sequence[str], launches: int) -> dict[str, Any]:
    """Return the content of `run.json`, as `write_run` writes it."""
    settings = {**stored.SETTINGS, "baseline": VARIANTS[0], "launches": launches}
    return stored.run(keys, run=name, settings=settings)


def lines_of(
    keys: Sequence[str],
    factors: Mapping[str, float] | None = None,
    seed: int = 0,
    launches: int = 4,
    clocks: Mapping[int, float] | None = None,
    noise: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Return the lines of a run whose cases take 1 ms times their factor and whose launches differ by 0.2%.

    Args:
        keys: ids of the cases.
        factors: id of a case -> its time over 1 ms.
        seed: of the differences.
        launches: how many there are.
        clocks: number of a launch -> its clock rate over the usual one, by which times are longer.
        noise: what else is reported of the machine; else it is quiet.
    """
    rng = np.random.default_rng(seed)
    lines = []
    for launch in range(launches):
        lines.append(stored.launch_line(launch))
        groups: dict[str, list[str]] = {}
        for key in keys:
            groups.setdefault(Case.from_id(key).group, []).append(key)
        for found in groups.values():
            usual = 1e-3 / (clocks or {}).get(launch, 1.0)
            seconds = {
                key: (factors or {}).get(key, 1.0) * usual * math.exp(SPREAD * rng.standard_normal()) for key in found
            }
            line = stored.group_line(launch, found)
            line["noise"] = {**stored.NOISE, "steal_seconds": 0.0, **(noise or {})}
            samples = {
                key: [[number, place, 1, seconds[key]] for number in range(2)] for place, key in enumerate(found)
            }
            lines.append({**line, "samples": samples})
    return lines


def write_versions(folder: Path, *asked: str, **changes: Any) -> Path:
    """Write a run of several versions, each with a NumPy and an order of samples of its own."""
    sides = []
    for place, side in enumerate(stored.name_versions(asked)):
        environment = {**stored.ENVIRONMENT, "tensorflow": side.tf, "numpy": f"1.{place}"}
        how = {"launches": 4, **changes.get(side.label, {})}
        ours = {key: how.pop(key) for key in stored.PLANNED_OF_A_SIDE if key in how}
        planned = {"label": side.label, "tf": side.tf, "environment": environment, **ours}
        sides.append((planned, lines_of(cases(), seed=place, **how)))
    return stored.write_sides(folder, content_of(folder.name, cases(), 4), sides)
