"""Each change that is offered for a port that failed is applied to the body, and then the port is right."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopbench import OwnOp
from pyopbench.model.case import CHANGES, Failure, SourceChange
from pyopbench.model.errors import Unsupported
from pyopbench.model.failures import failure_of
from pyopbench.model.modules import load_file
from pyopbench.ops.own.complete import complete
from pyopbench.ops.own.explain import SAID
from pyopbench.worker.prepare.prepare import prepare
from small_ops import case_of, put_in_place

X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -2.0]])

BODIES: dict[str, tuple[str, str, str, str]] = {
    "method": ("tnp", "return x.mean(axis=1)", "x.mean(axis=1)", "np.mean(x, axis=1)"),
    "method of another name": ("tnp", "return np.exp(x).T", "np.exp(x).T", "np.transpose(np.exp(x))"),
    "method with a dtype": ("tnp", "return x.astype(np.int32)", "x.astype(np.int32)", "np.array(x, dtype=np.int32)"),
    "method that copies": ("tnp", "return x.copy() * 2", "x.copy()", "np.copy(x)"),
    "length": ("tnp", "return x / len(x)", "len(x)", "x.shape[0]"),
    "rows": (
        "tnp",
        "total = 0.0\nfor row in x:\n    total = total + np.max(row)\nreturn total",
        "for row in x:",
        "for row in [x[i] for i in range(x.shape[0])]:",
    ),
    "rows of two": ("tnp", "a, b = x\nreturn a * b", "a, b = x", "a, b = x[0], x[1]"),
    "masked": ("tnp", "y = x * 2\ny[y < 0] = 0.0\nreturn y", "y[y < 0] = 0.0", "y = np.where(y < 0, 0.0, y)"),
    "masked in Keras": (
        "keras_ops", "y = x * 2\ny[y < 0] = 0.0\nreturn y", "y[y < 0] = 0.0", "y = np.where(y < 0, 0.0, y)",
    ),
}  # fmt: skip
"""For each change the port, the body, and what is replaced by what."""


def body_of(folder: Path, name: str, lines: str) -> Any:
    source = "import numpy as np\n\n\ndef body(x):\n" + "".join(f"    {line}\n" for line in lines.splitlines())
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    module = load_file(path, name)
    return module.body


def failure_at(monkeypatch: pytest.MonkeyPatch, body: Any, variant: str) -> Failure | None:
    """Return how a port of a body fails; None where it is right."""
    op = complete(OwnOp(inputs=(X.copy(),), numpy=body, differentiable=()), "made", Path())
    put_in_place(monkeypatch, op)
    case = replace(case_of(variant), size=X.size)
    try:
        prepare(case)
    except Unsupported as error:
        return failure_of(case, error, None)
    return None


@pytest.mark.parametrize(("variant", "lines", "now", "then"), BODIES.values(), ids=[*BODIES])
def test_a_change_that_is_offered_makes_the_port_right(
    variant: str, lines: str, now: str, then: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    failed = failure_at(monkeypatch, body_of(tmp_path, "as_it_stands", lines), variant)
    assert failed is not None
    assert failed.change is not None, failed.reason
    assert (failed.change.now, failed.change.then) == (now, then)
    assert failed.change.kind in CHANGES
    changed = lines.replace(failed.change.now, failed.change.then)
    assert changed.splitlines()[failed.change.line - 5] != lines.splitlines()[failed.change.line - 5]
    ast.parse("def body(x):\n" + "".join(f"    {line}\n" for line in changed.splitlines()))
    again = failure_at(monkeypatch, body_of(tmp_path, "changed", changed), variant)
    assert again is None, again


def test_every_kind_is_shown_to_work() -> None:
    assert {name.split(" ")[0] for name in BODIES} == {*SAID}


@pytest.mark.parametrize(
    ("variant", "lines"),
    [
        ("tnp", "y = x * 2\ny[np.argmax(x[:, 0])] = 0.0\nreturn y"),  # no mask of the shape of the array
        ("tnp", "return x.tolist()"),  # nothing of that name
        ("njit", "return np.ma.masked_equal(x, 0)"),
    ],
)
def test_no_change_is_offered_where_none_is_known_to_work(
    variant: str, lines: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    failed = failure_at(monkeypatch, body_of(tmp_path, "unknown", lines), variant)
    assert failed is not None
    assert failed.change is None


def test_a_failure_is_the_same_after_it_was_stored() -> None:
    change = SourceChange("length", 3, "len(x)", "x.shape[0]")
    failure = Failure("a/b/c/forward/call/float32/1/cpu", "unsupported", "no", 0, change)
    stored = {"case": failure.case, "status": "unsupported", "reason": "no", "launch": 0, "change": vars(change)}
    assert Failure.from_stored(stored) == failure
    assert Failure.from_stored({**stored, "change": None}).change is None
    del stored["change"]  # of an earlier pyopbench
    assert Failure.from_stored(stored).change is None
