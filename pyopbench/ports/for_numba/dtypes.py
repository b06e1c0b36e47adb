"""Dtypes as Numba takes them: NumPy's and not Python's types, nor names of them, and those of numbers."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np

from pyopbench.ports.for_numba.instead import Instead, Names, is_python_number
from pyopbench.ports.for_numba.reducing import METHODS, REDUCTIONS, is_method

PLACES = {"zeros": 1, "ones": 1, "empty": 1, "array": 1, "asarray": 1, "full": 2, "empty_like": 1, "zeros_like": 1}
"""Functions that take a dtype by position, and at which."""

TYPES = {bool: "np.bool_", int: "np.int64", float: "np.float64"}


def made_with_dtype(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a call of NumPy's whose dtype is a type of Python's, or the name of one."""
    function = names.value_of(node.func)
    if getattr(function, "__module__", None) != "numpy":
        return None
    place = PLACES.get(getattr(function, "__name__", ""))
    at = [one.value for one in node.keywords if one.arg == "dtype"]
    at += [one for number, one in enumerate(node.args) if number == place]
    dtype = _named(at[0], names) if at else None
    if dtype is None:
        return None
    made = Instead()
    args = [dtype if one is at[0] else made.part(one) for one in node.args]
    named = [f"{one.arg}={dtype if one.value is at[0] else made.part(one.value)}" for one in node.keywords]
    made.text = f"{made.part(node.func)}({', '.join([*args, *named])})"
    return made


