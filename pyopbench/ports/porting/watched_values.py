"""Arrays and numbers that know whether they depend on an input, for a body that runs to show where it needs tensors.

They hold real values, so that `if`, `while`, `int(x)` and `range(n)` go as they do in the body. What is computed by
NumPy from one that depends on an input depends on it too. An axis is unknown if its size depends on values.

NumPy's write through one name changes all arrays that share the memory. A port has a tensor for each name, list item
and attribute, and a write binds one of them to a new tensor: the others keep the values that they had. So each of them
is an array object of its own here, with the time at which its values were those of the memory; one that is read after a
later write to the same elements would be wrong in a port.
"""

from __future__ import annotations

import itertools
import threading
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

OVERLAP_WORK = 10_000
"""Steps that NumPy may take to see whether two arrays have an element in common; past that, they are taken to have."""


class Memory:
    """The memory of an array and of all its views: do its values depend on an input, and when was it written to?

    A view at a place that depends on an input does so too. The array that it is a view of, `of`, does once the view is
    written to.
    """

    __slots__ = ("depends", "of", "writes")

    def __init__(self, *, depends: bool, of: Memory | None = None) -> None:
        self.depends = depends
        self.of = of
        # Times, and the part that was written to: None if that is not known.
        self.writes: list[tuple[int, Any]] = [] if of is None else of.writes

    def mark(self) -> None:
        """Note that something that depends on an input was written there."""
        self.depends = True
        if self.of is not None:
            self.of.mark()

    def has_changed(self, array: Any, since: int) -> bool:
        """Were elements of a plain array, which is in this memory, written to since a time?"""
        later = [part for _, part in itertools.takewhile(lambda write: write[0] > since, reversed(self.writes))]
        return bool(later) and (self.of is not None or any(part is None or overlap(array, part) for part in later))


def owner_of(array: Any) -> Any:
    """Return the object that owns the memory of an array."""
    while getattr(array, "base", None) is not None:
        array = array.base
    return array


def overlap(first: Any, second: Any) -> bool:
    """Have two arrays an element in common?"""
    try:
        return bool(np.shares_memory(first, second, max_work=OVERLAP_WORK))  # type: ignore[arg-type,unused-ignore]
    except RuntimeError:  # `TooHardError`, which NumPy 1 and 2 have in different modules
        return True


