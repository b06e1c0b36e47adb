"""Several names for the memory of one array that is written to: which bodies are refused, and which are ported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.porting.module_text import import_text
from written_ports import difference, line_of, port_of, write_source

VECTOR = "rng.random(6)"

TWO_NAMES = [
    "y = x.reshape(2, 3)", "y = x if x[0] > 0 else x * 2", "y = x.astype(np.float64, copy=False)", "y: np.ndarray = x",
    "y, z = np.split(x, 2)", "for z, y in enumerate([x[:3], x[3:]]):", "y = {'a': x}['a']",
    "y = [z for z in x.reshape(2, 3)][0]", "y = part(x)", "y, z = pair(1, x=x)", "y = of_lambda(x)",
    "y = np.add(x, 0, out=x)",
]  # fmt: skip

RETURNING = """import collections
import functools


def whole(x):
    return x


def part(x):
    z = whole(x)
    return z[1:] if x[0] > 0 else z[::-1]


def pair(n, x):
    return x[n:], n


of_lambda = lambda x: x[::2]


def rows(x):
    yield from x


def clip(x):
    x[x < 0] = 0


def shift(x, y):
    x[x < 0] = 0
    return y.sum()


def cut(x):
    x[x < 0] = 0
    return x[:3]


def clip_both(x, y):
    clip(x)
    for i in range(2):
        y[i] = x.sum() + i
    clip(x=y)


def sum_of(x):
    y = x * 1
    return shift(y, x)


def keep(items, x):
    items.append(x)


def double(x):
    x *= 2
    return x


FUNCTIONS = [double]


class Box:
    def __init__(self, x):
        self.x = x


Pair = collections.namedtuple("Pair", "x y")


@functools.cache
def table():
    return np.zeros(6)


