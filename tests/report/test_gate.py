"""What is written of revisions: a comment that is short whatever was found, JSON, and XML that programs take."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
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
    shown = sum(line.startswith("| r") for line in lines) - 1
    assert lines[-3] == f"and {60 - shown:,} more, in gate.json"


def test_a_short_table_is_whole(tmp_path: Path) -> None:
    lines = report.comment(read_gate(write_revisions(tmp_path, {}, {}), 0.03, 0.05)).splitlines()
    assert lines[0] == "### pyopbench: Passed: none of 6 cases is clearly slower by 5% or more."
    assert sum(line.startswith("| r1 ") for line in lines) == 6
    assert "<details><summary>6 cases</summary>" in lines


def test_names_are_no_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revision_runs, "revision", lambda name, number: revision(f"<b>|*x*{name}", number))
    gate = read_gate(write_revisions(tmp_path, {}, {}, problems={}), 0.03, 0.05)
    text = report.comment(gate)
    assert "<b>" not in text.replace("\\<b\\>", "")
    ET.fromstring(report.junit(gate))


def test_several_revisions_are_one_table_in_their_order(tmp_path: Path) -> None:
    gate = read_gate(write_revisions(tmp_path, {}, {}, {pairs.cases()[-1]: 1.2}, {pairs.cases()[0]: 0.8}), 0.03, 0.05)
    whole = report.table_together(gate, 30)
    assert (whole.columns, len(whole.rows), whole.more) == (report.TOGETHER, 18, 0)
    assert [row[0] for row in whole.rows] == [name for name in ("r1", "r2", "r3") for _ in range(6)]
    assert [row[1] for row in whole.rows[:6]] == [row[1] for row in whole.rows[6:12]]
    short = report.table_together(gate, 3)
    assert [row[-1] for row in short.rows if row[-1] in ("slower", "faster")] == ["slower", "faster"]
    assert (len(short.rows), short.more) == (3, 15)
    assert [row for row in whole.rows if row in short.rows] == list(short.rows)


def test_what_is_slower_is_in_the_table_however_much_it_is(folder: Path) -> None:
    table = report.table_together(read_gate(folder, 0.03, 0.05), 10)
    assert {row[-1] for row in table.rows} == {"slower"}
    assert (len(table.rows), table.more) == (60, 0)


def test_a_case_that_is_the_only_one_is_named_above_the_table(tmp_path: Path) -> None:
    key = pairs.cases()[0]
    gate = read_gate(write_revisions(tmp_path, {}, {}, {}, keys=[key]), 0.03, 0.05)
    table = report.table_together(gate, 30)
    assert table.shared == key
    assert table.columns == ("revision", "time", "ratio (interval)", "verdict")
    assert [len(row) for row in table.rows] == [4, 4]


def test_json_has_revisions_comparisons_and_the_control(folder: Path) -> None:
    document = json.loads(report.as_json(read_gate(folder, 0.03, 0.05)))
    assert (document["schema"], document["outcome"], document["fail_on"]) == (1, "failed", 0.05)
    assert [one["label"] for one in document["others"]] == ["r1", "r2", "r3"]
    assert document["others"][2]["problem"] == "no module"
    assert document["first"]["commit"] == "0" * 40
    assert len(document["slower"]) == 60
    assert set(document["comparisons"]) == {"r1", "r2"}
    assert document["comparisons"]["r1"]["interleaved"]
    assert len(document["twins"]["cases"]) == 2


def test_xml_has_a_suite_for_each_revision_that_counts_what_is_in_it(folder: Path) -> None:
    suites = ET.fromstring(report.junit(read_gate(folder, 0.03, 0.05)))
    first, second, broken = suites
    assert first.get("name") == f"r1 ({'0' * 10}): change 1"
    assert [first.get(name) for name in ("tests", "failures", "errors")] == ["34", "34", "0"]
    assert [second.get(name) for name in ("tests", "failures", "errors")] == ["34", "33", "0"]
    assert [broken.get(name) for name in ("tests", "failures", "errors")] == ["1", "0", "1"]
    error = broken.find("testcase/error")
    assert error is not None
    assert error.get("message") == "r3 is not measured: no module"


def test_what_is_unresolved_is_skipped(tmp_path: Path) -> None:
    gate = read_gate(write_revisions(tmp_path, {}, {CASES[0]: 1.0305}, keys=CASES[:2]), 0.03, 0.05)
    (suite,) = ET.fromstring(report.junit(gate))
    assert [suite.get(name) for name in ("failures", "skipped")] == ["0", "1"]


def test_every_case_of_a_revision_in_which_nothing_works_is_a_failure(tmp_path: Path) -> None:
    folder = revision_runs.fail_in_second(write_revisions(tmp_path, {}, {}, keys=CASES[:2]), "crashed")
    gate = read_gate(folder, 0.03, 0.05)
    (suite,) = ET.fromstring(report.junit(gate))
    assert [suite.get(name) for name in ("failures", "errors")] == ["2", "0"]
    assert len(report.findings(gate)) == 2, "each is said once"
