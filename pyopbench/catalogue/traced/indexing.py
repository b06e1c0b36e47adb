"""NumPy's indexing of tensors: elements picked, and tensors in which elements are replaced.

A key is a tuple of integers, slices, None, Ellipsis, arrays and tensors; bounds of slices may be tensors without axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.catalogue.traced.tape import refuse

Key = tuple[Any, ...]


def is_array(entry: Any) -> bool:
    """Is an entry of a key an array of indices or a mask?"""
    return (isinstance(entry, np.ndarray) and (entry.ndim > 0 or entry.dtype == bool)) or (
        tf.is_tensor(entry) and (entry.shape.rank != 0 or entry.dtype == tf.bool)
    )


def is_basic(key: Key) -> bool:
    """Does a key pick by integers and slices alone, so that NumPy gives a view?"""
    return not any(map(is_array, key))


def is_known(key: Key) -> bool:
    """Is a key known without running the graph?"""
    parts = [part for entry in key for part in (_bounds(entry) if isinstance(entry, slice) else (entry,))]
    return not any(map(tf.is_tensor, parts))


def _bounds(entry: slice) -> tuple[Any, Any, Any]:
    return entry.start, entry.stop, entry.step


def _width(entry: Any) -> int:
    """Return how many axes an entry consumes."""
    if entry is None or entry is Ellipsis:
        return 0
    is_mask = is_array(entry) and _is_bool(entry)
    return len(entry.shape) if is_mask else 1


def _is_bool(entry: Any) -> bool:
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
        return _strided(tensor, entries)
    apart = _are_apart(key)
    return _gathered(tensor, _without_masks(tensor, entries), apart=apart)


def _strided(tensor: Any, entries: Sequence[Any]) -> Any:
    _check_bounds(tensor, entries)
    wide = tuple(_wide(entry) for entry in entries)
    return tensor[wide] if wide else tensor


def _wide(entry: Any) -> Any:
    """Return an entry whose tensors are int64, because TensorFlow packs bounds of all axes into one tensor."""
    if isinstance(entry, slice):
        return slice(*map(_wide, _bounds(entry)))
    return tf.cast(entry, tf.int64) if tf.is_tensor(entry) else entry


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
        if is_array(entry) and _is_bool(entry):
            if len(entry.shape) == 0:
                raise refuse("x[True]", why="is an index without axes")
            _check_mask(tensor, entry, axis)
            found += _nonzero(entry)
        else:
            found.append(entry)
        axis += _width(entry)
    return found


def _check_mask(tensor: Any, mask: Any, axis: int) -> None:
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
    tensor = _strided(tensor, [slice(None) if choose else entry for entry, choose in zip(entries, chosen, strict=True)])
    axes = [axis for axis, choose in enumerate(chosen) if choose]
    others = [axis for axis, choose in enumerate(chosen) if not choose]
    size = tf.shape(tensor, tf.int64)
    indices = [_counted_from_start(entries[axis], tensor, size, axis) for axis in axes]
    before = 0 if apart else sum(axis < axes[0] for axis in others)
    if len(axes) == 1 and not apart:
        return tf.gather(tensor, indices[0], axis=axes[0])
    if axes != list(range(len(axes))):
        tensor = tf.transpose(tensor, [*axes, *others])
    picked = tf.gather_nd(tensor, tf.stack(_broadcast(indices), axis=-1))
    rank = picked.shape.rank - len(others)
    if not before:
        return picked
    order = [*range(rank, rank + before), *range(rank), *range(rank + before, rank + len(others))]
    return tf.transpose(picked, order)


def _broadcast(tensors: Sequence[Any]) -> list[Any]:
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


def _counted_from_start(index: Any, tensor: Any, size: Any, axis: int) -> Any:
    """Return indices as a tensor in which none is negative."""
    static = tensor.shape[axis]
    if not tf.is_tensor(index):
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


def put(tensor: Any, key: Key, new: Any) -> Any:
    """Return a tensor in which `tensor[key] = new` was done.

    Args:
        tensor: of any shape.
        key: what to replace.
        new: a tensor of the same dtype that can be broadcast to what the key picks.
    """
    entries = complete(key, tensor.shape.rank)
    if is_basic(entries):
        return _put_strided(tensor, entries, new)
    mask = entries[0]
    if new.shape.rank == 0 and is_array(mask) and _is_bool(mask) and all(_is_all(one) for one in entries[1:]):
        _check_mask(tensor, mask, 0)
        mask = tf.convert_to_tensor(mask)
        over = tf.reshape(mask, tf.concat([tf.shape(mask), [1] * (tensor.shape.rank - mask.shape.rank)], 0))
        return tf.where(over, new, tensor)
    return _put_anywhere(tensor, key, new)


def _is_all(entry: Any) -> bool:
    return isinstance(entry, slice) and _bounds(entry) == (None, None, None)


def fit(new: Any, shape: Any, static: Sequence[int | None]) -> Any:
    """Return values broadcast to a shape; more axes than that are all right where they have one element."""
    extra = new.shape.rank - len(static)
    if extra > 0:
        new = tf.squeeze(new, axis=list(range(extra)))
    if new.shape.is_fully_defined() and tuple(new.shape) == tuple(static):
        return new
    wanted: Any = tuple(static)
    if None not in wanted and new.shape.is_fully_defined():
        try:
            found = np.broadcast_shapes(new.shape.as_list(), wanted)
        except ValueError:
            found = None
        if found != tuple(static):
            raise ValueError(
                f"could not broadcast input array from shape {tuple(new.shape)} into shape {tuple(static)}"
            )
    return tf.broadcast_to(new, shape)


def _put_strided(tensor: Any, entries: Sequence[Any], new: Any) -> Any:
    picked = _strided(tensor, entries)
    new = fit(new, tf.shape(picked), picked.shape.as_list())
    if all(map(_is_all, entries)):
        return new
    axes = [entry for entry in entries if entry is not None]
    kept = [_as_slice(entry, tensor, axis) for axis, entry in enumerate(axes)]
    whole = tensor[tuple(kept)]
    begin, end, stride = zip(*map(_bounds, kept), strict=True)
    return tf.raw_ops.TensorStridedSliceUpdate(
        input=tensor,
        begin=_packed(begin),
        end=_packed(end),
        strides=_packed([1 if one is None else one for one in stride]),
        value=tf.reshape(new, tf.shape(whole)),
        begin_mask=_mask_of(begin),
        end_mask=_mask_of(end),
        ellipsis_mask=0,
        new_axis_mask=0,
        shrink_axis_mask=0,
    )


def _packed(bounds: Sequence[Any]) -> Any:
    return tf.stack([tf.cast(0 if bound is None else bound, tf.int64) for bound in bounds])


def _mask_of(bounds: Sequence[Any]) -> int:
    return sum(1 << place for place, bound in enumerate(bounds) if bound is None)


def _as_slice(entry: Any, tensor: Any, axis: int) -> Any:
    """Return an entry as a slice, an integer as one of one element."""
    if isinstance(entry, slice):
        return _wide(entry)
    if tf.is_tensor(entry):
        size = tf.shape(tensor, tf.int64)[axis]
        start = tf.cast(entry, tf.int64)
        start = tf.where(start < 0, start + size, start)
        return slice(start, start + 1)
    return slice(entry, entry + 1 or None)


def _put_anywhere(tensor: Any, key: Key, new: Any) -> Any:
    shape = tensor.shape
    known = shape.is_fully_defined() and is_known(key)
    if known:
        sizes = shape.as_list()
        iota: Any = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)[key]
        places = tf.constant(iota)
        repeats = np.unique(iota).size < iota.size
    else:
        count = tf.size(tensor, tf.int64)
        places = get(tf.reshape(tf.range(count), tf.shape(tensor)), key)
        repeats = any(is_array(entry) and not _is_bool(entry) for entry in key)
    flat = tf.reshape(tensor, [-1])
    if new.shape.rank == 0:
        repeats = False
    new = tf.reshape(fit(new, tf.shape(places), places.shape.as_list()), [-1])
    places = tf.reshape(places, [-1])
    replaced = _last_of(flat, places, new) if repeats else tf.tensor_scatter_nd_update(flat, places[:, None], new)
    return tf.ensure_shape(tf.reshape(replaced, tf.shape(tensor)), shape)


def _last_of(flat: Any, places: Any, new: Any) -> Any:
    """Return a vector in which values were replaced, of several for one place the last, as NumPy does."""
    order = tf.range(tf.size(places, tf.int64))
    last = tf.math.unsorted_segment_max(order, places, tf.size(flat, tf.int64))
    is_new = last >= 0
    safe = tf.concat([new, tf.zeros([1], new.dtype)], 0)  # where there is none, nothing may be gathered from it
    return tf.where(is_new, tf.gather(safe, tf.where(is_new, last, tf.size(places, tf.int64))), flat)
