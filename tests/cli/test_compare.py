"""`pyopbench compare`: exit codes, where what is printed goes, and that no input ends in a traceback."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from commands import told
from foreign_files import document, write
from pairs import cases, write_run
from pyopbench.cli import app

KEYS = cases(ops=("double", "square", "cube", "sinh"))
SLOW = KEYS[5]


class Call:
    """Calls the command line as a shell does, in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: Path | str) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["pyopbench", *map(str, words)])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app.main()
        captured = self.capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return Call(monkeypatch, capsys)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
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
    found = call("compare", *pair, *options)
    assert found[0] == code
    assert found[1].splitlines()[-1] == said
    assert max(map(len, found[1].splitlines())) <= 80


def test_the_way_back_is_faster_and_does_not_fail(call: Call, pair: tuple[Path, Path]) -> None:
    code, printed, _ = call("compare", *pair[::-1])
    assert code == 0
    assert "1 faster" in printed


def test_json_goes_to_stdout_alone(call: Call, pair: tuple[Path, Path]) -> None:
    code, printed, _ = call("compare", *pair, "--json")
    content = json.loads(printed)
    assert code == 1
    assert content["failed"] is True
    assert content["cases"][0]["case"] == SLOW


def test_markdown_goes_to_a_file(call: Call, pair: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "compare.md"
    assert call("compare", *pair, "--markdown", path)[0] == 1
    assert path.read_text(encoding="utf-8").startswith("## ")


def test_without_any_interval_it_is_3_because_nothing_can_be_told(call: Call, tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.json", document(f"pytest-benchmark-{name}")) for name in ("first", "second")]
    code, printed, _ = call("compare", *paths, "--fail-on", "slower:5%")
    assert code == 3
    assert printed.splitlines()[-1] == "No case has an interval, so nothing can be said about slowdowns."


def test_nothing_in_common_is_3(call: Call, tmp_path: Path) -> None:
    code, _, said = call("compare", write_run(tmp_path / "a", KEYS[:2]), write_run(tmp_path / "b", KEYS[2:]))
    assert code == 3
    assert said == told(
        "nothing to compare: no case has a number on both sides",
        received=f"2 cases in {tmp_path / 'a'}, {len(KEYS) - 2} in {tmp_path / 'b'}",
        legal="results that have cases in common",
        hint="measure the same ops, variants, sizes and dtypes on both sides",
    )


def test_a_report_of_asv_says_first_what_it_cannot_tell(call: Call, tmp_path: Path) -> None:
    path = write(tmp_path / "file.json", document("asv-first"))
    code, printed, _ = call("report", path)
    assert code == 0
    assert printed.startswith("These are results of asv.")
    assert (tmp_path / "results" / "report-file" / "report.html").exists(), "not into folders of other tools"
