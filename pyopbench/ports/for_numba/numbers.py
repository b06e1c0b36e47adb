"""Numbers and dtypes as NumPy has them: Numba computes with numbers of Python's, and with scalars, in 64 bits."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyopbench.ports.for_numba.types import ARRAY, LIST, PYTHON, SCALAR, STRICT, TUPLE, Names, tree

MOST_FACTORS = 3
"""Of a power that is written as `x ** 3`, which Numba compiles to products: within a unit in the last place."""


SHORT = {"bool", "int8", "uint8", "int16", "uint16"}
"""Dtypes of integers that Numba divides in 32 bits, and NumPy in 64."""


def is_floating(dtype: str) -> bool:
    """Is it a dtype of floats, or of complex numbers?"""
    return dtype.startswith(("float", "complex"))


def is_ufunc(name: str) -> bool:
    """Is it the name of a function of NumPy's that is broadcast over its arguments, such as `np.add`?"""
    return name.startswith("np.") and isinstance(getattr(np, name[3:], None), np.ufunc)


def without_number(node: Any) -> Any:
    """Return a node with the same parts that has no number, so that no rule is asked about it again."""
    return type(node)(**dict(ast.iter_fields(node)))


def type_name(dtype: str) -> str:
    """Return how a dtype is written as a function of a number, which Numba takes as a dtype, too."""
    return "np.bool_" if dtype == "bool" else f"np.{dtype}"


def cast(dtype: str, node: ast.expr) -> ast.expr:
    """Return a number in a dtype."""
    converted: ast.expr = tree(f"{type_name(dtype)}(X)", X=node)
    return converted


# Operators.


def operation(node: ast.BinOp, names: Names) -> ast.expr | None:
    """Return a replacement for an operation."""
    return None if isinstance(node.op, ast.MatMult) else _operation(node, node.op, (node.left, node.right), names)


def in_place(node: ast.AugAssign, names: Names) -> ast.stmt | None:
    """Return a replacement for `x *= 0.5`, of the dtype of an array, of its elements or of a number."""
    if isinstance(node.op, ast.MatMult):
        return None
    if isinstance(node.target, ast.Name) and not names.are(node.target, ARRAY):
        total = _operation(node, node.op, (node.target, node.value), names)
        return None if total is None else ast.Assign([node.target], total)
    array = node.target.value if isinstance(node.target, ast.Subscript | ast.Attribute) else node.target
    names.require(array)
    items = {item.dtype for one in names.of(array) if one.kind in (LIST, TUPLE) for item in one.items}
    dtype = items.pop() if len(items) == 1 else names.dtype(array)
    if dtype not in STRICT or not _is_widening(node.value, dtype, names, is_array=True):
        return None
    return ast.AugAssign(node.target, node.op, cast(dtype, node.value))


def _operation(node: ast.AST, op: ast.operator, sides: tuple[ast.expr, ast.expr], names: Names) -> ast.expr | None:
    """Return an operation with its operands, and its result, in the dtype that NumPy has; None if it stays."""
    names.require(node)
    dtype, (left, right) = names.dtype(node), sides
    if not dtype:
        divides = isinstance(op, ast.Div | ast.FloorDiv | ast.Mod) and all(names.are(one, PYTHON) for one in sides)
        if not divides or (isinstance(right, ast.Constant) and right.value):
            return None
        return ast.BinOp(left, op, tree("_divisor(X)", X=right))
    is_array, new = names.may_be(node, ARRAY), list(sides)
    if isinstance(op, ast.Div) and is_array and dtype == "float64" and all(names.dtype(one) in SHORT for one in sides):
        new[0] = tree("X.astype(np.float64)", X=left)
    is_small = isinstance(right, ast.Constant) and type(right.value) is int and 2 <= right.value <= MOST_FACTORS
    is_power = isinstance(op, ast.Pow) and is_floating(dtype) and is_small
    for place, one in enumerate(sides[:1] if is_power else sides):
        if dtype in STRICT and _is_widening(one, dtype, names, is_array=is_array):
            new[place] = cast(dtype, one)
    result = ast.BinOp(new[0], op, new[1])
    if not is_array and (dtype == "bool" or (dtype in STRICT and not is_floating(dtype))):
        return cast(dtype, result)
    return None if new == list(sides) else result


def _is_widening(node: ast.expr, dtype: str, names: Names, *, is_array: bool) -> bool:
    """Does Numba compute with an operand in more bits than the result has?"""
    names.require(node)
    if names.may_be(node, ARRAY):
        return False
    types = names.in_numba(node)
    if is_array:
        is_whole = isinstance(node, ast.Constant) and type(node.value) is int
        return any(one.kind == PYTHON for one in types) and not (is_whole and is_floating(dtype))
    return (is_floating(dtype) or dtype == "uint64") and any((one.kind, one.dtype) != (SCALAR, dtype) for one in types)


def sign(node: ast.UnaryOp, names: Names) -> ast.expr | None:
    """Return a replacement for `-x` of a number of NumPy's."""
    dtype = names.dtype(node)
    if isinstance(node.op, ast.Not) or names.may_be(node, ARRAY) or is_floating(dtype):
        return None
    return cast(dtype, without_number(node)) if dtype in STRICT or dtype == "bool" else None


