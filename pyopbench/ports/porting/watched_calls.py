"""What a body does with values while it is watched: functions of Python, of libraries and TensorFlow, and operators.

NumPy's functions are in `watched_values`, because NumPy calls the arrays for them.
"""

from __future__ import annotations

import itertools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from pyopbench.ports.porting.watched_values import (
    CONTROL,
    NUMBERS,
    WatchedArray,
    WatchedInt,
    WatchedNumber,
    apply,
    as_result,
    depending,
    depends,
    flat,
    grow,
    is_open,
    length_depends,
    plain,
    renew,
)

MOST_ITEMS = 1_000_000
"""Items that are taken of an iterator, which may be endless, such as `enumerate(itertools.count())`."""


def _range(*bounds: Any) -> Any:
    numbers = range(*(operator.index(one) for one in plain(bounds)))
    if not depends(bounds):
        return numbers
    found = [depending(one) for one in numbers[:MOST_ITEMS]]
    grow(found)
    return found


def _taken(function: Any) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        given = [
            list(one) if not isinstance(one, list | tuple | np.ndarray) and hasattr(one, "__iter__") else one
            for one in arguments
        ]
        found = function(*given, **options)
        if function in (min, max):
            found = _of_their_dtype(found, given)
        return depending(found) if depends(given) or any(map(length_depends, arguments)) else found

    return call


def _of_their_dtype(found: Any, given: list[Any]) -> Any:
    """Return the largest or smallest number, in the dtype of the NumPy numbers: the values decide which one it is."""
    dtypes = {one.dtype for one in flat(given) if isinstance(one, WatchedArray | np.generic)}
    is_number = isinstance(found, WatchedNumber) or type(found) in NUMBERS
    return dtypes.pop().type(plain(found)) if is_number and len(dtypes) == 1 else found


def _listed(function: Any) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        found = function(*arguments, **options)
        if not isinstance(found, list | tuple):  # what `zip` returns has no length
            found = list(itertools.islice(found, MOST_ITEMS))
        if any(map(length_depends, arguments)):
            grow(found)
        return found

    return call


PYTHON: dict[Any, Any] = {
    len: lambda value: WatchedInt(len(value)) if length_depends(value) else len(value),
    range: _range,
    **{one: _taken(one) for one in (any, all, sum, min, max)},
    **{one: _listed(one) for one in (list, tuple, zip, enumerate, reversed)},
    sorted: _listed(_taken(sorted)),
}
"""The functions that are called in place of Python's."""

CHANGING = ("append", "extend", "insert", "pop", "remove", "clear")
"""Methods that change the length of a list."""

NUMERIC = (int, float, complex, bool, abs, round, divmod, pow)
"""Python functions on numbers."""

COMPUTING = ("numpy", "scipy", "math", "cmath", "_operator", "tensorflow", "keras")
"""Libraries whose functions are given plain values; what makes a tensor returns an array here."""


def is_numeric(function: Any) -> bool:
    """Is it a function that computes with numbers, and not the user's?"""
    receiver = getattr(function, "__self__", None)
    if isinstance(receiver, WatchedArray | np.ufunc) or any(function is one for one in NUMERIC):
        return True
    if not callable(function) or isinstance(function, np.errstate) or function is np.errstate:
        return False
    home = getattr(function, "__module__", None) or getattr(type(function), "__module__", "")
    if isinstance(receiver, types.ModuleType):
        home = receiver.__name__
    return str(home).split(".")[0] in COMPUTING


def call(function: Any, arguments: Any, options: Any) -> Any:
    """Return the result of any function that is called in a body."""
    known = PYTHON.get(function) if isinstance(function, type | types.BuiltinFunctionType) else None
    if known is not None:
        return known(*map(_as_callable, arguments), **{key: _as_callable(one) for key, one in options.items()})
    if function in (isinstance, issubclass):
        return function(*arguments)
    if is_numeric(function):
        is_same = function is np.asarray and len(arguments) == 1 and not options
        is_same = is_same and isinstance(arguments[0], WatchedArray) and not arguments[0].is_scalar
        return arguments[0] if is_same else apply(function, arguments, options)
    receiver = getattr(function, "__self__", None)
    found = function(*map(_as_callable, arguments), **{key: _as_callable(one) for key, one in options.items()})
    if isinstance(receiver, list) and CONTROL.depth and function.__name__ in CHANGING:
        grow(receiver)
    return found


def _as_callable(value: Any) -> Any:
    """Return what is passed on to code that is not watched: a function is called with watched values.

    An array has no holder there, because a port binds no name of the caller's to what is written to it.
    """
    if isinstance(value, WatchedArray):
        return renew(value)
    is_function = isinstance(value, type | types.BuiltinFunctionType | np.ufunc | types.FunctionType)
    if is_function and is_numeric(value) and not (isinstance(value, type) and issubclass(value, np.generic)):
        return lambda *arguments, **options: call(value, arguments, options)
    return value


# Attributes and operators.


def attribute(value: Any, name: str) -> Any:
    """Return an attribute."""
    if not isinstance(value, WatchedArray) or name in ("shape", "size"):
        return getattr(value, name)
    found = getattr(plain(value), name)
    if isinstance(found, np.ndarray | np.generic):
        result = as_result(found, (value,), {}, name, is_dependent=value.depends)
        if isinstance(result, WatchedArray) and name in ("T", "mT"):
            last = value.ndim - 1
            result.unknown = frozenset(last - axis for axis in value.unknown)
        return result
    return getattr(value, name) if callable(found) else found


def operated(function: Any, *given: Any) -> Any:
    """Return the result of an operator; numbers without arrays are computed by Python's rules, even if watched.

    In Python, `float * np.float64` is a NumPy number and `bool & bool` a bool. The subclasses above would change that.
    """
    if any(isinstance(one, WatchedArray) for one in given):
        return function(*given)
    return function(*(plain(one) if isinstance(one, WatchedNumber) else one for one in given))


def derived(found: Any, *given: Any) -> Any:
    """Return the result of an operator of numbers, lists and tuples as one that depends on an input."""
    if type(found) in NUMBERS or isinstance(found, np.generic):
        return depending(found) if any(map(is_open, given)) else found
    is_repeated = type(found) in (list, tuple) and any(isinstance(one, WatchedNumber) for one in given)
    return depending(found) if is_repeated else found


def settled(value: Any, dtype: str = "") -> Any:
    """Return a value as it is behind a condition, or in a loop, that values decide.

    Args:
        value: of a name that is bound there.
        dtype: that the name has in other rounds or on the other way; empty for its own.
    """
    is_number = isinstance(value, WatchedNumber) or type(value) in NUMBERS
    if dtype and is_number and np.can_cast(np.min_scalar_type(plain(value)), dtype, "same_kind"):
        return depending(np.dtype(dtype).type(plain(value)))
    if isinstance(value, list):
        value[:] = [settled(one) for one in value]
        return value
    return depending(value)


def _contains(value: Any, several: Any) -> bool:
    return plain(value) in (several if isinstance(several, set | frozenset | dict) else plain(several))


OPERATORS: dict[str, Callable[..., Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow, "LShift": operator.lshift,
    "RShift": operator.rshift, "BitAnd": operator.and_, "BitOr": operator.or_, "BitXor": operator.xor,
    "MatMult": operator.matmul, "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Eq": operator.eq, "NotEq": operator.ne, "In": _contains,
    "NotIn": lambda value, several: not _contains(value, several),
    "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert, "Not": operator.not_,
}  # fmt: skip
