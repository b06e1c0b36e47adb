"""The suite that asv collects: what it names, what it counts and times, and one case through asv itself."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
import timeit
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from asv_suite import crossings, latency, selection
from asv_suite.copies import CopiesPerCall
from asv_suite.crossings import count_copies
from asv_suite.preparation import case_of
from places import ROOT
from pyopbench.catalogue.alignment import aligned, is_aligned
from pyopbench.catalogue.load import load_variants
from pyopbench.core.discover import find
from pyopbench.core.model import FLOOR_OPS, NO_GRADIENT, Case
from pyopbench.prepare.checks import Checked
from pyopbench.prepare.prepare import Prepared
from pyopbench.worker.sampling import Timer

SUITE = ROOT / "benchmarks" / "asv_suite"

DISCOVER = """
import json, sys
from asv_runner.discovery import disc_benchmarks
sys.path.insert(0, sys.argv[1])
found = {one.name: [one.type, one.unit, one.param_names, one.params] for one in disc_benchmarks("asv_suite")}
print(json.dumps({"found": found, "tensorflow": "tensorflow" in sys.modules}))
"""


def forward(op: str, variant: str, size: int) -> Case:
    return Case(op, variant, NO_GRADIENT, "forward", "call", "float32", size)


class TestSelection:
    def test_all_of_it_is_what_there_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(selection.VARIABLE, selection.ALL)
        monkeypatch.delenv("PYOPBENCH_PATH", raising=False)
        ops, variants, _ = selection.ops()
        assert list(ops) == list(find("ops"))
        assert list(variants) == list(find("variants"))
        callbacks = [name for name, variant in load_variants().items() if variant.has_parts]
        assert list(selection.bridges()[1]) == callbacks

    def test_an_op_of_ones_own_is_added(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "ops").mkdir()
        (tmp_path / "ops" / "mine.py").touch()
        (tmp_path / "ops" / "_helper.py").touch()
        monkeypatch.setenv(selection.VARIABLE, selection.ALL)
        monkeypatch.setenv("PYOPBENCH_PATH", str(tmp_path))
        assert set(selection.ops()[0]) == {*find("ops")}
        assert "mine" in selection.ops()[0]

    def test_another_value_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(selection.VARIABLE, "sinh")
        with pytest.raises(ValueError, match=r"'sinh'; legal: 'all'"):
            selection.ops()

    def test_bridges_are_measured_with_ops_of_the_floor(self) -> None:
        assert set(selection.BRIDGE_OPS) < set(FLOOR_OPS)


class TestCases:
    @pytest.mark.parametrize("direction", ["forward", "backward", "forward_backward"])
    def test_every_combination_of_the_default_is_a_case_of_its_own(self, direction: str) -> None:
        combinations = list(itertools.product(selection.OPS, selection.VARIANTS, selection.SIZES))
        cases = {case_of(op, variant, size, direction).id for op, variant, size in combinations}
        assert len(cases) == len(combinations)

    def test_a_case_is_a_float32_call_with_the_usual_gradient(self) -> None:
        expected = "sinh/numpy_function/custom_gradient/backward/call/float32/1000/cpu"
        assert case_of("sinh", "numpy_function", 1000, "backward").id == expected

    @pytest.mark.parametrize(
        ("op", "variant", "size", "reason"),
        [("sinh", "autograph", 1000, "no python body"), ("log_huber", "native", 1000, "has the sizes 1$")],
    )
    def test_what_is_no_case_is_skipped_with_its_reason(self, op: str, variant: str, size: int, reason: str) -> None:
        with pytest.raises(NotImplementedError, match=reason):
            case_of(op, variant, size, "forward")


class TestLatency:
    @pytest.mark.parametrize(
        ("collected", "seconds"),
        [(latency.BackwardLatency, 0.25), (latency.ForwardBackwardLatency, 1.25)],
    )
    def test_asvs_timer_is_told_the_seconds_of_one_call(
        self, monkeypatch: pytest.MonkeyPatch, collected: type, seconds: float
    ) -> None:
        """Forward takes a second, backward a quarter, reading the clock an eighth; a sample has four calls."""
        clock = [0.0]

        def read() -> float:
            clock[0] += 0.125
            return clock[0]

        def wait(seconds: float) -> None:
            clock[0] += seconds

        monkeypatch.setattr(latency, "time", SimpleNamespace(perf_counter=read))
        one = collected()
        case = Case("sinh", "native", "autodiff", one.direction, "call", "float32", 1)
        one.prepared = Prepared(case, (lambda: wait(1.0), lambda: wait(0.25)), Checked(0.0))
        one.seconds, one.calls, one.cost = 0.0, 4, Timer(0.125, 0.0)
        timer = timeit.Timer(one.time_call, timer=one.timer)
        assert [timer.timeit(1) for _ in range(3)] == [seconds] * 3

    def test_a_case_is_prepared_once_however_often_asv_sets_it_up(self) -> None:
        one = latency.ForwardLatency()
        one.setup("relu", "native", 1)
        prepared, calls = one.prepared, one.calls
        one.time_call("relu", "native", 1)
        one.setup("relu", "native", 1)
        assert one.prepared is prepared
        assert one.calls == calls
        assert one.timer() > 0


@pytest.mark.measures
class TestCopies:
    @pytest.mark.parametrize(
        ("op", "variant", "copies"),
        [
            ("sinh", "numpy_function", 1),  # the input is lent; a new result is not where TensorFlow takes it over
            ("identity", "numpy_function", 0),  # what is lent is given back
            ("identity", "py_function_numpy", 2),  # `.numpy()` copies, and so does every result
            ("sinh", "py_function", 0),  # eager tensors cross by handle
        ],
    )
    @pytest.mark.parametrize("size", [1, 100_000])
    def test_copies_are_counted(self, op: str, variant: str, copies: int, size: int) -> None:
        assert count_copies(forward(op, variant, size)) == copies

    def test_a_result_is_copied_for_where_it_lies(self) -> None:
        """TensorFlow takes over what begins at a multiple of 64 bytes: `PyFuncOp` in `py_func.cc`."""
        watched = crossings._Watched(lambda x: x + 1)
        result = watched(aligned(np.zeros(1000, np.float32)))
        assert not is_aligned(result)
        assert watched.given == [result.ctypes.data]
        assert (result == 1).all()

    def test_every_array_counts(self) -> None:
        """sparse_conv_q has four inputs and two outputs."""
        assert count_copies(forward("sparse_conv_q", "py_function_numpy", 10)) == 6

    def test_a_body_compiled_by_numba_is_watched_too(self) -> None:
        pytest.importorskip("numba")
        assert count_copies(forward("sinh", "numba", 1000)) == 1

    def test_a_port_is_skipped(self) -> None:
        """In `setup`: asv takes the same exception from the benchmark itself for a failure."""
        with pytest.raises(NotImplementedError, match="nothing crosses"):
            CopiesPerCall().setup("sinh", "native", 1_000)


def environment(**variables: str) -> dict[str, str]:
    without = {key: value for key, value in os.environ.items() if key != selection.VARIABLE}
    return {**without, "PYTHONPATH": str(ROOT), **variables}


@pytest.fixture(scope="module")
def discovered() -> dict[str, object]:
    pytest.importorskip("asv_runner")
    command = [sys.executable, "-c", DISCOVER, str(SUITE.parent)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, env=environment(), cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class TestThroughAsv:
    def test_the_suite_is_found_without_tensorflow(self, discovered: dict[str, object]) -> None:
        assert discovered["tensorflow"] is False

    def test_each_benchmark_is_found_once_with_readable_parameters(self, discovered: dict[str, object]) -> None:
        found = discovered["found"]
        assert isinstance(found, dict)
        assert {name: (kind, unit) for name, (kind, unit, _, _) in found.items()} == {
            "latency.ForwardLatency.time_call": ("time", "seconds"),
            "latency.BackwardLatency.time_call": ("time", "seconds"),
            "latency.ForwardBackwardLatency.time_call": ("time", "seconds"),
            "latency.BridgeLatency.time_call": ("time", "seconds"),
            "memory.PeakMemory.peakmem_call": ("peakmemory", "bytes"),
            "copies.CopiesPerCall.track_copies": ("track", "copies"),
        }
        assert all(names == ["op", "variant", "size"] for _, _, names, _ in found.values())
        assert found["latency.ForwardLatency.time_call"][3][0] == ["'relu'", "'sinh'"]

    def test_one_case_runs_and_one_that_cannot_be_is_skipped(self, tmp_path: Path) -> None:
        pytest.importorskip("asv")
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
        if head.returncode != 0:
            pytest.skip("not a git checkout")
        configuration = {
            "version": 1,
            "project": "pyopbench",
            "repo": str(ROOT),
            "branches": ["HEAD"],
            "environment_type": "existing",
            "benchmark_dir": str(SUITE),
            "results_dir": "results",
            "env_dir": "environments",
            "html_dir": "html",
        }
        (tmp_path / "asv.conf.json").write_text(json.dumps(configuration), encoding="utf-8")
        variables = environment(HOME=str(tmp_path), ASV_PYTHONPATH=str(ROOT), **{selection.VARIABLE: selection.ALL})
        asv(tmp_path, variables, "machine", "--yes", "--machine", "here")
        chosen = r"(ForwardLatency.*'relu', '(native|autograph)'|CopiesPerCall.*'relu', 'native'), 1\)"
        commit = head.stdout.strip()
        options = ["--python=same", "--quick", "--machine", "here", "--set-commit-hash", commit, "--bench", chosen]
        asv(tmp_path, variables, "run", *options)
        (path,) = (tmp_path / "results" / "here").glob(f"{commit[:8]}-*.json")
        document = json.loads(path.read_text(encoding="utf-8"))
        measured = {
            (name, *parameters): value
            for name, columns in document["results"].items()
            for parameters, value in values_of(dict(zip(document["result_columns"], columns, strict=False)))
        }
        assert list(measured) == [("latency.ForwardLatency.time_call", "'relu'", "'native'", "1")]
        assert next(iter(measured.values())) > 0


def values_of(row: dict[str, Any]) -> list[tuple[tuple[str, ...], float]]:
    """Return parameters and values of a benchmark, without NaN, which stands for what was skipped or not chosen."""
    values = row["result"] or [None]
    assert None not in values, "None stands for what failed"
    combinations = itertools.product(*row["params"])
    return [(key, value) for key, value in zip(combinations, values, strict=True) if not math.isnan(value)]


def asv(folder: Path, variables: dict[str, str], *arguments: str) -> None:
    command = [sys.executable, "-m", "asv", *arguments]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
