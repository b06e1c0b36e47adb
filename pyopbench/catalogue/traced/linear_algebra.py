"""Products and decompositions of matrices."""

from __future__ import annotations

import collections
from typing import Any

import tensorflow as tf

from pyopbench.catalogue.traced.array import TracedArray, as_traced
from pyopbench.catalogue.traced.call_ufunc import as_tensor
from pyopbench.catalogue.traced.reductions import axes_of
from pyopbench.catalogue.traced.registry import in_numpy, in_tensors
from pyopbench.catalogue.traced.tape import refuse
from pyopbench.catalogue.traced.ufuncs import UFUNCS
from pyopbench.catalogue.traced.untyped import np

EighResult = collections.namedtuple("EighResult", ["eigenvalues", "eigenvectors"])
QRResult = collections.namedtuple("QRResult", ["Q", "R"])
SVDResult = collections.namedtuple("SVDResult", ["U", "S", "Vh"])
SlogdetResult = collections.namedtuple("SlogdetResult", ["sign", "logabsdet"])


def _both(a: Any, b: Any) -> tuple[Any, Any]:
    """Return two arrays as tensors of the dtype that NumPy multiplies them in."""
    x, y = as_traced(a), as_traced(b)
    kind = np.result_type(x.dtype, y.dtype)
    return as_tensor(x.value, kind), as_tensor(y.value, kind)


def _multiplied(x: Any, y: Any) -> Any:
    return UFUNCS["matmul"](x, y)


@in_tensors("dot")
def dot(a: Any, b: Any) -> Any:
    """Return sums of products over the last axis of one array and the last but one of the other."""
    x, y = _both(a, b)
    if x.shape.rank == 0 or y.shape.rank == 0:
        return UFUNCS["multiply"](x, y)
    if y.shape.rank <= 2:
        if x.shape.rank <= 2 or y.shape.rank == 2:
            return _multiplied(x, y)
        return _multiplied(x, y[:, None])[..., 0]
    return tf.tensordot(x, y, [[x.shape.rank - 1], [y.shape.rank - 2]])


@in_tensors("vdot")
def vdot(a: Any, b: Any, /) -> Any:
    """Return the sum of products of all elements, of the first one's conjugates."""
    x, y = _both(a, b)
    return _multiplied(UFUNCS["conjugate"](tf.reshape(x, [-1])), tf.reshape(y, [-1]))


@in_tensors("inner")
def inner(a: Any, b: Any, /) -> Any:
    """Return sums of products over the last axes."""
    x, y = _both(a, b)
    if x.shape.rank == 0 or y.shape.rank == 0:
        return UFUNCS["multiply"](x, y)
    if x.dtype == tf.bool:
        raise refuse("np.inner", why="is not traced for truth values", fix="use np.any(x & y, -1)")
    return tf.tensordot(x, y, [[x.shape.rank - 1], [y.shape.rank - 1]])


@in_tensors("outer")
def outer(a: Any, b: Any) -> Any:
    """Return the products of each element with each."""
    x, y = _both(a, b)
    return UFUNCS["multiply"](tf.reshape(x, [-1, 1]), tf.reshape(y, [1, -1]))


@in_tensors("tensordot")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Return sums of products over some axes of both."""
    x, y = _both(a, b)
    if not isinstance(axes, int):
        left, right = axes
        axes = [axes_of(left, x.shape.rank), axes_of(right, y.shape.rank)]
    return tf.tensordot(x, y, axes)


@in_tensors("einsum")
def einsum(subscripts: Any, *operands: Any, optimize: Any = False) -> Any:
    """Return sums of products, by Einstein's notation."""
    if not isinstance(subscripts, str):
        raise refuse("np.einsum(array, [0, 1], ...)", fix="write the subscripts as text")
    arrays = [as_traced(one) for one in operands]
    kind = np.result_type(*(one.example for one in arrays))
    if kind.kind not in "fc" and kind not in (np.int32, np.int64):
        raise refuse("np.einsum", why=f"is not traced for {kind}")
    return tf.einsum(subscripts.replace(" ", ""), *(as_tensor(one.value, kind) for one in arrays))


@in_numpy("linalg.multi_dot")
def multi_dot(arrays: Any) -> Any:
    """Return the product of several matrices."""
    found, *others = arrays
    for one in others:
        found = np.dot(found, one)
    return found


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
    x, y = _both(a, b)
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


@in_numpy("linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return norms of vectors and matrices."""
    array = as_traced(x)
    if array.dtype.kind not in "fc":
        array = array.astype(np.float64)
    if axis is None:
        if ord is None:
            flat = np.ravel(array)
            found = _root_of_squares(flat, 0, keep=False)
            return np.reshape(found, (1,) * array.ndim) if keepdims else found
        axis = tuple(range(array.ndim))
    axes = axes_of(axis, array.ndim)
    if len(axes) == 1:
        return _vector_norm(array, ord, axes[0], keep=keepdims)
    return _matrix_norm(array, ord, axes, keep=keepdims)


def _root_of_squares(x: TracedArray, axis: Any, *, keep: bool) -> Any:
    square = x * x if x.dtype.kind != "c" else (np.conj(x) * x).real
    return np.sqrt(np.sum(square, axis=axis, keepdims=keep))


def _vector_norm(x: TracedArray, order: Any, axis: int, *, keep: bool) -> Any:
    size = np.abs(x)
    if order is None or order == 2:
        return _root_of_squares(x, axis, keep=keep)
    if order == np.inf:
        return np.max(size, axis=axis, keepdims=keep)
    if order == -np.inf:
        return np.min(size, axis=axis, keepdims=keep)
    if order == 0:
        return np.sum((x != 0).astype(size.dtype), axis=axis, keepdims=keep)
    if order == 1:
        return np.sum(size, axis=axis, keepdims=keep)
    return np.sum(size**order, axis=axis, keepdims=keep) ** (1 / order)


def _matrix_norm(x: TracedArray, order: Any, axes: list[int], *, keep: bool) -> Any:
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    row, column = axes
    if order is None or order == "fro":
        return _root_of_squares(x, (row, column), keep=keep)
    if order in (1, -1, np.inf, -np.inf):
        first, second = (row, column) if abs(order) == 1 else (column, row)
        sums = np.sum(np.abs(x), axis=first, keepdims=True)
        found = (np.max if order > 0 else np.min)(sums, axis=second, keepdims=True)
        return found if keep else np.squeeze(found, axis=(row, column))
    values = np.linalg.svd(np.moveaxis(x, (row, column), (-2, -1)), compute_uv=False)
    reduce = {2: np.max, -2: np.min, "nuc": np.sum}.get(order)
    if reduce is None:
        raise ValueError("Invalid norm order for matrices.")
    found = reduce(values, axis=-1)
    return np.expand_dims(found, axis=(row, column)) if keep else found
