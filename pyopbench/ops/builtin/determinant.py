"""determinant: a batch of 4 x 4 matrices, one LU decomposition each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from pyopbench.model.discover import KERNELS
from pyopbench.model.op import Op

ORDER = 4
"""Rows of a matrix: a homogeneous transform, small enough that the overhead per matrix shows."""

SPREAD = 0.2
"""Entries are those of the unit matrix plus up to this: rows stay dominated by their diagonal (0.8 against 0.6), so
that the condition number in the infinity norm is below 9 (Varah 1975)."""

TOLERANCE = {"float32": 3e-5, "float64": 1e-12}
"""Rounding moves a determinant by up to about n**2 = 16 times the condition number times the unit roundoff, 9e-6 in
float32 (Higham, Accuracy and Stability of Numerical Algorithms, section 14.6); its gradient has that of the inverse
on top."""


def make_inputs(size: int, dtype: str, rng: np.random.Generator) -> tuple[npt.NDArray[Any], ...]:
    """Draw one `(size, 4, 4)` array of well-conditioned matrices, rows shuffled so that both signs occur."""
    matrices = np.eye(ORDER) + rng.uniform(-SPREAD, SPREAD, (size, ORDER, ORDER))
    order = np.argsort(rng.random((size, ORDER)), axis=1)
    return (np.take_along_axis(matrices, order[:, :, np.newaxis], axis=1).astype(dtype),)


def numpy_body(x: Any) -> Any:
    """Return the determinants `(size,)` of the matrices `x` `(size, 4, 4)`."""
    return np.linalg.det(x)


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, `(size, 4, 4)`, by Jacobi's formula: d det(x) = det(x) tr(x**-1 dx)."""
    (x,), (y,), (dy,) = inputs, outputs, output_gradients
    return ((dy * y)[..., np.newaxis, np.newaxis] * np.swapaxes(np.linalg.inv(x), -1, -2),)


def tensor_body(x: Any) -> Any:
    """Return the determinants `(size,)` of the matrices `x` `(size, 4, 4)`."""
    return tf.linalg.det(x)


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, `(size, 4, 4)`, by Jacobi's formula: d det(x) = det(x) tr(x**-1 dx)."""
    (x,), (y,), (dy,) = inputs, outputs, output_gradients
    return ((dy * y)[..., tf.newaxis, tf.newaxis] * tf.linalg.inv(x, adjoint=True),)


OP = Op(
    name="determinant",
    summary="determinants of a batch of 4 x 4 matrices, by LU decomposition",
    source="Jacobi's formula, Magnus and Neudecker, Matrix Differential Calculus, chapter 8",
    make_inputs=make_inputs,
    numpy=numpy_body,
    sizes=(1, 10, 100, 1_000, 10_000, 100_000),
    quick_sizes=(1_000, 10_000),
    size_unit="matrices",
    numpy_gradient=numpy_gradient,
    tensor=tensor_body,
    tensor_gradient=tensor_gradient,
    kernel=KERNELS / "determinant.cc",
    tolerance=TOLERANCE,
    not_ported={"numba_op": "np.linalg of Numba takes one matrix, not several"},
)
