"""A comparison as Markdown, JSON and rows: the same numbers in each, whatever names hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import stored
from foreign_files import asv_folder, document, scaled, write
from pairs import VARIANTS, cases, write_run
from pyopbench import contrast_texts, text
from pyopbench.axes import read_sides
from pyopbench.contrast import Contrast, contrast

OPS = ("double", "square", "cube", "sinh")
SLOW = cases(ops=OPS)[5]
HOSTILE = "a|b`<script>alert(1)</script>\x1b[31m"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Contrast:
    folder = tmp_path_factory.mktemp("runs")
    first = write_run(folder / "a", cases(ops=OPS), seed=1)
    changed = {**stored.ENVIRONMENT, "cpu": "another"}
    second = write_run(folder / "b", cases(ops=OPS)[1:], seed=2, factors={SLOW: 1.6}, environment=changed)
    return contrast(read_sides([str(first), str(second)], "run"))


def test_the_json_holds_every_number(found: Contrast) -> None:
    content = json.loads(contrast_texts.as_json(found, 0.05, failed=True), parse_constant=pytest.fail)
    worst = found.lines[0]
    assert content["schema"] == contrast_texts.SCHEMA
    assert (content["paired"], content["run_spread"], content["fail_on"], content["failed"]) == (None, 0.03, 0.05, True)
    assert content["cases"][0]["case"] == SLOW
    assert content["cases"][0]["ratio"] == worst.verdict.ratio
    assert content["cases"][0]["b_seconds"] == worst.second_seconds
    assert content["cases"][0]["b_launches"] == 4
    assert [one["outcome"] for one in content["cases"]].count("slower") == content["counts"]["slower"] == 1
    assert content["differences"] == [
        {"name": "cpu", "first": "a processor", "second": "another", "loud": True},
    ]
    assert [one["case"] for one in content["alone"]] == [cases(ops=OPS)[0]]


def test_a_number_that_does_not_exist_is_null(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.json", document(f"pytest-benchmark-{name}")) for name in ("first", "second")]
    few = contrast(read_sides([str(path) for path in paths], "run"))
    content = json.loads(contrast_texts.as_json(few, None, failed=False), parse_constant=pytest.fail)
    assert content["cases"][0]["low"] is None
    assert content["smallest_found"] is None
    assert any("nothing is told apart" in note for note in content["notes"])


def test_markdown_has_the_worst_first_and_the_loud_things_on_top(found: Contrast) -> None:
    lines = contrast_texts.markdown(found, "1 case slower by 5% or more: failed.").splitlines()
    loud = next(place for place, line in enumerate(lines) if "DIFFERENT PROCESSORS" in line)
    unpaired = next(place for place, line in enumerate(lines) if "UNPAIRED" in line)
    table = next(place for place, line in enumerate(lines) if line.startswith("| case "))
    assert loud < unpaired < table
    assert "slower" in lines[table + 2]
    assert text.ratio(found.lines[0].verdict.ratio) in lines[table + 2]
    assert len([line for line in lines[table:] if line.startswith("| ") and "×" in line]) == len(found.lines)
    assert "not measured in" in "\n".join(lines)


def test_what_all_cases_share_is_said_once(found: Contrast) -> None:
    assert contrast_texts.shared_parts([line.case for line in found.lines]) == "none forward call float32 cpu"
    assert contrast_texts.rows(found)[0][0] == " ".join((SLOW.split("/")[0], SLOW.split("/")[1], SLOW.split("/")[6]))


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (["sinh/native/none/forward/call/float32/1/cpu"], ["sinh/native/none/forward/call/float32/1/cpu"]),
        (["sinh/forward/call/float32/1/cpu", "sinh/forward/call/float32/10/cpu"], ["1", "10"]),
        (
            [f"sinh/forward/call/float32/{size}/cpu in TensorFlow 2.16.2" for size in (1, 10)],
            ["1", "10"],
        ),
        (
            [f"sinh/forward/call/float32/1/cpu in TensorFlow {version}" for version in ("2.16.2", "2.21.0")],
            ["TF 2.16.2", "TF 2.21.0"],
        ),
        (["a.time_b('x/y')", "a.time_b('z/y')"], ["a.time_b('x/y')", "a.time_b('z/y')"]),
        (["t.py::f[a/b/none/forward/call/float32/1/cpu]"] * 2, ["t.py::f[a/b/none/forward/call/float32/1/cpu]"] * 2),
    ],
)
def test_short_names(keys: list[str], names: list[str]) -> None:
    assert contrast_texts.short_names(keys) == names


def test_variants_are_said_to_be_paired(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", cases(ops=OPS))
    notes = contrast_texts.notes(contrast(read_sides([str(run), *VARIANTS[:2]], "variant")))
    assert not any("UNPAIRED" in note for note in notes)
    assert any("paired by round" in note for note in notes)


def test_hostile_names_stay_text_in_markdown(tmp_path: Path) -> None:
    content = document("asv-first")
    content["results"][f"evil.time_{HOSTILE}"] = content["results"]["strange.Fails.time_plain"]
    other = {**scaled(content, 1.1), "commit_hash": "1" * 40, "env_name": HOSTILE}
    sides = read_sides([str(asv_folder(tmp_path / "asv", a=content, b=other)), "f802", "1111"], "commit")
    markdown = contrast_texts.markdown(contrast(sides), HOSTILE.replace("\x1b", ""))
    assert "<script>" not in markdown.replace("\\<", "")
    assert "\x1b" not in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| evil")]
    assert rows
    assert all(row.replace("\\|", "").count("|") == len(contrast_texts.COLUMNS) + 1 for row in rows)


def test_many_unresolved_cases_do_not_fill_a_ticket(found: Contrast) -> None:
    many = replace(found, lines=found.lines * 20)
    told = [line for line in contrast_texts.markdown(many, "").splitlines() if "the interval corrected" in line]
    assert len(told) == contrast_texts.MOST_REASONS


@pytest.mark.parametrize(
    ("smallest", "told"),
    [
        (0.0712, "In a usual case a slowdown to 1.07× or more would be found here."),
        (1e5, "In a usual case the launches are too few to rule any slowdown out."),
    ],
)
def test_what_could_be_found_is_told(found: Contrast, smallest: float, told: str) -> None:
    assert contrast_texts.notes(replace(found, smallest=smallest)).count(told) == 1
