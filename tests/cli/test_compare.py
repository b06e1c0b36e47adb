"""`pyopbench compare`: exit codes, where what is printed goes, and that no input ends in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import Call
from foreign_files import document, write
from pairs import cases, write_run

KEYS = cases(ops=("double", "square", "cube", "sinh"))
SLOW = KEYS[5]


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setenv("COLUMNS", "80")
    first = write_run(tmp_path / "before", KEYS, seed=1)
    return first, write_run(tmp_path / "after", KEYS, seed=2, factors={SLOW: 1.6})


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ([], 1, "Failed: 1 case is slower by 3% or more."),
        (["--fail-on", "slower:5%"], 1, "Failed: 1 case is slower by 5% or more."),
        (["--fail-on", "slower:0.7"], 0, "Passed: no case is clearly slower by 70% or more."),
        (["--fail-on", "never"], 0, "Slowdowns do not fail this comparison (--fail-on never)."),
        (["--min-effect", "70%"], 0, "Passed: no case is clearly slower by 70% or more."),
    ],
)
def test_it_fails_where_it_is_asked_to(
    call: Call, pair: tuple[Path, Path], options: list[str], code: int, said: str
) -> None:
    ended = call("compare", *pair, *options)
    assert ended.code == code
    assert ended.out.splitlines()[-1] == said
    assert max(map(len, ended.out.splitlines())) <= 80


def test_the_way_back_is_faster_and_does_not_fail(call: Call, pair: tuple[Path, Path]) -> None:
    ended = call("compare", *pair[::-1])
    assert ended.code == 0
    assert "1 faster" in ended.out


def test_json_goes_to_stdout_alone(call: Call, pair: tuple[Path, Path]) -> None:
    ended = call("compare", *pair, "--json")
    content = json.loads(ended.out)
    assert ended.code == 1
    assert content["failed"] is True
    assert content["cases"][0]["case"] == SLOW


def test_markdown_goes_to_a_file(call: Call, pair: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "compare.md"
    assert call("compare", *pair, "--markdown", path).code == 1
    assert path.read_text(encoding="utf-8").startswith("## ")


def test_without_any_interval_it_is_3_because_nothing_can_be_told(call: Call, tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.json", document(f"pytest-benchmark-{name}")) for name in ("first", "second")]
    ended = call("compare", *paths, "--fail-on", "slower:5%")
    assert ended.code == 3
    assert ended.out.splitlines()[-1] == "No case has an interval, so nothing can be said about slowdowns."


def test_nothing_in_common_is_3(call: Call, tmp_path: Path) -> None:
    ended = call("compare", write_run(tmp_path / "a", KEYS[:2]), write_run(tmp_path / "b", KEYS[2:]))
    assert ended.code == 3
    assert f"  received: 2 cases in {tmp_path / 'a'}, {len(KEYS) - 2} in {tmp_path / 'b'}" in ended.err.splitlines()


def test_a_report_of_asv_says_first_what_it_cannot_tell(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = call("report", write(tmp_path / "file.json", document("asv-first")))
    assert ended.code == 0
    assert ended.out.startswith("These are results of asv.")
    assert (tmp_path / "results" / "report-file" / "report.html").exists(), "not into folders of other tools"
