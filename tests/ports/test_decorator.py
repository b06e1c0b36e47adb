"""`from pyopbench.ports import traced` decorates a NumPy function for graphs, with the port that is written of it."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.errors import BadInput
from pyopbench.ports import decorator, traced

ROWS = np.arange(12.0, dtype=np.float32).reshape(4, 3)
HERE = Path(__file__)


@traced(examples=(ROWS[0],))
def normalised(x: Any) -> Any:
    """Centre a vector."""
    if x.max() > 5:
        x = x / 2
    return (x - x.mean()) / (np.abs(x).sum() + 1)


def expected() -> Any:
    halves = [row / 2 if row.max() > 5 else row for row in ROWS]
    return np.stack([(row - row.mean()) / (np.abs(row).sum() + 1) for row in halves])


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Note how many examples each port is written from."""
    noted: list[int] = []
    original = decorator.write_port

    def write_port(op: Any, variant: str) -> Any:
        noted.append(len(op.sizes))
        return original(op, variant)

    monkeypatch.setattr(decorator, "write_port", write_port)
    return noted


def test_a_decorated_function_maps_a_dataset() -> None:
    found = tf.data.Dataset.from_tensor_slices(ROWS).map(normalised)
    np.testing.assert_allclose(np.stack(list(found.as_numpy_iterator())), expected(), rtol=1e-6)


def test_a_decorated_function_is_called_in_a_graph_and_keeps_its_name() -> None:
    graph = tf.function(lambda x: normalised(x) * 2)
    np.testing.assert_allclose(np.stack([graph(row) for row in map(tf.constant, ROWS)]), expected() * 2, rtol=1e-6)
    assert (normalised.__name__, normalised.__doc__) == ("normalised", "Centre a vector.")


def test_what_an_eager_call_has_written_is_for_graphs_too(written: list[int]) -> None:
    doubled = traced(lambda x: x * 2 + len(x))
    graph = tf.function(doubled)
    with pytest.raises(BadInput) as refused:
        graph(tf.constant([1.0, 2.0]))
    assert (refused.value.received, refused.value.legal) == ("float32[2]", None)
    np.testing.assert_array_equal(doubled(np.array([1.0, 2.0], np.float32)), [4, 6])
    np.testing.assert_array_equal(doubled(tf.constant([3.0, 2.0])), [8, 6])
    np.testing.assert_array_equal(graph(tf.constant([1.0, 2.0])), [4, 6])
    assert written == [1]
    np.testing.assert_array_equal(graph(tf.constant([1.0, 2.0, 3.0])), [5, 7, 9])
    assert written == [1]
    with pytest.raises(BadInput) as refused:
        graph(tf.constant([1, 2]))
    assert (refused.value.received, refused.value.legal) == ("int32[2]", "float32[2]")


def test_a_dataset_of_unknown_sizes_takes_the_example_with_as_many_axes() -> None:
    total = traced(lambda x: x.sum(axis=0), examples=[(np.ones((2, 3)),), (np.ones(4),)])
    rows = tf.data.Dataset.from_generator(
        lambda: iter([[1.0], [1.0, 2.0]]), output_signature=tf.TensorSpec([None], tf.float64)
    )
    assert list(rows.map(total).as_numpy_iterator()) == [1.0, 3.0]


