"""Probes of an op try the op itself: its own inputs and outputs, against its own reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyopbench.model.own_target import read_target
from pyopbench.ops.load import load_variants
from pyopbench.ops.own.load import OWN_OPS
from pyopbench.worker.op_subject import load_op_subject
from pyopbench.worker.probe import Finding, find_out
from pyopbench.worker.subject import Differs, Inapplicable

Try = Callable[[str, str], Finding]

NO_KERNEL = "Detected unsupported operations"
"""XLA's words for what it does not have."""

CAPTURED = "it captures tensor"
"""TensorFlow's words for what the saved model does not hold."""

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

WHOLE = """
import numpy as np
import tensorflow as tf
from pyopbench import OwnOp

OP = OwnOp(inputs=(np.array([3, 1, 2]),), numpy=lambda n: n + 1, tensor=lambda n: n + 1)
"""
"""Whole numbers, which have no gradient."""

CAPTURES = """
import numpy as np
import tensorflow as tf
from pyopbench import OwnOp

WEIGHTS = tf.Variable([1.0, 2.0, 3.0])

def today(x):
    return x * np.array([1, 2, 3], np.float32)

def port(x):
    return x * WEIGHTS

OP = OwnOp(inputs=(np.array([3, 1, 3], np.float32),), numpy=today, tensor=port)
"""
"""A port that captures a variable."""

SEVERAL = """
import numpy as np
import tensorflow as tf
from pyopbench import OwnOp

def today(text, n, x):
    return np.array([len(one) for one in text], np.int32) + n, x * x * x, text

def port(text, n, x):
    return tf.strings.length(text) + n, x * x * x, text

OP = OwnOp(
    inputs=(np.array([b"a", b"bcd"], object), np.array([1, 2], np.int32), np.array([0.5, 2.0, 1.0], np.float32)),
    numpy=today,
    tensor=port,
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


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Try]:
    """Return what writes an own op of a name, and returns what tries a probe with a variant of it."""

    def written(name: str, source: str) -> Try:
        path = tmp_path / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        monkeypatch.setitem(OWN_OPS, name, read_target(str(path), [], []))
        return trying(name, tmp_path)

    return written


def trying(op: str, folder: Path) -> Try:
    def found(probe: str, variant: str) -> Finding:
        return find_out(probe, variant, load_variants()[variant].gradients[0], folder, op)

    return found


def test_a_port_that_xla_cannot_compile_fails_though_the_cube_works(own: Any, tmp_path: Path) -> None:
    found = own("rounded_as_text", ROUNDED)("xla", "native")
    assert (found.status, NO_KERNEL in found.told) == ("fails", True), found.told
    assert find_out("xla", "native", "autodiff", tmp_path).status == "works"


def test_a_port_that_captures_a_variable_is_not_there_in_a_saved_model(own: Any) -> None:
    """It fails while it is saved, before another process would be started."""
    captures = own("captures_variable", CAPTURES)
    found = captures("savedmodel", "native")
    assert (found.status, CAPTURED in found.told) == ("fails", True), found.told
    assert captures("xla", "native").status == "works"


def test_text_and_whole_numbers_are_given_as_they_are(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is of this process, in place of one that would take seconds to start."""
    from pyopbench.worker.probes import graphs

    several = own("several_kinds", SEVERAL)
    subject = load_op_subject("native", "autodiff", Path(), "several_kinds")
    subject.require_values("what it computes", subject.function()(*subject.tensors))
    assert graphs.server_same_process(subject).remark == ""
    assert several("second_order", "native").told == "by autodiff, against finite differences"
    wrong = list(subject.reference.outputs)
    wrong[0] = wrong[0] + 1
    with pytest.raises(Differs) as differs:
        subject.require_values("what it computes", wrong)
    assert str(differs.value) == (
        "what it computes, output 0, differs at index [0]: expected 2, got 3 "
        "(relative error 1, tolerance 0), without an error"
    )
    with pytest.raises(Differs) as fewer:
        subject.require_values("what it computes", wrong[:2])
    assert str(fewer.value) == "what it computes: 2 outputs where the reference has 3"


@pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated")
def test_a_tflite_model_is_given_inputs_by_their_names(own: Any) -> None:
    """Its tensors come in another order than the arguments of the function, and so do its outputs."""
    found = own("two_kinds", TWO)("tflite", "native")
    assert found.status == "works", found.told


@pytest.mark.parametrize(
    ("op", "variant", "status"),
    [
        ("sinh", "native", "works"),
        ("sinh", "numpy_function", "silently wrong"),
        ("relu", "native", "works"),
        # It has no second derivative itself, but what flows into its gradient has a first one.
        ("relu", "numpy_function", "silently wrong"),
    ],
)
def test_second_derivatives_are_held_against_differences(op: str, variant: str, status: str, tmp_path: Path) -> None:
    assert trying(op, tmp_path)("second_order", variant).status == status


def test_an_op_without_a_gradient_cannot_be_tried_for_a_second_one(own: Any) -> None:
    found = own("whole_numbers", WHOLE)("second_order", "native")
    assert (found.status, found.told) == ("does not apply", "the op has no gradient")


def test_a_variant_that_the_op_does_not_have_does_not_apply() -> None:
    with pytest.raises(Inapplicable) as why:
        load_op_subject("autograph", "autodiff", Path(), "sinh")
    assert str(why.value) == "autograph needs a python body, and the op has none"


def test_an_op_is_looked_at_at_a_small_size_and_in_its_first_dtype() -> None:
    subject = load_op_subject("native", "autodiff", Path(), "sinh")
    assert 4 <= subject.arrays[0].size <= 16
    assert subject.arrays[0].dtype == np.float32
    assert [one.shape.as_list() for one in subject.given] == [list(subject.arrays[0].shape)]
