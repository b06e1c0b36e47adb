"""Nodes on data are those that arguments and state reach; constants, shapes and control edges do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from pyopbench.worker.prepare.executed_graph import calls_function, names_on_data


def kinds_on_data(body: Callable[[Any], Any]) -> set[str]:
    graph = tf.function(body, autograph=False).get_concrete_function(tf.TensorSpec([3])).graph
    on_data = names_on_data(graph.as_graph_def().node)
    return {node.type for node in graph.get_operations() if node.name in on_data} - {"Placeholder", "Identity"}


@tf.function
def squared(x: Any) -> Any:
    return tf.square(x)


def after(x: Any) -> Any:
    with tf.control_dependencies([x]):
        return tf.exp(tf.constant(1.0))


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        (lambda x: tf.square(x) * 2.0, {"Square", "Mul"}),
        (lambda x: tf.exp(tf.constant(1.0)), set()),
        (lambda x: x + tf.cast(tf.raw_ops.Shape(input=x)[0], tf.float32), {"AddV2"}),
        (lambda x: tf.random.uniform([3]) + tf.exp(tf.constant(1.0)), {"RandomUniform", "AddV2"}),
        (lambda x: tf.exp(squared(x)), {"PartitionedCall", "Exp"}),
        (lambda x: tf.exp(squared(tf.constant(1.0))), set()),
        (lambda x: tf.raw_ops.Unique(x=x).idx, {"Unique"}),
        (after, set()),
    ],
)
def test_data_reaches_nodes_through_inputs_alone(body: Callable[[Any], Any], kinds: set[str]) -> None:
    assert kinds_on_data(body) == kinds


def test_types_that_call_functions_are_known() -> None:
    assert calls_function("StatefulPartitionedCall")
    assert calls_function("name_of_a_Defun")
    assert not calls_function("PyFunc")
