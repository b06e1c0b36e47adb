"""Where on the axis of a history runs are, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from frames import Bench
from pyopbench.judge.comparison.moments import in_order, moment_of, usual_axis
from pyopbench.store.run import Run

FIRST, SECOND = "1a" * 20, "2b" * 20


def run(name: str = "run", created: str = "2026-01-02T10:00:00+00:00", **environment: Any) -> Run:
    made = Bench({"py_function_numpy": 1e-3}, launches=2).run()
    return Run(**{**vars(made), "name": name, "created": created, "environment": environment})


@pytest.mark.parametrize(
    ("environments", "axis"),
    [
        ([{"commit": FIRST}, {"commit": SECOND}], "commit"),
        ([{"commit": FIRST, "tensorflow": "2.16.2"}, {"commit": FIRST, "tensorflow": "2.21.0"}], "tf"),
        ([{"commit": FIRST}, {"commit": FIRST}], "date"),
        ([{"commit": None}, {"commit": FIRST}], "date"),
    ],
)
def test_the_axis_is_what_runs_differ_in(environments, axis):
    assert usual_axis([[run(**one)] for one in environments]) == axis


def test_commits_are_in_the_order_of_their_dates_and_else_of_the_runs():
    runs = [
        run("later", "2026-03-01T00:00:00+00:00", commit=FIRST, commit_date="2025-01-01T00:00:00+00:00"),
        run("sooner", "2026-02-01T00:00:00+00:00", commit=SECOND),
        run("first", "2026-04-01T00:00:00+00:00", commit="3c" * 20, commit_date="2024-01-01T00:00:00Z"),
    ]
    found = in_order("commit", [moment_of("commit", one) for one in runs])
    assert [one.run for one in found] == ["first", "later", "sooner"]
    assert [one.label for one in found] == ["3c" * 5, FIRST[:10], SECOND[:10]]


def test_versions_are_in_the_order_of_their_numbers():
    moments = [moment_of("tf", run(tensorflow=version)) for version in ("2.9.1", "2.21.0", "2.16.2")]
    assert [one.value for one in in_order("tf", moments)] == ["2.9.1", "2.16.2", "2.21.0"]


def test_what_is_not_known_is_said_and_comes_first():
    found = in_order("commit", [moment_of("commit", run(commit=FIRST)), moment_of("commit", run(created="once"))])
    assert [one.label for one in found] == ["unknown", FIRST[:10]]
