"""The suite for pytest-benchmark, run as a user would: one case, what is skipped, what `-k` selects, bad usage."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import pyopbench
from commands import Ended
from places import ROOT
from pyopbench.model.discover import find
from pyopbench.worker.prepare.node_graph import STEPS

pytest.importorskip("pytest_benchmark")


COMMAND = (sys.executable, "-m", "pytest", "benchmarks", "-p", "no:cacheprovider")
# What measures nothing shares a process, into which TensorFlow is imported once: each line that is read are arguments.
SERVE = """
import contextlib, io, json, sys
import pytest
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = pytest.main(json.loads(line))
    print(json.dumps([int(code), out.getvalue(), err.getvalue()]), flush=True)
"""


def environment() -> dict[str, str]:
    # Within a test of several processes pytest-benchmark would take itself for disabled.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    return kept | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[..., Ended]]:
    """Run the suite as from the command line, one time after the other in one process."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVE], cwd=ROOT, stdin=-1, stdout=-1, stderr=-3, text=True, env=environment()
    ) as process:

        def main(*arguments: str) -> Ended:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps([*COMMAND[3:], *arguments]) + "\n")
            process.stdin.flush()
            return Ended(*json.loads(process.stdout.readline()))

        yield main


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], list[Path]]:
    """Return what came of a case that can be, backward and both ways, in a graph and by two threads; and of another."""
    folder = tmp_path_factory.mktemp("stored")
    selected = "relu and (native or autograph)"
    options = ["--benchmark-only", "--sizes=1", "-k", selected, "-rs", "--directions=backward,forward_backward"]
    options += ["--in-graph", "--threads=2"]
    command = [*COMMAND, *options, "--benchmark-max-time=0.001", f"--benchmark-storage=file://{folder}"]
    finished = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False, env=environment()
    )
    return finished, sorted(folder.rglob("*.json"))


def test_cases_run_and_the_others_are_skipped_with_their_reason(
    done: tuple[subprocess.CompletedProcess[str], list[Path]],
) -> None:
    finished, _ = done
    assert finished.returncode == 0, finished.stdout + finished.stderr
    *_, last = lines = finished.stdout.strip().splitlines()
    assert re.findall(r"(\d+) (passed|skipped|failed)", last) == [("4", "passed"), ("4", "skipped")]
    reason = "autograph needs a python body, and the op has none"
    assert sorted(line for line in lines if line.startswith("SKIPPED")) == [
        f"SKIPPED [1] benchmarks/pytest_suite/test_concurrency.py: {reason}",
        f"SKIPPED [1] benchmarks/pytest_suite/test_in_graph.py: {reason}",
        f"SKIPPED [2] benchmarks/pytest_suite/test_latency.py: {reason}",
    ]


def test_the_plain_command_stores_case_environment_and_version(
    done: tuple[subprocess.CompletedProcess[str], list[Path]],
) -> None:
    (path,) = done[1]
    document = json.loads(path.read_text(encoding="utf-8"))
    assert "node" not in document["machine_info"]
    backward, both = (one for one in document["benchmarks"] if one["name"].startswith("test_latency"))
    assert backward["extra_info"]["case"] == "relu/native/autodiff/backward/call/float32/1/cpu"
    assert both["extra_info"]["case"] == "relu/native/autodiff/forward_backward/call/float32/1/cpu"
    assert {"tensorflow", "numpy", "cpu", "cores", "python"} <= set(backward["extra_info"]["environment"])
    assert backward["extra_info"]["pyopbench"] == pyopbench.__version__
    assert [one["group"] for one in (backward, both)] == ["relu, size 1, backward", "relu, size 1, forward_backward"]
    assert backward["stats"]["iterations"] == 1
    assert backward["stats"]["rounds"] >= 5
    assert backward["stats"]["min"] > 0


def test_costs_that_are_no_single_call_are_stored_beside_the_times(
    done: tuple[subprocess.CompletedProcess[str], list[Path]],
) -> None:
    (path,) = done[1]
    benchmarks = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
    in_graph, threads = (
        next(one for one in benchmarks if one["name"].startswith(name)) for name in ("test_in_graph", "test_concurrent")
    )
    assert in_graph["extra_info"]["case"] == "relu/native/autodiff/forward_backward/node/float32/1/cpu"
    assert in_graph["extra_info"]["copies"] in STEPS, "as many as a timing found to be enough"
    copies = in_graph["extra_info"]["copies"]
    assert in_graph["extra_info"]["op_seconds"] < in_graph["stats"]["median"] / copies, "without the empty graph"
    assert threads["extra_info"]["case"] == "relu/native/none/forward/call/float32/1/cpu"
    calls = threads["extra_info"]["calls"] * threads["extra_info"]["threads"]
    assert threads["extra_info"]["call_seconds"] == pytest.approx(threads["stats"]["median"] / calls)


@pytest.mark.parametrize("option", ["--placements=gpu", "--threads=1,2", "--in-graph"])
def test_more_is_collected_where_it_is_asked_for(run: Callable[..., Ended], option: str) -> None:
    """A GPU's cases are told by their names; the others are in files of their own."""
    finished = run("--collect-only", "-k", "relu and numpy_function", "--directions=forward", option)
    usual = run("--collect-only", "-k", "relu and numpy_function", "--directions=forward")
    names, before = ([line for line in one.out.splitlines() if "::" in line] for one in (finished, usual))
    told = {"--placements=gpu": "-gpu]", "--threads=1,2": "threads]", "--in-graph": "test_in_graph"}[option]
    more = [name for name in names if told in name]
    assert len(more) == (2 if "threads" in option else 1)
    assert not [name for name in before if told in name]


def test_k_selects_a_variant(run: Callable[..., Ended]) -> None:
    """An op is selected above. The ids of other variants do not hold `numpy_function`."""
    finished = run("--collect-only", "-k", "numpy_function", "--directions=forward")
    names = [line for line in finished.out.splitlines() if "::" in line]
    assert finished.code == 0, finished.out + finished.err
    assert len(names) == len(find("ops"))
    assert all("-numpy_function-forward-" in name for name in names)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--directions=sideways", "legal:    backward, forward"),
        ("--sizes=0", "not a size"),
        ("--placements=tpu", "legal:    cpu, gpu"),
        ("--threads=1,0", "not numbers of threads"),
    ],
)
def test_bad_usage_is_told_before_anything_is_collected(run: Callable[..., Ended], option: str, said: str) -> None:
    finished = run("--benchmark-only", option)
    assert finished.code == pytest.ExitCode.USAGE_ERROR
    assert said in finished.err


def test_a_selection_of_nothing_is_told(run: Callable[..., Ended]) -> None:
    finished = run("--benchmark-only", "-k", "no_such_op")
    assert finished.code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "Traceback" not in finished.out + finished.err
