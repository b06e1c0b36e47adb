"""What is read off executed graphs, and that copies which are not executed are found out.

Nodes on data are those that arguments and state reach; constants, shapes and control edges do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.errors import Elided
from pyopbench.worker.prepare import node_graph
from pyopbench.worker.prepare.executed_graph import Chain, Counts, call_and_count, names_on_data, require_alive
from small_ops import square


@pytest.fixture(autouse=True)
def _grappler_as_before() -> Iterator[None]:
    yield
    node_graph.use_grappler(enabled=True)


def counts_of(body: Callable[..., Any], copies: int) -> Counts:
    x = (tf.constant(np.ones(3)),)
    _, _, counts = node_graph.first_call(lambda: node_graph.link(square(), body, copies, inputs=1), x)
    return counts


def test_without_grappler_every_copy_is_executed() -> None:
    node_graph.use_grappler(enabled=False)
    counts = counts_of(lambda x: tf.square(x) * 2.0, 4)
    copy = {"Square": 1, "Mul": 1}
    assert counts == Counts((copy,) * 4, (copy,) * 4)
    require_alive(counts)


def mean_of_rows(x: Any) -> Any:
    """As a loss over rows has it: its gradient is full of arithmetic on shapes."""
    return tf.reduce_mean(tf.maximum(tf.reduce_sum(tf.square(x), axis=1), 0.5), keepdims=True)


def training_counts(copies: int) -> Counts:
    arguments = (tf.constant(np.ones((4, 3))), tf.constant([1.0], tf.float64))
    _, _, counts = node_graph.first_call(lambda: node_graph.link(square(), mean_of_rows, copies, inputs=1), arguments)
    return counts


def test_what_tensorflow_computes_from_shapes_once_is_not_missed() -> None:
    node_graph.use_grappler(enabled=False)
    counts = training_counts(4)
    require_alive(counts)
    for copy in (*counts.built, *counts.executed):
        assert {"Square", "Sum", "Mean", "RealDiv"} <= set(copy)
        assert copy["Maximum"] == 1, "the other one is of shapes"


def test_a_copy_whose_data_nodes_are_merged_is_told_beside_constants() -> None:
    node_graph.use_grappler(enabled=True)
    with pytest.raises(Elided):
        require_alive(training_counts(4))


def test_what_grappler_drops_or_merges_is_told_with_types_and_numbers() -> None:
    node_graph.use_grappler(enabled=True)
    counts = counts_of(tf.square, 2)
    with pytest.raises(Elided) as elided:
        require_alive(counts)
    assert elided.value.message == "the executed graph of 2 copies has 1 Square instead of 2"


def test_what_grappler_leaves_nothing_of_is_told() -> None:
    node_graph.use_grappler(enabled=True)
    with pytest.raises(Elided) as elided:
        require_alive(counts_of(tf.identity, 1))
    assert elided.value.message == "the executed graph has lost the op, which was built with 1 Identity"


def test_a_folded_chain_is_told() -> None:
    """Copies that feed each other, as x * 2 four times: the executed graph has one product."""
    node_graph.use_grappler(enabled=True)

    def folded(x: Any) -> Any:
        with tf.name_scope("mine_0"):
            for _ in range(4):
                x = x * 2.0
        return x

    _, counts = call_and_count(Chain(1, tf.function(folded, autograph=False), "mine_"), [tf.constant(np.ones(3))])
    assert counts is not None
    assert counts.built[0]["Mul"] == 4
    with pytest.raises(Elided) as elided:
        require_alive(counts)
    assert elided.value.message == "the executed graph of 1 copy has 1 Mul instead of 4"


def test_a_body_that_adds_nothing_is_told() -> None:
    with pytest.raises(Elided) as elided:
        counts_of(lambda x: x, 2)
    assert elided.value.message == "the body adds no node to a graph, so there is nothing to time"


def test_nodes_that_no_output_needs_are_not_asked_for() -> None:
    node_graph.use_grappler(enabled=False)

    def body(x: Any) -> Any:
        tf.exp(x)
        return tf.square(x)

    assert counts_of(body, 2).built == ({"Square": 1}, {"Square": 1})


SINH = {"Sinh": 1}


@pytest.mark.parametrize(
    ("built", "executed", "words"),
    [
        ((SINH, SINH), (SINH, {}), "of 2 copies has 1 Sinh instead of 2"),
        ((SINH, SINH), ({"Sinh": 2}, {}), "of 2 copies has 2 Sinh instead of 4"),
        ((SINH, SINH), (SINH, {"Sinh": 1, "Cosh": 1}), "of 2 copies has 1 Cosh instead of 2"),
        (({"A": 1, "B": 2},) * 2, ({"A": 1}, {"A": 1}), "of 2 copies has 0 B instead of 4"),
        (({"A": 1, "B": 2},), ({"A": 1},), "of 1 copy has 0 B instead of 2"),
        ((SINH, SINH), ({"NoOp": 1}, {"NoOp": 1}), "has lost the op, which was built with 1 Sinh"),
        (({}, {}), ({"Switch": 2}, {}), "of 2 copies has 2 Switch instead of 4"),
    ],
)
def test_copies_that_differ_or_lack_what_was_built_are_told(
    built: tuple[dict[str, int], ...], executed: tuple[dict[str, int], ...], words: str
) -> None:
    with pytest.raises(Elided, match=words):
        require_alive(Counts(built, executed))


def test_what_depends_on_a_choice_between_two_constants_depends_on_data() -> None:
    """As AutoGraph writes `continue`: TensorFlow lowers the condition, and only control edges lead to the constants."""
    node_graph.use_grappler(enabled=False)

    def body(x: Any) -> Any:
        is_done = tf.cond(x[0] > 0.0, lambda: tf.constant(True), lambda: tf.constant(False))
        return tf.cond(tf.logical_not(is_done), lambda: x * 2.0, lambda: x)

    counts = counts_of(body, 2)
    require_alive(counts)
    assert [copy["LogicalNot"] for copy in counts.executed] == [1, 1]


def test_nodes_behind_a_loop_do_not_make_up_for_nodes_that_are_merged() -> None:
    node_graph.use_grappler(enabled=True)

    def body(x: Any) -> Any:
        loop = tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, tf.sin(a)), (0, tf.constant(1.0, tf.float64)))
        return tf.square(x) + 2.0 * tf.square(x) + tf.square(loop[1])

    with pytest.raises(Elided):
        require_alive(counts_of(body, 1))


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
