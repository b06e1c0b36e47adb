"""Products, norms, decompositions and polynomials."""

import collections

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import (
    np_axes,
    np_moved,
    np_sizes,
)
from pyopbench.ports.functions.table import helper

SVDResult = collections.namedtuple("SVDResult", ["U", "S", "Vh"])
EighResult = collections.namedtuple("EighResult", ["eigenvalues", "eigenvectors"])


@helper("np.inner", a="common", b="common")
def np_inner(a, b):
    """Return sums of products over the last axes."""
    if a.dtype == tf.bool:
        raise NotImplementedError("is not supported for truth values")
    if a.shape.rank == 0 or b.shape.rank == 0:
        return a * b
    return tf.tensordot(a, b, [[a.shape.rank - 1], [b.shape.rank - 1]])


@helper("np.outer", a="common", b="common")
def np_outer(a, b):
    """Return the products of each element with each."""
    a, b = tf.reshape(a, [-1, 1]), tf.reshape(b, [1, -1])
    return tf.logical_and(a, b) if a.dtype == tf.bool else a * b


@helper("np.tensordot", a="common", b="common")
def np_tensordot(a, b, axes=2):
    """Return sums of products over some axes of both."""
    if isinstance(axes, int):
        return tf.tensordot(a, b, axes)
    return tf.tensordot(a, b, [np_axes(axes[0], a.shape.rank), np_axes(axes[1], b.shape.rank)])


@helper("np.einsum", operands="common")
def np_einsum(subscripts, *operands, optimize=False):
    """Return sums of products, by Einstein's notation as text."""
    kind = operands[0].dtype
    if (kind.is_integer and kind not in (tf.int32, tf.int64)) or kind == tf.bool:
        raise NotImplementedError(f"is not supported for {kind.name}")
    return tf.einsum(subscripts.replace(" ", ""), *operands)


@helper("np.cross", a="common", b="common")
def np_cross(a, b, *, axis=-1):
    """Return the cross products of vectors of 3 elements, or of 2, of which it is a number."""
    x, y = tf.unstack(a, axis=axis), tf.unstack(b, axis=axis)
    if len(x) == len(y) == 2:
        return x[0] * y[1] - x[1] * y[0]
    if len(x) != 3 or len(y) != 3:
        raise NotImplementedError("is supported only for vectors of as many elements")
    return tf.stack([x[i - 2] * y[i - 1] - x[i - 1] * y[i - 2] for i in range(3)], axis)


@helper("np.diagonal", a="own")
def np_diagonal(a, offset=0, axis1=0, axis2=1):
    """Return diagonals of the planes of two axes, as the last axis."""
    planes = np_moved(a, (axis1, axis2), (-2, -1))
    rows, columns = planes.shape[-2:]
    if (rows is not None and offset <= -rows) or (columns is not None and offset >= columns):
        return tf.zeros([*np_sizes(planes)[:-2], 0], a.dtype)
    return tf.linalg.diag_part(planes, k=offset)


@helper("np.trace", a="own")
def np_trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    """Return sums of diagonals."""
    found = np_diagonal(a, offset, axis1, axis2)
    if dtype is not None:
        found = tf.cast(found, np.dtype(dtype))
    elif found.dtype == tf.bool or (found.dtype.is_integer and found.dtype.size < 8):
        found = tf.cast(found, tf.uint64 if found.dtype.is_unsigned else tf.int64)
    return tf.reduce_sum(found, -1)


@helper("np.diag", v="own")
def np_diag(v, k=0):
    """Return the diagonal of a matrix, or the matrix of a diagonal."""
    return np_diagonal(v, k) if v.shape.rank == 2 else tf.linalg.diag(v, k=k)


@helper("np.tril", m="own")
def np_tril(m, k=0):
    """Return matrices with 0 above a diagonal."""
    rows, columns = tf.range(tf.shape(m)[-2])[:, None], tf.range(tf.shape(m)[-1])
    return tf.where(columns - rows <= k, m, tf.zeros((), m.dtype))


@helper("np.triu", m="own")
def np_triu(m, k=0):
    """Return matrices with 0 below a diagonal."""
    rows, columns = tf.range(tf.shape(m)[-2])[:, None], tf.range(tf.shape(m)[-1])
    return tf.where(columns - rows >= k, m, tf.zeros((), m.dtype))


@helper("np.linalg.cholesky", a="float")
def np_cholesky(a, *, upper=False):
    """Return the triangular root of positive definite matrices."""
    return tf.linalg.adjoint(tf.linalg.cholesky(tf.linalg.adjoint(a))) if upper else tf.linalg.cholesky(a)


@helper("np.linalg.solve", a="common float", b="common float")
def np_solve(a, b):
    """Return the solutions of linear equations."""
    if b.shape.rank == 1:
        return np_solve(a, b[:, None])[..., 0]
    if b.shape.rank == a.shape.rank - 1:
        raise NotImplementedError("differs between versions of NumPy for stacks of vectors: give b[..., None]")
    return tf.linalg.solve(a, b)


@helper("np.linalg.eigh", a="float")
def np_eigh(a, UPLO="L"):
    """Return eigenvalues, ascending, and eigenvectors of symmetric matrices; signs of vectors may be others."""
    values, vectors = tf.linalg.eigh(a if UPLO.upper() == "L" else tf.linalg.adjoint(a))
    return EighResult(tf.math.real(values) if a.dtype.is_complex else values, vectors)


@helper("np.linalg.svd", a="float")
def np_svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """Return singular values, descending, and vectors of matrices; signs of vectors may be others."""
    if not compute_uv:
        return tf.linalg.svd(a, compute_uv=False)
    values, left, right = tf.linalg.svd(a, full_matrices=full_matrices)
    return SVDResult(left, values, tf.linalg.adjoint(right))
