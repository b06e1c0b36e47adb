"""The table of NumPy's functions as TensorFlow's source, and the two ways to enter one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pyopbench.ports.porting.arguments import Given

Writer: TypeAlias = Callable[[Given], str]


@dataclass(frozen=True)
class PortEntry:
    """How a function is written.

    Attributes:
        parameters: names of its parameters in NumPy's order; one that begins with `*` takes all that is left.
        write: returns the text of a call.
    """

    parameters: tuple[str, ...]
    write: Writer


TABLE: dict[str, PortEntry] = {}
"""By name, as `names.name_of` returns it."""


def written(names: str, parameters: str) -> Callable[[Writer], Writer]:
    """Enter a function, under one name or several, with the names of its parameters."""

    def enter(write: Writer) -> Writer:
        for name in names.split():
            TABLE[name] = PortEntry(tuple(parameters.split()), write)
        return write

    return enter
