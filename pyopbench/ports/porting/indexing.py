"""Elements of tensors, by NumPy's rules of masks and arrays of indices, and tensors with some of them replaced."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.observe import ARRAY, NUMBER_KIND, OTHER, SEQUENCE, TENSOR
from pyopbench.ports.porting.typed import TypedCode
from pyopbench.ports.porting.watching import names_written

NEVER_NEGATIVE = frozenset(
    {
        *("range", "len", "np.argsort", "np.argmax", "np.argmin", "np.where", "np.nonzero", "np.flatnonzero"),
        *("np.arange", "np.searchsorted", "np.digitize", "np.argpartition", "np.bincount"),
        *("np.argwhere", "np.zeros"),
    }
)
"""Functions of which no result is below 0, so that it can be gathered as it is."""


@dataclass(frozen=True)
class IndexEntry:
    """One of the expressions in brackets."""

    kind: Literal["number", "slice", "all", "new", "rest", "places", "mask", "points"]
    node: ast.expr
    rank: int = 0

    @property
    def is_copied(self) -> bool:
        """Whether NumPy returns a copy of the elements, not a view."""
        return self.kind in ("places", "mask", "points")


@dataclass(frozen=True)
class Picked:
    """An array and what is picked of it: a text to which more can be added, and how many axes it has."""

    text: str
    rank: int
    fixed: str = ""


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
        if not one.rank:
            raise code.refusal(node, f"`[{ast.unparse(node)}]` is a single truth value", "use `if`, or np.where")
        return IndexEntry("mask", node, one.rank)
    if one.kind in (NUMBER_KIND, TENSOR, ARRAY) and not one.rank:
        return IndexEntry("number", node)
    return IndexEntry("places", node, one.rank)


def write_subscript(code: TypedCode, node: ast.Subscript) -> str | None:
    """Return `x[...]` of a tensor, or by one."""
    if code.holds_tensors(node.value) and (found := _places_of_axis(code, node)):
        return found
    if is_table(code, node.value) and code.is_tensor(node.slice):
        return look_up(code, node, node.value, node.slice)
    by_tensor = code.holds_tensors(node.slice) or is_by_tensor(code, node.slice)
    if not code.is_tensor(node.value) and not (
        by_tensor and (_is_array(code, node.value) or isinstance(node.slice, ast.Tuple))
    ):
        return None
    entries = entries_of(code, node.slice)
    whole = code.base(node.value)
    return pick(code, node, Picked(whole, code.rank(node.value), whole), entries)


def is_table(code: TypedCode, node: ast.expr) -> bool:
    """Is it a dictionary, a set, or anything else that is neither an array nor a number?"""
    return isinstance(node, ast.Dict | ast.Set) or {one.kind for one in code.seen(node)} == {OTHER}


def look_up(code: TypedCode, node: ast.expr, table: ast.expr, key: ast.expr, default: ast.expr | None = None) -> str:
    """Return the value in a dictionary for a key that is a tensor."""
    if not code.holds_tensors(node) or code.rank(key) or not code.dtype(node):
        raise code.refusal(
            node,
            f"`{ast.unparse(node)}` is supported only for a single key and values that are numbers",
            "use an array",
        )
    dtype = code.dtype(node)
    is_same = default is None or (code.one(default).weak is int and np.dtype(dtype).kind in "iu")
    if default is not None and not is_same and not np.can_cast(code.dtype(default), dtype, "same_kind"):
        raise code.refusal(node, f"`{ast.unparse(node)}` has a default of another type than its values", "use one type")
    others = f", {code.tensor(default, dtype)}" if default is not None else ""
    text = f"{code.use('np_looked_up')}({code.write(table)}, {code.tensor(key)}, tf.{dtype}{others})"
    return f"tf.unstack({text})" if code.one(node).kind == SEQUENCE else text


def is_by_tensor(code: TypedCode, key: ast.expr) -> bool:
    """Is a key a tensor, or a part of it, or a bound of a slice in it?"""
    nodes = key.elts if isinstance(key, ast.Tuple) else [key]
    parts = [part for node in nodes for part in (_bounds(node) if isinstance(node, ast.Slice) else [node])]
    return code.is_tensor(key) or any(map(code.is_tensor, parts))


def _places_of_axis(code: TypedCode, node: ast.Subscript) -> str:
    """Return `np.where(mask)[axis]`; nothing for anything else."""
    call, key = node.value, node.slice
    if not isinstance(call, ast.Call) or not isinstance(key, ast.Constant) or call.keywords or len(call.args) > 1:
        return ""
    place = ast.unparse(key)
    name = name_of(code.value_of(call.func))
    if isinstance(call.func, ast.Attribute) and code.is_tensor(call.func.value) and call.func.attr == "nonzero":
        return f"tf.where({code.tensor(call.func.value, 'bool')})[:, {place}]"
    if name not in ("np.where", "np.nonzero") or len(call.args) != 1:
        return ""
    return f"tf.where({code.tensor(call.args[0], 'bool')})[:, {place}]"


def _is_array(code: TypedCode, node: ast.expr) -> bool:
    return any(one.kind == ARRAY for one in code.seen(node))


def pick(code: TypedCode, node: ast.expr, whole: Picked, entries: Sequence[IndexEntry]) -> str:
    """Return the code that selects the elements at a key."""
    _refuse_steps(code, node, entries)
    if [entry.kind for entry in entries] == ["points"]:
        return f"{code.use('np_at_points')}({whole.text}, {code.write(entries[0].node)})"
    special = [place for place, entry in enumerate(entries) if entry.kind in ("places", "mask")]
    if not special:
        found = _mapped(code, whole, entries) or _in_two_keys(code, whole, entries)
        return found or f"{whole.text}[{', '.join(_basic(code, entries))}]"
    if len(special) > 1:
        return _pick_points(code, node, whole, entries)
    (place,) = special
    entry = entries[place]
    before = entries[:place]
    if any(one.kind == "new" for one in entries):
        raise code.refusal(node, f"`{ast.unparse(node)}` mixes an array of indices with None", "index twice")
    if any(one.kind == "number" for one in before) and any(one.kind != "number" for one in before):
        raise code.refusal(node, f"`{ast.unparse(node)}` mixes integers, slices and arrays of indices", "index twice")
    text, axis = _with_basic(code, whole, entries, place)
    if entry.kind == "mask":
        where = f", axis={axis}" if axis not in ("0", "") else ""
        return f"tf.boolean_mask({text}, {code.write(entry.node)}{where})"
    where = f", axis={axis}" if axis != "0" else ""
    return f"tf.gather({text}, {_places(code, entry.node, text, axis)}{where})"


def _mapped(code: TypedCode, whole: Picked, entries: Sequence[IndexEntry]) -> str:
    """Return what integers pick that differ from example to example of a batch; nothing where none do.

    `tf.vectorized_map` takes a gather at any places, and a slice only where it is the same for all examples.
    """
    varying = [place for place, entry in enumerate(entries) if entry.kind == "number" and code.is_tensor(entry.node)]
    if not code.is_mapped or not varying or any(entry.kind == "rest" for entry in entries):
        return ""
    kept = [":" if place in varying else text for place, text in enumerate(_basic(code, entries))]
    while kept and kept[-1] == ":":
        kept.pop()
    text = f"{whole.text}[{', '.join(kept)}]" if kept else whole.text
    for place in reversed(varying):
        before = entries[:place]
        axis = sum(entry.kind != "number" or one in varying for one, entry in enumerate(before))
        of_whole = sum(entry.kind != "new" for entry in before)
        where = f", axis={axis}" if axis else ""
        text = f"tf.gather({text}, {_point(code, entries[place], whole.fixed or whole.text, of_whole)}{where})"
    return text


def _in_two_keys(code: TypedCode, whole: Picked, entries: Sequence[IndexEntry]) -> str:
    """Return `x[i, 1:-1]` as `x[i, :][1:-1]` for XLA; empty for a key that XLA supports.

    In a loop that XLA compiles, a key with a tensor and a slice that starts at a number selects the wrong elements,
    without an error (in TensorFlow 2.21, `x[i, 1:4]` returns `x[i, 0:3]`).
    """
    slices = {number: entry.node for number, entry in enumerate(entries) if isinstance(entry.node, ast.Slice)}
    by_tensor = {number for number, one in slices.items() if any(map(code.is_tensor, _bounds(one)))}
    from_number = any(one.lower or one.step for number, one in slices.items() if number not in by_tensor)
    by_tensor |= {number for number, one in enumerate(entries) if one.kind == "number" and code.is_tensor(one.node)}
    if not code.is_compiled or whole.text == "np.s_" or not by_tensor or not from_number:
        return ""
    first, second = [], []
    for number, (entry, text) in enumerate(zip(entries, _basic(code, entries), strict=True)):
        if entry.kind != "new":
            first.append(text if number in by_tensor or entry.kind == "rest" else ":")
        if number not in by_tensor or entry.kind != "number":
            second.append(":" if number in by_tensor else text)
    return f"{whole.text}[{', '.join(first)}][{', '.join(second)}]"


def _refuse_steps(code: TypedCode, node: ast.expr, entries: Sequence[IndexEntry]) -> None:
    """Refuse `x[:i:2]` for XLA: in a loop it selects the wrong elements, without an error (in TensorFlow 2.21)."""
    slices = [entry.node for entry in entries if isinstance(entry.node, ast.Slice)] if code.is_compiled else []
    for one in slices:
        has_step = one.step is not None and ast.unparse(one.step) != "1"
        if has_step and any(map(code.is_tensor, _bounds(one))):
            raise code.refusal(
                node,
                f"`{ast.unparse(node)}` has a step between bounds that depend on values",
                "use an array of indices",
            )


def _basic(code: TypedCode, entries: Sequence[IndexEntry]) -> list[str]:
    """Return numbers and slices unchanged; as int64 if they have two integer dtypes, or one that TensorFlow lacks."""
    parts = [[entry.node] for entry in entries if entry.kind == "number"]
    parts += [_bounds(entry.node) for entry in entries if entry.kind == "slice"]
    seen = [one for several in parts for node in several for one in code.seen(node)]
    dtypes = {one.dtype for one in seen if one.kind == TENSOR}
    if len(dtypes) < 2 and dtypes <= {"int32", "int64"}:
        return [code.write(entry.node) for entry in entries]
    return [_as_int64(code, entry) for entry in entries]


def _bounds(node: ast.expr) -> list[ast.expr]:
    assert isinstance(node, ast.Slice)
    return [one for one in (node.lower, node.upper, node.step) if one is not None]


def _as_int64(code: TypedCode, entry: IndexEntry) -> str:
    if entry.kind == "slice":
        bounds = [(*code.source.span(one), code.operand(one, "int64")) for one in _bounds(entry.node)]
        return code.source.replaced(*code.source.span(entry.node), bounds)
    return code.operand(entry.node, "int64") if entry.kind == "number" else code.write(entry.node)


def _with_basic(code: TypedCode, whole: Picked, entries: Sequence[IndexEntry], place: int) -> tuple[str, str]:
    """Return an array of which all is picked but what arrays of indices pick, and the axis that those are of."""
    before = entries[:place]
    picked = [":"] * (entries[place].rank if entries[place].kind == "mask" else 1)
    basic = _basic(code, [*before, *entries[place + 1 :]])
    kept = [*basic[:place], *picked, *basic[place:]]
    axis = str(sum(entry.kind != "number" for entry in before))
    if any(entry.kind == "rest" for entry in before):
        axis = str(-1 - sum(entry.kind != "number" for entry in entries[place + 1 :]))
    others = [entry for position, entry in enumerate(entries) if position != place]
    if all(entry.kind in ("all", "rest") for entry in others):
        return whole.text, axis
    while kept and kept[-1] == ":":
        kept.pop()
    return f"{whole.text}[{', '.join(kept)}]", axis


def _places(code: TypedCode, node: ast.expr, whole: str, axis: str) -> str:
    """Return indices that count from the front, as TensorFlow wants them."""
    seen = code.seen(node)
    if any(one.kind == SEQUENCE and one.holds_tensors for one in seen):
        places = code.tensor(node)
        items = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        if all(is_never_negative(code, one) for one in items):
            return places
        return f"{code.use('np_from_front')}(tf.convert_to_tensor({places}), tf.shape({whole})[{axis}])"
    if not any(one.kind == TENSOR for one in seen):
        if not any(one.is_negative for one in seen):
            return code.write(node)
        return f"{code.use('np_from_front')}({code.tensor(node, 'int64')}, tf.shape({whole}, tf.int64)[{axis}])"
    text = code.write(node) if code.dtype(node) in ("int32", "int64") else code.tensor(node, "int64")
    if is_never_negative(code, node):
        return text
    return f"{code.use('np_from_front')}({text}, tf.shape({whole})[{axis}])"


def is_never_negative(code: TypedCode, node: ast.expr, asked: frozenset[str] = frozenset()) -> bool:
    """Is it seen from the source that no element is below 0? `asked` are names that this is being asked of."""
    one = code.one(node)
    if one.dtype.startswith("u") or one.dtype == "bool":
        return True
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and node.value >= 0
    if isinstance(node, ast.Call):
        name = name_of(code.value_of(node.func))
        if isinstance(node.func, ast.Attribute) and code.is_tensor(node.func.value):
            name = f"np.{node.func.attr}"
            if name in ("np.astype", "np.ravel", "np.reshape", "np.copy", "np.flatten"):
                return is_never_negative(code, node.func.value, asked)
        if name == "np.where" and len(node.args) > 1:  # which chooses values
            return all(is_never_negative(code, one, asked) for one in node.args[1:])
        if name in ("np.arange", "range") and (len(node.args) > 1 or node.keywords):
            is_named = any(one.arg != "dtype" for one in node.keywords)
            first_and_step = [*node.args[:1], *node.args[2:3]] if len(node.args) > 1 else []
            return not is_named and all(is_never_negative(code, one, asked) for one in first_and_step)
        return name in NEVER_NEGATIVE
    if isinstance(node, ast.Subscript):
        return is_never_negative(code, node.value, asked)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult | ast.FloorDiv | ast.Mod):
        return all(is_never_negative(code, side, asked) for side in (node.left, node.right))
    if isinstance(node, ast.Name):
        if node.id in asked:  # `order = order[:n]`
            return True
        values = assigned(code, node.id)
        asked |= {node.id}
        return bool(values) and all(value is not None and is_never_negative(code, value, asked) for value in values)
    return False


def assigned(code: TypedCode, name: str) -> list[ast.expr | None]:
    """Return all values that the function assigns to a name; None for what is no simple assignment."""
    assert code.unit is not None
    found: list[ast.expr | None] = []
    for node in ast.walk(code.unit.node):
        if isinstance(node, ast.arg) and node.arg == name:
            found.append(None)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            found.append(None)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Call) and name in names_written([node]):
            return [None]
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            # Of several names that one call is unpacked to, each is a part of what it returns.
            parts = target.elts if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Call) else [target]
            if any(isinstance(one, ast.Name) and one.id == name for one in parts):
                found.append(node.value)
    simple: list[ast.expr | None] = [one for one in found if one is not None]
    return simple if len(simple) == len(found) - len(simple) else found


def _pick_points(code: TypedCode, node: ast.expr, whole: Picked, entries: Sequence[IndexEntry]) -> str:
    """Return the elements at places that several arrays of indices name together."""
    together = [entry for entry in entries if entry.kind in ("places", "number")]
    leading = entries[: len(together)]
    if leading != together or any(entry.kind not in ("all", "rest") for entry in entries[len(together) :]):
        raise code.refusal(node, f"`{ast.unparse(node)}` mixes several arrays of indices with slices", "index twice")
    ranks = {entry.rank for entry in together}
    arrays = [entry.node for entry in together if entry.rank]
    shapes = {shape for node in arrays for shape in _shapes_of(code, node)}
    texts = [_point(code, entry, whole.text, axis) for axis, entry in enumerate(together)]
    if len(ranks) > 1 or len(shapes) > 1:
        return f"tf.gather_nd({whole.text}, {code.use('np_points')}({', '.join(texts)}))"
    return f"tf.gather_nd({whole.text}, tf.stack([{', '.join(texts)}], axis=-1))"


def _shapes_of(code: TypedCode, node: ast.expr) -> set[tuple[Any, ...]]:
    """Return the shapes of an array of indices; of a list by its source. An unknown shape includes the source text."""
    found: set[tuple[Any, ...]] = {one.shape for one in code.seen(node) if one.kind in (TENSOR, ARRAY)}
    if found:
        return found
    lengths: list[Any] = []
    inner: ast.expr = node
    while isinstance(inner, ast.List | ast.Tuple) and inner.elts:
        lengths.append(len(inner.elts))
        inner = inner.elts[0]
    return {(*lengths, ast.unparse(inner))} if not isinstance(inner, ast.Constant | ast.UnaryOp) else {tuple(lengths)}


def _point(code: TypedCode, entry: IndexEntry, whole: str, axis: int) -> str:
    seen = code.seen(entry.node)
    if not any(one.kind == TENSOR or one.is_negative for one in seen):
        return f"tf.cast({code.write(entry.node)}, tf.int64)"
    text = code.tensor(entry.node, "int64")
    if is_never_negative(code, entry.node):
        return text
    return f"{code.use('np_from_front')}({text}, tf.shape({whole}, tf.int64)[{axis}])"
