"""The folder of a fleet: shards come whole or not at all, each once, and only those that were asked for."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import fleet_fakes
from pyopbench.engine.fleet import plan_folder
from pyopbench.model.errors import BadInput, CannotStore
from pyopbench.store import run_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "fleet"
    plan_folder.create(folder, fleet_fakes.plan(4))
    return folder


def test_a_plan_is_read_as_it_was_written(folder: Path) -> None:
    assert plan_folder.read_plan(folder) == fleet_fakes.plan(4)


def test_a_fleet_is_not_begun_where_one_is(folder: Path) -> None:
    with pytest.raises(BadInput):
        plan_folder.create(folder, fleet_fakes.plan(4))


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": 1}', '{"schema": 2}'])
def test_a_plan_that_is_none_is_refused(folder: Path, content: str) -> None:
    (folder / plan_folder.FLEET_FILE).write_text(content, encoding="utf-8")
    with pytest.raises(BadInput):
        plan_folder.read_plan(folder)


def test_a_run_of_one_machine_is_no_fleet(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        plan_folder.read_plan(tmp_path)


def test_a_shard_comes_whole_and_only_once(folder: Path, tmp_path: Path) -> None:
    delivery = fleet_fakes.delivery("a", 2, fleet_fakes.results(tmp_path, 2))
    assert plan_folder.take_in(folder, delivery)
    assert not plan_folder.take_in(folder, delivery)
    assert fleet_fakes.shards_on_disk(folder) == {2: "a"}
    assert fleet_fakes.samples_of(folder, 2) == 4


def test_a_shard_with_changed_samples_is_refused_and_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    files = fleet_fakes.results(tmp_path, 2)
    files[run_folder.SAMPLES_FILE] = files[run_folder.SAMPLES_FILE].replace(b"0.5", b"0.6", 1)
    with pytest.raises(BadInput):
        plan_folder.take_in(folder, fleet_fakes.delivery("a", 2, files))
    assert not list((folder / plan_folder.SHARDS).iterdir())


@pytest.mark.parametrize("lines", [0, 1, 2])
def test_a_shard_that_is_not_measured_to_the_end_is_refused(folder: Path, tmp_path: Path, lines: int) -> None:
    """What a process leaves that ended as if it had measured, because its disk was full or it could not be started."""
    files = fleet_fakes.results(tmp_path, 2)
    files[run_folder.SAMPLES_FILE] = b"".join(files[run_folder.SAMPLES_FILE].splitlines(keepends=True)[:lines])
    with pytest.raises(BadInput):
        plan_folder.take_in(folder, fleet_fakes.delivery("a", 2, files))
    assert not list((folder / plan_folder.SHARDS).iterdir())


@pytest.mark.parametrize("shard", [1, 3])
def test_another_shard_than_was_asked_for_is_refused(folder: Path, tmp_path: Path, shard: int) -> None:
    with pytest.raises(BadInput):
        plan_folder.take_in(folder, fleet_fakes.delivery("a", shard, fleet_fakes.results(tmp_path, 2)))


def test_a_full_disk_here_is_told_and_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery = fleet_fakes.delivery("a", 2, fleet_fakes.results(tmp_path, 2))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(CannotStore):
        plan_folder.take_in(folder, delivery)
    assert fleet_fakes.shards_on_disk(folder) == {}
    monkeypatch.undo()
    assert plan_folder.take_in(folder, delivery)


@pytest.mark.parametrize("content", [None, "{", '{"host": "a/b"}'])
def test_a_shard_of_a_host_that_is_not_known_can_be_measured_again(
    folder: Path, tmp_path: Path, content: str | None
) -> None:
    plan_folder.take_in(folder, fleet_fakes.delivery("a", 2, fleet_fakes.results(tmp_path, 2)))
    beside = folder / plan_folder.SHARDS / "2.json"
    beside.unlink()
    if content is not None:
        beside.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput) as raised:
        plan_folder.arrivals(folder)
    assert str(plan_folder.folder_of(folder, 2)) in raised.value.hint


def test_only_one_client_runs_a_fleet(folder: Path) -> None:
    with plan_folder.locked(folder), pytest.raises(BadInput), plan_folder.locked(folder):
        pass
