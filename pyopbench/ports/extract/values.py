"""Values as expressions: numbers, text, containers of these, arrays, dtypes, configurations."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import math
import types
from collections import namedtuple
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

LONGEST = 100_000
"""Characters. A vocabulary of some thousand words fits; anything longer is data, and should be an input."""

Refer: TypeAlias = Callable[[Any], ast.expr]
"""Returns the expression for a module, a class or a function, or raises `NotWritable`."""

PLAIN = (type(None), bool, int, complex, str, bytes, type(...), range, slice)
NAMESPACES = (types.SimpleNamespace, argparse.Namespace)
TRACKING = ("keras", "tensorflow")
"""Libraries whose objects replace containers among their attributes by containers of the library."""


class NotWritable(Exception):
    """A value cannot be written as source; the message says what kind of value it is."""


def expression_of(value: Any, refer: Refer, longest: int = LONGEST) -> ast.expr:
    """Return an expression for a value.

    Args:
        value: anything.
        refer: returns the expression for a module, a class or a function.
        longest: the most characters that the source of the expression may have.

    Raises:
        NotWritable: there is no such expression, or it is too long.
    """
    tree = _expression(value, refer, ())
    if len(ast.unparse(tree)) > longest:
        raise NotWritable(f"a {_kind(value)}, too much for a source file")
    return tree


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
        return ast.dump(_expression(one, _by_name, ())) == ast.dump(_expression(other, _by_name, ()))
    except NotWritable:
        return type(one).__qualname__ == type(other).__qualname__


def _by_name(value: Any) -> ast.expr:
    return ast.Name(str(getattr(value, "__qualname__", getattr(value, "__name__", type(value)))), ast.Load())


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def _expression(value: Any, refer: Refer, around: tuple[int, ...]) -> ast.expr:
    if id(value) in around:
        raise NotWritable("a container that contains itself")
    value, kind = plain_container(value), type(plain_container(value))

    def inner(one: Any) -> ast.expr:
        return _expression(one, refer, (*around, id(value)))

    if kind in PLAIN or kind is float:
        return _parsed(f'float("{value}")' if kind is float and not math.isfinite(value) else repr(value))
    if kind in (tuple, list):
        return (ast.Tuple if kind is tuple else ast.List)([*map(inner, value)], ast.Load())
    if kind is set:
        return ast.Set([*map(inner, value)]) if value else _parsed("set()")
    if kind is frozenset:
        return _call(ast.Name("frozenset", ast.Load()), *([inner({*value})] if value else []))
    if kind is dict:
        return ast.Dict([*map(inner, value)], [*map(inner, value.values())])
    if isinstance(value, np.dtype):
        return _call(_of_numpy("dtype", refer), ast.Constant(_name(value).rstrip("_")))
    if isinstance(value, np.generic):
        return _call(_of_numpy(_name(value.dtype), refer), _numbers(np.asarray(value), refer))
    if kind is np.ndarray:
        return _array(value, refer)
    if kind in NAMESPACES:
        if not all(name.isidentifier() for name in vars(value)):
            raise NotWritable(f"a {_kind(value)} with names that are not Python identifiers")
        keywords = [ast.keyword(name, inner(one)) for name, one in vars(value).items()]
        return ast.Call(refer(types.SimpleNamespace), [], keywords)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        made = _call(refer(namedtuple), ast.Constant(kind.__name__), _parsed(repr(list(value._fields))))
        return _call(made, *map(inner, value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        return inner(types.SimpleNamespace(**fields))
    return refer(value)


def _parsed(text: str) -> ast.expr:
    """Return a literal, such as a negative number, as Python reads it."""
    return ast.parse(text, mode="eval").body


def _call(function: ast.expr, *arguments: ast.expr) -> ast.expr:
    return ast.Call(function, list(arguments), [])


def _of_numpy(name: str, refer: Refer) -> ast.expr:
    return ast.Attribute(refer(np), name, ast.Load())


def _name(dtype: np.dtype[Any]) -> str:
    if dtype.kind not in "biufc" or not dtype.isnative:
        raise NotWritable(f"of dtype {dtype}")
    return "bool_" if dtype.kind == "b" else str(dtype.name)


def _array(value: npt.NDArray[Any], refer: Refer) -> ast.expr:
    flat, is_text = value.reshape(-1), value.dtype.kind in "SU"
    kind = ast.Constant(value.dtype.str) if is_text else _of_numpy(_name(value.dtype), refer)
    shape = _parsed(repr(value.shape if value.ndim != 1 else value.shape[0]))
    if value.size == 0:
        return _call(_of_numpy("zeros", refer), shape, kind)
    if value.size > 1 and flat.tobytes() == flat[:1].tobytes() * value.size:
        return _call(_of_numpy("full", refer), shape, _numbers(np.asarray(flat[0]), refer), kind)
    if value.size > LONGEST:
        raise NotWritable(f"an array of {value.size:,} elements, too much for a source file")
    return _call(_of_numpy("array", refer), _numbers(value, refer), kind)


def _numbers(value: npt.NDArray[Any], refer: Refer) -> ast.expr:
    """Return elements as the shortest literals, in lists, from which NumPy makes the same elements."""
    items = value.tolist()
    if value.dtype.kind == "f" and value.dtype.itemsize < 8:
        short = np.array([float(str(one)) for one in value.reshape(-1)]).reshape(value.shape)
        items = short.tolist() if short.astype(value.dtype).tobytes() == value.tobytes() else items
    if value.dtype.kind == "c" and not np.isfinite(value).all():
        raise NotWritable("complex numbers that are not finite")
    return _NotFinite(refer).visit(_parsed(repr(items)))  # type: ignore[no-any-return]


class _NotFinite(ast.NodeTransformer):
    """Has `inf` and `nan`, as lists of floats are shown, be those of NumPy."""

    def __init__(self, refer: Refer) -> None:
        self.refer = refer

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return _of_numpy(node.id, self.refer)
