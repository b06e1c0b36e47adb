"""What is handed to the clocks is right, warm and can be called again and again; all else is refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.errors import Unsupported, describe_error
from pyopbench.model.op import Op
from pyopbench.ops.load import make_inputs
from pyopbench.worker.prepare.checks import reference_of
from pyopbench.worker.prepare.prepare import Prepared, prepare
from small_ops import SIZE, Put, case_of, differing, power, put_in_place, refusal, square, square_with_gradient


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Put:
    return partial(put_in_place, monkeypatch)


def inputs_of(op: Op, dtype: str = "float64") -> tuple[Any, ...]:
    return make_inputs(op, SIZE, dtype)


NATIVE = case_of("native", "autodiff")
FORWARD = case_of("native")


# What is right


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["eager", "call"])
@pytest.mark.parametrize("variant", ["native", "numpy_function", "py_function", "py_function_numpy"])
def test_forward_is_one_segment_that_gives_the_values(put: Put, variant: str, mode: str, dtype: str) -> None:
    op = square()
    put(op)
    prepared = prepare(case_of(variant, mode=mode, dtype=dtype))
    (segment,) = prepared.segments
    (x,) = inputs_of(op, dtype)
    for _ in range(3):
        np.testing.assert_allclose(segment(), x * x, rtol=1e-6)
    assert prepared.timed == (0,)
    assert prepared.checked.values <= op.tolerance[dtype]
    assert prepared.checked.gradient is prepared.checked.finite_difference is None


@pytest.mark.parametrize(
    ("variant", "gradient", "mode"),
    [
        ("native", "autodiff", "eager"),
        ("native", "autodiff", "call"),
        ("py_function", "tape", "eager"),
        ("py_function", "tape", "call"),
        ("py_function_numpy", "custom_gradient", "call"),
        ("numpy_function", "custom_gradient", "eager"),
        ("numpy_function", "override_map_ops", "call"),
        ("numpy_function", "defun", "call"),
    ],
)
def test_forward_and_backward_take_turns_any_number_of_times(put: Put, variant: str, gradient: str, mode: str) -> None:
    """py_function pops its tape entry for every gradient, so that each needs a forward pass of its own."""
    op = square()
    put(op)
    prepared = prepare(case_of(variant, gradient, mode))
    forward, backward = prepared.segments
    (x,) = inputs_of(op)
    weights = backward_weights(prepared, x)
    for _ in range(50):
        prepared()
    for _ in range(3):
        forward()
        (found,) = backward()
        np.testing.assert_allclose(found, 2 * x * weights, rtol=1e-14)
    assert prepared.checked.gradient is not None
    assert prepared.checked.gradient <= op.tolerance["float64"]


def backward_weights(prepared: Prepared, x: Any) -> Any:
    """Return what flows back into the op, as the reference drew it: not all ones, lest ignoring it would pass."""
    forward, backward = prepared.segments
    forward()
    weights = backward()[0].numpy() / (2 * x)
    assert np.all((weights >= 0.5) & (weights < 1.5))
    assert len(set(weights)) == len(x)
    return weights


@pytest.mark.parametrize("variant", ["native", "numpy_function", "py_function"])
def test_whole_numbers_and_several_outputs_are_prepared_too(put: Put, variant: str) -> None:
    put(power())
    gradient = "autodiff" if variant == "native" else "custom_gradient"
    checked = prepare(case_of(variant, gradient), finite_differences=True).checked
    assert checked.gradient is not None
    assert checked.gradient <= 1e-12
    assert checked.finite_difference is not None
    assert checked.finite_difference < 1e-6


@pytest.mark.parametrize("direction", ["forward", "forward_backward"])
def test_nothing_is_traced_once_a_case_is_prepared(put: Put, direction: str) -> None:
    traces = []

    def body(x: Any) -> Any:
        traces.append(1)
        return tf.square(x)

    put(square(tensor=body))
    prepared = prepare(replace(NATIVE, direction=direction))
    before = len(traces)
    assert before > 0
    for _ in range(5):
        prepared()
    assert len(traces) == before


# What is wrong


def test_a_wrong_value_is_refused_with_its_place(put: Put) -> None:
    """In words that name neither op nor variant, because the case says them."""
    op = square(tensor=lambda x: tf.square(x) + tf.constant([0.0, 0.5, 0.0], tf.float64))
    put(op)
    (x,) = inputs_of(op)
    y = x * x
    errors = f"relative error {0.5 / y.max():.2g}, tolerance 1e-12"
    assert refusal(FORWARD) == f"output 0 differs at index [1]: expected {y[1]}, got {y[1] + 0.5} ({errors})"


def gradient_of_square(op: Op) -> Any:
    """Return 2 x dy, for what flows into the gradients of a case that is prepared."""
    ((x,), (dy,)) = (inputs_of(op), reference_of(op.name, SIZE, "float64").output_gradients)
    return 2 * x * dy


def test_a_wrong_gradient_is_refused_with_its_place(put: Put) -> None:
    """Its values are right: a forward case of the same op passes."""
    op = square(tensor=square_with_gradient(lambda x, dy: 2 * x * dy * tf.constant([1.0, 1.0, 2.0], tf.float64)))
    put(op)
    assert prepare(FORWARD).checked.values == 0
    expected = gradient_of_square(op)
    wrong = expected * [1, 1, 2]  # exact, in whatever order a graph multiplies
    told = refusal(NATIVE)
    assert told == differing("gradient of input 0", wrong, expected, op.tolerance["float64"])
    assert np.flatnonzero(wrong != expected).tolist() == [2], "the place that is told"


def test_a_gradient_that_ignores_what_flows_into_it_is_refused(put: Put) -> None:
    op = square(tensor=square_with_gradient(lambda x, dy: 2 * x))
    put(op)
    (x,) = inputs_of(op)
    told = refusal(NATIVE)
    assert told == differing("gradient of input 0", 2 * x, gradient_of_square(op), op.tolerance["float64"])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda n, x: (tf.pow(x, tf.cast(n, x.dtype)), 2 * n), "2 outputs instead of 3"),
        (lambda n, x: x, "1 outputs instead of 3"),
        (
            lambda n, x: (tf.pow(x, tf.cast(n, x.dtype)), tf.cast(2 * n, tf.int32), 3 * x),
            "output 1 has the wrong type or shape: expected int64 (3,), got int32 (3,)",
        ),
        (
            lambda n, x: (tf.pow(x, tf.cast(n, x.dtype)), 2 * n, 3 * x[:, tf.newaxis]),
            "output 2 has the wrong type or shape: expected float64 (3,), got float64 (3, 1)",
        ),
    ],
)
def test_outputs_missing_or_of_another_type_are_refused(put: Put, body: Any, expected: str) -> None:
    put(power(tensor=body))
    assert refusal(FORWARD) == expected


def test_a_callback_that_returns_another_dtype_is_refused_in_eager_and_raises_in_a_graph(put: Put) -> None:
    """The eager numpy_function does not look at what it was told to return."""
    put(square(numpy=lambda x: np.square(x, dtype=np.float64)))
    case = case_of("numpy_function", mode="eager", dtype="float32")
    assert refusal(case) == "output 0 has the wrong type or shape: expected float32 (3,), got float64 (3,)"
    with pytest.raises(tf.errors.InvalidArgumentError, match="is double, but expects float"):
        prepare(replace(case, mode="call"))


def test_no_gradient_where_there_should_be_one_is_refused(put: Put) -> None:
    put(square(tensor=lambda x: tf.square(tf.stop_gradient(x))))
    assert refusal(NATIVE) == "gradient of input 0 is None: TensorFlow found no gradient for it"


# Bodies that write to what they are given


def doubling_in_place(x: Any) -> Any:
    """Return (2 x)**2 and leave 2 x behind."""
    x *= 2
    return x * x


@pytest.mark.parametrize("variant", ["numpy_function", "py_func"])
def test_a_body_that_writes_to_its_input_is_refused_in_a_graph(put: Put, variant: str) -> None:
    """There it has the tensor's own memory, and every call would be given something else."""
    put(square(numpy=doubling_in_place, tensor=lambda x: 4 * tf.square(x)))
    assert refusal(case_of(variant)) == (
        "input 0 is overwritten by the function: in a graph that changes the caller's tensor"
    )


