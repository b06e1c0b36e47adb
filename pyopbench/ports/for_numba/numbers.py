"""Numbers and dtypes as NumPy has them: Numba computes with numbers of Python's, and with scalars, in 64 bits."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from pyopbench.ports.for_numba.instead import Instead
from pyopbench.ports.for_numba.names import Names
from pyopbench.ports.for_numba.types import ARRAY, LIST, PYTHON, SCALAR, STRICT, TUPLE

OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
}  # fmt: skip
DIVISIONS = ("/", "//", "%")

LARGEST_WHOLE = 2**24
"""Up to here, a whole number is the same in 32 bits that float."""

MOST_FACTORS = 3
"""Of a power that is written as `x ** 3`, which Numba compiles to products: within a unit in the last place."""


def is_floating(dtype: str) -> bool:
    """Is it a dtype of floats, or of complex numbers?"""
    return dtype.startswith(("float", "complex"))


def type_name(dtype: str) -> str:
    """Return how a dtype is written as a function of a number, which Numba takes as a dtype, too."""
    return "np.bool_" if dtype == "bool" else f"np.{dtype}"


# Operators.


def operation(node: ast.BinOp, names: Names) -> Instead | None:
    """Return what stands for an operation."""
    if isinstance(node.op, ast.MatMult):
        return None
    made = Instead()
    made.text = _operation(node, node.op, (node.left, node.right), made, names) or ""
    return made if made.text else None


def in_place(node: ast.AugAssign, names: Names) -> Instead | None:
    """Return what stands for `x *= 0.5`, of the dtype of an array, of its elements or of a number."""
    if isinstance(node.op, ast.MatMult):
        return None
    made, symbol = Instead(), OPERATORS[type(node.op)]
    if isinstance(node.target, ast.Name) and not names.are(node.target, ARRAY):
        text = _operation(node, node.op, (node.target, node.value), made, names)
        made.text = f"{made.part(node.target)} = {text}"
        return made if text else None
    array = node.target.value if isinstance(node.target, ast.Subscript | ast.Attribute) else node.target
    dtype = _dtype_of_elements(array, names)
    if dtype not in STRICT or not _is_widening(node.value, dtype, names, is_array=True):
        return None
    made.text = f"{made.part(node.target)} {symbol}= {type_name(dtype)}({made.part(node.value)})"
    return made


def _dtype_of_elements(node: ast.expr, names: Names) -> str:
    names.require(node)
    items = {item.dtype for one in names.of(node) if one.kind in (LIST, TUPLE) for item in one.items}
    return items.pop() if len(items) == 1 else names.dtype(node)


def _operation(
    node: ast.AST, op: ast.operator, sides: tuple[ast.expr, ast.expr], made: Instead, names: Names
) -> str | None:
    """Return an operation with its operands, and its result, in the dtype that NumPy has; None if it stays."""
    names.require(node)
    dtype, symbol = names.dtype(node), OPERATORS[type(op)]
    left, right = sides
    if not dtype:
        divides = symbol in DIVISIONS and all(names.are(one, PYTHON) for one in sides)
        if not divides or (isinstance(right, ast.Constant) and right.value):
            return None
        return f"{made.part(left)} {symbol} _divisor({made.part(right)})"
    is_array = names.may_be(node, ARRAY)
    is_power = isinstance(op, ast.Pow) and is_floating(dtype) and _is_small(right)
    texts = [made.part(one) for one in sides]
    if symbol == "/" and is_array and _are_short(sides, dtype, names):
        texts[0] = f"{made.receiver(left)}.astype(np.float64)"
    for place, one in enumerate(sides[:1] if is_power else sides):
        if dtype in STRICT and _is_widening(one, dtype, names, is_array=is_array):
            texts[place] = f"{type_name(dtype)}({texts[place]})"
    text = f"{texts[0]} {symbol} {texts[1]}"
    if not is_array and (dtype == "bool" or (dtype in STRICT and not is_floating(dtype))):
        return f"{type_name(dtype)}({text})"
    is_same = texts == [made.part(one) for one in sides]
    return None if is_same else f"({text})" if isinstance(node, ast.BinOp) else text


SHORT = {"bool", "int8", "uint8", "int16", "uint16"}


def _are_short(operands: Iterable[ast.expr], dtype: str, names: Names) -> bool:
    """Are they integers that Numba divides in 32 bits, and NumPy in 64?"""
    return dtype == "float64" and all(names.dtype(one) in SHORT for one in operands)


def _is_small(node: ast.expr) -> bool:
    """Is it a whole number, as it is written, of few factors?"""
    return isinstance(node, ast.Constant) and type(node.value) is int and 2 <= node.value <= MOST_FACTORS


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


def sign(node: ast.UnaryOp, names: Names) -> Instead | None:
    """Return what stands for `-x` of a number of NumPy's."""
    if isinstance(node.op, ast.Not):
        return None
    dtype, made = names.dtype(node), Instead()
    if names.may_be(node, ARRAY) or is_floating(dtype) or (dtype not in STRICT and dtype != "bool"):
        return None
    made.text = f"{type_name(dtype)}({OPERATORS[type(node.op)]}{made.receiver(node.operand)})"
    return made


