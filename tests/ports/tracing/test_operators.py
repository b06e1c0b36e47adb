"""Operators, ufuncs, methods and attributes: values and dtypes are NumPy's."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.ports.tensor_functions.sources import FUNCTIONS
from pyopbench.ports.tracing.array import TracedArray
from pyopbench.ports.tracing.dtypes import NEP50
from pyopbench.ports.tracing.methods import ATTRIBUTES, METHODS
from pyopbench.ports.tracing.refusal import Refused
from pyopbench.ports.tracing.ufuncs import UFUNCS
from traced_compare import difference

NUMBERS = {
    "float32": [-2.5, -1.0, -0.0, 0.5, 3.0],
    "float64": [-2.5, -1.0, -0.0, 0.5, 3.0],
    "int32": [-7, -1, 0, 2, 5],
    "int64": [-7, -1, 0, 2, 5],
    "uint8": [0, 1, 2, 200, 255],
    "bool": [False, True, True, False, True],
}
SPECIALS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 3e5, math.inf, -math.inf, math.nan]
OPERATORS = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift),
)
OTHERS = (2, -3, 2.5, True, np.float32(1.5), np.float64(1.5), np.int64(2), np.int8(2), np.array([1, 2, 0, 1, 3]))


def array(dtype: str) -> Any:
    """Return an array of a dtype with both signs where it has them."""
    return np.array(NUMBERS[dtype], dtype)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("apply", OPERATORS)
def test_operators_promote_as_numpys_do(apply: Callable[..., Any], dtype: str) -> None:
    differing = {}
    x = array(dtype)
    for other in OTHERS:
        for call in (lambda x, y=other: apply(x, y), lambda x, y=other: apply(y, x), lambda x, y=other: apply(x[1], y)):
            differing[repr(other)] = differing.get(repr(other)) or difference(call, x)
    for kind in NUMBERS:
        differing[kind] = difference(apply, x, np.abs(array(kind)) if apply is operator.pow else array(kind))
    assert {name: found for name, found in differing.items() if found} == {}


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_ufuncs(name: str) -> None:
    ufunc = getattr(np, name)
    differing = {}
    floats = [np.array(SPECIALS, kind) for kind in ("float32", "float64")]
    rows = [array(dtype) for dtype in NUMBERS]
    if name == "matmul":
        return
    if name == "nextafter":  # of half precision, which NumPy takes small integers in, it is refused
        rows = []
    if ufunc.nin == 1:
        calls: list[tuple[Any, ...]] = [(x,) for x in (*floats, *rows)]
    else:
        calls = [(x[:, None], x) for x in floats] + [(x[:, None], np.abs(x) if name == "power" else x) for x in rows]
    for given in calls:
        found = difference(ufunc, *given)
        if found:
            differing[str(given[0].dtype)] = found
    assert differing == {}


def test_products_of_matrices() -> None:
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 2)),
        ((4, 2, 3), (3, 2)),
        ((4, 2, 3), (4, 3, 1)),
    ]
    for dtype in ("float32", "int64", "uint8", "bool"):
        for left, right in shapes:
            x, y = (np.arange(math.prod(shape)).reshape(shape).astype(dtype) for shape in (left, right))
            assert difference(operator.matmul, x, y) == ""


@pytest.mark.parametrize("name", sorted(name for name in FUNCTIONS if name.startswith("scipy.special.")))
def test_ufuncs_of_scipy(name: str) -> None:
    special = pytest.importorskip("scipy.special")
    ufunc = getattr(special, name.removeprefix("scipy.special."))
    if not isinstance(ufunc, np.ufunc):
        pytest.skip("it is no ufunc")
    x = np.array([0.1, 0.25, 0.5, 0.9])
    for kind in ("float32", "float64"):
        assert difference(ufunc, *(x.astype(kind) + place for place in range(ufunc.nin - 1)), x.astype(kind)) == ""


UFUNC_CALLS: dict[str, Callable[..., Any]] = {
    "reduce": np.add.reduce,
    "reduce of all": lambda x: np.maximum.reduce(x, axis=None),
    "accumulate": lambda x: np.add.accumulate(x, axis=1),
    "outer": lambda x: np.multiply.outer(x[0], x[:, 0]),
    "where": lambda x: np.add(x, 1, where=x > 1, out=np.zeros_like(x)),
    "out": lambda x: np.multiply(x, 2, out=x.copy()),
    "dtype": lambda x: np.add(x, 1, dtype=np.float64),
    "in place": lambda x: operator.iadd(x.copy(), 2),
    "in place, other dtype": lambda x: operator.imul(x.astype(np.float32), x),
    "two outputs": lambda x: np.divmod(x, 3),
    "builtin": lambda x: (abs(x), round(x[0, 1]), divmod(x, 2), -x, +x, sum(x), min(x[0]), max(x[0]), pow(x, 2)),
    "numbers": lambda x: (x.sum() / 2, int(x[0, 1]) // 2, float(x[1, 1]) * 0.5, x.shape[0] / x.size, len(x) * 2),
    "contains": lambda x: (np.array(3 in x), np.array(99 in x)),
    "list of arrays": lambda x: (np.mean([x[0, 0], x[1, 1]]), np.add([x[0], x[1]], 1), np.max([x, x])),
    "linear": lambda x: (x @ x.T, x.T @ x, x.dot(x[0])),
}


@pytest.mark.parametrize("name", UFUNC_CALLS)
def test_ways_to_call_them(name: str) -> None:
    for dtype in ("float64", "int64"):
        x = (np.arange(12).reshape(3, 4) % 5).astype(dtype)
        assert difference(UFUNC_CALLS[name], x) == ""


def test_values_for_one_place_all_count_in_at() -> None:
    def body(x: Any, places: Any) -> Any:
        first, second = x.copy(), x.copy()
        np.add.at(first, places, 2)
        np.subtract.at(second, (places, 1), np.arange(4))
        return first, second

    assert difference(body, np.arange(12.0).reshape(3, 4), np.array([0, 2, 0, -1])) == ""


METHOD_CALLS: dict[str, Callable[..., Any]] = {
    **{name: (lambda x, name=name: getattr(x, name)(0)) for name in ("argpartition", "repeat", "take")},
    **{name: (lambda x, name=name: getattr(x, name)()) for name in METHODS},
    "argpartition": lambda x: np.sort(x[0])[x.argpartition(1, axis=1)[0].argsort() * 0],
    "argsort": lambda x: x.argsort(axis=0, kind="stable"),
    "astype": lambda x: (x.astype("f4"), x.astype(bool), x.astype(np.uint8), x.astype(float)[0, 0].astype(int)),
    "choose": lambda x: (x % 2).astype(int).choose([x, x * 10]),
    "clip": lambda x: x.clip(1, 3),
    "compress": lambda x: x.compress([True, False, True], axis=0),
    "dot": lambda x: x.dot(x.T),
    "fill": lambda x: _after(x, lambda x: x.fill(3)),
    "item": lambda x: (x.item(2), x.item(1, 2), x[0, 3].item(), x[:1, :1].item()),
    "max": lambda x: x.max(axis=(0, 1), keepdims=True),
    "numpy": lambda x: x,
    "partition": lambda x: _after(x, lambda x: x.partition(0))[:, 0],
    "put": lambda x: _after(x, lambda x: x.put([0, 5], 9)),
    "repeat": lambda x: x.repeat(2, axis=1),
    "reshape": lambda x: (x.reshape(4, -1), x.reshape((2, 6)), x.reshape(-1)),
    "searchsorted": lambda x: x[0].searchsorted([0, 2.5]),
    "sort": lambda x: _after(x, lambda x: x.sort(axis=0)),
    "squeeze": lambda x: x[:, None].squeeze(axis=1),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "take": lambda x: x.take([0, -1], axis=1),
    "transpose": lambda x: (x.transpose(), x.transpose(1, 0), x.transpose((0, 1))),
    "__copy__": copy.copy,
    "__deepcopy__": copy.deepcopy,
}


def _after(x: Any, write: Callable[[Any], Any]) -> Any:
    mine = x.copy()
    assert write(mine) is None
    return mine


@pytest.mark.parametrize("name", sorted(METHOD_CALLS))
def test_methods(name: str) -> None:
    for dtype in ("float64", "int64"):
        x = (np.arange(12).reshape(3, 4) % 5).astype(dtype)
        assert difference(METHOD_CALLS[name], x) == ""


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_attributes(name: str) -> None:
    x = np.arange(6.0).reshape(2, 3)
    if name == "flat":
        assert difference(lambda x: (x.flat[2], x.flat[1:3], np.array(list(x.flat))), x) == ""
        return
    assert difference(lambda x: np.array(getattr(x, name)), x) == ""


def test_what_arrays_have_and_traced_ones_have_not_is_refused_by_name() -> None:
    x = TracedArray(tf.constant([1.0, 2.0]))
    for name in ("strides", "data", "view", "tobytes", "flags"):
        with pytest.raises(Refused) as refused:
            getattr(x, name)
        assert refused.value.missing == f".{name}"
    with pytest.raises(AttributeError):
        x.no_such_thing  # noqa: B018


def test_it_is_an_array_and_its_elements_are_numpys_scalars() -> None:
    x = TracedArray(tf.constant([1.0, 2.0], tf.float64))
    assert isinstance(x, np.ndarray)
    assert isinstance(x[0], np.float64)
    assert isinstance(x.sum(), np.floating)
    assert (x.ndim, x.shape, x.size, len(x), x.dtype) == (1, (2,), 2, 2, np.float64)
    with pytest.raises(TypeError):
        x[0][...] = 1


@pytest.mark.skipif(not NEP50, reason="before NumPy 2 values decide what dtype a number has")
def test_a_number_that_a_dtype_does_not_hold_is_an_error() -> None:
    x = TracedArray(tf.constant([1, 2], tf.uint8))
    for call in (lambda: x + 300, lambda: np.where(x > 1, x, -1), lambda: x.fill(256), lambda: np.full_like(x, -1)):
        with pytest.raises(OverflowError):
            call()
    assert (x < 300).numpy().known.tolist() == [True, True]
