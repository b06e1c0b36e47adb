"""Every function of the tables gives what NumPy's does: dtypes, shapes, NaN, empty arrays."""

from __future__ import annotations

import ast
import itertools
import math
import re
import warnings
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from function_rows import rows
from pyopbench.model.modules import load_file
from pyopbench.ports.functions.sources import source_of
from pyopbench.ports.functions.table import BINARY, TABLE, UNARY
from pyopbench.ports.porting.expressions import OF_FLOATS
from pyopbench.ports.porting.module_text import module_text
from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.observe import definition_of, observe
from pyopbench.ports.porting.tensor_code import TensorCode
from pyopbench.ports.porting.units import Units
from written_ports import difference, flat

special = pytest.importorskip("scipy.special")
ndimage = pytest.importorskip("scipy.ndimage")

HEAD = """import math

import numpy as np
from scipy import ndimage, special


"""
NAMES = {"np": np, "math": math, "special": special, "ndimage": ndimage}


def functions_in(expression: str) -> set[str]:
    """Return the names of functions of the tables that an expression calls."""
    found = set()
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            try:
                found.add(name_of(eval(ast.unparse(node.func), dict(NAMES))))
            except (NameError, AttributeError):
                found.add(f"np.{node.func.attr}" if isinstance(node.func, ast.Attribute) else "")
    return found


def exists(expression: str) -> bool:
    """Has the installed NumPy got all that an expression names?"""
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, ast.Attribute) and re.fullmatch(r"np(\.\w+)+", ast.unparse(node)):
            try:
                eval(ast.unparse(node), dict(NAMES))
            except AttributeError:
                return False
    return True


def helper_of(name: str) -> Any:
    helper = TABLE[name].helper
    assert helper is not None
    return helper.function


def grouped() -> dict[str, list[tuple[str, tuple[Any, ...], str]]]:
    found = defaultdict(list)
    for expression, arrays, given in rows():
        if exists(expression):
            found[expression].append((expression, arrays, given))
    return found


GROUPS = grouped()


def loaded(folder: Path, source: str, name: str) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    return load_file(path, name)


def written(body: Any, arrays: tuple[Any, ...]) -> str:
    """Return the text of a port of a body that was seen with some arrays."""
    source, definition = definition_of(body)
    units = Units(source, definition.name)
    code = TensorCode(units, observe(body, [arrays]))
    statements = code.write_units().values()
    return module_text("A port.", [*source_of(sorted(code.snippets)), *statements], units)


@pytest.mark.nightly
@pytest.mark.parametrize("expression", sorted(GROUPS))
def test_a_function_gives_what_numpys_does(expression: str, tmp_path: Path) -> None:
    parameters = (
        "x, y" if "y" in {one.id for one in ast.walk(ast.parse(expression)) if isinstance(one, ast.Name)} else "x"
    )
    body = loaded(tmp_path, f"{HEAD}def body({parameters}):\n    return {expression}\n", "table_body").body
    differing = {}
    ports: dict[str, Any] = {}  # by text, as most of the time goes into AutoGraph, which converts each function once
    for _, arrays, letters in GROUPS[expression]:
        given = arrays[: len(parameters.split(","))]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = flat(body(*(np.array(one) if np.ndim(one) else one for one in given)))
            except Exception:  # noqa: BLE001 - what NumPy refuses is not compared
                continue
        text = written(body, tuple(map(np.asarray, given)))
        if text not in ports:
            ports[text] = tf.function(loaded(tmp_path, text, f"table_port_{len(ports)}").body)
        found = ports[text](*map(tf.constant, given))
        differs = difference(found, expected)
        if differs:
            differing[letters] = differs, text
    assert differing == {}


def test_every_helper_that_is_named_has_a_source() -> None:
    named = {*UNARY.values(), *BINARY.values(), *OF_FLOATS.values()}
    assert source_of(one for one in named if not one.startswith("tf."))


def test_the_edges_of_bins_are_numpys_to_the_last_bit_in_a_graph() -> None:
    """An element that is an edge would be in another bin."""
    function = tf.function(helper_of("np.histogram"))
    for bins in (7, 49):
        array = np.arange(-20.0, 30.0)
        for one, other in zip(function(tf.constant(array), bins), np.histogram(array, bins), strict=True):
            np.testing.assert_array_equal(one.numpy(), other)


MATRIX = np.random.default_rng(0).random((3, 3)) + 1j * np.random.default_rng(1).random((3, 3))
OF_OTHER_DTYPES = {
    "np.linalg.eigh(x + np.conj(x.T))[0]": MATRIX,
    "np.var(x)": MATRIX,
    "x.std(axis=1)": MATRIX.astype(np.complex64),
    "x.clip(1, 2**8 - 1)": np.arange(5, dtype=np.uint8),
    **dict.fromkeys(
        (
            "np.maximum(x, x[::-1])",
            "np.fmax(x, False)",
            "np.minimum(x, x[::-1])",
            "np.fmin(True, x)",
            "x < x[::-1]",
            "np.less(x, x[::-1])",
            "np.less_equal(x, False)",
            "np.greater(x, x[::-1])",
            "np.greater_equal(True, x)",
            "np.bitwise_and(x, x[::-1])",
            "np.bitwise_or(x, np.arange(4))",
            "np.bitwise_and(np.arange(4), x)",
        ),
        np.array([True, False, True, True]),
    ),
    "np.bitwise_or(x, np.arange(5) * 300)": np.arange(5, dtype=np.int8),
    "np.bitwise_and(x, 3)": np.arange(5, dtype=np.uint8),
}
"""Expressions with an array for each: the result has another dtype, a bound has no effect, or values are booleans."""


