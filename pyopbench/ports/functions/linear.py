"""Products, norms, decompositions and polynomials."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import (
    np_axes,
    np_checked,
    np_is_finite,
    np_known_size,
    np_moved,
    np_number,
    np_sizes,
)
from pyopbench.ports.functions.table import helper

SVDResult = collections.namedtuple("SVDResult", ["U", "S", "Vh"])
QRResult = collections.namedtuple("QRResult", ["Q", "R"])
EighResult = collections.namedtuple("EighResult", ["eigenvalues", "eigenvectors"])
SlogdetResult = collections.namedtuple("SlogdetResult", ["sign", "logabsdet"])


@helper("np.inner", a="common", b="common")
def np_inner(a: Any, b: Any) -> Any:
    """Return sums of products over the last axes."""
    if a.dtype == tf.bool:
        raise NotImplementedError("is not supported for truth values")
    if a.shape.rank == 0 or b.shape.rank == 0:
        return a * b
    return tf.tensordot(a, b, [[a.shape.rank - 1], [b.shape.rank - 1]])


@helper("np.outer", a="common", b="common")
def np_outer(a: Any, b: Any) -> Any:
    """Return the products of each element with each."""
    a, b = tf.reshape(a, [-1, 1]), tf.reshape(b, [1, -1])
    return tf.logical_and(a, b) if a.dtype == tf.bool else a * b


@helper("np.tensordot", a="common", b="common")
def np_tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Return sums of products over some axes of both."""
    if isinstance(axes, int):
        return tf.tensordot(a, b, axes)
    return tf.tensordot(a, b, [np_axes(axes[0], a.shape.rank), np_axes(axes[1], b.shape.rank)])


@helper("np.einsum", operands="common")
def np_einsum(subscripts: str, *operands: Any, optimize: Any = False) -> Any:
    """Return sums of products, by Einstein's notation."""
    if not isinstance(subscripts, str):
        raise NotImplementedError("is supported only for subscripts as text")
    kind = operands[0].dtype
    if (kind.is_integer and kind not in (tf.int32, tf.int64)) or kind == tf.bool:
        raise NotImplementedError(f"is not supported for {kind.name}")
    return tf.einsum(subscripts.replace(" ", ""), *operands)


@helper("np.cross", a="common", b="common")
def np_cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """Return the cross products of vectors of 2 or 3 elements."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = np_moved(a, axisa, -1), np_moved(b, axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("incompatible dimensions for cross product (dimension must be 2 or 3)")
    if x.shape[-1] == 2 and y.shape[-1] == 2:
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    first = [x[..., place] if place < x.shape[-1] else tf.zeros_like(x[..., 0]) for place in range(3)]
    second = [y[..., place] if place < y.shape[-1] else tf.zeros_like(y[..., 0]) for place in range(3)]
    parts = [first[i - 2] * second[i - 1] - first[i - 1] * second[i - 2] for i in range(3)]
    return np_moved(tf.stack(parts, -1), -1, axisc)


@helper("np.diagonal", a="own")
def np_diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return diagonals of the planes of two axes, as the last axis."""
    planes = np_moved(a, (axis1, axis2), (-2, -1))
    rows, columns = planes.shape[-2:]
    if (rows is not None and offset <= -rows) or (columns is not None and offset >= columns):
        return tf.zeros([*np_sizes(planes)[:-2], 0], a.dtype)
    return tf.linalg.diag_part(planes, k=offset)


@helper("np.trace", a="own")
def np_trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """Return sums of diagonals."""
    found = np_diagonal(a, offset, axis1, axis2)
    if dtype is not None:
        found = tf.cast(found, np.dtype(dtype))
    elif found.dtype == tf.bool or (found.dtype.is_integer and found.dtype.size < 8):
        found = tf.cast(found, tf.uint64 if found.dtype.is_unsigned else tf.int64)
    return tf.reduce_sum(found, -1)


@helper("np.diag", v="own")
def np_diag(v: Any, k: int = 0) -> Any:
    """Return the diagonal of a matrix, or the matrix of a diagonal."""
    return np_diagonal(v, k) if v.shape.rank == 2 else tf.linalg.diag(v, k=k)


