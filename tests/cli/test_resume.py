"""`pyopbench resume`: a run goes on as it was planned, judged as is asked now, with its own ops named again."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

import stored
from commands import Call, groups
from pyopbench.engine import stored_run


@pytest.mark.usefixtures("_no_worker")
def test_a_program_without_an_op_of_your_own_is_refused(call: Call, tmp_path: Path) -> None:
    """A folder without results is refused as such."""
    (tmp_path / "empty").mkdir()
    empty = call("resume", "--program", "train.py:make", tmp_path / "empty")
    assert (empty.code, empty.out) == (2, "")
    assert empty.err == call("resume", tmp_path / "empty").err
    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [])
    ended = call("resume", "--program", "train.py:make", folder)
    assert (ended.code, ended.out) == (2, "")
    assert "  received: --program train.py:make with no op" in ended.err.splitlines()


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def printed_command(told: str) -> list[str]:
    """Return the words of the command that an interrupted run prints to resume it, without the program."""
    (line,) = [line for line in told.splitlines() if line.startswith("  resume: ")]
    program, *words = shlex.split(line.removeprefix("  resume: "))
    assert program == "pyopbench"
    return words


def test_the_command_that_an_interrupted_run_prints_resumes_it_with_its_own_op(
    call: Call, planned: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned("native")
    file = tmp_path / "my op.py"
    file.write_text("def body(x):\n    return x\n", encoding="utf-8")
    folder = tmp_path / "a run"
    with monkeypatch.context() as patch:
        patch.setattr("pyopbench.engine.run.measure", interrupt)
        more = ("--launches", 2, "--require", "savedmodel", "--quiet")
        ended = call("run", f"{file}:body", "--input", "np.ones(3)", "--out", folder, *more)
    assert (ended.code, ended.out) == (130, "")
    *words, option, required = printed_command(ended.err)
    assert words == ["resume", str(folder), f"{file}:body", "--input", "np.ones(3)"]
    assert (option, required) == ("--require", "savedmodel")
    without = call("resume", folder)
    assert without.code == 2
    assert f"pyopbench {shlex.join(words)}" in without.err.replace("\n", "")
    again = call(*words)
    assert again.code == 0, again.err
    assert sorted(number for number, _ in groups(folder)) == [0, 1]


def test_no_version_is_installed_because_a_file_names_it(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is asked where nobody can answer; --yes is the answer of a script."""
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name, appauthor: str(tmp_path / "cache"))
    monkeypatch.setattr(stored_run, "require_resumable", lambda *_: None)
    asked: list[Path] = []
    monkeypatch.setattr(
        "pyopbench.cli.run.measure_and_report", lambda run, *options, **more: asked.append(run.folder) or 0
    )
    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")], tf="2.21.0"), [])
    assert call("resume", folder).code == 2
    assert asked == []
    assert not (tmp_path / "cache").exists()
    assert call("resume", "--yes", folder).code == 0
    assert asked == [folder]
