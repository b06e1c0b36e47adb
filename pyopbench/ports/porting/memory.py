"""Which arrays keep, in a port, values from before a write to their memory.

NumPy's write through one name changes all arrays that share the memory. A port has a tensor for each name, list item
and attribute, and a write binds one of them to a new tensor: the others keep the values that they had. While a body is
watched, each of them is an array object of its own, with the time at which its values were those of the memory; one
that is read after a later write to the same elements would be wrong in a port.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

OVERLAP_WORK = 10_000
"""Steps that NumPy may take to see whether two arrays have an element in common; past that, they are taken to have."""


class Writes:
    """The writes of one run, by the array that owns the memory."""

    def __init__(self) -> None:
        self.time = 0
        self._parts: dict[int, tuple[Any, list[tuple[int, Any]]]] = {}

    def clear(self) -> None:
        """Forget all writes; the time goes on, because a cache of the user's may keep arrays of earlier runs."""
        self._parts.clear()

    def note(self, array: Any, part: Any) -> None:
        """Note that a part of an array, or all of it for None, was written to."""
        self.time += 1
        root = owner_of(array)
        self._parts.setdefault(id(root), (root, []))[1].append((self.time, part))

    def has_changed(self, array: Any, part: Any, since: int) -> bool:
        """Were elements of an array written to since a time? `part` is as for `note`."""
        _, writes = self._parts.get(id(owner_of(array)), (None, []))
        for time, other in reversed(writes):
            if time <= since:
                return False
            if part is None or other is None or overlap(part, other):
                return True
        return False


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


def part_of(array: Any, key: Any) -> Any:
    """Return the view of an array that a key selects; all of it where the key is no plain index or slice."""
    entries = key if isinstance(key, tuple) else (key,)
    if any(isinstance(one, list | np.ndarray | bool | np.bool_) for one in entries):
        return array
    has_rest = any(one is Ellipsis for one in entries)
    return array[entries if has_rest else (*entries, Ellipsis)]


def arrays_in(value: Any, kind: type) -> Iterator[Any]:
    """Yield the arrays in nested lists, tuples and dicts."""
    if isinstance(value, kind):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        if isinstance(one, kind):  # here, and not in a call for each number of a long list
            yield one
        elif isinstance(one, list | tuple | dict):
            yield from arrays_in(one, kind)