@pytest.mark.parametrize("expression", [one for one in OF_OTHER_DTYPES if exists(one)])
def test_a_result_with_another_dtype_than_its_array_equals_numpys(expression: str, tmp_path: Path) -> None:
    body = loaded(tmp_path, f"{HEAD}def body(x):\n    return {expression}\n", "dtypes_body").body
    array = OF_OTHER_DTYPES[expression]
    try:
        expected = body(array)
    except OverflowError:
        pytest.skip("this NumPy has no bounds out of range")
    found = tf.function(loaded(tmp_path, written(body, (array,)), "dtypes_port").body)(tf.constant(array))
    assert difference([*found] if isinstance(found, tuple) else found, expected) == ""


@pytest.mark.parametrize("name", ["np.correlate", "np.convolve"])
def test_a_length_that_the_graph_does_not_know_is_an_error(name: str) -> None:
    function = tf.function(lambda x: helper_of(name)(x, tf.constant([1.0], tf.float64)))
    with pytest.raises(NotImplementedError):
        function.get_concrete_function(tf.TensorSpec([None], tf.float64))


@pytest.mark.parametrize("right", [False, True])
def test_bins_in_no_order_are_an_error_and_others_are_numpys(right: bool) -> None:
    specs = [tf.TensorSpec([None], tf.float64)] * 2
    in_graph = tf.function(lambda x, bins: helper_of("np.digitize")(x, bins, right), input_signature=specs)
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, np.nan])
    for size in range(5):
        for bins in map(np.array, itertools.product([-1.0, 1.0, 2.0, np.nan], repeat=size)):
            is_sorted = any(np.array_equal(one, np.sort(one), equal_nan=True) for one in (bins, bins[::-1]))
            try:
                found = in_graph(x, bins.astype(np.float64))
            except tf.errors.InvalidArgumentError:
                # A number and then NaN: NumPy takes them to descend, and looks for elements in what is in no order.
                assert not is_sorted or (np.isnan(bins[-1]) and len(set(bins[~np.isnan(bins)])) == 1), bins
                continue
            assert is_sorted
            np.testing.assert_array_equal(found, np.digitize(x, bins, right), str(bins))


@pytest.mark.parametrize("axis", [2, -3, (0, 2)])
def test_an_axis_out_of_range_is_an_error(axis: Any) -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        helper_of("np.flip")(tf.ones([2, 3]), axis)


def test_every_function_of_the_tables_is_in_a_row() -> None:
    called = set().union(*map(functions_in, GROUPS))
    missing = {name for name in TABLE if name not in called and _has(name)}
    assert missing == set()


def test_the_documentation_lists_the_functions_of_the_table() -> None:
    page = (
        (Path(__file__).parents[3] / "docs" / "port.md")
        .read_text(encoding="utf-8")
        .partition("| kind | functions |")[2]
    )
    assert set(re.findall(r"`([\w.]+)`(?=[,| ])", page)) - {"math", "np.fft", "np.linalg"} == {*TABLE}


def _has(name: str) -> bool:
    """Has the installed NumPy the function under this name, and not under another one of the table?"""
    top, _, rest = name.partition(".")
    if top != "np":
        return True
    found: Any = np
    for part in rest.split("."):
        found = getattr(found, part, None)
    return found is not None and name_of(found) in (name, "")


@pytest.mark.parametrize("mode", ["constant", "wrap", "reflect"])
def test_sizes_and_the_width_of_a_border_may_be_known_only_in_the_graph(mode: str) -> None:
    signature = [tf.TensorSpec([None, None, 2], tf.float64), tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.int32)]
    padded = tf.function(
        lambda x, before, after: helper_of("np.pad")(x, ((before, after), (1, after), (0, 0)), mode),
        input_signature=signature,
    )

    for shape in ((1, 2, 2), (3, 4, 2), (5, 1, 2)):
        x = np.random.default_rng(3).normal(size=shape)
        for before, after in itertools.product((0, 1, 4, 7), (0, 2, 5)):
            expected = np.pad(x, ((before, after), (1, after), (0, 0)), mode)  # type: ignore[call-overload]
            np.testing.assert_array_equal(padded(x, before, after), expected)
    for given in ((np.zeros((2, 2, 2)), -1, 0), *([] if mode == "constant" else [(np.zeros((0, 2, 2)), 1, 0)])):
        with pytest.raises(tf.errors.InvalidArgumentError):
            padded(*given)
    everywhere = tf.function(lambda x, width: helper_of("np.pad")(x, width, mode))
    np.testing.assert_array_equal(everywhere(x, tf.constant(2)), np.pad(x, 2, mode))  # type: ignore[call-overload]
    np.testing.assert_array_equal(
        everywhere(x, tf.constant([1, 2])),
        np.pad(x, (1, 2), mode),  # type: ignore[call-overload]
    )
