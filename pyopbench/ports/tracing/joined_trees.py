"""Two trees of what ways leave, as one whose slots take the tensors of either."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.grown_list import GrownList, cast_stack
from pyopbench.ports.tracing.state_tree import (
    STACKED,
    CannotJoin,
    Const,
    Nest,
    Same,
    Slot,
    as_slot,
    is_stacked,
    slots_of,
)
from pyopbench.ports.tracing.storage import Mixed


def join(one: Any, other: Any) -> Any:
    """Return the tree of what is either of two.

    Raises:
        CannotJoin: they have no dtype, no number of axes or no structure in common.
    """
    if isinstance(one, Const) and isinstance(other, Const) and _are_equal(one.value, other.value):
        return one
    if isinstance(one, Same) and isinstance(other, Same) and one.value is other.value:
        return one
    if isinstance(one, Nest) and isinstance(other, Nest):
        return _joined_nests(one, other)
    first, second = as_slot(one), as_slot(other)
    if first is None or second is None:
        raise CannotJoin(f"{described(one)} or {described(other)}")
    if first.same is not None and first.same is second.same:
        return first
    return _joined_slots(first, second)


def _are_equal(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if one == 0 and isinstance(one, float | complex | np.generic) and repr(one) != repr(other):  # 0.0 and -0.0
        return False
    return bool(one == other or (one != one and other != other))


def _joined_nests(one: Nest, other: Nest) -> Nest:
    if one.value is not None and one.value is other.value:
        return replace(one, parts=())
    if one.is_shared or other.is_shared:
        raise CannotJoin(f"{described(one)}, under two names, or {described(other)}")
    alike = (one.kind, one.keys, len(one.parts)) == (other.kind, other.keys, len(other.parts))
    if not alike and one.kind is other.kind is GrownList:
        return _grown(one, other)
    if not alike:
        raise CannotJoin(f"{described(one)} or {described(other)}")
    return Nest(one.kind, one.keys, tuple(map(join, one.parts, other.parts)), None)


def _grown(one: Nest, other: Nest) -> Nest:
    """Return two lists of unequal length as one whose elements are a tensor.

    Raises:
        CannotJoin: the elements are not numbers or arrays of one dtype and number of axes.
    """
    items = [item for side in (one, other) for item in _elements(side)]
    joined = None
    for item in items:
        joined = item if joined is None else _joined_slots(joined, item)
    if joined is None:
        raise CannotJoin("empty lists")
    kin = {id(root): root for item in items for root in item.kin}
    stacked = replace(
        joined,
        value=None,
        shape=(None, *joined.shape),
        is_scalar=False,
        weak=None,
        kin=tuple(kin.values()),
        same=None,
        sharing=Counter(),
    )
    return Nest(GrownList, (STACKED, joined.is_scalar, joined.weak), (stacked,), None)


def _elements(nest: Nest) -> list[Slot]:
    if is_stacked(nest):
        (slot,), (_, is_of_scalars, weak) = nest.parts, nest.keys
        return [replace(slot, shape=slot.shape[1:], is_scalar=is_of_scalars, weak=weak)]
    found = [as_slot(part) for part in nest.parts]
    if None in found:
        raise CannotJoin("lists of what is no array")
    return found  # type: ignore[return-value]


def _joined_slots(one: Slot, other: Slot) -> Slot:
    mixed = tuple(dict.fromkeys((*_dtypes_of(one), *_dtypes_of(other))))
    if one.dtype != other.dtype or one.weak is not other.weak:
        one, other = _of_one_dtype(one, other), _of_one_dtype(other, one)
    kinds = [(slot.dtype, slot.weak, slot.is_scalar, len(slot.shape)) for slot in (one, other)]
    if kinds[0] != kinds[1]:
        raise CannotJoin(f"{described(one)} or {described(other)}")
    shape = tuple(a if a == b else None for a, b in zip(one.shape, other.shape, strict=True))
    kin = {id(root): root for root in (*one.kin, *other.kin)}
    return Slot(
        None,
        one.dtype,
        shape,
        one.is_scalar,
        one.weak,
        one.c_order and other.c_order,
        tuple(kin.values()),
        is_shared=one.has_other_names or other.has_other_names,
        mixed=mixed if len(mixed) > 1 else (),
    )


def _dtypes_of(slot: Slot) -> Mixed:
    return slot.mixed or ((slot.dtype, slot.weak),)


def _of_one_dtype(one: Slot, other: Slot) -> Slot:
    """Return a slot of the dtype of another where that holds its value: only Python's numbers give way.

    A number that is known takes any dtype that has it, because a sum that begins at 0 is a float; one that is not known
    becomes one of NumPy's of the same dtype, which promotes arrays of smaller ones where Python's would not.
    """
    if one.weak is None or one.shape != ():
        return one
    if isinstance(one.value, np.ndarray) and other.dtype.kind in "iufc" and one.dtype.kind in "if":
        with np.errstate(all="ignore"):
            is_held = one.value.astype(other.dtype) == one.value
        is_number = one.dtype.kind == "i" or other.dtype.kind != "i"
        return replace(one, dtype=other.dtype, weak=other.weak) if is_held and is_number else one
    if one.dtype == other.dtype and other.weak is None:
        return replace(one, weak=None)
    return one


def described(tree: Any) -> str:
    """Return what a tree is, for a reason why it cannot be joined."""
    if isinstance(tree, Slot):
        return f"{tree.dtype} {tree.shape}"
    if isinstance(tree, Nest):
        return f"a {tree.kind.__name__} of {len(tree.parts)}"
    return repr(tree.value)[:40]


def fitted(joined: Any, tree: Any, tensors: Iterator[Any]) -> list[Any]:
    """Return the tensors of a joined tree.

    Args:
        joined: what `join` returned.
        tree: one of the two that it was joined of.
        tensors: of that one, as of `tensors_of`.
    """
    if not isinstance(joined, Nest | Slot):  # the same on both ways, or a name that only one of them binds
        return []
    if isinstance(joined, Nest) and joined.value is not None:  # itself on both ways
        for _ in slots_of(tree):
            next(tensors)
        return []
    if isinstance(joined, Nest) and is_stacked(joined) and not is_stacked(tree):
        (slot,) = joined.parts
        found = [next(tensors) if isinstance(part, Slot) else tf.constant(part.value) for part in tree.parts]
        return [cast_stack(found, slot.shape[1:], slot.dtype)]
    if isinstance(joined, Nest):
        return [one for a, b in zip(joined.parts, tree.parts, strict=True) for one in fitted(a, b, tensors)]
    tensor = next(tensors) if isinstance(tree, Slot) else tf.constant(np.asarray(tree.value))
    return [tf.identity(dtypes.cast(tensor, joined.dtype))]


def filled(joined: Any, tensors: Iterator[Any]) -> Any:
    """Return a joined tree with its tensors in order."""
    if isinstance(joined, Nest):
        return replace(joined, parts=tuple(filled(one, tensors) for one in joined.parts))
    if not isinstance(joined, Slot):
        return joined
    return replace(joined, value=tf.ensure_shape(next(tensors), joined.shape))
