"""What has to be known before the table of a comparison: how it is paired, what it could find, what is missing."""

from __future__ import annotations

from pathlib import Path

from foreign_files import asv_folder, document, scaled
from pairs import VARIANTS, cases, write_run
from pyopbench.judge.comparison.diff import compare_sides
from pyopbench.judge.comparison.notes import (
    NotPaired,
    Paired,
    SmallestSlowdown,
    SteppedDown,
    notes_of,
    reach_of,
)
from pyopbench.judge.comparison.select import read_sides
from pyopbench.store.limitations import NotInterleaved, VersionsUnknown

OPS = ("double", "square", "cube", "sinh")


def test_variants_of_a_run_are_paired_by_round(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", cases(ops=OPS))
    found = compare_sides(read_sides([str(run), *VARIANTS[:2]], "variant"))
    assert found.smallest is not None
    assert notes_of(found) == (Paired("round"), SteppedDown(0.05, 1), SmallestSlowdown(found.smallest))


def test_what_a_source_cannot_support_is_said_once_for_both_sides(tmp_path: Path) -> None:
    """That each benchmark is one launch is what the reach says already."""
    other = {**scaled(document("asv-first"), 1.1), "commit_hash": "1" * 40}
    folder = asv_folder(tmp_path / "asv", a=document("asv-first"), b=other)
    found = compare_sides(read_sides([str(folder), "f802", "1111"], "commit"))
    notes = notes_of(found)
    assert notes[0] == NotPaired(0.03, found.common)
    assert notes[1] == SteppedDown(0.05, 1)
    assert notes[2] == reach_of(found)
    assert isinstance(notes[2], SmallestSlowdown)
    assert notes[3:] == (NotInterleaved("asv"), VersionsUnknown("asv"))
