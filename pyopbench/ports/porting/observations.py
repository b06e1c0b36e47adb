"""What the expressions of a body were while it ran: tensors in a port, arrays or numbers, with dtypes and ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyopbench.model.syntax import Function, Source
from pyopbench.ports.arrays import name_of
from pyopbench.ports.porting.watched_values import WatchedArray, WatchedNumber, depends

TENSOR, ARRAY, NUMBER_KIND, SEQUENCE, OTHER = "tensor", "array", "number", "sequence", "other"


@dataclass(frozen=True)
class Seen:
    """What an expression was: a `tensor` if it depends on an input, else `array`, `number`, `sequence` or `other`."""

    kind: str
    dtype: str = ""
    """NumPy's name for the dtype of a tensor, an array, or the items of a sequence that all have the same one."""
    rank: int = 0
    weak: type | None = None
    """The type of the Python number that this value represents, if any."""
    shape: tuple[int | None, ...] = ()
    """Shape of a tensor; None for sizes that are known only when the graph runs."""
    holds_tensors: bool = False
    is_negative: bool = False
    """Is an element of an array or number below 0?"""
    common: str = ""
    """Of a sequence, the dtype of an array of its items; empty if it is not known."""
    is_point: bool = False
    """Is it a tuple of integers or arrays of integers, which as a key is one index for each axis?"""


@dataclass
class Observed:
    """The observations of the expressions of a body and its helpers, by the number of a node in their file."""

    seen: dict[int, set[Seen]] = field(default_factory=dict)
    functions: dict[int, tuple[Source, Function]] = field(default_factory=dict)
    """The definitions that were called, with their file."""
    decided: set[int] = field(default_factory=set)
    """Statements and expressions whose branch depends on values, and loops that are too long to be unrolled."""
    joining: set[int] = field(default_factory=set)
    """Loops in which a `continue` that depends on values may end a round early."""
    left: dict[int, dict[str, set[Seen]]] = field(default_factory=dict)
    """What names are after such a statement, and at the ends of its rounds; of a function, also what it returns."""
    growing: dict[tuple[int, str], frozenset[int]] = field(default_factory=dict)
    """Axes of such names whose size changes from round to round."""
    stale: set[int] = field(default_factory=set)
    """Reads of arrays that have other values in a port: it bound only one of several names to what was written."""
    multiplies_integers: bool = False
    """Is a product or a power of Python's integers computed from an input, which has 64 bits in a port?"""


def dtype_of(seen: set[Seen]) -> str:
    """Return the dtype of what is one thing or another; empty for what is no tensor, or of several dtypes."""
    strong = {one.dtype for one in seen if one.weak is None and one.kind in (TENSOR, ARRAY)}
    weak = {one.weak for one in seen if one.kind in (TENSOR, NUMBER_KIND) and one.weak is not None}
    if len(strong) == 1:
        (found,) = strong
        return "" if float in weak and found.startswith(("int", "uint", "bool")) else found
    kind = next((one for one in (complex, float, int, bool) if one in weak), None)  # the widest
    return np.dtype(kind).name if kind and not strong else ""


def seen_as(value: Any) -> Seen:
    """Return the kind of a value."""
    if isinstance(value, WatchedArray) and value.depends:
        return Seen(TENSOR, name_of(value.dtype), value.ndim, None, value.static_shape)
    if isinstance(value, WatchedNumber):
        return Seen(TENSOR, name_of(np.dtype(value.weak)), 0, value.weak)
    if isinstance(value, np.ndarray | np.generic):
        value = np.asarray(value)
        dtype = value.dtype
        negative = dtype.kind in "if" and value.size > 0 and bool(np.min(value) < 0)
        return Seen(ARRAY, name_of(dtype), value.ndim, shape=value.shape, is_negative=negative)
    if isinstance(value, bool | int | float | complex):
        negative = not isinstance(value, complex) and value < 0
        return Seen(NUMBER_KIND, weak=type(value), is_negative=negative)
    if isinstance(value, list | tuple):
        return _sequence(value)
    return Seen(OTHER)


MOST_ITEMS = 50
"""Items of a sequence that are looked at."""


def _sequence(value: Any) -> Seen:
    items = {seen_as(one) for one in value[:MOST_ITEMS]}
    dtypes = {one.dtype for one in items if one.dtype}
    ranks = {one.rank for one in items}
    weak = {one.weak for one in items}
    # Not only a number of NumPy's, but also one of Python's has a dtype of its own in a list: int64 or float64.
    several = {
        one.common if one.kind == SEQUENCE else one.dtype or (name_of(np.dtype(one.weak)) if one.weak else "")
        for one in items
    }
    common = "" if "" in several or not several else np.result_type(*several).name
    are_numbers = all(one.kind in (TENSOR, ARRAY, NUMBER_KIND) for one in items)
    are_indices = are_numbers and all("int" in one.dtype if one.dtype else one.weak is int for one in items)
    is_of_one = len(dtypes) == 1 and (dtypes == several or not common)
    return Seen(
        SEQUENCE,
        dtypes.pop() if is_of_one else "",
        1 + max(ranks, default=0),
        weak.pop() if len(weak) == 1 else None,
        holds_tensors=depends(value),
        is_negative=any(one.is_negative for one in items),
        common=common,
        is_point=isinstance(value, tuple) and bool(items) and are_indices,
    )
