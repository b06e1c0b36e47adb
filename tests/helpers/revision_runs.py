"""Made-up runs over revisions, for the tests of what is said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

import pairs
import stored
from pyopbench.model.case import Case
from pyopbench.store.run import name_sides
from pyopbench.store.types import Revision, Side, ValueDifference, Values

DIFFERENT = ValueDifference("double", 10, "float32", "outputs", "output 0 differs at index [3]")


def revision(name: str, number: int) -> Revision:
    """Return a revision whose hash is a number."""
    return Revision(name, f"{number:040x}", f"2026-01-{1 + number:02}T12:00:00+00:00", f"change {number}")


def write_revisions(
    folder: Path,
    *factors: Mapping[str, float],
    keys: Sequence[str] | None = None,
    problems: Mapping[int, str] | None = None,
    different: Mapping[int, ValueDifference] | None = None,
    twin: Mapping[str, float] | None = None,
    launches: int = 6,
    by_hash: bool = False,
    clocks: Mapping[int, Mapping[int, float]] | None = None,
    noise: Mapping[str, Any] | None = None,
) -> Path:
    """Write a run over revisions `r0`, `r1` ..., one for each `factors`, and a control of two cases.

    Args:
        folder: of all.
        factors: of each revision, id of a case -> its time over 1 ms.
        keys: ids of the cases; all of `pairs` if None.
        problems: place -> why a revision is not measured.
        different: place -> what a revision computes otherwise.
        twin: factors of the control, where they are not those of the first revision.
        launches: of each.
        by_hash: are revisions asked for by their whole hashes, as the commands of `history` do?
        clocks: place -> number of a launch -> its clock rate over the usual one.
        noise: what else is reported of the machine; else it is quiet.
    """
    wanted = list(keys or pairs.cases())
    sides = []
    for place in range(len(factors)):
        told = (different or {}).get(place)
        values = Values(2 if place else 0, (told,) if told is not None else ())
        name = f"{place:040x}" if by_hash else f"r{place}"
        problem = (problems or {}).get(place)
        sides.append(Side(revision=revision(name, place), problem=problem, values=values))
    sides.append(replace(sides[0], is_control=True, values=Values()))
    usual = [*factors, factors[0] if twin is None else twin]
    written = []
    for place, (side, several) in enumerate(zip(name_sides(sides), usual, strict=True)):
        planned = {key: value for key, value in to_builtins(side).items() if key != "catalogue"}
        some = wanted[:2] if side.is_control else wanted
        rates = (clocks or {}).get(place, {})
        lines = pairs.lines_of(some, several, place, launches, rates, noise)
        written.append(({**planned, "cases": some}, [] if side.problem else lines))
    return stored.write_sides(folder, pairs.content_of(folder.name, wanted, launches), written)


def fail_in_second(folder: Path, status: str) -> Path:
    """Replace what is stored of the second revision by a failure of every case; return the folder."""
    cases = stored.sides_of(folder)[1].cases
    failures = [stored.failure(case, status) for case in cases]
    line = {"kind": "lost", "launch": 0, "group": Case.from_id(cases[0]).group, "failures": failures}
    stored.replace_lines(folder, 1, [line])
    return folder
