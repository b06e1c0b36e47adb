"""Results on disk: appended whole or not at all, read back as written, refused where they cannot be decoded."""

from __future__ import annotations

import errno
import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

import stored
from pyopbench.model.errors import BadInput, CannotStore
from pyopbench.store import run_folder
from pyopbench.store.line_types import LaunchLine
from pyopbench.store.run_folder import RUN_FILE, SAMPLES_FILE

CASES = (stored.case("well"), stored.case("slow"))
LINES = [
    stored.launch_line(0),
    stored.group_line(0, CASES),
    stored.group_line(0, [stored.case("well", size=10)], [stored.failure(stored.case("slow", size=10))]),
    {"kind": "lost", "launch": 1, "group": stored.group(), "failures": [stored.failure(CASES[1], "crashed", 1)]},
    {"kind": "look", "launch": 2, "open": list(CASES)},
]
TYPED = [stored.typed_line(line) for line in LINES]
ENCODED = stored.encoded(stored.run(CASES), LINES)
LAST = ENCODED[-1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored.write(tmp_path / "run", stored.run(CASES), LINES)


def test_what_was_written_is_read_back(folder: Path) -> None:
    side = run_folder.open_side(folder)
    assert (side.content, side.lines) == (stored.typed(stored.run(CASES)), TYPED)


def test_what_is_read_is_written_again_as_it_was(folder: Path, tmp_path: Path) -> None:
    side = run_folder.open_side(folder)
    again = run_folder.create(tmp_path / "again", side.content)
    for line in side.lines:
        again.append(line)
    assert stored.read_run(tmp_path / "again") == stored.read_run(folder)
    assert stored.read_lines(tmp_path / "again") == stored.read_lines(folder)


def test_bytes_of_a_name_that_is_not_utf_8_are_stored_as_escapes(tmp_path: Path) -> None:
    run = stored.typed(stored.run(CASES, command=["pyopbench", "run", "a\udcff.py"]))
    failure = {**stored.failure(CASES[0]), "reason": "a\udcff.py: no memory"}
    run_folder.create(tmp_path, run).append(stored.typed_line(stored.group_line(0, CASES[1:], [failure])))
    side = run_folder.open_side(tmp_path)
    assert side.content.command[-1] == r"a\udcff.py"
    assert stored.read_lines(tmp_path)[0]["failures"][0]["reason"] == r"a\udcff.py: no memory"


def test_a_run_without_samples_has_no_lines(tmp_path: Path) -> None:
    run_folder.create(tmp_path, stored.typed(stored.run(CASES)))
    assert run_folder.open_side(tmp_path).lines == []


def test_a_line_is_on_the_disk_when_append_returns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes_when_synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: sizes_when_synced.append(os.fstat(descriptor).st_size))
    run_folder.open_side(folder).append(LaunchLine(environment={"pid": 1}, launch=5))
    assert sizes_when_synced == [(folder / SAMPLES_FILE).stat().st_size]


@pytest.mark.parametrize("name", [RUN_FILE, SAMPLES_FILE])
def test_a_folder_that_holds_data_is_never_written_to(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"precious")
    with pytest.raises(BadInput) as refused:
        run_folder.create(tmp_path, stored.typed(stored.run(CASES)))
    assert refused.value.received == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"precious"


@pytest.mark.parametrize("below", ["", "below"])
def test_a_file_is_no_output_folder(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput) as refused:
        run_folder.require_new(tmp_path / "file" / below)
    assert refused.value.received == f"{tmp_path / 'file' / below}: {tmp_path / 'file'} is a file"


def test_a_folder_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere, so the answer of the system is made up."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(BadInput) as refused:
        run_folder.require_new(tmp_path / "new")
    assert refused.value.received == f"{tmp_path}/new: {tmp_path} is not writable"


@pytest.mark.parametrize("kept", range(len(LAST) + 1))
def test_a_torn_last_line_is_dropped_wherever_it_is_torn(folder: Path, kept: int) -> None:
    (folder / SAMPLES_FILE).write_bytes(b"".join(ENCODED[:-1]) + LAST[:kept])
    side = run_folder.open_side(folder)
    assert side.lines == (TYPED if kept == len(LAST) else TYPED[:-1])
    assert side.torn == kept % len(LAST)


@pytest.mark.parametrize("kept", [0, 1, len(LAST) - 1, len(LAST)])
def test_what_is_appended_after_a_torn_line_stands_on_its_own(folder: Path, kept: int) -> None:
    (folder / SAMPLES_FILE).write_bytes(b"".join(ENCODED[:-1]) + LAST[:kept])
    side = run_folder.open_side(folder)
    side.prepare_to_append()
    side.append(LaunchLine(environment={"pid": 1}, launch=7))
    again = run_folder.open_side(folder)
    whole = TYPED if kept == len(LAST) else TYPED[:-1]
    assert again.lines == [*whole, LaunchLine(environment={"pid": 1}, launch=7)]
    assert (side.lines, side.size, side.torn) == (again.lines, again.size, 0)


