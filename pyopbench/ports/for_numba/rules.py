"""Which rule a node of a body has, and what stands for it by that."""

from __future__ import annotations

import ast
import dataclasses
import types
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from pyopbench.model.syntax import every_name, number_of
from pyopbench.ports.for_numba import calls, joining, masks, numbers, reducing
from pyopbench.ports.for_numba.instead import BODY, Instead
from pyopbench.ports.for_numba.names import Names
from pyopbench.ports.for_numba.types import ARRAY, LIST


def instead_of(node: ast.AST, names: Names) -> Instead | None:
    """Return what stands for an expression or a statement that Numba does not take, or takes otherwise than NumPy.

    None for one that stays.

    Raises:
        CannotPort: Numba would take it for something else.
    """
    if (names.path, number_of(node)) in names.types.too_large:
        raise names.refusal(node, f"`{ast.unparse(node)}` is an integer of more than 64 bits")
    rules = (rule(node, names) for rule in RULES.get(type(node), ()))
    found = next((one for one in rules if one is not None), None)
    return numbers.in_dtype_of_numpy(node, found, names) if isinstance(node, ast.Call) else found


def product(node: ast.BinOp, names: Names) -> Instead | None:
    """Return what stands for `@`."""
    return calls.product(node.left, node.right, names) if isinstance(node.op, ast.MatMult) else None


def without_errstate(node: ast.With, names: Names) -> Instead | None:
    """Return the statements under `np.errstate`, which says nothing to what is compiled."""
    for one in node.items:
        call = one.context_expr
        if not isinstance(call, ast.Call) or names.value_of(call.func) is not np.errstate or one.optional_vars:
            return None
    return Instead(BODY, list(node.body))


def unpacked(node: ast.Assign, names: Names) -> Instead | None:
    """Return what stands for an assignment of an array to several names, which Numba does not unpack."""
    target = node.targets[0]
    if len(node.targets) > 1 or not isinstance(target, ast.Tuple) or not names.are(node.value, ARRAY, LIST):
        return None
    if any(isinstance(one, ast.Starred) for one in target.elts) or every_name(target) & every_name(node.value):
        return None
    if not isinstance(node.value, ast.Name | ast.Subscript):
        return None
    made = Instead()
    targets = ", ".join(made.part(one) for one in target.elts)
    items = ", ".join(f"{made.part(node.value)}[{place}]" for place in range(len(target.elts)))
    made.text = f"{targets}{' =' if len(target.elts) > 1 else ', ='} {items}{'' if len(target.elts) > 1 else ','}"
    return made


def setting(node: ast.Subscript | ast.Attribute, names: Names) -> Instead | None:
    """Return the value of an item of a global dict, or of an attribute of a global object that holds settings."""
    home = names.value_of(node.value) if isinstance(node.ctx, ast.Load) else None
    if isinstance(node, ast.Attribute):
        return _literal(getattr(home, node.attr, None)) if home is not None and _holds_settings(home) else None
    is_known = type(home) is dict and isinstance(node.slice, ast.Constant)
    return _literal(home.get(node.slice.value)) if is_known else None  # type: ignore[attr-defined, union-attr]


def _holds_settings(home: Any) -> bool:
    """Is it a namespace, as `argparse` makes them, an instance of a data class, or a class of the user's?"""
    if isinstance(home, type):
        return (
            "__init__" not in vars(home) and home.__module__ not in ("builtins", "numpy") and not issubclass(home, Enum)
        )
    is_namespace = isinstance(home, types.SimpleNamespace) or type(home).__name__ == "Namespace"
    return is_namespace or dataclasses.is_dataclass(home)


def _literal(value: Any) -> Instead | None:
    """Return numbers and text as they are written; None for what is neither."""
    if type(value) is str:
        return Instead(repr(value)) if "{" not in value else None
    if type(value) in (int, float, bool):
        text = repr(value)
        return Instead(f"({text})" if text.startswith("-") else text) if np.isfinite(value) else None
    if type(value) in (tuple, list) and value:
        items = [_literal(one) for one in value]
        texts = [one.text for one in items if one is not None]
        return Instead(f"({', '.join(texts)},)") if len(texts) == len(items) else None
    return None


RULES: dict[type[ast.AST], tuple[Callable[[Any, Names], Instead | None], ...]] = {
    ast.Call: (
        reducing.reduction,
        reducing.each_along,
        joining.joined,
        joining.array_of_list,
        joining.shape_of_list,
        calls.cast,
        calls.made_with_dtype,
        numbers.power,
        numbers.of_numbers,
        numbers.of_python,
        calls.called,
        calls.of_ufunc,
        calls.reshaped,
        calls.magnitude,
        calls.summed_products,
        calls.backwards,
    ),
    ast.Subscript: (setting, calls.grid, masks.picked, joining.index_of_list),
    ast.Attribute: (setting,),
    ast.BinOp: (product, numbers.operation),
    ast.UnaryOp: (numbers.sign,),
    ast.AugAssign: (masks.put_in_place, numbers.in_place),
    ast.Compare: (numbers.comparison,),
    ast.With: (without_errstate,),
    ast.Assign: (masks.put, calls.grid_unpacked, unpacked, numbers.becoming_float),
}
"""The rules of each kind of node, in the order in which they are asked."""
