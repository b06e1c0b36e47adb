"""Tensors in which elements are replaced, by NumPy's indexing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing.indexing import (
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
)


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
    return tf.broadcast_to(new, shape if None in wanted else wanted)


def _put_strided(tensor: Any, entries: Sequence[Any], new: Any) -> Any:
    picked = strided(tensor, entries)
    new = fit(new, tf.shape(picked), picked.shape.as_list())
    if all(map(_is_all, entries)):
        return new
    begin, end, stride = zip(*map(_span, entries), strict=True)
    return tf.raw_ops.TensorStridedSliceUpdate(
        input=tensor,
        begin=_packed(begin),
        end=_packed(end),
        strides=_packed([1 if one is None else one for one in stride]),
        value=new,
        begin_mask=_mask_of(one is None for one in begin),
        end_mask=_mask_of(one is None for one in end),
        ellipsis_mask=0,
        new_axis_mask=_mask_of(entry is None for entry in entries),
        shrink_axis_mask=_mask_of(entry is not None and not isinstance(entry, slice) for entry in entries),
    )


def _span(entry: Any) -> tuple[Any, Any, Any]:
    """Return start, stop and step of an entry; of an integer only the start is looked at, and of None nothing."""
    return bounds_of(entry) if isinstance(entry, slice) else (entry, None, None)


def _packed(bounds: Sequence[Any]) -> Any:
    return tf.stack([tf.cast(0 if bound is None else bound, tf.int64) for bound in bounds])


def _mask_of(entries: Iterable[bool]) -> int:
    return sum(1 << place for place, is_so in enumerate(entries) if is_so)


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
    replaced = _last_of(flat, places, new) if repeats else tf.tensor_scatter_nd_update(flat, places[:, None], new)
    return tf.ensure_shape(tf.reshape(replaced, tf.shape(tensor)), shape)


def _last_of(flat: Any, places: Any, new: Any) -> Any:
    """Return a vector in which values were replaced, of several for one place the last, as NumPy does."""
    order = tf.range(tf.size(places, tf.int64))
    last = tf.math.unsorted_segment_max(order, places, tf.size(flat, tf.int64))
    is_new = last >= 0
    safe = tf.concat([new, tf.zeros([1], new.dtype)], 0)  # where there is none, nothing may be gathered from it
    return tf.where(is_new, tf.gather(safe, tf.where(is_new, last, tf.size(places, tf.int64))), flat)
