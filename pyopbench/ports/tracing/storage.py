"""What a traced array holds: its value, what it is a view of, and how NumPy would have laid it out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing import dtypes, indexing, journal, views
from pyopbench.ports.tracing.tape import current, refuse

JOINED = "x[...] = value"
"""What is refused of arrays that may be one or another."""

ALL_BITS = 63
"""Of an integer of 64 bits, without its sign."""

Mixed = tuple[tuple[np.dtype[Any], type | None], ...]
"""Dtypes that a value may have in NumPy, with the types of Python's numbers; none if it has one."""

SERIALS = itertools.count()
"""Numbers of arrays, in the order in which they are made."""


class Storage:
    """The value of an array, its own or seen in another one.

    Args:
        value: a tensor, or an array of NumPy's that nobody else writes to.
        scalar: is it what NumPy returns as a scalar, which nothing can be written to?
        weak: the type of the Python number that it stands for; None for what has a dtype of its own.
        c_order: is it known that NumPy would have laid it out row by row? That decides what is a view of it.
    """

    def __init__(
        self, value: Any, *, scalar: bool = False, weak: type | None = None, c_order: bool | None = None
    ) -> None:
        assert not isinstance(value, Storage), "a traced array of a traced array"
        self._value = value
        self._scalar = scalar
        self._weak = weak
        self._version = 0
        self._seen = 0
        self._parent: Storage | None = None
        self._lens: Any = None
        self._layout: Any = None
        self._kin: tuple[tuple[Storage, int], ...] = ()  # what it may be the same array as, and their versions
        self._serial = next(SERIALS)
        self._mixed: Mixed = ()
        self._bits = ALL_BITS  # of a Python integer: how many its magnitude has at most
        self.is_outside = False  # of the body, like an array of its module, which a graph cannot write to
        if c_order is None:
            c_order = value.flags.c_contiguous if isinstance(value, np.ndarray) else len(value.shape) < 2
        self._c_order = c_order
        self._dtype = dtypes.check(value.dtype) if isinstance(value, np.ndarray) else dtypes.dtype_of(value)

    @property
    def value(self) -> Any:
        """The tensor, or the array of NumPy's if that is known, with all that was written to it or what it views."""
        root = self._root
        if root._kin and any(one._version != version for one, version in root._kin):
            raise refuse(JOINED, why="writes to what may be the same array as one that is read later", fix=".copy()")
        if self._parent is not None and root._version != self._seen:
            journal.touch(self)
            self._value = self._lens.get(self._parent.value)
            self._seen = root._version
        return self._value

    @property
    def _root(self) -> Storage:
        array = self
        while array._parent is not None:
            array = array._parent
        return array

    @property
    def is_known(self) -> bool:
        """Is the value known without running the graph?"""
        return isinstance(self.value, np.ndarray)

    @property
    def known(self) -> Any:
        """The value as an array of NumPy's, of an eager tensor too; None if only the graph has it."""
        value = self.value
        if isinstance(value, np.ndarray):
            return value
        return value.numpy() if current() is None and hasattr(value, "numpy") else None

    @property
    def tensor(self) -> Any:
        """The value as a tensor."""
        value = self.value
        return tf.constant(value) if isinstance(value, np.ndarray) else value

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return self._dtype

    @property
    def static_shape(self) -> tuple[int | None, ...]:
        """The sizes of the axes, None for those that only the graph knows."""
        return tuple(self._value.shape)  # what is written to a view keeps its shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.static_shape)

    # Writing and views.

    def write(self, value: Any) -> None:
        """Replace all elements by a value of the same shape and dtype, in what the array is a view of too."""
        if self._scalar:
            raise TypeError(f"'{self._dtype.type.__name__}' object does not support item assignment")
        root = self._root
        if root.is_outside:
            raise refuse(
                "x[...] = value", why="writes to an array outside of the function", fix="work on a .copy() of it"
            )
        if root._kin:
            why = "writes to what an `if` or a loop leaves one array or another, depending on values"
            raise refuse(JOINED, why=why, fix="use .copy() first")
        journal.touch(root)
        self._write(value)
        root._version += 1
        array: Storage | None = self
        while array is not None:
            array._seen = root._version
            array = array._parent

    def _write(self, value: Any) -> None:
        if self._parent is not None:
            if isinstance(self._lens, views.Uncertain):
                self._lens.get(None)
            self._parent._write(self._lens.put(self._parent.value, value))
        journal.touch(self)
        self._value = value

    def seen_through(self, lens: Any) -> Any:
        """Return a view of the array; a copy where NumPy would have to copy."""
        layout = self.layout
        value = lens.get(self.value)
        if isinstance(value, np.generic):
            value = np.asarray(value)
        result = type(self)(value)
        known = layout is not None and (not isinstance(lens, views.Picked) or indexing.is_known(lens.key))
        if known:
            result._layout = lens.layout(layout)
            if result._layout is None:
                if isinstance(value, np.ndarray):
                    result._value = value.copy()
                result._c_order = True  # a reshaped copy
                return result
        elif isinstance(lens, views.Reshaped) and not (self._parent is None and self._c_order):
            lens = views.Uncertain("reshape", lens.shape)
        result._parent, result._lens, result._seen = self, lens, self._root._version
        return result

    @property
    def layout(self) -> Any:
        """An array without memory that lies as NumPy's would; None where its shape or its order is not known."""
        is_plain = self._parent is None and self._c_order and None not in self.static_shape
        if self._layout is None and is_plain:
            self._layout = views.blank(self.static_shape, self.dtype)  # type: ignore[arg-type]
        return self._layout

    @property
    def is_in_c_order(self) -> bool:
        """Is it known that NumPy would have laid it out row by row?"""
        if self._parent is None:
            return bool(self._c_order)
        return self.layout is not None and bool(self.layout.flags.c_contiguous)

    @property
    def gives_c_order(self) -> bool:
        """Is it known that NumPy lays out row by row what it makes of it?"""
        if self.ndim < 2 or self.is_in_c_order:
            return True
        if self.layout is None:
            return False
        strides = self.layout.strides
        return min(strides) > 0 and list(strides) == sorted(strides, reverse=True)

    def maybe_view(self, name: str, value: Any) -> Any:
        """Return what NumPy makes a view or a copy of, depending on what is not known: neither may be written to."""
        result = type(self)(value)
        result._parent, result._lens, result._seen = self, views.Uncertain(name, None), self._root._version
        return result


def in_order_of(found: Any, given: Iterable[Storage]) -> Any:
    """Return new arrays, of which NumPy keeps the order of axes of what they were made of."""
    new = [one for one in (found if isinstance(found, tuple) else (found,)) if isinstance(one, Storage)]
    if any(one.ndim > 1 for one in new) and all(one.gives_c_order for one in given):
        for one in new:
            one._c_order = one._c_order or one._parent is None
    return found
