"""Tensors in which elements are replaced, by NumPy's indexing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.traced.dtypes import is_tensor
from pyopbench.ports.traced.indexing import (
    Key,
    bounds_of,
    check_mask,
    complete,
    get,
    is_array,
    is_basic,
    is_bool,
    is_known,
    strided,
    widened,
)
from pyopbench.ports.traced.of_batch import is_of_batch


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
    if new.shape.rank == 0 and is_array(mask) and is_bool(mask) and all(_is_all(one) for one in entries[1:]):
        check_mask(tensor, mask, 0)
        mask = tf.convert_to_tensor(mask)
        over = tf.reshape(mask, tf.concat([tf.shape(mask), [1] * (tensor.shape.rank - mask.shape.rank)], 0))
        return tf.where(over, new, tensor)
    return _put_anywhere(tensor, key, new)


def _is_all(entry: Any) -> bool:
    return isinstance(entry, slice) and bounds_of(entry) == (None, None, None)


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
    if is_of_batch():
        return _put_anywhere(tensor, tuple(entries), new)
    picked = strided(tensor, entries)
    new = fit(new, tf.shape(picked), picked.shape.as_list())
    if all(map(_is_all, entries)):
        return new
    axes = [entry for entry in entries if entry is not None]
    kept = [_as_slice(entry, tensor, axis) for axis, entry in enumerate(axes)]
    whole = tensor[tuple(kept)]
    begin, end, stride = zip(*map(bounds_of, kept), strict=True)
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
        return widened(entry)
    if is_tensor(entry):
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
        repeats = any(is_array(entry) and not is_bool(entry) for entry in key)
    flat = tf.reshape(tensor, [-1])
    if new.shape.rank == 0:
        repeats = False
    new = tf.reshape(fit(new, tf.shape(places), places.shape.as_list()), [-1])
    places = tf.reshape(places, [-1])
    if is_of_batch():
        places = tf.cast(places, tf.int32)  # which tf.vectorized_map adds numbers of examples to
    replaced = _last_of(flat, places, new) if repeats else tf.tensor_scatter_nd_update(flat, places[:, None], new)
    return tf.ensure_shape(tf.reshape(replaced, tf.shape(tensor)), shape)


def _last_of(flat: Any, places: Any, new: Any) -> Any:
    """Return a vector in which values were replaced, of several for one place the last, as NumPy does."""
    order = tf.range(tf.size(places, tf.int64))
    last = tf.math.unsorted_segment_max(order, places, tf.size(flat, tf.int64))
    is_new = last >= 0
    safe = tf.concat([new, tf.zeros([1], new.dtype)], 0)  # where there is none, nothing may be gathered from it
    return tf.where(is_new, tf.gather(safe, tf.where(is_new, last, tf.size(places, tf.int64))), flat)
