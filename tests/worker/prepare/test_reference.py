"""What a case is checked against: gradients that flow, and those that cannot be told from 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.errors import WrongResult
from pyopbench.worker.prepare.checks import check_gradients, make_reference
from small_ops import square


def _cancelling(x: Any) -> Any:
    return (x - x.mean()).sum() + 1


def _cancelling_gradient(inputs: Any, outputs: Any, output_gradients: Any) -> Any:
    return (np.zeros_like(inputs[0]),)


CANCELLING = square(numpy=_cancelling, numpy_gradient=_cancelling_gradient)
"""Its gradient is 0, of which each way to add its terms leaves another rest."""


def reference_of(op: Any, inputs: Any, dtype: str = "float32") -> Any:
    return make_reference(op, (np.asarray(inputs, dtype),), dtype, np.random.default_rng(0))


def test_what_is_left_of_terms_that_cancel_is_no_gradient() -> None:
    reference = reference_of(CANCELLING, [1.0, 2.0, 3.0])
    assert check_gradients(CANCELLING, [tf.constant([1e-8, -1e-8, 0.0])], reference, "float32") == 0
    with pytest.raises(WrongResult):
        check_gradients(CANCELLING, [tf.constant([0.0, 1e-3, 0.0])], reference, "float32")
    with pytest.raises(WrongResult):
        check_gradients(CANCELLING, [tf.constant([0.0, np.nan, 0.0])], reference, "float32")


def test_a_small_gradient_of_a_large_output_is_checked_all_the_same() -> None:
    """1e6 + x has the slope 1, however little of it the rounded output shows."""
    op = square(
        numpy=lambda x: x.sum() + np.float32(1e6),
        numpy_gradient=lambda inputs, outputs, slopes: (np.full_like(inputs[0], slopes[0]),),
    )
    reference = reference_of(op, [1.0, 2.0, 3.0])
    with pytest.raises(WrongResult):
        check_gradients(op, [tf.constant([0.5, 1.0, 1.0])], reference, "float32")


def test_nothing_flows_into_an_output_that_is_nan() -> None:
    """Where there is no value there is no slope: one library says 1, another one 0."""
    op = square()
    reference = reference_of(op, [1.0, np.nan, 3.0])
    (slopes,) = reference.output_gradients
    assert slopes[1] == 0
    assert (slopes[[0, 2]] >= 0.5).all()
