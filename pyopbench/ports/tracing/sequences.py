"""What a `for` loop goes over, with elements by number, so that one round of the loop can stand for all of them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyopbench.ports.tracing.array import TracedArray, as_traced
from pyopbench.ports.tracing.creation import _known, is_dynamic
from pyopbench.ports.tracing.splitting import Cut
from pyopbench.ports.tracing.tape import refuse


@dataclass(frozen=True)
class Sequence:
    """Elements by number.

    Attributes:
        length: an integer, or a traced one.
        element: returns the one of a number, which may be traced.
    """

    length: Any
    element: Callable[[Any], Any]


def sequence_of(iterable: Any) -> Sequence | None:
    """Return the elements of an iterable by number; None where they can only be had one after the other."""
    if isinstance(iterable, builtins.range):
        return Sequence(len(iterable), lambda place: iterable.start + iterable.step * place)
    if isinstance(iterable, _Lazy):
        return iterable.sequence()
    if isinstance(iterable, Cut):
        return Sequence(len(iterable), iterable.__getitem__)
    if getattr(iterable, "stacked", None) is not None:
        return Sequence(iterable.length(), iterable.__getitem__)
    if type(iterable) is TracedArray and iterable.ndim:
        return Sequence(iterable.shape[0], lambda place: iterable[place])
    return None


class _Lazy:
    """What Python's functions of the same name return, which keeps what it was made of."""

    name = ""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts
        self._iterator: Iterator[Any] | None = None

    def sequence(self) -> Sequence | None:
        """Return the elements by number."""
        if self._iterator is not None:  # some were taken already
            return None
        found = [sequence_of(one) for one in self.parts]
        return None if None in found else self._made(found)

    def _made(self, parts: Any) -> Sequence:
        raise NotImplementedError

    def _iterated(self) -> Iterator[Any]:
        raise NotImplementedError

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self._iterator is None:
            self._iterator = self._iterated()
        return next(self._iterator)


class Zip(_Lazy):
    """`zip`."""

    def _made(self, parts: Any) -> Sequence:
        from pyopbench.ports.tracing.names import _BUILTINS

        length = parts[0].length
        for one in parts[1:]:
            length = _BUILTINS["min"](length, one.length)
        return Sequence(length, lambda place: tuple(one.element(place) for one in parts))

    def sequence(self) -> Sequence | None:
        """Return the elements by number."""
        return super().sequence() if self.parts else None

    def _iterated(self) -> Iterator[Any]:
        return builtins.zip(*self.parts, strict=False)


def zipped(*parts: Any, **options: Any) -> Any:
    """Return `zip`."""
    return builtins.zip(*parts, **options) if options else Zip(*parts)  # noqa: B905 - as it is called


class Enumerate(_Lazy):
    """`enumerate`."""

    def __init__(self, iterable: Any, start: Any = 0) -> None:
        super().__init__(iterable)
        self.start = start

    def _made(self, parts: Any) -> Sequence:
        (one,) = parts
        return Sequence(one.length, lambda place: (self.start + place, one.element(place)))

    def _iterated(self) -> Iterator[Any]:
        place = self.start
        for one in self.parts[0]:
            yield place, one
            place += 1


class Reversed(_Lazy):
    """`reversed`."""

    def _made(self, parts: Any) -> Sequence:
        (one,) = parts
        return Sequence(one.length, lambda place: one.element(one.length - 1 - place))

    def _iterated(self) -> Iterator[Any]:
        (one,) = self.parts
        if type(one) is TracedArray:
            return (one[place] for place in builtins.range(len(one) - 1, -1, -1))
        found: Iterator[Any] = builtins.reversed(one)
        return found


class Range(_Lazy):
    """`range` of numbers of which at least one is traced."""

    def __init__(self, *bounds: Any) -> None:
        super().__init__()
        start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        for one in (start, stop, step):
            if as_traced(one).dtype.kind not in "iu" or as_traced(one).ndim:
                raise TypeError(f"'{as_traced(one).dtype}' object cannot be interpreted as an integer")
        self.start, self.step = _as_integer(start), _as_integer(step)
        if type(self.step) is not int:
            raise refuse("range(..., step)", why="needs a step that is known before the graph runs")
        if self.step == 0:
            raise ValueError("range() arg 3 must not be zero")
        length = -((_as_integer(stop) - self.start) // -self.step)
        from pyopbench.ports.tracing.names import _BUILTINS

        self.length = _BUILTINS["max"](length, 0)

    def sequence(self) -> Sequence:
        """Return the numbers by their number."""
        return Sequence(self.length, lambda place: self.start + self.step * place)

    def _iterated(self) -> Iterator[Any]:
        raise refuse(
            "range(...) of a value",
            why="needs the number while the graph is built, outside of a `for` statement",
            fix="write a `for` statement, or use np.arange",
        )

    def __len__(self) -> int:
        raise refuse("len(range(...))", why="is known only when the graph runs")


def _as_integer(value: Any) -> Any:
    from pyopbench.ports.tracing.scalar_types import as_number

    return as_number(int)(value)


def ranged(*bounds: Any) -> Any:
    """Return `range`, of numbers that may be traced."""
    if not is_dynamic(list(bounds)):
        return builtins.range(*(one.__index__() if hasattr(one, "__index__") else one for one in _known(list(bounds))))
    return Range(*bounds)


SEQUENCES: dict[str, Any] = {"zip": zipped, "enumerate": Enumerate, "reversed": Reversed, "range": ranged}
"""By Python's name."""
