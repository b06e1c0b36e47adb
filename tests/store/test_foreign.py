"""Results of asv and pytest-benchmark as runs: cases of pyopbench's own suites, and benchmarks by their names."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import stored
from foreign_files import FORWARD, column, document, with_column, write
from pyopbench.model.case import BASELINE
from pyopbench.model.errors import BadInput
from pyopbench.stats import estimate
from pyopbench.stats.costs import round_costs
from pyopbench.stats.estimate import UNIT
from pyopbench.store.foreign import asv_files, read_file
from pyopbench.store.measured_run import COLUMNS, Run
from pyopbench.store.types import UNKNOWN_VARIANT

ASV = document("asv-second")
PYTEST = document("pytest-benchmark-first")


class Reader:
    """Reads JSON as if a tool had written it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "file.json"

    def __call__(self, content: Any) -> Run:
        run = read_file(write(self.path, content))
        assert run is not None
        return run


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


def test_an_asv_benchmark_of_our_suite_is_one_case(read: Reader) -> None:
    """Combinations are in the order of `itertools.product`, as `asv.results.Results.load` has it."""
    run = read(ASV)
    key = "sinh/numpy_function/none/forward/call/float32/1000/cpu"
    seconds = run.frame[run.frame["case"] == key].eval("seconds / calls")
    assert sorted(seconds) == pytest.approx(sorted(column(ASV, FORWARD, "samples")[3]))
    assert (run.tool, set(run.frame["tool"])) == ("asv", {"asv"})
    assert list(run.frame.columns) == list(run.others.columns) == list(COLUMNS)


def test_backward_has_the_usual_gradient_of_its_variant(read: Reader) -> None:
    backward = {case for case in read(ASV).cases if "/backward/" in case}
    assert "relu/native/autodiff/backward/call/float32/1/cpu" in backward
    assert "relu/numpy_function/custom_gradient/backward/call/float32/1/cpu" in backward


def test_what_was_skipped_and_what_failed_is_listed_with_its_reason(read: Reader) -> None:
    run = read(ASV)
    assert len(run.failures) == 12, "custom_op in three directions, for two ops and two sizes"
    assert {failure.status for failure in run.failures} == {"unsupported"}
    failed = read(with_column(ASV, FORWARD, "result", None))
    assert [failure.status for failure in failed.failures if "/forward/" in failure.case] == ["raised"] * 12


def test_benchmarks_of_other_suites_keep_their_names(read: Reader) -> None:
    rows = {
        "time_ranges": [[3e-06, math.nan, None], [["1000", "2000", "None"]]],
        "timeraw_it": [None, []],
        "track_it": [None, []],
    }
    run = read({**ASV, "result_columns": ["result", "params"], "results": rows})
    assert run.others["case"].tolist() == ["time_ranges(1000)"]
    assert [(one.case, one.status) for one in run.other_failures] == [
        ("time_ranges(2000)", "unsupported"),
        ("time_ranges(None)", "raised"),
        ("timeraw_it", "raised"),
    ]
    assert (run.failures, run.cases) == ((), ())
    assert [(warning.kind, "track_it" in warning.text()) for warning in run.warnings] == [("no_times", True)]


def test_parameters_that_name_no_case_make_a_benchmark_of_its_own_name(read: Reader) -> None:
    params = [["'sinh'", "open('x')"], ["'a/b'", "(" * 300, "'c'"], ["-1", "'x'"], ["'cpu'"]]
    found = read(with_column(ASV, FORWARD, "params", params))
    assert not [case for case in found.cases if "/forward/" in case]
    assert any(name.startswith(FORWARD) for name in found.others["case"])


def test_versions_are_known_as_far_as_the_matrix_names_them(read: Reader) -> None:
    assert read(ASV).environment["tensorflow"] is None
    matrix = {"tensorflow-cpu": "2.16.2", "pip+numpy": "1.26.4"}
    found = read({**ASV, "requirements": matrix, "params": {"num_cpu": "2"}})
    assert (found.environment["tensorflow"], found.environment["numpy"]) == ("2.16.2", "1.26.4")
    assert found.environment["cores"] == 2


def test_samples_become_blocks_of_one_round_because_nothing_was_interleaved(read: Reader) -> None:
    """So that the ratio of two cases is that of their medians, however many samples each has."""
    row = [[0, 0], [["'sinh'"], ["'native'", "'numpy_function'"], ["1000"], ["'cpu'"]], [10, 1], [[1, 2, 9], [6, 4]]]
    columns = ["result", "params", "stats_number", "samples"]
    run = read({**ASV, "result_columns": columns, "results": {FORWARD: row}})
    native, slow = run.cases
    assert run.frame["seconds"].tolist() == [10.0, 20.0, 90.0, 6.0, 4.0], "of the whole block"
    (value,) = estimate.ratio_logs(round_costs(run.frame, UNIT), {slow: native}, UNIT)["value"]
    assert math.exp(value) == pytest.approx(5.0 / 2.0)


def test_files_of_asv_are_found_below_a_folder(tmp_path: Path) -> None:
    for name in ("benchmarks.json", "here/machine.json", "here/a.json", "here/b.json", "there/c.json"):
        write(tmp_path / name, json.dumps({}))
    assert [path.name for path in asv_files(tmp_path)] == ["a.json", "b.json"], "there is no machine `there`"
    assert asv_files(tmp_path / "nowhere") == []


