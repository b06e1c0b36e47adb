"""Keys by which a traced array is indexed, as `indexing` takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyopbench.ports.tracing.indexing import Key


def key_of(key: Any, as_traced: Callable[[Any], Any]) -> Key:
    """Return what is written in brackets as a tuple of integers, slices, None, Ellipsis, arrays and tensors.

    Args:
        key: what is written in brackets.
        as_traced: makes a traced array of an entry.

    Raises:
        IndexError: an array of it is neither of integers nor a mask.
    """
    return tuple(_entry(one, as_traced) for one in (key if isinstance(key, tuple) else (key,)))


def _entry(entry: Any, as_traced: Callable[[Any], Any]) -> Any:
    if isinstance(entry, slice):
        parts = (entry.start, entry.stop, entry.step)
        if any(part is not None and type(part) is not int for part in parts):
            return slice(*(_entry(part, as_traced) for part in parts))
        return entry
    if entry is None or entry is Ellipsis or type(entry) is int:
        return entry
    if type(entry) in (bool, np.bool_):
        return np.asarray(entry)
    array = as_traced(entry)
    if not array.is_known:
        if array.dtype.kind not in "iub":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return array.tensor
    value = np.asarray(array.value)
    if value.size == 0 and isinstance(entry, list):
        value = value.astype(np.int64)
    if value.dtype.kind not in "iub":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return int(value) if value.ndim == 0 and value.dtype.kind in "iu" else value
