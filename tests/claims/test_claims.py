"""What is said about Python callbacks in TensorFlow, each claim tried; docs/port.md has the table of claims.

Plain TensorFlow, x**3 of four numbers, whose derivatives are 3 x**2 and 6 x.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

pytestmark = [pytest.mark.slow, pytest.mark.long]

X = np.array([-1.5, 0.5, 1.0, 2.0], np.float32)
LOST = "Could not find callback with key="
THREADS, CALLS = 4, 24


def cube(x: Any) -> Any:
    return x * x * x


def numpy_function(x: Any) -> Any:
    return tf.ensure_shape(tf.numpy_function(cube, [x], tf.float32), x.shape)


def py_function(x: Any) -> Any:
    return tf.ensure_shape(tf.py_function(cube, [x], tf.float32), x.shape)


def py_function_of_arrays(x: Any) -> Any:
    return tf.ensure_shape(tf.py_function(lambda x: cube(x.numpy()), [x], tf.float32), x.shape)


@tf.custom_gradient
def with_gradient(x: Any) -> Any:
    def gradient(dy: Any) -> Any:
        return dy * tf.ensure_shape(tf.numpy_function(lambda x: 3 * x * x, [x], tf.float32), x.shape)

    return numpy_function(x), gradient


def gradient_of(function: Callable[[Any], Any], x: Any) -> Any:
    """Return the gradient of f(x) + x**2, which without the part of f is 2 x."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x) + x * x
    return tape.gradient(y, x)


def test_py_function_can_be_differentiated_and_numpy_function_silently_cannot() -> None:
    x = tf.constant(X)
    np.testing.assert_allclose(gradient_of(tf.function(py_function), x), 3 * X**2 + 2 * X, rtol=1e-5)
    np.testing.assert_allclose(gradient_of(tf.function(numpy_function), x), 2 * X)


def test_numpy_in_the_body_of_py_function_breaks_its_gradient() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have the same size and shape"):
        gradient_of(tf.function(py_function_of_arrays), tf.constant(X))


def test_a_gradient_can_be_attached_and_the_second_one_is_silently_wrong() -> None:
    x = tf.constant(X)
    function = tf.function(with_gradient)
    np.testing.assert_allclose(gradient_of(function, x), 3 * X**2 + 2 * X, rtol=1e-5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        first = gradient_of(function, x)
    np.testing.assert_allclose(tape.gradient(first, x), np.full(4, 2.0))  # and not 6 x + 2


def test_py_function_under_one_tape_can_be_called_once() -> None:
    function = tf.function(py_function)
    with pytest.raises(Exception, match="pyfunc_"):
        gradient_of(lambda x: function(x) + function(2 * x), tf.constant(X))


def test_the_gradient_of_py_function_is_lost_in_a_loop() -> None:
    def loop(x: Any) -> Any:
        return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, py_function(y) / 2), (tf.constant(0), x))[1]

    assert np.isfinite(tf.function(loop)(tf.constant(X))).all()
    with pytest.raises(Exception, match="pyfunc_"):
        gradient_of(tf.function(loop), tf.constant(X))


@pytest.mark.parametrize(("function", "is_right"), [(with_gradient, True), (py_function, False)])
def test_gradients_from_several_threads(function: Any, is_right: bool) -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.001)
        return cube(x)

    def slow_py_function(x: Any) -> Any:
        return tf.ensure_shape(tf.py_function(slow, [x], tf.float32), x.shape)

    traced = tf.function(function if is_right else slow_py_function)
    gradient_of(traced, tf.constant(X))

    def call(place: int) -> bool:
        x = X * np.float32(1 + place / CALLS)
        try:
            return bool(np.allclose(gradient_of(traced, tf.constant(x)), 3 * x**2 + 2 * x, rtol=1e-4))
        except Exception:  # noqa: BLE001 - a KeyError that TensorFlow wraps in several ways
            return False

    with ThreadPoolExecutor(THREADS) as threads:
        assert all(threads.map(call, range(CALLS))) == is_right


def test_the_gradient_of_a_captured_variable_is_silently_missing() -> None:
    variable = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.py_function(lambda x: variable * cube(x), [tf.constant(X)], tf.float32)) + 3 * variable
    assert float(tape.gradient(y, variable)) == 3.0


@pytest.fixture(scope="module")
def other_process() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


def load(folder: str) -> Any:
    return tf.saved_model.load(folder).compute(tf.constant(X)).numpy()


def save(function: Any, folder: Path) -> str:
    module = tf.Module()
    module.compute = tf.function(function)
    module.compute.get_concrete_function(tf.TensorSpec([4], tf.float32))
    tf.saved_model.save(module, str(folder))
    return str(folder)


def test_a_saved_callback_works_in_no_other_process(other_process: ProcessPoolExecutor, tmp_path: Path) -> None:
    np.testing.assert_allclose(other_process.submit(load, save(cube, tmp_path / "port")).result(), X**3, rtol=1e-6)
    with pytest.raises(Exception, match=LOST):
        other_process.submit(load_words, save(numpy_function, tmp_path / "callback")).result()


def load_words(folder: str) -> Any:
    """Load as `load`; an error of TensorFlow cannot be pickled."""
    try:
        return load(folder)
    except tf.errors.OpError as error:
        raise RuntimeError(str(error)) from None


