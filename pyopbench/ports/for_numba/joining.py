"""Lists where Numba takes tuples or arrays: joined, as an index, as a shape, or as an array."""

from __future__ import annotations

import ast

import numpy as np

from pyopbench.ports.for_numba.instead import Instead
from pyopbench.ports.for_numba.names import Names
from pyopbench.ports.for_numba.types import ARRAY, LIST

JOINING = {getattr(np, name): name for name in ("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack")}
SHAPED = {getattr(np, name): name for name in ("zeros", "ones", "empty", "full")}


def joined(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for arrays that are joined: a tuple of arrays for a list, or for one with lists in it."""
    name = _among(JOINING, node, names)
    if name is None or not node.args:
        return None
    given, made = node.args[0], Instead()
    if not isinstance(given, ast.List | ast.Tuple):
        return _of_list(name, node, made, names) if names.are(given, LIST) else None
    if any(isinstance(one, ast.Starred) for one in given.elts):
        return None
    lists = [names.are(one, LIST) for one in given.elts]
    if isinstance(given, ast.Tuple) and not any(lists):
        return None
    items = [
        f"np.array({made.part(one)})" if is_list else made.part(one)
        for one, is_list in zip(given.elts, lists, strict=True)
    ]
    more = made.arguments(node.args[1:], node.keywords)
    made.text = f"np.{name}(({', '.join(items)}{',' if len(items) == 1 else ''}){more})"
    return made


def _of_list(name: str, node: ast.Call, made: Instead, names: Names) -> Instead | None:
    """Return what stands for a list that was filled, whose arrays have all the same number of axes."""
    given, axis = node.args[0], _axis(node)
    ranks = {item.rank for one in names.of(given) for item in one.items}
    if axis is None or name == "dstack" or len(ranks) != 1:
        return None
    are_vectors, of_list = ranks == {1}, made.part(given)
    beside = f"_joined({of_list}, {0 if are_vectors else 1})"
    made.text = {
        "concatenate": f"_joined({of_list}, {axis})",
        "stack": f"_array_of({of_list})" if axis == "0" else f"_moved(_array_of({of_list}), 0, {axis})",
        "hstack": beside,
        "vstack": f"_array_of({of_list})" if are_vectors else f"_joined({of_list}, 0)",
        "column_stack": f"_array_of({of_list}).T" if are_vectors else beside,
    }[name]
    return made


def _axis(node: ast.Call) -> str | None:
    """Return the axis of a call as text, 0 where none is named; None for what is written otherwise."""
    given = [*node.args[1:], *(one.value for one in node.keywords if one.arg == "axis")]
    if len(given) != len(node.args) - 1 + len(node.keywords) or len(given) > 1:
        return None
    return ast.unparse(given[0]) if given else "0"


def array_of_list(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `np.array` of a list that was filled."""
    if names.value_of(node.func) not in (np.array, np.asarray) or len(node.args) != 1:
        return None
    given, options = node.args[0], {one.arg: one.value for one in node.keywords}
    if not names.are(given, LIST) or isinstance(given, ast.List) or not options.keys() <= {"dtype"}:
        return None
    made, items = Instead(), {item.kind for one in names.of(given) for item in one.items}
    made.text = f"{'_array_of' if items == {ARRAY} else '_numbers_of'}({made.part(given)})"
    if options:
        made.text += f".astype({made.part(options['dtype'])})"
    return made


def shape_of_list(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a call that makes an array of a shape which is written as a list."""
    name = _among(SHAPED, node, names)
    if name is None or not node.args or not isinstance(node.args[0], ast.List):
        return None
    made = Instead()
    sizes = "".join(f"{made.part(one)}, " for one in node.args[0].elts)
    made.text = f"np.{name}(({sizes.strip()}){made.arguments(node.args[1:], node.keywords)})"
    return made


def index_of_list(node: ast.Subscript, names: Names) -> Instead | None:
    """Return what stands for a subscript in which a list of numbers is an index."""
    several = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    lists = [isinstance(one, ast.List) or names.are(one, LIST) for one in several]
    if not any(lists):
        return None
    made = Instead()
    base = made.receiver(node.value)
    items = [
        f"np.array({made.part(one)})" if is_list else _index(one, made)
        for one, is_list in zip(several, lists, strict=True)
    ]
    made.text = f"{base}[{', '.join(items)}]"
    return made


def _index(node: ast.expr, made: Instead) -> str:
    if not isinstance(node, ast.Slice):
        return made.part(node)
    begin, end, step = (made.part(one) if one else "" for one in (node.lower, node.upper, node.step))
    return f"{begin}:{end}" + (f":{step}" if step else "")


def _among(table: dict[object, str], node: ast.Call, names: Names) -> str | None:
    function = names.value_of(node.func)
    return next((name for one, name in table.items() if one is function), None)
