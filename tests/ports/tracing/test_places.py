"""Elements are replaced at places that only the graph knows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import OwnOp
from pyopbench.model.op import Op
from pyopbench.ops.load import load_variant
from pyopbench.ops.own.complete import complete
from pyopbench.ports.tracing.assignment import put
from pyopbench.ports.tracing.indexing import get
from small_ops import case_of
from traced_compare import graph

X = np.arange(60.0).reshape(3, 4, 5)
KEYS: dict[str, Callable[[Any], Any]] = {
    "leading": lambda i: (i,),
    "middle": lambda i: (slice(None), i, slice(None)),
    "last": lambda i: (..., i),
    "negative": lambda i: (slice(None), -1 - i),
    "none": lambda i: (None, slice(None), i, None),
    "slices beside it": lambda i: (slice(1, None), i, slice(-4, 3)),
    "steps beside it": lambda i: (slice(1, None), i, slice(None, None, -2)),
    "two": lambda i: (i, slice(None), i + 1),
    "two, one negative": lambda i: (-1 - i, i),
    "every axis": lambda i: (i, -1, i + 2),
    "bounds": lambda i: (slice(None), slice(i, i + 2)),
    "bounds beside others": lambda i: (slice(1, None), slice(i, i + 2), None, 1 - i),
    "known step": lambda i: (slice(None), slice(None, None, 2)),
}


def three_rounds(key: Callable[[Any], Any], x: Any) -> Any:
    """Return what a loop leaves of a tensor, of which each round replaces elements at a place of its own."""

    def one_round(i: Any, out: Any) -> Any:
        return i + 1, put(out, key(i), 10 * get(x, key(i)) + tf.cast(i, x.dtype))

    return tf.while_loop(lambda i, _: i < 3, one_round, (tf.constant(0), tf.zeros_like(x)))[1]


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_places_that_only_the_graph_knows_are_those_of_numpy(key: Callable[[Any], Any]) -> None:
    expected = np.zeros_like(X)
    for i in range(3):
        expected[key(i)] = 10 * X[key(i)] + i

    found = tf.function(three_rounds, autograph=False)(key, tf.constant(X))
    np.testing.assert_array_equal(found, expected)


def test_a_place_is_replaced_by_the_op_for_that() -> None:
    """`TensorScatterUpdate` is slower."""

    def body(x: Any, i: Any) -> Any:
        x = x.copy()
        x[:, i] = 0
        return x

    kinds = [one.type for one in graph(body, X, np.array(0)).get_concrete_function().graph.get_operations()]
    assert "TensorStridedSliceUpdate" in kinds
    assert "TensorScatterUpdate" not in kinds


@pytest.mark.parametrize("key", [lambda i: (i,), lambda i: (slice(None), i), lambda i: (0, i, 1)])
@pytest.mark.parametrize("place", [5, -5])
def test_a_place_that_is_not_there_is_not_replaced_in_silence(key: Any, place: int) -> None:
    def body(x: Any, i: Any) -> Any:
        x = x.copy()
        x[key(i)] = 0
        return x

    function = graph(body, X, np.array(0))
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of bounds"):
        function(X, np.array(place))


def running_sums(x: Any, first: Any) -> Any:
    """Return sums of columns from a place on, of which a value decides."""
    out = np.zeros_like(x)
    for k in range(x.shape[1] - 1):
        out[:, first + k] = x[:, : k + 1].sum(axis=1)
    return out


def running_sums_op() -> Op:
    return complete(OwnOp(inputs=(X[:, :, 0], np.array(1)), numpy=running_sums), "made", Path())


def test_the_variant_that_xla_compiles_takes_such_places() -> None:
    op, variant = running_sums_op(), load_variant("traced_xla")
    port = tf.function(variant.build(op, case_of("traced_xla")), **variant.function_options)
    given = op.make_inputs(op.sizes[0], "float64", np.random.default_rng(0))
    np.testing.assert_allclose(port(*given), op.numpy(*given))
