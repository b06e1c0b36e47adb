"""A port is measured as its file: written once in a process, or as it was given. Errors name the user's line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench import OwnOp
from pyopbench.model.op import Op
from pyopbench.ops.own.complete import complete
from pyopbench.ops.port_file import PortFile, PortFiles, lines_of_user
from pyopbench.ports.porting.port import write_port

X = np.array([0.5, -1.0, 2.0], np.float32)


def clipped(x: Any) -> Any:
    # what is above 1 is cut
    y = np.minimum(x, 1.0)
    return y * 2


def in_places(x: Any) -> Any:
    y = x + 1
    if y.ndim == 1:
        y = y * 3
    return np.sum(y)


def op_of(body: Any) -> Op:
    return complete(OwnOp(inputs=(X,), numpy=body), body.__name__, Path())


def test_it_is_the_text_that_is_written() -> None:
    op, ports = op_of(clipped), PortFiles()
    file = ports.file_of(op, "traced", "float32")
    assert file.text == write_port(op, "traced").text
    np.testing.assert_array_equal(ports.call_of(op, "traced", "float32")(tf.constant(X)), clipped(X))
    assert [ports.news(), ports.news()] == [[file], []]


def test_a_text_that_is_given_is_measured_in_its_place() -> None:
    op, ports = op_of(clipped), PortFiles()
    text = "def clipped(x):\n    return x + 40\n"
    ports.give([PortFile(op.name, "traced", "float32", text, "clipped", [], [])])  # type: ignore[arg-type]
    np.testing.assert_array_equal(ports.call_of(op, "traced", "float32")(tf.constant(X)), X + 40)
    assert ports.news() == []


def test_another_op_of_the_name_has_a_port_of_its_own() -> None:
    ports = PortFiles()
    first, second = op_of(clipped), complete(OwnOp(inputs=(X,), numpy=in_places), "clipped", Path())
    assert ports.file_of(first, "traced", "float32") != ports.file_of(second, "traced", "float32")


def test_lines_of_a_port_are_those_of_the_user() -> None:
    op = op_of(in_places)
    text = write_port(op, "traced").text
    begin = in_places.__code__.co_firstlineno
    found = {
        text.splitlines()[line - 1].strip(): number - begin
        for line, (_, number) in lines_of_user(text, op, "traced").items()
    }
    assert found["y = x + 1"] == 1
    assert found["y = y * 3"] == 3
    assert {place[0] for place in lines_of_user(text, op, "traced").values()} == {__file__}