"""


@pytest.mark.parametrize("line", TWO_NAMES)
def test_an_array_with_two_names_is_refused_even_if_no_example_writes_to_one(line: str, tmp_path: Path) -> None:
    is_loop = line.endswith(":")
    body = f"def body(x):\n    {line}\n    {'    ' * is_loop}y[y < 0] = 0\n    return "
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, f"{RETURNING}{body}x\n", VECTOR)
    assert line_of(refused.value) == "return x"
    if not is_loop and "out=" not in line:
        assert write_source(tmp_path, f"{RETURNING}{body}y\n", VECTOR).port


SHARED = {
    "a write that only smaller inputs reach": (
        "y = x * 2\n    z = y\n    if len(x) < 3:\n        y += x\n    return z + y"
    ),
    "two views": "y = x[:4]\n    z = x[3:]\n    y[y < 0] = 0\n    return z",
    "a name that is bound again in one branch only": (
        "y = x\n    if x[0] > 2:\n        y = y * 2\n    y[y < 0] = 0\n    return x"
    ),
    "a list that a loop adds to": (
        "y = []\n    for i in range(3):\n        x[x < -i] = i\n        y.append(x)\n    return np.stack(y)"
    ),
    "a row from the previous iteration": (
        "y, z = x * 1, 0.0\n    for i in range(3):\n        x[x < -i] = i\n"
        "        z += y[1]\n        y = x\n    return z"
    ),
    "rows that come later": (
        "z, y = 0.0, x.reshape(3, 2)\n    for i, r in enumerate(y):\n        z += r.sum()\n"
        "        y[2] = np.where(y[2] < -i, i, y[2])\n    return z"
    ),
    "a nested function": "def f(z):\n        z[z < 0] = 0\n\n    f(x)\n    return x",
    "a view that is sorted": "y = x[:1]\n    y.sort()\n    return x",
    "part of a selection by a mask": "x[x < 0][:1] = 5\n    return x",
    "rows of a generator function": "for y in rows(x.reshape(2, 3)):\n        y[y < 0] = 0\n    return x",
    "a default": "def f(n, z=x):\n        return z[n:]\n\n    y = f(1)\n    y[y < 0] = 0\n    return x",
    "a dict that is updated": "y = {}\n    y.update(a=x)\n    x[x < 0] = 0\n    return y['a']",
    "a list that a helper adds to": "y = []\n    keep(y, x)\n    x[x < 0] = 0\n    return y[0]",
    "an attribute that is doubled": "z = Box(x)\n    z.x *= 2\n    return x",
    "an item of a list that a loop writes to": "z = [x]\n    for y in z:\n        y[y < 0] = 0\n    return z[0]",
    "an array of any number of arguments": "f = lambda *a: a[0].sort()\n    f(x)\n    return x",
    "a sum of what a call writes to": "return x + cut(x).sum()",
    "a method of what its argument writes to": "y = x * 1\n    return y.clip(cut(y).sum(), 9)",
    "an array that is added to what a call writes to": "y = x * 1\n    y += cut(y).sum()\n    return y",
    "an item that is added to what a call writes to": "y = x * 1\n    y[:2] += cut(y).sum()\n    return y",
    "an array that is returned next to what writes to it": "y = x * 1\n    return y, cut(y)",
    "a part of a named tuple": "y, z = Pair(x, 1)\n    y[y < 0] = 0\n    return x",
    "a generator that is used later": "y = (z * 2 for z in [x])\n    x[x < 0] = 0\n    return next(y)",
    "a grid without copies": "y, z = np.meshgrid(x, x, copy=False)\n    x[x < 0] = 0\n    return y + z",
    "a constant array that a helper writes to": (
        "z, y = np.ones(6), x * 2\n    a = shift(z, z * 1)\n    b = shift(y, x)\n    return z * y * a * b"
    ),
    "two arguments of a helper": "y = x[:2]\n    return shift(x, y)",
    "an array in a cache": "y = table()\n    y[x < 0] = 1\n    return y + table()",
    "rows that a helper writes to": (
        "z, y = 0.0, x.reshape(3, 2) * 1\n    for r in y:\n        z += r.sum()\n        clip(y)\n    return z"
    ),
    "an array that a function of a list writes to": "y = FUNCTIONS[0](x) * 1\n    return x + y",
    "a replacement in a copy": "np.place(x[[0, 1]], x[[0, 1]] < 0, 9)\n    return x",
}

NOT_SHARED = {
    "twice the result of a helper": "y = whole(x) * 2\n    y[y < 0] = 0\n    return x + y",
    "halves": "y = x[:3]\n    z = x[3:]\n    y[y < 1] = 1\n    return y + z",
    "columns": "z = x.reshape(3, 2) * 1\n    y, z = z[:, 0], z[:, 1]\n    y *= 2\n    return y + z",
    "an item of a list": "y = [x[:3], x[3:]]\n    y[0] = np.maximum(y[0], 0)\n    return x, np.stack(y)",
    "a shape": "y = x.reshape(-1)\n    y[y < 0] = 0\n    return y.reshape(x.shape)",
    "sums by a matrix product": "y = np.einsum('ij->i', x.reshape(2, 3))\n    y[y < 0] = 0\n    return y + x[:2]",
    "arguments that are new arrays": "y = shift(x * 1, x * 2)\n    return y + x",
    "a generator of what it reads later": (
        "y = (x[i] * 2 for i in range(3))\n    x[x < 0] = 0\n    return [z for z in y]"
    ),
    "the other branch of an if": (
        "y = x\n    if x[0] > 0:\n        y[y < 0.5] = 0\n        return y\n    return x * 2"
    ),
    "the row of the same iteration": (
        "y = x.reshape(3, 2)\n    for i, r in enumerate(y):\n        y[i] = r / 2\n    return y"
    ),
    "a tuple of a generator": "y = tuple(z.sum() for z in x.reshape(2, 3))\n    x[x < 0] = 0\n    return x, y[0]",
    "an array that a helper writes to": "y = x * 1\n    clip(y)\n    return x, y",
    "an array that a helper of a helper writes to": "y, z = x * 1, x * 2\n    clip_both(z, y)\n    return y + z",
    "arrays that a helper writes to in a loop": (
        "y, z = x * 1, x - 1\n    for i in range(3):\n        clip_both(y, z)\n        y[i] = z[i] * 2\n    return y, z"
    ),
    "an array that a helper writes to under a condition": (
        "y = x * 1\n    if x[0] > 0:\n        z = shift(y, x)\n    else:\n        z = x.sum()\n    return y * z"
    ),
    "a result next to an array that is written to": "y = x * 1\n    z = shift(y, x)\n    return y, z, sum_of(y - 2)",
    "a result that is not used": "y = x * 1\n    shift(y, x)\n    cut(y)\n    return y",
    "an array of a range that values end": "n = int(x.sum())\n    return np.array(range(n)) * 2.0",
    "parts that a generator copies": "y, z = (v * 1 for v in np.split(x, 2))\n    y[y < 0] = 0\n    return x, y, z",
}


@pytest.mark.parametrize("kind", SHARED)
def test_memory_that_is_written_by_one_name_and_read_by_another_is_refused(kind: str, tmp_path: Path) -> None:
    with pytest.raises(CannotPort):
        write_source(tmp_path, f"{RETURNING}def body(x):\n    {SHARED[kind]}\n", VECTOR)


@pytest.mark.parametrize("kind", NOT_SHARED)
def test_memory_that_names_do_not_share_is_ported(kind: str) -> None:
    body = import_text("not_shared", f"import numpy as np\n\n\n{RETURNING}def body(x):\n    {NOT_SHARED[kind]}\n").body
    port = tf.function(port_of(body, np.arange(1.0, 7)))
    x = np.array([3.0, -1, 2, -5, 4, 0])
    for found, expected in zip(tf.nest.flatten(port(x)), tf.nest.flatten(body(x.copy())), strict=True):
        assert difference(found, expected) == ""


def test_a_second_name_of_an_array_of_the_caller_is_refused(tmp_path: Path) -> None:
    source = "def helper(x):\n    y = x\n    y[y < 0] = 0\n    return y.sum()\n\n\n"
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, f"{source}def body(x):\n    total = helper(x)\n    return x, total\n", VECTOR)
    assert line_of(refused.value) == "return x, total"


def test_names_that_are_swapped_in_each_iteration_are_ported(tmp_path: Path) -> None:
    source = (
        "def body(x):\n    y, z = np.zeros(6), np.zeros(6)\n    for i in range(1, 6):\n"
        "        z[i] = y[i - 1] + x[i]\n        y, z = z, y\n    last = y\n    return last\n"
    )
    assert write_source(tmp_path, source, VECTOR).port


def test_rows_that_are_swapped_in_one_statement_are_refused(tmp_path: Path) -> None:
    source = "def body(x, i, j):\n    x[int(i)], x[int(j)] = x[int(j)], x[int(i)]\n    return x\n"
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, source, "rng.random((3, 2))", "np.array(1)", "np.array(1)")
    assert line_of(refused.value).startswith("x[int(i)], ")
    assert write_source(tmp_path, source, VECTOR, "np.array(1)", "np.array(1)").port  # numbers are no views


@pytest.mark.parametrize("statement", ["put(x)", "k = put(x)", "return put(x) + x.sum()"])
def test_a_nested_function_that_writes_to_its_argument_is_refused(statement: str, tmp_path: Path) -> None:
    source = "def body(x):\n    def put(y):\n        y[0] = 5\n        return y.sum()\n\n"
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, f"{source}    {statement}\n    return x\n", VECTOR)
    assert line_of(refused.value) in (statement, "return x")


@pytest.mark.parametrize(
    "body",
    [
        "a = np.zeros(6); b = a\n    if x.sum() > 0: a = a + 1.0\n    a[0] = 5.0\n    return a + b + x",
        "acc = np.zeros(6); out = acc\n    while -x.sum() > acc.sum(): acc += 1.0\n    return out + x",
        "y = x.copy(); z = y[:2]; np.add(y, 1.0, y)\n    return z * 2.0",
        "y = x.copy(); z = y[:2]; np.maximum(y, 0.0, out=(y,))\n    return z * 2.0",
        "s = types.SimpleNamespace(a=x.copy()); b = s.a; b[b < 0] = 0.0\n    s.a += 1.0\n    return s.a",
    ],
)
def test_writes_that_the_example_does_not_show_by_its_values_are_refused(body: str, tmp_path: Path) -> None:
    with pytest.raises(CannotPort):
        write_source(tmp_path, f"import types\n\n\ndef body(x):\n    {body}\n", VECTOR)


@pytest.mark.parametrize(
    "call", ["np.max(x, out=y)", "np.max(x, 0, y)", "np.median(x, overwrite_input=True)", "np.fft.rfft(x, norm=None)"]
)
def test_arguments_that_nothing_reads_are_refused(call: str, tmp_path: Path) -> None:
    with pytest.raises(CannotPort):
        write_source(tmp_path, f"def body(x):\n    y = np.zeros(())\n    return np.real({call}) + y\n", VECTOR)
