"""A Numba function as a TensorFlow op: what it returns, refuses, and leaves behind."""

from __future__ import annotations

import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

numba = pytest.importorskip("numba", reason="Numba is an extra: pip install 'pyopbench[numba]'")

from pyopbench.ports.numba_op import NumbaOp  # noqa: E402 - it imports Numba

FLOATS = ("float32", 1)


@numba.njit
def several(x: Any, n: Any) -> Any:
    if n < 0:
        raise ValueError
    return x[x > 0], x.sum() * n, x


@numba.njit
def doubled(x: Any) -> Any:
    return x + x


@numba.njit
def slope(x: Any, found: Any, given: Any) -> Any:
    return 2 * given + 0 * x


@numba.njit
def same_twice(x: Any) -> Any:
    y = x + 1
    return y, y


@pytest.fixture(scope="module")
def of_several() -> NumbaOp:
    outputs = [("float32", (None,)), ("float64", ()), ("float32", ((0, 0),))]
    return NumbaOp(several, [FLOATS, ("int64", 0)], outputs)


@pytest.fixture(scope="module")
def of_doubled() -> NumbaOp:
    gradient = NumbaOp(slope, [FLOATS] * 3, [("float32", ((0, 0),))])
    return NumbaOp(doubled, [FLOATS], [("float32", ((0, 0),))], (gradient, (0,), (0,)))


@pytest.mark.parametrize("size", [0, 1, 7, 100_000])
def test_outputs_are_what_the_function_returns(of_several: NumbaOp, size: int) -> None:
    x, n = np.random.default_rng(0).normal(size=size).astype(np.float32), np.int64(3)
    expected = several.py_func(x, n)
    for call in (of_several, tf.function(of_several)):
        for one, other in zip(call(x, tf.constant(n)), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


def test_sizes_and_axes_may_be_unknown_in_a_graph(of_several: NumbaOp) -> None:
    function = tf.function(of_several, input_signature=[tf.TensorSpec(None), tf.TensorSpec(None, tf.int64)])
    assert function(np.ones(3, np.float32), 2)[1] == 6
    shapes = (
        tf.function(of_several).get_concrete_function(tf.TensorSpec([5]), tf.TensorSpec([], tf.int64)).output_shapes
    )
    assert [one.as_list() for one in shapes] == [[None], [], [5]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="its inputs are not"):
        function(np.ones((3, 3), np.float32), 2)


@pytest.mark.measures
def test_what_it_raises_is_an_error_of_the_op_and_no_memory_is_lost(of_several: NumbaOp) -> None:
    function = tf.function(of_several)

    def call(times: int) -> int:
        """Return the memory in use, in kB, after calls of which each has inputs and outputs of 600."""
        for _ in range(times):
            x = tf.constant(np.ones(50_000, np.float32))
            function(x, tf.constant(1, tf.int64))
            with pytest.raises(tf.errors.InvalidArgumentError, match="several raised an exception"):
                function(x, tf.constant(-1, tf.int64))
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024

    before = call(30)
    assert call(600) - before < 40_000, "the smallest array, lost in each call, would be 120,000"


def test_a_size_that_is_not_what_was_declared_is_an_error(of_several: NumbaOp) -> None:
    wrong = NumbaOp(several, of_several.inputs, [("float32", ((0, 0),)), *of_several.outputs[1:]])
    function = tf.function(wrong)
    assert function(np.ones(3, np.float32), 2)[0].shape == 3
    with pytest.raises(tf.errors.InvalidArgumentError):
        function(np.zeros(3, np.float32), 2)


def test_numbers_may_be_complex() -> None:
    op = NumbaOp(same_twice, [("complex64", 2)], [("complex128", ((0, 0), (0, 1)))] * 2)
    array = np.array([[0, 1], [1, 0]], "complex64")
    np.testing.assert_array_equal(op(array)[1], array + 1)


@pytest.mark.parametrize("dtype", ["float16", "string"])
def test_what_numba_does_not_know_is_refused(dtype: str) -> None:
    with pytest.raises(Exception, match=r"float16|string|data type"):
        NumbaOp(doubled, [(dtype, 1)], [("float32", (None,))])


def test_a_tensor_of_another_dtype_is_an_error(of_doubled: NumbaOp) -> None:
    with pytest.raises(ValueError, match="float64"):
        of_doubled(tf.zeros([2], tf.float64))


def test_it_has_the_gradient_that_is_given(of_doubled: NumbaOp) -> None:
    x = tf.constant([1.0, 2.0])
    for call in (of_doubled, tf.function(of_doubled)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(call(x) * [1.0, 10.0])
        np.testing.assert_array_equal(tape.gradient(y, x), [2, 20])


def test_it_has_no_gradient_where_none_is_given() -> None:
    x = tf.constant([1.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = NumbaOp(doubled, [FLOATS], [("float32", (None,))])(x)
    assert tape.gradient(y, x) is None


def test_outputs_in_one_block_of_memory_stay_apart() -> None:
    """TensorFlow may write into what only one op has yet to read."""
    op = NumbaOp(same_twice, [FLOATS], [("float32", ((0, 0),))] * 2)

    @tf.function
    def both(x: Any) -> Any:
        first, second = op(x)
        return tf.nn.relu(-first) + 1, second

    first, second = both(tf.ones(100_000))
    assert (first.numpy() == 1).all()
    assert (second.numpy() == 2).all()


def test_a_graph_on_a_gpu_has_it_on_the_host(of_doubled: NumbaOp) -> None:
    if not tf.config.list_physical_devices("GPU"):
        pytest.skip("TensorFlow has no GPU here")
    with tf.device("/GPU:0"):
        found = tf.function(lambda x: of_doubled(x + 1) + 1)(tf.ones(3))
    np.testing.assert_array_equal(found, [5, 5, 5])


def test_threads_and_parallel_maps_get_the_same(of_several: NumbaOp) -> None:
    function = tf.function(of_several)
    inputs = [tf.constant(np.random.default_rng(one).normal(size=1000).astype(np.float32)) for one in range(8)]
    expected = [several.py_func(one.numpy(), 1)[2] for one in inputs]

    def is_right(place: int) -> bool:
        found = [function(inputs[place], tf.constant(1, tf.int64))[2] for _ in range(200)]
        return all(np.array_equal(one, expected[place]) for one in found)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(is_right, range(8)))
    mapped = tf.data.Dataset.from_tensor_slices(inputs).map(
        lambda x: of_several(x, tf.constant(1, tf.int64))[2], tf.data.AUTOTUNE
    )
    for one, other in zip(mapped, expected, strict=True):
        np.testing.assert_array_equal(one, other)
