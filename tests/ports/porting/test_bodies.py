"""Bodies whose numbers, errors or arrays are easily mistaken: their port does what NumPy does, or there is none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import mistakable_bodies
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.porting.module_text import import_text
from written_ports import difference, line_of, port_of, write_source

FLOATS = [np.array(one) for one in ([3.0, -1, 2], [-3.0, 1, -2], [1.0, 1, 2], [2.0, 0, 3], [0.0, np.nan, 0])]
INTEGERS = [np.array(one) for one in ([1, 2, 3], [0, 0, 0], [7, 5, 9], [4, -1, 6])]
BYTES = [np.array(one, np.uint8) for one in ([200, 10, 150], [20, 200, 150])]

INPUTS = {**dict.fromkeys(["zero_division"], INTEGERS), "int_or_float_scale": BYTES}
"""By the name of a body; of others, floats."""


BODIES = {
    name: body
    for name, body in vars(mistakable_bodies).items()
    if callable(body) and getattr(body, "__code__", None) and body.__code__.co_varnames[:1] == ("x",)
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(BODIES))
def test_a_port_is_never_wrong_in_silence(name: str) -> None:
    body, inputs = BODIES[name], INPUTS.get(name, FLOATS)
    try:
        port = tf.function(port_of(body, inputs[0]))
    except CannotPort:
        return
    for x in inputs:
        assert difference(port(x), body(x.copy())) == ""


def guarded(x: Any) -> Any:
    total = 0.0
    for i in range(len(x)):
        if not x[i] >= 0:
            total += i
        else:
            total += x[i]
    return total


def masked(x: Any) -> Any:
    valid = x > 0.5
    return np.where(~valid, 1.0, x), np.logical_not(x < 1), np.invert(x <= 2), ~(x != 2)


def listed(x: Any) -> Any:
    a = [1.1, 2.2]
    if x[0] > 0:
        a = [2.1, 3.3]
    b = [1.1, 2.2] if x[1] > 0 else [2.1, 3.3]
    return np.array(a), np.array(b)


@pytest.mark.parametrize("body", [guarded, masked, listed])
def test_a_port_is_right_for_other_inputs_than_its_example_too(body: Callable[[Any], Any]) -> None:
    """TensorFlow's optimizer of graphs makes `x < 0` of `not x >= 0`, and AutoGraph makes 1.1 a float32."""
    port = tf.function(port_of(body, FLOATS[0]))
    for x in FLOATS:
        assert difference(port(x), body(x.copy())) == ""


def require_equal(statements: str, inputs: Sequence[Any]) -> None:
    """Check that the port of a body, which was seen with the first input, gives what the body gives for each."""
    body = import_text("of_statements", f"import numpy as np\n\n\ndef body(x):\n    {statements}\n").body
    port = tf.function(port_of(body, inputs[0]))
    for x in inputs:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, of the median of nothing
            expected = body(x.copy())
        assert difference(port(x), expected) == ""


@pytest.mark.parametrize(
    "expression",
    [
        "np.deg2rad(x - 1)",
        "np.rad2deg(x if x[0] > 0 else x + 1)",
        "round(x.mean() - x[0], 2)",
        "sum(x, 1.0 if x[0] > 0 else 2.0)",
        "np.divide(x - 1, x + 1, out=np.zeros_like(x), where=x > 0)",
        "(x[2] if x[1] > 0 else x[1]) < x.mean() < x.max()",
        "(x[2] if x[1] > 0 else x[1]) < x[2] < x.max()",
        "x * ~(x[None] > 1)",
    ],
)
def test_operators_bind_in_a_port_as_they_do_in_the_body(expression: str) -> None:
    require_equal(f"return {expression}", FLOATS[:-1])


@pytest.mark.parametrize(
    "expression",
    [
        "x * (0.1 < np.sin(x[0]) < 0.9)",
        "x if -0.5 < np.sin(x[0]) <= 0.9 else x + 1",
        "np.divide(1, x, out=np.zeros_like(x), where=np.sin(x) > 0.1)",
    ],
)
def test_what_python_evaluates_once_is_evaluated_once(expression: str, tmp_path: Path) -> None:
    made = write_source(tmp_path, f"def body(x):\n    return {expression}\n", "np.arange(1.0, 4)")
    assert made.port.count("tf.sin(") == 1
    body = import_text("once", f"import numpy as np\n\n\ndef body(x):\n    return {expression}\n").body
    port = tf.function(import_text("once_ported", made.port).body)
    for x in FLOATS[:-1]:
        assert difference(port(x), body(x.copy())) == ""


EXACT = [np.array(one) for one in ([0.3, 9, 0.5], [10.0, 64, 1], [1e6, 4096, 2], [0.0, 0.05, 8], [1e3, 0.1, -1])]


@pytest.mark.parametrize(
    "statements",
    [
        "y = x * 1.0; y //= 0.1; return y",
        "y = x * 1.0; y[1:] //= 0.1; y[0] %= 0.3; return y",
        "y = x * 1.0; y[:2] %= np.array([0.3, 2.0]); total = np.zeros(3); total += x; total += y > 1; return y, total",
        "y = np.ones(3)\n    for _ in range(3):\n        y = np.log10(y + 1) * x\n    return y",
        "k = (x * 10).astype(np.int64); return 7 // (k - 10), 7 % (k - 10)",
        "return np.floor(np.log10(np.abs(x) + 0.0)), np.floor(np.log2(x[:2] + 0.0))",
        "return np.round(x, 1) == 0.3, np.round(x, 1) == 0.7",
        "best = 0.1\n    for i in range(3):\n        best = np.maximum(best, x[i])\n    return best",
        "z = np.full_like(x, 3); np.divide(1, x, out=z, where=x > 0.5); return z",
        "return np.median(x[x > 8]), np.nanmedian(x[x > 8])",
        "n = (x > 1).sum(); n += x.mean(); m = (x > 0).sum(); m *= 0.5; return n, m",
        "return x * (x.dtype.itemsize if x.dtype.kind == 'f' else 2)",
        "keep = x > 1; keep[0] = 1; return keep",
    ],
)
def test_what_is_exact_in_numpy_is_exact_in_a_graph(statements: str) -> None:
    require_equal(statements, EXACT)


