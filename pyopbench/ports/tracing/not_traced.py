"""What a body may call that is not traced: random numbers, and compiled code of other libraries."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from pyopbench.ports.tracing.array import wrap
from pyopbench.ports.tracing.creation import _known, is_dynamic
from pyopbench.ports.tracing.tape import refuse

COMPILED = ("builtin_function_or_method", "cython_function_or_method", "fortran", "fused_cython_function")
"""Names of the types of functions that are no Python."""

KNOWN = frozenset(sys.stdlib_module_names) | {"builtins", "numpy", "tensorflow", "keras", "pyopbench"}
"""Top-level modules whose compiled functions are called as they are, or have counterparts."""


def is_random(home: str | None) -> bool:
    """Is a module one of random numbers?"""
    return str(home).startswith(("numpy.random", "random"))


def refused_random(*arguments: Any, **options: Any) -> Any:
    """Refuse to draw random numbers.

    Raises:
        Refused: always.
    """
    raise refuse(
        "np.random", why="would give the same numbers in every call of the graph", fix="pass them in as inputs"
    )


class RandomModule:
    """A module of random numbers, whose functions are refused."""

    def __getattr__(self, name: str) -> Any:
        return refused_random


def is_compiled(value: Any) -> bool:
    """Is a value a function of a library that is no Python, and of which no graph knows what it does?"""
    if type(value).__name__ not in COMPILED or isinstance(getattr(value, "__self__", None), list | dict | set | str):
        return False
    home = str(getattr(value, "__module__", "") or "").split(".")[0]
    return bool(home) and home not in KNOWN


def refusing_tensors(function: Any) -> Callable[..., Any]:
    """Return a compiled function that is refused for what only the graph knows."""
    name = f"{function.__module__}.{getattr(function, '__name__', '')}".replace("._", ".").rstrip(".")

    @functools.wraps(function, assigned=("__name__", "__doc__"), updated=())
    def call(*arguments: Any, **options: Any) -> Any:
        if is_dynamic([*arguments, options]):
            why = "is compiled code, which takes arrays of NumPy's and no values of a graph"
            raise refuse(f"{name}(...)", why=why, fix="do this step in NumPy, or keep the callback")
        return wrap(function(*_known(arguments), **{key: _known(one) for key, one in options.items()}))

    return call


def is_of_random_object(value: types.BuiltinFunctionType) -> bool:
    """Is a function a method of a generator of random numbers?"""
    return is_random(type(getattr(value, "__self__", None)).__module__)
