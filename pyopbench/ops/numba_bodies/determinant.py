"""determinant: of each 4 x 4 matrix by its 2 x 2 minors, as `kernels/determinant.cc` does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def _minors(a: Any, b: Any) -> Any:
    return (
        a[0] * b[1] - b[0] * a[1],
        a[0] * b[2] - b[0] * a[2],
        a[0] * b[3] - b[0] * a[3],
        a[1] * b[2] - b[1] * a[2],
        a[1] * b[3] - b[1] * a[3],
        a[2] * b[3] - b[2] * a[3],
    )


@numba.njit(nogil=True, cache=True)
def _cofactors(row: Any, m: Any, factor: Any, found: Any) -> None:
    found[0] = factor * (row[1] * m[5] - row[2] * m[4] + row[3] * m[3])
    found[1] = -factor * (row[0] * m[5] - row[2] * m[2] + row[3] * m[1])
    found[2] = factor * (row[0] * m[4] - row[1] * m[2] + row[3] * m[0])
    found[3] = -factor * (row[0] * m[3] - row[1] * m[1] + row[2] * m[0])


@numba.njit(nogil=True, cache=True)
def body(x: Any) -> Any:
    """Return the determinants `(n,)` of the matrices `x` `(n, 4, 4)`."""
    found = np.empty(x.shape[0], x.dtype)
    for i in range(x.shape[0]):
        s, c = _minors(x[i, 0], x[i, 1]), _minors(x[i, 2], x[i, 3])
        found[i] = s[0] * c[5] - s[1] * c[4] + s[2] * c[3] + s[3] * c[2] - s[4] * c[1] + s[5] * c[0]
    return found


@numba.njit(nogil=True, cache=True)
def _gradient(x: Any, dy: Any) -> Any:
    found = np.empty_like(x)
    for i in range(x.shape[0]):
        upper, lower = _minors(x[i, 0], x[i, 1]), _minors(x[i, 2], x[i, 3])
        _cofactors(x[i, 1], lower, dy[i], found[i, 0])
        _cofactors(x[i, 0], lower, -dy[i], found[i, 1])
        _cofactors(x[i, 3], upper, dy[i], found[i, 2])
        _cofactors(x[i, 2], upper, -dy[i], found[i, 3])
    return found


def gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, `(n, 4, 4)`: the cofactors times dy, by Jacobi's formula."""
    return (_gradient(inputs[0], output_gradients[0]),)
