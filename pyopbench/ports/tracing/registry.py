"""The table of NumPy's functions that can be traced, and the two ways to enter one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyopbench.ports.tracing.tape import refuse
from pyopbench.ports.tracing.untyped import np


@dataclass(frozen=True)
class TracedFunction:
    """A function of NumPy's in TensorFlow.

    Attributes:
        function: it, with NumPy's parameters; it gets traced arrays and all else as the body gave it.
        is_step: does it return tensors, made in one step? Otherwise it is put together of other functions, and returns
            what they do.
        on_known: is it called for arrays of known value too, because it returns a view or writes to its argument?
    """

    function: Callable[..., Any]
    is_step: bool
    on_known: bool = False


TABLE: dict[str, TracedFunction] = {}
"""By NumPy's name without `np.`."""


def in_tensors(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function that takes traced arrays and returns tensors."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        TABLE.update({name: TracedFunction(function, is_step=True) for name in names})
        return function

    return enter


def in_numpy(*names: str, on_known: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function that is put together of other functions of NumPy's; `on_known` as in `TracedFunction`."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        TABLE.update({name: TracedFunction(function, is_step=False, on_known=on_known) for name in names})
        return function

    return enter


def only(name: str, **options: Any) -> None:
    """Refuse options that no implementation looks at.

    Raises:
        Refused: one of them is not None and not NumPy's mark for an option that was not given.
    """
    for option, value in options.items():
        if value is not None and value is not np._NoValue:
            raise refuse(f"np.{name}(..., {option}=...)")
