"""What was changed after it was written is found, by a checksum of each line and one of run.json, and refused."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import stored
from places import ROOT
from pyopbench.model.errors import BadInput
from pyopbench.model.read_policy import ReadPolicy, reading_by
from pyopbench.store import integrity, read, run_folder
from pyopbench.store.check import check_folder
from pyopbench.store.integrity import LineChecker, seal_of
from pyopbench.store.warnings import Changed

CASES = [stored.case("well", size=size) for size in (1, 10)]
LINES = [stored.launch_line(0), *(stored.group_line(0, [case]) for case in CASES), stored.launch_line(1)]
TRIALS = 1000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored.write(tmp_path / "run", stored.run(CASES), LINES)


def conditions(folder: Path) -> list[tuple[str, int | None, str]]:
    return [(one.path.name, one.line, one.condition) for one in check_folder(folder).files]


def digit_changed(content: bytes, rng: random.Random) -> bytes:
    place = rng.choice([place for place, byte in enumerate(content) if chr(byte).isdigit()])
    other = rng.choice([digit for digit in b"0123456789" if digit != content[place]])
    return content[:place] + bytes([other]) + content[place + 1 :]


def is_found(folder: Path) -> bool:
    try:
        return bool(run_folder.changes(folder) or run_folder.read_lines(folder)[1] or not run_folder.read_run(folder))
    except BadInput:  # or not even JSON of the schema any more
        return True


@pytest.mark.parametrize("name", [run_folder.RUN_FILE, run_folder.SAMPLES_FILE])
def test_a_changed_digit_is_found_wherever_it_is(folder: Path, name: str) -> None:
    rng, path = random.Random(0), folder / name
    whole = path.read_bytes()
    assert not is_found(folder)
    found = 0
    for _ in range(TRIALS):
        path.write_bytes(digit_changed(whole, rng))
        found += is_found(folder)
    assert found == TRIALS


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        (lambda lines: [lines[0], *lines[2:]], (2,)),
        (lambda lines: [lines[1], lines[0], *lines[2:]], (1, 2, 3)),
        (lambda lines: [lines[0], lines[0], *lines[1:]], (2,)),
        (lambda lines: lines[1:], (1,)),
        (lambda lines: [*lines[:2], lines[2].replace(b"0.5", b"0.4"), lines[3]], (3,)),
        (lambda lines: [line[: line.rindex(b',"crc32"')] + b"}\n" for line in lines], (1, 2, 3, 4)),
    ],
    ids=["missing", "moved", "twice", "first missing", "changed", "without checksums"],
)
def test_lines_that_are_not_as_they_were_written_are_named(
    folder: Path, change: Callable[[list[bytes]], list[bytes]], lines: tuple[int, ...]
) -> None:
    path = folder / run_folder.SAMPLES_FILE
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    assert run_folder.read_lines(folder)[1] == [Changed(str(path), lines)]


def test_lines_of_another_run_are_found(folder: Path, tmp_path: Path) -> None:
    other = stored.write(tmp_path / "other", stored.run(CASES, created="2026-01-02T03:04:06+00:00"), LINES)
    shutil.copy(other / run_folder.SAMPLES_FILE, folder)
    assert run_folder.read_lines(folder)[1] == [Changed(str(folder / run_folder.SAMPLES_FILE), (1,))]


def test_a_run_that_is_written_anew_with_the_same_values_is_changed(folder: Path) -> None:
    path = folder / run_folder.RUN_FILE
    path.write_text(json.dumps(json.loads(path.read_bytes())), encoding="utf-8")
    assert seal_of(path.read_bytes()).state == "changed"


@pytest.mark.parametrize("name", [run_folder.RUN_FILE, run_folder.SAMPLES_FILE])
def test_changed_results_are_read_only_where_that_is_allowed(folder: Path, name: str) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.4", 1))
    with pytest.raises(BadInput):
        read.read_one([folder])
    with reading_by(ReadPolicy(takes_changed=True)):
        assert [type(one) for one in read.read_one([folder]).warnings] == [Changed]


def test_a_run_without_a_checksum_is_changed(folder: Path) -> None:
    path = folder / run_folder.RUN_FILE
    content = json.loads(path.read_bytes())
    del content[integrity.KEY]
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    assert run_folder.changes(folder) == [Changed(str(path), ())]


def test_the_committed_run_is_whole() -> None:
    assert {condition for _, _, condition in conditions(ROOT / "results" / "reference")} == {"whole"}


def test_a_check_names_what_is_wrong_and_what_is_left(folder: Path) -> None:
    path = folder / run_folder.SAMPLES_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b"0.5", b"0.4", 1)
    path.write_bytes(b"".join([*lines, lines[2], b"{}\n", b'{"kin']))
    (folder / "probes.json").mkdir()
    found = check_folder(folder)
    assert not found.is_fine
    assert conditions(folder) == [
        ("run.json", None, "whole"),
        ("samples.jsonl", 2, "changed"),
        ("samples.jsonl", 5, "twice"),
        ("samples.jsonl", 6, "unreadable"),
        ("samples.jsonl", 7, "torn"),
        ("probes.json", None, "unreadable"),
    ]
    contents = found.contents
    assert contents is not None
    assert (contents.launches, contents.cases, contents.planned, contents.ended) == (1, 1, 2, False)


def test_what_is_whole_is_said_to_be(folder: Path) -> None:
    assert check_folder(folder).is_fine
    assert conditions(folder) == [("run.json", None, "whole"), ("samples.jsonl", None, "whole")]


def test_a_line_after_a_changed_checksum_is_not_blamed() -> None:
    content = integrity.sealed('{\n "schema": 1\n}')
    seal = seal_of(content)
    first = integrity.sealed_line(b'{"a":1}', seal.checksum or 0)
    second = integrity.sealed_line(b'{"a":2}', integrity.checksum_of(first) or 0)
    spoilt = first[:-3] + (b"1" if first[-3:-2] != b"1" else b"2") + first[-2:]
    checker = LineChecker(seal)
    assert [checker.check(line)[0] for line in (spoilt, second)] == ["changed", "whole"]


def test_lines_of_a_run_whose_own_checksum_is_gone_are_checked_among_themselves(folder: Path) -> None:
    (folder / run_folder.RUN_FILE).write_text(json.dumps(stored.run(CASES)), encoding="utf-8")
    assert run_folder.read_lines(folder) == ([stored.typed_line(line) for line in LINES], [])
    path = folder / run_folder.SAMPLES_FILE
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.4", 1))
    assert run_folder.read_lines(folder)[1] == [Changed(str(path), (2,))]
