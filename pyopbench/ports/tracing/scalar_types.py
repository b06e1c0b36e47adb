"""Types of numbers, NumPy's and Python's, that convert traced values when they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray, as_traced, number, wrap
from pyopbench.ports.tracing.catching import raise_where
from pyopbench.ports.tracing.creation import _known, is_dynamic
from pyopbench.ports.tracing.storage import ALL_BITS
from pyopbench.ports.tracing.tape import step
from pyopbench.ports.tracing.untyped import np


def as_number(kind: type) -> Callable[..., Any]:
    """Return `int`, `float` or `bool` that takes traced values too, of which it makes a number of Python's."""
    to = {int: np.int64, float: np.float64, bool: np.bool_}[kind]

    def convert(*arguments: Any, **options: Any) -> Any:
        if len(arguments) != 1 or type(arguments[0]) is not TracedArray or arguments[0].known is not None:
            return kind(*arguments, **options)
        (x,) = arguments
        if x.static_shape not in ((), (1,) * x.ndim):
            raise TypeError("only length-1 arrays can be converted to Python scalars")
        value = x.value
        if x.dtype.kind == "f" and kind is int:
            raise_where(ValueError("cannot convert float NaN to integer"), lambda: np.isnan(x))
            raise_where(OverflowError("cannot convert float infinity to integer"), lambda: np.isinf(x))
            return number(step("int", lambda: tf.reshape(dtypes.cast(value, to), [])), int)
        found = number(step(kind.__name__, lambda: tf.reshape(dtypes.cast(value, to), [])), kind)
        if x.dtype.kind in "iu":
            found._bits = x._bits if x.weak is int else min(ALL_BITS, 8 * x.dtype.itemsize)
        return found

    return convert


class _StandsForType(type):
    """A class that stands for the type `kind`: equal to it, and with the same instances and subclasses."""

    kind: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.kind)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(getattr(subclass, "kind", subclass), cls.kind)

    def __eq__(cls, other: Any) -> bool:
        return cls.kind is getattr(other, "kind", other)

    def __hash__(cls) -> int:
        return hash(cls.kind)


class _ScalarType(_StandsForType):
    """What a type of NumPy's scalars is in a trace: called on a traced value it converts, else it is the type."""

    def __call__(cls, *arguments: Any) -> Any:
        if arguments and is_dynamic(arguments[0]):
            return as_traced(arguments[0]).astype(cls.kind)
        return wrap(cls.kind(*_known(arguments)))


def _scalar_types() -> dict[str, Any]:
    kinds = {"bool_": np.bool_, "intp": np.intp, "int_": np.int64}
    names = ("float16", "float32", "float64", "int8", "int16", "int32", "int64")
    more = (*names, "uint8", "uint16", "uint32", "uint64", "complex64", "complex128")
    kinds.update({name: getattr(np, name) for name in more})
    made = {
        kind: _ScalarType(kind.__name__, (), {"kind": kind, "dtype": np.dtype(kind), "__module__": "numpy"})
        for kind in set(kinds.values())
    }
    return {name: made[kind] for name, kind in kinds.items()}


SCALARS = _scalar_types()


class _NumberType(_StandsForType):
    """What `int`, `float` and `bool` are in a trace: the types, which take traced values too."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        return as_number(cls.kind)(*arguments, **options)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.kind, name)


NUMBERS = {
    kind.__name__: _NumberType(kind.__name__, (), {"kind": kind, "dtype": np.dtype(kind)})
    for kind in (int, float, bool)
}
