"""What names, lists and arrays hold before a part of a body is run, so that it can be put back."""

from __future__ import annotations

import functools
import types
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from pyopbench.ports.tracing.array import TracedArray
from pyopbench.ports.tracing.contents import CONTAINERS, LEAVES, count_references, elements, held_by, is_foreign
from pyopbench.ports.tracing.grown_list import GrownList
from pyopbench.ports.tracing.storage import SERIALS, Storage
from pyopbench.ports.tracing.tape import current, refuse

MOST_OBJECTS = 5_000
"""How many values the names of a function may lead to, for its parts to be run more than once."""

MOST_BYTES = 100_000_000
"""How large an array of NumPy's that names lead to may be, for it to be looked whether it was written to."""


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
        visible: for each of those, its name, and is it one that the function was given?
        catches_unbound: does the function catch errors of names that are unbound?
    """

    names: tuple[str, ...]
    live: tuple[tuple[bool, bool], ...]
    get: Callable[[], tuple[Any, ...]]
    set: Callable[[tuple[Any, ...]], None]
    seen: Callable[[], tuple[Any, ...]]
    visible: tuple[tuple[str, bool], ...] = ()
    catches_unbound: bool = False


class Snapshot:
    """What names, lists and dicts hold before a part is run, and which arrays they lead to."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.values = state.get()
        self.roots: dict[int, Storage] = {}
        self.containers: dict[int, Any] = {}
        self.copies: dict[int, Any] = {}
        self.objects: dict[int, Any] = {}
        self.arrays: list[tuple[Any, int]] = []
        self.classes: list[tuple[type, dict[str, Any]]] = []
        self.can_return = True
        self._pending: list[Any] = [*state.seen(), *outside()]
        while self._pending and len(self.objects) <= MOST_OBJECTS:  # one after another: they may hang on a long chain
            self._follow(self._pending.pop())
        self.born = next(SERIALS)

    @functools.cached_property
    def references(self) -> Counter[int]:
        """How many names and places led to each list and dict; asked for while they do."""
        return references(self.state)

    def _follow(self, value: Any) -> None:
        is_array = type(value) is TracedArray
        if (isinstance(value, LEAVES) and not is_array) or id(value) in self.objects:
            return
        self.objects[id(value)] = value
        if is_array:
            self.roots[id(value._root)] = self.objects[id(value._root)] = value._root
        elif type(value) is np.ndarray:
            self._keep(value)
        elif isinstance(value, bytearray):
            self.can_return = False
        elif isinstance(value, CONTAINERS):
            self._contain(value)
        elif isinstance(value, tuple | frozenset):
            self._pending.extend(value)
        elif isinstance(value, Iterator):
            self.can_return = False
        elif isinstance(value, type):
            self._follow_class(value)
        else:
            self._follow_object(value)
        if len(self.objects) > MOST_OBJECTS:
            self.can_return = False

    def _follow_object(self, value: Any) -> None:
        self._pending.extend(held_by(value))
        if is_foreign(type(value)):
            return
        if hasattr(value, "__dict__"):
            self._contain(vars(value))
            self._follow_class(type(value))
        else:
            self.can_return = False  # what it holds cannot be put back

    def _follow_class(self, kind: type) -> None:
        if is_foreign(kind) or any(one is kind for one, _ in self.classes):
            return
        held = _data_of(kind)
        self.classes.append((kind, held))
        self._pending.extend(held.values())

    def _keep(self, array: Any) -> None:
        if array.nbytes > MOST_BYTES:
            self.can_return = False
        elif array.flags.writeable:
            self.arrays.append((array, crc32(array.tobytes())))

    def _contain(self, value: Any) -> None:
        self.containers[id(value)], self.copies[id(value)] = value, value.copy()
        if isinstance(value, GrownList) and value.stacked is not None:
            self._pending.append(value.stacked)
        else:
            self._pending.extend(elements(value))

    def has_other_classes(self) -> bool:
        """Has an attribute of a class changed?"""
        return any(not _is_same(_data_of(kind), held) for kind, held in self.classes)

    def refuse_writing(self) -> None:
        """Refuse what was written to an array of NumPy's, which is none of the trace's and cannot be put back.

        Raises:
            Refused: it was done.
        """
        if any(crc32(array.tobytes()) != before for array, before in self.arrays):
            why = "writes to an array outside of the function where a value decides"
            raise refuse("x[...] = value", why=why, fix="work on a .copy() of it")

    def has_other_elements(self) -> bool:
        """Is in a list, dict or set something else than before?"""
        return any(not holds_the_same(one, self.copies[place]) for place, one in self.containers.items())

    def restore(self) -> None:
        """Make names, lists and dicts what they were."""
        for place, container in self.containers.items():
            if not holds_the_same(container, self.copies[place]):
                refill(container, self.copies[place])
        for kind, held in self.classes:
            _restore_class(kind, held)
        self.state.set(self.values)


def outside() -> tuple[Any, ...]:
    """Return what the functions that are traced may change outside of their names."""
    tape = current()
    return () if tape is None else tape.shared.outside


def references(state: State) -> Counter[int]:
    """Return how many names and places lead to each list and dict, by identity.

    A name that the part assigns and nothing reads later leads nowhere. One that the function was given counts twice:
    who gave it has it too.
    """
    dead = {name for name, live in zip(state.names, state.live, strict=True) if not any(live)}
    led = [
        (value, 1 + is_given)
        for (name, is_given), value in zip(state.visible, state.seen(), strict=True)
        if name not in dead
    ]
    return count_references([*led, *((value, 1) for value in outside())])


def holds_the_same(container: Any, copy: Any) -> bool:
    """Is in a list, dict or set what was in it when it was copied?"""
    if isinstance(container, GrownList) and (container.stacked is not None or copy.stacked is not None):
        return container.stacked is copy.stacked
    if isinstance(container, set):
        return {id(one) for one in container} == {id(one) for one in copy}
    pairs = [elements(container), elements(copy)]
    if isinstance(container, dict):
        pairs = [[*container.keys(), *pairs[0]], [*copy.keys(), *pairs[1]]]
    return len(pairs[0]) == len(pairs[1]) and all(a is b for a, b in zip(*pairs, strict=True))


def refill(container: Any, values: Any) -> None:
    """Make a list, dict or set hold what another one does."""
    if isinstance(container, GrownList):
        container.become(values)
        return
    container.clear()
    (container.extend if isinstance(container, list | deque) else container.update)(values)


def _data_of(kind: type) -> dict[str, Any]:
    hidden = (types.FunctionType, staticmethod, classmethod, property, types.GetSetDescriptorType)
    return {
        name: value
        for name, value in vars(kind).items()
        if not isinstance(value, hidden) and not (name.startswith("__") and name.endswith("__"))
    }


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(one[name] is other[name] for name in one)


def _restore_class(kind: type, held: dict[str, Any]) -> None:
    now = _data_of(kind)
    for name in now.keys() - held.keys():
        delattr(kind, name)
    for name, value in held.items():
        if now.get(name, UNBOUND) is not value:
            setattr(kind, name, value)
