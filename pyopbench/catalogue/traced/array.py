"""The array that stands for a tensor: it holds its value, known or not; what NumPy can do with it is in tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.lib.mixins import NDArrayOperatorsMixin

from pyopbench.catalogue.traced import dtypes, indexing, views
from pyopbench.catalogue.traced.tape import current, refuse, step


class TracedArray(NDArrayOperatorsMixin):
    """An array of which the value is a tensor, or an array of NumPy's as long as it depends on no tensor.

    Args:
        value: a tensor, or an array of NumPy's that nobody else writes to.
        scalar: is it what NumPy returns as a scalar, which nothing can be written to?
        weak: the type of the Python number that it stands for; None for what has a dtype of its own.
    """

    def __init__(self, value: Any, *, scalar: bool = False, weak: type | None = None) -> None:
        assert type(value) is not TracedArray, "a traced array of a traced array"
        self._value = value
        self._scalar = scalar
        self._weak = weak
        self._version = 0
        self._seen = 0
        self._parent: TracedArray | None = None
        self._lens: Any = None
        self._layout: Any = None
        self.is_outside = False  # of the body, like an array of its module, which a graph cannot write to
        self._dtype = dtypes.check(value.dtype) if isinstance(value, np.ndarray) else dtypes.dtype_of(value)

    # What it is.

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """What `isinstance` sees: an array, or the scalar that NumPy would have returned."""
        if not self._scalar:
            return np.ndarray
        return self._weak or self._dtype.type

    @property
    def value(self) -> Any:
        """The tensor, or the array of NumPy's if that is known, with all that was written to it or what it views."""
        root = self._root
        if self._parent is not None and root._version != self._seen:
            self._value = self._lens.get(self._parent.value)
            self._seen = root._version
        return self._value

    @property
    def _root(self) -> TracedArray:
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
    def example(self) -> Any:
        """What promotes as the array does; of a known scalar before NumPy 2 the value itself."""
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
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return self._dtype

    @property
    def static_shape(self) -> tuple[int | None, ...]:
        """The sizes of the axes, None for those that only the graph knows."""
        return tuple(self._value.shape)  # what is written to a view keeps its shape

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes of the axes; those that only the graph knows are traced numbers."""
        return tuple(self._size(axis) if size is None else size for axis, size in enumerate(self.static_shape))

    def _size(self, axis: int) -> TracedArray:
        tensor = self.value
        return number(step("shape", lambda: tf.shape(tensor, tf.int64)[axis]), int)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.static_shape)

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

    # Python's numbers, which a graph has no use for.

    def __bool__(self) -> bool:
        array = self.known
        if array is not None:
            return bool(array)
        if math.prod(size or 0 for size in self.static_shape) != 1 and self.static_shape != ():
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        tape = current()
        assert tape is not None
        tensor = self.tensor
        return tape.decide(step("bool", lambda: tf.reshape(dtypes.cast(tensor, bool), [])))

    def _number(self, kind: Any, name: str) -> Any:
        array = self.known
        if array is None:
            raise refuse(
                f"{name}(...) of a value", why="needs the number while the graph is built", fix="leave it an array"
            )
        return kind(array)

    def __int__(self) -> int:
        return int(self._number(int, "int"))

    def __index__(self) -> int:
        import operator

        return int(self._number(operator.index, "range"))

    def __float__(self) -> float:
        return float(self._number(float, "float"))

    def __complex__(self) -> complex:
        return complex(self._number(complex, "complex"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.known
        if array is None:
            raise refuse("conversion to an array of NumPy's", why="needs the values while the graph is built")
        return np.array(array, dtype)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TracedArray({self.dtype}, shape={self.static_shape})"

    def __format__(self, spec: str) -> str:
        array = self.known
        return repr(self) if array is None else format(array, spec)

    # Elements.

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __getitem__(self, key: Any) -> Any:
        key = _key(key)
        value = self.value
        if not indexing.is_basic(key):
            if isinstance(value, np.ndarray) and indexing.is_known(key):
                return wrap(value[key])
            return wrap(step("[]", lambda: indexing.get(tf.convert_to_tensor(value), key)))
        found = self.view(views.Picked(key))
        picks_one = len(indexing.complete(key, self.ndim)) == self.ndim and not any(
            entry is None or entry is Ellipsis or isinstance(entry, slice) for entry in key
        )
        return found.as_scalar() if picks_one else found

    def as_scalar(self) -> Any:
        """Return an array without axes as NumPy returns it from a function: as a scalar."""
        value = self.value
        return value[()] if isinstance(value, np.ndarray) else TracedArray(value, scalar=True)

    def __setitem__(self, key: Any, new: Any) -> None:
        key = _key(key)
        if isinstance(new, TracedArray) and new._parent is self and isinstance(new._lens, views.Picked):
            same = len(key) == len(new._lens.key) and all(a is b for a, b in zip(key, new._lens.key, strict=True))
            if same:  # the end of `x[key] += 1`, which has been written through the view
                return
        new = as_traced(new)
        self._refuse_cast(new, self.dtype)
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
                lambda: indexing.put(tf.convert_to_tensor(value), key, dtypes.cast(tf.convert_to_tensor(given), dtype)),
            )
        )

    def _refuse_cast(self, new: TracedArray, dtype: Any) -> None:
        if new.dtype.kind == "c" and dtype.kind != "c":
            raise refuse("x[...] = complex", why="drops the imaginary part", fix=".real")

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
        self._write(value)
        root._version += 1
        array: TracedArray | None = self
        while array is not None:
            array._seen = root._version
            array = array._parent

    def _write(self, value: Any) -> None:
        if self._parent is not None:
            if isinstance(self._lens, views.Uncertain):
                self._lens.get(None)
            self._parent._write(self._lens.put(self._parent.value, value))
        self._value = value

    def view(self, lens: Any) -> TracedArray:
        """Return a view of the array; a copy where NumPy would have to copy."""
        layout = self.layout
        value = lens.get(self.value)
        if isinstance(value, np.generic):
            value = np.asarray(value)
        result = TracedArray(value)
        known = layout is not None and (not isinstance(lens, views.Picked) or indexing.is_known(lens.key))
        if known:
            result._layout = lens.layout(layout)
            if result._layout is None:
                if isinstance(value, np.ndarray):
                    result._value = value.copy()
                return result
        elif isinstance(lens, views.Reshaped) and self._parent is not None:
            lens = views.Uncertain("reshape", lens.shape)
        result._parent, result._lens, result._seen = self, lens, self._root._version
        return result

    @property
    def layout(self) -> Any:
        """An array without memory that lies as NumPy's would; None where a shape is not known."""
        if self._layout is None and self._parent is None and None not in self.static_shape:
            self._layout = views.blank(self.static_shape, self.dtype)  # type: ignore[arg-type]
        return self._layout

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from pyopbench.catalogue.traced.call_ufunc import call_ufunc

        return call_ufunc(ufunc, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        from pyopbench.catalogue.traced.functions import call_function

        return call_function(function, arguments, options)

    def __getattr__(self, name: str) -> Any:
        # Only for what is not found otherwise: the methods that arrays have are in a table.
        from pyopbench.catalogue.traced.methods import method

        return method(self, name)

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


def _key(key: Any) -> indexing.Key:
    return tuple(map(_entry, key if isinstance(key, tuple) else (key,)))


def _entry(entry: Any) -> Any:
    if isinstance(entry, slice):
        parts = (entry.start, entry.stop, entry.step)
        if any(isinstance(part, TracedArray | np.generic) for part in parts):
            return slice(*map(_entry, parts))
        return entry
    if entry is None or entry is Ellipsis or type(entry) is int:
        return entry
    if type(entry) in (bool, np.bool_):
        return np.asarray(entry)
    array = as_traced(entry)
    if not array.is_known:
        return array.tensor
    value = np.asarray(array.value)
    if value.size == 0 and isinstance(entry, list):
        value = value.astype(np.int64)
    return int(value) if value.ndim == 0 and value.dtype.kind in "iu" else value


def as_traced(value: Any) -> TracedArray:
    """Return anything that NumPy would take for an array as a traced one."""
    if isinstance(value, TracedArray):
        return value
    if tf.is_tensor(value):
        return TracedArray(value)
    if isinstance(value, list | tuple) and holds_traced(value):
        from pyopbench.catalogue.traced.creation import stacked

        return stacked(value)
    weak = type(value) if type(value) in dtypes.WEAK else None
    return TracedArray(np.asarray(value), scalar=weak is not None, weak=weak)


def holds_traced(value: Any) -> bool:
    """Is there a traced array or a tensor in a nest of lists and tuples?"""
    if type(value) is TracedArray or tf.is_tensor(value):
        return True
    return isinstance(value, list | tuple) and any(map(holds_traced, value))


def wrap(value: Any) -> Any:
    """Return what a step has returned as NumPy would: tensors and arrays traced, without axes as scalars."""
    if type(value) is TracedArray:
        return value
    if tf.is_tensor(value):
        return TracedArray(value, scalar=value.shape.rank == 0)
    if isinstance(value, np.ndarray):
        return TracedArray(value) if value.ndim else value[()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(wrap, value))
    if isinstance(value, list | tuple):
        return type(value)(map(wrap, value))
    return value
