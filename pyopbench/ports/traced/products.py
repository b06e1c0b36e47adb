"""Products of vectors, matrices and stacks of them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.ports.traced.array import as_traced
from pyopbench.ports.traced.call_ufunc import as_tensor
from pyopbench.ports.traced.reductions import axes_of
from pyopbench.ports.traced.registry import in_numpy, in_tensors
from pyopbench.ports.traced.tape import refuse
from pyopbench.ports.traced.ufuncs import UFUNCS
from pyopbench.ports.traced.untyped import np


def both(a: Any, b: Any) -> tuple[Any, Any]:
    """Return two arrays as tensors of the dtype that NumPy multiplies them in."""
    x, y = as_traced(a), as_traced(b)
    kind = np.result_type(x.dtype, y.dtype)
    return as_tensor(x.value, kind), as_tensor(y.value, kind)


def _multiplied(x: Any, y: Any) -> Any:
    return UFUNCS["matmul"](x, y)


@in_tensors("dot")
def dot(a: Any, b: Any) -> Any:
    """Return sums of products over the last axis of one array and the last but one of the other."""
    x, y = both(a, b)
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
    x, y = both(a, b)
    return _multiplied(UFUNCS["conjugate"](tf.reshape(x, [-1])), tf.reshape(y, [-1]))


@in_tensors("inner")
def inner(a: Any, b: Any, /) -> Any:
    """Return sums of products over the last axes."""
    x, y = both(a, b)
    if x.shape.rank == 0 or y.shape.rank == 0:
        return UFUNCS["multiply"](x, y)
    if x.dtype == tf.bool:
        raise refuse("np.inner", why="is not traced for truth values", fix="use np.any(x & y, -1)")
    return tf.tensordot(x, y, [[x.shape.rank - 1], [y.shape.rank - 1]])


@in_tensors("outer")
def outer(a: Any, b: Any) -> Any:
    """Return the products of each element with each."""
    x, y = both(a, b)
    return UFUNCS["multiply"](tf.reshape(x, [-1, 1]), tf.reshape(y, [1, -1]))


@in_numpy("kron")
def kron(a: Any, b: Any) -> Any:
    """Return blocks that are one array, each multiplied by an element of the other."""
    x, y = as_traced(a), as_traced(b)
    rank = max(x.ndim, y.ndim)
    outer_shape, inner_shape = (1,) * (rank - x.ndim) + x.shape, (1,) * (rank - y.ndim) + y.shape
    between = [1 if place % 2 else outer_shape[place // 2] for place in range(2 * rank)]
    within = [inner_shape[place // 2] if place % 2 else 1 for place in range(2 * rank)]
    found = np.reshape(x, between) * np.reshape(y, within)
    return np.reshape(found, [one * other for one, other in zip(outer_shape, inner_shape, strict=True)])


@in_tensors("tensordot")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Return sums of products over some axes of both."""
    x, y = both(a, b)
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
