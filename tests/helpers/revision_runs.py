"""Made-up runs over revisions, for the tests of what is said about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

import pairs
from pyopbench.model.case import Case, Failure
from pyopbench.store import run_folder, run_sides
from pyopbench.store.line_types import LostLine
from pyopbench.store.run_json import Revision
from pyopbench.store.run_sides import Side, ValueDifference, Values

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
    found = []
    for place in range(len(factors)):
        told = (different or {}).get(place)
        values = Values(2 if place else 0, (told,) if told is not None else ())
        name = f"{place:040x}" if by_hash else f"r{place}"
        problem = (problems or {}).get(place)
        found.append(Side("", revision=revision(name, place), problem=problem, values=values))
    found.append(replace(found[0], is_control=True, values=Values()))
    named = run_sides.name_sides(folder, found)
    usual = [*factors, factors[0] if twin is None else twin]
    for place, (one, several) in enumerate(zip(named, usual, strict=True)):
        if one.revision is not None and one.problem is None:
            some = wanted[:2] if one.is_control else wanted
            rates = (clocks or {}).get(place, {})
            pairs.write_run(
                one.folder,
                some,
                factors=several,
                seed=place,
                launches=launches,
                clocks=rates,
                noise=noise,
                revision=one.revision,
            )
    run_sides.write(folder, named)
    return folder


def fail_in_second(folder: Path, status: str) -> Path:
    """Replace what is stored of the second revision by a failure of every case; return the folder."""
    place = run_sides.read(folder)[1].folder
    (place / run_folder.SAMPLES_FILE).write_text("", encoding="utf-8")
    side = run_folder.open_side(place)
    failures = [Failure(case, status, "no", 0) for case in side.content.cases]
    side.append(LostLine(launch=0, group=Case.from_id(side.content.cases[0]).group, failures=failures))
    return folder
