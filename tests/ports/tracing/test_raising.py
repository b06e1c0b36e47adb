"""What a graph raises for, no compiler leaves out: XLA refuses such a graph, and a batch raises for one example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.ops.batched.forms import OVER_BATCH
from pyopbench.ports.tracing.raising import NODE
from pyopbench.ports.tracing.trace import traced

SMALL, LARGE = np.array([7, 5, 9]), np.array([2**40, 2**40, -(2**41) - 1])


def product_of_integers(x: Any) -> Any:
    n = int(x[0]) * int(x[1])
    return x / n


def raises_if_negative(x: Any) -> Any:
    if x.sum() < 0:
        raise ValueError("negative")
    return x * 2


def root_of_python(x: Any) -> Any:
    return x + float(x.sum()) ** 0.5


BODIES = (product_of_integers, raises_if_negative, root_of_python)


@pytest.mark.parametrize("body", BODIES)
def test_xla_refuses_what_it_would_not_raise_for(body: Callable[..., Any]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=NODE):
        tf.function(traced(body), autograph=False, jit_compile=True)(tf.constant(SMALL))


@pytest.mark.parametrize("body", BODIES)
def test_a_graph_raises(body: Callable[..., Any]) -> None:
    port = tf.function(traced(body), autograph=False)
    np.testing.assert_allclose(port(tf.constant(SMALL)), body(SMALL))
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion"):
        port(tf.constant(LARGE))


def test_a_batch_raises_for_one_example() -> None:
    port = tf.function(OVER_BATCH["map"](tf.function(traced(product_of_integers), autograph=False)), autograph=False)
    several = np.stack([SMALL, SMALL + 1])
    np.testing.assert_allclose(port(tf.constant(several)), list(map(product_of_integers, several)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion"):
        port(tf.constant(np.stack([SMALL, LARGE])))


def test_xla_compiles_what_raises_nothing() -> None:
    def body(x: Any) -> Any:
        n = int(x[0]) + 1
        return x * n

    port = tf.function(traced(body), autograph=False, jit_compile=True)
    np.testing.assert_array_equal(port(tf.constant(SMALL)), body(SMALL))
