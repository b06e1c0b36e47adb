"""`check` calls whole what nobody has touched, of every kind that is written, and finds damage wherever it is."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import certificates
import copied_files
import fleet_fakes
import histories
import pairs
import pipelines
import placement_files
import probe_files
import sharded
import stored
from pyopbench.api.results import COMPARISON, ComparisonResult
from pyopbench.cli.app import make_app
from pyopbench.engine import certify
from pyopbench.engine.fleet import folder as fleet_folder
from pyopbench.engine.fleet.folder import FLEET_FILE
from pyopbench.find.record import record
from pyopbench.judge.comparison.diff import compare_sides
from pyopbench.judge.comparison.gate import read_gate
from pyopbench.judge.comparison.sides import read_sides
from pyopbench.judge.judge import Judging, judge
from pyopbench.model.case import BASELINE, MINIMUM_EFFECT
from pyopbench.model.errors import BadInput
from pyopbench.model.read_policy import ReadPolicy, reading_by
from pyopbench.report import gate as gate_report
from pyopbench.report import write as report_files
from pyopbench.report import write_pipeline
from pyopbench.store import (
    certificate,
    copy_costs,
    counted_copies,
    integrity,
    probes,
    run_folder,
    run_sides,
)
from pyopbench.store import check as checking
from pyopbench.store.check import check, check_lines
from pyopbench.store.integrity import seal_of
from pyopbench.store.line_types import EndedLine
from pyopbench.store.merge import merge
from revision_runs import DIFFERENT, write_revisions

TRIALS = 1000
CASES = [stored.case(variant, size=size) for variant in ("well", "native") for size in (1, 10)]
LOOK = {"kind": "look", "launch": 1, "open": CASES}
ENDED = {"kind": "ended", "launch": 2, "by": "launches", "looks": 3, "seconds": 8.0, "sampling_seconds": 6.0}
LINES = [
    stored.launch_line(0),
    stored.group_line(0, CASES[::2]),
    LOOK,
    LOOK,
    stored.launch_line(1),
    stored.group_line(1, CASES[::2]),
    LOOK,
    ENDED,
]
"""As a run stores them: two looks of one launch that leave the same open hold the same."""


def run_of(folder: Path) -> Path:
    content = stored.run(CASES, settings={**stored.SETTINGS, "baseline": "well"})
    content["catalogue"]["variants"]["native"] = {**stored.VARIANT, "kind": "port"}
    return stored.write(folder, content, LINES)


def doubled(lines: list[bytes], rng: random.Random) -> list[bytes]:
    """Return the lines with one of them there a second time, at once or later."""
    place = rng.randrange(len(lines))
    again = rng.choice([place + 1, rng.randrange(place + 1, len(lines) + 1)])
    return [*lines[:again], lines[place], *lines[again:]]


def dropped(lines: list[bytes], rng: random.Random) -> list[bytes]:
    """Return the lines without one of them, which may be the last."""
    place = rng.randrange(len(lines))
    return [*lines[:place], *lines[place + 1 :]]


def changed(lines: list[bytes], rng: random.Random) -> list[bytes]:
    """Return the lines with another byte in one of them."""
    place = rng.randrange(len(lines))
    return [*lines[:place], with_another_byte(lines[place], rng), *lines[place + 1 :]]


def moved(lines: list[bytes], rng: random.Random) -> list[bytes]:
    """Return the lines with one of them at another place."""
    place, to = rng.sample(range(len(lines)), 2)
    rest = [*lines[:place], *lines[place + 1 :]]
    return [*rest[:to], lines[place], *rest[to:]]


def with_another_byte(content: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(content))
    other = rng.choice([byte for byte in range(256) if byte != content[place]])
    return content[:place] + bytes([other]) + content[place + 1 :]


@pytest.mark.parametrize("damage", [doubled, dropped, changed, moved])
def test_a_line_that_is_not_where_or_as_it_was_written_is_found(
    tmp_path: Path, damage: Callable[[list[bytes], random.Random], list[bytes]]
) -> None:
    folder, rng = run_of(tmp_path / "run"), random.Random(0)
    seal = seal_of((folder / run_folder.RUN_FILE).read_bytes())
    whole = (folder / run_folder.SAMPLES_FILE).read_bytes().splitlines(keepends=True)

    def is_found(lines: list[bytes]) -> bool:
        content = b"".join(lines).splitlines(keepends=True)
        found = list(check_lines(folder / run_folder.SAMPLES_FILE, content, seal))
        last = found[-1][1]
        return not all(one.is_fine for one, _ in found) or last is None or not isinstance(last, EndedLine)

    assert not is_found(whole)
    assert sum(is_found(damage(whole, rng)) for _ in range(TRIALS)) == TRIALS


@pytest.mark.parametrize(("damage", "condition"), [(doubled, "twice"), (dropped, "changed"), (moved, "changed")])
def test_a_folder_with_such_a_line_is_not_whole(
    tmp_path: Path, damage: Callable[[list[bytes], random.Random], list[bytes]], condition: str
) -> None:
    folder = run_of(tmp_path / "run")
    path = folder / run_folder.SAMPLES_FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*damage(lines[:-1], random.Random(1)), lines[-1]]))
    [found] = check(folder)
    assert not found.is_fine
    assert {one.condition for one in found.files if one.path == path} == {condition}


def test_looks_that_hold_the_same_are_whole(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run")
    done = CliRunner().invoke(make_app(), ["check", "--json", str(folder)])
    assert done.exit_code == 0
    [found] = json.loads(done.stdout)
    assert {one["condition"] for one in found["files"]} == {"whole"}
    assert found["contents"] == {"launches": 2, "cases": 2, "planned": 4, "ended": True}


def test_a_run_that_lost_its_last_line_has_not_ended_though_an_earlier_part_of_it_had(tmp_path: Path) -> None:
    folder = stored.write(tmp_path / "run", stored.run(CASES), [*LINES, stored.launch_line(2), ENDED])
    path = folder / run_folder.SAMPLES_FILE
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    [found] = check(folder)
    assert found.contents is not None
    assert not found.contents.ended


def test_a_run_that_was_killed_before_its_first_line_is_whole_and_one_without_samples_is_not(tmp_path: Path) -> None:
    folder = stored.write(tmp_path / "run", stored.run(CASES), [])
    [found] = check(folder)
    assert found.is_fine
    (folder / run_folder.SAMPLES_FILE).unlink()
    [found] = check(folder)
    assert [file.condition for file in found.files] == ["whole", "missing"]


def with_files_beside(folder: Path) -> Path:
    """Write a run with everything that is kept beside one, and its report."""
    run_of(folder)
    probes.write(folder / probes.FILE, probe_files.document(probe_files.row("xla", "native", "fails", "no")))
    counted_copies.write(folder / counted_copies.FILE, placement_files.document())
    copied(folder / copy_costs.FILE)
    report_files.write(judge([folder], Judging("well", 0.03)), folder)
    return folder


def copied(path: Path) -> Path:
    made = copied_files.document(copied_files.row(1, 1e-4), copied_files.row(1_000, 2e-4))
    copy_costs.write(path, {**made, **copied_files.gpu_document(copied_files.GPU)})
    return path


def of_pipeline(folder: Path) -> Path:
    pipelines.write(folder, {one.key: 1e-3 for one in pipelines.ALL})
    report_files.write(judge([folder], Judging(BASELINE, MINIMUM_EFFECT)), folder)
    return folder


def of_shards(folder: Path) -> Path:
    sharded.write_shards(folder / "shards", of=2)
    return folder


def of_merged(folder: Path) -> Path:
    shards = sharded.write_shards(folder / "shards", of=2)
    merge(shards, folder / "merged")
    shutil.rmtree(folder / "shards")
    return folder


def of_versions(folder: Path) -> Path:
    return pairs.write_versions(folder, "2.16.2", "2.21.0")


def of_revisions(folder: Path) -> Path:
    write_revisions(folder, {}, {pairs.cases()[0]: 1.2}, {}, problems={2: "no module"})
    gate_report.write(read_gate(folder, 0.03, 0.05), folder)
    return folder


def of_fleet(folder: Path) -> Path:
    fleet_folder.create(folder, fleet_fakes.plan(2))
    made = folder.with_name("made")
    for shard in (1, 2):
        assert fleet_folder.take_in(folder, shard, fleet_fakes.results(made, shard, of=2))
    return folder


def of_certificate(folder: Path) -> Path:
    run_of(folder / "controls-1")
    certify._keep(certificates.certificate(), folder)
    return folder


def of_history(folder: Path) -> Path:
    runs = histories.write_commits(folder.with_name("runs"), [{}, {}, {}])
    done = CliRunner().invoke(make_app(), ["history", *map(str, runs), "--out", str(folder)])
    assert done.exit_code == 0, done.output
    write_revisions(folder / "reruns" / "first", {}, {})
    return folder


def of_comparison(folder: Path) -> Path:
    sides = read_sides([str(one) for one in histories.write_commits(folder.with_name("runs"), [{}, {}])], "run")
    return ComparisonResult(compare_sides(sides, MINIMUM_EFFECT)).save(folder)


def recorded(path: Path) -> Path:
    record(["true"], path)
    return path


KINDS: dict[str, tuple[Callable[[Path], Path], list[str]]] = {
    "run": (
        with_files_beside,
        ["run.json", "samples.jsonl", "copies.json", "decisions.json",
         "placement.json", "probes.json"],
    ),
    "pipeline": (of_pipeline, ["run.json", "samples.jsonl", "decisions.json", "pipeline-decision.json"]),
    "shards": (of_shards, ["run.json", "samples.jsonl"] * 2),
    "merged": (of_merged, ["run.json", "samples.jsonl"]),
    "versions": (of_versions, ["sides.json", *["run.json", "samples.jsonl"] * 2]),
    "revisions": (of_revisions, ["gate.json", "sides.json", *["run.json", "samples.jsonl"] * 3]),
    "fleet": (of_fleet, ["fleet.json", *["run.json", "samples.jsonl"] * 2]),
    "certificate": (of_certificate, ["certificate.json", "run.json", "samples.jsonl"]),
    "history": (of_history, ["history.json", "sides.json", *["run.json", "samples.jsonl"] * 3]),
    "comparison": (of_comparison, [COMPARISON]),
    "recording.json": (recorded, ["recording.json"]),
    "mine.json": (copied, ["mine.json"]),
}  # fmt: skip
"""Name of a folder or a file -> what writes it, and the files in it that are checked."""


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name, appauthor: str(tmp_path / "data"))


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_that_is_written_is_whole_until_a_byte_of_it_changes(tmp_path: Path, name: str) -> None:
    write, names = KINDS[name]
    path = write(tmp_path / name)
    files = [file for one in check(path) for file in one.files]
    assert {one.condition for one in files} == {"whole"}
    assert sorted(one.path.name for one in files) == sorted(names)
    rng = random.Random(0)
    for file in {one.path for one in files}:
        content = file.read_bytes()
        for _ in range(20):
            file.write_bytes(with_another_byte(content, rng))
            assert not all(one.is_fine for one in checked(file)), file
        assert not all(one.is_fine for one in checked(path)), file
        file.write_bytes(content)
    assert all(one.is_fine for one in check(path))


def checked(path: Path) -> list[checking.CheckedFolder]:
    """Return what was found; what is refused as nothing of pyopbench's is not fine either."""
    try:
        return check(path)
    except BadInput:
        return [checking.CheckedFolder(path, [checking.Checked(path, None, "unreadable")])]


