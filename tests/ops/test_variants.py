"""Every variant is in the graph what it says it is, and builds for every op or says why not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.errors import Unsupported
from pyopbench.model.op import Op
from pyopbench.ops.gradients import CALLBACK_NODES
from pyopbench.ops.load import load_op, load_ops, load_variant, load_variants
from pyopbench.ops.own.explain import explain
from pyopbench.worker.plan import why_not
from pyopbench.worker.prepare.prepare import prepare
from small_ops import SIZE, case_of, square

pytestmark = pytest.mark.slow  # every op in every variant

X = np.array([1.0, 2.0, 3.0])


def traced(op: Op, variant_name: str) -> Any:
    variant = load_variant(variant_name)
    function = tf.function(variant.build(op, case_of(variant_name)), **variant.function_options)
    return function.get_concrete_function(tf.TensorSpec([SIZE], tf.float64))


def kinds(concrete: Any) -> Counter[str]:
    """Count the node types of a graph and of the functions that it calls."""
    graph = concrete.graph.as_graph_def()
    inner = [node for function in graph.library.function for node in function.node_def]
    return Counter(node.op for node in [*graph.node, *inner])


# What is in the graph


@pytest.mark.parametrize(
    ("variant", "node"),
    [
        ("numpy_function", "PyFunc"),
        ("py_func", "PyFunc"),
        ("py_function", "EagerPyFunc"),
        ("py_function_numpy", "EagerPyFunc"),
    ],
)
def test_a_callback_is_one_node_of_its_type(variant: str, node: str) -> None:
    """And the body is not in the graph."""
    assert load_variant(variant).is_callback
    found = kinds(traced(square(), variant))
    assert {name: found[name] for name in CALLBACK_NODES if found[name]} == {node: 1}
    assert not found & Counter(["Square", "Mul"])


@pytest.mark.parametrize(("variant", "node"), [("native", "Square"), ("xla", "Square"), ("traced", "Mul")])
def test_a_port_is_the_ops_of_its_body_and_no_callback(variant: str, node: str) -> None:
    assert load_variant(variant).is_port
    found = kinds(traced(square(), variant))
    assert found[node] == 1
    assert not found & Counter(CALLBACK_NODES)


@pytest.mark.parametrize("variant", [name for name, one in load_variants().items() if one.body in ("numpy", "tensor")])
def test_only_xla_is_compiled(variant: str) -> None:
    """`_XlaMustCompile` is what jit_compile=True sets: it fails where XLA cannot, in place of falling back."""
    attributes = traced(square(), variant).function_def.attr
    assert attributes["_XlaMustCompile"].b == (variant in ("xla", "traced_xla"))


def branching(x: Any) -> Any:
    if tf.reduce_sum(x) > 0:
        return x * 2
    else:
        return -x


def test_autograph_alone_turns_python_control_flow_into_nodes() -> None:
    op = square(python=branching, tensor=branching)
    concrete = traced(op, "autograph")
    assert kinds(concrete) & Counter(["If", "StatelessIf"])
    np.testing.assert_array_equal(concrete(tf.constant(X)), 2 * X)
    np.testing.assert_array_equal(concrete(tf.constant(-X)), X)
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        traced(op, "native")


@pytest.mark.parametrize("mode", ["eager", "call"])
@pytest.mark.parametrize("variant", ["numpy_function", "py_func", "py_function_numpy", "py_function"])
def test_a_body_of_numpy_is_given_arrays_and_a_body_of_tensors_eager_tensors(variant: str, mode: str) -> None:
    seen = []

    def body(x: Any) -> Any:
        seen.append((isinstance(x, np.ndarray), tf.is_tensor(x) and hasattr(x, "numpy")))
        return x + 1

    function = load_variant(variant).build(square(numpy=body, tensor=body), case_of(variant, mode=mode))
    if mode == "call":
        function = tf.function(function, autograph=False)
    np.testing.assert_array_equal(function(tf.constant(X)), X + 1)
    assert seen == [(False, True) if variant == "py_function" else (True, False)]


# Every variant of every op


def combinations(*, attempts: bool) -> Iterator[Case]:
    """Yield the forward cases that the plan lets through, of the smallest size with several elements."""
    for op_name, op in load_ops().items():
        size = min(size for size in op.sizes if size >= 10 or size == op.sizes[-1])
        for variant_name, variant in load_variants().items():
            case = Case(op_name, variant_name, "none", "forward", "call", "float32", size)
            # kernels/test_register.py checks all kernels.
            is_covered = variant_name == "custom_op" and op_name != "log_huber"
            if (
                variant.is_attempt == attempts
                and not is_covered
                and why_not(replace(op, not_ported={}), variant, case) is None
            ):
                yield case


@pytest.mark.parametrize("case", combinations(attempts=False), ids=lambda case: f"{case.op}-{case.variant}")
def test_what_was_written_for_an_op_is_right(case: Case) -> None:
    assert prepare(case).checked.values <= load_op(case.op).tolerance["float32"]


ATTEMPTED = ("sinh", "log_huber", "log_huber_elementwise", "determinant")
"""Ops of an array, of numbers, of both, and of matrices."""
ATTEMPTED_OF_DICTS = ("traced", "xla", "xla_autograph", "numba_op")
"""Variants of `sparse_conv_q`, whose body has Python dicts: for each of these there is another reason."""


def test_what_nobody_wrote_for_an_op_is_right_or_says_why_it_cannot_be() -> None:
    refused: dict[tuple[str, str], Unsupported] = {}
    right = set()
    for case in combinations(attempts=True):
        is_of_dicts = case.op == "sparse_conv_q" and case.variant in ATTEMPTED_OF_DICTS
        if not is_of_dicts and case.op not in ATTEMPTED:
            continue
        try:
            prepare(case)
            right.add((case.op, case.variant))
        except Unsupported as unsupported:
            refused[case.op, case.variant] = unsupported
    not_ported = {(name, one) for name in load_ops() for one in load_op(name).not_ported}
    assert refused.keys() >= not_ported - {("sparse_conv_q", "traced_xla")}, "that is compiled for seconds before"
    assert refused.keys() >= {("determinant", "traced_xla"), *(("sparse_conv_q", one) for one in ATTEMPTED_OF_DICTS)}
    assert right >= {("sinh", one) for one in ("xla", "traced", "traced_xla", "numba_op")}
    for (op, _), unsupported in refused.items():
        assert unsupported.__cause__ is not None
        assert unsupported.message == explain(unsupported.__cause__, load_op(op))
