"""What names, lists and arrays hold before a part of a body is run, so that it can be put back."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopbench.catalogue.traced.array import TracedArray
from pyopbench.catalogue.traced.grown_list import GrownList
from pyopbench.catalogue.traced.storage import SERIALS, Storage

MOST_OBJECTS = 5_000
"""How many values the names of a function may lead to, for its parts to be run more than once."""


LEAVES = (int, float, bool, complex, str, bytes, type(None), np.generic, type, types.ModuleType, types.FunctionType)


OURS = frozenset({"pyopbench", "numpy", "tensorflow", "scipy", "builtins", "functools"})
"""Top-level modules whose objects keep nothing between calls."""


class _Unbound:
    """A name that nothing is assigned to."""


UNBOUND = _Unbound()


def read(look: Callable[[], Any]) -> Any:
    """Return the value of a name, or that it is unbound."""
    try:
        return look()
    except NameError:
        return UNBOUND


@dataclass(frozen=True)
class State:
    """The names of a part.

    Attributes:
        names: those that it assigns.
        live: for each, is it read outside of the part? and may the part read it first?
        get: returns their values.
        set: binds them.
        seen: returns the values of all names of the function.
    """

    names: tuple[str, ...]
    live: tuple[tuple[bool, bool], ...]
    get: Callable[[], tuple[Any, ...]]
    set: Callable[[tuple[Any, ...]], None]
    seen: Callable[[], tuple[Any, ...]]


class Snapshot:
    """What names, lists and dicts hold before a part is run, and which arrays they lead to."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.values = state.get()
        self.roots: dict[int, Storage] = {}
        self.containers: dict[int, Any] = {}
        self.copies: dict[int, Any] = {}
        self.objects: dict[int, Any] = {}
        self.can_return = True
        for value in state.seen():
            self._follow(value)
        self.born = next(SERIALS)

    def _follow(self, value: Any) -> None:
        is_array = type(value) is TracedArray
        if (isinstance(value, LEAVES) and not is_array) or id(value) in self.objects:
            return
        self.objects[id(value)] = value
        if is_array:
            self.roots[id(value._root)] = self.objects[id(value._root)] = value._root
        elif isinstance(value, list | dict | set):
            self._contain(value)
        elif isinstance(value, tuple):
            self._follow_all(value)
        elif isinstance(value, Iterator):
            self.can_return = False
        elif hasattr(value, "__dict__") and type(value).__module__.split(".")[0] not in OURS:
            self._contain(vars(value))
        if len(self.objects) > MOST_OBJECTS:
            self.can_return = False

    def _contain(self, value: Any) -> None:
        self.containers[id(value)], self.copies[id(value)] = value, value.copy()
        if isinstance(value, GrownList) and value.stacked is not None:
            self._follow(value.stacked)
        else:
            self._follow_all(value.values() if isinstance(value, dict) else value)

    def _follow_all(self, values: Any) -> None:
        for one in list(values)[:MOST_OBJECTS]:
            self._follow(one)

    def restore(self) -> None:
        """Make names, lists and dicts what they were."""
        for place, container in self.containers.items():
            refill(container, self.copies[place])
        self.state.set(self.values)


def refill(container: Any, values: Any) -> None:
    """Make a list, dict or set hold what another one does."""
    if isinstance(container, GrownList):
        container.become(values)
        return
    container.clear()
    (container.extend if isinstance(container, list) else container.update)(values)
