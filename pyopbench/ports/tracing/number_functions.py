"""Functions of Python's that take traced numbers too: those of `math`, and `len`, `min`, `max` and `round`."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any

from pyopbench.ports.tracing.array import TracedArray, as_traced, number
from pyopbench.ports.tracing.catching import raise_where
from pyopbench.ports.tracing.creation import _known, is_dynamic
from pyopbench.ports.tracing.python_numbers import rounded_decimal
from pyopbench.ports.tracing.scalar_types import as_number
from pyopbench.ports.tracing.tape import step
from pyopbench.ports.tracing.untyped import np


def _mathematical(name: str, ufunc: Any) -> Callable[..., Any]:
    plain = getattr(math, name)

    def call(*arguments: Any) -> Any:
        if not is_dynamic(list(arguments)):
            return plain(*_known(arguments))
        given = [as_number(float)(one) for one in arguments]
        if name in ("floor", "ceil", "trunc"):
            raise_where(ValueError("cannot convert float NaN to integer"), lambda: np.isnan(given[0]))
            raise_where(OverflowError("cannot convert float infinity to integer"), lambda: np.isinf(given[0]))
        found = ufunc(*given)
        if not name.startswith("is"):
            _raise_as_math(name, given, found)
        value = found.value
        kind = int if name in ("floor", "ceil", "trunc") else bool if name.startswith("is") else float
        return (
            number(step(name, lambda: as_traced(found).astype(np.dtype(kind)).value), kind)
            if kind is int
            else number(value, kind)
        )

    return call


OVERFLOWING = ("exp", "expm1", "sinh", "cosh", "hypot", "pow")
"""Functions of which an infinite result is too large; of others it is outside of what they are defined for."""


def _raise_as_math(name: str, given: list[Any], found: Any) -> None:
    """Raise what functions of `math` do in place of NaN and infinity, if the body catches it."""

    def was_given(test: Any) -> bool:
        return any(map(test, given))

    raise_where(ValueError("math domain error"), lambda: np.isnan(found) and not was_given(np.isnan))
    error = OverflowError("math range error") if name in OVERFLOWING else ValueError("math domain error")
    raise_where(error, lambda: np.isinf(found) and not was_given(np.isnan) and not was_given(np.isinf))


MATH_UFUNCS = {
    **{name: name for name in ("sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh")},
    **{
        name: name for name in ("cosh", "tanh", "floor", "ceil", "trunc", "hypot", "isnan", "isinf", "isfinite", "fabs")
    },
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "pow": "power",
    "fmod": "fmod",
    "degrees": "degrees",
    "radians": "radians",
    "copysign": "copysign",
}

MATH = {name: _mathematical(name, getattr(np, ufunc)) for name, ufunc in MATH_UFUNCS.items()}


def length(value: Any) -> Any:
    """Return `len`, of a traced array also where only the graph knows it."""
    if type(value) is TracedArray and value.static_shape and value.static_shape[0] is None:
        return value.shape[0]
    if getattr(value, "stacked", None) is not None:
        return value.length()
    return len(value)


def extreme(name: str, is_better: Any) -> Callable[..., Any]:
    """Return `min` or `max`, which compare traced numbers in the graph and take the first of equal ones."""
    plain = getattr(builtins, name)

    def extreme(*arguments: Any, **options: Any) -> Any:
        several = list(arguments[0] if len(arguments) == 1 else arguments)
        arrays = [as_traced(one) for one in several if not isinstance(one, str)]
        if options or not is_dynamic(several) or any(one.ndim for one in arrays):
            return plain(*(arguments if len(arguments) > 1 else (several,)), **options)
        found = several[0]
        for one in several[1:]:
            found = _chosen(is_better(one, found), one, found)
        return found

    return extreme


def _chosen(condition: Any, x: Any, y: Any) -> Any:
    """Return one of two numbers; a number of Python's if both are, or both as NumPy promotes them."""
    first, second = as_traced(x), as_traced(y)
    if first.dtype != second.dtype and first.weak is None and second.weak is None:
        return x if condition else y
    found = as_traced(np.where(condition, x, y))
    both = first.weak is not None and first.weak is second.weak
    return number(found.value, first.weak) if both and first.weak and not found.is_known else found


def rounded(value: Any, digits: Any = None) -> Any:
    """Return `round`, which takes traced numbers and arrays too."""
    if type(value) is not TracedArray:
        return round(value) if digits is None else round(value, digits)
    if digits is not None and value.weak is float and not value.is_known:
        return rounded_decimal(value, operator.index(digits))
    found = np.round(value, digits or 0)
    return as_number(int)(found) if digits is None and value.is_scalar else found
