"""Ports in which calls that TensorFlow has nothing for stay callbacks, and all around them is TensorFlow's."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.modules import load_file
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.tensor_functions.basics import np_step
from written_ports import Ported, line_of, run_its_test, write_source

optimize = pytest.importorskip("scipy.optimize")
ndimage = pytest.importorskip("scipy.ndimage")

POINTS = ("rng.random((7, 2))", "rng.random((9, 2))")
MATCH = """from scipy.optimize import linear_sum_assignment

def body(a, b):
    cost = np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))
    rows, columns = linear_sum_assignment(cost)
    return cost[rows, columns].mean()
"""
EDGES = """from scipy import ndimage

def body(x):
    inside = ndimage.distance_transform_edt(x > 0.5)
    return (inside - ndimage.distance_transform_edt(x > 0.5)) * x + inside.shape[0]
"""
HULL = """from scipy.spatial import ConvexHull

def body(p):
    hull = ConvexHull(p)
    return p[hull.vertices].sum(axis=0) * hull.volume
"""
NAMED = """from scipy import stats

def body(x, y):
    found = stats.linregress(x, y)
    slope, *_ = found
    return found.slope + slope * x
"""
SPLINES = """from scipy import ndimage

def body(x, factor):
    y = ndimage.zoom(x, 2, order=3)
    z = ndimage.zoom(x, 2, order=3)
    return (y + z) / factor
"""
METHOD = """def body(x):
    y = x * 2.0
    return y.view(np.int64) ^ 1
"""
HELPER = """from scipy.optimize import linear_sum_assignment

def cheapest(cost, maximize):
    rows, columns = linear_sum_assignment(cost, maximize=maximize)
    return cost[rows, columns].sum()

def body(cost):
    return cheapest(cost * 2.0, True) - cheapest(cost, False)
"""
PEAKS = """from scipy import signal

def body(x):
    found, _ = signal.find_peaks(x, height=0.2)
    return x[found].sum() * 2
"""
TARGETS = """from scipy.optimize import linear_sum_assignment

def body(costs, valid):
    found = np.full(costs.shape[:2], -1, np.int32)
    for i in range(costs.shape[0]):
        if valid[i] > 0.5:
            rows, columns = linear_sum_assignment(costs[i])
            found[i, rows] = columns
    return found
"""
BODIES: dict[str, tuple[str, ...]] = {
    MATCH: POINTS,
    EDGES: ("rng.random((12, 13))",),
    HULL: ("rng.random((30, 2))",),
    NAMED: ("rng.random(30)", "rng.random(30)"),
    SPLINES: ("rng.random((5, 6))", "2.0"),
    METHOD: ("rng.random(8)",),
    HELPER: ("rng.random((5, 8))",),
    PEAKS: ("rng.random(40)",),
    TARGETS: ("rng.random((3, 5, 6))", "rng.random(3)"),
}


def drawn(source: str) -> list[Any]:
    """Return the inputs of a body."""
    rng = np.random.default_rng(0)
    return [tf.constant(eval(one, {"rng": rng})) for one in BODIES[source]]


def function_of(made: Ported, folder: Path) -> Any:
    """Return the function of a port, imported from a file."""
    path = folder / "partial_port.py"
    path.write_text(made.port, encoding="utf-8")
    module = load_file(path, "partial_port")
    return getattr(module, made.module.function)


@pytest.mark.parametrize("source", BODIES)
def test_the_port_passes_its_own_test_and_says_that_it_is_partial(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_source(tmp_path, source, *BODIES[source], to="traced_partial")
    assert "test_values" in run_its_test(made, tmp_path, monkeypatch)
    assert "partial" in made.module.notes
    assert made.port.count("np_step(") >= 2  # its definition, and a call


@pytest.mark.parametrize("source", BODIES)
def test_the_whole_body_cannot_be_written(source: str, tmp_path: Path) -> None:
    made = None
    try:
        made = write_source(tmp_path, source, *BODIES[source], to="traced")
    except CannotPort:
        return
    with pytest.raises(NotImplementedError):
        function_of(made, tmp_path)(*drawn(source))


ONLY = """from scipy import ndimage

def body(x):
    order = 3
    y = ndimage.zoom(x, 2, order=1)
    z = ndimage.zoom(
        y, 2, order=order)
    return z
