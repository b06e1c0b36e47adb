"""Elements of tensors, by NumPy's rules of masks and arrays of indices, and tensors with some of them replaced."""

from __future__ import annotations

import ast
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Literal

from pyopbench.ports.porting.observations import ARRAY, NUMBER_KIND, OTHER, SEQUENCE, TENSOR
from pyopbench.ports.porting.typed import TypedCode
from pyopbench.ports.porting.watching import names_written

NEVER_NEGATIVE = {
    *("range", "len", "np.argsort", "np.argmax", "np.argmin", "np.where", "np.nonzero", "np.flatnonzero"),
    *("np.arange", "np.searchsorted", "np.digitize", "np.bincount", "np.argwhere", "np.zeros"),
}
"""Functions of which no result is below 0, so that it can be gathered as it is."""

PASSED_ON = ("np.astype", "np.ravel", "np.reshape", "np.copy", "np.flatten")
"""Functions that return the values of their first argument."""


@dataclass(frozen=True)
class IndexEntry:
    """One of the expressions in brackets."""

    kind: Literal["number", "slice", "all", "new", "rest", "places", "mask", "points"]
    node: ast.expr
    rank: int = 0


def entries_of(code: TypedCode, key: ast.expr) -> list[IndexEntry]:
    """Return the expressions in brackets, each with what it is."""
    if not isinstance(key, ast.Tuple) and any(one.is_point for one in code.seen(key)):
        return [IndexEntry("points", key)]  # as `np.nonzero` returns them
    nodes = key.elts if isinstance(key, ast.Tuple) else [key]
    return [_entry(code, node) for node in nodes]


def _entry(code: TypedCode, node: ast.expr) -> IndexEntry:
    if isinstance(node, ast.Slice):
        is_all = node.lower is None and node.upper is None and node.step is None
        return IndexEntry("all" if is_all else "slice", node)
    if isinstance(node, ast.Constant) and node.value is Ellipsis:
        return IndexEntry("rest", node)
    one = code.one(node)
    if one.kind == OTHER and code.seen(node):
        return IndexEntry("new", node)  # None, or np.newaxis
    dtype = one.dtype or ("bool" if one.weak is bool else "int64")
    if dtype == "bool":
        if not one.rank:  # a single truth value
            raise code.refusal(node)
        return IndexEntry("mask", node, one.rank)
    if one.kind in (NUMBER_KIND, TENSOR, ARRAY) and not one.rank:
        return IndexEntry("number", node)
    return IndexEntry("places", node, one.rank)


def write_subscript(code: TypedCode, node: ast.Subscript) -> str | None:
    """Return `x[...]` of a tensor, or by one."""
    whole, key = node.value, node.slice
    is_table = isinstance(whole, ast.Dict) or {one.kind for one in code.seen(whole)} == {OTHER}
    if is_table and code.is_tensor(key):
        return _look_up(code, node, whole, key)
    is_array = isinstance(key, ast.Tuple) or any(one.kind == ARRAY for one in code.seen(whole))
    by_tensor = code.holds_tensors(key) or is_by_tensor(code, key)
    if not code.is_tensor(whole) and not (by_tensor and is_array):
        return None
    return pick(code, node, code.base(whole), entries_of(code, key))


def _look_up(code: TypedCode, node: ast.expr, table: ast.expr, key: ast.expr) -> str:
    """Return the value in a dictionary for a key that is a tensor."""
    dtype = code.dtype(node)
    if not code.holds_tensors(node) or code.rank(key) or not dtype:
        raise code.refusal(node)
    text = f"{code.use('np_looked_up')}({code.write(table)}, {code.tensor(key)}, tf.{dtype})"
    return f"tf.unstack({text})" if code.one(node).kind == SEQUENCE else text


def is_by_tensor(code: TypedCode, key: ast.expr) -> bool:
    """Is a key a tensor, or a part of it, or a bound of a slice in it?"""
    nodes = key.elts if isinstance(key, ast.Tuple) else [key]
    return code.is_tensor(key) or any(code.is_tensor(part) for node in nodes for part in _bounds(node))


