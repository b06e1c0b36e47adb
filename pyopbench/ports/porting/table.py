"""The table of NumPy's functions that are an expression of TensorFlow's, and the way to enter one.

What it has not got, or declines to write, is a function on tensors (`ports.tensor_functions`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pyopbench.ports.porting.arguments import Given

Writer: TypeAlias = Callable[[Given], str | None]


@dataclass(frozen=True)
class PortEntry:
    """How a function is written.

    Attributes:
        parameters: names of its parameters in NumPy's order; one that begins with `*` takes all that is left.
        write: returns the text of a call; None for one that TensorFlow has no expression for.
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
