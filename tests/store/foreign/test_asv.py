"""Results of asv as runs: pyopbench's own suite becomes cases, everything else keeps its name."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Any

import pytest

from foreign_files import BACKWARD, FORWARD, column, document, with_column
from pyopbench.model.errors import BadInput
from pyopbench.store.foreign import asv
from pyopbench.store.limitations import NotInterleaved, OnlyOneLaunch, SamplesNotKept, VersionsUnknown
from pyopbench.store.measured_run import Run
from pyopbench.store.warnings import Counted, NoTimes, UnknownGradients

PATH = Path("results/asv/here/file.json")


def read(content: Any) -> Run:
    return asv.read([(PATH, content)])[0]


@pytest.fixture(scope="module")
def run() -> Run:
    return read(document("asv-second"))


def test_a_benchmark_of_our_suite_is_one_case(run: Run) -> None:
    content = document("asv-second")
    key = "sinh/numpy_function/none/forward/call/float32/1000/cpu"
    seconds = run.frame[run.frame["case"] == key].eval("seconds / calls")
    assert sorted(seconds) == pytest.approx(sorted(column(content, FORWARD, "samples")[3]))
    assert run.tool == "asv"
    assert set(run.frame["tool"]) == {"asv"}


def test_backward_has_the_usual_gradient_of_its_variant(run: Run) -> None:
    backward = {case for case in run.cases if "/backward/" in case}
    assert "relu/native/autodiff/backward/call/float32/1/cpu" in backward
    assert "relu/numpy_function/custom_gradient/backward/call/float32/1/cpu" in backward


def test_what_was_skipped_and_what_failed_is_listed_with_its_reason(run: Run) -> None:
    assert len(run.failures) == 12, "custom_op in three directions, for two ops and two sizes"
    assert {failure.status for failure in run.failures} == {"unsupported"}
    content = document("asv-second")
    failed = read(with_column(content, FORWARD, "result", None))
    assert [failure.status for failure in failed.failures if "/forward/" in failure.case] == ["raised"] * 12


def test_failed_and_skipped_benchmarks_of_other_suites_are_listed_by_name() -> None:
    """As asv writes them: null if all combinations failed, NaN for one that `setup` skipped."""
    rows = {
        "time_ranges": [[3e-06, math.nan, None], [["1000", "2000", "None"]]],
        "timeraw_it": [None, []],
        "track_it": [None, []],
    }
    content = document("asv-second")
    run = read({**content, "result_columns": ["result", "params"], "results": rows})
    assert run.others["case"].tolist() == ["time_ranges(1000)"]
    assert [(one.case, one.status) for one in run.other_failures] == [
        ("time_ranges(2000)", "unsupported"),
        ("time_ranges(None)", "raised"),
        ("timeraw_it", "raised"),
    ]
    assert (run.failures, run.cases) == ((), ())


def test_benchmarks_of_others_keep_their_names_and_memory_is_left_out_with_a_word(run: Run) -> None:
    assert set(run.others["case"]) == {
        "strange.Fails.time_plain",
        "strange.Other.time_it('a|b', 1)",
        "strange.Other.time_it('<script>', 1)",
    }
    (warning,) = run.warnings
    assert isinstance(warning, NoTimes)
    assert warning.path == str(PATH)
    assert "latency.PeakMemory.peakmem_call" in warning.benchmarks


@pytest.mark.parametrize("placement", ["cpu", "gpu"])
def test_a_placement_is_part_of_the_case_and_results_without_one_are_of_the_cpu(placement: str) -> None:
    content = document("asv-second")
    before = read(content)
    placed = read(with_column(content, FORWARD, "params", [*column(content, FORWARD, "params"), [f"'{placement}'"]]))
    forward = [key for key in before.cases if "/forward/" in key]
    others = [key for key in before.cases if "/forward/" not in key]
    assert sorted(placed.cases) == sorted([*others, *(f"{key.removesuffix('cpu')}{placement}" for key in forward)])


@pytest.mark.parametrize(
    "params",
    [
        [["'sinh'", "'relu'"], ["'native'", "'../x'", "'a/b'"], ["1", "1000"]],
        [["'sinh'", "'relu'"], ["'a'", "'b'", "'c'"], ["-1", "'1'"]],
        [["open('x')", "(" * 300], ["'a'", "'b'", "'c'"], ["1", "2"]],
    ],
)
def test_parameters_that_name_no_case_make_a_benchmark_of_its_own_name(params: list[list[str]]) -> None:
    found = read(with_column(document("asv-second"), FORWARD, "params", params))
    mine = [case for case in found.cases if "/forward/" in case]
    assert all(case.startswith(("sinh/native/", "relu/native/")) for case in mine)
    assert any(name.startswith(FORWARD) for name in found.others["case"])


def test_a_variant_that_is_not_known_has_no_gradient_to_name_and_is_left_out() -> None:
    params = [["'sinh'", "'relu'"], ["'native'", "'magic'", "'custom_op'"], ["1", "1000"]]
    found = read(with_column(document("asv-second"), BACKWARD, "params", params))
    assert not [case for case in found.cases if "magic" in case]
    assert found.warnings[-1] == UnknownGradients(str(PATH), (Counted("magic", 4),))


def test_the_same_case_twice_is_refused() -> None:
    params = [["'sinh'", "'sinh'"], ["'native'", "'numpy_function'", "'custom_op'"], ["1", "1000"]]
    with pytest.raises(BadInput) as refused:
        read(with_column(document("asv-second"), FORWARD, "params", params))
    assert (
        refused.value.received
        == "results/asv/here/file.json: 2 benchmarks are sinh/native/none/forward/call/float32/1/cpu"
    )


def test_names_of_others_cannot_reach_a_terminal() -> None:
    content = document("asv-second")
    content["results"]["evil.time_\x1b[2J"] = copy.deepcopy(content["results"]["strange.Fails.time_plain"])
    content["env_name"] = "\x1b[31m"
    found = read(content)
    assert not any("\x1b" in name for name in (*found.others["case"], found.name, *found.environment.values()) if name)


def test_a_benchmark_with_a_single_sample_has_samples() -> None:
    """As `asv run --quick --record-samples` writes it."""
    content = document("asv-first")
    values = column(content, FORWARD, "result")
    once = with_column(content, FORWARD, "samples", [None if math.isnan(value) else [value] for value in values])
    assert not any(isinstance(one, SamplesNotKept) for one in read(once).cannot)


def test_versions_are_known_as_far_as_the_matrix_names_them(run: Run) -> None:
    assert run.environment["tensorflow"] is None
    content = document("asv-second")
    content["requirements"] = {"tensorflow-cpu": "2.16.2", "pip+numpy": "1.26.4"}
    content["params"]["num_cpu"] = "2"
    found = read(content)
    assert (found.environment["tensorflow"], found.environment["numpy"]) == ("2.16.2", "1.26.4")
    assert found.environment["cores"] == 2
    assert set(found.frame["tf"]) == {"2.16.2"}


def test_it_says_what_it_cannot_tell() -> None:
    always = (OnlyOneLaunch("asv"), NotInterleaved("asv"), VersionsUnknown("asv"))
    assert read(document("asv-second")).cannot == always
    assert read(document("asv-without-samples")).cannot == (*always, SamplesNotKept("asv", bare=27, results=27))
