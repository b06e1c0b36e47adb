"""Values that a part of a body leaves, taken apart into tensors, so that those of two ways can be joined in a graph."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray
from pyopbench.ports.tracing.dtypes import is_tensor
from pyopbench.ports.tracing.grown_list import FROZEN, GrownList
from pyopbench.ports.tracing.storage import Mixed

CONSTANTS = (int, float, bool, complex, str, bytes, type(None), type(Ellipsis))


STACKED = "stacked"
"""The first key of a list whose elements are one tensor; the others say what they are."""


class CannotJoin(Exception):
    """Two ways through a part of a body leave what cannot be one value of a graph."""


@dataclass(frozen=True)
class Const:
    """A Python value that is the same in each run of the graph."""

    value: Any


@dataclass(frozen=True)
class Same:
    """An object that is no array; it can only be joined with itself."""

    value: Any


@dataclass(frozen=True)
class Nest:
    """A list, tuple or dict.

    Attributes:
        kind: its type.
        keys: of a dict.
        parts: what is in it.
        value: the list or dict itself if it was there before the part, None if it was made in it.
        is_shared: does more than one name or place lead to it, so that a copy of it would not do?
    """

    kind: type
    keys: tuple[Any, ...]
    parts: tuple[Any, ...]
    value: Any
    is_shared: bool = False


@dataclass(frozen=True)
class Slot:
    """An array or a number of which the value is a tensor.

    Attributes:
        value: the tensor, or an array of NumPy's.
        shape: sizes of axes, None where they differ.
        kin: arrays that were there before, of which it may be one or show one.
        same: the array itself if it was there before.
        sharing: how many names an array of the part's own has.
        is_shared: may it be the same array as that of another name?
        mixed: the dtypes that it may have in NumPy, if there are several.
    """

    value: Any
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    is_scalar: bool
    weak: type | None
    c_order: bool
    kin: tuple[Any, ...] = ()
    same: Any = None
    sharing: Counter[str] = field(default_factory=Counter, compare=False)
    is_shared: bool = False
    mixed: Mixed = ()

    @property
    def has_other_names(self) -> bool:
        """Would writing to it be seen under another name?"""
        return self.is_shared or self.sharing["names"] > 1

    @property
    def spec(self) -> tuple[Any, ...]:
        """What a round of a loop may depend on: the dtype and the shape, and what may be written to."""
        kin = frozenset(map(id, self.kin))
        return (
            self.dtype,
            self.shape,
            self.is_scalar,
            self.weak,
            self.c_order,
            kin,
            self.has_other_names,
            frozenset(self.mixed),
        )


Tree = Const | Same | Nest | Slot


@dataclass
class Origin:
    """What there was before a part was run.

    Attributes:
        born: the serial number of the first array that the part has made.
        containers: lists and dicts, by identity.
        count: tells how many names and places lead to each list and dict, by identity.
        held: how many names each array of the part's own has, by identity.
    """

    born: int
    containers: Mapping[int, Any]
    count: Callable[[], Mapping[int, int]]
    held: dict[int, Counter[str]] = field(default_factory=dict)

    @functools.cached_property
    def references(self) -> Mapping[int, int]:
        """How many names and places lead to each list and dict."""
        return self.count()


def tree_of(value: Any, origin: Origin) -> Any:
    """Return a value that a name or an element holds, taken apart."""
    if type(value) is TracedArray or is_tensor(value):
        return _slot(value if type(value) is TracedArray else TracedArray(value), origin)
    if type(value) in CONSTANTS or isinstance(value, np.generic):
        return Const(value)
    if type(value) in (list, tuple, dict, GrownList) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return nest_of(value, origin, same=origin.containers.get(id(value)))
    return Same(value)


def nest_of(value: Any, origin: Origin, *, same: Any = None) -> Nest:
    """Return what is in a list, tuple or dict, taken apart; `same` is it if it was there before the part."""
    is_shared = not isinstance(value, tuple) and origin.references.get(id(value), 0) > 1
    if type(value) is GrownList and value.stacked is not None:
        slot = replace(_slot(value.stacked, origin), same=None)
        return Nest(GrownList, (STACKED, value.is_of_scalars, value.weak), (slot,), same, is_shared)
    keys = tuple(value) if isinstance(value, dict) else ()
    parts = tuple(tree_of(one, origin) for one in (value.values() if isinstance(value, dict) else value))
    return Nest(_kind_of(value), keys, parts, same, is_shared)


def _kind_of(value: Any) -> type:
    """Return the type of a list, tuple or dict; of one of another type, which only takes elements, what they are in."""
    if isinstance(value, tuple) or type(value) in (list, dict, GrownList):
        return type(value)
    return dict if isinstance(value, dict) else list


def _slot(array: TracedArray, origin: Origin) -> Slot:
    root = array._root
    kin: tuple[Any, ...] = ()
    sharing: Counter[str] = Counter()
    if not array.is_scalar:
        kin = (root,) if root._serial < origin.born else ()
        sharing = origin.held.setdefault(id(root), sharing)
        sharing["names"] += 1
        kin = (*kin, *(one for one, _ in root._kin))
    return Slot(
        array.value,
        array.dtype,
        array.static_shape,
        array.is_scalar,
        array.weak,
        bool(array.is_in_c_order),
        kin,
        array if array._serial < origin.born else None,
        sharing,
        mixed=root._mixed,
    )


def is_stacked(tree: Any) -> TypeGuard[Nest]:
    """Is a tree that of a list whose elements are one tensor?"""
    return isinstance(tree, Nest) and tree.keys[:1] == (STACKED,)


def holds_shared(tree: Any) -> bool:
    """Is there a list or dict of the part's own in a tree, to which more than one name or place leads?"""
    if not isinstance(tree, Nest) or tree.value is not None:
        return False
    return tree.is_shared or any(map(holds_shared, tree.parts))


