"""TensorFlow's functions that make a tensor of an array, in a body of `tf.py_function`; and the lines of reasons."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow import cast as imported_cast

from pyopbench.ports.tracing.refusal import Refused
from traced_compare import graph

X = np.linspace(-1, 2, 12).reshape(4, 3)


def converted(x: Any) -> Any:
    return tf.convert_to_tensor(np.tanh(x.numpy()))


def converted_as_another_dtype(x: Any) -> Any:
    return tf.convert_to_tensor(np.tanh(x.numpy()), dtype=tf.float32)


def constant_of_a_list(x: Any) -> Any:
    rows = [row.sum() for row in x.numpy()[:2]]
    return tf.constant(rows, tf.float64) * 2


def constant_of_numbers(x: Any) -> Any:
    return tf.constant([1.0, 2.0, 3.0]).numpy() * x.numpy().astype(np.float32)


def constant_of_a_shape(x: Any) -> Any:
    return x.numpy() + tf.constant(2.0, tf.float64, shape=(3,)).numpy()


def cast_on(x: Any) -> Any:
    return np.cumsum(tf.cast(x, tf.float32).numpy(), axis=0)


def cast_by_its_name(x: Any) -> Any:
    return np.floor(imported_cast(x * 3, "int32").numpy() / 2)


def taken_on(x: Any) -> Any:
    return np.sort(tf.convert_to_tensor(x.numpy() ** 2).numpy(), axis=0)


def narrowed(x: Any) -> Any:
    return tf.convert_to_tensor(x.numpy() * 3, dtype=tf.int32)


def kept_rows(x: Any) -> Any:
    found = []
    for row in x.numpy():
        if row.sum() > 0:
            found.append(row)  # noqa: PERF401 - a list that grows
    return tf.convert_to_tensor(found)


def kept_numbers(x: Any) -> Any:
    found = []
    for row in x.numpy():
        if row.sum() > 0:
            found.append(float(row.sum()))  # noqa: PERF401 - a list that grows
    return tf.constant(found, dtype=tf.float32)


@pytest.mark.parametrize(
    "body",
    [
        converted,
        converted_as_another_dtype,
        constant_of_a_list,
        constant_of_numbers,
        constant_of_a_shape,
        cast_on,
        cast_by_its_name,
        taken_on,
        narrowed,
        kept_rows,
        kept_numbers,
    ],
)
def test_a_body_that_makes_tensors_is_traced(body: Callable[[Any], Any]) -> None:
    expected = body(tf.constant(X))
    found = graph(body, X)(tf.constant(X))
    assert (found.dtype, found.shape) == (tf.as_dtype(expected.dtype), expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def kept(x: Any) -> list[Any]:
    found = []
    for row in x:
        if row.sum() > 0:
            found.append(row)  # noqa: PERF401 - a list that grows
    return found


def as_a_tuple(x: Any) -> Any:
    found = kept(x)
    count = 2
    return tuple(found)[0] * count  # noqa: RUF015 - the tuple is what is refused


def gone_over(x: Any) -> Any:
    found = kept(x)
    return np.array([[row * 2 for row in found], 1][0])


def taken_apart(x: Any) -> Any:
    found = kept(x)
    first, second = found
    return first + second


def passed_on(x: Any) -> Any:
    found = kept(x)
    return max(x[0, 0], *found)


def by_tensorflow(x: Any) -> Any:
    found = kept(x)
    return tf.add_n(found)


def of_an_array(x: Any) -> Any:
    flat = x[x > 0]
    return sum(tuple(flat))


def unpacked(x: Any) -> Any:
    flat = x[x > 0]
    first, *_rest = flat
    return first


def by_method(x: Any) -> Any:
    found = kept(x)
    found.reverse()
    return np.array(found)


@pytest.mark.parametrize(
    ("body", "on_line", "missing"),
    [
        (as_a_tuple, "tuple(found)", "tuple(list)"),
        (gone_over, "for row in found", "for x in list"),
        (taken_apart, "first, second = found", "a, b = list"),
        (passed_on, "*found", "*list"),
        (by_tensorflow, "tf.add_n(found)", "tf.add_n(list)"),
        (of_an_array, "tuple(flat)", "tuple(array)"),
        (unpacked, "first, *_rest = flat", "a, b = array"),
        (by_method, "found.reverse()", "list.reverse"),
    ],
)
def test_a_reason_names_what_is_on_its_line(body: Callable[[Any], Any], on_line: str, missing: str) -> None:
    with pytest.raises(Refused) as refused:
        graph(body, X, dynamic=True).get_concrete_function()
    assert refused.value.place is not None
    assert on_line in linecache.getline(*refused.value.place)
    assert refused.value.missing == missing
