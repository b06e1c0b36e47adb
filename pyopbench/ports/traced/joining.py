"""Arrays joined to larger ones, and arrays like others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from pyopbench.ports.traced import dtypes
from pyopbench.ports.traced.array import TracedArray, as_traced, wrap
from pyopbench.ports.traced.call_ufunc import as_tensor
from pyopbench.ports.traced.dtypes import is_tensor
from pyopbench.ports.traced.reductions import axes_of
from pyopbench.ports.traced.registry import in_numpy, in_tensors
from pyopbench.ports.traced.shaping import sizes_of
from pyopbench.ports.traced.tape import refuse, step
from pyopbench.ports.traced.untyped import np
from pyopbench.ports.traced.views import _packed


def _common(arrays: Sequence[TracedArray], dtype: Any = None) -> list[Any]:
    """Return arrays as tensors of one dtype; a Python number has that of an array made of it."""
    kind = np.dtype(dtype) if dtype is not None else np.result_type(*(one.dtype for one in arrays))
    return [as_tensor(one.value, kind) for one in arrays]


@in_tensors("concatenate", "concat")
def concatenate(arrays: Any, /, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Return arrays one behind the other along an axis; along None all elements."""
    tensors = _common([as_traced(one) for one in arrays], dtype)
    if axis is None:
        return tf.concat([tf.reshape(one, [-1]) for one in tensors], 0)
    return tf.concat(tensors, axes_of(axis, tensors[0].shape.rank)[0])


@in_tensors("stack")
def stack(arrays: Any, axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Return arrays side by side along a new axis."""
    tensors = _common([as_traced(one) for one in arrays], dtype)
    return tf.stack(tensors, axes_of(axis, tensors[0].shape.rank + 1)[0])


@in_numpy("vstack", "row_stack")
def vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Return arrays below each other."""
    return concatenate_of([np.atleast_2d(as_traced(one)) for one in tup], 0, dtype)


@in_numpy("hstack")
def hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """Return arrays beside each other."""
    arrays = [np.atleast_1d(as_traced(one)) for one in tup]
    return concatenate_of(arrays, 0 if arrays[0].ndim == 1 else 1, dtype)


@in_numpy("dstack")
def dstack(tup: Any) -> Any:
    """Return arrays behind each other."""
    return concatenate_of([np.atleast_3d(as_traced(one)) for one in tup], 2, None)


@in_numpy("column_stack")
def column_stack(tup: Any) -> Any:
    """Return vectors as the columns of a matrix."""
    arrays = [as_traced(one) for one in tup]
    return concatenate_of([one if one.ndim > 1 else np.atleast_2d(one).T for one in arrays], 1, None)


def concatenate_of(arrays: Sequence[Any], axis: int, dtype: Any) -> Any:
    """Return traced arrays one behind the other."""
    return np.concatenate(arrays, axis=axis, dtype=dtype)


@in_numpy("append")
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """Return an array with values behind it."""
    if axis is None:
        return np.concatenate([np.ravel(as_traced(arr)), np.ravel(as_traced(values))])
    return np.concatenate([as_traced(arr), as_traced(values)], axis=axis)


@in_numpy("meshgrid")
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Return the coordinates of a grid, one array for each axis."""
    count = len(xi)
    found = [
        np.reshape(as_traced(one), (1,) * place + (-1,) + (1,) * (count - 1 - place)) for place, one in enumerate(xi)
    ]
    if indexing == "xy" and count > 1:
        found[0], found[1] = np.swapaxes(found[0], 0, 1), np.swapaxes(found[1], 0, 1)
    if not sparse:
        shape = tuple(max((one.shape[axis] for one in found), key=lambda size: size != 1) for axis in range(count))
        found = [np.broadcast_to(one, shape) for one in found]
    return tuple(one.copy() for one in found) if copy else tuple(found)


def _like(name: str, fill: Any) -> None:
    @in_numpy(name)
    def function(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
    ) -> Any:
        return filled_like(as_traced(a), fill, dtype, shape)


_like("zeros_like", 0)
_like("ones_like", 1)
_like("empty_like", 0)


@in_numpy("full_like")
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    """Return an array of one value, of the shape and dtype of another one."""
    return filled_like(as_traced(a), fill_value, dtype, shape)


def filled_like(x: TracedArray, fill: Any, dtype: Any, shape: Any) -> TracedArray:
    """Return an array of one value; a shape that is known makes a known array."""
    kind = dtypes.check(x.dtype if dtype is None else dtype)
    found = filled(x.shape if shape is None else shape, fill, kind)
    found._c_order = shape is not None or x.gives_c_order
    return found


def filled(shape: Any, fill: Any, dtype: Any) -> TracedArray:
    """Return an array of one value, which may be traced, as may be the sizes of its axes."""
    sizes, value = sizes_of(shape), as_traced(fill)
    if not any(map(is_tensor, sizes)) and value.is_known:
        return TracedArray(np.full(sizes, value.value.item() if value.weak else value.value, dtype))
    inner = value.value
    spread = step("full", lambda: tf.broadcast_to(as_tensor(inner, dtype), _packed(sizes)))
    return TracedArray(spread, c_order=True)


@in_numpy("pad")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """Return an array with a border."""
    x = as_traced(array)
    widths = _widths(pad_width, x.ndim)
    if mode == "constant":
        values = as_traced(options.pop("constant_values", 0))
        if values.ndim or options:
            raise refuse("np.pad(..., constant_values=(...))", fix="pad twice")
        inner, fill, kind = x.value, values.value, x.dtype
        padded = step(
            "pad",
            lambda: tf.pad(as_tensor(inner, kind), widths, constant_values=as_tensor(fill, kind)),
        )
        return wrap(padded)
    if options or mode not in ("reflect", "symmetric", "edge", "wrap") or None in x.static_shape:
        raise refuse(f"np.pad(..., mode={mode!r})")
    for axis, (before, after) in enumerate(widths):
        index = np.pad(np.arange(x.static_shape[axis]), (before, after), mode=mode)
        x = np.take(x, index, axis=axis)
    return x


def _widths(pad_width: Any, rank: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        both = [pad_width.get(axis, pad_width.get(axis - rank, (0, 0))) for axis in range(rank)]
        pad_width = [(one, one) if np.ndim(one) == 0 else one for one in both]
    found = np.broadcast_to(np.asarray(pad_width), (rank, 2))
    return [(int(before), int(after)) for before, after in found]
