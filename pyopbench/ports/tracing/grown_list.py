"""Lists that a body appends to: once how often is a value of the graph, their elements are one tensor."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray, as_traced
from pyopbench.ports.tracing.refusal import going_over
from pyopbench.ports.tracing.tape import refuse, step


class GrownList(list[Any]):
    """A list of Python's until its length is a value of the graph.

    Attributes:
        stacked: its elements behind one another, `(n, ...)`; None while it is a list like any other.
        is_of_scalars: are they numbers?
        weak: the type of Python numbers that they are.
    """

    stacked: TracedArray | None = None
    is_of_scalars = False
    weak: type | None = None

    def hold(self, stacked: TracedArray, *, is_of_scalars: bool, weak: type | None) -> None:
        """Take elements of which the number is a value of the graph."""
        super().clear()
        super().append(_Refusing())  # so that nobody takes it for an empty list
        self.stacked, self.is_of_scalars, self.weak = stacked, is_of_scalars, weak

    def become(self, other: list[Any]) -> None:
        """Hold what another list does."""
        super().clear()
        super().extend(list.copy(other))
        self.stacked = getattr(other, "stacked", None)
        self.is_of_scalars, self.weak = getattr(other, "is_of_scalars", False), getattr(other, "weak", None)

    def copy(self) -> GrownList:
        """Return a list of its own of the same elements."""
        found = GrownList()
        found.become(self)
        return found

    def append(self, item: Any) -> None:
        """Add an element, of the same dtype and number of axes as the others where those are one tensor."""
        if self.stacked is None:
            super().append(item)
            return
        new = as_traced(item)
        one = self.stacked
        if (new.dtype, new.ndim + 1, new.is_scalar, new.weak) != (one.dtype, one.ndim, self.is_of_scalars, self.weak):
            raise refuse(
                "list.append",
                why=f"adds {new.dtype} {new.static_shape} to a list of {one.dtype} {one.static_shape[1:]}",
            )
        value, last = one.value, new.value
        kin = (*one._kin, *(() if new.is_scalar else ((new._root, new._root._version), *new._root._kin)))
        self.stacked = TracedArray(step("list.append", lambda: appended(value, tf.convert_to_tensor(last))))
        self.stacked._kin = kin

    def array(self) -> TracedArray:
        """Return the elements as one array."""
        assert self.stacked is not None
        found = TracedArray(self.stacked.value, c_order=True)
        if self.is_of_scalars:
            return found
        value = found.value
        # NumPy makes an array of one axis of an empty list.
        return TracedArray(step("array", lambda: _not_empty(value)), c_order=True)

    def length(self) -> Any:
        """Return how many elements there are."""
        return builtins.len(self) if self.stacked is None else self.stacked.shape[0]

    def __bool__(self) -> bool:
        return list.__len__(self) > 0 if self.stacked is None else bool(self.length() > 0)

    def __getitem__(self, key: Any) -> Any:
        if self.stacked is None:
            return super().__getitem__(key)
        found = self.stacked[key]
        if isinstance(key, slice):
            sliced = GrownList()
            sliced.hold(found.copy(), is_of_scalars=self.is_of_scalars, weak=self.weak)
            return sliced
        if self.is_of_scalars:
            return TracedArray(found.value, scalar=True, weak=self.weak)
        found = found.copy()
        found._kin = ((FROZEN, FROZEN._version),)
        return found


FROZEN = TracedArray(np.zeros(()))
"""Kin of arrays that are never to be written to."""


class _Refusing:
    """What stands in the memory of a list whose elements are a tensor."""


def _refused(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    def method(self: GrownList, *arguments: Any, **options: Any) -> Any:
        if self.stacked is not None:
            _refuse(f"list.{name}")
        return plain(self, *arguments, **options)

    return method


def _refuse(name: str) -> NoReturn:
    raise refuse(
        going_over("list") if name == "list.__iter__" else name,
        why="of a list that is as long as a value says",
        fix="np.array(list)",
    )


for _name in (
    *("__len__", "__iter__", "__contains__", "__reversed__", "__add__", "__iadd__", "__mul__", "__rmul__", "__imul__"),
    *("__setitem__", "__delitem__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "extend", "insert"),
    *("pop", "remove", "index", "count", "sort", "reverse"),
):
    setattr(GrownList, _name, _refused(_name))


def _radd(self: GrownList, other: Any) -> Any:
    if self.stacked is not None:
        _refuse("list + list")
    return [*other, *self] if isinstance(other, list) else NotImplemented


GrownList.__radd__ = _radd  # type: ignore[attr-defined]
GrownList.__hash__ = None


def appended(stacked: Any, item: Any) -> Any:
    """Return elements and one more, `(n + 1, ...)`; where there are none, of the shape of that one."""
    like = tf.reshape(stacked, tf.concat([tf.shape(stacked)[:1], tf.shape(item)], 0))
    found = tf.concat([like, item[None]], 0)
    return tf.ensure_shape(found, [None, *_joined(stacked.shape[1:], item.shape)])


def _joined(one: Any, other: Any) -> Iterator[int | None]:
    return (a if a == b else None for a, b in zip(one, other, strict=True))


def _not_empty(value: Any) -> Any:
    checked = tf.debugging.Assert(tf.shape(value)[0] > 0, ["a list without elements has no shape of elements"])
    with tf.control_dependencies([checked]):
        return tf.identity(value)


def cast_stack(tensors: list[Any], shape: tuple[int | None, ...], dtype: Any) -> Any:
    """Return elements as one tensor `(n, ...)`, where there are none of a shape of which unknown sizes are 0."""
    if not tensors:
        return tf.zeros([0, *(size or 0 for size in shape)], tf.as_dtype(dtype))
    return tf.stack([dtypes.cast(one, dtype) for one in tensors])


def as_argument(name: str, argument: Any) -> Any:
    """Return a list that is as long as a value says as one array, as functions of arrays take it."""
    if getattr(argument, "stacked", None) is None:
        return argument
    found = argument.array()
    if name in ("concatenate", "vstack", "hstack", "column_stack", "dstack", "stack"):
        joins_rows = name == "concatenate" or (name == "vstack" and found.ndim > 2)
        if name not in ("concatenate", "vstack") or found.ndim < 2:
            raise refuse(f"np.{name}(list)", why="of a list that is as long as a value says", fix="np.array(list)")
        joined = found.reshape((found.shape[0] * found.shape[1], *found.shape[2:])) if joins_rows else found
        return [joined]
    return found
