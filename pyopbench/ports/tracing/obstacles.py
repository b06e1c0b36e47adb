"""What else in a user's files may stop a trace behind what stopped it first: names that are in no table."""

from __future__ import annotations

import ast
import linecache
import types
from collections.abc import Iterable, Iterator
from typing import Any

from pyopbench.ports.tensor_functions.sources import FUNCTIONS
from pyopbench.ports.tracing import methods
from pyopbench.ports.tracing.functions import name_of
from pyopbench.ports.tracing.names import _NUMPY
from pyopbench.ports.tracing.registry import TABLE
from pyopbench.ports.tracing.ufuncs import UFUNCS
from pyopbench.ports.tracing.untyped import np
from pyopbench.ports.tracing.user_code import functions_at

Place = tuple[str, int]

NUMPYS = ("np", "numpy")
"""Names by which NumPy is imported nearly everywhere."""


def others_in(codes: Iterable[types.CodeType], first: Place | None) -> list[tuple[str, Place]]:
    """Return what no graph has of NumPy's, and methods of its arrays, with their lines.

    A function of what is known before the graph runs is no obstacle; which ones that are is not known here.

    Args:
        codes: of functions of the user's.
        first: the place that is told already.
    """
    found: list[tuple[str, Place]] = []
    for code in codes:
        source = "".join(linecache.getlines(code.co_filename))
        for function in functions_at(source, code.co_firstlineno, code.co_name):
            for node in ast.walk(function):
                for spelled in _lacking(node):
                    place = (code.co_filename, node.lineno)  # type: ignore[attr-defined]
                    if place != first and spelled not in [one for one, _ in found]:
                        found.append((spelled, place))
    return found


def _lacking(node: ast.AST) -> Iterator[str]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    chain = ast.unparse(node.func).split(".")
    if chain[0] in NUMPYS:
        value = _numpys(chain[1:])
        if value is not None and not _is_traced(value):
            yield ".".join(["np", *chain[1:]])
    elif _is_method_of_arrays_alone(node.func.attr):
        yield f".{node.func.attr}"


def _numpys(names: list[str]) -> Any:
    value: Any = np
    for name in names:
        value = getattr(value, name, None)
    return value


def _is_traced(value: Any) -> bool:
    if isinstance(value, np.ufunc):
        return value.__name__ in UFUNCS or f"scipy.special.{value.__name__}" in FUNCTIONS
    if isinstance(value, type | types.ModuleType):
        return True
    home = str(getattr(value, "__module__", "") or "")
    if not home.startswith("numpy"):
        return True
    takes_arrays = hasattr(value, "__wrapped__") or home.startswith(("numpy.ma", "numpy.random"))
    return not takes_arrays or name_of(value) in TABLE or getattr(value, "__name__", "") in _NUMPY


def _is_method_of_arrays_alone(name: str) -> bool:
    """Has nothing but NumPy's arrays a method of a name, and have traced ones not?"""
    if name.startswith("_") or name in methods.METHODS or name in methods.ATTRIBUTES:
        return False
    return hasattr(np.ndarray, name) and not any(
        hasattr(one, name) for one in (list, dict, str, bytes, set, int, float)
    )
