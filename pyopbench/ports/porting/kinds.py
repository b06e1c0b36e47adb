"""The kinds of the values of a body with text in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyopbench.model.op import Op
from pyopbench.ports.arrays import STRING, dtype_of
from pyopbench.ports.porting.watched_values import WatchedNumber, WatchedObject

LONGEST_SEEN = 1_000
"""Items of a list that are looked at."""


@dataclass(frozen=True)
class Kind:
    """The kind of a Python value.

    Attributes:
        name: `str`, `bytes`, `int`, `float`, `bool`, `none`, `array`, `list`, `tuple`, `set`, `dict`, `counter` or
            `other`.
        dtype: of an array, `string` for one of text.
        rank: number of axes of an array.
        text: for an array of text, `str` or `bytes`; empty if nothing has been written to it yet.
        item: the kind of all items of a list, tuple or set; None if it is empty or they differ.
        is_empty: was a list always empty when it was observed?
        is_cut: does an array of text cut off what is written to it, because its items have a fixed size?
    """

    name: str
    dtype: str = ""
    rank: int = 0
    text: str = ""
    item: Kind | None = None
    is_empty: bool = False
    is_cut: bool = False

    @property
    def is_text(self) -> bool:
        """Is it one text?"""
        return self.name in ("str", "bytes")

    @property
    def is_sequence(self) -> bool:
        """Is it a list or a tuple?"""
        return self.name in ("list", "tuple")

    @property
    def leaf(self) -> Kind | None:
        """The kind of the items of the innermost lists; for anything but a list, the kind itself."""
        found: Kind | None = self
        while found is not None and found.name in ("list", "tuple", "set"):
            found = found.item
        return found

    @property
    def depth(self) -> int:
        """How many lists are around a leaf; for an array, its number of axes."""
        if self.name in ("list", "tuple", "set"):
            return 1 + (self.item.depth if self.item is not None else 0)
        return self.rank


OTHER_KIND = Kind("other")
NUMBERS = {"int": "int64", "float": "float64", "bool": "bool"}
"""Kinds of Python's numbers, and the dtypes that NumPy gives them."""


def merged(kinds: set[Kind]) -> Kind | None:
    """Return the common kind of several values; an empty list is of the kind of the others. None if they differ."""
    names = {one.name for one in kinds}
    if len(names) > 1:
        return _number_of_several(kinds)
    (name,) = names
    if name in ("list", "tuple", "set"):
        items = {one.item for one in kinds if not one.is_empty}
        if not items:
            return next(iter(kinds))
        if None in items:
            return Kind(name)
        item = merged({one for one in items if one is not None})
        return Kind(name, item=item)
    kinds = {one for one in kinds if one.text or one.dtype != STRING} or kinds
    if len({(one.dtype, one.rank, one.text) for one in kinds}) > 1:
        return None
    return replace(next(iter(kinds)), is_cut=any(one.is_cut for one in kinds))


def _number_of_several(kinds: set[Kind]) -> Kind | None:
    """Return the kind of a Python or NumPy number, which decides its dtype in a graph."""
    if not all(one.name in ("int", "float") or (one.name == "array" and not one.rank) for one in kinds):
        return None
    dtypes = {one.dtype for one in kinds if one.name == "array"}
    if not dtypes:
        return Kind("float")
    (dtype, *others) = dtypes
    is_float = any(one.name == "float" for one in kinds)
    if others or not dtype.startswith(("float",) if is_float else ("float", "int", "uint")):
        return None
    return Kind("array", dtype)


def kind_of(value: Any) -> Kind:
    """Return the kind of a value."""
    if value is None:
        return Kind("none")
    if isinstance(value, WatchedObject):
        return OTHER_KIND
    if isinstance(value, str | bytes):
        return Kind("str" if isinstance(value, str) else "bytes")
    if isinstance(value, np.ndarray | np.generic):
        return _array(np.asarray(value))
    if isinstance(value, bool | int | float):
        number = value.weak if isinstance(value, WatchedNumber) else type(value)
        return Kind(number.__name__)
    if isinstance(value, Counter):
        return Kind("counter", item=_items(list(value)))
    if isinstance(value, dict):
        return Kind("dict")
    if isinstance(value, list | tuple | set | frozenset):
        name = "set" if isinstance(value, set | frozenset) else type(value).__name__
        if name not in ("list", "tuple", "set"):  # a named tuple
            return OTHER_KIND
        return Kind(name, item=_items(value), is_empty=not value)
    return OTHER_KIND


def _items(values: Any) -> Kind | None:
    found = {kind_of(one) for one, _ in zip(values, range(LONGEST_SEEN), strict=False)}
    return merged(found) if found else None


def _array(value: Any) -> Kind:
    if value.dtype.kind in "SU":
        return Kind("array", STRING, value.ndim, "bytes" if value.dtype.kind == "S" else "str", is_cut=True)
    if value.dtype.kind == "O":
        texts = {type(one).__name__ for one in value.ravel()[:LONGEST_SEEN]} or {"bytes"}
        if texts == {"NoneType"}:  # as `np.empty` makes it, to be filled
            return Kind("array", STRING, value.ndim)
        if len(texts - {"NoneType"}) == 1:
            texts -= {"NoneType"}
        if len(texts) == 1 and texts <= {"str", "bytes"}:
            return Kind("array", STRING, value.ndim, texts.pop())
        return OTHER_KIND
    return Kind("array", value.dtype.name, value.ndim)


def dtype_of_kind(kind: Kind | None) -> str:
    """Return the dtype of a tensor of values of a kind; empty if there is no such tensor."""
    if kind is None:
        return ""
    if kind.is_text:
        return STRING
    return kind.dtype if kind.name == "array" else NUMBERS.get(kind.name, "")


def has_text(op: Op, examples: Sequence[Sequence[Any]]) -> bool:
    """Is an input or an output of a body text?"""
    return STRING in op.outputs or any(dtype_of(one) == STRING for example in examples for one in example)
