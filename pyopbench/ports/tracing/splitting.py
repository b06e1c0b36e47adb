"""Arrays cut into parts, which are views."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing.array import as_traced, number
from pyopbench.ports.tracing.reductions import axes_of
from pyopbench.ports.tracing.registry import in_numpy
from pyopbench.ports.tracing.shaping import moveaxis
from pyopbench.ports.tracing.tape import refuse, step
from pyopbench.ports.tracing.untyped import np

MOST_PARTS = 32
"""How many parts between traced places are made at once."""


@in_numpy("split", on_known=True)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Return equal parts of an array along an axis, or parts between places."""
    x = as_traced(ary)
    (place,) = axes_of(axis, x.ndim)
    size = x.static_shape[place]
    if np.ndim(indices_or_sections) == 0 and (size is None or size % int(indices_or_sections)):
        raise ValueError("array split does not result in an equal division")
    return array_split(x, indices_or_sections, place)


@in_numpy("array_split", on_known=True)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Return parts of an array along an axis, of as equal a length as there are."""
    x = as_traced(ary)
    (place,) = axes_of(axis, x.ndim)
    size = x.static_shape[place]
    if np.ndim(indices_or_sections) == 0:
        if size is None:
            raise refuse("np.array_split", why="needs a length that is known before the graph runs")
        each, more = divmod(size, int(indices_or_sections))
        lengths = [each + 1] * more + [each] * (int(indices_or_sections) - more)
        ends = [int(end) for end in np.cumsum([0, *lengths])]
    else:
        indices = as_traced(indices_or_sections)
        if not indices.is_known and (indices.static_shape[0] or 0) > MOST_PARTS:
            return Cut(x, indices, place)
        ends = [0, *_places(indices), sys.maxsize if size is None else size]
    before = (slice(None),) * place
    return [x[(*before, slice(begin, end))] for begin, end in itertools.pairwise(ends)]


class Cut(Sequence[Any]):
    """Many parts of an array between traced places, each made when it is asked for, also by a traced number."""

    def __init__(self, x: Any, places: Any, axis: int) -> None:
        whole = places.astype(np.int64)
        self.array = x
        self.before = (slice(None),) * axis
        self.begins = np.concatenate([[0], whole])
        self.ends = np.concatenate([whole, [x.shape[axis]]])

    def __len__(self) -> int:
        return len(self.begins)

    def __getitem__(self, place: Any) -> Any:
        """Return the part of a number, or those of a slice."""
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        if type(place) is int and not -len(self) <= place < len(self):
            raise IndexError("list index out of range")
        bounds = slice(_integer(self.begins[place]), _integer(self.ends[place]))
        return self.array[(*self.before, bounds)]


def _places(found: Any) -> list[Any]:
    """Return where an array is cut, as integers or traced ones.

    Raises:
        Refused: only the graph knows how many there are.
    """
    if found.is_known:
        return [int(one) for one in found.value]
    if found.static_shape[0] is None:
        raise refuse("np.split", why="at a number of places that is known only when the graph runs")
    return [_integer(found[place]) for place in range(found.static_shape[0])]


def _integer(traced: Any) -> Any:
    value = traced.value
    return number(step("int", lambda: tf.cast(value, tf.int64)), int)


@in_numpy("vsplit", on_known=True)
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return parts along the first axis."""
    if as_traced(ary).ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


in_numpy("hsplit", on_known=True)(
    lambda ary, indices_or_sections: split(ary, indices_or_sections, 0 if as_traced(ary).ndim == 1 else 1)
)


@in_numpy("dsplit", on_known=True)
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Return parts along the third axis."""
    if as_traced(ary).ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


in_numpy("unstack", on_known=True)(lambda x, axis=0: tuple(moveaxis(x, axis, 0)))
