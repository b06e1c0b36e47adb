"""Every kernel gives what its op gives, in values and gradients, and refuses what is not for it with the values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from extra_cases import ELEMENTWISE
from pyopbench.model.case import Case
from pyopbench.ops.kernels import register
from pyopbench.ops.kernels.compiler import compiler
from pyopbench.ops.load import load_op, load_ops, make_inputs
from pyopbench.worker.prepare.prepare import prepare

OPS = sorted(load_ops())
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("kernels")]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-5, 0.999, -1.0, 1.001, 30.0, 1e30]


def call(name: str, *inputs: Any) -> Any:
    return register.body_of(load_op(name))(*inputs)


@pytest.mark.parametrize("mode", ["eager", "call"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OPS)
def test_values_and_gradients_are_the_reference_s(name: str, dtype: str, mode: str) -> None:
    """At two sizes, the larger of which TensorFlow cuts into parts where the op is dear enough."""
    op = load_op(name)
    case = Case(name, "custom_op", "autodiff", "backward", mode, dtype, op.sizes[0])
    assert prepare(case, finite_differences=mode == "eager").checked.gradient is not None
    prepare(replace(case, size=op.sizes[min(4, len(op.sizes) - 1)]))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_second_order_is_native_s(name: str) -> None:
    op = load_op(name)
    x = tf.constant(make_inputs(op, 20, "float64")[0])
    found = [second_order(body, x) for body in (register.body_of(op), op.tensor)]
    for custom, native in zip(*found, strict=True):
        np.testing.assert_allclose(custom, native, rtol=1e-12, atol=1e-12)


def second_order(body: Any, x: Any) -> tuple[Any, Any]:
    """Return the gradient by x and by dy of the gradient times a vector."""
    dy, vector = tf.cos(x), tf.sin(x)
    with tf.GradientTape() as outer:
        outer.watch([x, dy])
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = body(x)
        first = inner.gradient(y, x, output_gradients=dy)
        total = tf.reduce_sum(first * vector)
    found: tuple[Any, Any] = outer.gradient(total, (x, dy), unconnected_gradients="zero")
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_numbers_at_the_edge_come_out_as_numpy_s(name: str, dtype: str) -> None:
    """Zero with its sign, infinity, no number, tiny and huge: in a vector, and one after the other."""
    op = load_op(name)
    x = np.array(SPECIAL * 3, dtype)
    with np.errstate(all="ignore"):
        expected = op.numpy(x.copy())
    tolerance = 10 * op.tolerance[dtype]
    for found in (call(name, x).numpy(), np.array([call(name, x[i : i + 1]).numpy()[0] for i in range(x.size)])):
        np.testing.assert_allclose(found, expected, rtol=tolerance)
        np.testing.assert_array_equal(np.signbit(found[x == 0]), np.signbit(expected[x == 0]))


@pytest.mark.parametrize("name", ["square", "sinh"])
def test_a_million_numbers_are_as_right_as_a_few(name: str) -> None:
    x = np.linspace(-3.0, 3.0, 1_000_003, dtype=np.float32)
    np.testing.assert_allclose(call(name, x), load_op(name).numpy(x), rtol=1e-5, atol=1e-6)


def units_off(found: Any, exact: Any, dtype: str) -> float:
    """Return by how many units in the last place numbers are off at the most, where the exact ones are finite."""
    unit = np.spacing(np.abs(exact).astype(dtype)).astype(exact.dtype)
    held = np.isfinite(exact.astype(dtype))
    return float(np.max(np.abs(np.asarray(found).astype(exact.dtype) - exact)[held] / unit[held]))


@pytest.mark.parametrize(
    ("dtype", "exact", "largest"), [("float32", "float64", 89.4), ("float64", "longdouble", 710.4)]
)
def test_sinh_and_cosh_are_right_to_four_units(dtype: str, exact: str, largest: float) -> None:
    """From where sinh is x to where it ends; the gradient of sinh is cosh."""
    if np.finfo(exact).eps >= np.finfo(dtype).eps:
        pytest.skip(f"{exact} is no more exact than {dtype} on this machine")
    steps = np.linspace(-1.0, 1.0, 20_001)
    x = np.concatenate([steps * reach for reach in (1e-3, 0.3, 1.0, 3.0, 20.0, largest)]).astype(dtype)
    true = x.astype(exact)
    body = register.body_of(load_op("sinh"))
    with tf.GradientTape() as tape:
        tape.watch(tensor := tf.constant(x))
        y = body(tensor)
    assert units_off(y, np.sinh(true), dtype) <= 4
    assert units_off(tape.gradient(y, tensor), np.cosh(true), dtype) <= 4


@pytest.mark.parametrize("more", [0, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_written_past_the_caches_is_all_there(dtype: str, more: int) -> None:
    """Outputs of 32 MiB, with and without a rest that fills no block; gradients too."""
    x = np.arange(2**25 // np.dtype(dtype).itemsize + more, dtype=dtype)
    body = register.body_of(load_op("square"))
    with tf.GradientTape() as tape:
        tape.watch(tensor := tf.constant(x))
        y = body(tensor)
    np.testing.assert_array_equal(y, np.square(x))
    np.testing.assert_array_equal(tape.gradient(y, tensor), 2 * x)


SITES = np.array([[0, 0], [1, 1]], np.int64)
VALUES = np.ones((2, 3))
EXTENT = np.array([4, 4, 3], np.int64)
GROUND = np.ones(3)


@pytest.mark.parametrize(
    ("name", "inputs", "words"),
    [
        ("log_huber", (np.ones(2), np.float64(1)), r"input 0 must be a scalar and has shape \[2\]"),
        ("log_huber_elementwise", (np.ones(2), np.ones(2)), r"input 1, m, must be a scalar and has shape \[2\]"),
        ("determinant", (np.ones((5, 4, 3)),), r"matrices of 4 x 4 and has shape \[5,4,3\]"),
        ("determinant", (np.ones(4),), r"matrices of 4 x 4 and has shape \[4\]"),
        ("sparse_conv_q", (SITES[[0, 1, 0]], np.ones((3, 3)), EXTENT, GROUND), r"duplicate site \(0, 0\)"),
        ("sparse_conv_q", (SITES[:, :1], VALUES, EXTENT, GROUND), r"pairs \(a, 2\) and have shape \[2,1\]"),
        ("sparse_conv_q", (SITES, VALUES[:1], EXTENT, GROUND), r"one row for each of 2 sites and have shape \[1,3\]"),
        ("sparse_conv_q", (SITES, VALUES, EXTENT[:2], GROUND), r"\(height, width, channels\) and has shape \[2\]"),
        ("sparse_conv_q", (SITES, VALUES, EXTENT + 1, GROUND), r"the 3 channels of the values, and is \(5, 5, 4\)"),
        ("sparse_conv_q", (SITES, VALUES, EXTENT, GROUND[:2]), r"the 3 channels of the values, and has shape \[2\]"),
        ("sparse_conv_q", (SITES + 2**40, VALUES, EXTENT, GROUND), r"site 0 is beyond 2\^31 pixels"),
    ],
)
def test_what_is_not_for_a_kernel_is_refused_with_the_values(name: str, inputs: Any, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        call(name, *inputs)


def test_a_singular_matrix_has_a_gradient() -> None:
    """Where det(x) x^-T is no number: the cofactors of a matrix of rank 3 are not all zero."""
    x = tf.constant(np.diag([1.0, 2.0, 3.0, 0.0])[np.newaxis])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call("determinant", x)
    np.testing.assert_allclose(tape.gradient(y, x)[0], np.diag([0.0, 0.0, 0.0, 6.0]))


@pytest.fixture
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    compiler.cache_clear()
    monkeypatch.setenv("CXX", "no-such-compiler")
    yield
    compiler.cache_clear()


@pytest.mark.usefixtures("_no_compiler")
def test_without_a_compiler_no_op_has_a_kernel() -> None:
    assert "CXX=no-such-compiler" in str(register.why_not(load_op("square")))