@pytest.mark.parametrize("name", KINDS)
def test_a_field_of_a_document_that_changes_is_found_however_it_is_written(tmp_path: Path, name: str) -> None:
    path = KINDS[name][0](tmp_path / name)
    documents = [file.path for one in check(path) for file in one.files if file.path.suffix == ".json"]
    rng = random.Random(0)
    for file in documents:
        content = file.read_bytes()
        document = json.loads(content)
        for key in rng.sample(sorted(document), min(4, len(document))):
            for other in ({**document, key: "other"}, {one: document[one] for one in document if one != key}):
                file.write_text(json.dumps(other, indent=1) + "\n", encoding="utf-8")
                assert not all(one.is_fine for one in checked(file)), (file, key)
        file.write_bytes(content)


def test_the_names_are_those_that_are_written() -> None:
    written = {
        *(probes.FILE, counted_copies.FILE, copy_costs.FILE),
        *(run_sides.FILE, certificate.FILE, gate_report.DOCUMENT, write_pipeline.DECISION),
        *(COMPARISON, FLEET_FILE, "decisions.json", "history.json"),
    }
    assert set(checking.DOCUMENTS) == written


def test_what_versions_name_and_what_names_revisions_has_to_be_there(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path / "run", {}, {})
    shutil.rmtree(folder / "rev-2")
    missing = [file.path for one in check(folder) for file in one.files if file.condition == "missing"]
    assert missing == [folder / "rev-2" / run_folder.RUN_FILE, folder / "rev-2" / run_folder.SAMPLES_FILE]
    (folder / run_sides.FILE).unlink()
    missing = [file.path for one in check(folder) for file in one.files if file.condition == "missing"]
    assert missing == [folder / run_sides.FILE]