def test_a_benchmark_of_our_suite_for_pytest_says_which_case_it_is(read: Reader) -> None:
    run = read(PYTEST)
    first = PYTEST["benchmarks"][0]
    block = run.frame[run.frame["case"] == first["extra_info"]["case"]]
    assert (block["seconds"] / block["calls"]).tolist() == pytest.approx(first["stats"]["data"])
    assert set(block["calls"]) == {20}, "which it calls iterations"
    assert run.environment["cpu"] == "a processor", "as the suite recorded it"
    assert set(run.others["case"]) == {"test_pb.py::test_other[a|b]", "test_pb.py::test_other[<script>]"}


@pytest.mark.parametrize(
    "extra",
    [{}, {"extra_info": {"case": {"rows": 7}, "environment": {"cpu": 4}}}],
    ids=["before version 3", "other types"],
)
def test_a_file_of_another_suite_is_read_whatever_its_extra_info_has(read: Reader, extra: dict[str, Any]) -> None:
    """The format of pytest-benchmark 2.5, which had neither `params` nor `extra_info`."""
    statistics = {"median": 2e-07, "rounds": 9, "iterations": 431, "mean": 3e-07, "outliers": "1;2"}
    benchmark = {"name": "test_it[0]", "group": None, "fullname": "tests/test_a.py::test_it[0]", "stats": statistics}
    run = read(
        {
            "machine_info": {"python_version": "2.7.3", "system": "Linux", "processor": "x86_64"},
            "commit_info": {"id": "5b78858e", "dirty": True},
            "benchmarks": [{**benchmark, **extra}],
            "datetime": "2015-08-15T00:04:18.687119+00:00",
            "version": "2.5.0",
        }
    )
    assert (run.others["seconds"] / run.others["calls"]).tolist() == pytest.approx([2e-07])
    assert run.others["case"].tolist() == ["tests/test_a.py::test_it[0]"]
    assert (run.environment["python"], run.environment["cpu"]) == ("2.7.3", None)


def test_without_an_environment_of_the_suite_the_tool_is_asked(read: Reader) -> None:
    content = document("pytest-benchmark-first")
    for one in content["benchmarks"]:
        one["extra_info"].pop("environment", None)
    run = read(content)
    assert run.environment["cpu"] == PYTEST["machine_info"]["cpu"]["brand_raw"]
    assert run.environment["tensorflow"] is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("asv-second", ["one_launch", "not_interleaved", "versions_unknown"]),
        ("asv-without-samples", ["one_launch", "not_interleaved", "versions_unknown", "samples_not_kept"]),
        ("pytest-benchmark-first", ["one_launch", "not_interleaved"]),
        ("pytest-benchmark-without-samples", ["one_launch", "not_interleaved", "samples_not_kept"]),
    ],
)
def test_a_run_says_what_its_results_cannot_support(read: Reader, name: str, expected: list[str]) -> None:
    assert [one.kind for one in read(document(name)).cannot] == expected


def test_the_catalogue_tells_what_is_known_and_leaves_out_the_rest(read: Reader) -> None:
    content = document("pytest-benchmark-first")
    content["benchmarks"][0]["extra_info"]["case"] = "unheard_of/magic/none/forward/call/float32/7/cpu"
    found = read(content).catalogue
    assert found.variants["native"].kind == "port"
    assert found.variants["magic"] == UNKNOWN_VARIANT
    assert found.ops["unheard_of"].sizes == [7]


@pytest.mark.parametrize(
    ("variants", "baseline"),
    [
        (["native", BASELINE, "numpy_function"], BASELINE),
        (["custom_op", "numpy_function", "native"], "numpy_function"),
        (["xla", "native"], "native"),
        ([], BASELINE),
    ],
)
def test_the_baseline_is_a_callback_if_there_is_one(read: Reader, variants: list[str], baseline: str) -> None:
    row = [[1e-6] * len(variants), [["'sinh'"], [repr(name) for name in variants], ["1"], ["'cpu'"]]]
    run = read({**ASV, "result_columns": ["result", "params"], "results": {FORWARD: row}})
    assert run.settings.baseline == baseline


def _of_asv(name: str, value: Any) -> Any:
    return with_column(ASV, FORWARD, name, value)


@pytest.mark.parametrize(
    "content",
    [
        "",
        '{"results": {',
        "[" * 200_000,
        "1" * 5000,
        {**ASV, "version": 3},
        {**ASV, "result_columns": ["result"]},
        {**ASV, "results": 3},
        _of_asv("result", [1e-6]),
        _of_asv("result", "1e-6"),
        _of_asv("params", [["'sinh'"], ["'native'"], ["1"], ["'cpu'"]]),
        _of_asv("samples", [[-1.0]] * 12),
        _of_asv("samples", [[1e300]] * 12),
        _of_asv("stats_number", [0] * 12),
        _of_asv("started_at", 1e30),
        _of_asv("params", [["'sinh'"] * 2, ["'native'", "'numpy_function'", "'custom_op'"], ["1", "1000"], ["'cpu'"]]),
        *(
            stored.put(PYTEST, ("benchmarks", 1, *place), value)
            for place, value in [
                (("stats", "median"), -1.0),
                (("stats", "data"), [1.0, math.nan]),
                (("stats", "data"), [1.0, "a"]),
                (("stats", "iterations"), 0),
                (("stats", "iterations"), 10**400),
                (("extra_info", "case"), "sinh"),
            ]
        ),
        {**PYTEST, "benchmarks": [PYTEST["benchmarks"][0]] * 2},
    ],
    ids=range(22),
)
def test_what_no_tool_writes_is_refused_with_the_name_of_the_file(read: Reader, content: Any) -> None:
    with pytest.raises(BadInput) as refused:
        read(content)
    assert str(read.path) in str(refused.value)
    assert "\n" not in refused.value.message


def test_json_of_something_else_is_no_run(tmp_path: Path) -> None:
    for content in ([], {"a": 1}, None):
        assert read_file(write(tmp_path / "a.json", content)) is None
