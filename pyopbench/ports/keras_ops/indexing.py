"""What NumPy's indexing does, by public functions of `keras.ops` that all of its backends have."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from pyopbench.ports.keras_ops.array import CALLS, KerasArray, as_keras
from pyopbench.ports.keras_ops.lacking import Lacking


def getitem(array: KerasArray, key: Any) -> KerasArray:
    """Return the elements that a key names.

    Args:
        array: `(...)`.
        key: of whole numbers, slices, None and `...`; or with one array of whole numbers, or such arrays alone.

    Raises:
        Lacking: it is a mask, or what arrays of some backend cannot be indexed with.
    """
    parts = _expanded(array, key if isinstance(key, tuple) else (key,))
    places = [place for place, part in enumerate(parts) if _is_array(part)]
    if not places:
        return _plainly(array, parts)
    if len(places) == 1:
        return _along_one(array, parts, places[0])
    if places == list(range(len(parts))):
        return _at_points(array, [as_keras(part) for part in parts])
    raise Lacking("x[i, ..., j]", "indexes with several arrays and something else besides")


def _is_array(part: Any) -> bool:
    return isinstance(part, (KerasArray, np.ndarray, list))


def _expanded(array: KerasArray, key: tuple[Any, ...]) -> list[Any]:
    """Return a key without `...`, an array for each list, and masks refused."""
    parts: list[Any] = []
    used = sum(part is not None and part is not Ellipsis for part in key)
    for part in key:
        if part is Ellipsis:
            parts += [slice(None)] * (array.ndim - used)
            continue
        whole = as_keras(part) if _is_array(part) else part
        if isinstance(whole, KerasArray) and whole.dtype.kind == "b":
            raise Lacking("x[mask]", "has as many elements as there happen to be; np.where keeps the shape")
        parts.append(whole)
    while parts and isinstance(parts[-1], slice) and parts[-1] == slice(None):
        parts.pop()
    return parts


def _plainly(array: KerasArray, parts: list[Any]) -> KerasArray:
    """Return what whole numbers, slices and None pick; slices that run backwards by a flip, which PyTorch needs."""
    if not hasattr(ops, "get_item"):
        raise Lacking("x[...]", "needs keras.ops.get_item, which this Keras has not got")
    axis, flipped, forward = 0, [], []
    for part in parts:
        backward = isinstance(part, slice) and part.step is not None and part.step < 0
        if backward:
            if part != slice(None, None, -1):
                raise Lacking("x[a:b:-s]", "runs backwards, which arrays of PyTorch do not")
            flipped.append(axis)
        forward.append(slice(None) if backward else part)
        axis += part is not None
    tensor = ops.flip(array.tensor, axis=flipped) if flipped else array.tensor
    return KerasArray(ops.get_item(tensor, tuple(forward)))


def _along_one(array: KerasArray, parts: list[Any], place: int) -> KerasArray:
    if any(part is None or not isinstance(part, slice) for part in parts[:place]):
        raise Lacking("x[i, ..., j]", "indexes with an array behind a number")
    axis = place
    taken = KerasArray(ops.take(array.tensor, parts[place].tensor, axis=axis))
    others = [*parts[:place], *[slice(None)] * parts[place].ndim, *parts[place + 1 :]]
    return _plainly(taken, others) if any(part != slice(None) for part in others) else taken


def _at_points(array: KerasArray, indices: list[KerasArray]) -> KerasArray:
    """Return the elements at points `x[i, j]`, out of the leading axes in one."""
    lengths = array.shape[: len(indices)]
    flat: Any = None
    each: list[Any] = list(indices)
    for index, length in zip(each, lengths, strict=True):
        positive = CALLS["where"](index < 0, index + length, index)
        flat = positive if flat is None else flat * length + positive
    rows = ops.reshape(array.tensor, (-1, *array.shape[len(indices) :]))
    return KerasArray(ops.take(rows, flat.tensor, axis=0))


CALLS["getitem"] = getitem
