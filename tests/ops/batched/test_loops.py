"""A loop over examples, in Python or compiled by Numba, gives what the body gives for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import OwnOp
from pyopbench.model.op import Op
from pyopbench.ops.batched.loops import gradient_loop, python_loop
from pyopbench.ops.own.complete import complete
from pyopbench.ops.port_file import PORTS
from small_ops import power

BATCH = (np.arange(12.0).reshape(4, 3), np.array([1, 2, 3, 4]))


def shifted(x: Any, n: Any) -> Any:
    return x * 2 + n, x.sum() * n


def of_one(x: Any, n: Any) -> Any:
    return (x.max() + n,)


def own(body: Any) -> Op:
    return complete(OwnOp(inputs=(BATCH[0][0], BATCH[1][0]), numpy=body), "made", Path())


@pytest.mark.parametrize(("how", "body"), [("python", shifted), ("python", of_one), ("numba_op", shifted)])
def test_a_loop_gives_what_each_example_gives(how: str, body: Any) -> None:
    op = own(body)
    dtypes = op.output_dtypes("float64")
    loop = python_loop(op.numpy, dtypes) if how == "python" else PORTS.call_of(op, "numba_op_loop", "float64")
    found = loop(*BATCH)
    each = [body(x, n) for x, n in zip(*BATCH, strict=True)]
    for place, got in enumerate(found if isinstance(found, tuple) else (found,)):
        np.testing.assert_array_equal(got, np.stack([one[place] for one in each]))


@pytest.mark.parametrize("how", ["python", "numba_op"])
def test_outputs_of_other_shapes_are_no_batch(how: str) -> None:
    """One element is not spread over the place of more."""
    op = complete(OwnOp(inputs=(np.array([0.1, 0.6, 0.9]),), numpy=lambda x: x[x > 0.5]), "made", Path())
    loop = python_loop(op.numpy, ["float64"]) if how == "python" else PORTS.call_of(op, "numba_op_loop", "float64")
    batch = np.array([[0.6, 0.7, 0.1], [0.1, 0.2, 0.9]])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        loop(batch)
    np.testing.assert_array_equal(loop(batch[:1]), [[0.6, 0.7]])


def test_an_example_reaches_the_body_as_in_a_callback() -> None:
    """A copy, so that a body that writes to it spoils nothing, and a scalar as a number."""
    given: list[Any] = []

    def body(x: Any, n: Any) -> Any:
        given.append((type(n), n.ndim))
        x += 1
        return x

    batch = (BATCH[0].copy(), BATCH[1])
    python_loop(body, ["float64"])(*batch)
    assert given == [(np.int64, 0)] * 4
    np.testing.assert_array_equal(batch[0], BATCH[0])


def test_the_gradient_of_a_batch_is_that_of_each_example() -> None:
    op = power()
    assert op.numpy_gradient is not None
    n, x = np.array([[1, 2], [3, 1], [2, 2]]), np.array([[1.0, 2.0], [1.5, 1.25], [3.0, 0.5]])
    outputs = op.numpy(n, x)
    incoming = (np.full_like(x, 2.0), np.full_like(x, 0.5))
    (found,) = gradient_loop(op.numpy_gradient, op)((n, x), outputs, incoming)
    (expected,) = op.numpy_gradient((n, x), outputs, incoming)
    np.testing.assert_allclose(found, expected)