class WatchedArray(np.ndarray[Any, Any]):
    """An array, or what NumPy returns as a scalar."""

    memory: Memory
    unknown: frozenset[int]
    """Axes whose size depends on values."""
    is_scalar: bool
    """Would NumPy have returned a scalar, which is never written to?"""
    time: int
    """When its values in a port were those of its memory."""
    holder: WatchedArray | None
    """The array of the name, list item or attribute that it was read from, which a port binds to a new tensor when this
    one is written to; None for any other."""

    def __array_finalize__(self, other: Any) -> None:
        is_watched = isinstance(other, WatchedArray)
        self.memory = Memory(depends=is_watched and other.depends)
        self.unknown, self.is_scalar, self.holder = frozenset(), False, None
        self.time = other.time if is_watched else CONTROL.time

    @property
    def depends(self) -> bool:
        """Does it depend on an input?"""
        return self.memory.depends

    @property  # type: ignore[misc]
    def shape(self) -> Any:
        """The sizes of the axes; those that values decide depend on the input."""
        sizes = super().shape
        return tuple(WatchedInt(size) if axis in self.unknown else size for axis, size in enumerate(sizes))

    @property
    def size(self) -> Any:
        """The number of elements."""
        found = super().size
        return WatchedInt(found) if self.unknown else found

    @property
    def static_shape(self) -> tuple[int | None, ...]:
        """The sizes of the axes, None where values decide."""
        return tuple(None if axis in self.unknown else size for axis, size in enumerate(super().shape))

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        # A port takes all rows before the first round of a loop over them.
        begin = CONTROL.time
        for place in range(super().shape[0]):
            item = self[place]
            if isinstance(item, WatchedArray):
                item.time = begin
            yield item

    def __getitem__(self, key: Any) -> Any:
        array = self.view(np.ndarray)
        found = array[plain(key)]
        if not isinstance(found, np.ndarray):
            return depending(found) if self.depends or depends(key) else found
        is_view = found.base is not None and owner_of(found) is owner_of(array)
        result = _watched(found, depends=self.depends or depends(key))
        if is_view:
            result.memory = Memory(depends=True, of=self.memory) if depends(key) else self.memory
        result.unknown = _unknown_of_key(self, key, found)
        return result

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.is_scalar:
            raise TypeError(f"'{self.dtype.type.__name__}' object does not support item assignment")
        check_stale(value)
        self.view(np.ndarray)[plain(key)] = plain(value)
        _note_write(self, key, is_dependent=depends(key) or depends(value))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return apply(ufunc if method == "__call__" else getattr(ufunc, method), inputs, options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return apply(function, arguments, options)

    def __hash__(self) -> int:  # type: ignore[override]
        if not self.is_scalar:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return hash(plain(self))


class Control(threading.local):
    """The state of the run that is watched in this thread."""

    depth = 0  # how many conditions that depend on an input are around
    place = -1  # number of the expression that was evaluated last
    # Writes so far, in all runs, because a cache of the user's may keep arrays of earlier ones.
    time = 0

    def begin(self, stale: set[int]) -> None:
        """Begin a run, which notes in a set where arrays were read whose values would be stale in a port."""
        self.depth, self.stale = 0, stale
        self.grown: dict[int, Any] = {}  # lists and tuples whose length depends on values, by `id`


CONTROL = Control()


def grow(value: Any) -> None:
    """Note a list or a tuple whose length depends on values."""
    CONTROL.grown[id(value)] = value


def is_grown(value: Any) -> bool:
    """Was a list or a tuple noted?"""
    return id(value) in CONTROL.grown


def _note_write(array: WatchedArray, key: Any = Ellipsis, *, is_dependent: bool) -> None:
    """Note that `array[key]` was written to, by values or at a place that may depend on an input."""
    if is_dependent or CONTROL.depth or array.depends:
        array.memory.mark()
    CONTROL.time += 1
    part: Any = array.view(np.ndarray)
    if array.memory.of is not None:
        part = None
    elif not depends(key):
        entries = plain(key if isinstance(key, tuple) else (key,))
        if not any(isinstance(one, list | np.ndarray | bool | np.bool_) for one in entries):
            has_rest = any(one is Ellipsis for one in entries)
            part = part[entries if has_rest else (*entries, Ellipsis)]
    array.memory.writes.append((CONTROL.time, part))
    for one in (array, array.holder):
        if one is not None:
            one.time = CONTROL.time


def check_stale(*values: Any) -> None:
    """Note that arrays are read which in a port have values from before a write to their memory."""
    for array in arrays_in(values):
        if array.depends and array.memory.has_changed(array.view(np.ndarray), array.time):
            CONTROL.stale.add(CONTROL.place)


def arrays_in(value: Any) -> Iterator[WatchedArray]:
    """Yield the arrays in nested lists, tuples and dicts."""
    for one in value.values() if isinstance(value, dict) else value:
        if isinstance(one, WatchedArray):  # here, and not in a call for each number of a long list
            yield one
        elif isinstance(one, list | tuple | dict):
            yield from arrays_in(one)


def renew(value: Any, holder: Any = None) -> Any:
    """Return an array as an object of its own, which is read from a holder; any other value as it is."""
    if not isinstance(value, WatchedArray) or value.is_scalar:
        return value
    found = view_of(value, value.memory, value.unknown)
    found.holder = holder
    return found


class WatchedNumber:
    """A number of Python's that depends on an input; its subclasses, of which `bool` has one too, are numbers.

    Operators are those of plain numbers (`operated`), of which `derived` has the results depend on an input again.
    """

    weak: type = int

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return apply(ufunc if method == "__call__" else getattr(ufunc, method), inputs, options)


NUMBERS: dict[type, type] = {
    weak: type(f"Watched{weak.__name__.title()}", (WatchedNumber, base), {"weak": weak})
    for weak, base in ((bool, int), (int, int), (float, float), (complex, complex))
}
WatchedInt: Any = NUMBERS[int]


# Values whose length depends on values.


def length_depends(value: Any) -> bool:
    """Do values decide how many elements there are?"""
    if isinstance(value, WatchedArray):
        return 0 in value.unknown
    return isinstance(value, list | tuple) and is_grown(value)


def is_open(value: Any) -> bool:
    """Do values decide whether it is true?"""
    return depends(value) or length_depends(value)


def named_like(value: Any, items: Iterable[Any]) -> Any:
    """Return other items under the names of a named tuple; a plain tuple where its type cannot be made of them."""
    return value._make(items) if hasattr(value, "_make") else tuple(items)


# What depends on an input.


def depends(value: Any) -> bool:
    """Does a value, or one in a nest of lists and tuples, depend on an input?"""
    if isinstance(value, WatchedArray):
        return value.depends
    if isinstance(value, list | tuple):
        return any(map(depends, value))
    if isinstance(value, slice):
        return depends((value.start, value.stop, value.step))
    return isinstance(value, WatchedNumber)


def depending(value: Any) -> Any:
    """Return a value as one that depends on an input."""
    if isinstance(value, WatchedArray):
        if value.depends:
            return value
        memory = Memory(depends=True, of=value.memory)
        return view_of(value, memory, value.unknown, is_scalar=value.is_scalar)
    if isinstance(value, np.ndarray | np.generic):
        return _watched(value, depends=True) if _is_watchable(value) else value
    if type(value) in NUMBERS:
        return NUMBERS[type(value)](value)
    if isinstance(value, tuple):
        return named_like(value, map(depending, value))
    if isinstance(value, list):
        return [depending(one) for one in value]
    return value


def watched(value: Any) -> Any:
    """Return an array as one that is watched, on the same memory; all else as it is."""
    if type(value) is np.ndarray and _is_watchable(value):
        return _watched(value, depends=False)
    return value


def _is_watchable(value: Any) -> bool:
    return value.dtype.kind in "biufc"


def _watched(value: Any, *, depends: bool) -> WatchedArray:
    return view_of(np.asarray(value), Memory(depends=depends), is_scalar=isinstance(value, np.generic))


def view_of(
    array: Any, memory: Memory, unknown: frozenset[int] = frozenset(), *, is_scalar: bool = False
) -> WatchedArray:
    """Return an array object of its own on the same memory."""
    found: WatchedArray = array.view(WatchedArray)
    found.memory, found.unknown, found.is_scalar = memory, unknown, is_scalar
    return found


def plain(value: Any) -> Any:
    """Return a value as NumPy's or Python's own, also within lists and tuples; arrays keep their memory."""
    if isinstance(value, WatchedArray):
        found = value.view(np.ndarray)
        return found[()] if value.is_scalar else found
    if isinstance(value, WatchedNumber):
        return value.weak(value)
    if isinstance(value, tuple):
        return named_like(value, map(plain, value))
    if type(value) is list:
        return [plain(one) for one in value]
    if type(value) is dict:
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, slice):
        return slice(*(plain(one) for one in (value.start, value.stop, value.step)))
    return value