def test_gradients_are_those_of_what_was_done() -> None:
    def body(x: Any) -> Any:
        y = x.copy()
        y[0] *= 3
        y[1:] += y[0]
        return (y[y > 0] ** 2).sum()

    at = np.array([3.0, -1.0, 2.0])
    x, function = tf.constant(at), traced(body, examples=(at,))
    for call in (function, tf.function(function)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = call(x)
        differences = [body(at + 1e-6 * one) - body(at - 1e-6 * one) for one in np.eye(3)]
        np.testing.assert_allclose(tape.gradient(found, x), np.array(differences) / 2e-6, rtol=1e-6)


def test_arguments_that_are_no_tensors_are_constants_of_a_port(written: list[int]) -> None:
    @traced
    def scaled(x: Any, factor: float, offset: Any = None, *, axis: int = 0) -> Any:
        return x.sum(axis=axis) * factor + (0 if offset is None else offset)

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(scaled(x, 2.0), [6, 10, 14])
    np.testing.assert_array_equal(scaled(x, 2.0, axis=1, offset=np.ones(2)), [7, 25])
    np.testing.assert_array_equal(traced(lambda x, n=2, y=3: x * n + y)(x[0], 2, np.ones(3)), [1, 3, 5])
    graph = tf.function(lambda x, y: scaled(x, 2.0, y, axis=1))
    np.testing.assert_array_equal(tf.function(scaled)(x, 2.0), [6, 10, 14])
    np.testing.assert_array_equal(graph(x, np.zeros(2)), [6, 24])
    assert len(written) == 3
    for wrong in ([1.0, 2.0], [tf.constant(1.0)]):
        with pytest.raises(BadInput):
            scaled(x, wrong)


class Scaling:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    @traced
    def scale(self, x: Any) -> Any:
        return x * self.factor


def test_a_method_is_written_with_the_attributes_of_its_object() -> None:
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal([one.scale(x) for one in (Scaling(2.0), Scaling(3.0))], [[2, 4], [3, 6]])


@traced
def plus_one(x: Any) -> Any:
    return x + 1


@traced
def plus_one_doubled(x: Any) -> Any:
    return plus_one(x) * 2


def test_a_decorated_function_calls_another_one() -> None:
    np.testing.assert_array_equal(plus_one_doubled(np.array([1.0, 2.0])), [4, 6])


def test_numbers_text_and_several_outputs() -> None:
    found = traced(lambda x: (float(x.sum()), x.shape[0], [1, 2]))(np.array([1.0, 2.0], np.float32))
    assert [(one.dtype, one.numpy().tolist()) for one in found] == [
        (tf.float64, 3.0), (tf.int64, 2), (tf.int64, [1, 2]),
    ]  # fmt: skip
    assert traced(lambda text: text + b"!")(tf.constant("a")).numpy() == b"a!"


def test_what_cannot_be_written_is_refused_with_its_line() -> None:
    def body(x: Any) -> Any:
        return np.real_if_close(x)

    with pytest.raises(BadInput) as refused:
        traced(body)(np.ones(3))
    assert refused.value.received == f"{HERE}:{body.__code__.co_firstlineno + 1}"


def test_an_error_of_the_function_is_its_own() -> None:
    def body(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError):
        traced(body)(np.ones(3))


def test_a_line_that_no_example_went_through_is_warned_of_for_other_shapes() -> None:
    def body(x: Any) -> Any:
        if len(x) > 3:
            return x[:3]
        return x * 2

    function = traced(body, examples=(np.ones(2),))
    graph = tf.function(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph(np.ones(2))
    with pytest.warns(UserWarning, match=f"{HERE.name} line {body.__code__.co_firstlineno + 2}:"):
        graph(np.ones(5))


@pytest.mark.parametrize("examples", [[np.ones(3)], np.ones(3), np.ones(0)])
def test_an_example_is_a_tuple_of_arguments(examples: Any) -> None:
    with pytest.raises(BadInput):
        traced(np.sum, examples=examples)


def test_a_call_without_arrays_is_refused() -> None:
    with pytest.raises(BadInput):
        traced(lambda: np.ones(3))()
    with pytest.raises(BadInput):
        traced(lambda x: x + 1)(3.0)


def test_objects_whose_method_it_is_are_told_apart_also_if_they_are_equal() -> None:
    @dataclass
    class Scaled:
        factor: float = dataclasses.field(compare=False)

        @traced
        def scale(self, x: Any) -> Any:
            return x * self.factor

    one, other = Scaled(2.0), Scaled(3.0)
    assert one == other
    assert [float(each.scale(np.ones(()))) for each in (one, other, one)] == [2, 3, 2]


def test_ports_of_many_shapes_are_forgotten(monkeypatch: pytest.MonkeyPatch, written: list[int]) -> None:
    monkeypatch.setattr(decorator, "MOST_SHAPES", 2)
    function = traced(lambda x: x * 2)
    for size in (1, 2, 3, 3, 1):
        function(np.ones(size))
    assert len(written) == 4
