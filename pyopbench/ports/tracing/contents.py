"""What values hold, and what of it can change: elements of lists, objects of methods, names around functions."""

from __future__ import annotations

import types
from collections import Counter, deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from pyopbench.ports.tracing.array import TracedArray

LEAVES = (
    *(int, float, bool, complex, str, bytes, type(None), type(Ellipsis), np.generic, np.dtype, range, slice),
    *(types.ModuleType, types.CodeType),
)
"""What holds nothing that changes."""

CONTAINERS = (list, dict, set, deque)
"""What is emptied and filled again to put it back."""

BOUND = (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)
"""What has an object that it is called on; any other object may make one up for whoever asks."""

OURS = frozenset(
    {
        *("pyopbench", "numpy", "tensorflow", "scipy", "builtins", "functools", "collections", "re", "datetime"),
        *("decimal", "fractions", "pathlib", "operator", "typing", "enum"),
    }
)
"""Top-level modules whose objects keep nothing between calls."""


def is_foreign(kind: type) -> bool:
    """Is a class one whose objects keep nothing between calls?"""
    return str(kind.__module__).split(".")[0] in OURS


def held_by(value: Any) -> list[Any]:
    """Return what a function or a method holds: its object, its defaults and the names around it."""
    found = [value.__self__] if isinstance(value, BOUND) else []
    if isinstance(value, types.FunctionType):
        found += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        found += [_inside(cell) for cell in value.__closure__ or ()]
    return found


def _inside(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def elements(container: Any) -> list[Any]:
    """Return what is in a list, dict or set."""
    if isinstance(container, dict):
        return list(container.values())
    return list.copy(container) if isinstance(container, list) else list(container)


def count_references(led: Iterable[tuple[Any, int]]) -> Counter[int]:
    """Return how many places lead to each list, dict and set, by identity.

    Args:
        led: values, and how many names or places lead to each of them.
    """
    found: Counter[int] = Counter()
    done: set[int] = set()
    pending = list(led)
    while pending:  # one after another: they may hang on a long chain
        value, times = pending.pop()
        if isinstance(value, LEAVES) or type(value) is TracedArray:
            continue
        if isinstance(value, tuple):
            pending += [(part, times) for part in value]
            continue
        if isinstance(value, CONTAINERS):
            found[id(value)] += times
        if id(value) not in done:
            done.add(id(value))
            pending += [(part, 1) for part in _inside_of(value)]
    return found


def _inside_of(value: Any) -> list[Any]:
    if isinstance(value, CONTAINERS):
        return elements(value)
    return [*held_by(value), *([] if is_foreign(type(value)) else getattr(value, "__dict__", {}).values())]