# Calls.

OF_SHAPES = frozenset(
    {"zeros_like", "ones_like", "empty_like", "full_like", "shape", "ndim", "size", "result_type", "isscalar"}
    | {"iscomplexobj", "isrealobj", "broadcast_shapes"}
)
"""Functions that look at the shapes of arrays, and at no value of the first."""

OF_UNKNOWN_SIZE = {"nonzero", "flatnonzero", "argwhere", "unique", "intersect1d", "union1d", "setdiff1d", "bincount"}
"""Functions whose results have a length that depends on values."""

WRITING = frozenset({"copyto", "put", "putmask", "place", "fill_diagonal", "put_along_axis", "shuffle"})
"""Functions that write to their first argument."""

METHODS = frozenset({"sort", "fill", "put", "partition", "byteswap", "itemset", "resize", "setfield"})
"""Methods that write to their array."""

ELEMENTWISE = "elementwise"
"""The name of each ufunc whose inputs are broadcast."""


def apply(function: Any, arguments: Any, options: Any) -> Any:
    """Return what a function of NumPy's, of SciPy's or of Python's numbers does with values that are watched."""
    receiver = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    is_method = isinstance(receiver, WatchedArray)
    given = (receiver, *arguments) if is_method else tuple(arguments)
    given = tuple(list(one) if isinstance(one, types.GeneratorType | map | filter) else one for one in given)
    if is_method:
        found = getattr(plain(receiver), name)(*plain(given[1:]), **plain(options))
    else:
        found = function(*plain(given), **plain(options))
    everything = [*given, *options.values()]
    is_dependent = any(map(depends, everything))
    is_at = name == "at" and isinstance(receiver, np.ufunc)
    if is_at or (is_method and name in METHODS) or name in WRITING:
        if isinstance(given[0], WatchedArray):
            _note_write(given[0], is_dependent=is_dependent)
        return found
    out = options.get("out")
    if isinstance(function, np.ufunc) and len(given) > function.nin:
        out = given[function.nin]
    outs = [one for one in (out if isinstance(out, tuple) else (out,)) if isinstance(one, WatchedArray)]
    for array in outs:
        _note_write(array, is_dependent=is_dependent)
    if outs:
        return outs[0] if len(outs) == 1 else tuple(outs)
    if name in OF_SHAPES:
        values = everything[1:] if name == "full_like" else []
        sizes = [one for one in everything if isinstance(one, WatchedArray) and one.unknown]
        is_dependent = any(map(depends, values)) or bool(sizes)
    if isinstance(function, np.ufunc) and function.signature is None:
        name = ELEMENTWISE
    return as_result(found, given, options, name, is_dependent=is_dependent)


