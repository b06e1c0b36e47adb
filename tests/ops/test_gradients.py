"""Every gradient mechanism works in the modes that the table says, through every bridge, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.op import Op
from pyopbench.ops.gradients import CALLBACK_GRADIENTS, CALLBACK_NODES, GRADIENTS
from pyopbench.ops.load import load_variant
from small_ops import case_of, power, square

BRIDGES = ("numpy_function", "py_func", "py_function", "py_function_numpy")
ATTACHED_BY_NAME = ("override_map", "override_map_ops", "defun")

N = np.array([1, 2, 3])
X = np.array([1.0, 2.0, 3.0])
D_POWER = np.array([1.0, 0.5, 2.0])
D_TRIPLE = np.array([0.25, 3.0, 1.0])

each_bridge = pytest.mark.parametrize("bridge", BRIDGES)
each_mechanism = pytest.mark.parametrize("mechanism", CALLBACK_GRADIENTS)


def planted(inputs: Any, outputs: Any, output_gradients: Any) -> Any:
    """Return what is no derivative, so that only the mechanism can have brought it, from all that it is given."""
    return (inputs[1] * output_gradients[0] + outputs[0] + outputs[2] * output_gradients[1],)


PLANTED = X * D_POWER + X**N + 3 * X * D_TRIPLE
DERIVATIVE = N * X ** (N - 1) * D_POWER + 3 * D_TRIPLE


def built(op: Op, bridge: str, mechanism: str) -> Callable[..., Any]:
    return load_variant(bridge).build(op, case_of(bridge, mechanism))


def in_mode(function: Callable[..., Any], mode: str) -> Callable[..., Any]:
    return tf.function(function, autograph=False) if mode == "call" else function


def gradient_of(function: Callable[..., Any], mode: str, x: Any = X) -> Any:
    """Return the gradient by x of one output, weighted with ones, as an array or None."""
    if mode == "v1_graph":
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            v1_x = tf.constant(x)
            (found,) = tf.compat.v1.gradients(function(v1_x), v1_x)
            return None if found is None else session.run(found)
    tensor = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(tensor)
        y = in_mode(function, mode)(tensor)
    found = tape.gradient(y, tensor)
    return None if found is None else found.numpy()


def weighted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the sum of both floating outputs of `power`, weighted so that their gradients are D_POWER and D_TRIPLE."""

    def total(x: Any) -> Any:
        to_power, _, triple = function(tf.constant(N), x)
        return tf.reduce_sum(to_power * D_POWER) + tf.reduce_sum(triple * D_TRIPLE)

    return total


def callback_nodes(nodes: Any) -> int:
    return sum(node.op in CALLBACK_NODES for node in nodes)


# Where each works


@each_bridge
@each_mechanism
def test_attached_gradient_works_in_the_modes_of_the_table(bridge: str, mechanism: str) -> None:
    """Three outputs, an int64 input and an int64 output; the gradient sees inputs, outputs and their gradients."""
    op = power(numpy_gradient=planted, tensor_gradient=planted)
    for mode in GRADIENTS[mechanism].works_in:
        found = gradient_of(weighted(built(op, bridge, mechanism)), mode)
        np.testing.assert_allclose(found, PLANTED, rtol=1e-14, err_msg=mode)


@each_bridge
@pytest.mark.parametrize("mechanism", ["override_map", "override_map_ops"])
def test_override_map_is_ignored_in_eager(bridge: str, mechanism: str) -> None:
    """Instead there is nothing, or py_function's own tape; where the body leaves the tape that says 0, of shape ()."""
    assert "eager" not in GRADIENTS[mechanism].works_in
    wrong = lambda *groups: (100 * groups[0][0],)  # noqa: E731
    found = gradient_of(built(square(numpy_gradient=wrong, tensor_gradient=wrong), bridge, mechanism), "eager")
    expected = {"py_function": 2 * X, "py_function_numpy": np.array(0.0)}.get(bridge)
    if expected is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, expected)
        assert found.shape == expected.shape


@each_bridge
def test_defun_raises_in_eager(bridge: str) -> None:
    assert "eager" not in GRADIENTS["defun"].works_in
    with pytest.raises(AttributeError, match="eager"):
        gradient_of(built(square(), bridge, "defun"), "eager")


@pytest.mark.parametrize("mode", GRADIENTS["autodiff"].works_in)
def test_autodiff_works_in_every_mode(mode: str) -> None:
    found = gradient_of(weighted(built(power(), "native", "autodiff")), mode)
    np.testing.assert_allclose(found, DERIVATIVE, rtol=1e-14)


