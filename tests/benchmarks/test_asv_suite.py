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

from asv_suite import crossings, in_graph, latency, selection
from asv_suite.concurrency import ConcurrentLatency, Team
from asv_suite.copies import CopiesPerCall
from asv_suite.crossings import count_copies
from asv_suite.device_copies import CopiesOnRoute, GpuCopy
from asv_suite.preparation import Setting, case_of, skipped_if_not_supported
from devices import needs_compiler, needs_none
from places import ROOT
from pyopbench.model.case import BRIDGE_BASELINE_OPS, DIRECTIONS, GPU, NO_GRADIENT, Case
from pyopbench.model.discover import find
from pyopbench.model.errors import Unsupported
from pyopbench.model.places import PINS, PLACES
from pyopbench.ops.alignment import aligned, is_aligned
from pyopbench.ops.load import load_variants
from pyopbench.worker import gpu_copies, suite_api
from pyopbench.worker.prepare.checks import Checked
from pyopbench.worker.prepare.prepare import Prepared
from pyopbench.worker.sampling import Timer
from simulated import Process

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

    def test_routes_and_ways_to_a_gpu_are_those_that_there_are(self) -> None:
        """Named here, because asv finds benchmarks without TensorFlow, and for commits that name others."""
        assert (selection.ALL_PINS, selection.PLACES) == (PINS, PLACES)
        ways = [f"{one.direction}: {one.name}" for one in gpu_copies.every_copy()]
        assert list(selection.ALL_GPU_COPIES) == ways
        assert set(selection.GPU_COPIES) < set(ways)
        assert selection.ALL_GPU_COPY_SIZES == gpu_copies.SIZES

    def test_bridges_are_measured_with_ops_of_the_floor(self) -> None:
        assert set(selection.BRIDGE_OPS) < set(BRIDGE_BASELINE_OPS)