def pick(code: TypedCode, node: ast.expr, whole: str, entries: Sequence[IndexEntry]) -> str:
    """Return the code that selects the elements of an array at a key; `[...]` can be added to the text of the array."""
    slices = [entry.node for entry in entries if isinstance(entry.node, ast.Slice)] if code.is_compiled else []
    for one in slices:  # in a loop, XLA selects the wrong elements by `x[:i:2]`, without an error (in TensorFlow 2.21)
        if one.step is not None and ast.unparse(one.step) != "1" and any(map(code.is_tensor, _bounds(one))):
            raise code.refusal(node)
    if [entry.kind for entry in entries] == ["points"]:
        return f"{code.use('np_at_points')}({whole}, {code.write(entries[0].node)})"
    picked = [place for place, entry in enumerate(entries) if entry.kind in ("places", "mask")]
    if len(picked) > 1:
        return _pick_points(code, node, whole, entries)
    if not picked and code.is_mapped:
        # `tf.vectorized_map` takes a gather at any places, and a key only if it is the same for all examples.
        picked = [at for at, entry in enumerate(entries) if entry.kind == "number" and code.is_tensor(entry.node)]
    elif picked:
        kinds = [entry.kind for entry in entries[: picked[0]]]
        places = [at for at, entry in enumerate(entries) if entry.kind in ("number", "places", "mask")]
        is_apart = places[0] > 0 and places[-1] - places[0] >= len(places)  # then NumPy has their axis in front
        is_behind = "number" in kinds and {*kinds} != {"number"}
        if "new" in [entry.kind for entry in entries] or is_behind or is_apart:
            raise code.refusal(node, fix="index twice, or use numba_op")
    if not picked:
        return _in_two_keys(code, whole, entries) or f"{whole}[{', '.join(_basic(code, entries))}]"
    text, kept = whole, _basic(code, entries)
    for place in reversed(picked):
        kept[place : place + 1] = [":"] * (entries[place].rank if entries[place].kind == "mask" else 1)
    while kept and kept[-1] == ":" and "..." not in kept:
        kept.pop()
    if not {*kept} <= {":", "..."}:
        text = f"{whole}[{', '.join(kept)}]"
    for place in reversed(picked):
        before, behind, key = entries[:place], entries[place + 1 :], entries[place].node
        axis = sum(entry.kind != "number" or at in picked for at, entry in enumerate(before))
        axis_of_whole = sum(entry.kind != "new" for entry in before)
        if any(entry.kind == "rest" for entry in before):
            axis = -1 - sum(entry.kind != "number" for entry in behind)
            axis_of_whole = -1 - sum(entry.kind != "new" for entry in behind)
        where = f", axis={axis}" if axis else ""
        if entries[place].kind == "mask":
            text = f"tf.boolean_mask({text}, {code.write(key)}{where})"
        else:
            text = f"tf.gather({text}, {_counted(code, key, whole, axis_of_whole)}{where})"
    return text


def _in_two_keys(code: TypedCode, whole: str, entries: Sequence[IndexEntry]) -> str:
    """Return `x[i, 1:-1]` as `x[i, :][1:-1]` for XLA; empty for a key that XLA supports.

    In a loop that XLA compiles, a key with a tensor and a slice that starts at a number selects the wrong elements,
    without an error (in TensorFlow 2.21, `x[i, 1:4]` returns `x[i, 0:3]`).
    """
    slices = {number: entry.node for number, entry in enumerate(entries) if isinstance(entry.node, ast.Slice)}
    by_tensor = {number for number, one in slices.items() if any(map(code.is_tensor, _bounds(one)))}
    from_number = any(one.lower or one.step for number, one in slices.items() if number not in by_tensor)
    by_tensor |= {number for number, one in enumerate(entries) if one.kind == "number" and code.is_tensor(one.node)}
    if not code.is_compiled or whole == "np.s_" or not by_tensor or not from_number:
        return ""
    first, second = [], []
    for number, (entry, text) in enumerate(zip(entries, _basic(code, entries), strict=True)):
        if entry.kind != "new":
            first.append(text if number in by_tensor or entry.kind == "rest" else ":")
        if number not in by_tensor or entry.kind != "number":
            second.append(":" if number in by_tensor else text)
    return f"{whole}[{', '.join(first)}][{', '.join(second)}]"


