"""misderived: an op for tests whose reference gradient is planted wrong, so that only finite differences can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyopbench import Op
from pyopbench.ops.load import load_op


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`, a tenth too large."""
    (dy,) = output_gradients
    return (-1.1 * dy,)


OP: Op = replace(
    load_op("negate"),
    name="misderived",
    summary="-x with a wrong gradient, for tests",
    numpy_gradient=numpy_gradient,
    tensor_gradient=numpy_gradient,
)
