"""Each requirement is seen to tell a variant that meets it from one that does not, on the op itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pyopbench.model.own_target import read_target
from pyopbench.ops.load import load_variants
from pyopbench.ops.own.load import OWN_OPS
from pyopbench.worker import require
from pyopbench.worker.require import Differs, Raised, call_elsewhere, load_subject, try_requirement

LOST = "Could not find callback with key="

ROUNDED = """
import numpy as np
import tensorflow as tf
from pyopbench import OwnOp

def today(x):
    return np.array([float(f"{one:.2f}") for one in x], np.float32)

def port(x):
    return tf.strings.to_number(tf.strings.as_string(x, precision=2))

OP = OwnOp(inputs=(np.array([0.123, 4.567], np.float32),), numpy=today, tensor=port)
"""
"""A port that works in a graph, by way of text, which XLA does not have."""

CAPTURES = """
import numpy as np
import tensorflow as tf
from pyopbench import OwnOp

WEIGHTS = tf.Variable([1.0, 2.0, 3.0])

OP = OwnOp(
    inputs=(np.array([3, 1, 3], np.float32),),
    numpy=lambda x: x * np.array([1, 2, 3], np.float32),
    tensor=lambda x: x * WEIGHTS,
)
"""
"""A port that captures a variable."""

SEVERAL = """
import numpy as np
import tensorflow as tf
from pyopbench import OwnOp

OP = OwnOp(
    inputs=(np.array([b"a", b"bcd"], object), np.array([1, 2], np.int32), np.array([0.5, 2.0, 1.0], np.float32)),
    numpy=lambda text, n, x: (np.array([len(one) for one in text], np.int32) + n, x * x * x, text),
    tensor=lambda text, n, x: (tf.strings.length(text) + n, x * x * x, text),
)
"""
"""Text, whole numbers and floats, in and out."""

TWO = """
import numpy as np
from pyopbench import OwnOp

def today(number, amount):
    return number + 1, amount * 2

OP = OwnOp(inputs=(np.array([1, 2]), np.array([0.5, 2.0, 1.0], np.float32)), numpy=today, tensor=today)
"""

WHOLE = """
import numpy as np
from pyopbench import OwnOp

OP = OwnOp(inputs=(np.array([3, 1, 2]),), numpy=lambda n: n + 1, tensor=lambda n: n + 1)
"""
"""Whole numbers, which have no gradient."""

ENVELOPE = """
import numpy as np
from pyopbench import OwnOp

ATTACK, RELEASE = 0.35, 0.04

def envelope(signal):
    level, out = 0.0, np.zeros_like(signal)
    for i in range(signal.shape[0]):
        over = abs(signal[i])
        level += (ATTACK if over > level else RELEASE) * (over - level)
        out[i] = level
    return out

def gradient(inputs, outputs, output_gradients):
    carried, found = 0.0, np.zeros_like(inputs[0])
    for i in range(len(found) - 1, -1, -1):
        before = outputs[0][i - 1] if i else 0.0
        rate = ATTACK if abs(inputs[0][i]) > before else RELEASE
        total = output_gradients[0][i] + carried
        found[i], carried = total * rate * np.sign(inputs[0][i]), total * (1 - rate)
    return found

