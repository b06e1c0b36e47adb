"""What the functions of a body may change outside of their names: lists, objects and classes of their modules.

It is found before the body is called, so that it is the same in each call, by the names in the code of the function and
of those that it leads to.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pyopbench.ports.tracing.contents import CONTAINERS, LEAVES, held_by, is_foreign
from pyopbench.ports.tracing.snapshot import Snapshot, State

NOT_FOLLOWED = frozenset(sys.stdlib_module_names) | {"numpy", "scipy", "tensorflow", "keras", "pyopbench", "numba"}
"""Top-level modules whose functions keep nothing that a body sees."""

MOST_FUNCTIONS = 500
"""How many functions are looked through."""


def reachable(body: Any) -> tuple[Any, ...]:
    """Return lists, dicts, objects and classes of modules that a function, or one that it leads to, names."""
    search = _Search()
    search.look_at(body)
    return tuple(search.found.values())


@contextmanager
def put_back(body: Any) -> Iterator[tuple[tuple[Any, ...], Callable[[], None]]]:
    """Give what a body may change outside, and what puts that back; it is put back at the end too."""
    found = reachable(body)
    before = Snapshot(State((), (), tuple, lambda new: None, lambda: found, tuple(("", False) for _ in found)))
    try:
        yield found, before.restore
    finally:
        before.restore()


class _Search:
    def __init__(self) -> None:
        self.found: dict[int, Any] = {}
        self.functions: set[int] = set()
        self.kept: list[Any] = []

    def look_at(self, value: Any) -> None:
        """Look at a value that a name leads to."""
        if isinstance(value, functools.partial):
            for one in (value.func, *value.args, *value.keywords.values()):
                self.look_at(one)
        elif isinstance(value, types.MethodType):
            self.look_at(value.__func__)
            self.look_at(value.__self__)
        elif isinstance(value, types.FunctionType):
            self._look_through(value)
        elif hasattr(value, "__wrapped__") and callable(value):
            self.look_at(value.__wrapped__)
        elif self._is_kept(value) and id(value) not in self.found:
            self.found[id(value)] = value
            self._look_at_methods(value if isinstance(value, type) else type(value))

    def _is_kept(self, value: Any) -> bool:
        if isinstance(value, CONTAINERS):
            return True
        if isinstance(value, (*LEAVES, np.ndarray, BaseException)):
            return False
        kind = value if isinstance(value, type) else type(value)
        return (
            not is_foreign(kind) and _top(kind.__module__) not in NOT_FOLLOWED and not issubclass(kind, BaseException)
        )

    def _look_at_methods(self, kind: type) -> None:
        if not is_foreign(kind):
            for one in vars(kind).values():
                self.look_at(getattr(one, "__func__", one)) if isinstance(one, _METHODS) else None

    def _look_through(self, function: types.FunctionType) -> None:
        if id(function.__code__) in self.functions or len(self.functions) >= MOST_FUNCTIONS:
            return
        if _top(function.__module__) in NOT_FOLLOWED:
            return
        self.functions.add(id(function.__code__))
        self.kept.append(function)  # so that no other function is taken for it
        for value in held_by(function):
            self.look_at(value)
        names = list(_names(function.__code__))
        modules = [function.__globals__]
        for name in names:
            value = function.__globals__.get(name)
            if isinstance(value, types.ModuleType) and _top(value.__name__) not in NOT_FOLLOWED:
                modules.append(vars(value))
        for name in names:
            for module in modules:
                if name in module:
                    self.look_at(module[name])


_METHODS = (types.FunctionType, staticmethod, classmethod)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _names(one)


def _top(name: Any) -> str:
    return str(name or "").split(".")[0]
