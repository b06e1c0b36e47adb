"""`pyopbench advise`: what is typed reaches the advice, and what came of it is printed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pyopbench.advise.answers import Answer
from pyopbench.advise.attempt import BUDGET_SECONDS, Advice, CallbackAdvice, Options, Withdrawn
from pyopbench.advise.callbacks import Callback, Step
from pyopbench.advise.program import Program
from pyopbench.advise.turns import Realised
from pyopbench.cli.app import app

PATCH = """diff --git a/train.py b/train.py
--- a/train.py
+++ b/train.py
@@ -1 +1 @@
-old
+new
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Have every advice be to port one callback, and return what is asked for."""
    found: list[Any] = []

    def advise(program: Program, folder: Path, options: Options, listener: object) -> Advice:
        found.append((program.command, folder, options))
        folder.mkdir()
        (folder / "change.patch").write_text(PATCH)
        body = "BatchedInput.encode"
        callback = Callback("f", "train.py", 31, "numpy_function", "graph", body, True, 9, 0, 1.0)
        answer = Answer("port", "it saves time", variant="traced", saved=0.3)
        rows = [CallbackAdvice(callback, 0.5, answer)]
        realised = Realised("step", 0.02, 0.01, 0.5, 0.45, 0.55, 3, math.nan)
        patch = folder / "change.patch"
        slower = Realised("step", 0.02, 0.02, 0.16, -2.21, 0.68, 3)
        tried = Withdrawn("f", "map parallel=AUTOTUNE", "it is slower", 0.016, slower)
        return Advice(program, folder, Step(0.02, 9, 0.0), rows, realised=realised, withdrawn=[tried], patch=patch)

    monkeypatch.setattr("pyopbench.advise.advise.advise", advise)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("old\n")
    return found


def run(*words: str, answer: str = "") -> Any:
    return CliRunner().invoke(app, ["advise", *words, "--", "python", "train.py", "--out", "mine"], input=answer)


def test_options_before_the_program_are_the_advices_and_those_behind_it_the_programs(asked: list[Any]) -> None:
    words = ["--out", "a", "--steps", "7", "--seconds", "40s", "--budget", "2m", "--min-effect", "5%"]
    assert run(*words).exit_code == 0
    assert asked == [(("python", "train.py", "--out", "mine"), Path("a"), Options(7, 40.0, 120.0, 0.05))]


def test_what_to_do_is_said_first_and_each_callback_has_a_line_of_80_columns(asked: list[Any], tmp_path: Path) -> None:
    done = run("--out", "a")
    assert asked[0][2] == Options(budget_seconds=BUDGET_SECONDS)
    lines = done.stdout.splitlines()
    assert "change.patch" in lines[0]
    (row,) = (line for line in lines if line.startswith("train.py:31") and "50%" in line)
    assert len(row) <= 80
    assert "port to traced" in row
    assert "50% (45–55%)" in row
    assert {path.name for path in (tmp_path / "a").iterdir()} == {*("report.html", "report.json", "change.patch")}


@pytest.mark.parametrize(("changes", "code"), [([], 0), (["train.py:3 f is new"], 1)])
def test_a_check_fails_where_a_callback_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: list[str], code: int
) -> None:
    monkeypatch.setattr("pyopbench.advise.advise.check", lambda *_: changes)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("old\n")
    assert run("--check", "report.json").exit_code == code