def comparison(node: ast.Compare, names: Names) -> Instead | None:
    """Return what stands for a comparison of what has 32 bits with numbers of Python's."""
    if not all(type(one) in OPERATORS for one in node.ops):
        return None
    names.require(node)
    made, sides = Instead(), [node.left, *node.comparators]
    texts = _compared(sides, made, names)
    if texts is None:
        return None
    words = [f"{OPERATORS[type(op)]} {one}" for op, one in zip(node.ops, texts[1:], strict=True)]
    made.text = f"({' '.join([texts[0], *words])})"
    return made


def _compared(sides: list[ast.expr], made: Instead, names: Names) -> list[str] | None:
    dtypes = {names.dtype(one) for one in sides if not names.are(one, PYTHON)}
    if len(dtypes) != 1 or not dtypes <= {"float32", "complex64"}:
        return None
    (dtype,) = dtypes
    rounded = [names.are(one, PYTHON) and not _is_exact(one) for one in sides]
    if not any(rounded):
        return None
    return [
        f"{type_name(dtype)}({made.part(one)})" if is_rounded else made.part(one)
        for one, is_rounded in zip(sides, rounded, strict=True)
    ]


def _is_exact(node: ast.expr) -> bool:
    """Is it a number, as it is written, that 32 bits hold?"""
    if not isinstance(node, ast.Constant):
        return False
    value: Any = node.value
    return abs(value) <= LARGEST_WHOLE if isinstance(value, int) else float(np.float32(value)) == value


def becoming_float(node: ast.Assign, names: Names) -> Instead | None:
    """Return `x = 0.0` for `x = 0` where `x` is a float later, so that Numba finds one type of what is made of it."""
    target, value = node.targets[0], node.value
    if len(node.targets) > 1 or not isinstance(target, ast.Name) or not isinstance(value, ast.Constant):
        return None
    types = names.variables.get(target.id, set())
    are_floats = any(is_floating(one.dtype) for one in types) and all(one.kind in (PYTHON, SCALAR) for one in types)
    return Instead(f"{{0}} = {value.value}.0", [target]) if type(value.value) is int and are_floats else None


# Calls.


def power(node: ast.Call, names: Names) -> Instead | None:
    """Return `x ** 2` for `np.power(x, 2)` of floats."""
    if names.value_of(node.func) is not np.power or len(node.args) != 2 or node.keywords:
        return None
    if not is_floating(names.dtype(node)) or not _is_small(node.args[1]):
        return None
    made = Instead()
    base = in_dtype(node.args[0], names.dtype(node), made, names, is_array=names.may_be(node, ARRAY))
    made.text = f"({base} ** {made.part(node.args[1])})"
    return made


def in_dtype(node: ast.expr, dtype: str, made: Instead, names: Names, *, is_array: bool) -> str:
    """Return an operand in the dtype that NumPy computes with."""
    is_cast = dtype in STRICT and _is_widening(node, dtype, names, is_array=is_array)
    return f"{type_name(dtype)}({made.part(node)})" if is_cast else made.receiver(node)


COMPARING = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