def cast(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `astype`, of an array or of a number, which has none for Numba."""
    if not is_method(node, names) or not isinstance(node.func, ast.Attribute) or node.func.attr != "astype":
        return None
    options = {one.arg: one.value for one in node.keywords}
    given = node.args[0] if len(node.args) == 1 else options.get("dtype")
    if given is None or len(node.args) > 1 or not options.keys() <= {"dtype", "copy"}:
        return None
    dtype, is_number = _named(given, names), may_be_number(node.func.value, names)
    if dtype is None and not is_number and "copy" not in options:
        return None
    made = Instead()
    array = f"np.asarray({made.part(node.func.value)})" if is_number else made.receiver(node.func.value)
    made.text = f"{array}.astype({dtype or made.part(given)}){'[()]' if is_number else ''}"
    return made


def _named(node: ast.expr, names: Names) -> str | None:
    """Return how Numba takes a dtype; None for one that is written so already, or that is not known."""
    if isinstance(node, ast.Name):
        value: Any = names.value_of(node)
        return TYPES.get(value) if isinstance(value, type) else None
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    try:
        dtype = np.dtype(node.value)
    except TypeError:
        return None
    return {"bool": "np.bool_"}.get(dtype.name, f"np.{dtype.name}") if dtype.kind in "biufc" else None


OF_DTYPE = (
    *("maximum", "minimum", "fmax", "fmin", "add", "subtract", "multiply", "divide", "true_divide", "power", "hypot"),
    *("floor_divide", "mod", "remainder", "fmod", "arctan2", "copysign", "logaddexp", "float_power"),
)
TAKING_NUMBERS = {**{getattr(np, name): (0, 1) for name in OF_DTYPE}, np.where: (1, 2), np.clip: (0, 1, 2)}
"""Functions whose result has the common dtype of some of their arguments, and the places of those."""

KEEPING = (
    np.exp,
    np.log,
    np.sqrt,
    np.abs,
    np.tanh,
    np.sin,
    np.cos,
    np.log1p,
    np.expm1,
    np.square,
    np.sign,
    np.negative,
)
"""Functions of one array that give floats of the dtype that they are given."""

WHOLE_OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.Pow)
WHOLE_FUNCTIONS = (
    *(np.abs, np.square, np.sign, np.negative, np.max, np.min, np.where),
    *(np.maximum, np.minimum, np.add, np.subtract, np.multiply, np.floor_divide, np.mod),
)
WHOLE_METHODS = {"copy", "reshape", "transpose", "ravel", "flatten", "max", "min"}
"""Operations, functions and methods that keep the dtype of integers; any other may return wider integers or floats."""


def number_in_operation(node: ast.BinOp, names: Names) -> Instead | None:
    """Return what stands for an operation of an array and a number of Python's: that number, of the array's dtype.

    NumPy has it so from version 2 on: https://numpy.org/neps/nep-0050-scalar-promotion.html
    """
    sides = [node.left, node.right]
    if isinstance(node.op, ast.MatMult):
        return None
    made = Instead()
    texts = _with_numbers(sides, made, names, divides=isinstance(node.op, ast.Div))
    if texts is None:
        return None
    made.text = f"({texts[0]} {OPERATORS[type(node.op)]} {texts[1]})"
    return made


def number_in_place(node: ast.AugAssign, names: Names) -> Instead | None:
    """Return what stands for `x *= 0.5`."""
    if isinstance(node.op, ast.MatMult) or not is_python_number(node.value, names) or names.is_wide:
        return None
    leaves = _leaves(node.target, names)
    if not leaves:
        return None
    made = Instead()
    value = _floating(node.value, made) if isinstance(node.op, ast.Div) else made.part(node.value)
    number = f"_like({value}, {', '.join(leaves)})"
    made.text = f"{made.part(node.target)} {OPERATORS[type(node.op)]}= {number}"
    return made


def number_compared(node: ast.Compare, names: Names) -> Instead | None:
    """Return what stands for a comparison of an array with a float of Python's; whole numbers are compared as such."""
    if not all(type(op) in COMPARED for op in node.ops):
        return None
    made = Instead()
    sides = [node.left, *node.comparators]
    texts = _with_numbers(sides, made, names, are_compared=True)
    if texts is None or not any(
        isinstance(one, ast.Constant) and type(one.value) is float for side in sides for one in ast.walk(side)
    ):
        return None
    words = [texts[0], *(f"{COMPARED[type(op)]} {one}" for op, one in zip(node.ops, texts[1:], strict=True))]
    made.text = f"({' '.join(words)})"
    return made


def number_in_call(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a call like `np.maximum(x, 0.0)`."""
    function = names.value_of(node.func)
    places = next((places for one, places in TAKING_NUMBERS.items() if one is function), ())
    if node.keywords or len(node.args) != max(places, default=-1) + 1:
        return None
    made = Instead()
    texts = _with_numbers([node.args[place] for place in places], made, names, divides=function is np.divide)
    if texts is None:
        return None
    by_place = dict(zip(places, texts, strict=True))
    args = [by_place.get(place) or made.part(one) for place, one in enumerate(node.args)]
    called = "_clipped" if function is np.clip else made.part(node.func)
    made.text = f"{called}({', '.join(args)})"
    return made


def _floating(node: ast.expr, made: Instead) -> str:
    """Return a number of Python's for a division, whose result is floating in 64 bits also of short integers."""
    is_whole = isinstance(node, ast.Constant) and isinstance(node.value, int)
    is_floating = isinstance(node, ast.Constant) and not is_whole
    return f"{node.value}.0" if is_whole else made.part(node) if is_floating else f"1.0 * ({made.part(node)})"  # type: ignore[attr-defined]


def _with_numbers(
    sides: list[ast.expr], made: Instead, names: Names, *, divides: bool = False, are_compared: bool = False
) -> list[str] | None:
    """Return the operands, with Python numbers in the dtype of the other operands; None if nothing changes.

    A whole number that is too large for the short integers of an array keeps its value next to something that is
    computed from them in more bits (`300 * x.mean()`), and in a comparison.
    """
    are_numbers = [is_python_number(one, names) for one in sides]
    others = [one for one, is_number in zip(sides, are_numbers, strict=True) if not is_number]
    if names.is_wide or len(others) in (0, len(sides)):
        return None
    leaves = [_leaves(one, names) for one in others]
    if not all(leaves):
        return None
    keeps_dtype = not are_compared and all(_is_whole(one, names) for one in others)
    given = ", ".join(
        [*([] if keeps_dtype else ["None"]), *dict.fromkeys(leaf for several in leaves for leaf in several)]
    )
    return [
        f"_like({_floating(one, made) if divides else made.part(one)}, {given})" if is_number else made.part(one)
        for one, is_number in zip(sides, are_numbers, strict=True)
    ]


def _leaves(node: ast.expr, names: Names) -> list[str]:
    """Return the names that have the dtype of an expression among them; none where that is not seen."""
    if isinstance(node, ast.Name):
        return [node.id] if names.value_of(node) is None or isinstance(names.value_of(node), np.ndarray) else []
    if isinstance(node, ast.Subscript):
        return _leaves(node.value, names)
    if isinstance(node, ast.UnaryOp):
        return [] if isinstance(node.op, ast.Not) else _leaves(node.operand, names)
    if isinstance(node, ast.Attribute):
        return _leaves(node.value, names) if node.attr in ("T", "real", "imag") else []
    if isinstance(node, ast.BinOp):
        parts = [one for one in (node.left, node.right) if not is_python_number(one, names)]
        return _all_leaves(parts, names)
    if not isinstance(node, ast.Call) or any(one.arg not in ("axis", "keepdims") for one in node.keywords):
        return []
    function = names.value_of(node.func)
    if is_method(node, names) and isinstance(node.func, ast.Attribute):
        keeps = node.func.attr in METHODS | {"copy", "reshape", "transpose", "ravel", "flatten"}
        return _leaves(node.func.value, names) if keeps and node.func.attr not in NOT_OF_DTYPE else []
    if any(function is one for one in TAKING_NUMBERS):
        places = next(places for one, places in TAKING_NUMBERS.items() if one is function)
        parts = [one for place, one in enumerate(node.args) if place in places]
        return _all_leaves([one for one in parts if not is_python_number(one, names)], names)
    keeps = (
        any(function is one for one in (*KEEPING, *REDUCTIONS))
        and getattr(function, "__name__", "") not in NOT_OF_DTYPE
    )
    return _leaves(node.args[0], names) if keeps and node.args else []


def _all_leaves(parts: list[ast.expr], names: Names) -> list[str]:
    found = [_leaves(one, names) for one in parts]
    return [leaf for several in found for leaf in several] if all(found) else []


def _is_whole(node: ast.expr, names: Names) -> bool:
    """Does an expression of integer arrays certainly keep their dtype?"""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    if isinstance(node, ast.Name):
        return not isinstance(names.value_of(node), float | complex)
    if isinstance(node, ast.Subscript):
        return _is_whole(node.value, names)
    if isinstance(node, ast.Attribute):
        return node.attr in ("T", "real", "imag") and _is_whole(node.value, names)
    if isinstance(node, ast.UnaryOp):
        return _is_whole(node.operand, names)
    if isinstance(node, ast.BinOp):
        operands = (node.left, node.right)
        return isinstance(node.op, WHOLE_OPERATIONS) and all(_is_whole(one, names) for one in operands)
    if not isinstance(node, ast.Call):
        return False
    if is_method(node, names) and isinstance(node.func, ast.Attribute):
        return node.func.attr in WHOLE_METHODS and _is_whole(node.func.value, names)
    function = names.value_of(node.func)
    args = node.args[1:] if function is np.where else node.args
    return any(function is one for one in WHOLE_FUNCTIONS) and all(_is_whole(one, names) for one in args)


NOT_OF_DTYPE = {"any", "all", "argmax", "argmin"}
"""Reductions whose result has a dtype of its own."""

OPERATORS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


def may_be_number(node: ast.expr, names: Names) -> bool:
    """Is it an expression that returns a number and no array, for all that is seen?"""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    if isinstance(node, ast.Name):
        if node.id not in names.bindings or node.id in names.parameters:
            return isinstance(names.value_of(node), int | float)
        others = {name: values for name, values in names.bindings.items() if name != node.id}
        known = replace(names, bindings=others)  # without itself, as in `t = t + 1`
        return any(value is None or may_be_number(value, known) for value in names.bindings[node.id])
    if isinstance(node, ast.UnaryOp):
        return may_be_number(node.operand, names)
    if isinstance(node, ast.BinOp):
        return may_be_number(node.left, names) and may_be_number(node.right, names)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) or (
            isinstance(node.slice, ast.Tuple)
            and any(isinstance(one, ast.Constant) and isinstance(one.value, int) for one in node.slice.elts)
            and not any(isinstance(one, ast.Slice) for one in node.slice.elts)
        )
    return isinstance(node, ast.Call) and _returns_number(node, names)


def _returns_number(node: ast.Call, names: Names) -> bool:
    function = names.value_of(node.func)
    if function is np.dot:
        return True
    if isinstance(function, np.ufunc):
        return bool(node.args) and all(may_be_number(one, names) for one in node.args)
    is_reduction = any(function is one for one in REDUCTIONS)
    is_whole = len(node.args) == is_reduction and not node.keywords
    named = isinstance(node.func, ast.Attribute) and node.func.attr in REDUCTIONS.values()
    return is_whole and (is_reduction or (named and is_method(node, names)))
