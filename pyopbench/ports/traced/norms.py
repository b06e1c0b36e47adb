"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

from pyopbench.ports.traced.array import TracedArray, as_traced
from pyopbench.ports.traced.reductions import axes_of
from pyopbench.ports.traced.registry import in_numpy
from pyopbench.ports.traced.untyped import np


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