@helper("np.tril", m="own")
def np_tril(m: Any, k: int = 0) -> Any:
    """Return matrices with 0 above a diagonal."""
    rows, columns = tf.range(tf.shape(m)[-2])[:, None], tf.range(tf.shape(m)[-1])
    return tf.where(columns - rows <= k, m, tf.zeros((), m.dtype))


@helper("np.triu", m="own")
def np_triu(m: Any, k: int = 0) -> Any:
    """Return matrices with 0 below a diagonal."""
    rows, columns = tf.range(tf.shape(m)[-2])[:, None], tf.range(tf.shape(m)[-1])
    return tf.where(columns - rows >= k, m, tf.zeros((), m.dtype))


@helper("np.linalg.slogdet", a="float")
def np_slogdet(a: Any) -> Any:
    """Return the sign and the logarithm of the magnitude of determinants."""
    finite = tf.reduce_all(np_is_finite(a))
    a = np_checked(a, finite, "slogdet: NumPy returns a different sign for a matrix that is not finite")
    sign, logarithm = tf.linalg.slogdet(a)
    return SlogdetResult(sign, tf.math.real(logarithm) if a.dtype.is_complex else logarithm)


@helper("np.linalg.cholesky", a="float")
def np_cholesky(a: Any, *, upper: bool = False) -> Any:
    """Return the triangular root of positive definite matrices."""
    return tf.linalg.adjoint(tf.linalg.cholesky(tf.linalg.adjoint(a))) if upper else tf.linalg.cholesky(a)


@helper("np.linalg.solve", a="common float", b="common float")
def np_solve(a: Any, b: Any) -> Any:
    """Return the solutions of linear equations."""
    if b.shape.rank == 1:
        return np_solve(a, b[:, None])[..., 0]
    if b.shape.rank == a.shape.rank - 1:
        raise NotImplementedError("differs between versions of NumPy for stacks of vectors: give b[..., None]")
    return tf.linalg.solve(a, b)


@helper("np.linalg.eigh", a="float")
def np_eigh(a: Any, UPLO: str = "L") -> Any:
    """Return eigenvalues, ascending, and eigenvectors of symmetric matrices; signs of vectors may be others."""
    values, vectors = tf.linalg.eigh(a if UPLO.upper() == "L" else tf.linalg.adjoint(a))
    return EighResult(tf.math.real(values) if a.dtype.is_complex else values, vectors)


@helper("np.linalg.svd", a="float")
def np_svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Return singular values, descending, and vectors of matrices; signs of vectors may be others."""
    if not compute_uv:
        return tf.linalg.svd(a, compute_uv=False)
    values, left, right = tf.linalg.svd(a, full_matrices=full_matrices)
    return SVDResult(left, values, tf.linalg.adjoint(right))


@helper("np.linalg.qr", a="float")
def np_qr(a: Any, mode: str = "reduced") -> Any:
    """Return an orthogonal and a triangular factor; signs may be others."""
    if mode not in ("reduced", "complete", "r"):
        raise NotImplementedError(f"is not supported for mode={mode!r}")
    a = np_checked(a, tf.reduce_all(np_is_finite(a)), "qr: NumPy has other factors for a matrix that is not finite")
    orthogonal, triangular = tf.linalg.qr(a, full_matrices=mode == "complete")
    return triangular if mode == "r" else QRResult(orthogonal, triangular)


@helper("np.linalg.pinv", a="float")
def np_pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Return the pseudo-inverse: singular values below a share of the largest count as 0."""
    cut = rtol if rcond is None else rcond
    cut = 1e-15 if cut is None else cut  # what NumPy's documentation says for rcond
    values, left, right = tf.linalg.svd(tf.math.conj(a) if a.dtype.is_complex else a)
    large = values > np_number(cut, values.dtype) * tf.reduce_max(values, -1, keepdims=True)
    inverse = tf.where(large, 1 / tf.where(large, values, tf.ones((), values.dtype)), tf.zeros((), values.dtype))
    right = tf.math.conj(right) if a.dtype.is_complex else right
    return tf.matmul(right * tf.cast(inverse, a.dtype)[..., None, :], left, transpose_b=True)


@helper("np.polyval", p="common", x="common")
def np_polyval(p: Any, x: Any) -> Any:
    """Return the values of a polynomial, whose coefficients begin with that of the highest power."""
    found = tf.zeros_like(x)
    for place in range(np_known_size(p, 0)):
        found = found * x + p[place]
    return found
