"""Every function of the tables gives what NumPy's does: dtypes, shapes, NaN, empty arrays."""

from __future__ import annotations

import ast
import itertools
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
from pyopbench.model.files import load_file
from pyopbench.ports.functions.sources import source_of
from pyopbench.ports.functions.table import TABLE
from pyopbench.ports.porting.module_text import module_text
from pyopbench.ports.porting.observe import definition_of, observe
from pyopbench.ports.porting.tensor_code import TensorCode
from pyopbench.ports.porting.units import Units
from written_ports import difference, flat

pytest.importorskip("scipy")

HEAD = """import math

import numpy as np
from scipy import ndimage, special


"""


def helper_of(name: str) -> Any:
    helper = TABLE[name].helper
    assert helper is not None
    return helper


GROUPS: dict[str, list[tuple[tuple[Any, ...], str]]] = defaultdict(list)
"""By expression: the arrays of each try, and their letters."""
for _expression, _arrays, _letters in rows():
    GROUPS[_expression].append((_arrays, _letters))

OF_OTHER_DTYPES = {one for one, tries in GROUPS.items() if any(letters in "ABCD" for _, letters in tries)}
"""The result has another dtype than the array, a bound has no effect, or values are booleans."""


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
    return module_text("A port.", [*source_of(code.snippets).values(), *statements], units)


@pytest.mark.parametrize(
    "expression",
    [pytest.param(one, marks=() if one in OF_OTHER_DTYPES else pytest.mark.nightly) for one in sorted(GROUPS)],
)
def test_a_function_gives_what_numpys_does(expression: str, tmp_path: Path) -> None:
    parameters = (
        "x, y" if "y" in {one.id for one in ast.walk(ast.parse(expression)) if isinstance(one, ast.Name)} else "x"
    )
    body = loaded(tmp_path, f"{HEAD}def body({parameters}):\n    return {expression}\n", "table_body").body
    differing = {}
    ports: dict[str, Any] = {}  # by text, as most of the time goes into AutoGraph, which converts each function once
    for arrays, letters in GROUPS[expression]:
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


def test_the_edges_of_bins_are_numpys_to_the_last_bit_in_a_graph() -> None:
    """An element that is an edge would be in another bin."""
    function = tf.function(helper_of("np.histogram"))
    for bins in (7, 49):
        array = np.arange(-20.0, 30.0)
        for one, other in zip(function(tf.constant(array), bins), np.histogram(array, bins), strict=True):
            np.testing.assert_array_equal(one.numpy(), other)


@pytest.mark.parametrize("right", [False, True])
def test_bins_that_do_not_ascend_are_an_error_and_others_are_numpys(right: bool) -> None:
    specs = [tf.TensorSpec([None], tf.float64)] * 2
    in_graph = tf.function(lambda x, bins: helper_of("np.digitize")(x, bins, right), input_signature=specs)
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, np.nan])
    for bins in ([], [1.0], [-1.0, 1.0, 1.0, 2.0]):
        np.testing.assert_array_equal(in_graph(x, np.array(bins)), np.digitize(x, bins, right))
    for bins in ([2.0, 1.0], [-1.0, 2.0, 1.0], [1.0, np.nan]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            in_graph(x, np.array(bins))


@pytest.mark.parametrize("axis", [2, -3, (0, 2)])
def test_an_axis_out_of_range_is_an_error(axis: Any) -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        helper_of("np.flip")(tf.ones([2, 3]), axis)


def test_every_function_of_the_table_is_in_a_row() -> None:
    expressions = " ".join(GROUPS)
    functions = {name: name.removeprefix("np").removeprefix("scipy.") for name in TABLE}
    assert [
        name for name, called in functions.items() if f"{called}(" not in expressions.replace("bool_", "bool")
    ] == []


def test_the_documentation_lists_the_functions_of_the_table() -> None:
    page = (
        (Path(__file__).parents[3] / "docs" / "port.md")
        .read_text(encoding="utf-8")
        .partition("| kind | functions |")[2]
    )
    assert set(re.findall(r"`([\w.]+)`(?=[,| ])", page)) - {"math", "np.fft", "np.linalg"} == {*TABLE}


@pytest.mark.parametrize("mode", ["constant", "edge"])
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
    with pytest.raises(tf.errors.InvalidArgumentError):
        padded(np.zeros((2, 2, 2)), -1, 0)


UNSUPPORTED = {
    "np.correlate": lambda function: function(tf.ones([2]), tf.ones([3])),
    "np.histogram": lambda function: function(tf.ones([2]), "auto"),
    "np.insert": lambda function: function(tf.ones([2]), [0, 1], tf.ones([2])),
    "np.nan_to_num": lambda function: function(tf.ones([2], tf.complex64)),
    "np.pad": lambda function: function(tf.ones([2]), 1, "wrap"),
    "np.percentile": lambda function: function(tf.ones([2]), [[1]]),
    "np.unique": lambda function: function(tf.ones([2, 2]), axis=1),
    "scipy.ndimage.gaussian_filter": lambda function: function(tf.ones([2, 2]), (1.0, 2.0)),
    "scipy.ndimage.map_coordinates": lambda function: function(tf.ones([2, 2]), tf.ones([2, 3])),
}
"""Calls of helpers with what they do not support."""


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_a_helper_does_not_support_is_refused(name: str) -> None:
    with pytest.raises(NotImplementedError):
        UNSUPPORTED[name](helper_of(name))
