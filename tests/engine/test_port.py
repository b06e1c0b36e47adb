"""A port is put in place only if its own test passes where pyopbench cannot be imported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pyopbench.engine import worker_process
from pyopbench.engine.port import port_tester, write_port
from pyopbench.model.errors import BadInput, WrongResult
from pyopbench.model.own_target import Target, own_ops, read_target

TARGET = Target("mine", "/somewhere/mine.py", "body", ("1",))
ANSWER = {
    "port": "x = 1\n",
    "function": "mine",
    "test": "def test_x(): pass\n",
    "not_run": [["/a/mine.py", 7]],
    "notes": ["callback"],
    "dataset": "",
    "op": "mine",
    "dtype": "float32",
    "sizes": [10, 1000],
    "callback": "numpy_function",
}
PASSED = {"passed": ["test_x"]}


def tools(answer: dict[str, Any] = ANSWER, result: dict[str, Any] = PASSED) -> dict[str, Any]:
    return {"ask": lambda request: answer, "test": lambda folder, module, seconds: result}


def test_both_files_are_written_as_the_worker_has_them(tmp_path: Path) -> None:
    written = write_port(TARGET, "traced", tmp_path / "my_port.py", **tools())
    assert [written.port.read_text(), written.test.read_text()] == [ANSWER["port"], ANSWER["test"]]
    assert (written.function, written.test.name) == ("mine", "test_my_port.py")
    assert (written.passed, written.not_run) == (("test_x",), (("/a/mine.py", 7),))


SLOW = """import time

import numpy as np
import tensorflow as tf


def body(x):
    time.sleep(0.02 * {body})
    return x * 2


def port(x):
    waited = tf.numpy_function(lambda: np.float32(time.sleep(0.02 * {port}) is None), [], tf.float32)
    return x * 2 * waited
"""


@pytest.mark.parametrize("slow", ["body", "port", "wrong"])
def test_it_is_timed_against_the_callback_where_it_is_right(
    slow: str, tmp_path: Path, forked_worker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", (sys.executable, str(forked_worker)))
    source, out = tmp_path / "mine.py", tmp_path / "my_port.py"
    source.write_text(SLOW.format(**{"body": 0, "port": 0, slow: 1}))
    target = read_target(f"{source}:body", ["rng.random(3, np.float32)"], [])
    text = source.read_text().replace("x * 2 * waited", "x * 3" if slow == "wrong" else "x * 2 * waited")
    written = {**ANSWER, "port": text, "function": "port", "op": target.name, "sizes": [3]}
    with worker_process.Worker(60, own=own_ops(target)) as worker:
        ratios = write_port(
            target,
            "traced",
            out,
            timed_seconds=0.01,
            ask=lambda request: written if request["do"] == "port" else worker.ask(request),
            test=lambda *_: PASSED,
        ).ratios
    assert {size: ratio > 1 for size, ratio in ratios.items()} == ({} if slow == "wrong" else {3: slow == "body"})


def test_a_port_that_fails_its_test_is_not_written(tmp_path: Path) -> None:
    failed = {"passed": [], "failed": "test_values", "error": "AssertionError: 1 is not 2"}
    with pytest.raises(WrongResult) as caught:
        write_port(TARGET, "traced", tmp_path / "my_port.py", **tools(result=failed))
    assert (caught.value.exit_code, caught.value.received) == (1, "AssertionError: 1 is not 2")
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_has_the_line_and_the_fix(tmp_path: Path) -> None:
    first = {"why": "`np.foo` has none", "fix": "use np.bar", "place": ["/a/mine.py", 3]}
    with pytest.raises(BadInput) as caught:
        write_port(TARGET, "traced", tmp_path / "my_port.py", **tools(answer={"refused": first}))
    assert (caught.value.received, caught.value.hint) == ("/a/mine.py:3", "use np.bar")


@pytest.mark.parametrize(
    ("variant", "name"),
    [("native", "my_port.py"), ("traced", "ported.txt"), ("traced", "a-b.py"), ("processes size=3", "my_port.py")],
)
def test_what_cannot_be_asked_for_is_refused_before_a_worker_starts(variant: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        write_port(TARGET, variant, tmp_path / name, ask=pytest.fail, test=pytest.fail)


@pytest.mark.parametrize("name", ["class.py", "missing/my_port.py", "a_file/my_port.py"])
def test_a_file_that_python_would_not_import_is_refused_before_a_worker_starts(name: str, tmp_path: Path) -> None:
    (tmp_path / "a_file").write_text("")
    with pytest.raises(BadInput) as caught:
        write_port(TARGET, "traced", tmp_path / name, ask=pytest.fail, test=pytest.fail)
    assert str(tmp_path) in str(caught.value.received)
    assert [path.name for path in tmp_path.iterdir()] == ["a_file"]


@pytest.mark.parametrize("name", ["my_port.py", "test_my_port.py"])
def test_nothing_that_is_there_is_written_over(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(BadInput) as caught:
        write_port(TARGET, "traced", tmp_path / "my_port.py", **tools())
    assert caught.value.received == tmp_path / name
    assert (tmp_path / name).read_text() == "mine"


def run_test(folder: Path, module: str) -> dict[str, Any]:
    with port_tester() as run:
        return run(folder, module, 60)


def test_a_test_runs_where_pyopbench_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "test_good.py").write_text("def test_a():\n    print('told')\n")
    (tmp_path / "test_bad.py").write_text("def test_b():\n    import pyopbench\n")
    assert run_test(tmp_path, "test_good") == {"passed": ["test_a"]}
    found = run_test(tmp_path, "test_bad")
    assert found["failed"] == "test_b"
    assert found["error"].startswith("ModuleNotFoundError: ")


def test_a_test_reads_relative_paths_as_the_program_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_reads.py").write_text("def test_a():\n    assert open('data.txt').read() == 'x'\n")
    (tmp_path / "data.txt").write_text("x")
    monkeypatch.chdir(tmp_path)
    assert run_test(Path("tests"), "test_reads") == {"passed": ["test_a"]}
