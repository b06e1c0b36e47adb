"""What arrays held before a part of a body was run, so that it can be run again from there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

FIELDS = ("_value", "_version", "_seen", "_layout", "_c_order")
"""What writing to an array changes in it, and in what is a view of it when that is read."""


class Journal:
    """The first state of each array that is written to, or looked up anew, while the journal is kept."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple[Any, tuple[Any, ...]]] = {}

    def keep(self, array: Any) -> None:
        """Note an array as it is now, unless it is noted already."""
        if id(array) not in self.kept:
            self.kept[id(array)] = (array, tuple(getattr(array, field) for field in FIELDS))

    def restore(self) -> None:
        """Make all arrays what they were."""
        for array, values in self.kept.values():
            for field, value in zip(FIELDS, values, strict=True):
                setattr(array, field, value)

    def written(self, born: int) -> list[Any]:
        """Return the arrays with memory of their own that were written to and made before a serial number."""
        version = FIELDS.index("_version")
        return [
            array
            for array, values in self.kept.values()
            if array._parent is None and array._version != values[version] and array._serial < born
        ]


_JOURNALS: ContextVar[tuple[Journal, ...]] = ContextVar("journals", default=())


def touch(array: Any) -> None:
    """Note an array that is about to change."""
    for journal in _JOURNALS.get():
        journal.keep(array)


@contextmanager
def kept() -> Iterator[Journal]:
    """Keep a journal."""
    journal = Journal()
    token = _JOURNALS.set((*_JOURNALS.get(), journal))
    try:
        yield journal
    finally:
        _JOURNALS.reset(token)