def as_slot(tree: Any) -> Slot | None:
    """Return a number or an array as a slot; None for what is neither."""
    if isinstance(tree, Slot):
        return tree
    if not isinstance(tree, Const) or isinstance(tree.value, str | bytes | type(None) | type(Ellipsis)):
        return None
    value = np.asarray(tree.value)
    if value.dtype.kind not in dtypes.KINDS:
        return None
    weak = type(tree.value) if type(tree.value) in (*dtypes.WEAK, bool) else None
    return Slot(value, value.dtype, (), True, weak, True)


def tensors_of(tree: Any) -> list[Any]:
    """Return the tensors of all slots of a tree, in order."""
    if isinstance(tree, Nest):
        return [one for part in tree.parts for one in tensors_of(part)]
    if not isinstance(tree, Slot):
        return []
    return [tf.constant(tree.value) if isinstance(tree.value, np.ndarray) else tf.identity(tree.value)]


def slots_of(tree: Any) -> list[Slot]:
    """Return all slots of a tree, in the order of their tensors."""
    if isinstance(tree, Nest):
        return [one for part in tree.parts for one in slots_of(part)]
    return [tree] if isinstance(tree, Slot) else []


def value_of(tree: Any) -> Any:
    """Return the value that a tree with its tensors stands for."""
    if isinstance(tree, Const | Same):
        return tree.value
    if isinstance(tree, Nest):
        if tree.value is not None:
            return tree.value
        parts = list(map(value_of, tree.parts))
        if is_stacked(tree):
            grown = GrownList()
            grown.hold(parts[0], is_of_scalars=tree.keys[1], weak=tree.keys[2])
            return grown
        if tree.kind is dict:
            return dict(zip(tree.keys, parts, strict=True))
        return tree.kind(*parts) if hasattr(tree.kind, "_fields") else tree.kind(parts)
    if tree.same is not None:
        return tree.same
    found = TracedArray(tree.value, scalar=tree.is_scalar, weak=tree.weak, c_order=tree.c_order or tree.is_scalar)
    found._mixed = tree.mixed
    kin = (*tree.kin, FROZEN) if tree.has_other_names else tree.kin
    found._kin = tuple((root, root._version) for root in kin)
    return found


def alike(one: Any, other: Any) -> bool:
    """Is a round of a loop that begins with one tree the same as one that begins with another?"""
    first, second = slots_of(one), slots_of(other)
    return len(first) == len(second) and all(a.spec == b.spec for a, b in zip(first, second, strict=True))
