"""`pyopbench placement`: tables, notes and files, and exit codes; of counts that are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from placement_files import document
from pyopbench.cli.app import make_app
from pyopbench.engine import copies as copies_module
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import Target
from pyopbench.report.counted_copies_text import place_text
from pyopbench.store import counted_copies
from pyopbench.store.counted_copies import rows_of

WIDTH = 80


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Let the command count nothing and find this."""
    found = document()
    monkeypatch.setattr(copies_module, "count", lambda wanted, tell: found)
    return found


@pytest.mark.usefixtures("counted")
def test_it_prints_a_table_that_fits_and_says_simulated() -> None:
    done = CliRunner().invoke(make_app(), ["placement", "sinh"], env={"COLUMNS": str(WIDTH)})
    assert done.exit_code == 0
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    title = "sinh, forward, in a tf.function (simulated device)"
    table = lines[lines.index(title) :]
    assert table[1:5] == [
        "variant pinned h→h h→d d→h d→d",
        "native device, host none none none none",
        "py_func device none 1↑ 1↓ * 1↑ 1↓ + 1↑ 1↓ +",
        "py_func host 1↑ 1↓ * none none none",
    ]
    said = " ".join(table[5:])
    places = [place_text(copies) for copies in counted_copies.copies_at_places("sinh", rows_of(document()))]
    assert all(sentence in said for sentence in places)
    assert max(map(len, done.stdout.splitlines())) <= WIDTH


def test_a_function_has_inputs_and_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Target] = []
    monkeypatch.setattr(copies_module, "count", lambda wanted, tell: found.append(wanted.own["gauss"]) or document())
    words = ["random:gauss", "--input", "np.float64(0)", "--seed-with", "random.seed({seed})"]
    assert CliRunner().invoke(make_app(), ["placement", *words]).exit_code == 0
    assert [(target.inputs, target.seed_with) for target in found] == [((words[2],), words[-1])]


def test_json_and_the_file_are_the_same_bytes(counted: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "placement.json"
    done = CliRunner().invoke(make_app(), ["placement", "--json", "--out", str(path)])
    assert done.stdout == path.read_text(encoding="utf-8")
    assert counted_copies.read(path) == counted


def test_what_could_not_be_counted_is_told_once_for_each_reason(counted: dict[str, Any]) -> None:
    failure = {"case": counted["rows"][0]["case"], "pinned": "host", "status": "crashed", "reason": "ended by SIGKILL"}
    counted["failures"] += [failure, {**failure, "pinned": "device"}]
    done = CliRunner().invoke(make_app(), ["placement"])
    assert done.exit_code == 0
    lost = [line for line in done.stdout.splitlines() if line.startswith("crashed")]
    assert lost == ["crashed  sinh/native call forward host and 1 more: ended by SIGKILL"]
    counted["failures"][0]["status"] = "wrong"
    assert CliRunner().invoke(make_app(), ["placement"]).exit_code == 1


@pytest.mark.parametrize(
    "arguments",
    [["--device", "tpu"], ["--mode", "node"], ["--direction", "backward"], ["--axis", "device=gpu"]],
)
def test_what_cannot_be_counted_is_refused_before_anything_is_started(arguments: list[str]) -> None:
    done = CliRunner().invoke(make_app(), ["placement", *arguments])
    assert isinstance(done.exception, BadInput)
    assert done.exception.exit_code == 2
