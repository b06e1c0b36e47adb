"""`pyopbench run --tf`: launches by turns, a report for each version, one comparison with the first for each other."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pairs
import revision_runs
import stored
from commands import REPORT, Call, Ended, groups
from pyopbench.engine import environments, stored_run
from pyopbench.store.run import SAMPLES_FILE, report_folder


@pytest.fixture(autouse=True)
def _this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "python_of", lambda version: Path(sys.executable))


def run(call: Call, folder: Path, *more: str) -> Ended:
    return call("run", "--tf", "2.21.0", "--tf", "2.21.0", "--quick", "--launches", "3", "--out", folder, *more)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run that several tests change is kept, once one of them has made it."""
    return tmp_path_factory.mktemp("kept") / "run"


@pytest.fixture
def finished(call: Call, planned: Callable[..., None], tmp_path: Path, kept: Path) -> Path:
    """Return a finished run of the test's own."""
    planned("well")
    if not kept.exists():
        assert run(call, kept).code == 0
    return shutil.copytree(kept, tmp_path / "run")


def test_versions_are_measured_by_turns_and_reported_each_and_again(
    call: Call, planned: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned("well")
    ended = run(call, tmp_path / "run")
    assert ended.code == 0, ended.err
    folders = [report_folder(tmp_path / "run", side.label) for side in stored.sides_of(tmp_path / "run")]
    for number in (0, 1):
        lines_of_side = [line for line in stored.read_lines(tmp_path / "run") if line.get("side", 0) == number]
        kinds = Counter(line["kind"] for line in lines_of_side)
        assert (kinds["launch"], kinds["prepared"]) == (3, 3)
        assert {line["launch"] for line in lines_of_side if line["kind"] == "group"} == {0, 1, 2}
    assert all((folder / name).stat().st_size for folder in folders for name in REPORT)
    lines = [line.rstrip() for line in ended.out.splitlines()]
    assert lines[:3] == [
        "What to do, by side",
        "op      use        2.21.0  2.21.0-2",
        "double  inference  keep    keep",
    ]
    assert any(line.startswith("- 2.21.0-2 against 2.21.0: ") for line in lines)
    assert (tmp_path / "run" / "compare-2.21.0-2.21.0-2.md").stat().st_size
    monkeypatch.setattr(stored_run, "require_resumable", lambda *_: None)  # these variants are in no folder
    for words in (["resume", "--yes"], ["report"]):
        again = call(*words, tmp_path / "run")
        assert (again.code, again.out) == (0, ended.out)


def test_a_version_without_a_number_is_warned_of_and_the_others_are_reported(call: Call, finished: Path) -> None:
    first, _ = stored.sides_of(finished)
    stored.replace_lines(finished, 1)
    ended = call("report", finished)
    assert (ended.code, ended.out.count("2.21.0-2")) == (0, 1)
    nothing = "nothing was measured on 2.21.0-2: no sample"
    assert nothing in " ".join(ended.err.split())
    assert nothing in (report_folder(finished, first.label) / "report.md").read_text(encoding="utf-8")
    wrong = stored.group_line(0, [], [stored.failure(stored.case("well"), "wrong")])
    stored.replace_lines(finished, 1, [stored.launch_line(0), wrong])
    assert call("report", finished).code == 1, "what is wrong on one version is told, though another has numbers"
    (finished / SAMPLES_FILE).write_bytes(b"")
    assert call("report", finished).code == 3


def test_what_is_wrong_with_the_files_of_a_version_is_warned_of(call: Call, finished: Path) -> None:
    samples = finished / SAMPLES_FILE
    samples.write_bytes(samples.read_bytes()[:-20])
    ended = call("report", finished)
    assert ended.code == 0
    assert ended.err == f"warning: {samples}: the unfinished last line is ignored\n"


def test_the_reports_of_several_sides_are_in_their_folder(call: Call, finished: Path) -> None:
    for option in ("--out", "--export"):
        ended = call("report", finished, option, "bmf")
        assert ended.code == 2
        assert f"  received: {finished} with {option}" in ended.err


@pytest.mark.parametrize("write", [(pairs.write_versions, "2.16.2", "2.21.0"), (revision_runs.write_revisions, {}, {})])
@pytest.mark.parametrize("asked", [(), ("--fail-on", "slower:20%"), ("--fail-on", "never")])
def test_a_variant_that_is_wrong_on_all_sides_fails_whatever_else_is_asked(
    call: Call, tmp_path: Path, write: tuple[Any, ...], asked: tuple[str, ...]
) -> None:
    wrong = pairs.cases()[-1]
    folder = stored.fail_everywhere(write[0](tmp_path / "run", *write[1:]), wrong, "wrong")
    ended = call("report", folder, *asked)
    assert (ended.code, wrong in ended.out) == (1, True)
    assert all(wrong in path.read_text(encoding="utf-8") for path in folder.glob("gate.json"))


def test_json_of_several_sides_has_what_changed_from_the_first(call: Call, finished: Path) -> None:
    ended = call("report", finished, "--json")
    assert ended.code == 0
    assert list(json.loads(ended.out)["comparisons"]) == ["2.21.0-2"]
    assert json.loads((finished / "gate.json").read_text(encoding="utf-8"))["outcome"] in ("passed", "nothing")


def test_an_environment_that_is_slower_fails_only_where_that_is_asked_for(call: Call, finished: Path) -> None:
    slow = [line for line in stored.read_lines(finished) if line.get("side", 0) == 1]
    for line in slow:
        for rows in line.get("samples", {}).values():
            for row in rows:
                row[3] *= 2
    stored.replace_lines(finished, 1, slow)
    assert call("report", finished).code == 0
    assert call("report", finished, "--fail-on", "slower:10%").code == 1


def test_versions_of_packages_are_sides_like_any_other(
    call: Call, planned: Callable[..., None], tmp_path: Path
) -> None:
    planned("well")
    several = ("--with", "scipy==1.14.1", "--with", "scipy==1.13.1,absl-py==2.1.0")
    ended = call("run", *several, "--quick", "--launches", "3", "--fail-on", "never", "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    first, second, control = stored.sides_of(tmp_path / "run")
    assert [first.label, second.label] == ["scipy==1.14.1", "absl-py==2.1.0 scipy==1.13.1"]
    assert control.is_control
    assert second.packages == ("absl-py==2.1.0", "scipy==1.13.1")
    assert {launch for launch, _ in groups(tmp_path / "run")} == {0, 1, 2}
    folders = [report_folder(tmp_path / "run", side.label) for side in (first, second)]
    assert all((folder / name).stat().st_size for folder in folders for name in REPORT)
    document = json.loads((tmp_path / "run" / "gate.json").read_text(encoding="utf-8"))
    assert [one["with"] for one in (document["first"], *document["others"])] == [
        list(first.packages),
        list(second.packages),
    ]
