"""`pyopbench probe`: the matrix, its file, and two files side by side; of findings that are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from probe_files import document, row
from pyopbench.cli.app import make_app
from pyopbench.engine import probe
from pyopbench.model.errors import BadInput
from pyopbench.model.side import Environment
from pyopbench.store import probes

WIDTH = 80
NEW = document(
    row("xla", "native"), row("xla", "py_func", "fails", "no kernel"), row("xla", "numba", "fails", "no kernel")
)
OLD = document(row("xla", "native", "fails", "no XLA"), row("xla", "py_func", "fails", "other"), tensorflow="2.16.2")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Let the command try nothing and find `NEW`; return what it was asked for."""
    seen: list[Any] = []
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name, appauthor: str(tmp_path / "data"))
    monkeypatch.setattr(probe, "all_attempts", lambda *wanted: seen.append(wanted) or [])
    monkeypatch.setattr(probe, "try_all", lambda attempts, options, tell: NEW)
    return seen


def test_it_prints_each_finding_with_its_words(asked: list[Any]) -> None:
    done = CliRunner().invoke(make_app(), ["probe", "--probe", "xla", "--tf", "2.21.0"], env={"COLUMNS": str(WIDTH)})
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    place = lines.index("xla")
    assert lines[place : place + 4] == ["xla", "works native", "fails py_func, numba", "no kernel"]
    assert max(map(len, done.stdout.splitlines())) <= WIDTH
    seconds = sum(one["seconds"] for one in NEW["rows"])
    assert lines[-1] == f"1 works, 2 fails, 0 silently wrong, 0 does not apply; {seconds:.0f} s"
    assert asked == [(["xla"], [], probe.ProbeOptions(Environment("2.21.0"), probe.TIMEOUT_SECONDS), [])]


def test_an_op_is_named_as_for_a_run(asked: list[Any], tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text("OP = 1\n", encoding="utf-8")
    done = CliRunner().invoke(make_app(), ["probe", "--op", "sinh,log", "--op", str(own), "--variant", "native"])
    assert done.exit_code == 0
    ((_, labels, _, ops),) = asked
    assert (labels, ops) == (["native"], ["sinh", "log", "mine"])


def test_a_function_has_inputs_and_a_seed(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[str] = []
    monkeypatch.setattr(
        probe, "try_all", lambda attempts, options, tell: seeds.append(options.own["gauss"].seed_with) or NEW
    )
    words = ["--op", "random:gauss", "--input", "np.float64(0)", "--seed-with", "random.seed({seed})"]
    assert CliRunner().invoke(make_app(), ["probe", *words]).exit_code == 0
    ((*_, ops),) = asked
    assert ops == ["gauss"]
    assert seeds == [words[-1]]


def test_what_was_tried_with_an_op_names_it(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = document(row("xla", "native", "fails", "no kernel", op="sinh"))
    monkeypatch.setattr(probe, "try_all", lambda attempts, options, tell: made)
    done = CliRunner().invoke(make_app(), ["probe", "--op", "sinh"], env={"COLUMNS": str(WIDTH)})
    assert done.stdout.splitlines().count("xla with sinh") == 1


@pytest.mark.usefixtures("asked")
def test_json_and_the_file_hold_the_document_and_it_is_kept(tmp_path: Path) -> None:
    done = CliRunner().invoke(make_app(), ["probe", "--json", "--out", str(tmp_path / "probes.json")])
    assert json.loads(done.stdout) == NEW == probes.read(tmp_path / "probes.json")
    assert probe.read_kept(NEW) == NEW


def files(folder: Path) -> list[str]:
    probes.write(folder / "old.json", OLD)
    probes.write(folder / "new.json", NEW)
    return [str(folder / "old.json"), str(folder / "new.json")]


def test_two_files_are_put_side_by_side(tmp_path: Path) -> None:
    done = CliRunner().invoke(make_app(), ["probe", *files(tmp_path)], env={"COLUMNS": str(WIDTH)})
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0] == "What differs: TensorFlow 2.16.2 → TensorFlow 2.21.0"
    assert " ".join(lines).count("xla native fails → works no XLA numba not tried → fails no kernel") == 1
    assert lines[-1] == "1 of 2 results in both files differ"
    told = CliRunner().invoke(make_app(), ["probe", *files(tmp_path), "--json"]).stdout
    assert {"op": None, "probe": "xla", "label": "native", "before": "fails", "after": "works"} in json.loads(told)


def test_one_file_is_shown(tmp_path: Path) -> None:
    done = CliRunner().invoke(make_app(), ["probe", files(tmp_path)[0]])
    assert "TensorFlow 2.16.2" in done.stdout


@pytest.mark.parametrize("arguments", [["a", "b", "c"], ["--probe", "xlaa"], ["--timeout", "soon"]])
def test_bad_usage_ends_with_2(arguments: list[str]) -> None:
    done = CliRunner().invoke(make_app(), ["probe", *arguments])
    assert isinstance(done.exception, BadInput)
    assert done.exception.exit_code == 2
