"""NumPy's indexing of tensors: elements picked, and tensors in which elements are replaced.

A key is a tuple of integers, slices, None, Ellipsis, arrays and tensors; bounds of slices may be tensors without axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing.dtypes import is_tensor
from pyopbench.ports.tracing.tape import refuse

Key = tuple[Any, ...]


def is_array(entry: Any) -> bool:
    """Is an entry of a key an array of indices or a mask?"""
    return (isinstance(entry, np.ndarray) and (entry.ndim > 0 or entry.dtype == bool)) or (
        is_tensor(entry) and (entry.shape.rank != 0 or entry.dtype == tf.bool)
    )


def is_basic(key: Key) -> bool:
    """Does a key pick by integers and slices alone, so that NumPy gives a view?"""
    return not any(map(is_array, key))


def is_known(key: Key) -> bool:
    """Is a key known without running the graph?"""
    parts = [part for entry in key for part in (bounds_of(entry) if isinstance(entry, slice) else (entry,))]
    return not any(map(is_tensor, parts))


def bounds_of(entry: slice) -> tuple[Any, Any, Any]:
    """Return start, stop and step of a slice."""
    return entry.start, entry.stop, entry.step


def _width(entry: Any) -> int:
    """Return how many axes an entry consumes."""
    if entry is None or entry is Ellipsis:
        return 0
    is_mask = is_array(entry) and is_bool(entry)
    return len(entry.shape) if is_mask else 1


def is_bool(entry: Any) -> bool:
    """Is an array or a tensor one of truth values?"""
    return bool(entry.dtype in (tf.bool, np.dtype(bool)))


def complete(key: Key, rank: int) -> Key:
    """Return a key in which Ellipsis is spelled out, which is a slice of everything for each axis that is not named."""
    used = sum(map(_width, key))
    if used > rank:
        raise IndexError(f"too many indices for array: array is {rank}-dimensional, but {used} were indexed")
    places = [place for place, entry in enumerate(key) if entry is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    place = places[0] if places else len(key)
    return (*key[:place], *[slice(None)] * (rank - used), *key[place + 1 :])


def get(tensor: Any, key: Key) -> Any:
    """Return `tensor[key]` by NumPy's rules."""
    rank = tensor.shape.rank
    entries = complete(key, rank)
    if is_basic(entries):
        return strided(tensor, entries)
    apart = _are_apart(key)
    return _gathered(tensor, _without_masks(tensor, entries), apart=apart)


def strided(tensor: Any, entries: Sequence[Any]) -> Any:
    """Return what integers, slices and None pick of a tensor."""
    _check_bounds(tensor, entries)
    wide = tuple(widened(entry) for entry in entries)
    found = tensor[wide] if wide else tensor
    if found.shape.rank is None:  # a step that only the graph knows
        rank = sum(entry is None or isinstance(entry, slice) for entry in entries)
        return tf.ensure_shape(found, [None] * rank)
    if not is_known(tuple(entries)):  # of which TensorFlow tells no size
        found.set_shape(_sizes_of(tensor, entries))
    return found


def _sizes_of(tensor: Any, entries: Sequence[Any]) -> list[int | None]:
    """Return how many elements slices and None pick, as far as that is known without running the graph."""
    sizes: list[int | None] = []
    axis = 0
    for entry in entries:
        if entry is None:
            sizes.append(1)
        elif isinstance(entry, slice):
            size = tensor.shape[axis]
            sizes.append(len(range(*entry.indices(size))) if size is not None and is_known((entry,)) else None)
        axis += entry is not None
    return sizes


def widened(entry: Any) -> Any:
    """Return an entry whose tensors are int64, because TensorFlow packs bounds of all axes into one tensor."""
    if isinstance(entry, slice):
        return slice(*map(widened, bounds_of(entry)))
    return tf.cast(entry, tf.int64) if is_tensor(entry) else entry


def _check_bounds(tensor: Any, entries: Sequence[Any]) -> None:
    axis = 0
    for entry in entries:
        size = tensor.shape[axis] if entry is not None else None
        if isinstance(entry, int) and size is not None and not -size <= entry < size:
            raise IndexError(f"index {entry} is out of bounds for axis {axis} with size {size}")
        axis += entry is not None


