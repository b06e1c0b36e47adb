"""Results on disk: appended whole or not at all, read back as written, refused where they cannot be decoded."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import stored
from pyopbench.model.errors import BadInput, PyopbenchError
from pyopbench.store.read import read_source
from pyopbench.store.run import (
    RUN_FILE,
    SAMPLES_FILE,
    OpenRun,
    create,
    name_sides,
    open_run,
    read_plan,
    report_folder,
    require_new,
)
from pyopbench.store.types import AnyLine, LaunchLine, Revision, Side

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


def append(run: OpenRun, line: AnyLine) -> None:
    """Append a line to the first side, as a process that measures does."""
    with run.locked():
        run.measured[0].append(line)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored.write(tmp_path / "run", stored.run(CASES), LINES)


def test_what_was_written_is_read_back(folder: Path) -> None:
    run = open_run(folder)
    assert (run.plan, run.measured[0].lines) == (stored.typed(stored.run(CASES)), TYPED)


def test_what_is_read_is_written_again_as_it_was(folder: Path, tmp_path: Path) -> None:
    run = open_run(folder)
    again = create(tmp_path / "again", run.plan)
    with again.locked():
        for line in run.measured[0].lines:
            again.measured[0].append(line)
    assert open_run(tmp_path / "again").plan == structs.replace(run.plan, run="again")
    assert stored.read_lines(tmp_path / "again") == stored.read_lines(folder)


def test_a_line_is_on_the_disk_when_append_returns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes_when_synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: sizes_when_synced.append(os.fstat(descriptor).st_size))
    append(open_run(folder), LaunchLine(environment={"pid": 1}, launch=5))
    assert sizes_when_synced == [(folder / SAMPLES_FILE).stat().st_size]


@pytest.mark.parametrize("name", [RUN_FILE, SAMPLES_FILE])
def test_a_folder_that_holds_data_is_never_written_to(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"precious")
    with pytest.raises(BadInput) as refused:
        create(tmp_path, stored.typed(stored.run(CASES)))
    assert refused.value.received == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"precious"


@pytest.mark.parametrize("place", ["", "new", "new/below"])
def test_a_run_is_made_in_an_empty_or_new_folder(tmp_path: Path, place: str) -> None:
    created = create(tmp_path / place, stored.typed(stored.run(CASES)))
    assert open_run(tmp_path / place).plan == created.plan


@pytest.mark.parametrize("below", ["", "below"])
def test_a_file_is_no_output_folder(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput) as refused:
        require_new(tmp_path / "file" / below)
    assert refused.value.received == f"{tmp_path / 'file' / below}: {tmp_path / 'file'} is a file"


def test_a_folder_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere, so the answer of the system is made up."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(BadInput) as refused:
        require_new(tmp_path / "new")
    assert refused.value.received == f"{tmp_path}/new: {tmp_path} is not writable"


@pytest.mark.parametrize("kept", range(len(LAST) + 1))
def test_a_torn_last_line_is_dropped_wherever_it_is_torn(folder: Path, kept: int) -> None:
    (folder / SAMPLES_FILE).write_bytes(b"".join(ENCODED[:-1]) + LAST[:kept])
    run = open_run(folder)
    assert run.measured[0].lines == (TYPED if kept == len(LAST) else TYPED[:-1])
    assert run.torn == kept % len(LAST)


@pytest.mark.parametrize("kept", [0, 1, len(LAST) - 1, len(LAST)])
def test_what_is_appended_after_a_torn_line_stands_on_its_own(folder: Path, kept: int) -> None:
    (folder / SAMPLES_FILE).write_bytes(b"".join(ENCODED[:-1]) + LAST[:kept])
    run = open_run(folder)
    append(run, LaunchLine(environment={"pid": 1}, launch=7))
    again = open_run(folder)
    whole = TYPED if kept == len(LAST) else TYPED[:-1]
    assert again.measured[0].lines == [*whole, LaunchLine(environment={"pid": 1}, launch=7)]
    assert (run.measured[0].lines, run.size, run.torn) == (again.measured[0].lines, again.size, 0)


def test_a_run_that_somebody_else_has_measured_meanwhile_is_not_appended_to(folder: Path) -> None:
    """Two resume a run: the second read it before the first was done, and would measure the same again."""
    first, second = open_run(folder), open_run(folder)
    append(first, LaunchLine(environment={"pid": 1}, launch=7))
    with pytest.raises(BadInput) as refused:
        append(second, LaunchLine(environment={"pid": 2}, launch=7))
    assert refused.value.received == folder
    append(first, LaunchLine(environment={"pid": 1}, launch=8))


def test_a_line_that_is_not_json_is_refused_with_its_number(folder: Path) -> None:
    (folder / SAMPLES_FILE).write_bytes(b"".join([*ENCODED[:2], b"{\n", *ENCODED[2:]]))
    with pytest.raises(BadInput) as refused:
        open_run(folder)
    assert str(refused.value) == f"cannot decode {folder / SAMPLES_FILE}:3: Input data was truncated"


@pytest.mark.parametrize(
    ("number", "changes", "problem"),
    [
        (1, {"kind": "odd"}, "Invalid value 'odd' - at `$.kind`"),
        (1, {"group": None}, "Expected `str`, got `null` - at `$.group`"),
        (1, {"samples": {"sinh": []}}, "not the id of a case: 'sinh'"),
        (1, {"samples": {CASES[0]: [[0, 0, 1, -1.0]]}}, "Expected `float` >= 0.0"),
        (1, {"samples": {CASES[0]: [[0, 0, 1]]}}, "Expected `array` of length >= 4"),
        (4, {"open": ["sinh"]}, "not the id of a case: 'sinh'"),
        (4, {"launch": -1}, "Expected `int` >= 0 - at `$.launch`"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_with_the_reason(
    tmp_path: Path, number: int, changes: dict[str, Any], problem: str
) -> None:
    folder = stored.write(tmp_path / "run", stored.run(CASES), [{**LINES[number], **changes}])
    with pytest.raises(BadInput) as refused:
        open_run(folder)
    assert str(refused.value).startswith(f"cannot decode {folder / SAMPLES_FILE}:1: ")
    assert problem in str(refused.value)


def test_keys_that_nobody_knows_are_ignored(tmp_path: Path) -> None:
    folder = stored.write(tmp_path, {**stored.run(CASES), "later": 1}, [{**LINES[0], "crc32": "0"}])
    assert open_run(folder).measured[0].lines == TYPED[:1]


def test_a_group_that_a_launch_holds_twice_is_refused(folder: Path) -> None:
    stored.append(folder, LINES[1])
    with pytest.raises(BadInput, match="2 lines have pass 0 of group double/forward/call/float32/1/cpu of launch 0"):
        open_run(folder)


@pytest.mark.parametrize("name", ["", RUN_FILE])
def test_what_is_no_folder_of_a_run_is_refused(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    if name:
        place.touch()
    with pytest.raises(BadInput) as refused:
        read_plan(place)
    assert refused.value.received == place


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe"])
def test_a_run_that_is_none_is_refused_with_its_path(tmp_path: Path, content: bytes) -> None:
    (tmp_path / RUN_FILE).write_bytes(content)
    with pytest.raises(BadInput) as refused:
        read_plan(tmp_path)
    assert str(refused.value).startswith(f"cannot decode {tmp_path / RUN_FILE}: ")


def test_a_planned_case_that_is_none_is_refused(folder: Path) -> None:
    stored.write(folder, {**stored.run(CASES), "cases": ["sinh/native"]}, [])
    with pytest.raises(BadInput, match="not the id of a case: 'sinh/native'"):
        read_plan(folder)


def test_a_folder_is_measured_into_by_one_process_at_a_time(folder: Path) -> None:
    first, second = open_run(folder), open_run(folder)
    with first.locked(), pytest.raises(BadInput) as refused, second.locked():
        pass
    assert refused.value.received == folder
    with second.locked():
        pass


def test_a_line_that_finds_no_room_costs_nothing_that_was_stored(folder: Path) -> None:
    """A limit on the size of files stands for a full disk."""
    run = open_run(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (run.size + 10, hard))
    try:
        with pytest.raises(PyopbenchError) as caught:
            append(run, LaunchLine(environment={"pid": 1}, launch=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.received.errno in (errno.EFBIG, errno.ENOSPC)  # type: ignore[attr-defined]
    assert run.measured[0].lines == TYPED, "what found no room is not held either"
    assert open_run(folder).measured[0].lines == TYPED


# Several sides


def test_lines_of_several_sides_are_in_one_file_and_come_apart_again(tmp_path: Path) -> None:
    lines = [stored.launch_line(launch) for launch in range(3)]
    stored.write_sides(
        tmp_path, stored.run(CASES), [({"label": "a"}, lines[:1]), ({"label": "b"}, []), ({"label": "c"}, lines)]
    )
    run = open_run(tmp_path)
    assert [(side.side.label, len(side.lines)) for side in run.measured] == [("a", 1), ("b", 0), ("c", 3)]
    with run.locked():
        run.measured[1].append(LaunchLine(environment={"pid": 2}, launch=5))
    assert stored.read_lines(tmp_path)[-1] == {"kind": "launch", "launch": 5, "side": 1, "environment": {"pid": 2}}
    assert [len(side.lines) for side in open_run(tmp_path).measured] == [1, 1, 3]


def test_a_side_that_could_not_be_planned_has_no_lines(tmp_path: Path) -> None:
    stored.write_sides(
        tmp_path, stored.run(CASES), [({"label": "a"}, []), ({"label": "b", "problem": "no"}, LINES[:1])]
    )
    with pytest.raises(BadInput, match="nothing is planned for side 1"):
        open_run(tmp_path)


def test_a_version_that_comes_again_gets_a_number() -> None:
    named = stored.name_versions(["2.21.0", "2.16.2", "2.21.0", "2.21.0"])
    assert [side.label for side in named] == ["2.21.0", "2.16.2", "2.21.0-2", "2.21.0-3"]
    assert len({report_folder(Path(), side.label) for side in named}) == 4


def test_a_side_whose_name_looks_like_the_number_of_another_has_a_label_of_its_own() -> None:
    """Checkouts, analyses and the gate tell sides apart by their labels."""
    asked = ["main", "main-2", "main", "a1" * 20]
    revisions = [Revision(name, f"{place:040x}", "2026-01-01T00:00:00+00:00", "") for place, name in enumerate(asked)]
    labels = [side.label for side in name_sides([Side(revision=revision) for revision in revisions])]
    assert labels == ["main", "main-2", "main-3", "a1" * 5], "a whole hash by its first digits"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"sides": []}, "Expected `array` of length >= 1"),
        ({"minimum_effect": 3}, "Expected `float` < 1.0 - at `$.minimum_effect`"),
        *(({"sides": [{"tf": tf}]}, "at `$.sides[0].tf`") for tf in ("../elsewhere", "/etc", "", "2.21.0/..", "a\nb")),
        ({"sides": [{"packages": ["numpy"]}]}, "at `$.sides[0].packages[0]`"),
    ],
)
def test_sides_that_are_none_are_refused(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    folder = stored.write(tmp_path, {**stored.nested(stored.run(CASES)), **changes}, [])
    with pytest.raises(BadInput) as refused:
        open_run(folder)
    assert problem in str(refused.value)


def test_each_version_is_a_run_in_blocks(tmp_path: Path) -> None:
    """Launches of the same number are a block; the same version twice stays two."""
    sides = []
    for side, launches in zip(stored.name_versions(["2.16.2", "2.21.0", "2.21.0"]), (2, 2, 1), strict=True):
        planned = {"label": side.label, "tf": side.tf, "environment": {**stored.ENVIRONMENT, "tensorflow": side.tf}}
        sides.append((planned, [stored.group_line(launch, CASES[:1]) for launch in range(launches)]))
    stored.write_sides(tmp_path, stored.run(CASES[:1]), sides)
    runs = read_source(tmp_path)
    columns = ["tf", "block", "launch", "run"]
    assert [run.frame[columns].drop_duplicates().to_numpy().tolist() for run in runs] == [
        [["2.16.2", 0, 0, tmp_path.name], ["2.16.2", 1, 1, tmp_path.name]],
        [["2.21.0", 0, 0, tmp_path.name], ["2.21.0", 1, 1, tmp_path.name]],
        [["2.21.0-2", 0, 0, tmp_path.name]],
    ]
    assert [run.environment["tensorflow"] for run in runs] == ["2.16.2", "2.21.0", "2.21.0-2"]
