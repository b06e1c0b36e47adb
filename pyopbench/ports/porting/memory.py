"""Which arrays keep, in a port, values from before a write to their memory.

NumPy's write through one name changes all arrays that share the memory. A port has a tensor for each name, list item
and attribute, and a write binds one of them to a new tensor: the others keep the values that they had. While a body is
watched, each of them is an array object of its own, with the time at which its values were those of the memory; one
that is read after a later write to the same elements would be wrong in a port.
"""

from __future__ import annotations

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
        # Times, and which part was written to: None if that is not known.
        self.writes: list[tuple[int, Any]] = [] if of is None else of.writes

    def mark(self) -> None:
        """Note that something that depends on an input was written there."""
        self.depends = True
        if self.of is not None:
            self.of.mark()

    def part_of(self, array: Any) -> Any:
        """Return the part that is a plain array's; None if that is not known."""
        return array if self.of is None else None

    def has_changed(self, array: Any, since: int) -> bool:
        """Were elements of a plain array, which is in this memory, written to since a time?"""
        if not self.writes or self.writes[-1][0] <= since:
            return False
        part = self.part_of(array)
        later = [other for time, other in self.writes if time > since]
        return part is None or any(other is None or overlap(part, other) for other in later)


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


def view_at(array: Any, key: Any) -> Any:
    """Return the view of an array that a key selects; all of it where the key is no plain index or slice."""
    entries = key if isinstance(key, tuple) else (key,)
    if any(isinstance(one, list | np.ndarray | bool | np.bool_) for one in entries):
        return array
    has_rest = any(one is Ellipsis for one in entries)
    return array[entries if has_rest else (*entries, Ellipsis)]
