"""`pyopbench history`: what it prints and writes, exit codes, and what it measures again."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from histories import CHANGED, commit, stepped, write_asv, write_commits
from pairs import write_versions
from pyopbench.cli import app, output

LABELS = ("2.15.1", "2.16.2", "2.17.1", "2.18.1", "2.19.1", "2.20.0", "2.21.0")
SLOWER = {label: {"factors": {CHANGED: 1.2}} for label in LABELS[4:]}


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Calls the command line as a shell does, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")

    def called(*words: Path | str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pyopbench", "history", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app.main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return called


@pytest.fixture
def versions(tmp_path):
    """A run over seven versions, of which one case is slower from the fifth on."""
    return write_versions(tmp_path / "run", *LABELS, **SLOWER)


def read_part(tmp_path, part="changes"):
    return json.loads((tmp_path / "results/history/history.json").read_text(encoding="utf-8"))[part]


def test_it_writes_a_page_markdown_and_json_and_prints_the_changes(call, tmp_path):
    paths = write_commits(tmp_path / "runs", stepped(14, 8, 1.3))
    code, printed, _ = call(*paths)
    assert code == 0
    folder = tmp_path / "results" / "history"
    assert {path.name for path in folder.iterdir()} == {"history.html", "history.md", "history.json"}
    assert [one["case"] for one in read_part(tmp_path)] == [CHANGED]
    assert f"--rev {commit(7)} --rev {commit(8)}" in printed
    assert printed.splitlines()[-1] == "page: results/history/history.html"


def test_json_is_what_is_in_the_file(call, tmp_path):
    folder = write_asv(tmp_path / "asv", [1.0, 1.0])
    code, printed, _ = call(folder, "--json", "--out", "out")
    assert code == 0
    assert json.loads(printed) == json.loads((tmp_path / "out" / "history.json").read_text(encoding="utf-8"))


def test_thousands_of_warnings_are_counted_and_not_listed(call, tmp_path, monkeypatch) -> None:
    """Each of these runs was interrupted in the middle of a line."""
    monkeypatch.setattr(output, "MOST_WARNINGS", 2)
    runs = write_commits(tmp_path, [{}] * 5)
    for run in runs:
        with (run / "samples.jsonl").open("a", encoding="utf-8") as lines:
            lines.write('{"kind": "gro')
    code, _, err = call(*runs)
    assert code == 0
    *listed, last = err.splitlines()
    assert [line.partition(":")[0] for line in listed] == ["warning"] * 2
    stored_ones = read_part(tmp_path, "warnings")
    assert last == f"and {len(stored_ones) - 2} more warnings"


def test_benchmarks_that_do_not_measure_time_are_reported_once_not_for_each_file(call, tmp_path) -> None:
    code, _, _ = call(write_asv(tmp_path / "asv", [1.0] * 5))
    assert code == 0
    (stored_one,) = read_part(tmp_path, "warnings")
    assert stored_one["kind"] == "no_times"
