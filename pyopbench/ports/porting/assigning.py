"""Statements that write to arrays, as statements that bind a name to a new tensor."""

from __future__ import annotations

import ast

from pyopbench.ports.porting.assigned_names import assign_name
from pyopbench.ports.porting.distinct_places import is_distinct
from pyopbench.ports.porting.grown_lists import refuse_lost, write_list
from pyopbench.ports.porting.indexing import IndexEntry, Picked, entries_of, pick
from pyopbench.ports.porting.operators import BINARY
from pyopbench.ports.porting.typed import TypedCode


def write_item(code: TypedCode, target: ast.Subscript, value: str, rank: int, node: ast.stmt) -> str:
    """Return `x[key] = value` as a statement that binds `x`.

    Args:
        code: what writes it.
        target: `x[key]`, or `x[key][key]`.
        value: the text of what is written, of the dtype of `x`.
        rank: how many axes that has.
        node: the statement.
    """
    root, keys = _root_of(code, target)
    name = code.write(root)
    entries = [entries_of(code, key) for key in keys]
    if len(entries) == 1 and not rank and _is_whole_mask(entries[0], code.rank(root)):
        return f"{name} = tf.where({code.write(entries[0][0].node)}, {value}, {name})"
    _refuse_repeats(code, entries, rank, node)
    text, axes = f"_places({name})", code.rank(root)
    for several in entries:
        text = pick(code, target, Picked(text, axes), several)
        axes = code.rank(root)
    code.use("_replaced")
    code.use("_places")
    return f"{name} = _replaced({name}, {text}, {value})"


def _is_whole_mask(entries: list[IndexEntry], rank: int) -> bool:
    return len(entries) == 1 and entries[0].kind == "mask" and entries[0].rank == rank


def _refuse_repeats(code: TypedCode, entries: list[list[IndexEntry]], rank: int, node: ast.stmt) -> None:
    """Refuse values for places that may be named twice, of which NumPy keeps the last and TensorFlow any."""
    if not rank:
        return
    for entry in (one for several in entries for one in several if one.kind == "places"):
        if code.is_tensor(entry.node) and not is_distinct(code, entry.node):
            raise code.refusal(
                node,
                f"`{ast.unparse(node).splitlines()[0]}` may write to a place twice, of which TensorFlow keeps any",
            )


def _root_of(code: TypedCode, target: ast.expr) -> tuple[ast.Name, list[ast.expr]]:
    keys: list[ast.expr] = []
    while isinstance(target, ast.Subscript):
        keys.append(target.slice)
        target = target.value
    if not isinstance(target, ast.Name):
        raise code.refusal(target, f"`{ast.unparse(target)}` is written to, and is no variable", "give it a name")
    return target, keys[::-1]


def assign(code: TypedCode, node: ast.Assign) -> str | None:
    """Return an assignment that is not written as it stands."""
    if len(node.targets) > 1:
        written = [one for one in node.targets if isinstance(one, ast.Subscript) and _writes(code, one, node.value)]
        return _one_by_one(code, node, written) if written else None
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Subscript) and _writes(code, target, value):
        root, _ = _root_of(code, target)
        return write_item(code, target, code.tensor(value, code.dtype(root)), code.one(value).rank, node)
    if isinstance(target, ast.Tuple | ast.List) and code.is_tensor(value):
        names = code.source.text(*code.source.span(target))
        return f"{names} = tf.unstack({code.write(value)})"
    if isinstance(target, ast.Name):
        return write_list(code, target, value) or assign_name(code, target, value)
    return None


def _one_by_one(code: TypedCode, node: ast.Assign, written: list[ast.Subscript]) -> str:
    """Return `x[key] = name = value` as a statement for each target."""
    name = next((one.id for one in node.targets if isinstance(one, ast.Name)), None)
    if name is None or len(written) + 1 < len(node.targets):
        raise code.refusal(node, "several assignments in one statement", "write one to a line")
    rank = code.one(node.value).rank
    several = [f"{name} = {code.write(node.value)}"]
    several += [
        write_item(code, target, f"tf.cast({name}, tf.{code.dtype(_root_of(code, target)[0])})", rank, node)
        for target in written
    ]
    return ("\n" + " " * node.col_offset).join(several)


def _writes(code: TypedCode, target: ast.Subscript, value: ast.expr) -> bool:
    """Is an array written to of which a part is a tensor, or is a tensor written or the place given by one?"""
    inner: ast.expr = target
    found = code.holds_tensors(value)
    while isinstance(inner, ast.Subscript):
        nodes = [inner.value, *(inner.slice.elts if isinstance(inner.slice, ast.Tuple) else [inner.slice])]
        found = found or any(map(code.is_tensor, nodes))
        inner = inner.value
    of_array = any(one.kind in ("tensor", "array") for one in code.seen(inner))
    return found and of_array


def assign_in_place(code: TypedCode, node: ast.AugAssign) -> str | None:
    """Return `x += y` and `x[key] += y` of tensors."""
    target, value = node.target, node.value
    refuse_lost(code, node)
    if type(node.op) not in BINARY:
        return None
    sign = operator_of(code, node)
    if isinstance(target, ast.Subscript) and _writes(code, target, value):
        root, keys = _root_of(code, target)
        dtype = code.dtype(root)
        name, text = code.write(root), code.base(root)
        for key in keys:
            text = pick(code, target, Picked(text, code.rank(root)), entries_of(code, key))
        given = code.operand(value, dtype)
        return write_item(code, target, f"{text} {sign} {_bracketed(value, given)}", 1, node) if name else None
    if isinstance(target, ast.Name) and (code.holds_tensors(value) or code.is_tensor(target)):
        kinds = {one.kind for one in code.seen(target)}
        if kinds == {"sequence"}:
            return None
        dtype = _dtype_in_place(code, target, value)
        given = code.operand(value, dtype)
        if kinds <= {"tensor", "number"}:
            return f"{target.id} {sign}= {given}"
        return f"{target.id} = tf.cast({target.id}, tf.{dtype}) {sign} {_bracketed(value, given)}"
    return None


def _dtype_in_place(code: TypedCode, target: ast.Name, value: ast.expr) -> str:
    """Return the dtype in which `x += y` is computed: that of an array, which is written to, else of the result."""
    one = code.one(target)
    if one.rank and one.dtype:
        return one.dtype
    dtypes, _ = code.loop(BINARY[ast.Add], [target, value])
    return dtypes[1]


def _bracketed(node: ast.expr, text: str) -> str:
    return f"({text})" if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare | ast.IfExp) else text


def operator_of(code: TypedCode, node: ast.AugAssign) -> str:
    """Return the operator as it stands in the file, without the `=`."""
    begin, end = code.source.span(node.target)[1], code.source.span(node.value)[0]
    return code.source.text(begin, end).split("=")[0].strip()