def test_nothing_of_pyopbench_is_no_result_of_it(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"a": 1}', encoding="utf-8")
    for path in (tmp_path, tmp_path / "other.json", tmp_path / "missing"):
        with pytest.raises(BadInput):
            check(path)


# What names the revisions of a gate, and says what they compute, decides its exit code.


def edited(folder: Path, change: Callable[[dict[str, Any]], object], *, is_sealed: bool) -> None:
    """Change `sides.json` and seal it anew, so that its own checksum is right."""
    path = folder / run_sides.FILE
    document = json.loads(path.read_bytes())
    change(document)
    if is_sealed:
        document.pop(integrity.KEY, None)
        path.write_bytes(integrity.sealed(json.dumps(document, indent=1)))
    else:
        path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def without_differences(document: dict[str, Any]) -> None:
    document["sides"][1]["values"]["differences"] = []


def with_a_problem(document: dict[str, Any]) -> None:
    document["sides"][1]["problem"] = "no module"


def reversed_order(document: dict[str, Any]) -> None:
    document["sides"][:2] = document["sides"][1::-1]


def another_commit(document: dict[str, Any]) -> None:
    document["sides"][1]["revision"]["commit"] = "f" * 40


def as_committed(document: dict[str, Any]) -> None:
    document["sides"][1]["revision"]["dirty"] = True


