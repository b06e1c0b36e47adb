"""Whole bodies as graphs: ways through them, arrays that they make, and what is refused with its line."""

from __future__ import annotations

import functools
import math
import random
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.ports.tracing.refusal import Refused
from traced_compare import difference_in_graph, graph

X = np.array([3.0, -1.0, 2.0])
GENERATOR = np.random.default_rng(0)


def two_ways(x: Any) -> Any:
    y = x.copy()
    if x.sum() > 0:
        y[0] = 7
        scale = 2.0
    else:
        y *= -1
        scale = 0.5
    return y * scale, y.sum()


def counted(x: Any) -> Any:
    steps = 0
    while steps < 5 and x.max() > 1:
        x = x / 2
        steps += 1
    return x, np.int64(steps)


def several(x: Any) -> Any:
    found = []
    for one in x[:2]:
        if one > 0 and one < 2.5:
            found.append(one)
        elif not one > 0:
            found.append(-one)
        else:
            found.append(np.float64(0))
    return np.array(found), max(x[0], x[1])


def early(x: Any) -> Any:
    for place in range(len(x)):
        if x[place] < 0:
            return np.int64(place)
    return np.int64(-1)


def checked(x: Any) -> Any:
    if x[0] < 0:
        raise ValueError("the first must not be negative")
    assert x[1] < 100
    return np.sqrt(x[0])


@pytest.mark.parametrize("body", [two_ways, counted, several, early])
def test_one_graph_goes_the_way_that_values_decide(body: Any) -> None:
    traced = graph(body, X)
    for x in (X, -X):
        found, expected = traced(x), body(x)
        several_are = isinstance(expected, tuple)
        for one, other in zip(found if several_are else [found], expected if several_are else [expected], strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


def power(x: Any, times: int) -> Any:
    if times == 0:
        return np.ones_like(x)
    return x * power(x, times - 1)


def test_a_helper_that_calls_itself_is_found_by_its_name() -> None:
    assert difference_in_graph(lambda x: power(x, 3), X) == ""


def test_a_way_that_raises_is_an_assertion() -> None:
    body = graph(checked, X)
    assert body(X).numpy() == math.sqrt(3)
    for wrong in ([-1.0, 0, 0], [1.0, 200, 0]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            body(np.array(wrong))


def test_a_loop_until_a_value_is_reached_that_no_graph_has_is_refused_soon() -> None:
    def body(x: Any) -> Any:
        y = x
        while y.max() > 1:
            y = y[None] / 2
        return y

    with pytest.raises(Refused) as refused:
        graph(body, X).get_concrete_function()
    assert refused.value.missing == "if or while"
    assert refused.value.place == (__file__, body.__code__.co_firstlineno + 3)


def test_lists_of_a_known_length_are_python_lists_of_traced_numbers() -> None:
    def body(x: Any) -> Any:
        first, *others = x.tolist()
        return np.array([first + 1, sum(others)]), np.array(x.reshape(3, 1).tolist()) * np.float32(2)

    assert difference_in_graph(body, X) == ""
    assert difference_in_graph(body, X.astype(np.int32)) == ""


def made(x: Any) -> Any:
    n = len(x)
    table = np.zeros((n, 2), dtype=np.float32)
    table[:, 0] = x
    table[1] = x[:2]
    pairs = np.array([[x[0], 1], [2, x[1]]])
    pairs += np.mean([x[0], x[1]])
    other = np.zeros_like(np.ones(3))
    other[1:] = x[1:]
    return table, pairs, other, np.full(n, x[0]), np.arange(n) * x, np.eye(n) * x, np.r_[x, 0, x[1:]], np.c_[x, x]


def of_sizes(x: Any) -> Any:
    some = x[x > 0]
    n = len(some)
    ones, table = np.ones(n), np.zeros((n, 2))
    table[:, 1] = some
    table[0] += 5
    grid = np.arange(n)[:, None] + np.arange(3)
    return some * ones, table, grid, np.full((2, n), 7), np.eye(n), np.zeros_like(some), some.reshape(-1, 1), n * 2


def numbers(x: Any) -> Any:
    n = int(x[0])
    return (
        np.float32(x[1]) + math.sqrt(x[0]) + float(x[2]),
        np.int32(n) // 2 + round(x[0] * 1.3),
        np.asarray(x, dtype=np.int32),
        np.vectorize(lambda one: one * 2 if one > 0 else 0.0)(x),
        np.fromfunction(lambda i, j: i * 2 + j, (2, 2)) + x[0],
        np.array([one * n for one in x]),
        np.int64(isinstance(x, np.ndarray)),
    )


TWO = np.float32(2)
TABLE = np.arange(3.0)


def _helper(x: Any, scale: Any = TWO, *, table: Any = TABLE) -> Any:
    return x * scale + table


def helped(x: Any) -> Any:
    import numpy as other  # noqa: ICN001 - by any name

    closure = other.ones(3)

    def inner(y: Any) -> Any:
        closure[1] = 5
        return y + closure

    return _helper(inner(x)), functools.partial(_helper, scale=3)(x), next(map(_helper, [x]))


@pytest.mark.parametrize("body", [made, of_sizes, numbers, helped])
def test_arrays_that_a_body_makes(body: Any) -> None:
    assert difference_in_graph(body, X) == ""


@pytest.mark.parametrize("body", [of_sizes, two_ways, helped])
def test_sizes_that_only_the_graph_knows(body: Any) -> None:
    assert difference_in_graph(body, X, dynamic=True) == ""


def draws(x: Any) -> Any:
    return x + np.random.normal(size=3)  # noqa: NPY002 - what is refused


def draws_from_a_generator(x: Any) -> Any:
    return x + GENERATOR.normal(size=3)


def draws_numbers(x: Any) -> Any:
    return x * random.random()


def in_memory(x: Any) -> Any:
    return np.array([len(x.tobytes())])


def a_range(x: Any) -> Any:
    return sum(x[place] for place in range(int(x[0])))


def as_text(x: Any) -> Any:
    return x.astype(str)


def caught(x: Any) -> Any:
    try:
        return x.tobytes()
    except Exception:  # noqa: BLE001
        return x


def unknown(x: Any) -> Any:
    return np.packbits(x > 0)


@pytest.mark.parametrize(
    ("body", "missing"),
    [
        (draws, "np.random"),
        (draws_from_a_generator, "np.random"),
        (draws_numbers, "np.random"),
        (in_memory, ".tobytes"),
        (a_range, "range(...) of a value"),
        (as_text, "dtype <U"),
        (caught, ".tobytes"),
        (unknown, "np.packbits"),
    ],
)
def test_what_cannot_be_traced_is_refused_with_its_line(body: Any, missing: str) -> None:
    with pytest.raises(Refused) as refused:
        graph(body, X).get_concrete_function()
    assert refused.value.missing.startswith(missing)
    assert refused.value.place is not None
    file, line = refused.value.place
    assert file == __file__
    assert body.__code__.co_firstlineno < line <= body.__code__.co_firstlineno + 2


def test_gradients_are_those_of_what_was_done() -> None:
    def body(x: Any) -> Any:
        y = x.copy()
        y[0] *= 3
        y[1:] += y[0]
        return (y[y > 0] ** 2).sum()

    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = graph(body, X)(x)
    at = [body(X + 1e-6 * one) - body(X - 1e-6 * one) for one in np.eye(3)]
    np.testing.assert_allclose(tape.gradient(found, x), np.array(at) / 2e-6, rtol=1e-6)
