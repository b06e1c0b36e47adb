"""A run on several versions is planned for each of them, and nothing is begun that cannot be."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import stored
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import environments, planning, start, start_versions, worker_process
from pyopbench.model.case import UNTIL, Axes, Until
from pyopbench.model.errors import BadInput
from pyopbench.store import run_folder, versions

ANOTHER = "2.12.1"
"""The version whose environment has another one, as a folder on PYTHONPATH can bring."""
REQUEST = start.Request(Axes(), start.QUICK, "py_function_numpy", ("pyopbench", "run"))


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Let every version be this Python with a worker that measures nothing, and return which were asked for."""
    told: list[str] = []
    key = stored.case("py_function_numpy")
    plan = {"cases": [key], "skips": [], "catalogue": stored.run([key])["catalogue"]}

    def python_of(version: str) -> Path:
        told.append(version)
        found = {"tensorflow": "2.21.0"} if version == ANOTHER else {"tensorflow": version}
        content = {**plan, "environment": {**stored.ENVIRONMENT, **found}}
        (tmp_path / "plan").write_text(json.dumps(content), encoding="utf-8")
        return Path(sys.executable)

    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(tmp_path / "plan"))
    monkeypatch.setattr(planning, "python_of", python_of)
    monkeypatch.setattr(environments, "available", environments.locked)
    return lambda: told


def test_each_version_has_a_run_of_its_own(tmp_path: Path, asked: Callable[[], list[str]]) -> None:
    folder, begun = start_versions.begin(tmp_path / "run", REQUEST, ["2.16.2", "2.21.0", "2.21.0"])
    assert asked() == ["2.16.2", "2.21.0", "2.21.0"]
    found = versions.read(folder)
    assert [one.folder for one in found] == [one.folder for one in begun]
    assert [start.tf_of(one.folder) for one in found] == ["2.16.2", "2.21.0", "2.21.0"]


@pytest.mark.parametrize("until", UNTIL)
def test_versions_are_measured_as_they_were_asked_for(
    tmp_path: Path, asked: Callable[[], list[str]], until: Until
) -> None:
    request = replace(REQUEST, settings=replace(start.QUICK, until=until))
    folder, _ = start_versions.begin(tmp_path / "run", request, ["2.21.0"])
    assert start.settings_of(versions.read(folder)[0].folder) == request.settings


def test_a_version_that_is_not_there_leaves_nothing_behind(tmp_path: Path, asked: Callable[[], list[str]]) -> None:
    with pytest.raises(BadInput) as refused:
        start_versions.begin(tmp_path / "run", REQUEST, ["2.21.0", "1.15.0"])
    assert refused.value.received == "--tf 1.15.0"
    assert not (tmp_path / "run").exists()
    assert asked() == []


def test_a_folder_that_holds_a_run_is_left_alone(tmp_path: Path, asked: Callable[[], list[str]]) -> None:
    start_versions.begin(tmp_path / "several", REQUEST, ["2.21.0"])
    run_folder.create(tmp_path / "one", stored.run([stored.case("well")]))
    for name in ("several", "one"):
        with pytest.raises(BadInput) as refused:
            start_versions.begin(tmp_path / name, REQUEST, ["2.16.2"])
        assert refused.value.received == tmp_path / name


def test_a_worker_with_another_tensorflow_is_refused_and_nothing_is_begun(
    tmp_path: Path, asked: Callable[[], list[str]]
) -> None:
    with pytest.raises(BadInput) as error:
        start_versions.begin(tmp_path / "run", REQUEST, ["2.21.0", ANOTHER])
    assert f"2.21.0, for --tf {ANOTHER}" in str(error.value)
    assert asked() == ["2.21.0", ANOTHER]
    assert not (tmp_path / "run").exists()
