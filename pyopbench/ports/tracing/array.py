"""The array that stands for a tensor: it holds its value, known or not; what NumPy can do with it is in tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.lib.mixins import NDArrayOperatorsMixin

from pyopbench.ports.tracing import assignment, dtypes, indexing, views
from pyopbench.ports.tracing.as_python import AsPython
from pyopbench.ports.tracing.catching import refuse_where_named
from pyopbench.ports.tracing.dtypes import is_tensor
from pyopbench.ports.tracing.keys import key_of
from pyopbench.ports.tracing.refusal import going_over
from pyopbench.ports.tracing.storage import JOINED
from pyopbench.ports.tracing.tape import refuse, step

BITS_OF_PLACES = 40
"""An array of more elements fits in no memory."""


class TracedArray(AsPython, NDArrayOperatorsMixin):
    """An array of which the value is a tensor, or an array of NumPy's as long as it depends on no tensor."""

    # What it is.

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` sees: an array, or the scalar that NumPy would have returned."""
        if not self._scalar:
            return np.ndarray
        return self._weak or self._dtype.type

    @property
    def example(self) -> Any:
        """What promotes as the array does; of a known scalar before NumPy 2 the value itself."""
        if not dtypes.NEP50 and self.ndim == 0 and self.is_known:
            return self.value[()]
        return dtypes.example(self._weak, self._dtype, self.ndim)

    @property
    def is_scalar(self) -> bool:
        """Is it what NumPy returns as a scalar?"""
        return self._scalar

    @property
    def weak(self) -> type | None:
        """The type of the Python number that it stands for."""
        return self._weak

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes of the axes; those that only the graph knows are traced numbers."""
        return tuple(self._size(axis) if size is None else size for axis, size in enumerate(self.static_shape))

    def _size(self, axis: int) -> TracedArray:
        tensor = self.value
        return place_number(step("shape", lambda: tf.shape(tensor, tf.int64)[axis]))

    @property
    def size(self) -> Any:
        """The number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.static_shape:
            raise TypeError("len() of unsized object")
        size = self.static_shape[0]
        if size is None:
            raise refuse("len(x)", why="is known only when the graph runs", fix="x.shape[0] is traced")
        return size

    # Elements.

    def __iter__(self) -> Iterator[Any]:
        if self.static_shape[:1] == (None,):
            raise refuse(
                going_over("array"),
                why="needs a length that is known before the graph runs",
                fix="work on the whole array",
            )
        return (self[place] for place in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __getitem__(self, key: Any) -> Any:
        key = key_of(key, as_traced)
        if any(map(is_tensor, key)):
            refuse_where_named(IndexError, "x[i]", fix="test the index before")
        value = self.value
        if not indexing.is_basic(key):
            if isinstance(value, np.ndarray) and indexing.is_known(key):
                return wrap(value[key])
            found = wrap(step("[]", lambda: indexing.get(tf.convert_to_tensor(value), key)))
            found._c_order = found.ndim < 2 or indexing.is_array(key[0])
            return found
        found = self.seen_through(views.Picked(key))
        picks_one = not any(
            entry is None or entry is Ellipsis or isinstance(entry, slice)
            for entry in (*key, *indexing.complete(key, self.ndim))
        )
        return found.as_scalar() if picks_one else found

    def as_scalar(self) -> Any:
        """Return an array without axes as NumPy returns it from a function: as a scalar."""
        value = self.value
        return value[()] if isinstance(value, np.ndarray) else TracedArray(value, scalar=True)

    def __setitem__(self, key: Any, new: Any) -> None:
        key = key_of(key, as_traced)
        if any(map(is_tensor, key)):
            refuse_where_named(IndexError, "x[i] = value", fix="test the index before")
        if isinstance(new, TracedArray) and new._parent is self and isinstance(new._lens, views.Picked):
            same = len(key) == len(new._lens.key) and all(a is b for a, b in zip(key, new._lens.key, strict=True))
            if same:  # the end of `x[key] += 1`, which has been written through the view
                return
        new = as_traced(new)
        self._refuse_cast(new, self.dtype)
        dtypes.check_range(new, self.dtype)
        value = self.value
        if isinstance(value, np.ndarray) and new.is_known and indexing.is_known(key):
            copy = value.copy()
            copy[key] = new.value
            self.write(copy)
            return
        dtype = self.dtype
        given = new.value
        self.write(
            step(
                "[]=",
                lambda: assignment.put(
                    tf.convert_to_tensor(value), key, dtypes.cast(tf.convert_to_tensor(given), dtype)
                ),
            )
        )

    def _refuse_cast(self, new: TracedArray, dtype: Any) -> None:
        if self._root._mixed and new.dtype.kind in "fc" and any(kind.kind in "iub" for kind, _ in self._root._mixed):
            why = "writes floats to what is an array of integers or of floats, as values decide"
            raise refuse(JOINED, why=why, fix="name its dtype")
        if new.dtype.kind == "c" and dtype.kind != "c":
            raise refuse("x[...] = complex", why="drops the imaginary part", fix=".real")

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from pyopbench.ports.tracing.call_ufunc import call_ufunc

        return call_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        from pyopbench.ports.tracing.functions import call_function

        return call_function(function, arguments, options)

    def __getattr__(self, name: str) -> Any:
        # Only for what is not found otherwise: the methods that arrays have are in a table.
        from pyopbench.ports.tracing.methods import method

        return method(self, name)

    def __pow__(self, other: Any) -> Any:
        if self.dtype == np.bool_ and type(other) is int and other == 2 and not self.is_scalar:
            return np.square(self)  # as NumPy does, of which the dtype is another one
        return super().__pow__(other)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name != "is_outside":
            raise refuse(f".{name} = value", fix="assign to elements")
        super().__setattr__(name, value)

    def __tf_tensor__(self, dtype: Any = None, name: Any = None) -> Any:
        return self.tensor if dtype is None else tf.cast(self.tensor, dtype)


def _in_place(name: str) -> Any:
    inherited = getattr(NDArrayOperatorsMixin, name)
    binary = getattr(NDArrayOperatorsMixin, name.replace("__i", "__", 1))

    def method(self: TracedArray, other: Any) -> Any:
        return (binary if self.is_scalar else inherited)(self, other)

    return method


for _name in (
    "add",
    "sub",
    "mul",
    "matmul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and",
    "xor",
    "or",
):
    setattr(TracedArray, f"__i{_name}__", _in_place(f"__i{_name}__"))


def number(tensor: Any, weak: type) -> TracedArray:
    """Return a tensor without axes as the traced Python number that it stands for."""
    return TracedArray(tensor, scalar=True, weak=weak)


def place_number(tensor: Any) -> TracedArray:
    """Return a tensor that counts elements as the traced Python integer that it stands for."""
    found = number(tensor, int)
    found._bits = BITS_OF_PLACES
    return found


def as_traced(value: Any) -> TracedArray:
    """Return anything that NumPy would take for an array as a traced one."""
    if isinstance(value, TracedArray):
        return value
    if is_tensor(value):
        return TracedArray(value)
    if getattr(value, "stacked", None) is not None:
        found: TracedArray = value.array()
        return found
    if isinstance(value, list | tuple) and holds_traced(value):
        from pyopbench.ports.tracing.creation import stacked

        return stacked(value)
    weak = type(value) if type(value) in dtypes.WEAK else None
    return TracedArray(np.asarray(value), scalar=weak is not None, weak=weak)


def holds_traced(value: Any) -> bool:
    """Is there a traced array or a tensor in a nest of lists and tuples?"""
    if type(value) is TracedArray or is_tensor(value) or getattr(value, "stacked", None) is not None:
        return True
    return isinstance(value, list | tuple) and any(map(holds_traced, value))


def wrap(value: Any) -> Any:
    """Return what a step has returned as NumPy would: tensors and arrays traced, without axes as scalars."""
    if type(value) is TracedArray:
        return value
    if is_tensor(value):
        return TracedArray(value, scalar=value.shape.rank == 0)
    if isinstance(value, np.ndarray):
        return TracedArray(value) if value.ndim else value[()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(wrap, value))
    if isinstance(value, list | tuple):
        return type(value)(map(wrap, value))
    return value
