"""The folder of a fleet: shards come whole or not at all, each once, and only those that were asked for.

Files go to hosts only if they are named for it, and by what is in them.
"""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

import fleet_fakes
from pyopbench.engine.fleet import folder as fleet_folder
from pyopbench.model.errors import BadInput, CannotStore
from pyopbench.store import run_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "fleet"
    fleet_folder.create(folder, fleet_fakes.plan(4))
    return folder


def test_a_plan_is_read_as_it_was_written(folder: Path) -> None:
    assert fleet_folder.read_plan(folder) == fleet_fakes.plan(4)


def test_a_fleet_is_not_begun_where_one_is(folder: Path) -> None:
    with pytest.raises(BadInput):
        fleet_folder.create(folder, fleet_fakes.plan(4))


@pytest.mark.parametrize("content", ["{", "[]", '{"shards": 2}', "nothing"])
def test_a_plan_that_is_none_is_refused(folder: Path, content: str) -> None:
    (folder / fleet_folder.FLEET_FILE).write_text(content, encoding="utf-8")
    with pytest.raises(BadInput):
        fleet_folder.read_plan(folder)


def test_a_run_of_one_machine_is_no_fleet(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        fleet_folder.read_plan(tmp_path)


def test_a_shard_comes_whole_and_only_once(folder: Path, tmp_path: Path) -> None:
    files = fleet_fakes.results(tmp_path, 2)
    assert fleet_folder.take_in(folder, 2, files)
    assert not fleet_folder.take_in(folder, 2, files)
    assert fleet_folder.arrivals(folder) == {2: "a"}
    assert fleet_fakes.samples_of(folder, 2) == 4


def test_a_shard_with_changed_samples_is_refused_and_leaves_nothing(folder: Path, tmp_path: Path) -> None:
    files = fleet_fakes.results(tmp_path, 2)
    files[run_folder.SAMPLES_FILE] = files[run_folder.SAMPLES_FILE].replace(b"0.5", b"0.6", 1)
    with pytest.raises(BadInput):
        fleet_folder.take_in(folder, 2, files)
    assert not list((folder / fleet_folder.SHARDS).iterdir())


@pytest.mark.parametrize("lines", [0, 1, 2])
def test_a_shard_that_is_not_measured_to_the_end_is_refused(folder: Path, tmp_path: Path, lines: int) -> None:
    """What a process leaves that ended as if it had measured, because its disk was full or it could not be started."""
    files = fleet_fakes.results(tmp_path, 2)
    files[run_folder.SAMPLES_FILE] = b"".join(files[run_folder.SAMPLES_FILE].splitlines(keepends=True)[:lines])
    with pytest.raises(BadInput):
        fleet_folder.take_in(folder, 2, files)
    assert not list((folder / fleet_folder.SHARDS).iterdir())


@pytest.mark.parametrize("shard", [1, 3])
def test_another_shard_than_was_asked_for_is_refused(folder: Path, tmp_path: Path, shard: int) -> None:
    with pytest.raises(BadInput):
        fleet_folder.take_in(folder, shard, fleet_fakes.results(tmp_path, 2))


def test_a_full_disk_here_is_told_and_leaves_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = fleet_fakes.results(tmp_path, 2)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(CannotStore):
        fleet_folder.take_in(folder, 2, files)
    assert fleet_folder.arrivals(folder) == {}
    monkeypatch.undo()
    assert fleet_folder.take_in(folder, 2, files)


@pytest.mark.parametrize(
    "name", ["../run.json", "/etc/x.json", "a/b/run.json", ".ssh/x.json", "run.py", "..json/..", "tf-1/../run.json", ""]
)
def test_a_result_can_name_no_file_outside_of_its_folder(folder: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput):
        fleet_folder.take_in(folder, 2, {**fleet_fakes.results(tmp_path, 2), name: b"{}"})
    assert not list((folder / fleet_folder.SHARDS).iterdir())


def test_more_than_any_shard_has_is_refused(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_folder, "MOST_RETURNED_BYTES", 100)
    with pytest.raises(BadInput):
        fleet_folder.take_in(folder, 2, fleet_fakes.results(tmp_path, 2))


@pytest.mark.parametrize("content", [None, "{"])
def test_a_shard_that_cannot_be_read_any_more_can_be_measured_again(
    folder: Path, tmp_path: Path, content: str | None
) -> None:
    fleet_folder.take_in(folder, 2, fleet_fakes.results(tmp_path, 2))
    run = fleet_folder.folder_of(folder, 2) / run_folder.RUN_FILE
    run.unlink()
    if content is not None:
        run.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput) as raised:
        fleet_folder.arrivals(folder)
    assert str(fleet_folder.folder_of(folder, 2)) in raised.value.hint


def test_only_one_client_runs_a_fleet(folder: Path) -> None:
    with fleet_folder.locked(folder), pytest.raises(BadInput), fleet_folder.locked(folder):
        pass


@pytest.fixture
def op_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("my_op.py")
    path.write_text("x = 1\n", encoding="utf-8")
    return path


def test_a_file_is_read_with_its_hash(op_file: Path) -> None:
    (file,) = fleet_folder.read_sent([f"./{op_file}"])
    told = (file.text, file.name, file.sha256, file.content)
    assert told == ("./my_op.py", "my_op.py", hashlib.sha256(b"x = 1\n").hexdigest(), b"x = 1\n")


def test_what_cannot_be_read_or_is_too_large_is_refused(op_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput):
        fleet_folder.read_sent(["missing.py"])
    with pytest.raises(BadInput):
        fleet_folder.read_sent(["."])
    monkeypatch.setattr(fleet_folder, "MOST_SENT_BYTES", 5)
    with pytest.raises(BadInput):
        fleet_folder.read_sent(["my_op.py"])


@pytest.mark.parametrize("op", ["my_op.py", "my_op.py:function", "other/my_op.py"])
def test_an_op_in_a_file_that_is_not_sent_is_refused(op: str) -> None:
    with pytest.raises(BadInput):
        fleet_folder.check_sent([op], [], [])


@pytest.mark.parametrize("text", ["points.npy", "x=points.npy", "data/points.npy"])
def test_an_input_in_a_file_that_is_not_sent_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        fleet_folder.check_sent(["package.module:function"], [text], [])
    fleet_folder.check_sent(["package.module:function"], ["/data/points.npy", "np.zeros(3)"], [])


def test_ops_that_are_sent_or_installed_are_fine(op_file: Path) -> None:
    files = fleet_folder.read_sent(["my_op.py"])
    fleet_folder.check_sent(["sinh", "my_op.py", "my_op.py:function", "package.module:function"], [], files)


def test_own_ops_are_named_again_with_their_inputs_when_a_shard_is_continued() -> None:
    words = fleet_folder.own_words(["sinh", "my_op.py:f"], ["np.zeros(3)", "n=1"], "")
    assert words == ["my_op.py:f", "--input", "np.zeros(3)", "--input", "n=1"]
    assert fleet_folder.own_words(["sinh"], [], "") == []
    assert fleet_folder.own_words(["a.b:f"], [], "seed()") == ["a.b:f", "--seed-with", "seed()"]
