"""What is required is tried once with each op and variant, and a worker that hangs or dies costs one attempt."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import stored
from commands import CRASHED
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import worker_process
from pyopbench.engine.verify import Attempt, attempts_of, try_each, try_missing
from pyopbench.engine.worker_process import Worker
from pyopbench.model.case import Case
from pyopbench.store.run import open_run
from pyopbench.store.types import RequirementLine

GRADIENTS = {"py_func": ["custom_gradient", "override_map"], "native": ["autodiff"]}


def case(variant: str, gradient: str) -> Case:
    return Case("sinh", variant, gradient, "forward_backward", "call", "float32", 10)


def test_only_what_depends_on_the_gradient_is_tried_with_each() -> None:
    cases = [case("py_func", "custom_gradient"), case("py_func", "override_map"), case("a_part", "none")]
    assert attempts_of(cases, GRADIENTS, ["xla", "second_order", "gpu"]) == [
        Attempt("xla", "sinh", "py_func", "custom_gradient", "py_func"),
        Attempt("second_order", "sinh", "py_func", "custom_gradient", "py_func"),
        Attempt("second_order", "sinh", "py_func", "override_map", "py_func+override_map"),
    ]


def test_a_worker_that_dies_costs_one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    attempts = [Attempt("xla", "sinh", name, "autodiff", name) for name in ("native", "crashing", "well")]
    found = list(try_each(attempts, partial(Worker, 5.0)))
    assert [(one.label, one.status) for one in found] == [("native", "works"), ("crashing", "fails"), ("well", "works")]
    assert found[1].reason == CRASHED


def test_what_a_run_has_tried_is_stored_and_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    content = stored.run([stored.case("py_function_numpy"), stored.case("native")])
    folder = stored.write(tmp_path / "run", content, [])
    started: list[Any] = []

    def start() -> Worker:
        started.append(Worker(5.0))
        return started[-1]

    for requires in (["xla"], ["xla"], ["xla", "tflite"]):
        run = open_run(folder)
        with run.locked():
            try_missing(run.measured[0], requires, start)
    lines = [one for one in open_run(folder).measured[0].lines if isinstance(one, RequirementLine)]
    assert [(one.requirement, one.label) for one in lines] == [
        ("xla", "py_function_numpy"),
        ("xla", "native"),
        ("tflite", "py_function_numpy"),
        ("tflite", "native"),
    ]
    assert len(started) == 2
