"""Values as source: numbers, text, containers of these, arrays, dtypes, configurations."""

from __future__ import annotations

import argparse
import dataclasses
import math
import types
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

LONGEST = 100_000
"""Characters. A vocabulary of some thousand words fits; anything longer is data, and should be an input."""

Refer: TypeAlias = Callable[[Any], Any]
"""Returns the source of a function or a module, as one part or several, or raises `NotWritable`."""
Parts: TypeAlias = list[Any]
"""Text, and what `Refer` returned, in the order of the source."""

NAMESPACE = types.SimpleNamespace
PLAIN = (type(None), bool, int, complex, str, bytes, type(...), range, slice)
NAMESPACES = (types.SimpleNamespace, argparse.Namespace)
TRACKING = ("keras", "tensorflow")
"""Libraries whose objects replace containers among their attributes by containers of the library."""


class NotWritable(Exception):
    """A value cannot be written as source; the message says what kind of value it is."""


def source_parts(value: Any, refer: Refer, longest: int = LONGEST) -> Parts:
    """Return the source of an expression for a value.

    Args:
        value: anything.
        refer: returns the source of a module, a class or a function.
        longest: the most characters that the source may have.

    Raises:
        NotWritable: there is no such expression, or it is too long.
    """
    parts = _parts(value, refer, ())
    if sum(len(one) for one in parts if isinstance(one, str)) > longest:
        size = f"an array of {value.size:,} elements" if isinstance(value, np.ndarray) else f"a {_kind(value)}"
        raise NotWritable(f"{size}, too much for a source file")
    return parts


def plain_container(value: Any) -> Any:
    """Return Python's container for one that a layer, metric or `tf.Module` has replaced; anything else unchanged."""
    if type(value).__module__.partition(".")[0] not in TRACKING or hasattr(value, "_fields"):
        return value
    return next((kind(value) for kind in (dict, list, tuple, set) if isinstance(value, kind)), value)