"""


@pytest.mark.parametrize("to", ["traced", "traced_xla", "traced_map"])
def test_an_option_that_is_not_supported_is_refused_with_the_function_and_the_line(to: str, tmp_path: Path) -> None:
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, ONLY, "rng.random((5, 6))", to=to)
    assert "`scipy.ndimage.zoom`" in refused.value.why
    assert refused.value.step is not None
    assert line_of(refused.value) == "z = ndimage.zoom("


def test_a_call_by_another_name_has_that_name(tmp_path: Path) -> None:
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, "def body(x):\n    return np.cov(x, aweights=np.ones(5))\n", "rng.random((3, 5))")
    assert "`np.cov`" in refused.value.why


def test_a_body_that_is_nothing_but_such_a_call_has_no_partial_port(tmp_path: Path) -> None:
    source = "from scipy import ndimage\n\ndef body(x):\n    return ndimage.zoom(x, 2, order=3)\n"
    with pytest.raises(CannotPort) as refused:
        write_source(tmp_path, source, "rng.random((5, 6))", to="traced_partial")
    assert refused.value.step is None


def test_it_runs_in_a_graph_of_other_sizes(tmp_path: Path) -> None:
    port = tf.function(function_of(write_source(tmp_path, MATCH, *POINTS, to="traced_partial"), tmp_path))
    rng = np.random.default_rng(3)
    for count in (4, 11):
        a, b = rng.random((count, 2)), rng.random((count + 1, 2))
        cost = np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))
        rows, columns = optimize.linear_sum_assignment(cost)
        np.testing.assert_allclose(port(tf.constant(a), tf.constant(b)).numpy(), cost[rows, columns].mean())


def test_the_same_call_is_one_function(tmp_path: Path) -> None:
    made = write_source(tmp_path, SPLINES, *BODIES[SPLINES], to="traced_partial")
    names = [one.name for one in ast.walk(ast.parse(made.port)) if isinstance(one, ast.FunctionDef)]
    assert [one for one in names if one.startswith("numpy_")] == ["numpy_zoom"]


@pytest.mark.parametrize(("source", "tests"), [(MATCH, 2), (EDGES, 2), (SPLINES, 1), (HULL, 1)])
def test_a_gradient_is_there_where_it_does_not_go_through_a_step(
    source: str, tests: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_source(tmp_path, source, *BODIES[source], to="traced_partial")
    assert len(run_its_test(made, tmp_path, monkeypatch)) == tests
    if tests == 1:
        assert not made.module.facts.differentiable


def test_a_gradient_through_a_step_is_an_error_and_not_a_part_of_the_gradient(tmp_path: Path) -> None:
    port = function_of(write_source(tmp_path, SPLINES, *BODIES[SPLINES], to="traced_partial"), tmp_path)
    x = tf.Variable(np.random.default_rng(0).random((5, 6)))
    for call in (port, tf.function(port)):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x) * tf.reduce_sum(call(x, tf.constant(2.0, tf.float64)))
        with pytest.raises(tf.errors.InvalidArgumentError):
            tape.gradient(y, x)


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "def body(x):\n    return x * 2.0\n": (("rng.random(5)",), ""),
    "from scipy.optimize import linear_sum_assignment\n\ndef body(c):\n    return linear_sum_assignment(c)\n": (
        ("rng.random((5, 5))",),
        "",
    ),
    "from scipy import ndimage\n\ndef body(x):\n    y = x * 2.0\n"
    "    ndimage.spline_filter(x, output=y)\n    return y + 1\n": (
        ("rng.random((5, 5))",),
        "ndimage.spline_filter(x, output=y)",
    ),
    "from scipy import ndimage\n\ndef half(x):\n    return x.mean()\n\ndef body(x):\n"
    "    return ndimage.generic_filter(x, half, size=3) * 2.0\n": (
        ("rng.random((5, 5))",),
        "return ndimage.generic_filter(x, half, size=3) * 2.0",
    ),
    "from scipy.interpolate import interp1d\n\ndef body(x, y):\n    line = interp1d(x, y, 'cubic')\n"
    "    return line(x) * 2.0\n": (("np.arange(5.0)", "rng.random(5)"), "line = interp1d(x, y, 'cubic')"),
    "from scipy.spatial import KDTree\n\ndef body(x):\n    tree = KDTree(x)\n    return tree.query(x)[0] * 2.0\n": (
        ("rng.random((5, 2))",),
        "tree = KDTree(x)",
    ),
    "import numpy as np\n\ndef body(x):\n    rest = np.ma.masked_less(x * 2.0, 1.0)\n"
    "    return np.ma.filled(rest - rest.min(), 0)\n": (
        ("rng.random(9)",),
        "rest = np.ma.masked_less(x * 2.0, 1.0)",
    ),
}


@pytest.mark.parametrize("source", REFUSED)
def test_what_is_no_call_on_arrays_between_ops_is_refused(source: str, tmp_path: Path) -> None:
    inputs, line = REFUSED[source]
    with pytest.raises(CannotPort) as refusal:
        write_source(tmp_path, source, *inputs, to="traced_partial")
    assert not line or line_of(refusal.value) == line


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("[tf.int64, tf.int64]", "[tf.int32, tf.int32]"),
        ("return linear_sum_assignment(cost)", "return linear_sum_assignment(-cost)"),
    ],
)
def test_its_test_finds_a_step_that_is_wrong(
    before: str, behind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_source(tmp_path, MATCH, *POINTS, to="traced_partial")
    assert before in made.port
    with pytest.raises((AssertionError, tf.errors.OpError, TypeError, ValueError)):
        run_its_test(made.with_text(made.port.replace(before, behind)), tmp_path, monkeypatch)


WHOLE = {
    "def body(x):\n    return x[np.where(x > 0.5, -1, 0)] + x[np.where(x > 0.5, 1, 0)]\n": ("rng.random(6)",),
    "from scipy import ndimage\n\ndef scipy_shift(x):\n    return ndimage.shift(x, 1.5, order=1)\n\n"
    "def body(x):\n    return scipy_shift(x) + np.median(x)\n": ("rng.random((6, 7))",),
    "from scipy.interpolate import interp1d\n\nLINE = interp1d([0.0, 1, 2], [1.0, 3, 2])\n\n"
    "def body(x):\n    return LINE(x * 2)\n": ("rng.random(6)",),
    "from scipy.interpolate import interp1d\n\ndef body(x, y):\n    line = interp1d(np.arange(6), y)\n"
    "    return line(x * 5) + line(np.array([0.5, 1.5])).sum()\n": ("rng.random(4)", "rng.random(6)"),
    "from scipy import stats\n\ndef body(x, y):\n    found = stats.spearmanr(x, y)\n"
    "    return found.correlation + found[0] + found.pvalue\n": ("rng.random(9)", "rng.random(9)"),
    "def body(x, y):\n    z = np.zeros((4, 5))\n    np.place(z[1:], x[1:] > 0.5, 2)\n"
    "    np.putmask(y, y > 0.5, 0.25)\n    return z + y\n": ("rng.random((4, 5))", "rng.random((4, 5))"),
}
"""Bodies that are written whole: names that ports use, functions made of arrays, named tuples, masks, chosen places."""


@pytest.mark.parametrize("source", WHOLE)
def test_what_tensorflow_has_is_no_step(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_source(tmp_path, source, *WHOLE[source])
    assert "test_values" in run_its_test(made, tmp_path, monkeypatch)
    assert "np_step" not in made.port


class TestStep:
    """`np_step`, which a port calls."""

    def test_a_size_that_is_another_one_is_an_error(self) -> None:
        step = tf.function(lambda x: np_step(np.unique, [x], [tf.int64], [[3]]))
        assert step(tf.constant([3, 1, 2], tf.int64)).numpy().tolist() == [1, 2, 3]
        with pytest.raises(tf.errors.InvalidArgumentError):
            step(tf.constant([3, 3, 2], tf.int64))

    def test_what_it_writes_to_is_a_copy(self) -> None:
        def sorted_in_place(x: Any) -> Any:
            x.sort()
            return x

        x = tf.constant([3.0, 1.0, 2.0])
        assert np_step(sorted_in_place, [x], [tf.float32], [[3]], copied=True).numpy().tolist() == [1, 2, 3]
        assert x.numpy().tolist() == [3, 1, 2]

    def test_no_gradient_is_needed_through_integers(self) -> None:
        x = tf.Variable([3.0, 1.0])
        with tf.GradientTape() as tape:
            order = np_step(np.argsort, [x], [tf.int64], [[2]])
            y = tf.reduce_sum(tf.gather(x, order) * [1.0, 5.0])
        assert tape.gradient(y, x) is not None
