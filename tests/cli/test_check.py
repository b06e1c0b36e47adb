"""`pyopbench check`: exit codes, and that reports of what was changed have to be asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import stored
from commands import require_whole
from pyopbench.cli.app import make_app
from pyopbench.model.errors import BadInput
from pyopbench.store import run_folder

CASE = stored.case("well")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored.write(tmp_path / "run", stored.run([CASE]), [stored.launch_line(0), stored.group_line(0, [CASE])])


@pytest.fixture
def _changed(folder: Path) -> None:
    path = folder / run_folder.SAMPLES_FILE
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.4", 1))


def test_what_is_whole_ends_with_0(folder: Path) -> None:
    done = CliRunner().invoke(make_app(), ["check", str(folder)])
    assert done.exit_code == 0
    rows = [line.split()[:2] for line in done.stdout.splitlines() if line[:1].strip()]
    assert [row for row in rows if row[0] in (run_folder.RUN_FILE, run_folder.SAMPLES_FILE)] == [
        [run_folder.RUN_FILE, "whole"],
        [run_folder.SAMPLES_FILE, "whole"],
    ]


@pytest.mark.usefixtures("_changed")
def test_what_was_changed_ends_with_1_and_names_the_line(folder: Path) -> None:
    done = CliRunner().invoke(make_app(), ["check", "--json", str(folder)])
    assert done.exit_code == 1
    [told] = json.loads(done.stdout)
    assert [(one["line"], one["condition"]) for one in told["files"]] == [(None, "whole"), (2, "changed")]
    assert told["contents"] == {"launches": 0, "cases": 0, "planned": 1, "ended": False}


@pytest.mark.usefixtures("_changed")
def test_a_report_of_what_was_changed_has_to_be_asked_for(folder: Path) -> None:
    assert isinstance(CliRunner().invoke(make_app(), ["report", str(folder)]).exception, BadInput)
    assert not (folder / "report.md").exists()
    done = CliRunner().invoke(make_app(), ["report", "--allow-changed", str(folder)])
    assert done.exit_code == 0
    assert "changed" in done.stderr
    assert "changed" in (folder / "report.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("_changed")
def test_the_tests_see_what_a_command_has_left_damaged(folder: Path) -> None:
    """`call` and others ask `check` of everything that the command line has written in a test."""
    for words in (["run", "double", "--out", folder], ["resume", folder]):
        with pytest.raises(AssertionError):
            require_whole(0, words)
        require_whole(0, [*words, "--allow-changed"])


def test_no_run_is_bad_input(tmp_path: Path) -> None:
    assert isinstance(CliRunner().invoke(make_app(), ["check", str(tmp_path)]).exception, BadInput)