def is_same(one: Any, other: Any) -> bool:
    """Do two values have the same source? Values without source count as the same."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        same = (one.dtype, one.shape) == (other.dtype, other.shape)
        return same and (one.dtype.hasobject or one.tobytes() == other.tobytes())
    try:
        return _parts(one, _by_identity, ()) == _parts(other, _by_identity, ())
    except NotWritable:
        return type(one).__qualname__ == type(other).__qualname__


def _by_identity(value: Any) -> Any:
    return getattr(value, "__qualname__", getattr(value, "__name__", type(value)))


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def _parts(value: Any, refer: Refer, around: tuple[int, ...]) -> Parts:
    if id(value) in around:
        raise NotWritable("a container that contains itself")
    inside = (*around, id(value))
    value = plain_container(value)
    kind = type(value)
    if kind is float:
        return [repr(value)] if math.isfinite(value) else [f'float("{value}")']
    if kind in PLAIN:
        return [repr(value)]
    if kind in (tuple, list, set, frozenset):
        return _container(value, [_parts(one, refer, inside) for one in value])
    if kind is dict:
        pairs = [[*_parts(key, refer, inside), ": ", *_parts(one, refer, inside)] for key, one in value.items()]
        return ["{", *joined(pairs), "}"]
    if isinstance(value, np.dtype):
        if value.hasobject or value.names:
            raise NotWritable("a structured dtype")
        return [
            *_referred(np, refer),
            f".dtype({value.str if value.kind in 'SUV' or not value.isnative else value.name!r})",
        ]
    if isinstance(value, np.generic):
        return _scalar(value, refer)
    if kind is np.ndarray:
        return _array(value, refer)
    if kind in NAMESPACES:
        given = [[f"{name}=", *_parts(one, refer, inside)] for name, one in vars(value).items()]
        if not all(name.isidentifier() for name in vars(value)):
            raise NotWritable(f"a {_kind(value)} with names that are not Python identifiers")
        return [*_referred(NAMESPACE, refer), "(", *joined(given), ")"]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        items = joined([_parts(one, refer, inside) for one in value])
        return [*_referred(namedtuple, refer), f"({kind.__name__!r}, {list(value._fields)!r})(", *items, ")"]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in dataclasses.fields(value)]
        return _parts(NAMESPACE(**{name: getattr(value, name) for name in names}), refer, inside)
    return _referred(value, refer)


def _referred(value: Any, refer: Refer) -> Parts:
    found = refer(value)
    return found if isinstance(found, list) else [found]


def _container(value: Any, items: Sequence[Parts]) -> Parts:
    kind, inner = type(value), joined(items)
    if kind is tuple:
        return ["(", *inner, ",)" if len(items) == 1 else ")"]
    if kind is list:
        return ["[", *inner, "]"]
    literal = ["{", *inner, "}"] if items else ["set()"]
    return literal if kind is set else ["frozenset(", *(literal if items else []), ")"]


def joined(items: Sequence[Parts]) -> Parts:
    """Return items with a comma between each and the next."""
    return [part for place, item in enumerate(items) for part in (*([", "] if place else []), *item)]


def _scalar(value: Any, refer: Refer) -> Parts:
    if value.dtype.kind not in "biufc":
        raise NotWritable(f"a {_kind(value)}")
    (item,) = _numbers(np.asarray(value).reshape(1), refer)
    return [*_referred(np, refer), f".{_name(value.dtype)}(", *item, ")"]


def _name(dtype: Any) -> str:
    return "bool_" if dtype.kind == "b" else str(dtype.name)


def _array(value: npt.NDArray[Any], refer: Refer) -> Parts:
    dtype = value.dtype
    if dtype.kind not in "biufcSU":
        raise NotWritable(f"an array of dtype {dtype}")
    written: Parts = (
        [*_referred(np, refer), f".{_name(dtype)}"] if dtype.kind in "biufc" and dtype.isnative else [repr(dtype.str)]
    )
    shape = repr(value.shape if value.ndim != 1 else value.shape[0])
    if not value.size:
        return [*_referred(np, refer), f".zeros({shape}, ", *written, ")"]
    flat = value.reshape(-1)
    if value.size > 1 and flat.tobytes() == flat[:1].tobytes() * value.size:
        if not any(flat[:1].tobytes()):
            return [*_referred(np, refer), f".zeros({shape}, ", *written, ")"]
        (item,) = _numbers(flat[:1], refer)
        return [*_referred(np, refer), f".full({shape}, ", *item, ", ", *written, ")"]
    if value.size > LONGEST:
        return ["0" * (LONGEST + 1)]
    return [*_referred(np, refer), ".array(", *_nested(_numbers(flat, refer), value.shape), ", ", *written, ")"]


def _nested(items: list[Parts], shape: tuple[int, ...]) -> Parts:
    if not shape:
        return items[0]
    step = len(items) // shape[0]
    return ["[", *joined([_nested(items[step * row : step * (row + 1)], shape[1:]) for row in range(shape[0])]), "]"]


def _numbers(flat: npt.NDArray[Any], refer: Refer) -> list[Parts]:
    """Return each element as the shortest Python literal from which NumPy makes the same element."""
    items = flat.tolist()
    if flat.dtype.kind == "f" and flat.dtype.itemsize < 8:
        short = [float(str(one)) for one in flat]
        items = short if np.array(short, flat.dtype).tobytes() == flat.tobytes() else items
    if flat.dtype.kind == "f":
        return [[repr(one)] if math.isfinite(one) else _not_finite(one, refer) for one in items]
    if flat.dtype.kind == "c" and not np.isfinite(flat).all():
        raise NotWritable("complex numbers that are not finite")
    return [[repr(one)] for one in items]


def _not_finite(value: float, refer: Refer) -> Parts:
    if math.isnan(value):
        return [*_referred(np, refer), ".nan"]
    return [*(["-"] if value < 0 else []), *_referred(np, refer), ".inf"]
