"""Whether indices name no place twice: of values for the same place NumPy keeps the last and TensorFlow any."""

from __future__ import annotations

import ast

from pyopbench.ports.porting.indexing import assigned, entries_of
from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.typed import TypedCode

DISTINCT = frozenset({"np.argsort", "np.arange", "np.where", "np.nonzero", "np.flatnonzero", "np.lexsort"})
"""Functions that name no place twice, in a row of places or in all rows together."""


def is_distinct(code: TypedCode, node: ast.expr, asked: frozenset[str] = frozenset()) -> bool:
    """Is it seen from the source that no place is named twice? `asked` are names that this is being asked of."""
    if isinstance(node, ast.Subscript):
        return is_distinct(code, node.value, asked) and _picks_once(code, node, asked)
    if isinstance(node, ast.Name):
        if node.id in asked:  # `order = order[:n]`
            return True
        values = assigned(code, node.id)
        asked |= {node.id}
        return bool(values) and all(one is not None and is_distinct(code, one, asked) for one in values)
    if isinstance(node, ast.Call):
        name = name_of(code.value_of(node.func))
        if isinstance(node.func, ast.Attribute) and code.is_tensor(node.func.value):
            name = f"np.{node.func.attr}"
        if name == "np.where" and len(node.args) > 1:
            return False  # which chooses values
        return name in DISTINCT and _is_in_a_row(code, node)
    return False


def _picks_once(code: TypedCode, node: ast.Subscript, asked: frozenset[str]) -> bool:
    """Does a key pick each element once at most?"""
    entries = entries_of(code, node.slice)
    return all(entry.kind != "places" or is_distinct(code, entry.node, asked) for entry in entries)


def _is_in_a_row(code: TypedCode, call: ast.Call) -> bool:
    """Are places those of one axis? Of several, each has its own, and theirs may be equal."""
    given = [call.func.value] if isinstance(call.func, ast.Attribute) and code.is_tensor(call.func.value) else call.args
    return all(code.rank(one) <= 1 for one in given[:1] if code.is_tensor(one)) or code.rank(call) <= 1