@pytest.mark.parametrize("expression", ["np.max(x[x > 5])", "np.argmin(x[x > 5])", "max(x[x > 5].astype(np.int64))"])
def test_the_extreme_of_no_elements_is_an_error(expression: str) -> None:
    body = import_text("extreme", f"import numpy as np\n\n\ndef body(x):\n    return {expression}\n").body
    port = tf.function(port_of(body, EXACT[0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="no elements"):
        port(np.zeros(3))


def test_an_error_of_the_body_has_its_line(tmp_path: Path) -> None:
    source = (
        "def body(x):\n    n = int(x[0])\n    if type(n) is not int:\n        raise TypeError(n)\n    return x * n\n"
    )
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, source, "np.ones(3)")
    assert line_of(refused.value) == "raise TypeError(n)"


def extremes(x: Any) -> Any:
    return max(x[0], x[1]), min(x[0], x[1]), max(0.0, x[0]), min(x[1], 1.0)


def test_the_larger_of_two_numbers_is_pythons_where_one_is_nan() -> None:
    port = tf.function(port_of(extremes, np.ones(3)))
    for x in ([1.0, 3, 2], [np.nan, 1, 2], [1, np.nan, 2], [3, 2, np.nan]):
        array = np.array(x)
        assert difference(port(array), extremes(array)) == ""


TUPLES = [
    "x[np.nonzero(x > 3)]",
    "x[(x > 3).nonzero()]",
    "x[np.unravel_index(np.argmax(x), x.shape)] * x",
    "x[place]",
    "x[tuple(np.argwhere(x > 3)[0])] * x",
    "x[[0, -1]]",
    "x[[0, -1], [1, -2]]",
    "x[:, [-1, 0]]",
    "TABLE[np.unravel_index(np.argmax(x), (3, 3))] + x",
]
WRITES = [
    "x[np.nonzero(x > 3)] = 1",
    "x[np.where(x > 3)] += 1",
    "x[np.nonzero(x > 3)] = x[x > 3] * 2",
    "x[np.unravel_index(np.argmax(x), x.shape)] = -1",
    "x[place] = -1",
    "x[[0, -1]] = 5",
    "np.add.at(x, np.nonzero(x > 3), 1.0)",
    "several = np.argsort(x[0]), np.argsort(x[1])\n    np.add.at(x, several, x[2])",
]
OF_TUPLES = """import numpy as np

TABLE = np.arange(30.0).reshape(5, 6)


def body(x):
    place = (np.argmax(x[0]), -1)
    x = x.copy()
    {line}
"""


@pytest.mark.parametrize("line", [*(f"return {one}" for one in TUPLES), *(f"{one}\n    return x" for one in WRITES)])
def test_a_tuple_of_indices_has_one_for_each_axis_and_indices_count_from_the_end(line: str) -> None:
    body = import_text("of_tuples", OF_TUPLES.format(line=line)).body
    port = port_of(body, np.arange(9.0).reshape(3, 3))
    for x in (np.arange(9.0).reshape(3, 3), np.arange(9.0)[::-1].reshape(3, 3).copy()):
        assert difference(port(x), body(x.copy())) == ""


def test_places_of_which_a_tuple_names_two_twice_are_an_error() -> None:
    line = "places = np.argsort(x[0]) // 2, np.argsort(x[1])\n    x[places] = x[2]\n    return x"
    body = import_text("of_tuples", OF_TUPLES.format(line=line)).body
    port = tf.function(port_of(body, np.arange(9.0).reshape(3, 3)))
    x = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 2.0], [5.0, 6.0, 7.0]])
    assert difference(port(x), body(x.copy())) == ""
    x[1] = [1.0, 1.0, 0.0]  # sorted: 2, 0, 1, beside 0, 0, 1
    assert difference(port(x), body(x.copy())) == ""
    line = line.replace("argsort(x[1])", "argsort(x[1]) // 3")
    port = tf.function(port_of(import_text("of_tuples", OF_TUPLES.format(line=line)).body, x))
    with pytest.raises(tf.errors.InvalidArgumentError):
        port(x)


def test_a_list_without_items_has_the_dtype_of_the_array_that_is_made_of_it() -> None:
    def body(x: Any) -> Any:
        found = []
        for row in x:
            found.append(np.argmax(row))  # noqa: PERF401 - the list that is written
        return np.array(found, dtype=np.int64)

    port = port_of(body, np.ones((2, 3)))
    assert difference(port(np.ones((0, 3))), np.zeros(0, np.int64)) == ""


@pytest.mark.parametrize("expression", ["found is True", "type(x) is np.ndarray", "isinstance(x, np.ndarray)"])
def test_what_a_value_is_in_python_is_refused(expression: str, tmp_path: Path) -> None:
    source = f"def body(x):\n    found = x[0] > 0\n    if {expression}:\n        return x\n    return x * 2\n"
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, source, "np.ones(3)")
    assert line_of(refused.value) == f"if {expression}:"
