"""Numbers of one dtype or another, as values decide: 0 before a loop, and a float behind it.

A graph has one dtype for both. That is right as long as nothing that is done to the number would give another value in
the other one: `image * scale` wraps around if the image is of bytes and the scale an integer, and not if it is a float.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray
from pyopbench.ports.tracing.storage import JOINED, Mixed
from pyopbench.ports.tracing.tape import refuse
from pyopbench.ports.tracing.untyped import np

LOGICAL = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor"})
"""What returns a truth value of two of Python's."""

WHOLE = frozenset({"floor_divide", "remainder", "divmod", "power", "fmod"})
"""What integers do otherwise than floats."""

FEW_BYTES = 8
"""Of integers that wrap around where a wider one, or a float, does not."""


def mixed_of(ufunc: Any, spelled: str, operands: Sequence[TracedArray], *, pythons: bool) -> Mixed:
    """Return the dtypes that a result may have, of operands that may have several; none if it has one.

    Args:
        ufunc: what is called.
        spelled: it, as code says it.
        operands: of which some may be of one dtype or another.
        pythons: is it an operator, which returns Python's numbers of Python's?

    Raises:
        Refused: the value differs with the dtype.
    """
    if not any(one._mixed for one in operands):
        return ()
    found: dict[Any, None] = {}
    loops: dict[Any, None] = {}
    for kinds in itertools.product(*(one._mixed or ((one.dtype, one.weak),) for one in operands)):
        is_weak = pythons and all(weak for _, weak in kinds)
        is_number = is_weak and not (ufunc.__name__ in LOGICAL and all(weak is bool for _, weak in kinds))
        examples = [
            1 if is_number and weak is bool else dtypes.example(weak, kind, one.ndim)
            for one, (kind, weak) in zip(operands, kinds, strict=True)
        ]
        given, returned = dtypes.loop(ufunc, examples)
        found[returned[0], type(np.zeros((), returned[0]).item()) if is_weak else None] = None
        loops[tuple(given), is_weak] = None
    if len({given for given, _ in loops}) > 1 and any(_differs(ufunc, *one) for one in loops):
        raise refuse(
            JOINED,
            why=f"{spelled} is of a number that is an integer or a float, as values decide, and gives another value",
            fix="begin with a float",
        )
    return tuple(found) if len(found) > 1 else ()


def _differs(ufunc: Any, given: Sequence[Any], is_weak: bool) -> bool:
    if is_weak:  # Python's integers do not wrap around, and raise where they divide by 0
        return False
    whole = [kind for kind in given if kind.kind in "iub"]
    return any(kind.itemsize < FEW_BYTES for kind in whole) or (bool(whole) and ufunc.__name__ in WHOLE)


def of_nest(leaves: Sequence[TracedArray]) -> Mixed:
    """Return the dtypes that an array of several numbers may have; none if it has one."""
    if not any(one._mixed for one in leaves):
        return ()
    several = [[kind for kind, _ in one._mixed] or [one.dtype] for one in leaves]
    once = list({tuple(kinds): kinds for kinds in several}.values())
    found = dict.fromkeys((np.result_type(*kinds), None) for kinds in itertools.product(*once))
    return tuple(found) if len(found) > 1 else ()
