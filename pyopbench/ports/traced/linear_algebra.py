"""Products and decompositions of matrices."""

from __future__ import annotations

import collections
from typing import Any

import tensorflow as tf

from pyopbench.ports.traced.array import as_traced
from pyopbench.ports.traced.call_ufunc import as_tensor
from pyopbench.ports.traced.products import both
from pyopbench.ports.traced.registry import in_numpy, in_tensors
from pyopbench.ports.traced.tape import refuse
from pyopbench.ports.traced.untyped import np

EighResult = collections.namedtuple("EighResult", ["eigenvalues", "eigenvectors"])
QRResult = collections.namedtuple("QRResult", ["Q", "R"])
SVDResult = collections.namedtuple("SVDResult", ["U", "S", "Vh"])
SlogdetResult = collections.namedtuple("SlogdetResult", ["sign", "logabsdet"])


@in_tensors("trace", "linalg.trace")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """Return sums of diagonals."""
    return np.sum(np.diagonal(as_traced(a), offset, axis1, axis2), axis=-1, dtype=dtype)


@in_numpy("diag")
def diag(v: Any, k: int = 0) -> Any:
    """Return the diagonal of a matrix, or the matrix of a diagonal."""
    x = as_traced(v)
    if x.ndim == 2:
        return np.diagonal(x, k)
    return diagflat(x, k)


@in_tensors("diagflat")
def diagflat(v: Any, k: int = 0) -> Any:
    """Return the matrix of a diagonal."""
    flat = tf.reshape(as_traced(v).tensor, [-1])
    return tf.linalg.diag(flat, k=k)


def _triangle(name: str, keep: Any) -> None:
    @in_numpy(name)
    def function(m: Any, k: int = 0) -> Any:
        x = as_traced(m)
        if None in x.static_shape[-2:]:
            raise refuse(f"np.{name}", why="needs a shape that is known before the graph runs")
        return np.where(keep(np.ones(x.static_shape[-2:], bool), k), x, np.zeros(1, x.dtype))


_triangle("tril", np.tril)
_triangle("triu", np.triu)


def _floating(a: Any) -> tuple[Any, Any]:
    """Return an array as a tensor of floats, as `np.linalg` takes it, and its dtype."""
    x = as_traced(a)
    kind = x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)
    if kind == np.float16:
        raise TypeError("array type float16 is unsupported in linalg")
    return as_tensor(x.value, kind), kind


def _of_matrix(name: str, function: Any) -> None:
    in_tensors(f"linalg.{name}")(lambda a: function(_floating(a)[0]))


_of_matrix("inv", tf.linalg.inv)
_of_matrix("det", tf.linalg.det)
_of_matrix("slogdet", lambda x: SlogdetResult(*tf.linalg.slogdet(x)))


@in_tensors("linalg.cholesky")
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Return the triangular root of a positive definite matrix."""
    if upper:
        raise refuse("np.linalg.cholesky(..., upper=True)", fix="transpose the lower one")
    return tf.linalg.cholesky(_floating(a)[0])


@in_tensors("linalg.solve")
def solve(a: Any, b: Any) -> Any:
    """Return the solutions of linear equations."""
    x, y = both(a, b)
    kind = np.result_type(x.dtype.as_numpy_dtype, np.float32 if x.dtype == tf.float32 else np.float64)
    x, y = as_tensor(x, kind), as_tensor(y, kind)
    if y.shape.rank == 1:
        return tf.linalg.solve(x, y[:, None])[:, 0]
    if y.shape.rank == x.shape.rank - 1:
        raise refuse("np.linalg.solve(stack, vectors)", why="differs between versions of NumPy", fix="b[..., None]")
    return tf.linalg.solve(x, y)


@in_tensors("linalg.eigvalsh")
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues of symmetric matrices, ascending."""
    return tf.linalg.eigvalsh(_lower(_floating(a)[0], UPLO))


@in_tensors("linalg.eigh")
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Return eigenvalues, ascending, and eigenvectors of symmetric matrices; signs of vectors may be others."""
    return EighResult(*tf.linalg.eigh(_lower(_floating(a)[0], UPLO)))


def _lower(tensor: Any, triangle: str) -> Any:
    return tensor if triangle.upper() == "L" else tf.linalg.adjoint(tensor)


@in_tensors("linalg.svd")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Return singular values, descending, and vectors of matrices; signs of vectors may be others."""
    tensor, _ = _floating(a)
    if not compute_uv:
        return tf.linalg.svd(tensor, compute_uv=False)
    values, left, right = tf.linalg.svd(tensor, full_matrices=full_matrices)
    return SVDResult(left, values, tf.linalg.adjoint(right))


@in_tensors("linalg.svdvals")
def svdvals(x: Any, /) -> Any:
    """Return singular values, descending."""
    return tf.linalg.svd(_floating(x)[0], compute_uv=False)


@in_tensors("linalg.qr")
def qr(a: Any, mode: str = "reduced") -> Any:
    """Return an orthogonal and a triangular factor; signs may be others."""
    if mode not in ("reduced", "complete", "r"):
        raise refuse(f"np.linalg.qr(..., mode={mode!r})")
    orthogonal, triangular = tf.linalg.qr(_floating(a)[0], full_matrices=mode == "complete")
    return triangular if mode == "r" else QRResult(orthogonal, triangular)


@in_numpy("linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Return the pseudo-inverse: singular values below a share of the largest count as 0."""
    x = as_traced(a)
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    cut = rcond if rcond is not None else rtol
    if cut is None:
        cut = 1e-15  # what NumPy's documentation says for rcond
    left, values, right = np.linalg.svd(np.conj(x), full_matrices=False)
    large = values > cut * np.max(values, axis=-1, keepdims=True)
    inverse = np.where(large, 1 / np.where(large, values, 1), 0).astype(values.dtype)
    return np.matmul(np.swapaxes(right, -1, -2), inverse[..., None] * np.swapaxes(left, -1, -2))


@in_numpy("linalg.matrix_power")
def matrix_power(a: Any, n: int) -> Any:
    """Return a matrix multiplied with itself."""
    x = as_traced(a)
    base = np.linalg.inv(x) if n < 0 else x
    found: Any = np.broadcast_to(np.eye(x.static_shape[-1], dtype=base.dtype), x.shape)
    for _ in range(abs(int(n))):
        found = np.matmul(found, base)
    return found if n else as_traced(found)


@in_tensors("linalg.matrix_rank")
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Return how many singular values count."""
    tensor, kind = _floating(A)
    if rtol is not None or tensor.shape.rank < 2:
        raise refuse("np.linalg.matrix_rank(..., rtol=...)")
    values = tf.linalg.svd(tensor, compute_uv=False)
    limit = tf.reduce_max(values, -1, keepdims=True) * max(tensor.shape[-2:]) * np.finfo(kind).eps
    return tf.math.count_nonzero(values > (limit if tol is None else tol), -1)
