"""Functions that move elements or show them in another shape. What NumPy makes a view is a view."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from pyopbench.catalogue.traced import views
from pyopbench.catalogue.traced.array import TracedArray, as_traced
from pyopbench.catalogue.traced.reductions import axes_of
from pyopbench.catalogue.traced.registry import in_numpy, in_tensors
from pyopbench.catalogue.traced.tape import refuse
from pyopbench.catalogue.traced.untyped import np


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
    return x.view(views.Reshaped(sizes))


def _filled(x: TracedArray, sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return sizes in which -1 has become the number that it means, where that is known."""
    if any(map(tf.is_tensor, sizes)) or None in x.static_shape:
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
    return reshape(a, (-1,))


@in_numpy("transpose", "permute_dims", on_known=True)
def transpose(a: Any, axes: Any = None) -> Any:
    """Return an array with its axes in another order."""
    x = as_traced(a)
    order = tuple(reversed(range(x.ndim))) if axes is None else tuple(axes_of(list(axes), x.ndim))
    if sorted(order) != list(range(x.ndim)):
        raise ValueError("axes don't match array")
    return x.view(views.Permuted(order))


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
    if not any(map(tf.is_tensor, sizes)) and None not in x.static_shape:
        if np.broadcast_shapes(x.static_shape, sizes) != sizes:
            raise ValueError(f"operands could not be broadcast together with remapped shapes {x.static_shape} {sizes}")
        return x.view(
            views.ReadOnly(
                "broadcast_to", lambda one: np.broadcast_to(one, sizes), lambda one: tf.broadcast_to(one, sizes)
            )
        )
    return x.view(views.ReadOnly("broadcast_to", _never, lambda one: tf.broadcast_to(one, views._packed(sizes))))


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


@in_tensors("copy")
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """Return an array of its own."""
    return tf.identity(as_traced(a).tensor)


@in_tensors("tile")
def tile(A: Any, reps: Any) -> Any:
    """Return an array repeated as a whole."""
    x = as_traced(A)
    sizes = sizes_of(reps)
    rank = max(len(sizes), x.ndim)
    sizes = (1,) * (rank - len(sizes)) + sizes
    spread = (
        tf.reshape(x.tensor, tf.concat([[1] * (rank - x.ndim), tf.shape(x.tensor)], 0)) if rank > x.ndim else x.tensor
    )
    return tf.tile(spread, views._packed(sizes))


@in_tensors("repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Return an array in which each element is repeated."""
    x = as_traced(a)
    tensor = tf.reshape(x.tensor, [-1]) if axis is None or x.ndim == 0 else x.tensor
    (place,) = axes_of(0 if axis is None else axis, tensor.shape.rank)
    times = as_traced(repeats)
    count = int(times.value.item()) if times.is_known and times.value.size == 1 else times.tensor
    if isinstance(count, int):
        index = np.repeat(np.arange(tensor.shape[place]), count) if tensor.shape[place] is not None else None
        if index is not None:
            return tf.gather(tensor, index, axis=place)
    return tf.repeat(tensor, count, axis=place)


@in_tensors("roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Return an array with elements moved around along axes."""
    x = as_traced(a)
    shifts = sizes_of(shift)
    if axis is None:
        flat = tf.reshape(x.tensor, [-1])
        if len(shifts) != 1:
            raise refuse("np.roll(x, (a, b))", fix="name the axes")
        return tf.ensure_shape(tf.reshape(_rolled(flat, shifts[0], 0), tf.shape(x.tensor)), x.tensor.shape)
    axes = axes_of(axis, x.ndim)
    tensor = x.tensor
    pairs = np.broadcast(np.arange(len(shifts)), np.arange(len(axes)))
    for place, which in pairs:
        tensor = _rolled(tensor, shifts[place], axes[which])
    return tensor


def _rolled(tensor: Any, shift: Any, axis: int) -> Any:
    if 0 in tensor.shape:
        return tensor
    return tf.roll(tensor, shift, axis)


@in_numpy("split", on_known=True)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Return equal parts of an array along an axis, or parts between places."""
    x = as_traced(ary)
    (place,) = axes_of(axis, x.ndim)
    size = x.static_shape[place]
    if np.ndim(indices_or_sections) == 0 and (size is None or size % int(indices_or_sections)):
        raise ValueError("array split does not result in an equal division")
    return array_split(x, indices_or_sections, place)


@in_numpy("array_split", on_known=True)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Return parts of an array along an axis, of as equal a length as there are."""
    x = as_traced(ary)
    (place,) = axes_of(axis, x.ndim)
    size = x.static_shape[place]
    if np.ndim(indices_or_sections) == 0:
        if size is None:
            raise refuse("np.array_split", why="needs a length that is known before the graph runs")
        each, more = divmod(size, int(indices_or_sections))
        lengths = [each + 1] * more + [each] * (int(indices_or_sections) - more)
        ends = [int(end) for end in np.cumsum([0, *lengths])]
    else:
        ends = [0, *map(int, indices_or_sections), sys.maxsize if size is None else size]
    before = (slice(None),) * place
    return [x[(*before, slice(begin, end))] for begin, end in itertools.pairwise(ends)]


in_numpy("vsplit", on_known=True)(lambda ary, indices_or_sections: split(ary, indices_or_sections, 0))
in_numpy("hsplit", on_known=True)(
    lambda ary, indices_or_sections: split(ary, indices_or_sections, 0 if as_traced(ary).ndim == 1 else 1)
)
in_numpy("dsplit", on_known=True)(lambda ary, indices_or_sections: split(ary, indices_or_sections, 2))
in_numpy("unstack", on_known=True)(lambda x, axis=0: tuple(moveaxis(x, axis, 0)))


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
    found = x.view(views.ReadOnly(name, on_array, on_tensor))
    return found.as_scalar() if x.is_scalar else found


@in_numpy("diagonal", on_known=True)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return the diagonal of the planes of two axes, as the last axis."""
    x = moveaxis(a, (axis1, axis2), (-2, -1))
    return x.view(
        views.ReadOnly(
            "diagonal",
            lambda array: array.diagonal(offset, -2, -1),
            lambda tensor: tf.linalg.diag_part(tensor, k=offset),
        )
    )
