"""A run of several versions: named once, read as it was written, and as one run in blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stored
from pyopbench.model.errors import BadInput
from pyopbench.store import run_sides
from pyopbench.store.read import read_source


def test_a_version_that_comes_again_gets_a_number(tmp_path: Path) -> None:
    named = stored.name_versions(tmp_path, ["2.21.0", "2.16.2", "2.21.0", "2.21.0"])
    assert [one.label for one in named] == ["2.21.0", "2.16.2", "2.21.0-2", "2.21.0-3"]
    assert [one.tf for one in named] == ["2.21.0", "2.16.2", "2.21.0", "2.21.0"]
    assert len({one.folder for one in named}) == 4


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert not run_sides.is_here(tmp_path)
    named = stored.name_versions(tmp_path, ["2.16.2", "2.21.0"])
    run_sides.write(tmp_path, named)
    assert run_sides.is_here(tmp_path)
    assert run_sides.read(tmp_path) == named


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"sides": [', "Input data was truncated"),
        ('{"sides": [{"tf": "2.21.0"}]}', "Object missing required field `label` - at `$.sides[0]`"),
        ('{"sides": [{"label": "a", "packages": ["numpy"]}]}', "'numpy' names no versions of packages"),
        (
            '{"sides": [{"label": "a", "packages": ["numpy==1", "a==1"]}]}',
            "'numpy==1,a==1' names no versions of packages",
        ),
        ('{"sides": []}', "it names no side"),
        ('{"sides": [{"label": "2", "tf": "2"}], "fail_on": "faster"}', "'faster' is no condition to fail on"),
        (
            '{"sides": [{"label": "2", "tf": "2"}], "minimum_effect": 3}',
            "Expected `float` < 1.0 - at `$.minimum_effect`",
        ),
        ('{"sides": [{"label": "../x", "tf": "../x"}]}', "'../x' is no version of TensorFlow"),
    ],
)
def test_a_file_that_is_not_as_it_was_written_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / run_sides.FILE).write_text(content, encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        run_sides.read(tmp_path)
    assert str(refused.value) == f"cannot decode {tmp_path / run_sides.FILE}: {problem}"


def write_run(folder: Path, tf: str, launches: int) -> None:
    key = stored.case("well")
    environment: dict[str, Any] = {**stored.ENVIRONMENT, "tensorflow": tf}
    stored.write(folder, stored.run([key], environment=environment), [])
    for launch in range(launches):
        stored.append(folder, {"kind": "launch", "launch": launch, "environment": {"numpy": "2", "tensorflow": tf}})
        group = {"samples": {key: [[0, 0, 1, 0.5]]}, "failures": [], "timer_seconds": 0.0, "timer_error_seconds": 0.0}
        stored.append(folder, {"kind": "group", "launch": launch, "group": stored.group(), **group})


def test_each_version_is_a_run_in_blocks(tmp_path: Path) -> None:
    """Launches of the same number are a block; the same version twice stays two."""
    named = stored.name_versions(tmp_path, ["2.16.2", "2.21.0", "2.21.0"])
    for one, launches in zip(named, (2, 2, 1), strict=True):
        write_run(one.folder, one.tf, launches)
    run_sides.write(tmp_path, named)
    runs = read_source(tmp_path)
    assert [run.frame[["tf", "block", "launch", "run"]].to_numpy().tolist() for run in runs] == [
        [["2.16.2", 0, 0, tmp_path.name], ["2.16.2", 1, 1, tmp_path.name]],
        [["2.21.0", 0, 0, tmp_path.name], ["2.21.0", 1, 1, tmp_path.name]],
        [["2.21.0-2", 0, 0, tmp_path.name]],
    ]
    assert [run.environment["tensorflow"] for run in runs] == ["2.16.2", "2.21.0", "2.21.0-2"]


def test_the_file_names_labels_and_versions(tmp_path: Path) -> None:
    run_sides.write(tmp_path, stored.name_versions(tmp_path, ["2.21.0"]))
    content = json.loads((tmp_path / run_sides.FILE).read_text(encoding="utf-8"))
    assert content == {"sides": [{"label": "2.21.0", "tf": "2.21.0"}]}


@pytest.mark.parametrize("tf", ["../../elsewhere", "/etc", "", "2.21.0/..", "a\nb"])
def test_a_version_that_would_lead_out_of_the_folder_is_refused(tmp_path: Path, tf: str) -> None:
    content = {"sides": [{"label": tf, "tf": tf}]}
    (tmp_path / run_sides.FILE).write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        run_sides.read(tmp_path)
    assert str(refused.value) == f"cannot decode {tmp_path / run_sides.FILE}: {tf!r} is no version of TensorFlow"