def comparison(node: ast.Compare, names: Names) -> ast.expr | None:
    """Return a replacement for a comparison of what has 32 bits with numbers of Python's."""
    if any(isinstance(one, ast.Is | ast.IsNot | ast.In | ast.NotIn) for one in node.ops):
        return None
    names.require(node)
    sides = [node.left, *node.comparators]
    new = _compared(sides, names)
    return None if new == sides else ast.Compare(new[0], node.ops, new[1:])


def _compared(sides: Sequence[ast.expr], names: Names) -> list[ast.expr]:
    dtypes = {names.dtype(one) for one in sides if not names.are(one, PYTHON)}
    dtype = dtypes.pop() if len(dtypes) == 1 else ""
    is_short = dtype in ("float32", "complex64")
    return [cast(dtype, one) if is_short and _is_widening(one, dtype, names, is_array=True) else one for one in sides]


def becoming_float(node: ast.Assign, names: Names) -> ast.stmt | None:
    """Return `x = 0.0` for `x = 0` where `x` is a float later, so that Numba finds one type for its results."""
    target, value = node.targets[0], node.value
    if len(node.targets) > 1 or not isinstance(target, ast.Name) or not isinstance(value, ast.Constant):
        return None
    types = names.variables.get(target.id, set())
    are_floats = any(is_floating(one.dtype) for one in types) and all(one.kind in (PYTHON, SCALAR) for one in types)
    is_whole = type(value.value) is int and are_floats
    return ast.Assign([target], ast.Constant(float(value.value))) if is_whole else None  # type: ignore[arg-type]


# Calls.


COMPARING = {f"np.{name}" for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")}


def of_numbers(node: ast.Call, names: Names) -> ast.expr | None:
    """Return a replacement for a call like `np.maximum(x, 0.0)`, with the numbers in the dtype of the result."""
    name, args = names.called(node)
    is_clip, is_where = name == "np.clip", name == "np.where" and len(args) == 3
    if name.startswith("math.") and any(names.dtype(one) == "float32" for one in args):
        # Python's functions compute with 64 bits, and Numba's with those of the argument.
        return ast.Call(node.func, [cast("float64", one) if names.dtype(one) == "float32" else one for one in args], [])
    if not (is_clip or is_where or is_ufunc(name)) or (node.keywords and not is_clip):
        return None
    if is_clip and (len(args) > 3 or not {one.arg for one in node.keywords} <= {"a_min", "a_max", "min", "max"}):
        return None
    names.require(node)
    dtype = names.dtype(node)
    if is_clip:
        bounds = dict(zip(("min", "max"), args[1:], strict=False))
        bounds |= {str(one.arg).removeprefix("a_"): one.value for one in node.keywords}
        args = [args[0], *(bounds.get(one, ast.Constant(None)) for one in ("min", "max"))]
    new = list(args)
    if name in COMPARING:
        new = _compared(args, names)
    elif dtype in STRICT and name != "np.ldexp":
        # Of `np.where`, the first argument is a condition, and a whole number makes 64 bits of floats, too.
        for place in range(int(is_where), len(args)):
            one = args[place]
            is_python = is_where and names.may_be(one, PYTHON)
            if not _is_none(one) and (is_python or _is_widening(one, dtype, names, is_array=names.may_be(node, ARRAY))):
                new[place] = cast(dtype, one)
    if is_clip and names.are(node, SCALAR) and not any(map(_is_none, new)):
        return tree("np.minimum(np.maximum(X, LOW), HIGH)", X=new[0], LOW=new[1], HIGH=new[2])  # type: ignore[no-any-return]
    if new == args and not (is_clip and node.keywords):
        return None
    return tree(f"{name}(*ARGS)", ARGS=new)  # type: ignore[no-any-return]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


KEEPING = {
    *("array", "asarray", "ascontiguousarray", "zeros", "ones", "empty", "full", "zeros_like", "ones_like"),
    *("empty_like", "full_like", "copy", "reshape", "ravel", "flatten", "transpose", "astype", "sort", "argsort"),
    *("flip", "fliplr", "flipud", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "where"),
    *("clip", "take", "roll", "pad", "repeat", "tile", "broadcast_to", "expand_dims", "squeeze", "swapaxes"),
    *("moveaxis", "diff", "max", "min", "amax", "amin", "nanmax", "nanmin", "dot", "matmul", "outer", "unique"),
    *("diag", "triu", "tril", "cumsum", "cumprod", "delete", "append", "atleast_1d", "atleast_2d"),
    *("float32", "complex64", "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64", "item", "rot90"),
    "ndarray",
}
"""Functions of NumPy's, and methods, of which Numba returns what has NumPy's dtype."""


def in_dtype_of_numpy(node: ast.Call, new: ast.expr | None, names: Names) -> ast.expr | None:
    """Return a call, or what stands for it, whose result has the dtype that NumPy gives it."""
    name, is_array = names.called(node)[0], names.are(node, ARRAY)
    dtype = names.dtype(node) if name else ""
    if dtype not in STRICT or not (is_array or names.are(node, SCALAR)):
        return new
    is_builtin, method = hasattr(builtins, name), name.rpartition(".")[2]
    is_kept = is_ufunc(name) and (is_array or is_floating(dtype))
    if is_kept or (is_array and method in ("sum", "prod", "abs")) or (method in KEEPING and not is_builtin):
        return new
    new = without_number(node) if new is None else new
    to = type_name(dtype)
    if ast.unparse(new).endswith(f".astype({to})"):
        return new
    return tree(f"X.astype({to})", X=new) if is_array else cast(dtype, new)
