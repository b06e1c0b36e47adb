"""Every op in pyopbench/ops/builtin: its bodies agree with each other and with an independent computation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from extra_cases import ELEMENTWISE
from pyopbench.model.discover import KERNELS, find
from pyopbench.model.op import Op
from pyopbench.ops.load import load_op as load

NAMES = list(find("ops"))
SMALL = 6  # elements where a test perturbs each one
LARGE = 40  # elements where it does not
STEP = 1e-5  # of a central difference, near the cube root of the float64 roundoff

Arrays = Sequence[Any]


def inputs_of(op: Op, dtype: str, size: int, seed: int = 7) -> tuple[Any, ...]:
    """Draw inputs that no body may write to."""
    inputs = op.make_inputs(min(size, op.sizes[-1]), dtype, np.random.default_rng(seed))
    for array in inputs:
        array.flags.writeable = False
    return inputs


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def output_gradients_of(op: Op, outputs: Arrays, seed: int = 8) -> list[Any]:
    """Draw one gradient per floating output, away from 0 and of one sign, so that no sum of them cancels."""
    rng = np.random.default_rng(seed)
    floating = [outputs[i] for i in op.floating_outputs]
    return [np.asarray(rng.uniform(0.5, 1.5, np.shape(y)), dtype=np.asarray(y).dtype) for y in floating]


def assert_agree(op: Op, dtype: str, actual: Arrays, expected: Arrays) -> None:
    """Check number, shape, dtype and values: whole numbers exactly, the others within the op's tolerance."""
    assert len(actual) == len(expected)
    for a, e in zip(map(np.asarray, actual), map(np.asarray, expected), strict=True):
        assert (a.shape, a.dtype) == (e.shape, e.dtype)
        if e.dtype.kind != "f":
            np.testing.assert_array_equal(a, e)
        else:
            scale = np.max(np.abs(e), initial=0.0)
            np.testing.assert_allclose(a, e, rtol=0, atol=op.tolerance[dtype] * scale)


def constants(arrays: Arrays) -> list[tf.Tensor]:
    return [tf.constant(array) for array in arrays]


def autodiff(op: Op, body: Callable[..., Any], inputs: Arrays, output_gradients: Arrays) -> tuple[Any, ...]:
    """Differentiate a body in a graph, which runs AutoGraph over it."""

    @tf.function
    def gradient(*tensors: tf.Tensor) -> Any:
        watched = [tensors[i] for i in op.differentiable]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            outputs = as_tuple(body(*tensors))
            floating = [outputs[i] for i in op.floating_outputs]
        return tape.gradient(floating, watched, output_gradients=constants(output_gradients))

    return as_tuple(gradient(*constants(inputs)))


each_op = pytest.mark.parametrize("name", NAMES)
each_dtype = pytest.mark.parametrize("dtype", ["float32", "float64"])
each_python = pytest.mark.parametrize("name", [name for name in NAMES if load(name).python is not None])


# Inputs


