"""Elements picked by conditions and places."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import as_traced
from pyopbench.ports.tracing.call_ufunc import as_tensor
from pyopbench.ports.tracing.reductions import axes_of
from pyopbench.ports.tracing.registry import in_numpy, in_tensors
from pyopbench.ports.tracing.tape import refuse
from pyopbench.ports.tracing.ufuncs import as_truth
from pyopbench.ports.tracing.untyped import np


@in_tensors("where")
def where(condition: Any, *choices: Any) -> Any:
    """Return elements of one array or another; or where a condition is true, as an array for each axis."""
    truth = as_truth(as_traced(condition).tensor)
    if not choices:
        return _places(truth)
    x, y = map(as_traced, choices)
    kind = dtypes.common([x.example, y.example])
    for choice in (x, y):
        dtypes.check_range(choice, kind)
    return tf.where(truth, as_tensor(x.value, kind), as_tensor(y.value, kind))


def _places(truth: Any) -> tuple[Any, ...]:
    if truth.shape.rank == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    return tuple(tf.unstack(tf.where(truth), num=truth.shape.rank, axis=1))


@in_tensors("nonzero")
def nonzero(a: Any) -> Any:
    """Return where elements are not 0, as an array for each axis."""
    return _places(as_truth(as_traced(a).tensor))


@in_tensors("flatnonzero")
def flatnonzero(a: Any) -> Any:
    """Return where elements are not 0, counted in one axis."""
    return tf.where(tf.reshape(as_truth(as_traced(a).tensor), [-1]))[:, 0]


@in_tensors("argwhere")
def argwhere(a: Any) -> Any:
    """Return where elements are not 0, one row for each."""
    return tf.where(as_truth(as_traced(a).tensor))


def _along(x: Any, index: Any, axis: Any) -> tuple[Any, ...]:
    (place,) = axes_of(axis, x.ndim)
    if index.ndim != x.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    key: list[Any] = []
    for one in range(x.ndim):
        if one == place:
            key.append(index)
        else:
            size = x.static_shape[one]
            if size is None:
                raise refuse("np.take_along_axis", why="needs a shape that is known before the graph runs")
            key.append(np.arange(size).reshape((-1,) + (1,) * (x.ndim - one - 1)))
    return tuple(key)


@in_numpy("put_along_axis", on_known=True)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Replace elements by their places along an axis."""
    if axis is None:
        raise refuse("np.put_along_axis(..., axis=None)")
    arr[_along(as_traced(arr), as_traced(indices), axis)] = values


@in_numpy("select")
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Return the element of the first array whose condition is true, else a default."""
    kind = np.result_type(*(as_traced(one).example for one in choicelist), as_traced(default).example)
    found = as_traced(default).astype(kind)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        found = np.where(condition, as_traced(choice).astype(kind), found)
    return found
