"""Replacements of the nodes of a body that Numba does not compile, or treats differently from NumPy."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from pyopbench.model.syntax import every_name, number_of
from pyopbench.ports.for_numba import calls, numbers, reductions
from pyopbench.ports.for_numba.names import Names, tree
from pyopbench.ports.for_numba.types import ARRAY, LIST


def replacement_of(node: ast.AST, names: Names) -> Any:
    """Return the replacement for an expression or a statement, perhaps several statements; None for one that stays.

    Raises:
        CannotPort: Numba would take it for something else.
    """
    if (names.path, number_of(node)) in names.types.too_large:
        raise names.refusal(node, f"`{ast.unparse(node)}` is an integer of more than 64 bits")
    rules = (rule(node, names) for rule in RULES.get(type(node), ()))
    new = next((one for one in rules if one is not None), None)
    return numbers.in_dtype_of_numpy(node, new, names) if isinstance(node, ast.Call) else new


def product(node: ast.BinOp, names: Names) -> Any:
    """Return a replacement for `@`."""
    return calls.product(node.left, node.right, names) if isinstance(node.op, ast.MatMult) else None


def without_errstate(node: ast.With, names: Names) -> list[ast.stmt] | None:
    """Return the statements under `np.errstate`, which says nothing to what is compiled."""
    contexts = [one.context_expr for one in node.items if not one.optional_vars]
    functions = [names.value_of(one.func) for one in contexts if isinstance(one, ast.Call)]
    return node.body if functions == [np.errstate] * len(node.items) else None


def unpacked(node: ast.Assign, names: Names) -> Any:
    """Return a replacement for an assignment of an array to several names, which Numba does not unpack."""
    target, value = node.targets[0], node.value
    if len(node.targets) > 1 or not isinstance(target, ast.Tuple) or not names.are(value, ARRAY, LIST):
        return None
    if any(isinstance(one, ast.Starred) for one in target.elts) or every_name(target) & every_name(value):
        return None
    if not isinstance(value, ast.Name | ast.Subscript):
        return None
    items = [tree(f"X[{place}]", X=value) for place in range(len(target.elts))]
    return ast.Assign([target], ast.Tuple(items, ast.Load()))


def grid_unpacked(node: ast.Assign, names: Names) -> Any:
    """Return a replacement for `y, x = np.mgrid[:h, :w]`, of whole numbers."""
    target, grid = node.targets[0], node.value
    if not isinstance(grid, ast.Subscript) or names.value_of(grid.value) is not np.mgrid:
        return None
    slices = grid.slice.elts if isinstance(grid.slice, ast.Tuple) else []
    if len(slices) != 2 or not all(isinstance(one, ast.Slice) and one.upper and not one.step for one in slices):
        return None
    if len(node.targets) > 1 or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return None
    ends = [end for one in slices for end in (one.lower or ast.Constant(0), one.upper)]  # type: ignore[attr-defined]
    return ast.Assign([target], tree("_grid(*ENDS)", ENDS=ends))


def index_of_list(node: ast.Subscript, names: Names) -> Any:
    """Return a replacement for a subscript in which a list of numbers is an index."""
    several = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    lists = [isinstance(one, ast.List) or names.are(one, LIST) for one in several]
    if not any(lists):
        return None
    pairs = zip(several, lists, strict=True)
    items = [tree("np.array(X)", X=one) if is_list else one for one, is_list in pairs]
    index = ast.Tuple(items, ast.Load()) if isinstance(node.slice, ast.Tuple) else items[0]
    return ast.Subscript(node.value, index, node.ctx)


def setting(node: ast.Subscript | ast.Attribute, names: Names) -> Any:
    """Return the value of an item of a global dict, or of an attribute of a global object that holds settings."""
    home, value = names.value_of(node.value) if isinstance(node.ctx, ast.Load) else None, None
    if isinstance(node, ast.Attribute):
        is_namespace = type(home).__name__ in ("Namespace", "SimpleNamespace") or dataclasses.is_dataclass(home)
        is_class = (
            isinstance(home, type) and home.__module__ not in ("builtins", "numpy") and not issubclass(home, Enum)
        )
        value = getattr(home, node.attr, None) if is_namespace or is_class else None
    elif type(home) is dict and isinstance(node.slice, ast.Constant):
        value = home.get(node.slice.value)
    value = tuple(value) if isinstance(value, list) else value
    several = value if isinstance(value, tuple) else (value,)
    is_plain = all(type(one) in (int, bool, str) or (type(one) is float and np.isfinite(one)) for one in several)
    return tree(repr(value)) if is_plain and several else None


# Masks of several axes, which Numba does not take as an index.


def picked(node: ast.Subscript, names: Names) -> Any:
    """Return a replacement for the elements of an array where a mask is true."""
    masked = _masked(node, names) if isinstance(node.ctx, ast.Load) else None
    return masked and tree("_picked(*MASKED)", MASKED=masked)


def put(node: ast.Assign, names: Names) -> Any:
    """Return a replacement for an assignment to such elements."""
    target, *others = node.targets
    masked = _masked(target, names) if isinstance(target, ast.Subscript) and not others else None
    if masked is None:
        return None
    names.require(node.value)
    is_last = isinstance(target.slice, ast.Tuple)  # type: ignore[attr-defined]
    axes = (names.rank(target.value) or 0) - (names.rank(masked[1]) or 0) - is_last  # type: ignore[attr-defined]
    helper = "_put_each" if (names.rank(node.value) or 0) > axes else "_put"
    return ast.Expr(tree(f"{helper}(*MASKED, VALUE)", MASKED=masked, VALUE=node.value))


def put_in_place(node: ast.AugAssign, names: Names) -> Any:
    """Return a replacement for `x[mask] += 1`."""
    masked = _masked(node.target, names) if isinstance(node.target, ast.Subscript) else None
    if masked is None or isinstance(node.op, ast.MatMult):
        return None
    changed: Any = numbers.in_place(node, names) or node  # with the value in the dtype of the elements
    total = ast.BinOp(tree("_picked(*MASKED)", MASKED=masked), node.op, changed.value)
    return ast.Expr(tree("_put_each(*MASKED, TOTAL)", MASKED=masked, TOTAL=total))


def _masked(node: ast.Subscript, names: Names) -> list[ast.expr] | None:
    """Return an array and the mask that is its index; None for an index that Numba takes."""
    mask, *others = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not names.are(node.value, ARRAY) or (names.rank(mask) or 0) < 2 or names.dtype(mask) != "bool":
        return None
    if not others:
        return [node.value, mask]
    is_last = len(others) == 1 and not isinstance(others[0], ast.Slice) and not names.may_be(others[0], ARRAY)
    return [tree("X[..., LAST]", X=node.value, LAST=others[0]), mask] if is_last else None


RULES: dict[type[ast.AST], tuple[Callable[[Any, Names], Any], ...]] = {
    ast.Call: (
        reductions.along,
        calls.joined,
        calls.array_of_list,
        calls.shape_of_list,
        calls.converted,
        calls.made_with_dtype,
        numbers.of_numbers,
        numbers.of_python,
        calls.called,
        calls.of_ufunc,
        calls.reshaped,
        calls.magnitude,
        calls.summed_products,
        calls.backwards,
    ),
    ast.Subscript: (setting, picked, index_of_list),
    ast.Attribute: (setting,),
    ast.BinOp: (product, numbers.operation),
    ast.UnaryOp: (numbers.sign,),
    ast.AugAssign: (put_in_place, numbers.in_place),
    ast.Compare: (numbers.comparison,),
    ast.With: (without_errstate,),
    ast.Assign: (put, grid_unpacked, unpacked, numbers.becoming_float),
}
"""The rules of each kind of node, in the order in which they are asked."""