@each_op
@each_dtype
def test_inputs_follow_from_the_seed(name: str, dtype: str) -> None:
    op = load(name)
    first, again, other = (inputs_of(op, dtype, LARGE, seed) for seed in (1, 1, 2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert any(not np.array_equal(a, b) for a, b in zip(first, other, strict=True))
    assert {first[i].dtype.name for i in op.differentiable} == {dtype}


@pytest.mark.parametrize("seed", range(20))
def test_inputs_keep_away_from_kinks_and_poles(seed: int) -> None:
    """A difference over a kink is no derivative; near a pole, rounding is all that is left."""
    assert np.min(np.abs(inputs_of(load("relu"), "float32", 1_000, seed)[0])) > 0.05
    assert np.min(inputs_of(load("log"), "float32", 1_000, seed)[0]) > 0.05
    x, m = inputs_of(load("log_huber"), "float32", 1, seed)
    assert abs(x) - m > 0.05
    x, m = inputs_of(load("log_huber_elementwise"), "float32", 1_000, seed)
    assert np.min(np.abs(np.abs(x) - m)) > 0.05
    assert np.min(np.abs(x)) > 0.05
    assert 0.3 < np.mean(np.abs(x) < m) < 0.7
    assert abs(x[0]) > m


def test_matrices_are_well_conditioned_and_their_determinants_have_both_signs() -> None:
    (matrices,) = inputs_of(load("determinant"), "float64", 1_000)
    assert np.max(np.linalg.cond(matrices, p=np.inf)) < 9
    assert 0.3 < np.mean(np.linalg.det(matrices) > 0) < 0.7


# The NumPy body


def log_huber(x: float, m: float) -> float:
    return x * x if abs(x) <= m else m * m * (1 - 2 * math.log(m) + 2 * math.log(abs(x)))


def leibniz(matrix: Any) -> float:
    """Sum the signed products over all permutations."""
    total = 0.0
    for order in itertools.permutations(range(4)):
        inversions = sum(order[i] > order[j] for i in range(4) for j in range(i + 1, 4))
        total += (-1) ** inversions * math.prod(float(matrix[i, order[i]]) for i in range(4))
    return total


REFERENCES: dict[str, Callable[..., float]] = {
    "cube": lambda x: x * x * x,
    "double": lambda x: x + x,
    "identity": lambda x: x,
    "log": math.log,
    "relu": lambda x: x if x > 0 else 0.0,
    "sin_double": lambda x: 2 * math.sin(x),
    "sinh": lambda x: (math.exp(x) - math.exp(-x)) / 2,
    "square": lambda x: x * x,
}


def test_every_op_has_a_kernel_and_no_kernel_is_without_an_op() -> None:
    assert {load(name).kernel for name in NAMES} == set(KERNELS.glob("*.cc"))


@pytest.mark.parametrize("name", ELEMENTWISE)
@each_dtype
def test_numpy_body_is_the_function_it_says(name: str, dtype: str) -> None:
    op = load(name)
    (x,) = inputs_of(op, dtype, LARGE)
    expected = np.array([REFERENCES[name](value) for value in x.tolist()], dtype=dtype)
    assert_agree(op, dtype, [op.numpy(x)], [expected])


@each_dtype
def test_determinant_is_the_sum_over_permutations(dtype: str) -> None:
    op = load("determinant")
    (matrices,) = inputs_of(op, dtype, LARGE)
    assert_agree(op, dtype, [op.numpy(matrices)], [np.array([leibniz(m) for m in matrices], dtype=dtype)])


SCALARS = [(x, m) for x in (0.3, -0.3, 1.9, 2.1, -2.1, 50.0) for m in (0.2, 2.0)]


@pytest.mark.parametrize(("x", "m"), SCALARS)
def test_log_huber_is_right_on_both_sides_of_m(x: float, m: float) -> None:
    expected = log_huber(x, m)
    scalar = load("log_huber")
    tensors = constants([x, m])
    assert scalar.numpy(np.float64(x), np.float64(m)) == pytest.approx(expected, rel=1e-12)
    assert load("log_huber_elementwise").numpy(np.array([x]), np.array(m))[0] == pytest.approx(expected, rel=1e-12)
    for body in (scalar.tensor, scalar.python):
        assert body is not None
        assert float(body(*tensors)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("x", "m"), SCALARS)
def test_log_huber_has_the_right_gradient_on_both_sides_of_m(x: float, m: float) -> None:
    op = load("log_huber")
    assert op.numpy_gradient is not None
    assert op.tensor_gradient is not None
    by_x = (log_huber(x + STEP, m) - log_huber(x - STEP, m)) / (2 * STEP)
    by_m = (log_huber(x, m + STEP) - log_huber(x, m - STEP)) / (2 * STEP)
    pair = (np.float64(x), np.float64(m))
    y = op.numpy(*pair)
    assert op.numpy_gradient(pair, [y], [np.float64(3)]) == pytest.approx((3 * by_x, 3 * by_m), rel=1e-6)
    tensors = [tf.constant(value, tf.float64) for value in (x, m, y, 3.0)]
    actual = [float(g) for g in op.tensor_gradient(tensors[:2], tensors[2:3], tensors[3:])]
    assert actual == pytest.approx([3 * by_x, 3 * by_m], rel=1e-6)


def test_log_huber_tensor_body_has_a_gradient_at_zero() -> None:
    """The branch not taken has a pole there, which must not leak as a NaN."""
    x, m = tf.constant([0.0, 0.5, 2.0]), tf.constant(1.0)
    body = load("log_huber_elementwise").tensor
    assert body is not None
    with tf.GradientTape() as tape:
        tape.watch([x, m])
        y = body(x, m)
    by_x, by_m = tape.gradient(y, [x, m])
    np.testing.assert_allclose(by_x, [0.0, 1.0, 1.0], rtol=1e-6)
    np.testing.assert_allclose(by_m, 2 * math.log(4), rtol=1e-6)


@each_op
@each_dtype
def test_numpy_body_keeps_dtype_and_inputs(name: str, dtype: str) -> None:
    """A write to an input would raise here, because `inputs_of` locks them."""
    op = load(name)
    for size in (1, LARGE):
        outputs = as_tuple(op.numpy(*inputs_of(op, dtype, size)))
        assert tuple(np.asarray(y).dtype.name for y in outputs) == op.output_dtypes(dtype)


def test_identity_returned_as_it_came_leaves_the_tensor_alone() -> None:
    """In a graph the array is the tensor's own buffer; what comes after must neither reuse nor free it."""
    body = load("identity").numpy

    @tf.function
    def graph(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        source = x + 1.0
        same = tf.ensure_shape(tf.numpy_function(body, [source], tf.float32), x.shape)
        after = tf.exp(same)
        with tf.control_dependencies([after]):
            return source * 1.0, tf.identity(same), after

    x = np.linspace(-1, 1, 100_000, dtype=np.float32)
    source, same, after = graph(tf.constant(x))
    np.testing.assert_array_equal(source, x + 1)
    np.testing.assert_array_equal(same, x + 1)
    np.testing.assert_allclose(after, np.exp(x + 1), rtol=1e-6)


# Gradients


def slopes(op: Op, inputs: Arrays, output_gradients: Arrays) -> list[Any]:
    """Differentiate the sum of outputs times their gradients by central differences, one element at a time."""

    def total(position: int, element: int, step: float) -> float:
        moved = [array.copy() for array in inputs]
        moved[position].reshape(-1)[element] += step
        outputs = as_tuple(op.numpy(*moved))
        floating = [outputs[i] for i in op.floating_outputs]
        return float(sum(np.sum(y * dy) for y, dy in zip(floating, output_gradients, strict=True)))

    results = []
    for position in op.differentiable:
        flat = [
            (total(position, element, STEP) - total(position, element, -STEP)) / (2 * STEP)
            for element in range(inputs[position].size)
        ]
        results.append(np.reshape(flat, inputs[position].shape))
    return results


@each_op
def test_numpy_gradient_is_the_slope_of_the_numpy_body(name: str) -> None:
    op = load(name)
    assert op.numpy_gradient is not None
    inputs = inputs_of(op, "float64", SMALL)
    outputs = as_tuple(op.numpy(*inputs))
    dys = output_gradients_of(op, outputs)
    actual = op.numpy_gradient(inputs, outputs, dys)
    assert len(actual) == len(op.differentiable)
    for gradient, slope in zip(actual, slopes(op, inputs, dys), strict=True):
        assert np.shape(gradient) == np.shape(slope)
        np.testing.assert_allclose(gradient, slope, rtol=1e-6, atol=1e-8)


# The bodies in TensorFlow


@each_op
@each_dtype
def test_tensor_body_agrees_with_numpy_in_eager_and_in_a_graph(name: str, dtype: str) -> None:
    op = load(name)
    assert op.tensor is not None
    inputs = inputs_of(op, dtype, LARGE)
    expected = as_tuple(op.numpy(*inputs))
    for body in (op.tensor, tf.function(op.tensor)):
        assert_agree(op, dtype, as_tuple(body(*constants(inputs))), expected)


@each_op
@each_dtype
def test_both_tensor_gradients_agree_with_numpy(name: str, dtype: str) -> None:
    """The formula, in eager and in a graph, and TensorFlow's own differentiation of the body."""
    op = load(name)
    assert op.numpy_gradient is not None
    assert op.tensor is not None
    assert op.tensor_gradient is not None
    inputs = inputs_of(op, dtype, LARGE)
    outputs = as_tuple(op.numpy(*inputs))
    dys = output_gradients_of(op, outputs)
    expected = op.numpy_gradient(inputs, outputs, dys)
    for formula in (op.tensor_gradient, tf.function(op.tensor_gradient)):
        assert_agree(op, dtype, formula(constants(inputs), constants(outputs), constants(dys)), expected)
    assert_agree(op, dtype, autodiff(op, op.tensor, inputs, dys), expected)


@each_python
@each_dtype
def test_python_body_agrees_with_numpy_through_autograph(name: str, dtype: str) -> None:
    op = load(name)
    assert op.python is not None
    inputs = inputs_of(op, dtype, LARGE)
    function = tf.function(op.python, input_signature=[tf.TensorSpec(a.shape, a.dtype) for a in inputs])
    assert_agree(op, dtype, as_tuple(function(*constants(inputs))), as_tuple(op.numpy(*inputs)))


@each_python
def test_python_body_is_differentiable_through_autograph(name: str) -> None:
    op = load(name)
    assert op.numpy_gradient is not None
    assert op.python is not None
    inputs = inputs_of(op, "float64", SMALL)
    outputs = as_tuple(op.numpy(*inputs))
    dys = output_gradients_of(op, outputs)
    expected = op.numpy_gradient(inputs, outputs, dys)
    assert_agree(op, "float64", autodiff(op, op.python, inputs, dys), expected)
