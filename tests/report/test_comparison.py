"""A comparison as Markdown, JSON and rows: the same numbers in each, whatever names hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stored
from foreign_files import document, scaled, write
from pairs import cases, write_run
from pyopbench.judge.comparison.diff import Comparison, compare_sides, notes_of
from pyopbench.judge.comparison.sides import read_sides
from pyopbench.model import formatting
from pyopbench.model.case import Case
from pyopbench.report import comparison

OPS = ("double", "square", "cube", "sinh")
SLOW = cases(ops=OPS)[5]
HOSTILE = "a|b`<script>alert(1)</script>\x1b[31m"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("runs")
    first = write_run(folder / "a", cases(ops=OPS), seed=1)
    changed = {**stored.ENVIRONMENT, "cpu": "another"}
    second = write_run(folder / "b", cases(ops=OPS)[1:], seed=2, factors={SLOW: 1.6}, environment=changed)
    return compare_sides(read_sides(first, second))


def test_the_json_holds_every_number(found: Comparison) -> None:
    content = json.loads(comparison.as_json(found, 0.05, failed=True), parse_constant=pytest.fail)
    worst = found.cases[0]
    assert content["schema"] == comparison.SCHEMA
    assert (content["interleaved"], content["run_spread"], content["fail_on"]) == (False, 0.03, 0.05)
    assert content["failed"]
    assert content["cases"][0]["case"] == SLOW
    assert content["cases"][0]["ratio"] == worst.verdict.ratio
    assert content["cases"][0]["seconds_b"] == worst.second_seconds
    assert content["cases"][0]["launches_b"] == 4
    assert [one["outcome"] for one in content["cases"]].count("slower") == content["counts"]["slower"] == 1
    assert content["differences"] == [{"name": "cpu", "first": "a processor", "second": "another", "loud": True}]
    (without,) = found.unmatched
    assert content["unmatched"] == [
        {"case": cases(ops=OPS)[0], "side": "A", "kind": "not_measured", "reason": without.text()}
    ]
    assert content["notes"] == [{"kind": note.kind, "text": note.text()} for note in notes_of(found)]
    reasons = [one["reason"] for one in content["cases"]]
    assert reasons[0] is None
    assert any(reasons)


def test_a_number_that_does_not_exist_is_null(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.json", document(f"pytest-benchmark-{name}")) for name in ("first", "second")]
    few = compare_sides(read_sides(*paths))
    content = json.loads(comparison.as_json(few, None, failed=False), parse_constant=pytest.fail)
    assert content["cases"][0]["low"] is None
    assert content["smallest_found"] is None


def test_markdown_has_the_worst_first_and_the_loud_things_on_top(found: Comparison) -> None:
    lines = comparison.markdown(found, "Failed: 1 case is slower by 5% or more.").splitlines()
    notes = notes_of(found)
    assert [note.heading for note in notes] == ["DIFFERENT PROCESSORS", "UNPAIRED", "", ""]
    places = [lines.index(f"- {note.text()}") for note in notes]
    table = next(place for place, line in enumerate(lines) if line.startswith("| case "))
    assert [*places, table] == sorted([*places, table])
    assert "slower" in lines[table + 2]
    assert formatting.ratio(found.cases[0].verdict.ratio) in lines[table + 2]
    assert len([line for line in lines[table:] if line.startswith("| ") and "×" in line]) == len(found.cases)
    (without,) = found.unmatched
    assert (without.kind, without.side) == ("not_measured", "A")
    assert f"| 1 | A | {without.text()}; {without.case} |" in lines


def test_what_all_cases_share_is_said_once(found: Comparison) -> None:
    assert comparison.shared_parts([case.case for case in found.cases]) == "none forward call float32 cpu"
    assert comparison.rows(found)[0][0] == " ".join((SLOW.split("/")[0], SLOW.split("/")[1], SLOW.split("/")[6]))


def key(size: int = 1) -> str:
    return Case("sinh", "native", "none", "forward", "call", "float32", size).id


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ([key()], [key()]),
        ([key(1), key(10)], ["1", "10"]),
        (["a.time_b('x/y')", "a.time_b('z/y')"], ["a.time_b('x/y')", "a.time_b('z/y')"]),
        (["sinh/forward", key(1), key(10)], ["sinh/forward", "1", "10"]),
    ],
)
def test_short_names(keys: list[str], names: list[str]) -> None:
    assert comparison.short_names(keys) == names


def test_hostile_names_stay_text_in_markdown(tmp_path: Path) -> None:
    content = document("asv-first")
    content["results"][f"evil.time_{HOSTILE}"] = content["results"]["strange.Fails.time_plain"]
    other = {**scaled(content, 1.1), "commit_hash": "1" * 40, "env_name": HOSTILE}
    sides = read_sides(write(tmp_path / "a.json", content), write(tmp_path / "b.json", other))
    markdown = comparison.markdown(compare_sides(sides), HOSTILE.replace("\x1b", ""))
    assert "<script>" not in markdown.replace("\\<", "")
    assert "\x1b" not in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| evil")]
    assert rows
    assert all(row.replace("\\|", "").count("|") == len(comparison.COLUMNS) + 1 for row in rows)
