"""What is left of a run is what it plans, less what is stored; and it shrinks with failures and looks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stored
from pyopbench.results import store
from pyopbench.run.budget import Position
from pyopbench.run.remaining_work import RemainingWork, remaining_work
from pyopbench.run.settings import Settings

FIRST, SECOND = stored.case("well"), stored.case("well", size=10)
OTHER = stored.case("other")
SETTINGS = Settings(**{name: stored.SETTINGS[name] for name in Settings.__dataclass_fields__})


def work_of(folder: Path, *lines: dict[str, Any]) -> RemainingWork:
    stored.write(folder, stored.run([FIRST, OTHER, SECOND]), lines)
    return remaining_work(folder, SETTINGS, None)


def test_of_a_new_run_everything_is_left_by_groups(tmp_path: Path) -> None:
    work = work_of(tmp_path / "run")
    assert work.groups == {stored.group(): [FIRST, OTHER], stored.group(size=10): [SECOND]}
    assert work.finished == set()
    assert work.unfailed() == [FIRST, OTHER, SECOND]


def test_what_is_stored_is_not_left(tmp_path: Path) -> None:
    failed = {"kind": "lost", "launch": 1, "group": stored.group(size=10), "failures": [stored.failure(SECOND)]}
    lines = [stored.launch_line(0), stored.limits_line(0, "no"), stored.group_line(0, [FIRST, OTHER]), failed]
    work = work_of(tmp_path / "run", *lines)
    assert work.finished == {(0, stored.group())}
    assert work.failed == {SECOND}
    assert work.unfailed() == [FIRST, OTHER]
    assert work.count(work.groups) == 2
    assert work.limits == {0: "no"}


def test_a_line_that_was_not_finished_is_dropped(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    work_of(folder, stored.launch_line(0))
    whole = (folder / store.SAMPLES_FILE).read_bytes()
    (folder / store.SAMPLES_FILE).write_bytes(whole + b'{"kind": "group", "lau')
    assert remaining_work(folder, SETTINGS, None).finished == set()
    assert (folder / store.SAMPLES_FILE).read_bytes() == whole


def test_the_position_counts_what_is_left_of_a_launch(tmp_path: Path) -> None:
    work = work_of(tmp_path / "run")
    group = stored.group(size=10)
    assert work.position(1, [group]) == Position(1, group, 1, 2, cases_left=1, cases_per_launch=3)


def test_a_look_leaves_what_is_open_with_what_is_timed_in_the_same_pass_and_is_taken_once(tmp_path: Path) -> None:
    work = work_of(tmp_path / "run")
    work.narrow(2, lambda launches: frozenset([OTHER]))
    assert work.groups == {stored.group(): [OTHER]}
    work.narrow(2, lambda launches: pytest.fail("it was taken before"))
    again = remaining_work(tmp_path / "run", SETTINGS, None)
    again.narrow(2, lambda launches: pytest.fail("it was stored"))
    assert again.groups == work.groups
