"""A look at versions that are measured together leaves open what a comparison with the first does."""

from __future__ import annotations

from pathlib import Path

import pairs
from pyopbench.judge.comparison.look import look
from pyopbench.store import run_folder, run_sides
from revision_runs import write_revisions

CASES = pairs.cases()


def test_what_is_resolved_is_closed_and_what_is_open_is_open_in_both_and_in_the_control(tmp_path: Path) -> None:
    """A case at the border of the minimum effect stays open, whatever its launches agree on."""
    folder = write_revisions(tmp_path, {}, {CASES[0]: 1.0305})
    found = look(folder, 0.03)
    assert (found.compared, found.resolved) == (len(CASES), len(CASES) - 1)
    assert [found.open[one.folder] for one in run_sides.read(folder)] == [frozenset({CASES[0]})] * 3


def test_where_nothing_is_common_everything_stays_open(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, {}, {})
    (run_sides.read(folder)[1].folder / run_folder.SAMPLES_FILE).write_text("", encoding="utf-8")
    found = look(folder, 0.03)
    assert found.resolved == 0
    assert all(found.open[one.folder] >= set(CASES) for one in run_sides.read(folder)[:2])


def test_versions_of_tensorflow_are_looked_at_alike(tmp_path: Path) -> None:
    folder = pairs.write_versions(tmp_path / "run", "2.16.2", "2.21.0", **{"2.21.0": {"factors": {CASES[-1]: 2.0}}})
    found = look(folder, 0.03)
    assert found.compared == len(CASES)
    assert CASES[-1] not in set().union(*found.open.values())
