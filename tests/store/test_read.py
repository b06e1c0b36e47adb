"""What a path is: a run's folder, results of asv or a file of pytest-benchmark; and what a report says of each."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

import stored
from foreign_files import asv_folder, document, write
from pyopbench.judge import judge
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.report.write import report_results
from pyopbench.store import read

CASES = (stored.case("py_function_numpy"), stored.case("native"))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    content = stored.run(CASES, settings={**stored.SETTINGS, "baseline": "py_function_numpy"})
    return stored.write(tmp_path / "own", content, [stored.group_line(launch, CASES) for launch in range(2)])


@pytest.fixture
def asv(tmp_path: Path) -> Path:
    return asv_folder(tmp_path / "asv", first=document("asv-first"), second=document("asv-second"))


def test_every_kind_of_path_is_told_by_what_is_in_it(own: Path, asv: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "pb.json", document("pytest-benchmark-first"))
    assert [run.tool for run in read.read_source(own)] == ["pyopbench"]
    assert [run.tool for run in read.read_source(asv)] == ["asv", "asv"]
    assert [run.tool for run in read.read_source(asv / "here" / "first.json")] == ["asv"]
    assert [run.tool for run in read.read_source(file)] == ["pytest-benchmark"]


@pytest.mark.parametrize("content", ["[]", '{"a": 1}', "null", '{"schema": 1, "run": "x"}'])
def test_json_of_something_else_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(BadInput) as refused:
        read.read_source(write(tmp_path / "a.json", content))
    assert refused.value.received == tmp_path / "a.json"


def test_a_folder_of_something_else_names_the_files_that_it_could_be(tmp_path: Path) -> None:
    file = write(tmp_path / "st" / "0001_a.json", document("pytest-benchmark-first"))
    with pytest.raises(BadInput) as refused:
        read.read_source(tmp_path)
    assert (refused.value.received, str(file) in refused.value.hint) == (tmp_path, True)
    with pytest.raises(BadInput):
        read.read_source(tmp_path / "nowhere")


def test_for_a_folder_with_runs_below_it_their_folders_are_suggested(own: Path) -> None:
    """The files in such a folder are not what a command reads."""
    with pytest.raises(BadInput) as refused:
        read.read_source(own.parent)
    assert [word for word in refused.value.hint.split() if "/" in word] == [str(own)]


def test_one_damaged_file_in_a_folder_of_asv_refuses_the_folder(asv: Path) -> None:
    whole = (asv / "here" / "second.json").read_text(encoding="utf-8")
    write(asv / "here" / "second.json", whole[: len(whole) // 2])
    with pytest.raises(BadInput) as refused:
        read.read_source(asv)
    assert f"{asv}/here/second.json" in str(refused.value)


def test_several_runs_of_other_tools_are_not_pooled(own: Path, asv: Path) -> None:
    with pytest.raises(BadInput) as refused:
        read.read_one([asv])
    assert refused.value.received == f"{asv}"
    with pytest.raises(BadInput) as refused:
        read.read_one([own, asv / "here" / "first.json"])
    assert refused.value.received == f"{own} and {asv}/here/first.json"


def test_runs_of_an_own_op_that_has_changed_are_not_pooled(tmp_path: Path) -> None:
    folders = []
    for fingerprint in ("before", "after"):
        told = {"mine": {"words": ["mine.py"], "fingerprint": fingerprint}}
        content = {**stored.run([stored.case("native", op="mine")]), "own": told}
        folders.append(stored.write(tmp_path / fingerprint, content, []))
    with pytest.raises(BadInput) as refused:
        read.read_one(folders)
    assert refused.value.received == "mine"


def test_a_report_needs_a_case(tmp_path: Path) -> None:
    content = document("pytest-benchmark-first")
    content["benchmarks"] = [one for one in content["benchmarks"] if not one["extra_info"]]
    with pytest.raises(NothingMeasured) as refused:
        read.read_cases([write(tmp_path / "pb.json", content)])
    assert refused.value.received == f"{tmp_path}/pb.json: 2 other benchmarks"


@pytest.mark.parametrize("name", ["asv-second", "asv-without-samples", "pytest-benchmark-first"])
def test_a_report_of_another_tool_says_what_it_cannot_tell_and_gives_no_verdict(
    own: Path, tmp_path: Path, name: str
) -> None:
    path = write(tmp_path / "file.json", document(name))
    judgement = report_results([path], tmp_path / "report", judge.Judging("numpy_function", 0.03))
    assert {verdict.outcome for verdict in judgement.verdicts} == {"unresolved"}
    assert {decision.action for decision in judgement.decisions} == {"undecided"}
    markdown = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    found = json.loads((tmp_path / "report" / "decisions.json").read_text(encoding="utf-8"))
    for limitation in judgement.run.cannot:
        assert limitation.text().partition("`")[0] in html.unescape(page)
    assert found["tool"] == judgement.run.tool
    assert {one.text() for one in judgement.run.cannot} <= {*found["notes"]}
    assert "TensorFlow None" not in markdown
