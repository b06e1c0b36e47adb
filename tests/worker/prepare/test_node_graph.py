"""Graphs of copies: what they are built of, what they return, and that Grappler is off only for them.

How many copies a graph holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.op import Op
from pyopbench.ops.gradients import CALLBACK_GRADIENTS
from pyopbench.ops.load import load_variant
from pyopbench.worker.prepare import node_graph
from pyopbench.worker.prepare.checks import Checked
from pyopbench.worker.prepare.executed_graph import Chain
from pyopbench.worker.prepare.node_graph import enough_copies
from pyopbench.worker.prepare.prepare import prepare
from small_ops import case_of, power, put_in_place, square

X = np.array([1.0, 1.5, 2.0])
CALLBACKS = ("py_func", "numpy_function", "py_function", "py_function_numpy")


@pytest.fixture(autouse=True)
def _grappler_as_before() -> Iterator[None]:
    yield
    node_graph.use_grappler(enabled=True)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Op:
    op = power()
    put_in_place(monkeypatch, op)
    return op


def chain_of(op: Op, variant: str, gradient: str, copies: int) -> tuple[Chain, tuple[Any, ...]]:
    made = load_variant(variant)
    body = node_graph.body_of_copy(made.build(op, case_of(variant, gradient, mode="node")), made)
    x = tf.constant(X)
    arguments = (x,) if gradient == "none" else (x, tf.ones_like(x))
    return node_graph.link(op, body, copies, inputs=1), arguments


def graph_of(chain: Chain, arguments: tuple[Any, ...]) -> Any:
    return chain.function.get_concrete_function(*arguments).graph


@pytest.mark.parametrize(
    ("variant", "kind"), [("native", "Square"), ("numpy_function", "PyFunc"), ("xla", "PartitionedCall")]
)
def test_every_copy_is_the_op_alone_and_waits_for_the_one_before(variant: str, kind: str) -> None:
    chain, arguments = chain_of(square(), variant, "none", 4)
    operations = [node for node in graph_of(chain, arguments).get_operations() if chain.scope in node.name]
    copies = [node for node in operations if node.type in (kind, f"Stateful{kind}")]
    assert len(copies) == 4
    for before, after in itertools.pairwise(copies):
        waits = {*after.control_inputs, *(node for control in after.control_inputs for node in ancestors(control))}
        assert before in waits
    if variant != "xla":
        assert {node.type for node in operations} == {kind}


def ancestors(node: Any) -> set[Any]:
    found, waiting = set(), [node]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += [*(tensor.op for tensor in one.inputs), *one.control_inputs]
    return found


def test_gradients_of_copies_are_not_added_up() -> None:
    chain, arguments = chain_of(square(), "native", "autodiff", 4)
    assert not [node for node in graph_of(chain, arguments).get_operations() if node.type.startswith("AddN")]
    _, (gradient,) = chain.function(*arguments)
    np.testing.assert_allclose(gradient, 2 * X)


@pytest.mark.parametrize(
    ("variant", "gradient"),
    [
        *((name, "none") for name in ("native", "xla", *CALLBACKS)),
        *(("numpy_function", mechanism) for mechanism in CALLBACK_GRADIENTS),
        ("py_function", "custom_gradient"),
        ("native", "autodiff"),
        ("xla", "autodiff"),
    ],
)
def test_every_variant_and_mechanism_is_checked_in_graphs_of_copies(
    monkeypatch: pytest.MonkeyPatch, made: Op, variant: str, gradient: str
) -> None:
    monkeypatch.setattr(node_graph, "shortest_call", lambda call: 1e-6)
    direction = "forward" if gradient == "none" else "forward_backward"
    prepared = prepare(case_of(variant, gradient, mode="node", direction=direction), finite_differences=True)
    assert prepared.copies == (1 if variant in CALLBACKS else 8)
    assert prepared.timed == (0,)
    checked = prepared.checked
    assert checked.values <= 1e-12
    assert (checked.gradient is None) == (checked.finite_difference is None) == (gradient == "none")
    prepared()


def test_the_body_of_a_callback_runs_once_for_each_copy() -> None:
    seen: list[int] = []

    def body(x: Any) -> Any:
        seen.append(1)
        return x * x

    chain, arguments = chain_of(square(numpy=body), "numpy_function", "none", 8)
    node_graph.use_grappler(enabled=False)
    chain.function(*arguments)
    assert len(seen) == 8


def test_grappler_is_off_for_cases_of_mode_node_and_on_again_for_others(made: Op) -> None:
    def disabled() -> bool:
        return bool(tf.config.optimizer.get_experimental_options()["disable_meta_optimizer"])

    prepare(case_of("native", mode="node"))
    assert disabled()
    prepare(case_of("native"))
    assert not disabled()


def alive(monkeypatch: pytest.MonkeyPatch, copies: int, copy_seconds: float, fits: int = 99) -> int:
    """Return the copies of the graph that is made, on a clock that counts copies.

    Args:
        monkeypatch: puts the clock in place.
        copies: wanted.
        copy_seconds: how long each copy takes in a call.
        fits: copies that the memory is enough for.
    """
    now = [0.0]
    monkeypatch.setattr(node_graph.time, "perf_counter", lambda: now[0])

    def link(number: int) -> Chain:
        if number > fits:
            raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")
        chain, _ = chain_of(square(), "native", "none", number)

        class Timed:
            def __call__(self, *arguments: Any) -> Any:
                now[0] += number * copy_seconds
                return chain.function(*arguments)

            def get_concrete_function(self, *arguments: Any) -> Any:
                return chain.function.get_concrete_function(*arguments)

        return Chain(number, Timed(), chain.scope)

    node_graph.use_grappler(enabled=False)
    return node_graph.alive_graph(link, copies, (tf.constant(X),), lambda outputs, gradients: Checked(0.0)).copies


@pytest.mark.parametrize(
    ("copy_seconds", "fits", "left"), [(1e-3, 99, 8), (3e-3, 99, 1), (1e-3, 4, 1)], ids=["fit", "slow", "large"]
)
def test_copies_that_take_too_long_or_too_much_memory_give_way_to_one(
    monkeypatch: pytest.MonkeyPatch, copy_seconds: float, fits: int, left: int
) -> None:
    assert alive(monkeypatch, 8, copy_seconds, fits) == left


@pytest.mark.parametrize(("gradient", "arguments"), [("none", 2), ("custom_gradient", 4)])
def test_the_empty_graph_has_the_arguments_of_the_others_and_no_work(made: Op, gradient: str, arguments: int) -> None:
    """The op has two inputs, and two floating outputs that a gradient flows into."""
    direction = "forward" if gradient == "none" else "forward_backward"
    full = prepare(case_of("numpy_function", gradient, mode="node", direction=direction))
    empty = prepare(case_of("empty_graph", mode="node", direction=direction))
    assert (empty.copies, len(empty.segments)) == (0, 1)
    given, wanted = (one.segments[0].args for one in (empty, full))  # type: ignore[attr-defined]
    assert [(one.shape, one.dtype) for one in given] == [(one.shape, one.dtype) for one in wanted]
    assert len(given) == arguments
    graph = empty.segments[0].func.get_concrete_function(*given).graph  # type: ignore[attr-defined]
    assert {node.type for node in graph.get_operations()} == {"Placeholder"}
    empty()


@pytest.mark.parametrize(
    ("empty", "one", "copies"),
    [
        (50e-6, 200e-6, 1),  # 150 us are three times the empty graph
        (50e-6, 199e-6, 2),
        (50e-6, 125e-6, 2),
        (50e-6, 124e-6, 4),
        (50e-6, 51e-6, 8),  # 8 us are not enough, and there is no more
        (50e-6, 49e-6, 8),
        (0.0, 1e-6, 1),
    ],
)
def test_enough_copies_take_three_times_the_empty_graph(empty: float, one: float, copies: int) -> None:
    assert enough_copies(empty, one) == copies
