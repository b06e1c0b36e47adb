"""`pyopbench history`: what it prints and writes, exit codes, and what it measures again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from histories import CHANGED, commit, stepped, write_asv, write_commits
from pyopbench.cli import output


@pytest.fixture(autouse=True)
def _in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def read_part(tmp_path, part="changes"):
    return json.loads((tmp_path / "results/history/history.json").read_text(encoding="utf-8"))[part]


def test_it_writes_a_page_markdown_and_json_and_prints_the_changes(call, tmp_path):
    paths = write_commits(tmp_path / "runs", stepped(14, 8, 1.3))
    ended = call("history", *paths)
    assert ended.code == 0
    folder = tmp_path / "results" / "history"
    assert {path.name for path in folder.iterdir()} == {"history.html", "history.md", "history.json"}
    assert [one["case"] for one in read_part(tmp_path)] == [CHANGED]
    assert f"--rev {commit(7)} --rev {commit(8)}" in ended.out
    assert ended.out.splitlines()[-1] == "page: results/history/history.html"


def test_json_is_what_is_in_the_file(call, tmp_path):
    folder = write_asv(tmp_path / "asv", [1.0, 1.0])
    ended = call("history", folder, "--json", "--out", "out")
    assert ended.code == 0
    assert json.loads(ended.out) == json.loads((tmp_path / "out" / "history.json").read_text(encoding="utf-8"))


def test_thousands_of_warnings_are_counted_and_not_listed(call, tmp_path, monkeypatch) -> None:
    """Each of these runs was interrupted in the middle of a line."""
    monkeypatch.setattr(output, "MOST_WARNINGS", 2)
    runs = write_commits(tmp_path, [{}] * 5)
    for run in runs:
        with (run / "samples.jsonl").open("a", encoding="utf-8") as lines:
            lines.write('{"kind": "gro')
    ended = call("history", *runs)
    assert ended.code == 0
    *listed, last = ended.err.splitlines()
    assert [line.partition(":")[0] for line in listed] == ["warning"] * 2
    stored_ones = read_part(tmp_path, "warnings")
    assert last == f"and {len(stored_ones) - 2} more warnings"


def test_benchmarks_that_do_not_measure_time_are_reported_once_not_for_each_file(call, tmp_path) -> None:
    assert call("history", write_asv(tmp_path / "asv", [1.0] * 5)).code == 0
    (stored_one,) = read_part(tmp_path, "warnings")
    assert stored_one["kind"] == "no_times"