def _basic(code: TypedCode, entries: Sequence[IndexEntry]) -> list[str]:
    """Return numbers and slices unchanged; as int64 if they have two integer dtypes, or one that TensorFlow lacks."""
    bounds = {at: _bounds(one.node) for at, one in enumerate(entries) if one.kind in ("number", "slice")}
    dtypes = {one.dtype for some in bounds.values() for node in some for one in code.seen(node) if one.kind == TENSOR}
    texts = [code.write(entry.node) for entry in entries]
    if len(dtypes) < 2 and dtypes <= {"int32", "int64"}:
        return texts
    for at, some in bounds.items():
        texts[at] = code.replaced(entries[at].node, [(one, code.operand(one, "int64")) for one in some])
    return texts


def _bounds(node: ast.expr) -> list[ast.expr]:
    """Return the bounds and the step of a slice; any other index as it is."""
    parts = [node.lower, node.upper, node.step] if isinstance(node, ast.Slice) else [node]
    return [one for one in parts if one is not None]


def _counted(code: TypedCode, node: ast.expr, whole: str, axis: object, dtype: str = "") -> str:
    """Return indices that count from the front, as TensorFlow wants them, of a dtype if one is given."""
    seen = code.seen(node)
    is_sequence = any(one.kind == SEQUENCE and one.holds_tensors for one in seen)
    if not is_sequence and not any(one.kind == TENSOR or one.is_negative for one in seen):
        return f"tf.cast({code.write(node)}, tf.{dtype})" if dtype else code.write(node)
    own = code.dtype(node)
    text = code.tensor(node, dtype or (own if code.is_tensor(node) and own == "int32" else "int64"))
    is_behind = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and ast.unparse(node.right).isdigit()
    if own.startswith("u") or comes_from(code, node.left if is_behind else node, NEVER_NEGATIVE):  # type: ignore[attr-defined]
        return text
    return f"{code.use('np_from_front')}({text}, tf.shape({whole})[{axis}])"


def comes_from(
    code: TypedCode, node: ast.expr, functions: Set[str], *, of_rows: bool = False, asked: Set[str] = frozenset()
) -> bool:
    """Does the source show that all values of an expression, or a selection of them, are from calls of some functions?

    A name has to get all its values from them; `asked` are names under question, as in `order = order[:n]`. With
    `of_rows`, the functions are given one row.
    """
    values: list[ast.expr] = []
    if isinstance(node, ast.Name):
        if node.id in asked:
            return True
        values, asked = _assigned(code, node.id), asked | {node.id}
    elif isinstance(node, ast.Subscript):
        places = [one.node for one in entries_of(code, node.slice) if one.kind in ("places", "points")]
        values = [node.value, *places]
    elif isinstance(node, ast.Call):
        name, given = code.name_of(node.func), node.args
        if isinstance(node.func, ast.Attribute) and code.is_tensor(node.func.value):  # a method of an array
            name, given = f"np.{node.func.attr}", [node.func.value, *given]
        if name not in PASSED_ON:
            is_row = not of_rows or all(code.rank(one) <= 1 for one in given[:1] if code.is_tensor(one))
            is_other = name in ("np.where", "np.arange", "range") and len(given) != 1
            return is_row and name in functions and not is_other
        values = [*given[:1]]
    return bool(values) and all(comes_from(code, one, functions, of_rows=of_rows, asked=asked) for one in values)


def _assigned(code: TypedCode, name: str) -> list[ast.expr]:
    """Return all values that the function assigns to a name; nothing for one that is bound or written to otherwise."""
    nodes = list(ast.walk(code.unit.node))
    binds = [one for one in nodes if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)]
    values = []
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            # Of several names that one call is unpacked to, each is a part of what it returns.
            parts = target.elts if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call) else [target]
            values += [node.value for one in parts if one in binds]
    is_argument = any(isinstance(one, ast.arg) and one.arg == name for one in nodes)
    is_written = name in names_written([one for one in nodes if isinstance(one, ast.stmt | ast.Call)])
    return values if len(values) == len(binds) and not is_argument and not is_written else []


def _pick_points(code: TypedCode, node: ast.expr, whole: str, entries: Sequence[IndexEntry]) -> str:
    """Return the elements at places that several arrays of indices name together."""
    together = [entry for entry in entries if entry.kind in ("places", "number")]
    leading = entries[: len(together)]
    if leading != together or any(entry.kind not in ("all", "rest") for entry in entries[len(together) :]):
        raise code.refusal(node, fix="index twice, or use numba_op")
    texts = [_counted(code, entry.node, whole, axis, "int64") for axis, entry in enumerate(together)]
    return f"tf.gather_nd({whole}, {code.use('np_points')}({', '.join(texts)}))"
