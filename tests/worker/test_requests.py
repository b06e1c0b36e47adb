"""The measuring process: what it answers, and that whatever a body does ends in a row with a reason.

Most is asked of the handlers in this process; bodies that end or hang a process are in test_worker_process.py and
test_cli.py.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from extra_cases import SIZE, case, ignore
from places import EXTRAS
from pyopbench.model.child_process import Marker
from pyopbench.model.discover import PATH_VARIABLE
from pyopbench.ops.kernels.compiler import compiler
from pyopbench.ops.load import load_op
from pyopbench.worker import requests
from small_ops import differing


@pytest.fixture(autouse=True)
def _extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PATH_VARIABLE, str(EXTRAS))


def verify(key: str, *, finite_differences: bool = False) -> dict[str, Any]:
    return requests.verify({"case": key, "finite_differences": finite_differences}, ignore)


def failure_of(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    assert "checked" not in answer
    return dict(answer["failure"])


def expected_gradient() -> Any:
    """The gradient of -x, from what flows into it: minus that."""
    rng = np.random.default_rng([1, SIZE, *b"negate"])
    return -rng.uniform(0.5, 1.5, SIZE).astype("float32")


def test_a_body_that_raises_is_a_failure_with_its_message() -> None:
    failure = failure_of(verify(case("raising")))
    assert failure["status"] == "raised"
    assert failure["reason"] == "ValueError: raised by the body"


@pytest.mark.parametrize("gradient", ["custom_gradient", "override_map"])
@pytest.mark.parametrize("direction", ["backward", "forward_backward"])
def test_a_planted_wrong_gradient_is_found_with_index_expected_and_got(direction: str, gradient: str) -> None:
    failure = failure_of(verify(case("wrong_gradient", direction, gradient)))
    right = expected_gradient()
    wrong = np.where(np.arange(SIZE) == SIZE - 1, right * np.float32(1.01), right)
    tolerance = load_op("negate").tolerance["float32"]
    assert failure["status"] == "wrong"
    assert failure["case"] == case("wrong_gradient", direction, gradient)
    assert failure["reason"] == differing("gradient of input 0", wrong, right, tolerance)
    assert np.flatnonzero(wrong != right).tolist() == [SIZE - 1], "the place that is told"


def test_a_wrong_reference_is_found_by_finite_differences_alone() -> None:
    key = case("numpy_function", "backward", op="misderived")
    assert "checked" in verify(key)
    failure = failure_of(verify(key, finite_differences=True))
    assert failure["status"] == "wrong"
    assert failure["reason"].startswith("gradient of input 0 against finite differences")


def test_requests_are_answered_line_by_line_until_the_parent_is_gone() -> None:
    request = {"do": "verify", "case": case("native"), "finite_differences": False}
    answers, log = io.StringIO(), io.StringIO()
    marker = Marker()
    requests.serve(io.StringIO(f"{json.dumps(request)}\n" * 2), requests.ParentPipe(answers, log, marker))
    assert marker.get() == case("native")
    events = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert [event["event"] for event in events] == ["ready", "at", "done", "at", "done"]
    ready = events[0]["environment"]
    assert ready["tensorflow"] == tf.__version__
    assert ready["numpy"] == np.__version__
    assert {"pid", "python", "cpu"} <= set(ready)
    assert events[2]["checked"]["values"] == 0.0
    assert log.getvalue() == f"{case('native')}\n" * 2


def why_not_of() -> dict[str, Any]:
    return dict(requests.examine({}, ignore)["why_not"])


@pytest.fixture
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "library_of", lambda source: source.with_suffix(".so"))


@pytest.mark.usefixtures("_compiled")
def test_an_examination_finds_what_is_here() -> None:
    answer = requests.examine({}, ignore)
    assert answer["why_not"]["kernels"] is None
    assert answer["versions"]["kernels"] == compiler()[1]


@pytest.mark.parametrize(
    ("compiler_program", "said"), [("no-such-compiler", "CXX=no-such-compiler"), ("false", "determinant.cc")]
)
def test_an_examination_finds_that_no_kernel_compiles(
    compiler_program: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler.cache_clear()
    monkeypatch.setenv("CXX", compiler_program)
    assert said in str(why_not_of()["kernels"])
    compiler.cache_clear()
