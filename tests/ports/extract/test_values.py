"""A value becomes source that makes the same value: the same bits, of the same type."""

from __future__ import annotations

import argparse
import ast
import types
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pyopbench.ports.extract.values import NotWritable, expression_of, is_same

Size = namedtuple("Size", ["height", "width"])


@dataclass
class Settings:
    scale: float = 2.0


def refer(value: Any) -> Any:
    known = {np: "np", types.SimpleNamespace: "SimpleNamespace", namedtuple: "namedtuple"}
    if not isinstance(value, type | types.ModuleType | types.FunctionType) or value not in known:
        raise NotWritable(f"a {type(value).__name__}")
    return ast.Name(known[value], ast.Load())


def evaluated(value: Any) -> Any:
    scope = {"np": np, "SimpleNamespace": types.SimpleNamespace, "namedtuple": namedtuple}
    return eval(ast.unparse(expression_of(value, refer)), scope)


RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 3, -0.0, float("inf"), 1.5 + 2j, "a'\n", b"\x00", ..., range(3), slice(1, None)),
        *((), (1,), [1, [2.5]], set(), {1}, frozenset({2}), frozenset(), {"a": (1, None)}, Size(1, 2)),
    ],
    ids=repr,
)
def test_a_value_of_python_is_the_same(value: Any) -> None:
    made = evaluated(value)
    assert made == value
    assert repr(made) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        RNG.random((3, 4)),
        RNG.random((3, 4), dtype=np.float32),
        RNG.random(3).astype(np.float16),
        np.array([np.nan, np.inf, -np.inf, -0.0], np.float32),
        np.zeros((100, 1000), np.int8),
        np.full((2, 0, 3), 1.0),
        np.full((500, 500), 2.5),
        np.full(9, -0.0),
        np.array(3, np.uint8),
        np.array([True, False]),
        np.array([1 + 2j, 3]),
        np.array(["a", "bc"]),
        np.array([b"a", b"bc"]),
        np.float32(0.1),
        np.bool_(True),
        np.dtype("float32"),
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', value)}",
)
def test_an_array_is_the_same_bit_by_bit(value: Any) -> None:
    made = evaluated(value)
    assert type(made) is type(value)
    if isinstance(value, np.dtype):
        assert made == value
        return
    assert (made.dtype, made.shape, made.tobytes()) == (value.dtype, value.shape, value.tobytes())


def test_a_configuration_has_the_same_attributes() -> None:
    for value in (types.SimpleNamespace(scale=2.0), argparse.Namespace(scale=2.0), Settings()):
        assert vars(evaluated(value)) == {"scale": 2.0}


def test_numbers_of_a_narrow_dtype_are_short() -> None:
    assert ast.unparse(expression_of(np.array([0.1, 0.2], np.float32), refer)) == "np.array([0.1, 0.2], np.float32)"


AROUND: list[Any] = []
AROUND.append(AROUND)


@pytest.mark.parametrize(
    "value",
    [
        *([object()], np.array([object()]), np.arange(3).astype(">i4"), np.dtype([("a", "f4")])),
        *(RNG, RNG.random(10_000), "a" * 130_000, AROUND),
    ],
    ids=["inside", "objects", "bytes", "fields", "generator", "large", "long", "around"],
)
def test_what_has_no_literal_is_refused(value: Any) -> None:
    with pytest.raises(NotWritable):
        expression_of(value, refer)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (1, 1, True),
        (1, 1.0, False),
        (np.arange(3), np.arange(3), True),
        (np.arange(3), np.arange(3.0), False),
        (np.zeros(10**5), np.ones(10**5), False),
        ({"a": [1]}, {"a": [2]}, False),
        (float("nan"), float("nan"), True),
        (object(), object(), True),
        (len, sum, False),
    ],
)
def test_values_are_compared_as_far_as_they_can_be(one: Any, other: Any, expected: bool) -> None:
    assert is_same(one, other) is expected
