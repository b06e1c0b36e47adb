"""A look at several versions that are being measured together: which cases a comparison with the first leaves open.

What is closed is not measured again, so it has to stay settled however many looks follow: all are charged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyopbench.judge.comparison.diff import Comparison, compare_sides
from pyopbench.judge.comparison.pairing import usual_over
from pyopbench.judge.comparison.select import sides_along
from pyopbench.judge.comparison.sides import Sides
from pyopbench.judge.comparison.verdicts import Correction
from pyopbench.model.errors import NothingMeasured
from pyopbench.stats.corrections import ALL_LOOKS
from pyopbench.store import run_sides
from pyopbench.store.read import read_source
from pyopbench.store.run import Run
from pyopbench.store.run_sides import Side


@dataclass(frozen=True)
class ComparedLook:
    """What a look shows.

    Attributes:
        open: folder of each version -> ids of the cases that are worth measuring on.
        compared: cases of all comparisons.
        resolved: those that are slower, faster or equivalent.
    """

    open: dict[Path, frozenset[str]]
    compared: int
    resolved: int


def look(folder: Path, minimum_effect: float) -> ComparedLook:
    """Compare every version with the first and return what is open, in both of a pair.

    Of a control, which is the first version again, what is open there is: its pairs need both.

    Args:
        folder: of all versions.
        minimum_effect: a relative difference that is worth acting on.
    """
    parts = run_sides.read(folder)
    axis = run_sides.axis_of(parts)
    runs = read_source(folder)
    first, others = parts[0], [one for one in parts[1:] if not _is_twin(one)]
    found: dict[Path, set[str]] = {one.folder: set() for one in parts}
    compared = resolved = 0
    sides_of = partial(_sides, axis, runs, first, str(folder))
    usual = usual_over([sides_of(other) for other in others]) if axis == "commit" else None
    for other in others:
        planned = {case for run, one in zip(runs, parts, strict=True) if one in (first, other) for case in run.cases}
        try:
            correction = Correction(len(others), ALL_LOOKS, usual=usual)
            comparison = compare_sides(sides_of(other), minimum_effect, correction=correction)
            open_ = set(_open(comparison))
        except NothingMeasured:
            open_, comparison = planned, None
        compared += len(comparison.cases) if comparison is not None else len(planned)
        resolved += sum(case.verdict.outcome != "unresolved" for case in comparison.cases) if comparison else 0
        for one in (first, other):
            found[one.folder] |= open_
    for one in filter(_is_twin, parts):
        found[one.folder] = set(found[first.folder])
    return ComparedLook({path: frozenset(cases) for path, cases in found.items()}, compared, resolved)


def _sides(axis: str, runs: Sequence[Run], first: Side, path: str, other: Side) -> Sides:
    return sides_along(axis, runs, [first.label, other.label], path)


def _is_twin(version: Side) -> bool:
    return version.is_control


def _open(comparison: Comparison) -> Iterable[str]:
    for case in comparison.cases:
        if case.verdict.outcome == "unresolved":
            yield case.key.name
