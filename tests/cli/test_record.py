"""`pyopbench record`: the program's output and exit code are its own, and what was counted goes to stderr."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pyopbench.callbacks.record.usage import Cost, Shape, SiteUsage, Usage
from pyopbench.cli import record
from pyopbench.cli.app import app
from pyopbench.core.errors import BadInput


@pytest.fixture
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every program be one of two sites."""
    sites = [
        SiteUsage("train.py", 3, "f", "py_function", "graph", "load", Cost(4, 0, 2.0, 4, 3.0), Cost(4, 0, 1.0)),
        SiteUsage("train.py", 9, "g", "numpy_function", "graph", "np_op", Cost(8, 0, 0.5)),
    ]
    sites[0].shapes.append(Shape([{"shape": [2, 3], "dtype": "float32"}], 4, 2.0))
    monkeypatch.setattr(record, "run_and_record", lambda command, file: (7, Usage(10.0, 1, sites)))


@pytest.mark.usefixtures("_recorded")
def test_the_table_has_the_share_of_each_site_and_the_exit_code_is_the_programs(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["record", "--out", str(tmp_path / "r.json"), "--", "python", "train.py", "--out"])
    assert done.exit_code == 7
    assert done.stdout == ""
    assert "40%" in done.stderr  # 2 s and 1 s around in forward, 1 s in gradient, of 10 s
    assert "5%" in done.stderr
    assert "r-mix-1.csv, 1 size" in done.stderr
    assert "--draft train.py:3" in done.stderr
    assert (tmp_path / "r-mix-1.csv").read_text() == "size,weight\n6,4\n"


def test_a_program_without_callbacks_is_said_so(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["record", "--out", str(tmp_path / "r.json"), sys.executable, "-c", "pass"])
    assert done.exit_code == 0
    assert "no callback was called" in done.stderr


def test_no_program_is_bad_input() -> None:
    assert isinstance(CliRunner().invoke(app, ["record"]).exception, BadInput)