@pytest.mark.parametrize("mode", GRADIENTS["tape"].works_in)
def test_tape_works_in_every_mode_for_floating_inputs_and_outputs(mode: str) -> None:
    np.testing.assert_allclose(gradient_of(built(square(), "py_function", "tape"), mode), 2 * X, rtol=1e-14)


@pytest.mark.parametrize("mode", GRADIENTS["tape"].works_in)
def test_tape_fails_for_whole_numbers(mode: str) -> None:
    """The plan leaves it out with that reason."""
    op = power()
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError), match=r"Cannot convert 0\.0|NOT CONVERTIBLE"):
        gradient_of(weighted(built(op, "py_function", "tape")), mode)
    variant = load_variant("py_function")
    reason = "py_function's own gradient fails in TensorFlow where an input or output is not floating"
    assert variant.unsupported(op, case_of("py_function", "tape", mode)) == reason
    assert variant.unsupported(square(outputs=("dtype", "int64")), case_of("", "tape")) == reason
    assert variant.unsupported(square(), case_of("py_function", "tape")) is None
    assert variant.unsupported(op, case_of("py_function", "custom_gradient")) is None
    assert variant.unsupported(op, case_of("py_function")) is None


# What it is made of


@each_bridge
@each_mechanism
def test_only_override_map_ops_needs_no_callback_for_the_gradient(bridge: str, mechanism: str) -> None:
    """In the graph of a session and in the backward function of a traced one."""
    expected = 0 if mechanism == "override_map_ops" else 1
    function = built(square(), bridge, mechanism)
    with tf.Graph().as_default() as graph:
        x = tf.constant(X)
        y = function(x)
        before = len(graph.as_graph_def().node)
        tf.compat.v1.gradients(y, x)
        assert callback_nodes(graph.as_graph_def().node[before:]) == expected

    traced = in_mode(function, "call")

    @tf.function(autograph=False)
    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = traced(x)
        return tape.gradient(y, x)

    library = gradient.get_concrete_function(tf.TensorSpec([3], tf.float64)).graph.as_graph_def().library
    backward = [made for made in library.function if "__backward_" in made.signature.name]
    assert len(backward) == 1
    assert callback_nodes(backward[0].node_def) == expected


def test_override_map_ops_needs_a_gradient_in_tensorflow_ops() -> None:
    with pytest.raises(ValueError, match="TensorFlow ops"):
        built(square(tensor_gradient=None), "numpy_function", "override_map_ops")


@each_mechanism
def test_a_callback_gradient_needs_a_gradient_body(mechanism: str) -> None:
    with pytest.raises(ValueError, match=r"^the op has no gradient for numpy_function$"):
        built(square(numpy_gradient=None), "numpy_function", mechanism)


# Several in one process


def times(factor: float) -> Op:
    """Return x**2 with a planted gradient of `factor`."""
    gradient = lambda inputs, outputs, output_gradients: (factor * output_gradients[0],)  # noqa: E731
    return square(numpy_gradient=gradient, tensor_gradient=gradient)


@pytest.mark.parametrize("bridge", ["numpy_function", "py_function"])
@each_mechanism
def test_ops_in_one_graph_keep_their_own_gradients(bridge: str, mechanism: str) -> None:
    """Two ops, the first of them twice, and an op of the same name built anew."""
    first, second = built(times(2.0), bridge, mechanism), built(times(5.0), bridge, mechanism)
    for mode in ("call", "v1_graph"):
        found = gradient_of(lambda x: first(x) + second(x) + first(10 * x), mode)
        np.testing.assert_array_equal(found, np.full(3, 2.0 + 5.0 + 10 * 2.0), err_msg=mode)


@pytest.mark.parametrize("mechanism", ATTACHED_BY_NAME)
def test_one_built_op_works_in_several_graphs(mechanism: str) -> None:
    """Other shapes and dtypes are traced anew; a session has a graph of its own."""
    single = load_variant("numpy_function").build(square(), case_of("", mechanism, dtype="float32"))
    double = built(square(), "numpy_function", mechanism)
    traced = in_mode(double, "call")
    for x in (X, X[:2], np.array(4.0)):
        tensor = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(tensor)
            y = traced(tensor)
        np.testing.assert_array_equal(tape.gradient(y, tensor), 2 * x)
    for _ in range(2):
        np.testing.assert_array_equal(gradient_of(double, "v1_graph"), 2 * X)
    found = gradient_of(single, "call", X.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, 2 * X.astype(np.float32))
