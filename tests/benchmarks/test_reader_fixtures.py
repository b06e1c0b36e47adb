"""Reading the test files of other tools: each kind is recognised, each value is compared, and no file is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foreign_files import document, write
from outside import reader_fixtures

pytest.importorskip("asv")

OLDER: dict[str, Any] = {
    "commit_hash": "05d283b9" * 5,
    "date": 1386688801000,
    "params": {"machine": "here", "python": "2.7"},
    "python": "2.7",
    "requirements": {"numpy": "1.8"},
    "results": {
        "time_it": 6.5e-05,
        "time_failing": None,
        "time_skipped": float("nan"),
        "mem_it": 728,
        "time_several": {"params": [["1", "None"]], "result": [1, None]},
        "time_spread": {"result": 3, "stats": [{"ci_99": [3.1, 3.9], "q_25": 3, "q_75": 3}]},
    },
    "version": 1,
}
"""As asv wrote them in its first years: a number for a benchmark, or an object."""


def row(kind: str, files: int = 1, **counts: int) -> dict[str, Any]:
    return {
        "source": "x",
        "kind": kind,
        "files": files,
        "read": 0,
        "refused": 0,
        "failed": 0,
        "benchmarks": 0,
        "differing": 0,
        **counts,
    }


def test_files_are_counted_by_the_tool_that_wrote_them(tmp_path):
    write(tmp_path / "broken.json", "{\n")
    write(tmp_path / "machine.json", {"machine": "here", "version": 1})
    write(tmp_path / "below" / "older.json", OLDER)
    write(tmp_path / "below" / "unknown.json", {**OLDER, "results": {"time_it": {"result": 3, "stats": [{}]}}})
    content = document("pytest-benchmark-first")
    for one in content["benchmarks"]:  # those of pyopbench's own suite have other names here
        del one["extra_info"]
    write(tmp_path / "new.json", content)
    assert reader_fixtures.rows_of("x", tmp_path) == [
        row(reader_fixtures.OF_OTHERS, refused=1),
        row(reader_fixtures.ASV_1, files=2, refused=2),
        row(reader_fixtures.CONVERTED, read=1, benchmarks=6),
        row(reader_fixtures.NOT_JSON, refused=1),
        row("pytest-benchmark 5.3.1", read=1, benchmarks=10),
    ]


@pytest.mark.parametrize(
    ("planted", "many"),
    [
        ({"a": (1.0, 2.0)}, 0),
        ({"a": (1.0, 2.0 + 1e-9)}, 1),
        ({"a": (1.0,)}, 1),
        ({"a": None}, 1),
        ({}, 1),
        ({"a": (1.0, 2.0), "b": None}, 1),
    ],
)
def test_a_value_that_is_read_differently_is_counted(planted, many):
    assert reader_fixtures.differing({"a": (1.0, 2.0)}, planted) == many


def test_an_unexpected_error_of_a_reader_is_counted_as_failed(tmp_path, monkeypatch):
    def fail(path):
        raise ZeroDivisionError

    monkeypatch.setattr(reader_fixtures, "read_source", fail)
    write(tmp_path / "new.json", document("pytest-benchmark-first"))
    assert reader_fixtures.rows_of("x", tmp_path) == [row("pytest-benchmark 5.3.1", failed=1)]


def test_the_command_stores_its_counts(tmp_path, capsys):
    content = document("asv-first")
    others = {name: row for name, row in content["results"].items() if name.startswith("strange")}
    write(tmp_path / "benchzoo/tests/data/a/output.json", {**content, "results": others})
    reader_fixtures.main([str(tmp_path), "--json", str(tmp_path / "out.json")])
    stored = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    (only,) = stored["rows"]
    assert (only["source"], only["kind"], only["read"], only["differing"]) == ("benchzoo", "asv, version 2", 1, 0)
    assert reader_fixtures.results_table(stored) == capsys.readouterr().out
