"""`pyopbench record`: the program's output and exit code are its own, and what was counted goes to stderr."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pyopbench.cli.app import app
from pyopbench.find.usage import Cost, Shape, SiteUsage, Usage


@pytest.fixture
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every program be one of three sites."""
    sites = [
        SiteUsage("train.py", 3, "f", "py_function", "graph", "load", Cost(4, 0, 3.0), Cost(4, 0, 1.0)),
        SiteUsage("train.py", 9, "g", "numpy_function", "graph", "np_op", Cost(8, 0, 0.5)),
        SiteUsage("train.py", 12, "h", "numpy_function", "graph", "np_op", Cost(80, 0, 0.0001816)),
    ]
    sites[0].shapes.append(Shape([{"shape": [2, 3], "dtype": "float32"}], 4, 2.0))
    monkeypatch.setattr(
        "pyopbench.find.record.record", lambda command, file: (7, Usage(10.0, 1, sites, called_seconds=8.0))
    )


@pytest.mark.usefixtures("_recorded")
def test_the_table_has_the_share_of_each_site_and_the_exit_code_is_the_programs(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["record", "--out", str(tmp_path / "r.json"), "--", "python", "train.py", "--out"])
    assert done.exit_code == 7
    assert done.stdout == ""
    shown, mix = " ".join(done.stderr.split()), tmp_path / "r-mix-1.csv"
    # 3 s in forward, 1 s in gradient, of 10 s, and of 8 s from the first call to the last
    for share in ("750 ms ≥ 40% (50%)", "62.5 ms ≥ 5% (6.25%)", "< 0.1% (< 0.1%)"):
        assert share in shown
    assert f"mix of #1: {mix}, 1 size" in shown
    assert mix.read_text() == "size,weight\n6,4\n"


@pytest.mark.parametrize(
    ("seconds", "calls", "in_input", "waited", "is_proposed", "said"),
    [
        (0.5, 4, False, 0.0, True, "is a port worth it?"),
        (0.2, 4, False, 0.0, False, "not worth a port"),  # 2.5% of 8 s
        (0.2, 400, False, 0.0, True, "is a port worth it?"),  # and 1% for what is not seen of 400 calls
        (4.0, 4, True, 0.1, False, "its input pipelines keep up"),  # the program does not wait for it
        (4.0, 4, True, 4.0, True, "waited for its input 50% of that time"),
    ],
)
def test_a_port_is_proposed_only_where_it_may_save_the_minimum_effect(
    seconds: float,
    calls: int,
    in_input: bool,
    waited: float,
    is_proposed: bool,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site = SiteUsage("t.py", 3, "f", "numpy_function", "graph", "load", Cost(calls, 0, seconds), in_input=in_input)
    site.shapes.append(Shape([{"shape": [6], "dtype": "float32"}], calls, seconds))
    used = Usage(10.0, 1, [site], called_seconds=8.0, elements=2, waited_seconds=waited)
    monkeypatch.setattr("pyopbench.find.record.record", lambda command, file: (0, used))
    done = CliRunner().invoke(app, ["record", "--out", str(tmp_path / "r.json"), "--", "python", "t.py"])
    commands = [line.split() for line in done.stderr.splitlines() if line.startswith("  pyopbench ")]
    assert [words[1] for words in commands] == (["advise"] if is_proposed else [])
    assert said in " ".join(done.stderr.split())


def test_a_program_without_callbacks_is_said_so(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["record", "--out", str(tmp_path / "r.json"), sys.executable, "-c", "pass"])
    assert done.exit_code == 0
    assert "no callback was called" in done.stderr
