"""What is written of revisions: a comment that is short whatever was found, and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import pairs
import revision_runs
from pyopbench.judge.comparison.gate import read_gate
from pyopbench.report import gate as report
from revision_runs import DIFFERENT, revision, write_revisions

CASES = pairs.cases(
    variants=("py_function_numpy", "native", "xla", "traced", "numba"), ops=("double", "other", "third")
)
ALL_SLOWER = dict.fromkeys(CASES, 1.2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a run in which everything went wrong that can."""
    factors = ({}, ALL_SLOWER, ALL_SLOWER, {})
    return write_revisions(tmp_path, *factors, keys=CASES, problems={3: "no module"}, different={1: DIFFERENT})


def test_a_comment_has_the_answer_first_and_thirty_lines_at_most(folder: Path) -> None:
    lines = report.comment(read_gate(folder, 0.03, 0.05)).splitlines()
    assert lines[0] == (
        "### pyopbench: Failed: 1 input gives different values, 1 side cannot be measured, 6 bodies are slower by 5% "
        "or more and 60 cases are slower by 5% or more."
    )
    assert lines[2] == "r1, r2 and r3 against r0"
    differs = "output 0 differs at index \\[3\\]"
    assert lines[4] == f"- r1, double float32 10: different values for the same inputs: {differs}"
    assert len(lines) <= report.MOST_LINES
    assert lines[-1] == "</details>"
    shown = sum(line.startswith("| r") for line in lines)
    assert lines[-3] == f"and {60 - shown:,} more, in gate.json"


@pytest.mark.parametrize("many", [8, 9, 10])
def test_a_comment_of_a_busy_machine_has_thirty_lines_at_most_too(tmp_path: Path, many: int) -> None:
    folder = write_revisions(tmp_path, {}, dict.fromkeys(CASES[:many], 1.2), keys=CASES, noise={"load": 9.0})
    assert report.comment(read_gate(folder, 0.03, 0.05)).count("\n") <= report.MOST_LINES


def test_a_short_table_is_whole(tmp_path: Path) -> None:
    lines = report.comment(read_gate(write_revisions(tmp_path, {}, {}), 0.03, 0.05)).splitlines()
    assert lines[0].startswith("### pyopbench: Passed: none of 6 cases is clearly slower by 5%")
    assert sum(line.startswith("| r1 ") for line in lines) == 6
    assert "<details><summary>6 cases</summary>" in lines


def test_names_are_no_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision_runs, "revision", lambda name, number: revision(f"<b>|*x*{name}", number))
    gate = read_gate(write_revisions(tmp_path, {}, {}, problems={}), 0.03, 0.05)
    text = report.comment(gate)
    assert "<b>" not in text.replace("\\<b\\>", "")


def test_several_revisions_are_one_table_the_worst_first(tmp_path: Path) -> None:
    gate = read_gate(write_revisions(tmp_path, {}, {}, {pairs.cases()[-1]: 1.2}, {pairs.cases()[0]: 0.8}), 0.03, 0.05)
    _, columns, rows, more = report.cases_table(gate, 3)
    assert (columns, len(rows), more) == (report.COLUMNS, 3, 15)
    assert (rows[0][0], rows[0][-1]) == ("r2", "slower")


def test_what_is_slower_is_in_the_table_however_much_it_is(folder: Path) -> None:
    _, _, rows, more = report.cases_table(read_gate(folder, 0.03, 0.05), 10)
    assert {row[-1] for row in rows} == {"slower"}
    assert (len(rows), more) == (60, 0)


def test_json_has_revisions_comparisons_and_the_control(folder: Path) -> None:
    document = json.loads(report.as_json(read_gate(folder, 0.03, 0.05)))
    assert (document["schema"], document["outcome"], document["fail_on"]) == (2, "failed", 0.05)
    assert [one["label"] for one in document["others"]] == ["r1", "r2", "r3"]
    assert document["others"][2]["problem"] == "no module"
    assert document["first"]["commit"] == "0" * 40
    assert len(document["slower"]) == 60
    assert set(document["comparisons"]) == {"r1", "r2"}
    assert document["comparisons"]["r1"]["interleaved"]
    assert len(document["control"]["cases"]) == 2