def test_a_side_that_somebody_else_has_measured_meanwhile_is_not_appended_to(folder: Path) -> None:
    """Two resume a run: the second read it before the first was done, and would measure the same again."""
    first, second = run_folder.open_side(folder), run_folder.open_side(folder)
    first.append(LaunchLine(environment={"pid": 1}, launch=7))
    with pytest.raises(BadInput) as refused:
        second.prepare_to_append()
    assert refused.value.received == folder
    first.prepare_to_append()


def test_a_line_that_is_not_json_is_refused_with_its_number(folder: Path) -> None:
    (folder / SAMPLES_FILE).write_bytes(b"".join([*ENCODED[:2], b"{\n", *ENCODED[2:]]))
    with pytest.raises(BadInput) as refused:
        run_folder.open_side(folder)
    assert str(refused.value) == f"cannot decode {folder / SAMPLES_FILE}:3: Input data was truncated"


@pytest.mark.parametrize(
    ("number", "changes", "problem"),
    [
        (1, {"kind": "odd"}, "Invalid value 'odd' - at `$.kind`"),
        (1, {"group": None}, "Expected `str`, got `null` - at `$.group`"),
        (1, {"samples": {"sinh": []}}, "'sinh' is not the id of a case"),
        (1, {"samples": {stored.case("well", size=10): []}}, "does not belong to the group"),
        (1, {"samples": {CASES[0]: [[0, 0, 0, 1.0]]}}, "is not [round, order, calls >= 1, seconds >= 0]"),
        (4, {"open": ["sinh"]}, "'sinh' is not the id of a case"),
        (4, {"launch": -1}, "Expected `int` >= 0 - at `$.launch`"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_with_the_reason(
    tmp_path: Path, number: int, changes: dict[str, Any], problem: str
) -> None:
    folder = stored.write(tmp_path / "run", stored.run(CASES), [{**LINES[number], **changes}])
    with pytest.raises(BadInput) as refused:
        run_folder.open_side(folder)
    assert str(refused.value).startswith(f"cannot decode {folder / SAMPLES_FILE}:1: ")
    assert problem in str(refused.value)


def test_keys_that_nobody_knows_are_ignored(tmp_path: Path) -> None:
    folder = stored.write(tmp_path, {**stored.run(CASES), "later": 1}, [{**LINES[0], "crc32": "0"}])
    assert run_folder.open_side(folder).lines == TYPED[:1]


def test_a_group_that_a_launch_holds_twice_is_refused(folder: Path) -> None:
    stored.append(folder, LINES[1])
    with pytest.raises(BadInput, match="2 lines hold pass 0 of group double/forward/call/float32/1/cpu of launch 0"):
        run_folder.open_side(folder)


@pytest.mark.parametrize("name", ["", RUN_FILE])
def test_what_is_no_folder_of_a_run_is_refused(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    if name:
        place.touch()
    with pytest.raises(BadInput) as refused:
        run_folder.read_run(place)
    assert refused.value.received == place


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe"])
def test_a_run_that_is_none_is_refused_with_its_path(tmp_path: Path, content: bytes) -> None:
    (tmp_path / RUN_FILE).write_bytes(content)
    with pytest.raises(BadInput) as refused:
        run_folder.read_run(tmp_path)
    assert str(refused.value).startswith(f"cannot decode {tmp_path / RUN_FILE}: ")


def test_a_planned_case_that_is_none_is_refused(folder: Path) -> None:
    (folder / RUN_FILE).write_text(json.dumps({**stored.run(CASES), "cases": ["sinh/native"]}))
    with pytest.raises(BadInput, match="'sinh/native' is not the id of a case"):
        run_folder.read_run(folder)


def test_a_folder_is_measured_into_by_one_process_at_a_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "LOCK_SECONDS", 0.0)
    with run_folder.locked(folder), pytest.raises(BadInput) as refused, run_folder.locked(folder):
        pass
    assert refused.value.received == folder
    with run_folder.locked(folder):
        pass


def test_a_line_that_finds_no_room_costs_nothing_that_was_stored(folder: Path) -> None:
    """A limit on the size of files stands for a full disk."""
    side = run_folder.open_side(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (side.size + 10, hard))
    try:
        with pytest.raises(CannotStore) as caught:
            side.append(LaunchLine(environment={"pid": 1}, launch=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.received.errno == errno.EFBIG  # type: ignore[attr-defined]
    assert side.lines == TYPED, "what found no room is not held either"
    assert run_folder.open_side(folder).lines == TYPED


def test_a_file_that_finds_no_room_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    run_folder.write_atomically(path, b"before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError) as caught:  # noqa: PT011 - its number is checked
            run_folder.write_atomically(path, b"x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
