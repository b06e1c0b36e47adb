"""Files of pytest-benchmark: real ones become runs, and anything that is not as it writes them is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import stored
from foreign_files import document
from pyopbench.model.errors import BadInput
from pyopbench.store.foreign import pytest_benchmark
from pyopbench.store.limitations import NotInterleaved, OnlyOneLaunch, SamplesNotKept
from pyopbench.store.measured_run import Run

PATH = Path("results/pytest-benchmark/file.json")
REAL = document("pytest-benchmark-first")


def read(content: Any) -> Run:
    return pytest_benchmark.read(PATH, content)


def test_a_benchmark_that_says_which_case_it_is_becomes_one() -> None:
    run = read(REAL)
    first = REAL["benchmarks"][0]
    block = run.frame[run.frame["case"] == first["extra_info"]["case"]]
    assert (block["seconds"] / block["calls"]).tolist() == pytest.approx(first["stats"]["data"])
    assert set(block["calls"]) == {20}, "which it calls iterations"
    assert run.environment["cpu"] == "a processor", "as the suite recorded it"
    assert set(run.frame["tf"]) == {"2.21.0"}


def test_a_benchmark_that_does_not_keeps_its_name() -> None:
    assert set(read(REAL).others["case"]) == {"test_pb.py::test_other[a|b]", "test_pb.py::test_other[<script>]"}


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"extra_info": {"case": "large input", "environment": "production"}},
        {"extra_info": {"case": {"rows": 7}, "environment": {"cpu": 4}}},
    ],
    ids=["before version 3", "words", "other types"],
)
def test_a_file_of_another_suite_is_read_whatever_its_extra_info_has(extra: dict[str, Any]) -> None:
    """The format of pytest-benchmark 2.5, which had neither `params` nor `extra_info`."""
    statistics = {"median": 2e-07, "rounds": 9, "iterations": 431, "mean": 3e-07, "outliers": "1;2"}
    benchmark = {"name": "test_it[0]", "group": None, "fullname": "tests/test_a.py::test_it[0]", "stats": statistics}
    machine = {"python_version": "2.7.3", "system": "Linux", "processor": "x86_64"}
    run = read(
        {
            "machine_info": machine,
            "commit_info": {"id": "5b78858e", "dirty": True},
            "benchmarks": [{**benchmark, **extra}],
            "datetime": "2015-08-15T00:04:18.687119+00:00",
            "version": "2.5.0",
        }
    )
    assert (run.others["seconds"] / run.others["calls"]).tolist() == pytest.approx([2e-07])
    assert run.others["case"].tolist() == ["tests/test_a.py::test_it[0]"]
    assert (run.environment["python"], run.environment["cpu"]) == ("2.7.3", None)


def test_without_samples_there_is_the_median_alone_and_it_says_so() -> None:
    content = document("pytest-benchmark-without-samples")
    run = read(content)
    assert (run.frame["seconds"] / run.frame["calls"]).iloc[0] == pytest.approx(
        content["benchmarks"][0]["stats"]["median"]
    )
    always = (OnlyOneLaunch("pytest-benchmark"), NotInterleaved("pytest-benchmark"))
    assert run.cannot == (*always, SamplesNotKept("pytest-benchmark", bare=10, results=10))
    assert read(REAL).cannot == always


def test_a_benchmark_with_a_single_round_has_samples() -> None:
    """As `benchmark.pedantic(function)` runs it."""
    content = document("pytest-benchmark-first")
    content["benchmarks"][0]["stats"].update(rounds=1, data=[2e-06], median=2e-06)
    assert read(content).cannot == read(REAL).cannot


def test_without_an_environment_of_the_suite_the_tool_is_asked() -> None:
    content = document("pytest-benchmark-first")
    for one in content["benchmarks"]:
        one["extra_info"].pop("environment", None)
    run = read(content)
    assert run.environment["cpu"] == REAL["machine_info"]["cpu"]["brand_raw"]
    assert run.environment["tensorflow"] is None


@pytest.mark.parametrize(
    ("place", "value", "what"),
    [
        (("benchmarks", 1, "stats", "median"), -1.0, "stats hold -1.0"),
        (("benchmarks", 1, "stats", "median"), math.nan, "stats hold nan"),
        (("benchmarks", 1, "stats", "data"), [1.0, math.nan], "stats hold nan"),
        (("benchmarks", 1, "stats", "data"), [1.0, "a"], "stats hold 'a'"),
        (("benchmarks", 1, "stats", "data"), [1.0], "data has 1 item"),
        (("benchmarks", 1, "stats", "iterations"), 0, "iterations 0"),
        (("benchmarks", 1, "stats", "iterations"), 10**400, "iterations 1000"),
        (("benchmarks", 1, "extra_info", "case"), "sinh", "extra_info.case is 'sinh'"),
        (("benchmarks", 1, "extra_info", "case"), "\x1b[2J/native/none/forward/call/float32/1/cpu", "case is '\\x1b"),
        (("benchmarks", 1, "extra_info", "environment", "tensorflow"), "2.0.0", "several environments: tensorflow"),
    ],
)
def test_what_pytest_benchmark_does_not_write_is_refused_with_its_place(
    place: tuple[Any, ...], value: Any, what: str
) -> None:
    with pytest.raises(BadInput) as refused:
        read(stored.put(REAL, place, value))
    assert str(refused.value.received).startswith(str(PATH))
    assert what in str(refused.value.received)


def test_the_same_case_twice_is_refused() -> None:
    with pytest.raises(BadInput) as refused:
        read({**REAL, "benchmarks": [REAL["benchmarks"][0], REAL["benchmarks"][0]]})
    assert (
        refused.value.received
        == "results/pytest-benchmark/file.json: 2 benchmarks are sinh/native/none/forward/call/float32/1/cpu"
    )


def test_names_of_others_cannot_reach_a_terminal() -> None:
    content = document("pytest-benchmark-first")
    content["benchmarks"][-1]["fullname"] = "test.py::test_\x1b[2J"
    for one in content["benchmarks"]:
        one["extra_info"].get("environment", {})["cpu"] = "\x1b[31mred"
    run = read(content)
    assert "test.py::test_\\x1b[2J" in set(run.others["case"])
    assert run.environment["cpu"] == "\\x1b[31mred"


SMALL = {**REAL, "machine_info": {"cpu": {"count": 2}}, "benchmarks": REAL["benchmarks"][:1]}
