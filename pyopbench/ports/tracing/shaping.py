"""Functions that move elements or show them in another shape. What NumPy makes a view is a view."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from pyopbench.ports.tensor_functions.linear import np_diagonal
from pyopbench.ports.tracing import views
from pyopbench.ports.tracing.array import TracedArray, as_traced
from pyopbench.ports.tracing.dtypes import is_tensor
from pyopbench.ports.tracing.reductions import axes_of
from pyopbench.ports.tracing.registry import in_numpy, in_tensors
from pyopbench.ports.tracing.tape import refuse
from pyopbench.ports.tracing.untyped import np


def sizes_of(shape: Any) -> tuple[Any, ...]:
    """Return a shape as a tuple of numbers and tensors."""
    if type(shape) is TracedArray and shape.ndim == 1:
        shape = list(shape)
    several = shape if isinstance(shape, list | tuple) else list(shape) if np.ndim(shape) else [shape]
    arrays = [as_traced(size) for size in several]
    return tuple(int(one.value) if one.is_known else one.tensor for one in arrays)


@in_numpy("reshape", on_known=True)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    """Return an array in another shape."""
    if order not in ("C", "A"):
        raise refuse(f"np.reshape(..., order={order!r})")
    x = as_traced(a)
    sizes = _filled(x, sizes_of(newshape if shape is None else shape))
    return x.seen_through(views.Reshaped(sizes))


def _filled(x: TracedArray, sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return sizes in which -1 has become the number that it means, where that is known."""
    if any(map(is_tensor, sizes)) or None in x.static_shape:
        return sizes
    total: int = math.prod(x._value.shape)
    rest = math.prod(size for size in sizes if size != -1)
    if sizes.count(-1) == 1 and rest and total % rest == 0:
        return tuple(total // rest if size == -1 else size for size in sizes)
    if rest != total or -1 in sizes:
        raise ValueError(f"cannot reshape array of size {total} into shape {sizes}")
    return sizes


@in_numpy("ravel", on_known=True)
def ravel(a: Any, order: str = "C") -> Any:
    """Return all elements in one axis."""
    if order not in ("C", "A", "K"):
        raise refuse(f"np.ravel(..., order={order!r})")
    x = as_traced(a)
    found = reshape(x, (-1,))
    if x.is_in_c_order:
        return found
    # Here NumPy copies, also what it would reshape without.
    return TracedArray(found.value) if x.layout is not None else x.maybe_view("ravel", found.value)


@in_numpy("transpose", "permute_dims", on_known=True)
def transpose(a: Any, axes: Any = None) -> Any:
    """Return an array with its axes in another order."""
    x = as_traced(a)
    order = tuple(reversed(range(x.ndim))) if axes is None else tuple(axes_of(list(axes), x.ndim))
    if sorted(order) != list(range(x.ndim)):
        raise ValueError("axes don't match array")
    return x.seen_through(views.Permuted(order))


@in_numpy("swapaxes", on_known=True)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """Return an array with two axes exchanged."""
    x = as_traced(a)
    first, second = axes_of([axis1, axis2], x.ndim)
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return transpose(x, order)


@in_numpy("matrix_transpose", "linalg.matrix_transpose", on_known=True)
def matrix_transpose(x: Any, /) -> Any:
    """Return an array with its last two axes exchanged."""
    return swapaxes(x, -1, -2)


@in_numpy("moveaxis", on_known=True)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Return an array with axes moved to other places."""
    x = as_traced(a)
    sources, places = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


@in_numpy("rollaxis", on_known=True)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """Return an array with an axis rolled back to a place."""
    x = as_traced(a)
    (axis,) = axes_of(axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    return moveaxis(x, axis, start - 1 if axis < start else start)


@in_numpy("squeeze", on_known=True)
def squeeze(a: Any, axis: Any = None) -> Any:
    """Return an array without axes of one element."""
    x = as_traced(a)
    if axis is None and None in x.static_shape:
        raise refuse("np.squeeze(x)", why="needs a shape that is known before the graph runs", fix="name the axis")
    gone = [place for place, size in enumerate(x.static_shape) if size == 1] if axis is None else axes_of(axis, x.ndim)
    if any(x.static_shape[place] not in (1, None) for place in gone):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return x[tuple(0 if place in gone else slice(None) for place in range(x.ndim))] if gone else x[...]


@in_numpy("expand_dims", on_known=True)
def expand_dims(a: Any, axis: Any) -> Any:
    """Return an array with new axes of one element."""
    x = as_traced(a)
    several = axis if isinstance(axis, list | tuple) else [axis]
    places = axes_of(list(several), x.ndim + len(several))
    return x[tuple(None if place in places else slice(None) for place in range(x.ndim + len(places)))]


@in_numpy("flip", on_known=True)
def flip(m: Any, axis: Any = None) -> Any:
    """Return an array with the elements along axes in reverse."""
    x = as_traced(m)
    turned = axes_of(axis, x.ndim)
    return x[tuple(slice(None, None, -1) if place in turned else slice(None) for place in range(x.ndim))]


@in_numpy("fliplr", on_known=True)
def fliplr(m: Any) -> Any:
    """Return an array with its second axis in reverse."""
    return flip(m, 1)


@in_numpy("flipud", on_known=True)
def flipud(m: Any) -> Any:
    """Return an array with its first axis in reverse."""
    return flip(m, 0)


@in_numpy("rot90", on_known=True)
def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """Return an array turned by right angles."""
    x = as_traced(m)
    first, second = axes_of(list(axes), x.ndim)
    turns = int(k) % 4
    if turns == 0:
        return x[...]
    if turns == 2:
        return flip(x, (first, second))
    return swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)


@in_numpy("broadcast_to", on_known=True)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """Return an array repeated along axes."""
    x = as_traced(array)
    sizes = sizes_of(shape)
    if not any(map(is_tensor, sizes)) and None not in x.static_shape:
        if np.broadcast_shapes(x.static_shape, sizes) != sizes:
            raise ValueError(f"operands could not be broadcast together with remapped shapes {x.static_shape} {sizes}")
        return x.seen_through(
            views.ReadOnly(
                "broadcast_to", lambda one: np.broadcast_to(one, sizes), lambda one: tf.broadcast_to(one, sizes)
            )
        )
    return x.seen_through(
        views.ReadOnly("broadcast_to", _never, lambda one: tf.broadcast_to(one, views._packed(sizes)))
    )


def _never(array: Any) -> Any:
    return None


@in_numpy("broadcast_arrays")
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    """Return arrays repeated to one shape."""
    arrays = [as_traced(one) for one in args]
    if any(None in one.static_shape for one in arrays):
        raise refuse("np.broadcast_arrays", why="needs shapes that are known before the graph runs")
    shape = np.broadcast_shapes(*(one.static_shape for one in arrays))
    return tuple(broadcast_to(one, shape) for one in arrays)


def _at_least(rank: int, add: Any) -> Any:
    def function(*arys: Any) -> Any:
        found = [add(as_traced(one)) if as_traced(one).ndim < rank else as_traced(one) for one in arys]
        return found[0] if len(found) == 1 else tuple(found)

    return function


in_numpy("atleast_1d", on_known=True)(_at_least(1, lambda x: reshape(x, (1,))))
in_numpy("atleast_2d", on_known=True)(_at_least(2, lambda x: reshape(x, (1, 1)) if x.ndim == 0 else x[None, :]))
in_numpy("atleast_3d", on_known=True)(
    _at_least(3, lambda x: reshape(x, (1, 1, 1)) if x.ndim == 0 else x[None, :, None] if x.ndim == 1 else x[:, :, None])
)


@in_numpy("real", on_known=True)
def real(val: Any) -> Any:
    """Return the real part; of a real array itself."""
    x = as_traced(val)
    if x.dtype.kind != "c":
        return x
    return _part(x, "real", lambda array: array.real, tf.math.real)


@in_numpy("imag", on_known=True)
def imag(val: Any) -> Any:
    """Return the imaginary part."""
    x = as_traced(val)
    if x.dtype.kind != "c":
        return np.zeros_like(x)
    return _part(x, "imag", lambda array: array.imag, tf.math.imag)


def _part(x: TracedArray, name: str, on_array: Any, on_tensor: Any) -> Any:
    found = x.seen_through(views.PartOfComplex(name, on_array, on_tensor))
    return found.as_scalar() if x.is_scalar else found


@in_numpy("diagonal", on_known=True)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the diagonal of the planes of two axes, as the last axis."""
    x = moveaxis(a, (axis1, axis2), (-2, -1))
    return x.seen_through(
        views.ReadOnly(
            "diagonal",
            lambda array: array.diagonal(offset, -2, -1),
            lambda tensor: np_diagonal(tensor, offset, -2, -1),
        )
    )


in_numpy("iscomplexobj", on_known=True)(lambda x: as_traced(x).dtype.kind == "c")
in_numpy("isrealobj", on_known=True)(lambda x: as_traced(x).dtype.kind != "c")


in_numpy("ndim", on_known=True)(lambda a: as_traced(a).ndim)
in_numpy("shape", on_known=True)(lambda a: as_traced(a).shape)


@in_numpy("size", on_known=True)
def size(a: Any, axis: Any = None) -> Any:
    """Return the number of elements, or of those along an axis."""
    x = as_traced(a)
    return x.size if axis is None else x.shape[axis]


@in_numpy("result_type", on_known=True)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """Return the dtype that all are promoted to."""
    given = [as_traced(one).example if hasattr(one, "static_shape") else one for one in arrays_and_dtypes]
    return np.result_type(*given)


@in_tensors("copy")
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """Return an array of its own."""
    return tf.identity(as_traced(a).tensor)
