"""A loop over examples that Numba compiles gives what the body gives for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import OwnOp
from pyopbench.model.op import Op
from pyopbench.ops.own.complete import complete
from pyopbench.ops.port_file import PORTS

BATCH = (np.arange(12.0).reshape(4, 3), np.array([1, 2, 3, 4]))


def shifted(x: Any, n: Any) -> Any:
    return x * 2 + n, x.sum() * n


def own(body: Any) -> Op:
    return complete(OwnOp(inputs=(BATCH[0][0], BATCH[1][0]), numpy=body), "made", Path())


def test_a_loop_gives_what_each_example_gives() -> None:
    found = PORTS.call_of(own(shifted), "numba_op_loop", "float64")(*BATCH)
    each = [shifted(x, n) for x, n in zip(*BATCH, strict=True)]
    for place, got in enumerate(found if isinstance(found, tuple) else (found,)):
        np.testing.assert_array_equal(got, np.stack([one[place] for one in each]))


def test_outputs_of_other_shapes_are_no_batch() -> None:
    """One element is not spread over the place of more."""
    op = complete(OwnOp(inputs=(np.array([0.1, 0.6, 0.9]),), numpy=lambda x: x[x > 0.5]), "made", Path())
    loop = PORTS.call_of(op, "numba_op_loop", "float64")
    batch = np.array([[0.6, 0.7, 0.1], [0.1, 0.2, 0.9]])
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        loop(batch)
    np.testing.assert_array_equal(loop(batch[:1]), [[0.6, 0.7]])