EDITS = [without_differences, with_a_problem, reversed_order, another_commit, as_committed]


@pytest.mark.parametrize("change", EDITS)
def test_a_gate_of_a_changed_versions_json_is_refused(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    folder = write_revisions(tmp_path / "run", {}, {}, different={1: DIFFERENT})
    assert CliRunner().invoke(make_app(), ["report", str(folder)]).exit_code == 1
    edited(folder, change, is_sealed=False)
    refused = CliRunner().invoke(make_app(), ["report", str(folder)])
    assert isinstance(refused.exception, BadInput)
    assert refused.exception.exit_code == 2
    assert str(folder / run_sides.FILE) in str(refused.exception.received)


@pytest.mark.parametrize("change", [reversed_order, another_commit, as_committed])
def test_a_versions_json_that_names_other_revisions_than_the_runs_is_refused_though_its_checksum_fits(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    folder = write_revisions(tmp_path / "run", {}, {}, different={1: DIFFERENT})
    edited(folder, change, is_sealed=True)
    refused = CliRunner().invoke(make_app(), ["report", str(folder), "--allow-changed"])
    assert isinstance(refused.exception, BadInput)
    conditions = {file.path: file.condition for one in check(folder) for file in one.files}
    assert conditions[folder / run_sides.FILE] == "unreadable"


def test_every_changed_byte_of_versions_json_is_refused(tmp_path: Path) -> None:
    folder, rng = write_revisions(tmp_path / "run", {}, {}, different={1: DIFFERENT}), random.Random(0)
    path = folder / run_sides.FILE
    content = path.read_bytes()
    for _ in range(TRIALS):
        path.write_bytes(with_another_byte(content, rng))
        with pytest.raises(BadInput):
            run_sides.read(folder)


def test_a_changed_versions_json_is_read_where_that_is_allowed_and_said_to_be(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path / "run", {}, {}, different={1: DIFFERENT})
    edited(folder, without_differences, is_sealed=False)
    allowed = CliRunner().invoke(
        make_app(), ["compare", str(folder), "r0", "r1", "--axis", "commit", "--allow-changed"]
    )
    assert allowed.exit_code == 0, allowed.exception
    assert run_sides.FILE in allowed.stdout + allowed.stderr


def test_the_folder_of_another_tensorflow_is_refused(tmp_path: Path) -> None:
    folder = pairs.write_versions(tmp_path / "run", "2.16.2", "2.21.0")
    shutil.rmtree(folder / "tf-2.21.0")
    shutil.copytree(folder / "tf-2.16.2", folder / "tf-2.21.0")
    with pytest.raises(BadInput):
        run_sides.read(folder)


def test_a_changed_file_beside_a_run_is_left_out_with_a_warning(tmp_path: Path) -> None:
    folder = with_files_beside(tmp_path / "run")
    path = folder / probes.FILE
    path.write_bytes(path.read_bytes().replace(b'"fails"', b'"works"'))
    judgement = judge([folder], Judging("well", 0.03))
    assert judgement.run.probes is None
    assert [one.kind for one in judgement.run.warnings] == ["unreadable_file"]
    with reading_by(ReadPolicy(takes_changed=True)):
        allowed = judge([folder], Judging("well", 0.03))
    assert allowed.run.probes is not None
    assert [one.kind for one in allowed.run.warnings] == ["changed"]


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (lambda folder: copied(folder / "copies.json"), copy_costs.read),
        (lambda folder: of_fleet(folder) / FLEET_FILE, lambda path: fleet_folder.read_plan(path.parent)),
    ],
    ids=["copies", "fleet"],
)
def test_a_document_with_another_number_in_it_is_refused(
    tmp_path: Path, write: Callable[[Path], Path], read: Callable[[Path], object]
) -> None:
    path = write(tmp_path / "kept")
    read(path)
    content, rng = path.read_bytes(), random.Random(0)
    body = len(content) - integrity.END_BYTES
    digits = [place for place in range(body) if content[place : place + 1].isdigit()]
    for place in rng.sample(digits, min(20, len(digits))):
        path.write_bytes(
            content[:place] + (b"1" if content[place : place + 1] != b"1" else b"2") + content[place + 1 :]
        )
        with pytest.raises(BadInput):
            read(path)


def test_a_changed_certificate_is_not_taken_for_one(tmp_path: Path) -> None:
    of_certificate(tmp_path / "certified")
    environment = certificates.ENVIRONMENT
    assert certificate.find(environment) is not None
    path = certificate.path_for(environment)
    path.write_bytes(path.read_bytes().replace(b'"quick": false', b'"quick": true '))
    with pytest.raises(BadInput):
        certificate.find(environment)
