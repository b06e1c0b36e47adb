"""Made-up runs to compare with each other, for the tests of comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import stored
from pyopbench.model.case import Case
from pyopbench.store import run_sides

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


def write_run(
    folder: Path,
    keys: Sequence[str],
    *,
    factors: Mapping[str, float] | None = None,
    seed: int = 0,
    launches: int = 4,
    clocks: Mapping[int, float] | None = None,
    noise: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """Write a run whose cases take 1 ms times their factor and whose launches differ by 0.2%; return its folder.

    Args:
        folder: of the run.
        keys: ids of the cases.
        factors: id of a case -> its time over 1 ms.
        seed: of the differences.
        launches: how many there are.
        clocks: number of a launch -> its clock rate over the usual one, by which times are longer.
        noise: what else is reported of the machine; else it is quiet.
        changes: keys of `run.json`.
    """
    rng = np.random.default_rng(seed)
    settings = {**stored.SETTINGS, "baseline": VARIANTS[0], "launches": launches}
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
    content = {**stored.run(keys, run=folder.name, settings=settings), **changes}
    return stored.write(folder, content, lines)


def write_versions(folder: Path, *asked: str, **changes: Any) -> Path:
    """Write a run of several versions, each with a NumPy and an order of samples of its own."""
    named = stored.name_versions(folder, asked)
    for place, one in enumerate(named):
        environment = {**stored.ENVIRONMENT, "tensorflow": one.tf, "numpy": f"1.{place}"}
        write_run(one.folder, cases(), seed=place, environment=environment, **changes.get(one.label, {}))
    run_sides.write(folder, named)
    return folder