def test_a_body_that_writes_to_its_input_spoils_nobody_else(put: Put) -> None:
    """Neither the reference nor the variants after it; where it is given a copy it is as right as any."""
    op = square(numpy=doubling_in_place, tensor=lambda x: 4 * tf.square(x), numpy_gradient=None)
    put(op)
    refusal(case_of("numpy_function"))
    assert prepare(FORWARD).checked.values <= 1e-12
    for variant, mode in (("numpy_function", "eager"), ("py_function_numpy", "call"), ("py_function_numpy", "eager")):
        (segment,) = prepare(case_of(variant, mode=mode)).segments
        for _ in range(2):
            np.testing.assert_allclose(segment(), 4 * inputs_of(op)[0] ** 2, rtol=1e-12)


def writing_to(group: int) -> Callable[..., Any]:
    def gradient(*groups: Any) -> Any:
        found = 2 * groups[0][0] * groups[2][0]
        groups[group][0][:] = 0
        return (found,)

    return gradient


@pytest.mark.parametrize(("group", "named"), [(0, "input 0"), (2, "output gradient 0")])
@pytest.mark.parametrize("mechanism", ["custom_gradient", "override_map", "defun"])
def test_a_gradient_that_writes_to_what_it_is_given_is_refused(
    put: Put, mechanism: str, group: int, named: str
) -> None:
    put(square(numpy_gradient=writing_to(group)))
    assert refusal(case_of("numpy_function", mechanism)) == (
        f"{named} is overwritten by the function: in a graph that changes the caller's tensor"
    )
    checked = prepare(NATIVE).checked
    assert checked.gradient is not None
    assert checked.gradient <= 1e-12


# Ports that nobody wrote for the op


def test_an_attempt_that_raises_is_unsupported_in_tensorflow_s_words(put: Put) -> None:
    put(square(tensor=lambda x: tf.ensure_shape(tf.py_function(tf.square, [x], x.dtype), [SIZE])))
    with pytest.raises(Unsupported) as raised:
        prepare(case_of("xla"))
    cause = raised.value.__cause__
    assert isinstance(cause, tf.errors.InvalidArgumentError)
    assert {"'EagerPyFunc'", "XLA_CPU_JIT"} <= set(describe_error(cause).split())
    assert raised.value.message == describe_error(cause)


# Blocking


def test_a_call_on_the_cpu_returns_when_its_work_is_done() -> None:
    """What `prepare` hands to clocks waits for nothing by itself: eager execution has to be synchronous."""
    assert tf.config.experimental.get_synchronous_execution()
    assert tf.config.get_visible_devices("GPU") == []
    finished = []

    def body(x: Any) -> Any:
        total = sum(float(np.sum(np.sort(x))) for _ in range(20))
        finished.append(total)
        return x

    function = tf.function(lambda x: tf.numpy_function(body, [x], tf.float32), autograph=False)
    x = tf.zeros(100_000)
    for calls in range(1, 6):
        function(x)
        assert len(finished) == calls
