"""Callbacks get the memory of tensors: a written one copies what its body may write to, and its test would notice."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.files import load_file
from pyopbench.model.variant import BATCHED, WRITABLE
from pyopbench.ports.extract.definitions import CannotPort
from written_ports import Ported, run_its_test, write, write_source

VECTOR = "rng.random(5)"


def copied(made: Ported) -> list[int]:
    """Return the positions of the inputs that a port behind a callback copies."""
    found = re.search(r"np\.array\(one\) if place in \{(.*?)\}", made.port)
    return [] if found is None else [int(one) for one in found[1].split(",")]


def without_copies(made: Ported) -> Ported:
    """Return a port to Numba that copies nothing."""
    calls = re.compile(r"^    (return|found =) \w+\(.*\.copy\(\).*$", re.MULTILINE)  # of the body, and of its gradient
    assert calls.search(made.port)
    return made.with_text(calls.sub(lambda call: call[0].replace(".copy()", ""), made.port))


def test_the_test_of_a_port_is_about_the_tensors_and_not_about_what_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    made = write_source(tmp_path, "def body(x):\n    x[0] = 0\n    return x[1:] * 2\n", VECTOR, to="numba_op")
    with pytest.raises(AssertionError, match="written to its arguments"):
        run_its_test(without_copies(made), tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("statements", "positions"),
    [
        ("x[np.isnan(x)] = 0\n    return x + y", [0]),
        ("if x.sum() > 100:\n        y[0] = 1\n    return x + y", [0, 1]),
        ("if x.sum() > 100:\n        y += 1\n    return x + y", [0, 1]),
        ("if x.sum() > 100:\n        x.sort()\n    return x + y", [0, 1]),
        ("if x.sum() > 100:\n        np.add(x, 1, x)\n    return x + y", [0, 1]),
        ("if x.sum() > 100:\n        np.add(x, 1, out=y)\n    return x + y", [0, 1]),
        ("if x.sum() > 100:\n        np.add.at(y, [0], 1)\n    return x + y", [0, 1]),
        ("a, b = y[1:], x.copy()\n    if x.sum() > 100:\n        a[0] = 1\n        b[0] = 1\n    return x + y", [0, 1]),
        ("for i in range(len(x)):\n        if x[i] > 100:\n            x[i] = 100\n    return x + y", [0, 1]),
        ("if x.sum() > 100:\n        write(1.0, y)\n    return x + y", [0, 1]),
        ("z = (1.0, y)\n    if x.sum() > 100:\n        write(*z)\n    return x + y", [0, 1]),
        ("if x.sum() > 100:\n        x = x.copy()\n    x[0] = 1\n    return x + y", [0, 1]),
        ("x = x.copy()\n    x[0] = 1\n    y = y * 2\n    y += 1\n    return x + y", []),
        ("z = np.zeros_like(x)\n    z[0] = y[0]\n    return x.reshape(-1) + z", []),
    ],
)
def test_inputs_that_may_be_written_to_are_copied_and_no_others(
    statements: str, positions: list[int], tmp_path: Path
) -> None:
    """All are copied where the body writes to anything, and the examples do not reach all of it."""
    source = f"def write(value, to):\n    to[0] = value\n\n\ndef body(x, y):\n    {statements}\n"
    assert copied(write_source(tmp_path, source, VECTOR, VECTOR, to="numpy_whole")) == positions


WITH_GRADIENT = """
from pyopbench import OwnOp


def body(x):
    return x * 3


def gradient(inputs, outputs, output_gradients):
    (slope,) = output_gradients
    slope *= 3
    return slope


def inputs(size, rng):
    return (rng.random(size),)


OP = OwnOp(inputs=inputs, numpy=body, numpy_gradient=gradient, sizes=(3, 4), differentiable=(0,))
"""


def test_a_gradient_that_writes_to_what_it_is_given_gets_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    (tmp_path / "triple.py").write_text(WITH_GRADIENT, encoding="utf-8")
    made = write(str(tmp_path / "triple.py"), to="numba_op")
    assert "test_gradient" in run_its_test(made, tmp_path, monkeypatch)
    with pytest.raises(AssertionError, match="written to its arguments"):
        run_its_test(without_copies(made), tmp_path, monkeypatch)


IN_PLACE = {"x[x < 0] = 0\n    return x": lambda x: np.maximum(x, 0), "x *= 2\n    return x": lambda x: x * 2}
"""Statements that write into the input, and what is returned then."""


@pytest.mark.parametrize("statements", IN_PLACE)
@pytest.mark.parametrize("to", WRITABLE)
def test_a_tensor_that_is_used_again_keeps_its_values(to: str, statements: str, tmp_path: Path) -> None:
    """Whatever a port is, it is refused, an error, or right next to other uses of the same tensor."""
    if to.startswith("numba_op"):
        pytest.importorskip("numba")
    try:
        made = write_source(tmp_path, f"def body(x):\n    {statements}\n", VECTOR, to=to)
    except CannotPort:
        return
    path = tmp_path / "of_writing.py"
    path.write_text(made.port, encoding="utf-8")
    module = load_file(path, "of_writing")
    port = getattr(module, made.module.function)
    array = np.random.default_rng(2).normal(size=(5, 5) if to in BATCHED else 5)
    given = tf.constant(array.copy())

    def twice(x: Any) -> Any:
        x = x + 0.0  # in the memory of the graph
        return port(x), x, port(x) + x

    found = [one.numpy() for one in tf.function(twice)(given)]
    expected = IN_PLACE[statements](array)
    for one, other in zip([*found, given.numpy()], [expected, array, expected + array, array], strict=True):
        np.testing.assert_allclose(one, other)
