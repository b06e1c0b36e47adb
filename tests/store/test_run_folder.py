"""Results on disk: appended whole or not at all, read back as written, refused where they are corrupt."""

from __future__ import annotations

import copy
import errno
import fcntl
import json
import os
import resource
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import stored
from certificates import as_stored, certificate
from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput, CannotStore
from pyopbench.store import run_folder
from pyopbench.store.line_types import LaunchLine
from pyopbench.store.run_folder import RUN_FILE, SAMPLES_FILE
from pyopbench.store.warnings import UnfinishedLine

CASES = (stored.case("well"), stored.case("slow"))
LINES = [
    stored.launch_line(0),
    stored.group_line(0, CASES),
    stored.group_line(0, [stored.case("well", size=10)], [stored.failure(stored.case("slow", size=10))]),
    {"kind": "lost", "launch": 1, "group": stored.group(), "failures": [stored.failure(CASES[1], "crashed", 1)]},
    {"kind": "look", "launch": 2, "open": list(CASES)},
]
ENCODED = stored.encoded(stored.run(CASES), LINES)

quickly = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored.write(tmp_path / "run", stored.run(CASES), LINES)


TYPED = [stored.typed_line(line) for line in LINES]


def write_lines(folder: Path, content: bytes) -> None:
    (folder / SAMPLES_FILE).write_bytes(content)


def test_what_was_written_is_read_back(folder: Path) -> None:
    assert run_folder.read_run(folder) == stored.typed(stored.run(CASES))
    assert run_folder.read_lines(folder) == (TYPED, [])


def test_what_is_read_is_written_again_as_it_was(folder: Path, tmp_path: Path) -> None:
    again = run_folder.create(tmp_path / "again", run_folder.read_run(folder))
    for line in run_folder.read_lines(folder)[0]:
        again.append(line)
    assert stored.read_run(tmp_path / "again") == stored.read_run(folder)
    assert stored.read_lines(tmp_path / "again") == stored.read_lines(folder)


def test_a_run_without_samples_has_no_lines(tmp_path: Path) -> None:
    run_folder.create(tmp_path, stored.typed(stored.run(CASES)))
    assert run_folder.read_lines(tmp_path) == ([], [])


def test_a_line_is_on_the_disk_when_append_returns(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes_when_synced = []
    fsync = os.fsync

    def spy(descriptor: int) -> None:
        sizes_when_synced.append(os.fstat(descriptor).st_size)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", spy)
    run_folder.open_side(folder).append(LaunchLine(environment={"pid": 1}, launch=5))
    assert sizes_when_synced == [(folder / SAMPLES_FILE).stat().st_size]


def test_a_file_that_could_not_be_written_leaves_the_old_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / RUN_FILE).read_bytes()

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError) as caught:  # noqa: PT011 - its number is checked
        run_folder.write_atomically(folder / RUN_FILE, b"half")
    assert caught.value.errno == errno.ENOSPC
    assert (folder / RUN_FILE).read_bytes() == before


@pytest.mark.parametrize("name", [RUN_FILE, SAMPLES_FILE])
def test_a_folder_that_holds_data_is_never_written_to(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"precious")
    with pytest.raises(BadInput) as refused:
        run_folder.create(tmp_path, stored.typed(stored.run(CASES)))
    assert refused.value.received == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == b"precious"


def test_a_new_folder_may_be_several_levels_down(tmp_path: Path) -> None:
    run_folder.require_new(tmp_path / "a" / "b")
    assert not (tmp_path / "a").exists()


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


@pytest.mark.parametrize("kept", range(len(ENCODED[-1]) + 1))
def test_a_torn_last_line_is_dropped_with_a_warning_wherever_it_is_torn(folder: Path, kept: int) -> None:
    write_lines(folder, b"".join(ENCODED[:-1]) + ENCODED[-1][:kept])
    lines, warnings = run_folder.read_lines(folder)
    torn = 0 < kept < len(ENCODED[-1])
    assert lines == (TYPED if kept == len(ENCODED[-1]) else TYPED[:-1])
    assert warnings == ([UnfinishedLine(str(folder / SAMPLES_FILE), len(LINES))] if torn else [])


