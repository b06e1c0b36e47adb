"""`pyopbench placement`: its tables, its JSON and its exit codes; of counts that are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pyopbench.cli.app import app
from pyopbench.engine import placement as engine
from pyopbench.model.errors import BadInput

WIDTH = 80
NAMES = {"op": "sinh", "direction": "forward"}
PLACES = [(inputs, result) for inputs in ("host", "device") for result in ("host", "device")]


def row(variant: str, route: tuple[str, str], up: int, down: int) -> dict[str, Any]:
    counts = {"to_device": [up, 8 * up], "to_host": [down, 8 * down]}
    return {**NAMES, "variant": variant, "inputs": route[0], "result": route[1], **counts}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Let the command count nothing and find this."""
    rows = [row("native", route, 0, 0) for route in PLACES[:3]]
    rows += [{**NAMES, "variant": "native", "inputs": "device", "result": "device", "refused": "no kernel"}]
    rows += [row("py_func", route, 2, 1) for route in PLACES]
    found = {"device": "simulated", "pyopbench": "0", "tensorflow": "2.21.0", "rows": rows, "failures": []}
    monkeypatch.setattr(engine, "count", lambda *_: found)
    return found


def invoke(*words: str) -> Any:
    return CliRunner().invoke(app, ["placement", *words], env={"COLUMNS": str(WIDTH)})


@pytest.mark.usefixtures("counted")
def test_it_prints_a_line_for_each_variant_and_a_column_for_each_route() -> None:
    done = invoke("sinh")
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    title = lines.index("sinh, forward")
    assert lines[title + 1 : title + 4] == [
        "variant h→h h→d d→h d→d",
        "native none none none –",
        "py_func 2↑ 1↓ 2↑ 1↓ 2↑ 1↓ 2↑ 1↓",
    ]
    assert "refused sinh/native forward: no kernel" in lines
    assert max(map(len, done.stdout.splitlines())) <= WIDTH


def test_json_and_the_file_are_the_same(counted: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "placement.json"
    done = invoke("--json", "--out", str(path))
    assert json.loads(done.stdout) == json.loads(path.read_text(encoding="utf-8")) == counted


def test_a_wrong_variant_is_exit_code_1(counted: dict[str, Any]) -> None:
    failure = {**NAMES, "variant": "xla", "status": "crashed", "reason": "ended by SIGKILL"}
    counted["failures"] += [failure, {**failure, "direction": "forward_backward"}]
    done = invoke()
    assert done.exit_code == 0
    assert "crashed  sinh/xla forward and 1 more: ended by SIGKILL" in done.stdout
    counted["failures"][0]["status"] = "wrong"
    assert invoke().exit_code == 1


def test_the_time_of_copies_is_a_table_by_size(counted: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"way": "tensor.numpy()", "direction": "to the host", "bytes": size, "seconds": seconds}
        for size, seconds in ((4, 1e-5), (2_000_000_000, 0.1))
    ]
    monkeypatch.setattr(engine, "measure_copies", lambda: {"devices": ["GPU:0"], "rows": rows})
    done = invoke("--device", "gpu", "--time")
    assert done.exit_code == 0, done.exception
    assert counted["times"]["rows"] == rows
    (line,) = [line.split() for line in done.stdout.splitlines() if "tensor.numpy()" in line]
    assert line[-1] == "20", "GB/s of the largest"


@pytest.mark.parametrize("words", [["--device", "tpu"], ["--time"], ["--time", "--device", "gpu", "--tf", "2.16.2"]])
def test_what_cannot_be_counted_is_refused_before_anything_is_started(words: list[str]) -> None:
    done = invoke(*words)
    assert isinstance(done.exception, BadInput)
