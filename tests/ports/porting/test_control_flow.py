"""Ports of bodies whose course depends on values: what is written passes its own test, and the rest is refused."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.files import load_file
from pyopbench.model.syntax import number_of
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.porting.module_text import import_text
from pyopbench.ports.porting.observations import TENSOR
from pyopbench.ports.porting.observe import MOST_STEPS, observe
from written_ports import line_of, lines_of, port_of, run_its_test, write_source

VECTOR = "rng.random(6)"


BODIES = {
    "an early return": "if x.sum() > 100:\n        return 0\n    return x.max()",
    "continue in a loop of known length": (
        "total = 0\n    for v in x:\n        if v < 0.1:\n            continue\n        total += v\n    return total"
    ),
    "a name that only a loop binds": (
        "n = 0\n    while n < 5 and x[n] < 0.9:\n        last = x[n] * 2\n        n += 1\n    return last * n"
    ),
    "elements of an unknown number": "s = 0.0\n    for v in x[x > 0.3]:\n        s += v\n    return s",
    "an array that grows": (
        "y, i = x[:1], 0\n    while x[i] < 0.9 and i < 5:\n        y = np.append(y, x[i])\n        i += 1\n    return y"
    ),
    "a list that grows": (
        "kept = []\n    for i in range(len(x)):\n        if x[i] > 0.3:\n            kept.append(i)\n"
        "    return x[np.array(kept)] * len(kept)"
    ),
    "a list that begins with an element": (
        "kept = [x[0]]\n    for v in x:\n        if v > 0.3:\n            kept.append(v)\n    return np.mean(kept)"
    ),
    "a number of Python's times one of NumPy's": (
        "s = float(x[0]) * np.sqrt(2.0)\n    both = (float(x[1]) > 0.5) & (float(x[2]) > 0.5)\n"
        "    return x.astype(np.float32) * s, x > 0.5 if both else x < 0.5, np.array(both)"
    ),
    "numbers as conditions": "s = 1.0\n    if np.floor(x[0] * 2) and x[1]:\n        s = 2.0\n    return x * s",
    "a shape that is an input": "return np.zeros(np.floor(x[:2] * 3).astype(int)) + 1.0",
    "rounded truths": "return np.round(x > 0.5) + x",
    "a number between others": "n = (x * 9).astype(int)\n    return x * (0 < n.sum() < 2.5)",
    "not both": "return x + 1 if not (x[0] > 0.1 and x[1] > 0.2) else x",
    "both and not": "s = 1.0\n    if x[0] > 0.1 and not (0.2 < x[1] < 0.7):\n        s = 2.0\n    return x * s",
    "elif with a name of its own": (
        "s = x.sum()\n    if s > 4:\n        k = 1\n    elif s > 3:\n        k = 2\n        w = 1.0\n"
        "    else:\n        k = 4\n    return k * x"
    ),
    "items that change places": (
        "x = x.copy()\n    for i in range(5):\n        if x[i] > x[i + 1]:\n"
        "            x[i], x[i + 1] = x[i + 1], x[i]\n    return x"
    ),
    "a flag of Python's bool and NumPy's": (
        "ok = bool(x[0] > 0.5)\n    for i in range(3):\n        if ok:\n            x = x + 1\n"
        "        ok = np.any(x > 2)\n    return x * 1.0"
    ),
    "a way behind two decisions that no example takes": (
        "a = x.astype(np.float32)\n    if a.sum() < 90:\n        y = a * 2\n    elif a.sum() < 99:\n        y = a * 3\n"
        "    else:\n        y = (np.linspace(0, 1, 6) - a).astype(np.float32)\n    return y"
    ),
    "a number that one of two functions returns": (
        "def low(v):\n        return v * 2, 0.1\n\n    def high(v):\n        if v[0] > 0.5:\n            kind = 0.3\n"
        "        else:\n            kind = 0.7\n        return v * 3, kind\n\n    if x.sum() < 3:\n"
        "        y, kind = low(x)\n    else:\n        y, kind = high(x)\n    return y * kind"
    ),
    "a raise that guards": "if x.sum() < 0:\n        raise ValueError('negative')\n    return x * 2",
    "an assertion": "assert x.min() >= 0, 'negative'\n    return x * 2",
    "a tuple that is carried": (
        "at, n = (0, 0), 0\n    while n < 5 and x[n] < 0.9:\n        at = (at[0] + 1, at[1] + 2)\n        n += 1\n"
        "    return x * (at[0] + at[1])"
    ),
}


@pytest.mark.parametrize("kind", BODIES)
def test_what_values_decide_is_written(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_its_test(write_source(tmp_path, f"def body(x):\n    {BODIES[kind]}\n", VECTOR), tmp_path, monkeypatch)


def test_a_loop_of_known_length_stays_pythons_and_a_long_one_goes_over_a_range_of_the_graph(tmp_path: Path) -> None:
    source = "def body(x):\n    s = 0.0\n    for i in range({}):\n        s = s * 0.5 + x[i % 6]\n    return s\n"
    short, long = (write_source(tmp_path, source.format(rounds), VECTOR).port for rounds in (20, 2000))
    assert {"    s = 0.0", "    for i in range(20):"} <= lines_of(short)
    assert {"    s = tf.constant(0.0, tf.float64)", "    for i in tf.range(2000, dtype=tf.int64):"} <= lines_of(long)


def test_a_loop_over_a_range_that_ends_before_it_begins_has_no_rounds() -> None:
    def body(x: Any) -> Any:
        total = 0.0
        for i in range(len(x) - 5):
            total += x[i]
        return total

    port = tf.function(port_of(body, np.ones(2000)))
    assert [float(port(np.ones(size))) for size in (3, 7)] == [0, 2]


@pytest.mark.parametrize("bounds", ["int(x[0]) - 5", "1, int(x[0]) - 5", "9, int(x[0]), -3", "0, 9, int(x[0])"])
def test_bounds_of_a_range_may_depend_on_values(bounds: str) -> None:
    source = f"def body(x):\n    total = 0\n    for i in range({bounds}):\n        total += i\n    return total\n"
    body = import_text("ranging", source).body
    port = tf.function(port_of(body, np.array([8.0])))
    for first in (2.0, 8.0, 12.0):
        assert int(port(np.array([first]))) == body(np.array([first]))


def test_a_loop_with_conditions_on_values_is_unrolled_for_fewer_rounds(tmp_path: Path) -> None:
    """A condition of the graph takes several times as long to trace as an operation."""
    plain = "def body(x):\n    s = 0.0\n    for i in range({}):\n        s = s * 0.5 + x[i % 6]\n    return s\n"
    deciding = plain.replace("s = s", "if x[i % 6] > 0.5:\n            s = s")
    for source, is_unrolled in ((plain, True), (deciding, False)):
        made = write_source(tmp_path, source.format(200), VECTOR).port
        assert ({"    for i in range(200):"} <= lines_of(made)) == is_unrolled


@pytest.mark.parametrize(
    ("statements", "line"),
    [
        ("a = b = np.zeros(3)\n    a[0] = x[0]\n    return b", "return b"),
        ("x = x.copy()\n    v = x[1:]\n    v[0] = 5\n    return x", "return x"),
        ("x = x.copy()\n    v = x[1:]\n    x[2] = 5\n    return v", "return v"),
        ("s = 2 if False else 3\n    if x.sum() > 1:\n        s = 0.5\n    return s * x", "if x.sum() > 1:"),
        ("try:\n        y = 1 / x.sum()\n    except ZeroDivisionError:\n        y = 0.0\n    return y", "try:"),
        ("d = {'a': 0.0}\n    if x[0] > 0.5:\n        d['a'] += x[0]\n    return x", "d['a'] += x[0]"),
        ("global SUM\n    SUM = x.sum()\n    return x", "SUM = x.sum()"),
        ("if (n := x.sum()) > 1:\n        return x * n\n    return x", "if (n := x.sum()) > 1:"),
        ("return np.maximum.accumulate(x)", "return np.maximum.accumulate(x)"),
        ("x = x.copy()\n    np.place(x, x > 0.5, 0)\n    return x", "np.place(x, x > 0.5, 0)"),
        ("return x * (int(x[0] * 9) in (1, 2))", "return x * (int(x[0] * 9) in (1, 2))"),
        ("y = x.reshape(1, 2, 3, 1)\n    return y[:, np.array([1, 0]), :, 0]", "return y[:, np.array([1, 0]), :, 0]"),
    ],
)
def test_what_cannot_be_the_same_is_refused_with_its_line(statements: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, f"def body(x):\n    {statements}\n", VECTOR)
    assert line_of(caught.value) == line


CHOSEN = "y = []\n    for v in x:\n        if v > 0.5:\n            y.append(v)\n"
LEFT_TO_NUMBA = {
    "break": "for v in x:\n        if v > 0.5:\n            break\n    return v",
    "return v": "for v in x:\n        if v > 0.5:\n            return v\n    return x[0]",
    "continue": (
        "n = 0\n    while n < x.sum():\n        n += 1\n        if n > 2:\n            continue\n    return x * n"
    ),
    "for i, v in enumerate(x[x > 0.3]):": "for i, v in enumerate(x[x > 0.3]):\n        x = x * i\n    return x",
    "while x[0] < 2:": "while x[0] < 2:\n        x = x + 1\n    else:\n        x = x * 2\n    return x",
    "y = [v for v in x if v > 0.5]": "y = [v for v in x if v > 0.5]\n    return np.array(y)",
    "y.pop()": f"{CHOSEN}            y.pop()\n    return np.array(y)",
    "y += [v]": f"{CHOSEN}            y += [v]\n    return np.array(y)",
    "y.extend([v, v])": f"{CHOSEN}            y.extend([v, v])\n    return np.array(y)",
    "y.insert(0, v)": CHOSEN.replace("append(", "insert(0, ") + "    return np.array(y)",
    "return y[-1]": f"{CHOSEN}    return y[-1]",
    "if y:": f"{CHOSEN}    if y:\n        x = x * 2\n    return x",
}


@pytest.mark.parametrize("line", LEFT_TO_NUMBA)
def test_what_only_a_compiled_loop_does_is_left_to_numba(line: str, tmp_path: Path) -> None:
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, f"def body(x):\n    {LEFT_TO_NUMBA[line]}\n", VECTOR)
    assert line_of(caught.value) == line
    assert "numba_op" in caught.value.fix


def _observed(folder: Path, source: str, *example: object) -> dict[str, set[str]]:
    path = folder / f"observed_{abs(hash(source))}.py"
    path.write_text(f"import numpy as np\n\n\n{source}", encoding="utf-8")
    module = load_file(path, path.stem)
    found = observe(module.body, [example])
    kinds: dict[str, set[str]] = {}
    for _, function in found.functions.values():
        for node in ast.walk(function):
            if isinstance(node, ast.expr):
                kinds.setdefault(ast.unparse(node), set()).update(
                    one.kind for one in found.seen.get(number_of(node), ())
                )
    return kinds


@pytest.mark.parametrize(
    "expression",
    [
        "int(x[0] * 9)", "len(x[x > 0.5])", "max(1.0, x[0])", "0.5 * int(n)", "[1, 2, 3][int(n)]", "not x[0]",
        "sum([v for v in x])", "np.arange(n)", "x.shape[0] * n", "x[0] > 0.5 and n", "2 if x[0] > 0.5 else 3",
        "sorted([x[0], x[1]])[0]", "round(float(x[0]), 2)", "int(n) in (1, 2)", "math.floor(x[0])",
    ],
)  # fmt: skip
def test_what_depends_on_an_input_is_a_tensor(expression: str, tmp_path: Path) -> None:
    source = f"import math\n\n\ndef body(x, n):\n    y = {expression}\n    return y\n"
    kinds = _observed(tmp_path, source, np.linspace(0.2, 0.9, 5), np.int64(2))
    assert kinds["y"] - {"other"} == {TENSOR}


@pytest.mark.parametrize("expression", ["len(x)", "x.shape[0] * 2", "np.zeros(len(x))", "np.zeros_like(x).sum()"])
def test_what_shapes_say_is_none(expression: str, tmp_path: Path) -> None:
    kinds = _observed(tmp_path, f"def body(x):\n    y = {expression}\n    return y\n", np.ones(5))
    assert TENSOR not in kinds["y"]


@pytest.mark.nightly
def test_long_loops_are_not_run_to_the_end(tmp_path: Path) -> None:
    source = "def body(x):\n    s = x[0]\n    for i in range(10**9):\n        s = s + i\n    return s * 3\n"
    assert MOST_STEPS < 10**9
    assert _observed(tmp_path, source, np.ones(3))["s * 3"] == {TENSOR}