@pytest.mark.parametrize("kept", [0, 1, len(ENCODED[-1]) - 1, len(ENCODED[-1])])
def test_what_is_appended_after_a_torn_line_stands_on_its_own(folder: Path, kept: int) -> None:
    write_lines(folder, b"".join(ENCODED[:-1]) + ENCODED[-1][:kept])
    side = run_folder.open_side(folder)
    side.prepare_to_append()
    side.append(LaunchLine(environment={"pid": 1}, launch=7))
    lines, warnings = run_folder.read_lines(folder)
    whole = TYPED if kept == len(ENCODED[-1]) else TYPED[:-1]
    assert lines == [*whole, LaunchLine(environment={"pid": 1}, launch=7)]
    assert warnings == []
    assert (side.lines, side.warnings, side.size) == (lines, [], (folder / SAMPLES_FILE).stat().st_size)


def test_a_side_that_somebody_else_has_measured_meanwhile_is_not_appended_to(folder: Path) -> None:
    """Two resume a run: the second read it before the first was done, and would measure the same again."""
    first, second = run_folder.open_side(folder), run_folder.open_side(folder)
    first.append(LaunchLine(environment={"pid": 1}, launch=7))
    with pytest.raises(BadInput) as refused:
        second.prepare_to_append()
    assert refused.value.received == folder
    first.prepare_to_append()


def test_a_torn_only_line_leaves_an_empty_file(folder: Path) -> None:
    write_lines(folder, b'{"kind": "lau')
    run_folder.drop_torn_line(folder)
    assert (folder / SAMPLES_FILE).read_bytes() == b""


CORRUPT_LINES = {
    "no JSON": b"{",
    "an empty line": b"",
    "no UTF-8": b'{"kind": "\xff"}',
    "no object": b"[1]",
    "no kind": b"{}",
    "another kind": b'{"kind": "other"}',
    "a kind that is no text": b'{"kind": []}',
    "not a number": b'{"kind": "launch", "launch": NaN, "environment": {}}',
    "a missing key": b'{"kind": "launch", "launch": 0}',
    "a launch below 0": b'{"kind": "launch", "launch": -1, "environment": {}}',
    "a launch that is true": b'{"kind": "launch", "launch": true, "environment": {}}',
    "too deep": b"[" * 100_000,
}


@pytest.mark.parametrize("name", CORRUPT_LINES)
@pytest.mark.parametrize("number", [1, 3])
def test_a_corrupt_line_is_refused_with_file_and_line(folder: Path, name: str, number: int) -> None:
    lines = [*ENCODED]
    lines.insert(number - 1, CORRUPT_LINES[name] + b"\n")
    write_lines(folder, b"".join(lines))
    with pytest.raises(BadInput) as caught:
        run_folder.read_lines(folder)
    assert str(caught.value.received).startswith(f"{folder / SAMPLES_FILE}:{number}: ")


def change(line: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(line), **changes}


NODE = Case("double", "well", "none", "forward", "node", "float32", 1)
LARGER = stored.case("well", size=10)


def node_line(sample: list[Any]) -> dict[str, Any]:
    return change(LINES[1], group=NODE.group, samples={NODE.id: [sample]})


