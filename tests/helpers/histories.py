"""Made-up results over commits and versions with known changes, for the tests of histories."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import stored
from foreign_files import asv_folder, document, scaled
from pairs import cases, write_run

KEYS = cases()
CHANGED = KEYS[3]
"""native at its second size."""


def commit(number: int) -> str:
    """Return the hash of the commit of that number."""
    return f"{number:02x}" * 20


def write_commits(folder: Path, factors: Sequence[Mapping[str, float]]) -> list[Path]:
    """Write a run for each commit, a day apart, whose cases take so many times their usual time."""
    return [
        write_run(
            folder / f"run-{number:02}",
            KEYS,
            seed=number,
            factors=found,
            environment={**stored.ENVIRONMENT, "commit": commit(number)},
            created=f"2026-01-{number + 1:02}T10:00:00+00:00",
        )
        for number, found in enumerate(factors)
    ]


def stepped(many: int, place: int, factor: float, case: str = CHANGED) -> list[dict[str, float]]:
    """Return factors of as many commits, of which a case is slower from one on."""
    return [{case: factor} if number >= place else {} for number in range(many)]


def write_asv(folder: Path, factors: Sequence[float], noise: Sequence[float] = ()) -> Path:
    """Write asv's results of one machine, a file for each commit, in all of which everything takes so many times."""
    made: dict[str, Any] = {}
    for number, factor in enumerate(factors):
        content = copy.deepcopy(document("asv-first"))
        content["commit_hash"], content["date"] = commit(number), 1_700_000_000_000 + 86_400_000 * number
        made[f"{commit(number)[:8]}-env"] = scaled(content, factor * (noise[number] if len(noise) else 1.0))
    return asv_folder(folder, **made)
