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
    monkeypatch.setattr(record, "run_and_record", lambda command, file: (7, Usage(10.0, 1, sites, called_seconds=8.0)))


@pytest.mark.usefixtures("_recorded")
def test_the_table_has_the_share_of_each_site_and_the_exit_code_is_the_programs(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["record", "--out", str(tmp_path / "r.json"), "--", "python", "train.py", "--out"])
    assert done.exit_code == 7
    assert done.stdout == ""
    lines = [" ".join(line.split()) for line in done.stderr.splitlines()]
    mix = tmp_path / "r-mix-1.csv"
    # 2 s and 1 s around in forward, 1 s in gradient, of 10 s, and of 8 s from the first call to the last
    assert lines[1:7] == [
        "Callbacks in 10.0 s of 1 process",
        "# callback calls gradients body around of the run",
        "1 train.py:3 load 4 4 500 ms 250 ms 40% (50%)",
        "(py_function, graph)",
        "2 train.py:9 np_op 8 0 62.5 ms – 5% (6.25%)",
        "(numpy_function, graph)",
    ]
    assert lines[-5:] == [
        f"mix of #1: {mix}, 1 size (elements of the largest input): 6",
        f"recording: {tmp_path / 'r.json'}",
        "is #1 worth a port? Draft an op with the recorded shapes and measure it:",
        f"pyopbench scan --draft train.py:3 --recording {tmp_path / 'r.json'} --out my_op.py",
        f"pyopbench run my_op.py --mix {mix}",
    ]
    assert mix.read_text() == "size,weight\n6,4\n"


@pytest.mark.parametrize(
    ("waited", "said"),
    [
        (
            2.0,
            "waited for its input 25% of that time; callbacks in input pipelines account for at most 12.5%.",
        ),
        (0.1, "its input 1.25% of that time: the callbacks in its input pipelines are hidden,"),
    ],
)
def test_what_callbacks_in_input_pipelines_cost_is_no_more_than_is_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, waited: float, said: str
) -> None:
    site = SiteUsage("train.py", 3, "f", "numpy_function", "graph", "load", Cost(4, 0, 1.0), in_input=True)
    used = Usage(10.0, 1, [site], called_seconds=8.0, elements=4, waited_seconds=waited)
    monkeypatch.setattr(record, "run_and_record", lambda command, file: (0, used))
    done = CliRunner().invoke(app, ["record", "--out", str(tmp_path / "r.json"), "--", "python", "train.py"])
    assert said in " ".join(done.stderr.split())


def test_a_program_without_callbacks_is_said_so(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["record", "--out", str(tmp_path / "r.json"), sys.executable, "-c", "pass"])
    assert done.exit_code == 0
    assert " ".join(done.stderr.split()) == (
        "no callback was called, or Python ran with -I, -E or -S and did not read PYTHONPATH recording: "
        f"{tmp_path / 'r.json'}"
    )


def test_no_program_is_bad_input() -> None:
    assert isinstance(CliRunner().invoke(app, ["record"]).exception, BadInput)