def of_numbers(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a call like `np.maximum(x, 0.0)`, with the numbers in the dtype of the result."""
    function, args = names.called(node)
    is_clip = function is np.clip
    is_where = function is np.where and len(args) == 3
    if not (is_clip or is_where or isinstance(function, np.ufunc)) or (node.keywords and not is_clip):
        return None
    names.require(node)
    made, dtype = Instead(), names.dtype(node)
    if is_clip:
        bounds = dict(zip(("min", "max"), args[1:], strict=False))
        bounds |= {str(one.arg).removeprefix("a_"): one.value for one in node.keywords}
        args = [args[0], *(bounds.get(one, ast.Constant(value=None)) for one in ("min", "max"))]
    plain = [made.part(one) if hasattr(one, "lineno") else "None" for one in args]
    texts = list(plain)
    if any(function is one for one in COMPARING):
        texts = _compared(args, made, names) or texts
    elif function is np.divide and _are_short(args, dtype, names):
        texts[0] = f"{made.receiver(args[0])}.astype(np.float64)"
    elif dtype in STRICT and function is not np.ldexp:
        for place, one in enumerate(args):
            # Of `np.where`, the first argument is a condition, and a whole number makes 64 bits of floats, too.
            is_python = is_where and names.may_be(one, PYTHON)
            is_wide = is_python or _is_widening(one, dtype, names, is_array=names.may_be(node, ARRAY))
            if place >= is_where and ast.unparse(one) != "None" and is_wide:
                texts[place] = f"{type_name(dtype)}({texts[place]})"
    if is_clip and names.are(node, SCALAR) and "None" not in texts:
        made.text = f"np.minimum(np.maximum({texts[0]}, {texts[1]}), {texts[2]})"
        return made
    if texts == plain and not (is_clip and node.keywords):
        return None
    made.text = f"np.{function.__name__}({', '.join(texts)})"
    return made


def of_python(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a call that makes a float of Python's, which has 64 bits, of what has 32."""
    function, made = names.value_of(node.func), Instead()
    if isinstance(node.func, ast.Attribute) and node.func.attr == "item" and not node.args:
        to = _in_64_bits(node.func.value, names)
        made.text = f"{to}({made.receiver(node.func.value)}.item())"
        return made if to else None
    is_of_math = function is float or function is int or getattr(function, "__module__", None) == math.__name__
    wide = [_in_64_bits(one, names) for one in node.args] if is_of_math else []
    if node.keywords or not any(wide):
        return None
    texts = [f"{to}({made.part(one)})" if to else made.part(one) for one, to in zip(node.args, wide, strict=True)]
    if function is float:
        made.text = f"np.float64({made.part(node.args[0])})"
    else:
        is_whole = function is int and wide == ["np.int64"]
        made.text = texts[0] if is_whole else f"{made.part(node.func)}({', '.join(texts)})"
    return made


def _in_64_bits(node: ast.expr, names: Names) -> str:
    """Return what makes 64 bits of a number of NumPy's that Numba would not; nothing for any other expression."""
    dtype = names.dtype(node) if names.may_be(node, SCALAR, ARRAY) else ""
    return "np.float64" if dtype == "float32" else "np.int64" if dtype.startswith("uint") else ""


KEEPING = {
    *("array", "asarray", "ascontiguousarray", "zeros", "ones", "empty", "full", "zeros_like", "ones_like"),
    *("empty_like", "full_like", "copy", "reshape", "ravel", "flatten", "transpose", "astype", "sort", "argsort"),
    *("flip", "fliplr", "flipud", "concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "where"),
    *("clip", "take", "roll", "pad", "repeat", "tile", "broadcast_to", "expand_dims", "squeeze", "swapaxes"),
    *("moveaxis", "diff", "max", "min", "amax", "amin", "nanmax", "nanmin", "dot", "matmul", "outer", "unique"),
    *("select", "diag", "triu", "tril", "cumsum", "cumprod", "delete", "append", "atleast_1d", "atleast_2d"),
    *("float32", "complex64", "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64", "item", "rot90"),
}
"""Functions of NumPy's, and methods, of which Numba returns what has NumPy's dtype."""


def in_dtype_of_numpy(node: ast.Call, made: Instead | None, names: Names) -> Instead | None:
    """Return a call, or what stands for it, whose result has the dtype that NumPy gives it."""
    function = names.called(node)[0]
    is_builtin = any(function is getattr(builtins, name) for name in ("abs", "max", "min", "pow", "round", "sum"))
    home = str(getattr(function, "__module__", "")).split(".")[0]
    if not (is_builtin or isinstance(function, str | np.ufunc) or home == "numpy"):
        return made
    dtype, is_array = names.dtype(node), names.are(node, ARRAY)
    if dtype not in STRICT or not (is_array or names.are(node, SCALAR)):
        return made
    name = function if isinstance(function, str) else getattr(function, "__name__", "")
    is_kept = isinstance(function, np.ufunc) and (is_array or is_floating(dtype))
    if is_kept or (is_array and name in ("sum", "prod", "abs")) or (name in KEEPING and not is_builtin):
        return made
    if made is None:
        made = Instead()
        made.text = f"{made.part(node.func)}({made.arguments(node.args, node.keywords).removeprefix(', ')})"
    to = type_name(dtype)
    if not made.text.endswith(f".astype({to})"):
        made.text = f"{made.text}.astype({to})" if is_array else f"{to}({made.text})"
    return made
