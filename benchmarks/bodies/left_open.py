"""What a body itself leaves open: results that change when its inputs move by a few roundings.

The order of equal elements, the signs of singular vectors, and the rest of a difference that cancels depend on the last
digits of what went in. Another way to compute the same may have them otherwise, and neither is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pyopbench.model.errors import WrongResult
from pyopbench.worker.prepare.checks import require_equal

Arrays: TypeAlias = Sequence[Any]

MOVES = 24
"""How often inputs are moved. Each of two that are equal comes first in half of them."""

ROUNDINGS = 4
"""By how many roundings an element is moved at most: as much as a few steps of arithmetic lose."""


def moved(inputs: Arrays, *, whole_too: bool = False) -> Iterator[list[Any]]:
    """Yield inputs whose floats are each moved by a few units in the last place, up or down.

    Args:
        inputs: of a body.
        whole_too: move whole numbers too, which may be labels, and are otherwise left as they are.
    """
    rng = np.random.default_rng(len(inputs))
    for _ in range(MOVES):
        yield [_moved(array, rng, whole_too=whole_too) if array.dtype.kind == "f" else array for array in inputs]


def _moved(array: Any, rng: np.random.Generator, *, whole_too: bool) -> Any:
    finite = np.isfinite(array) & (whole_too | (array != np.rint(array)))
    spacing = np.spacing(np.where(finite, array, 1))
    steps = rng.integers(-ROUNDINGS, ROUNDINGS + 1, array.shape)
    return np.asarray(np.where(finite, array + steps * spacing, array), array.dtype)


def differing(found: Arrays, expected: Arrays, tolerance: float) -> list[int]:
    """Return the positions of arrays that are not those expected."""
    pairs = enumerate(zip(found, expected, strict=True))
    return [place for place, (one, other) in pairs if not _is_same(one, other, tolerance)]


def _is_same(found: Any, expected: Any, tolerance: float) -> bool:
    try:
        require_equal("", found, expected, tolerance)
    except WrongResult:
        return False
    return True


@dataclass(frozen=True)
class Compared:
    """What a port returned, and what its body or the gradient of that did.

    Attributes:
        found: by the port.
        expected: by the body.
        tolerance: as that of `require_equal`.
    """

    found: Arrays
    expected: Arrays
    tolerance: float


def are_open(
    function: Callable[[Arrays], Arrays], inputs: Arrays, compared: Compared, *, whole_too: bool = False
) -> bool:
    """Is each array that is off one that the body itself makes otherwise of inputs that are a few roundings away?

    What is NaN or infinite in one and not in the other is open only where the body itself goes from one to the other.

    Args:
        function: the body, or its gradient.
        inputs: where both were called.
        compared: what each returned.
        whole_too: as that of `moved`.
    """
    found, expected, tolerance = compared.found, compared.expected, compared.tolerance
    off = differing(found, expected, tolerance)
    if any(np.asarray(found[place]).dtype != expected[place].dtype for place in off):
        return False
    left = set(off)
    for one in moved(inputs, whole_too=whole_too):
        with np.errstate(all="ignore"):
            other = function(one)
        left -= {place for place in left if _explains(other[place], found[place], expected[place], tolerance)}
        if not left:
            return True
    return not left


def _explains(other: Any, found: Any, expected: Any, tolerance: float) -> bool:
    if _is_same(other, expected, tolerance):
        return False
    return not _differs_in_kind(found, expected) or _differs_in_kind(other, expected)


def _differs_in_kind(one: Any, other: Any) -> bool:
    """Have two arrays other shapes, or numbers in other places?"""
    first, second = np.asarray(one), np.asarray(other)
    if first.shape != second.shape:
        return True
    return first.dtype.kind in "fc" and bool((np.isfinite(first) != np.isfinite(second)).any())
