"""Why a port that nobody wrote does not work, with the line of the user's file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import OwnOp
from pyopbench.model.errors import Unsupported
from pyopbench.ops.own.complete import complete
from pyopbench.ops.own.explain import explain, place_in, place_of
from pyopbench.ops.port_file import PORTS
from pyopbench.ports.extract import module as extracted_module
from pyopbench.worker.prepare.prepare import prepare
from small_ops import case_of, put_in_place, square

HERE = Path(__file__)


def determinant(x: Any) -> Any:
    return np.linalg.slogdet(x)[1]


def masked(x: Any) -> Any:
    return np.ma.masked_less(x, 0.5)


def line_of(text: str) -> int:
    lines = HERE.read_text(encoding="utf-8").splitlines()
    return lines.index(text) + 1


@pytest.mark.parametrize(
    ("body", "variant", "says", "line"),
    [
        (determinant, "numba_op", "slogdet() only supported on 2-D arrays", "    return np.linalg.slogdet(x)[1]"),
        (masked, "traced", "masked_less", "    return np.ma.masked_less(x, 0.5)"),
    ],
)
def test_a_port_that_fails_says_why_and_where(
    body: Any, variant: str, says: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = (np.ones((2, 3, 3)) + np.eye(3),) if body is determinant else (np.ones(3),)
    op = complete(OwnOp(inputs=inputs, numpy=body), "made", HERE.parent)
    put_in_place(monkeypatch, op)
    with pytest.raises(Unsupported) as refused:
        prepare(replace(case_of(variant), size=op.sizes[0]))
    assert says in str(refused.value)
    assert f", {HERE.name} line {line_of(line)}" in str(refused.value)


def correlated(x: Any) -> Any:
    y = np.correlate(x, x)
    return y.sum()


@pytest.mark.parametrize("autograph", [True, False])
def test_what_a_function_on_tensors_refuses_while_the_port_runs_has_the_line(
    autograph: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that was copied from a program into an op file is told as that of the program."""
    op = complete(OwnOp(inputs=(np.ones(5),), numpy=correlated), "made", HERE.parent)
    port = tf.function(PORTS.call_of(op, "traced", "float64"), autograph=autograph)
    with pytest.raises(NotImplementedError) as refused:
        port.get_concrete_function(tf.TensorSpec([None], tf.float64))
    line = line_of("    y = np.correlate(x, x)")
    assert place_of(refused.value, op) == (str(HERE), line)
    monkeypatch.setattr(extracted_module, "_COPIED", {})
    extracted_module.register_copied(str(HERE), [(line, 1, "program.py", 31)])
    assert place_of(refused.value, op) == ("program.py", 31)


def test_ops_that_are_not_the_users_keep_their_words() -> None:
    assert explain(ValueError("as it is"), square()) == "ValueError: as it is"


def test_the_scope_of_a_copy_is_not_named() -> None:
    """It differs from graph to graph."""
    op = complete(OwnOp(inputs=(np.eye(3),), numpy=determinant), "made", HERE.parent)
    assert "pyopbench" not in explain(ValueError("{{node pyopbench10_0/MatMul}} is no square"), op)


def test_a_place_is_found_in_a_message_too() -> None:
    quoted = ValueError('in user code:\n\n    File "/a/mine.py", line 7, in f  *\n        x\n\n    ValueError: no\n')
    numba = ValueError('Failed\n\nFile "../../a/mine.py", line 9:\ndef f(x):\n')
    assert place_in(quoted, ["/a/mine.py"]) == ("/a/mine.py", 7)
    assert place_in(numba, ["/a/mine.py"]) == ("/a/mine.py", 9)
    assert place_in(quoted, ["/a/other.py"]) is None