OP = OwnOp(inputs=(np.array([0.3, -1.2, 0.7, 0.1, -0.2]),), numpy=envelope, numpy_gradient=gradient)
"""
"""A loop, for Numba."""

Own = Callable[[str, str], None]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Own:
    """Return what registers an own op of a name."""

    def register(name: str, source: str) -> None:
        path = tmp_path / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        monkeypatch.setitem(OWN_OPS, name, read_target(str(path), [], []))

    return register


def tried(requirement: str, op: str, variant: str, folder: Path) -> tuple[str, str]:
    return try_requirement(requirement, op, variant, load_variants()[variant].gradients[0], folder)


@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
@pytest.mark.parametrize(
    ("requirement", "variant", "status", "reason"),
    [
        ("savedmodel", "native", "works", ""),
        ("savedmodel", "numpy_function", "fails", LOST),
        ("distributed", "native", "works", ""),
        ("distributed", "py_function", "fails", LOST),
        ("xla", "native", "works", ""),
        ("xla", "numpy_function", "fails", "No registered 'PyFunc' OpKernel for XLA_CPU_JIT"),
        ("tflite", "native", "works", ""),
        ("tflite", "py_function", "fails", "'tf.EagerPyFunc' op is neither a custom op nor a flex op"),
        ("second_order", "native", "works", ""),
        ("second_order", "numpy_function", "silently wrong", "without an error"),
        ("second_order", "py_function", "fails", "KeyError"),
    ],
)
def test_a_port_meets_it_and_a_callback_does_not(
    requirement: str, variant: str, status: str, reason: str, tmp_path: Path
) -> None:
    found = tried(requirement, "cube", variant, tmp_path)
    assert found[0] == status, found
    assert reason in found[1]


@pytest.mark.slow  # exports an op that is compiled there and in two other processes
@pytest.mark.parametrize(
    ("requirement", "status", "reason"),
    [
        ("savedmodel", "works", "where the port's module is imported"),
        ("distributed", "works", "where the port's module is imported"),
        ("xla", "fails", "Detected unsupported operations"),
        ("tflite", "fails", "neither a custom op nor a flex op"),
        ("second_order", "silently wrong", "without an error"),
    ],
)
def test_an_op_of_numba_works_where_its_module_is_imported(
    requirement: str, status: str, reason: str, own: Own, tmp_path: Path
) -> None:
    own("envelope", ENVELOPE)
    found = tried(requirement, "envelope", "numba_op", tmp_path)
    assert (found[0], reason in found[1]) == (status, True), found


def test_a_second_derivative_that_is_zero_is_still_told_from_one_that_is_missing(tmp_path: Path) -> None:
    """What flows into the gradient of relu has a first derivative."""
    assert tried("second_order", "relu", "native", tmp_path) == ("works", "")
    assert tried("second_order", "relu", "numpy_function", tmp_path)[0] == "silently wrong"


def test_a_port_by_way_of_text_is_not_for_xla(own: Own, tmp_path: Path) -> None:
    own("rounded_as_text", ROUNDED)
    status, reason = tried("xla", "rounded_as_text", "native", tmp_path)
    assert (status, "Detected unsupported operations" in reason) == ("fails", True), reason


def test_a_port_that_captures_a_variable_cannot_be_saved(own: Own, tmp_path: Path) -> None:
    own("captures_variable", CAPTURES)
    status, reason = tried("savedmodel", "captures_variable", "native", tmp_path)
    assert (status, "it captures tensor" in reason) == ("fails", True), reason
    assert tried("xla", "captures_variable", "native", tmp_path)[0] == "works"


def test_outputs_of_every_kind_are_compared(own: Own, tmp_path: Path) -> None:
    own("several_kinds", SEVERAL)
    assert tried("second_order", "several_kinds", "native", tmp_path) == ("works", "")
    subject = load_subject("several_kinds", "native", "autodiff", tmp_path)
    right = subject.reference.outputs
    subject.require_values("it", right)
    with pytest.raises(Differs, match=r"it, output 0, differs at index \[0\]: expected 2, got 3"):
        subject.require_values("it", [right[0] + 1, *right[1:]])
    with pytest.raises(Differs, match="2 outputs where the reference has 3"):
        subject.require_values("it", right[:2])


@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
def test_a_tflite_model_gets_its_inputs_by_name(own: Own, tmp_path: Path) -> None:
    """Its tensors come in another order than the arguments of the function, and so do its outputs."""
    own("two_kinds", TWO)
    assert tried("tflite", "two_kinds", "native", tmp_path) == ("works", "")


def test_what_cannot_be_tried_says_why(own: Own, tmp_path: Path) -> None:
    own("whole_numbers", WHOLE)
    assert tried("second_order", "whole_numbers", "native", tmp_path) == ("does not apply", "the op has no gradient")
    missing = tried("xla", "sinh", "autograph", tmp_path)
    assert missing == ("does not apply", "autograph needs a python body, and the op has none")


def test_another_process_that_raises_or_ends_is_a_failure(tmp_path: Path) -> None:
    subject = load_subject("sinh", "native", "autodiff", tmp_path)
    assert call_elsewhere(subject, os.getpid) not in (os.getpid(), None)
    with pytest.raises(Raised, match="ValueError: invalid literal for int"):
        call_elsewhere(subject, int, "no number")
    with pytest.raises(Raised, match="the other process ended"):
        call_elsewhere(subject, os._exit, 3)
    assert require._peer.cache_info().currsize == 0  # the next call starts another