def as_result(found: Any, given: tuple[Any, ...], options: dict[str, Any], name: str, *, is_dependent: bool) -> Any:
    """Return the result of a function as it is watched: an array always, other values if they depend on an input.

    Args:
        found: its result.
        given: its arguments by position.
        options: its arguments by name.
        name: the name of a NumPy function, or `ELEMENTWISE`; empty for any other.
        is_dependent: does any argument depend on an input?
    """
    if hasattr(found, "numpy"):  # a tensor
        found = found.numpy()
    if isinstance(found, tuple | list):
        parts = [as_result(one, given, options, name, is_dependent=is_dependent) for one in found]
        return named_like(found, parts) if isinstance(found, tuple) else parts
    if not isinstance(found, np.ndarray):
        return depending(found) if is_dependent else found
    if not _is_watchable(found):
        return found
    result = _watched(found, depends=is_dependent)
    for one in arrays_in((given, options)) if found.base is not None else ():
        if owner_of(one) is owner_of(found):
            result.memory = one.memory
    result.unknown = _unknown_of_result(found, given, options, name, is_dependent=is_dependent)
    return result


def flat(value: Any) -> Iterator[Any]:
    """Yield the items of nested lists and tuples."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from flat(one)
    else:
        yield value


def _unknown_of_result(
    found: Any, given: tuple[Any, ...], options: dict[str, Any], name: str, *, is_dependent: bool
) -> frozenset[int]:
    """Return the axes of a result whose size depends on values.

    Of functions without a rule here, an axis that has the size of an unknown one is taken for unknown, or if there is
    none, each axis whose size no input has.
    """
    if name == ELEMENTWISE:
        shapes = [(1,) * (found.ndim - one.ndim) + one.static_shape for one in given if isinstance(one, WatchedArray)]
        axes = enumerate(zip(*shapes, strict=True))
        return frozenset(axis for axis, sizes in axes if {None} <= {*sizes} <= {None, 0, 1})
    first = frozenset(range(min(found.ndim, 1)))
    is_selection = name in OF_UNKNOWN_SIZE or (name == "where" and len(given) == 1)
    if (is_dependent and is_selection) or any(isinstance(one, list) and length_depends(one) for one in given):
        return first
    if name == "split" and depends(options.get("indices_or_sections", given[1:2])):
        axis = options.get("axis", given[2] if len(given) > 2 else 0)
        return frozenset({int(axis) % found.ndim})
    counts = {"arange": given, "repeat": given[1:], "linspace": given[2:]}.get(name, ())
    if any(map(depends, [*counts, *(one for key, one in options.items() if key in ("repeats", "num", "stop"))])):
        return first
    if name == "linspace":
        return frozenset()
    values = list(flat((given, list(options.values()))))
    sizes, known = _sizes_of(values)
    sizes |= {int(one) for one in values if isinstance(one, WatchedInt)}
    if not sizes:
        return frozenset()
    unknown = {axis for axis, size in enumerate(found.shape) if size in sizes}
    return frozenset(unknown or {axis for axis, size in enumerate(found.shape) if size not in known})


def _sizes_of(values: Iterable[Any]) -> tuple[set[int], set[int]]:
    """Return the sizes of arrays that depend on values, and those that do not."""
    sizes = [size for one in values if isinstance(one, WatchedArray) for size in one.shape]
    unknown = {int(one) for one in sizes if isinstance(one, WatchedInt)}
    return unknown, {one for one in sizes if not isinstance(one, WatchedInt)}


def _unknown_of_key(array: WatchedArray, key: Any, found: Any) -> frozenset[int]:
    """Return the axes of `array[key]` whose size depends on values."""
    entries = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(one, list | np.ndarray) for one in entries):
        return _unknown_of_arrays(array, entries, found)
    rest = array.ndim - sum(one is not None and one is not Ellipsis for one in entries)
    place = next((place for place, one in enumerate(entries) if one is Ellipsis), len(entries))
    entries[place : place + 1] = [slice(None)] * rest
    unknown, axes = [], iter(range(array.ndim))
    for one in entries:
        axis = None if one is None else next(axes)
        if one is None or isinstance(one, slice):
            unknown.append(axis in array.unknown or depends(one))
    return frozenset(place for place, is_unknown in enumerate(unknown) if is_unknown)


def _unknown_of_arrays(array: WatchedArray, entries: list[Any], found: Any) -> frozenset[int]:
    by_values = any(isinstance(one, np.ndarray) and one.dtype == bool and depends(one) for one in entries)
    sizes, _ = _sizes_of((array, *entries))
    unknown = {axis for axis, size in enumerate(found.shape) if size in sizes}
    if any(isinstance(one, slice) and depends(one) for one in entries):
        unknown |= {axis for axis in range(found.ndim) if axis}
    if by_values and found.ndim:
        ahead = itertools.takewhile(lambda one: isinstance(one, slice) or one is Ellipsis, entries)
        unknown.add(min(len(list(ahead)), found.ndim - 1))
    return frozenset(unknown)
