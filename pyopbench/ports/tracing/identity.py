"""What Python knows of values besides what they are: `x is y`, and `type(x)`."""

from __future__ import annotations

from typing import Any

from pyopbench.ports.tracing.array import TracedArray
from pyopbench.ports.tracing.grown_list import GrownList
from pyopbench.ports.tracing.scalar_types import NUMBERS, SCALARS
from pyopbench.ports.tracing.storage import JOINED
from pyopbench.ports.tracing.tape import refuse

STANDS = {made.kind: made for made in (*SCALARS.values(), *NUMBERS.values())}
"""What stands for a type of numbers, by the type."""


def is_same(one: Any, other: Any) -> Any:
    """Return `one is other`; truth values of Python's are the same where they are equal, also in the graph.

    Raises:
        Refused: one is an array that may be one or another.
    """
    for value in (one, other):
        if type(value) is TracedArray and value._root._kin:
            why = "compares what an `if` or a loop leaves one array or another, depending on values"
            raise refuse(JOINED, why=why, fix="compare values")
    if _is_truth(one) and _is_truth(other):
        return one == other
    return one is other


def is_other(one: Any, other: Any) -> Any:
    """Return `one is not other`."""
    found = is_same(one, other)
    return not found if isinstance(found, bool) and type(found) is bool else found == False  # noqa: E712 - of the graph


def _is_truth(value: Any) -> bool:
    return value.weak is bool if type(value) is TracedArray else type(value) is bool


def type_of(value: Any) -> Any:
    """Return `type(value)`: of what stands for an array or a number, the type of that."""
    found = value.__class__ if type(value) is TracedArray else type(value)
    found = list if found is GrownList else found
    return STANDS.get(found, found)


class _TypeOfTypes(type):
    """What `type` is in a trace."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        return type_of(*arguments) if len(arguments) == 1 else type(*arguments, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, type)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(subclass, type)

    def __eq__(cls, other: Any) -> bool:
        return other is type or other is cls

    def __hash__(cls) -> int:
        return hash(type)


TYPE = _TypeOfTypes("type", (), {})