class TestCases:
    @pytest.mark.parametrize("direction", ["forward", "backward", "forward_backward"])
    def test_every_combination_of_the_default_is_a_case_of_its_own(self, direction: str) -> None:
        combinations = list(itertools.product(selection.OPS, selection.VARIANTS, selection.SIZES))
        cases = {case_of(op, variant, size, direction).id for op, variant, size in combinations}
        assert len(cases) == len(combinations)

    def test_a_case_is_a_float32_call_with_the_usual_gradient(self) -> None:
        expected = "sinh/numpy_function/custom_gradient/backward/call/float32/1000/cpu"
        assert case_of("sinh", "numpy_function", 1000, "backward").id == expected

    def test_a_case_is_placed_where_the_parameter_says(self) -> None:
        assert case_of("sinh", "native", 1000, "forward", Setting(placement=GPU)).placement == GPU

    @needs_none
    @pytest.mark.parametrize("direction", DIRECTIONS)
    def test_without_a_gpu_its_cases_are_skipped_with_that_reason(self, direction: str) -> None:
        one = type("Placed", (latency._Latency,), {"direction": direction})()
        with pytest.raises(NotImplementedError, match="TensorFlow sees no GPU"):
            one.setup("sinh", "native", 1000, GPU)
        with pytest.raises(NotImplementedError, match="TensorFlow sees no GPU"):
            GpuCopy().setup(selection.GPU_COPIES[0], 1)

    def test_what_the_pyopbench_of_a_commit_lacks_is_skipped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr(suite_api, "copies_on_route")
        with pytest.raises(NotImplementedError, match=r"this commit of pyopbench does not have it.*copies_on_route"):
            CopiesOnRoute().setup("sinh", "native", "unpinned", "host", "host")

    def test_another_module_that_is_missing_is_a_failure(self) -> None:
        with pytest.raises(ImportError, match="no_such"), skipped_if_not_supported():
            raise ImportError("no_such", name="no_such")

    @pytest.mark.parametrize(
        ("op", "variant", "size", "reason"),
        [("sinh", "autograph", 1000, "needs a python body"), ("log_huber", "native", 1000, "has the sizes 1$")],
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


class TestInGraph:
    def test_asvs_timer_is_told_what_one_copy_takes_beyond_an_empty_graph(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The empty graph takes a second, that of eight copies two more; the two take turns to be first."""
        clock, order = [0.0], []

        def wait(seconds: float) -> None:
            order.append(seconds)
            clock[0] += seconds

        monkeypatch.setattr(in_graph, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
        one = in_graph.ForwardInGraph()
        case = Case("sinh", "native", NO_GRADIENT, "forward", "node", "float32", 1)
        empty = Prepared(case, (lambda: wait(1.0),), Checked(0.0), copies=0)
        copies = Prepared(case, (lambda: wait(3.0),), Checked(0.0), copies=8)
        one.graphs, one.calls, one.cost = (empty, copies), 2, Timer(0.0, 0.0)
        timer = timeit.Timer(one.time_op, timer=one.timer)
        assert [timer.timeit(1) for _ in range(3)] == [0.25] * 3
        assert order == [1.0, 1.0, 3.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0]

    @pytest.mark.parametrize(("variant", "copies"), [("native", 8), ("numpy_function", 1)])
    def test_a_callback_is_one_copy_and_a_port_is_several(self, variant: str, copies: int) -> None:
        one = in_graph.ForwardInGraph()
        one.setup("relu", variant, 1)
        assert one.graphs is not None
        assert [graph.copies for graph in one.graphs] == [0, copies]
        before = one.graphs
        one.setup("relu", variant, 1)
        assert one.graphs is before


class TestConcurrency:
    def test_all_threads_call_and_the_span_of_all_is_taken(self) -> None:
        """Each reading of the clock is a second later: of two threads the last ends at four, the first began at one."""
        clock = itertools.count(1)
        called: list[int] = []
        assert Team(2, lambda: float(next(clock))).seconds(lambda: called.append(1), 3) in (2.0, 3.0)
        assert len(called) == 6

    def test_asvs_timer_is_told_the_seconds_over_all_calls(self) -> None:
        one = ConcurrentLatency()
        team = SimpleNamespace(threads=2, seconds=lambda call, calls: 12.0)
        one.team, one.calls, one.call = team, 3, lambda: None  # type: ignore[assignment]
        assert timeit.Timer(one.time_calls, timer=one.timer).timeit(1) == 2.0

    def test_what_a_call_raises_is_raised(self) -> None:
        with pytest.raises(ZeroDivisionError):
            Team(2).seconds(lambda: 1 / 0, 1)


class TestOnRoutes:
    @needs_compiler
    def test_copies_are_counted_by_route(self, simulated: Process) -> None:
        """A callback takes its input to the host and gives its result from there, wherever both are."""
        told = simulated.run("""
from pyopbench.model.case import Case
from pyopbench.worker.suite_api import copies_on_route
case = Case("sinh", "numpy_function", "none", "forward", "call", "float32", 10, "simgpu")
print(json.dumps([copies_on_route(case, "host", *route) for route in (("host", "host"), ("device", "device"))]))
""")
        counts = [(one["to_device"], one["to_host"]) for one in told]
        assert counts == [(0, 0), (1, 1)]

    def test_each_way_is_a_benchmark(self) -> None:
        one = CopiesOnRoute()
        one.counted = {"to_device": 2, "to_host": 1, "on_device": 7}
        assert (one.track_to_device(), one.track_to_host()) == (2, 1)

    def test_a_device_that_is_not_there_is_a_reason(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> dict[str, int]:
            raise Unsupported("no compiler")

        monkeypatch.setattr(suite_api, "copies_on_route", refuse)
        with pytest.raises(NotImplementedError, match="no compiler"):
            CopiesOnRoute().setup("sinh", "native", "unpinned", "host", "host")


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
            "in_graph.ForwardInGraph.time_op": ("time", "seconds"),
            "in_graph.ForwardBackwardInGraph.time_op": ("time", "seconds"),
            "concurrency.ConcurrentLatency.time_calls": ("time", "seconds"),
            "device_copies.CopiesOnRoute.track_to_device": ("track", "copies"),
            "device_copies.CopiesOnRoute.track_to_host": ("track", "copies"),
            "device_copies.GpuCopy.time_copy": ("time", "seconds"),
        }
        assert all(len(names) == len(params) for _, _, names, params in found.values())
        assert found["latency.ForwardLatency.time_call"][2:] == [
            ["op", "variant", "size", "placement"],
            [["'relu'", "'sinh'"], [repr(name) for name in selection.VARIANTS], ["1000", "100000"], ["'cpu'", "'gpu'"]],
        ]
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
            "launch_method": "forkserver",
        }
        (tmp_path / "asv.conf.json").write_text(json.dumps(configuration), encoding="utf-8")
        variables = environment(HOME=str(tmp_path), ASV_PYTHONPATH=str(ROOT), **{selection.VARIABLE: selection.ALL})
        asv(tmp_path, variables, "machine", "--yes", "--machine", "here")
        chosen = (
            r"(ForwardLatency.*'relu', '(native|autograph)', 1, 'cpu'\)|CopiesPerCall.*'relu', 'native', 1\)"
            r"|ForwardInGraph.*'relu', 'native', 1\)|ConcurrentLatency.*'relu', 'native', 1, 2\)"
            r"|ForwardLatency.*'relu', 'native', 1, 'gpu'\))"
        )
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
        assert sorted(measured) == [
            ("concurrency.ConcurrentLatency.time_calls", "'relu'", "'native'", "1", "2"),
            ("in_graph.ForwardInGraph.time_op", "'relu'", "'native'", "1"),
            ("latency.ForwardLatency.time_call", "'relu'", "'native'", "1", "'cpu'"),
        ]
        assert measured["latency.ForwardLatency.time_call", "'relu'", "'native'", "1", "'cpu'"] > 0


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