def load_with_own_callbacks(folder: str) -> Any:
    """Load in a process whose own callbacks return their input, with every number that the saved one may have."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.zeros(1)
        for _ in range(3000):
            tf.numpy_function(lambda x: x, [x], tf.float32)
    return load(folder)


def test_a_loaded_model_silently_calls_another_callback(tmp_path: Path) -> None:
    folder = save(numpy_function, tmp_path / "callback")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = pool.submit(load_with_own_callbacks, folder).result()
    np.testing.assert_array_equal(found, X)  # the input, and not its cube


def start_server() -> str:
    start_server.server = tf.distribute.Server.create_local_server()  # type: ignore[attr-defined]
    return str(start_server.server.target)  # type: ignore[attr-defined]


def test_a_callback_runs_on_a_server_of_its_own_process_only(other_process: ProcessPoolExecutor) -> None:
    graph = tf.Graph()
    with graph.as_default():
        port, callback = cube(tf.constant(X)), numpy_function(tf.constant(X))
    with tf.compat.v1.Session(start_server(), graph=graph) as session:
        np.testing.assert_allclose(session.run(callback), X**3, rtol=1e-6)
    with tf.compat.v1.Session(other_process.submit(start_server).result(), graph=graph) as session:
        np.testing.assert_allclose(session.run(port), X**3, rtol=1e-6)
        with pytest.raises(tf.errors.OpError, match=LOST):
            session.run(callback)


def test_xla_compiles_no_callback() -> None:
    np.testing.assert_allclose(tf.function(cube, jit_compile=True)(tf.constant(X)), X**3, rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="No registered 'PyFunc' OpKernel"):
        tf.function(numpy_function, jit_compile=True)(tf.constant(X))


def test_tflite_converts_no_callback() -> None:
    converters = [
        tf.lite.TFLiteConverter.from_concrete_functions(
            [tf.function(one).get_concrete_function(tf.TensorSpec([4], tf.float32))], tf.Module()
        )
        for one in (cube, numpy_function)
    ]
    for converter in converters:
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    assert converters[0].convert()
    with pytest.raises(Exception, match="op is neither a custom op nor a flex op"):
        converters[1].convert()


def test_the_static_shape_is_lost() -> None:
    concrete = tf.function(lambda x: tf.numpy_function(cube, [x], tf.float32)).get_concrete_function(tf.constant(X))
    assert concrete.structured_outputs.shape.rank is None


def test_a_body_that_writes_to_its_input_changes_the_caller_s_tensor() -> None:
    def overwrite(x: Any) -> Any:
        x[...] = 0
        return x

    x = tf.constant(X)
    tf.function(lambda x: tf.numpy_function(overwrite, [x], tf.float32))(x)
    np.testing.assert_array_equal(x, np.zeros(4))


def test_bodies_run_in_threads_of_tensorflow_so_a_debugger_misses_them() -> None:
    seen: list[threading.Thread] = []

    def body(x: Any) -> Any:
        seen.append(threading.current_thread())
        return x

    function = tf.function(lambda x: tf.numpy_function(body, [x], tf.float32))
    for _ in range(10):
        function(tf.constant(X))
    assert any(one is not threading.main_thread() for one in seen)


@pytest.mark.parametrize(
    ("raised", "arrives"),
    [
        (ValueError, tf.errors.InvalidArgumentError),
        (StopIteration, tf.errors.OutOfRangeError),
        (MemoryError, tf.errors.ResourceExhaustedError),
        (NotImplementedError, tf.errors.UnimplementedError),
        (KeyError, tf.errors.UnknownError),
    ],
)
def test_exceptions_of_the_body_arrive_as_other_types(raised: type[Exception], arrives: type[Exception]) -> None:
    def body(x: Any) -> Any:
        raise raised("words of the body")

    with pytest.raises(arrives, match="words of the body"):
        tf.function(lambda x: tf.numpy_function(body, [x], tf.float32))(tf.constant(X))


def test_numpy_function_ignores_tout_in_eager_code_and_checks_it_in_graphs() -> None:
    def double(x: Any) -> Any:
        return tf.numpy_function(lambda x: x.astype(np.float64), [x], tf.float32)

    assert double(tf.constant(X)).dtype == tf.float64
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.function(double)(tf.constant(X))


@pytest.mark.parametrize(("calls", "meet"), [(1, False), (4, True)])
def test_bodies_that_release_the_gil_run_at_once_in_parallel_calls(calls: int, *, meet: bool) -> None:
    both = threading.Barrier(2, timeout=30.0 if meet else 0.1)  # waiting for another body releases the GIL
    met: list[bool] = []

    def body(x: Any) -> Any:
        try:
            both.wait()
        except threading.BrokenBarrierError:
            return x
        met.append(True)
        return x

    list(tf.data.Dataset.range(8).map(lambda x: tf.numpy_function(body, [x], tf.int64), num_parallel_calls=calls))
    assert len(met) == (8 if meet else 0)


def test_a_deterministic_parallel_map_calls_the_body_in_another_order() -> None:
    order: list[int] = []

    def body(x: Any) -> Any:
        time.sleep(0.02 if x % 2 == 0 else 0.001)
        order.append(int(x))
        return x

    data = tf.data.Dataset.range(16)
    mapped = data.map(lambda x: tf.numpy_function(body, [x], tf.int64), num_parallel_calls=4, deterministic=True)
    assert [int(x) for x in mapped] == list(range(16))
    assert order != list(range(16))
