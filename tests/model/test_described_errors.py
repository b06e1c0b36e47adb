"""An error is told in the one line that tells it, and in the same words in every process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.errors import LONGEST_REASON, describe_error


def raised_by(action: Callable[[], Any]) -> Exception:
    try:
        action()
    except Exception as error:  # noqa: BLE001 - TensorFlow raises what it likes
        return error
    raise AssertionError("nothing was raised")


def raising(error: Exception) -> Callable[..., Any]:
    def body(x: Any) -> Any:
        raise error

    return body


def callback_graph(body: Callable[..., Any], bridge: Any = tf.numpy_function) -> Any:
    return tf.function(lambda x: bridge(body, [x], tf.float32), autograph=False)


def assertion(x: Any) -> Any:
    with tf.control_dependencies([tf.debugging.Assert(x[0] > 5, ["too small", x])]):
        return tf.identity(x)


def branching(x: Any) -> Any:
    y = 0
    if x > 0:
        y = 1
    return y


def compiled(x: Any) -> Any:
    return tf.numpy_function(np.square, [x], tf.float32)


PAIR = tf.constant([1.0, 2.0])

NO_CONDITION = (
    "ValueError: condition of if statement expected to be `tf.bool` scalar, "
    'got Tensor("Greater:0", shape=(2,), dtype=bool); to check for None, use `is not None`'
)

NO_KERNEL = (
    "InvalidArgumentError: Detected unsupported operations when trying to compile graph compiled on XLA_CPU_JIT: "
    "PyFunc (No registered 'PyFunc' OpKernel for XLA_CPU_JIT devices compatible with node {{node PyFunc}})"
    "{{node PyFunc}}"
)

# As TensorFlow 2.12 puts it.
WITH_SOURCE = """Graph execution error:

Detected at node 'add' defined at (most recent call last):
    File "a.py", line 3, in <module>
      f(x)
Node: 'add'
Incompatible shapes: [2] vs. [3]
\t [[{{node add}}]] [Op:__inference_f_12]"""


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: callback_graph(raising(ValueError("boom"))), "ValueError: boom"),
        (lambda: callback_graph(raising(StopIteration("end"))), "StopIteration: end"),
        (lambda: callback_graph(raising(ValueError("one\ntwo"))), "ValueError: one"),
        (lambda: callback_graph(raising(ValueError("boom")), tf.py_function), "ValueError: boom"),
        (lambda: lambda x: tf.numpy_function(raising(ValueError("boom")), [x], tf.float32), "ValueError: boom"),
        (lambda: lambda x: tf.py_function(raising(KeyError("k")), [x], tf.float32), "KeyError: 'k'"),
        (
            lambda: callback_graph(lambda x: x.astype(float)),
            "InvalidArgumentError: 0-th value returned by pyfunc_N is double, but expects float",
        ),
        (
            lambda: lambda x: tf.reshape(x, [3]),
            "InvalidArgumentError: Input to reshape is a tensor with 2 values, but the requested shape has 3",
        ),
        (lambda: tf.function(assertion), "InvalidArgumentError: assertion failed: [too small] [1 2]"),
        (lambda: tf.function(branching), NO_CONDITION),
        (lambda: tf.function(compiled, jit_compile=True), NO_KERNEL),
        (lambda: lambda x: x.tolist(), "AttributeError: EagerTensor object has no attribute 'tolist'."),
    ],
)
def test_tells_the_line_that_tells_and_the_same_every_time(make: Callable[[], Any], expected: str) -> None:
    """TensorFlow numbers functions and callbacks anew each time that they are made, as it does in every process."""
    first, second = (raised_by(lambda: make()(PAIR)) for _ in range(2))
    assert describe_error(first) == describe_error(second) == expected


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("", "RuntimeError"),
        ("  only this", "RuntimeError: only this"),
        ("\x1b[1m\x1b[31mcoloured\x1b[0m", "RuntimeError: coloured"),
        ("<f at 0x7f9010038360> failed", "RuntimeError: <f at 0x…> failed"),
        ("no PyopbenchDefun8_float64", "RuntimeError: no PyopbenchDefunN_float64"),
        ("in __inference___backward_op_669_680", "RuntimeError: in op"),
        ("in __inference_f_2x_17", "RuntimeError: in f_2x"),
        ("in __forward_f_17[_XlaMustCompile=true,config_proto=144]", "RuntimeError: in f"),
        (WITH_SOURCE, "RuntimeError: Incompatible shapes: [2] vs. [3]"),
        ("Graph execution error:", "RuntimeError: Graph execution error:"),
        (
            'in user code:\n\n    File "a.py", line 3, in f\n        y = g(x)\n\n    a.b.OddError: no y',
            "a.b.OddError: no y",
        ),
        (
            'in user code:\n\n    File "a.py", line 3, in f\n        y = g(x)\n\n    it is odd',
            "RuntimeError: it is odd",
        ),
    ],
)
def test_tells_the_line_that_tells_of_other_messages(message: str, expected: str) -> None:
    assert describe_error(RuntimeError(message)) == expected


def test_a_long_line_is_cut() -> None:
    told = describe_error(ValueError("x" * 1000))
    assert len(told) == LONGEST_REASON
    assert told == "ValueError: " + "x" * (LONGEST_REASON - len("ValueError: ") - 1) + "…"
    exact = "x" * (LONGEST_REASON - len("ValueError: "))
    assert describe_error(ValueError(exact)) == f"ValueError: {exact}"
