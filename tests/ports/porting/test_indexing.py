"""Parts of arrays that are read, written and looked up by values, and helpers that are called with several dtypes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.functions.basics import np_part_replaced
from pyopbench.ports.porting.module_text import import_text
from written_ports import difference, line_of, port_of, run_its_test, write_source

VECTOR, PLACES = "rng.random(6)", "np.array([0, 3, 0, 2, 3])"

BODIES = {
    "parts of an array": (
        (
            "y = np.zeros((4, 6, 3))\n    y[1:-1, at] = x[:3]\n    y[..., -1] = 2\n    y[-1] = x[0]\n"
            "    y[::-1, 0, at - 1:] += 1\n    y[:, ::2] *= 3\n    y[0, 0, 0] = 1\n    y[at:at + 2, 2:4, 1] = x[:2]\n"
            "    return y"
        ),
        "np.array(2, np.uint8)",
    ),
    "all of an array": ("x[:] = x[::-1] + at\n    x[...] *= 2\n    return x", "np.array(2)"),
    "a part with bounds that values choose": (
        (
            "n = int(x[0] * 3)\n    y = np.ones((6, 6))\n    y[n:n + 2, 1:n + 3] = 0\n    z = np.arange(8.0)[n:]\n"
            "    y[:2, n:n + 1] = z[:2, None]\n    return y * at"
        ),
        "np.array(2.0)",
    ),
    "bounds of unsigned integers": ("return x[at[0]:at[1]].sum() + x[at[0]]", "np.array([1, 4], np.uint32)"),
    "places of unsigned integers": ("return x[at]", "np.array([1, 4, 1], np.uint32)"),
    "places of bytes": ("return x[at] + x[at - 3]", "np.array([0, 1, 2], np.int8)"),
    "places that come twice": (
        (
            "y = x.copy()\n    y[at] = x[1:]\n    z = np.zeros((4, 3))\n    z[at[::-1], 1:] = x[1:, None] * 2\n"
            "    z[:, at - 1] = x[:5]\n    return y, z"
        ),
        PLACES,
    ),
    "several arrays of places": (
        (
            "y = np.zeros((6, 6, 2))\n    y[at, at[::-1]] = x[:4, None]\n    y[at.reshape(4, 1), at[:3]] = x[:2]\n"
            "    y[at, at * 0] = x[:2]\n    return y"
        ),
        "np.array([0, 3, 1, 5])",
    ),
    "lists of places of several shapes": (
        "y = x.reshape(2, 3)\n    return y[[0, 1], at], y[[[0], [-1]], at], y[[0, 1], [2, 0]] + y[[0, 0], at]",
        "np.array([1])",
    ),
    "places behind all other axes": (
        "z = x.reshape(1, 2, 3)\n    return z[..., 1:, at], z[..., at], z[:, at, 1:]",
        "np.array([1, 0])",
    ),
    "no places": ("x[at] = x[at] + 1\n    return x", "np.zeros(0, np.int64)"),
    "a dictionary": ("k = {3: 10, 5: 2}[int(at[1])]\n    return x * k + {2: 2.5}[at[3]]", PLACES),
    "a dictionary of rows": ("return np.array({0: (1, 2), 3: (5, 6)}[at[1]]) * x[:2]", PLACES),
    "outputs that are given": (
        (
            "y = np.zeros((2, 6))\n    np.multiply(x, at, out=y[1])\n    np.add(y, x, y)\n    np.sqrt(y, out=y)\n"
            "    for i in range(300):\n        np.maximum(y, x * i, out=y)\n        np.minimum(y, 2, out=y)\n"
            "    n = np.arange(6)\n    np.add(n, x > 0.5, out=n)\n    np.negative(x[0], out=y[0])\n    return y, n"
        ),
        "np.array(2.0)",
    ),
    "sums of what values choose": (
        "y = x[x > 0.2]\n    return sum(y < 0.5), sum(y, 2.0), any(y > at), all(y > 0), sum(x.reshape(2, 3))",
        "np.array(0.5)",
    ),
}


@pytest.mark.parametrize("kind", BODIES)
def test_what_values_choose_is_written(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body, at = BODIES[kind]
    made = write_source(tmp_path, f"def body(x, at):\n    {body}\n", VECTOR, at)
    assert "test_values" in run_its_test(made, tmp_path, monkeypatch)


def test_the_last_of_several_values_stays() -> None:
    def body(x: Any, at: Any) -> Any:
        x[at] = np.arange(4.0)
        return x

    port = tf.function(port_of(body, np.zeros(5), np.array([0, 1, 2, 3])))
    for at in ([3, 3, 3, 0], [-1, 4, 4, -1], [2, 1, 2, 1]):
        assert difference(port(np.ones(5), np.array(at)), body(np.ones(5), at)) == ""


def test_several_arrays_of_places_that_name_one_twice_are_an_error() -> None:
    def body(x: Any, at: Any) -> Any:
        x[at, at] = np.arange(3.0)
        return x

    port = tf.function(port_of(body, np.zeros((4, 4)), np.array([0, 1, 2])))
    for at in ([3, 2, 0], [-1, 1, 0]):
        assert difference(port(np.ones((4, 4)), np.array(at)), body(np.ones((4, 4)), at)) == ""
    with pytest.raises(tf.errors.InvalidArgumentError):
        port(np.ones((4, 4)), np.array([1, 2, 1]))


FROM_THE_END = {
    "a list of indices": "x[[0, n]] = x[[n, 0]]\n    y = [n, 1]\n    return x[y], x[[n, 2]]",
    "places that begin below 0": "return x[np.arange(n - 1, n + 1)], x[np.arange(0, n - 2, -1)]",
    "places that are written to": "y = np.zeros(3, np.int64)\n    y[1] = n\n    return x[y]",
    "places to add to": "np.add.at(x, at, 2.0)\n    np.subtract.at(x, (at,), x[:2])\n    return x",
    "places beside an array": (
        "y = np.stack([x, -x])\n    y[np.arange(2)[:, None], np.argsort(y, axis=1)] = x\n    return y * n"
    ),
}


@pytest.mark.parametrize("kind", FROM_THE_END)
def test_indices_that_the_example_does_not_have_count_from_the_end(kind: str) -> None:
    source = f"def body(x, at):\n    n = int(at[0])\n    {FROM_THE_END[kind]}\n"
    body = import_text("of_the_end", f"import numpy as np\n\n\n{source}").body
    port = tf.function(port_of(body, np.arange(6.0), np.array([2, 3])))
    for first in (2, 0, -1, -3):
        x, at = np.array([3.0, 1, 2, 5, 4, 0]), np.array([first, 1])
        assert difference(port(x, at), body(x.copy(), at)) == ""


def test_what_is_added_at_places_that_come_twice_is_that_of_the_last() -> None:
    source = "def body(x, at, y):\n    x = x.copy()\n    x[at] += y\n    return x\n"
    body = import_text("added", source).body
    x, at, y = np.ones((4, 2)), np.array([1, 3, 1]), np.arange(6.0).reshape(3, 2)
    given = tf.constant(y)
    with tf.GradientTape() as tape:
        tape.watch(given)
        found = port_of(body, x, at, y)(tf.constant(x), tf.constant(at), given)
    assert difference(found, body(x, at, y)) == ""
    assert difference(tape.gradient(found, given), np.array([[0.0, 0], [1, 1], [1, 1]])) == ""


def test_a_key_that_is_not_in_a_dictionary_is_an_error() -> None:
    port = tf.function(port_of(lambda at: np.add({1: 2.0, 3: 4.0}[int(at)], at), np.array(3)))
    assert port(np.array(1)) == 3.0
    with pytest.raises(tf.errors.InvalidArgumentError):
        port(np.array(2))


@pytest.mark.parametrize("statement", ["y = {0: 'a'}[at[0]]", "x[0] = np.add(x[1], 1, out=x[2])"])
def test_what_is_no_number_or_is_written_inside_of_an_expression_is_refused(statement: str, tmp_path: Path) -> None:
    source = f"def body(x, at):\n    y = 1\n    {statement}\n    return x * len(y) if y != 1 else x\n"
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, source, "rng.random((6, 6))", PLACES)
    assert line_of(refused.value) == statement


KEYS: dict[str, Callable[[Any], Any]] = {
    "number": lambda i: np.s_[i],
    "number and slice": lambda i: np.s_[i, 1:3],
    "slice and number": lambda i: np.s_[1:3, i],
    "rest": lambda i: np.s_[..., i],
    "backwards": lambda i: np.s_[::-1, i],
}


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("kind", KEYS)
def test_a_part_is_replaced_where_only_the_graph_knows_it(kind: str, *, is_compiled: bool) -> None:
    @tf.function(jit_compile=is_compiled, autograph=False)
    def replaced(tensor: Any, place: Any) -> Any:
        return np_part_replaced(tensor, KEYS[kind](place), -5.0)

    for place in (1, -1, -4):
        array = np.arange(20.0).reshape(4, 5)
        found = replaced(array.copy(), tf.constant(place, tf.int64))
        array[KEYS[kind](place)] = -5.0
        assert difference(found, array) == ""


HELPERS = """
def scale(x):
    return np.ones(x.shape, x.dtype) * np.max(x) * 0.5


def norm(x):
    # Of any dtype.
    return scale(x) / np.sqrt(np.sum(x * x))


def relu(x):
    return np.maximum(x, 0)


def body(x, y):
    return relu(norm(x)), norm(y), relu(norm(x * 2)), relu(y), scale(y[0])
"""


def test_a_helper_of_several_dtypes_and_ranks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, HELPERS.lstrip(), VECTOR, "rng.random((6, 2), np.float32)")
    assert "numba_op" in refused.value.fix