def no_sample(case: str, sample: list[float], *, copies: bool = False) -> str:
    numbers = ["round", "order", "calls >= 1", "seconds >= 0", *(["copies >= 0"] if copies else [])]
    return f"a sample of {case} is not [{', '.join(numbers)}]: {sample}"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (change(LINES[1], samples={CASES[0]: [[0, 0, 1]]}), no_sample(CASES[0], [0, 0, 1])),
        (change(LINES[1], samples={CASES[0]: [[0, 0, 0, 1.0]]}), no_sample(CASES[0], [0, 0, 0, 1.0])),
        (change(LINES[1], samples={CASES[0]: [[0, 0, 1, 1.0, 1]]}), no_sample(CASES[0], [0, 0, 1, 1.0, 1])),
        (node_line([0, 0, 1]), no_sample(NODE.id, [0, 0, 1], copies=True)),
        (node_line([0, 0, 1, 1.0, -1]), no_sample(NODE.id, [0, 0, 1, 1.0, -1], copies=True)),
        (node_line([0, 0, 1, 1.0, 1, 1]), no_sample(NODE.id, [0, 0, 1, 1.0, 1, 1], copies=True)),
        (node_line([0, 0, 1, 1.0, 1.5]), no_sample(NODE.id, [0, 0, 1, 1.0, 1.5], copies=True)),
        (change(LINES[1], samples={CASES[0]: [[0, 0, 1, -1.0]]}), no_sample(CASES[0], [0, 0, 1, -1.0])),
        (change(LINES[1], samples={CASES[0]: [[-1, 0, 1, 1.0]]}), no_sample(CASES[0], [-1, 0, 1, 1.0])),
        (change(LINES[1], samples={CASES[0]: [[0.5, 0, 1, 1.0]]}), no_sample(CASES[0], [0.5, 0, 1, 1.0])),
        (
            change(LINES[1], samples={CASES[0]: [[0, 0, 1, "1"]]}),
            "samples.double/well/none/forward/call/float32/1/cpu[0][3]: expected int | float, got str: 1",
        ),
        (
            change(LINES[1], samples={CASES[0]: 3}),
            "samples.double/well/none/forward/call/float32/1/cpu: expected array, got int: 3",
        ),
        (change(LINES[1], samples=[]), "samples: expected object, got array: []"),
        (change(LINES[1], samples={"sinh": []}), "'sinh' is not the id of a case"),
        (
            change(LINES[1], samples={LARGER: []}),
            f"{LARGER} does not belong to the group double/forward/call/float32/1/cpu",
        ),
        (change(LINES[1], failures={}), "failures: expected array, got object: {}"),
        (change(LINES[1], failures=[{"case": CASES[0]}]), "failures[0]: missing status"),
        (
            change(LINES[1], failures=[stored.failure(CASES[0], "odd")]),
            "failures[0].status: invalid enum value 'odd'",
        ),
        (change(LINES[1], failures=[stored.failure("odd")]), "'odd' is not the id of a case"),
        (change(LINES[1], timer_seconds="1"), "timer_seconds: expected float, got str: 1"),
        (change(LINES[1], group=None), "group: expected str, got null"),
        (change(LINES[1], noise=[]), "noise: expected object | null, got array: []"),
        (change(LINES[1], later=1), "unknown key later"),
        (change(LINES[1], noise={"load": 1.0}), "noise: missing wall_seconds"),
        (change(LINES[1], noise={**stored.NOISE, "load": "high"}), "noise.load: expected float | null, got str: high"),
        (change(LINES[4], open=None), "open: expected array, got null"),
        (change(LINES[4], open=["sinh"]), "'sinh' is not the id of a case"),
        (change(LINES[4], launch=-1), "launch: expected int >= 0, got -1"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_with_the_reason(
    tmp_path: Path, line: dict[str, Any], problem: str
) -> None:
    folder = stored.write(tmp_path / "run", stored.run(CASES), [line])
    with pytest.raises(BadInput) as refused:
        run_folder.read_lines(folder)
    assert refused.value.received == f"{folder / SAMPLES_FILE}:1: {problem}"


def test_a_group_that_a_launch_holds_twice_is_refused(folder: Path) -> None:
    stored.append(folder, LINES[1])
    with pytest.raises(BadInput) as refused:
        run_folder.read_lines(folder)
    assert (
        refused.value.received
        == f"{folder}/samples.jsonl: 2 lines hold pass 0 of group double/forward/call/float32/1/cpu of launch 0"
    )


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        run_folder.read_run(tmp_path)
    assert refused.value.received == tmp_path


def test_a_file_in_place_of_a_folder_is_refused(folder: Path) -> None:
    with pytest.raises(BadInput) as refused:
        run_folder.read_run(folder / RUN_FILE)
    assert refused.value.received == folder / "run.json"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe"])
def test_a_run_that_is_none_is_refused_with_its_path(tmp_path: Path, content: bytes) -> None:
    (tmp_path / RUN_FILE).write_bytes(content)
    with pytest.raises(BadInput) as caught:
        run_folder.read_run(tmp_path)
    assert str(tmp_path / RUN_FILE) in str(caught.value.received)


def rewrite(folder: Path, content: Any) -> None:
    (folder / RUN_FILE).write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("key", [*stored.run(CASES)])
def test_a_missing_key_is_refused_by_name(folder: Path, key: str) -> None:
    content = stored.run(CASES)
    del content[key]
    rewrite(folder, content)
    with pytest.raises(BadInput) as refused:
        run_folder.read_run(folder)
    assert refused.value.received == f"{folder / RUN_FILE}: missing {key}"


@pytest.mark.parametrize("key", ["seed", "launches", "case_timeout_seconds", "baseline"])
def test_a_missing_setting_is_refused_by_name(folder: Path, key: str) -> None:
    content = stored.run(CASES)
    left = {name: value for name, value in content["settings"].items() if name != key}
    rewrite(folder, {**content, "settings": left})
    with pytest.raises(BadInput) as refused:
        run_folder.read_run(folder)
    assert refused.value.received == f"{folder}/run.json: settings: missing {key}"


@pytest.mark.parametrize(
    ("first_rounds", "got"), [(None, "null"), ("3", "str: 3"), (1.5, "float: 1.5"), (True, "bool: True")]
)
def test_first_rounds_that_are_no_number_are_refused(folder: Path, first_rounds: object, got: str) -> None:
    content = stored.run(CASES)
    settings = {**content["settings"], "first_rounds": first_rounds}
    rewrite(folder, {**content, "settings": settings})
    with pytest.raises(BadInput) as refused:
        run_folder.read_run(folder)
    assert refused.value.received == f"{folder / RUN_FILE}: settings.first_rounds: expected int, got {got}"


def test_a_planned_case_that_is_none_is_refused(folder: Path) -> None:
    rewrite(folder, {**stored.run(CASES), "cases": ["sinh/native"]})
    with pytest.raises(BadInput) as refused:
        run_folder.read_run(folder)
    assert refused.value.received == f"{folder}/run.json: 'sinh/native' is not the id of a case"


def own(words: object) -> dict[str, Any]:
    return {"own": {"mine": {"words": words, "fingerprint": "f"}}}


@pytest.mark.parametrize(
    ("wrong", "right", "problem"),
    [
        (
            {"settings": {"pairs": {"well": 1}}},
            {"settings": {"pairs": {"well": "slow"}}},
            "settings.pairs.well: expected str, got int: 1",
        ),
        (
            {"settings": {"tf": 2.21}},
            {"settings": {"tf": "2.21.0"}},
            "settings.tf: expected str | null, got float: 2.21",
        ),
        (own("my_op.py"), own(["my_op.py"]), "own.mine.words: expected array, got str: my_op.py"),
    ],
)
def test_what_need_not_be_there_is_checked_where_it_is(
    folder: Path, wrong: dict[str, Any], right: dict[str, Any], problem: str
) -> None:
    content = stored.run(CASES)
    told = []
    for change in (wrong, right):
        settings = {**content["settings"], **change.get("settings", {})}
        rewrite(folder, {**content, **change, "settings": settings})
        told.append(stored.refusal(lambda: run_folder.read_run(folder)))
    assert told == [f"{folder / RUN_FILE}: {problem}", None]


def test_a_certificate_that_is_none_is_refused(folder: Path) -> None:
    made = as_stored(certificate())
    lacking = {key: value for key, value in made["identical"].items() if key != "bound"}
    durations = [0.0, *(one.known_seconds for one in certificate().overheads)]
    wrong: dict[str, dict[str, Any]] = {
        "certificate.identical: missing bound": {"identical": lacking},
        "certificate: a certificate without A/A controls": {"identical": {**made["identical"], "pairs": 0}},
        f"certificate: durations that are not above 0: {durations}": {"seconds": 0},
    }
    for told, change in wrong.items():
        rewrite(folder, {**stored.run(CASES), "certificate": {**made, **change}})
        with pytest.raises(BadInput) as refused:
            run_folder.read_run(folder)
        assert refused.value.received == f"{folder / RUN_FILE}: {told}"


RUN = {
    **stored.run(CASES, skips=[stored.failure(stored.case("other"), "unsupported", None)]),
    "certificate": as_stored(certificate()),
}


@quickly
@given(place=st.sampled_from(list(stored.places_in(RUN))), new=stored.json_values)
def test_a_run_with_anything_anywhere_is_read_or_refused(folder: Path, place: tuple[Any, ...], new: Any) -> None:
    rewrite(folder, stored.put(RUN, place, new))
    received = stored.refusal(lambda: run_folder.read_run(folder))
    assert received is None or received.startswith(str(folder / RUN_FILE))


@quickly
@given(data=st.data(), number=st.integers(0, len(LINES) - 1), new=stored.json_values)
def test_a_line_with_anything_anywhere_is_read_or_refused(
    folder: Path, data: st.DataObject, number: int, new: Any
) -> None:
    place = data.draw(st.sampled_from(list(stored.places_in(LINES[number]))))
    line = json.dumps(stored.put(LINES[number], place, new)).encode() + b"\n"
    write_lines(folder, b"".join([*ENCODED[:number], line, *ENCODED[number + 1 :]]))
    received = stored.refusal(lambda: run_folder.read_lines(folder))
    assert received is None or received.startswith(str(folder / SAMPLES_FILE))


def test_a_folder_is_measured_into_by_one_process_at_a_time(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    stored.write(folder, stored.run([stored.case("well")]), [])
    with (
        run_folder.locked(folder),
        pytest.raises(BadInput) as refused,
        run_folder.locked(folder),
    ):
        pass
    assert refused.value.received == folder
    with run_folder.locked(folder):
        pass


# What explains callbacks may be there and may not


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"bytes": {stored.case("well"): [4, 8]}, "aligned": {stored.case("well"): 0.5}}, ""),
        ({"bytes": {stored.case("well"): [4]}}, "the bytes of"),
        ({"bytes": {stored.case("well"): [4, -1]}}, "the bytes of"),
        ({"bytes": {stored.case("well"): [4, 0.5]}}, "cpu[1]: expected int, got float: 0.5"),
        ({"aligned": {stored.case("well"): 1.5}}, "cpu: expected float <= 1.0, got 1.5"),
    ],
)
def test_what_crosses_a_bridge_is_checked_where_it_is_there(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    line = {"kind": "prepared", "launch": 0, "group": stored.group(), "failures": [], "seconds": 1.5, **changes}
    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [line])
    if not problem:
        assert run_folder.read_lines(folder) == ([stored.typed_line(line)], [])
        return
    with pytest.raises(BadInput) as raised:
        run_folder.read_lines(folder)
    assert problem in str(raised.value.received)