def _are_apart(key: Key) -> bool:
    """Does a slice, None or Ellipsis stand between arrays of a key? What they pick becomes the first axes then."""
    kinds = [entry is None or entry is Ellipsis or isinstance(entry, slice) for entry in key]
    inner = [place for place, is_slice in enumerate(kinds) if not is_slice]
    return any(kinds[inner[0] : inner[-1]])


def _without_masks(tensor: Any, entries: Sequence[Any]) -> list[Any]:
    """Return entries in which each mask has become the indices of what is true."""
    found: list[Any] = []
    axis = 0
    for entry in entries:
        if is_array(entry) and is_bool(entry):
            if len(entry.shape) == 0:
                raise refuse("x[True]", why="is an index without axes")
            check_mask(tensor, entry, axis)
            found += _nonzero(entry)
        else:
            found.append(entry)
        axis += _width(entry)
    return found


def check_mask(tensor: Any, mask: Any, axis: int) -> None:
    """Raise IndexError where a mask has another size than the axes that it is for."""
    for place, size in enumerate(mask.shape):
        expected = tensor.shape[axis + place]
        if size is not None and expected is not None and size != expected:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + place}; size of axis is {expected} "
                f"but size of corresponding boolean axis is {size}"
            )


def _nonzero(mask: Any) -> list[Any]:
    if isinstance(mask, np.ndarray):
        return list(np.nonzero(mask))
    return list(tf.unstack(tf.where(mask), num=mask.shape.rank, axis=1))


def _gathered(tensor: Any, entries: Sequence[Any], *, apart: bool) -> Any:
    """Return what slices and arrays pick: slices first, then arrays, of which integers are some here."""
    chosen = [not (entry is None or isinstance(entry, slice)) for entry in entries]
    tensor = strided(tensor, [slice(None) if choose else entry for entry, choose in zip(entries, chosen, strict=True)])
    axes = [axis for axis, choose in enumerate(chosen) if choose]
    others = [axis for axis, choose in enumerate(chosen) if not choose]
    size = tf.shape(tensor, tf.int64)
    indices = [counted_from_start(entries[axis], tensor, size, axis) for axis in axes]
    before = 0 if apart else sum(axis < axes[0] for axis in others)
    if len(axes) == 1 and not apart:
        return tf.gather(tensor, indices[0], axis=axes[0])
    if axes != list(range(len(axes))):
        tensor = tf.transpose(tensor, [*axes, *others])
    picked = tf.gather_nd(tensor, tf.stack(broadcast(indices), axis=-1))
    rank = picked.shape.rank - len(others)
    if not before:
        return picked
    order = [*range(rank, rank + before), *range(rank), *range(rank + before, rank + len(others))]
    return tf.transpose(picked, order)


def broadcast(tensors: Sequence[Any]) -> list[Any]:
    """Return tensors of one shape, of shapes that can be broadcast to one another."""
    if len({tuple(one.shape) for one in tensors}) == 1 and all(one.shape.is_fully_defined() for one in tensors):
        return list(tensors)
    shape = tf.shape(tensors[0])
    for one in tensors[1:]:
        shape = tf.broadcast_dynamic_shape(shape, tf.shape(one))
    static = tensors[0].shape
    for one in tensors[1:]:
        static = tf.broadcast_static_shape(static, one.shape)
    spread = [tf.broadcast_to(one, shape) for one in tensors]
    return [tf.ensure_shape(one, static) for one in spread]


def counted_from_start(index: Any, tensor: Any, size: Any, axis: int) -> Any:
    """Return indices as a tensor in which none is negative."""
    static = tensor.shape[axis]
    if not is_tensor(index):
        array = np.asarray(index, np.int64)
        if static is not None:
            if ((array < -static) | (array >= static)).any():
                raise IndexError(f"index {array.ravel()} is out of bounds for axis {axis} with size {static}")
            return tf.constant(np.where(array < 0, array + static, array))
        index = tf.constant(array)
    if not (index.dtype.is_integer):
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if index.dtype.is_unsigned:
        return tf.cast(index, tf.int64)
    index = tf.cast(index, tf.int64)
    return tf.where(index < 0, index + size[axis], index)