def test_a_line_that_finds_no_room_costs_nothing_that_was_stored(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk: half of the line is written, and taken back."""
    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [stored.launch_line(0)])
    path = folder / run_folder.SAMPLES_FILE
    before, side = path.read_bytes(), run_folder.open_side(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))
    try:
        with pytest.raises(CannotStore) as caught:
            side.append(LaunchLine(environment={"pid": 1}, launch=1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.received.errno == errno.EFBIG  # type: ignore[attr-defined]
    assert path.read_bytes() == before
    side.append(LaunchLine(environment={"pid": 1}, launch=1))
    assert [line.launch for line in side.lines] == [0, 1], "what found no room is not held either"
    assert [line.launch for line in run_folder.read_lines(folder)[0]] == [0, 1]


def test_a_file_that_finds_no_room_leaves_nothing_of_it(tmp_path: Path) -> None:
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


def test_of_two_runs_that_find_a_folder_new_the_second_is_refused(tmp_path: Path) -> None:
    """Both have planned for a while; whoever makes it first has it."""
    folder, content = tmp_path / "run", stored.typed(stored.run([stored.case("well")]))
    folder.mkdir()
    outcomes: list[str] = []

    def make() -> None:
        try:
            run_folder.create(folder, content)
            outcomes.append("made")
        except BadInput as error:
            outcomes.append(error.message)

    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    threads = [threading.Thread(target=make) for _ in range(2)]
    for thread in threads:
        thread.start()
    os.close(descriptor)  # lets go of the lock
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [
        "made",
        ("the output folder already contains a run, and measured data is never overwritten"),
    ]


def test_a_lock_that_is_let_go_of_in_a_moment_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [])
    held = os.open(folder / run_folder.RUN_FILE, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    waited: list[float] = []

    class Time:
        def sleep(self, seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 3:
                os.close(held)

    monkeypatch.setattr(run_folder, "time", Time())
    with run_folder.locked(folder):
        assert waited == 3 * [run_folder.LOCK_SECONDS]


def test_a_lock_that_is_kept_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [])
    monkeypatch.setattr(run_folder, "LOCK_SECONDS", 0.0)
    with (
        run_folder.locked(folder),
        pytest.raises(BadInput) as refused,
        run_folder.locked(folder),
    ):
        pass
    assert refused.value.received == folder


@pytest.mark.parametrize("leads_to", ["a file", "nothing"])
def test_samples_are_not_appended_through_a_link(tmp_path: Path, leads_to: str) -> None:
    folder = stored.write(tmp_path / "run", stored.run([stored.case("well")]), [])
    victim, side = tmp_path / "victim", run_folder.open_side(folder)
    if leads_to == "a file":
        victim.write_bytes(b"keep me")
    (folder / SAMPLES_FILE).unlink()
    (folder / SAMPLES_FILE).symlink_to(victim)
    with pytest.raises(CannotStore):
        side.append(LaunchLine(environment={"pid": 1}, launch=0))
    with pytest.raises(BadInput):
        side.prepare_to_append()
    assert not victim.exists() if leads_to == "nothing" else victim.read_bytes() == b"keep me"


def test_a_link_in_place_of_samples_makes_a_folder_no_new_one(tmp_path: Path) -> None:
    (tmp_path / SAMPLES_FILE).symlink_to(tmp_path / "missing")
    with pytest.raises(BadInput):
        run_folder.require_new(tmp_path)
