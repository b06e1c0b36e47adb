"""Statements that write to arrays, as statements that bind a name to a new tensor."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from pyopbench.model.syntax import NUMBER, number_of
from pyopbench.ports.porting.calls import write_helper
from pyopbench.ports.porting.control_flow import carried, in_lines, is_sequence_where_ways_meet
from pyopbench.ports.porting.expressions import OPERATORS, helper_between, write_items
from pyopbench.ports.porting.indexing import IndexEntry, comes_from, entries_of, is_by_tensor, pick
from pyopbench.ports.porting.observations import NUMBER_KIND, TENSOR, dtype_of
from pyopbench.ports.porting.typed import TypedCode, is_grown, is_number, write_list
from pyopbench.ports.porting.watching import output_of, without_keys

DISTINCT = {
    "places": {"np.argsort", "np.arange", "np.where", "np.nonzero", "np.flatnonzero"},
    "points": {"np.nonzero", "np.where"},
}
"""Functions that name no element twice: in a row of places, or in indices for several axes, taken together."""

SCATTERS = {"np.add": "add", "np.subtract": "sub", "np.maximum": "max", "np.minimum": "min"}
"""Functions whose `.at` is an op that scatters, by its name in TensorFlow."""


def write_item(code: TypedCode, target: ast.Subscript, value: str, rank: int) -> str:
    """Return `x[key] = value` or `x[key][key] = value`, of so many axes, as a statement that binds `x`."""
    root, keys = root_of(code, target)
    name = code.write(root)
    entries = [entries_of(code, key) for key in keys]
    _refuse_copy(code, target, entries[:-1])
    is_mask = [(one.kind, one.rank) for one in entries[0]] == [("mask", code.rank(root))]
    if len(entries) == 1 and not rank and is_mask:
        return f"{name} = tf.where({code.write(entries[0][0].node)}, {value}, {name})"
    if len(entries) == 1 and entries[0] and not code.is_mapped and all(map(_is_of_part, entries[0])):
        part = pick(code, target, "np.s_", entries[0])
        function = "np_part_replaced_for_xla" if code.is_compiled else "np_part_replaced"
        return f"{name} = {code.use(function)}({name}, {part}, {value})"
    function = _replacing(code, entries, code.rank(root), rank)
    text = f"{code.use('np_element_places')}({name})"
    for several in entries:
        text = pick(code, target, text, several)
    return f"{name} = {code.use(function)}({name}, {text}, {value})"


def _refuse_copy(code: TypedCode, target: ast.expr, entries: list[list[IndexEntry]]) -> None:
    """Refuse to write to part of a selection by a mask or arrays of indices: in NumPy the selection is a copy."""
    if any(entry.kind in ("places", "mask", "points") for one in entries for entry in one):
        raise code.refusal(target)


def _is_of_part(entry: IndexEntry) -> bool:
    """Is it a number, or a slice without gaps? XLA takes no others."""
    step = entry.node.step if isinstance(entry.node, ast.Slice) else None
    is_next = step is None or (is_number(step) and ast.literal_eval(step) in (1, -1))
    return entry.kind in ("number", "all", "rest") or (entry.kind == "slice" and is_next)


def _replacing(code: TypedCode, entries: list[list[IndexEntry]], axes: int, rank: int) -> str:
    """Return the function that replaces elements; if an index occurs twice in one row, the last value is kept.

    If there are several arrays of indices, NumPy writes in the order of their memory layout. The array has `axes`,
    and the values have `rank`.
    """
    several = [entry for one in entries for entry in one if entry.kind in ("places", "points")] if rank else []
    unknown = [one for one in several if code.holds_tensors(one.node)]
    if all(comes_from(code, one.node, DISTINCT[one.kind], of_rows=one.kind == "places") for one in unknown):
        return "np_replaced"
    if len(entries) == 1 and all(entry.kind in ("places", "number", "all") for entry in entries[0]):
        last = max(place for place, entry in enumerate(entries[0]) if entry.kind == "places")
        if rank < axes - last - sum(entry.kind == "number" for entry in entries[0][last:]):
            return "np_replaced"  # the same values at all places
    is_row = len(several) == len(entries) == 1 and several[0].kind == "places" and several[0].rank == 1
    return "np_last_replaced" if is_row else "np_once_replaced"


def root_of(code: TypedCode, target: ast.expr) -> tuple[ast.Name, list[ast.expr]]:
    """Return the variable of `x[key][key]`, and the keys."""
    keys: list[ast.expr] = []
    while isinstance(target, ast.Subscript):
        keys.append(target.slice)
        target = target.value
    if not isinstance(target, ast.Name):
        raise code.refusal(target)
    return target, keys[::-1]


def assign(code: Any, node: ast.Assign) -> str | None:
    """Return an assignment that has to be rewritten."""
    for one in node.targets:
        _refuse_container(code, one)
        if isinstance(one, ast.Attribute) and code.is_tensor(one.value):
            raise code.refusal(one)
    target, value = node.targets[0], node.value
    if len(node.targets) > 1:
        return in_lines(node, _to_each(code, node))
    if isinstance(target, ast.Tuple | ast.List):
        return _unpack(code, node, target, value)
    if isinstance(target, ast.Subscript) and _writes(code, target, value):
        root, _ = root_of(code, target)
        text, rank = code.tensor(value, code.dtype(root)), code.one(value).rank
        items = target.slice.elts if isinstance(target.slice, ast.List) and target.value is root else []
        if any(map(code.is_tensor, items)) and not any(map(code.rank, items)) and rank == code.rank(root):
            # Rows that change places are written one by one; of equal places, the last value is kept.
            rows = code.fresh("rows")
            each = [ast.copy_location(ast.Subscript(root, one, ast.Store()), target) for one in items]
            lines = [write_item(code, one, f"{rows}[{place}]", rank - 1) for place, one in enumerate(each)]
            return in_lines(node, [f"{rows} = {text}", *lines])
        return write_item(code, target, text, rank)
    text = bound_text(code, target, value) if isinstance(target, ast.Name) else ""
    return f"{target.id} = {text}" if text else None  # type: ignore[attr-defined]


def _refuse_container(code: TypedCode, target: ast.expr) -> None:
    """Refuse to write to a list or a dict in a branch or loop of tensors: AutoGraph passes on names, not items."""
    kinds = {one.kind for one in code.seen(without_keys(target))}
    around = [one for one in ast.walk(code.unit.node) if isinstance(one, ast.If | ast.For | ast.While)]
    inside = any(one is target for each in around if code.decides(each) for one in ast.walk(each))
    if inside and isinstance(target, ast.Subscript) and kinds and not kinds & {"tensor", "array"}:
        raise code.refusal(target, f"`{ast.unparse(target)}` is an item of a list or dict, and a value decides on it")


def _to_each(code: Any, node: ast.Assign) -> list[str]:
    """Return `x = y = value` as a statement for each target."""
    value, names = node.value, [one for one in node.targets if isinstance(one, ast.Name)]
    if {one.kind for one in code.seen(value)} == {NUMBER_KIND} and len(names) == len(node.targets):
        return [f"{one.id} = {bound_text(code, one, value) or code.write(value)}" for one in names]
    name = names[0].id if names else code.fresh("value")
    others = [one for one in node.targets if not (isinstance(one, ast.Name) and one.id == name)]
    first = (bound_text(code, names[0], value) if names else "") or code.write(value)
    return [f"{name} = {first}", *(_to(code, one, value, name, code.one(value).rank) for one in others)]


def _unpack(code: Any, node: ast.Assign, target: ast.Tuple | ast.List, value: ast.expr) -> str:
    """Return `x, y[key] = values`: items are written to after all values are computed."""
    is_display = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
    values = value.elts if is_display else [value] * len(target.elts)  # type: ignore[attr-defined]
    is_unknown = any(one.kind == TENSOR and one.shape[:1] == (None,) for one in code.seen(value))
    if is_unknown and any(isinstance(one, ast.Starred) for one in target.elts):
        raise code.refusal(target)
    names, lines = [], []
    for one, part in zip(target.elts, values, strict=True):
        if isinstance(one, ast.Subscript) and _writes(code, one, part):
            names.append(code.fresh("item"))
            lines.append(_to(code, one, part, names[-1], code.one(part).rank - (not is_display)))
        else:
            names.append(code.write(one))
    if is_display:
        pairs = zip(target.elts, values, strict=True)
        texts = [(isinstance(one, ast.Name) and bound_text(code, one, part)) or code.write(part) for one, part in pairs]
    else:
        # Where a branch or loop gives a name a tensor, a number that it is unpacked to is one, too.
        for name in (one.id for one in target.elts if isinstance(one, ast.Name)):
            seen = carried(code, name)
            if (dtype := dtype_of(seen)) and any(one.kind == NUMBER_KIND for one in seen):
                lines.append(f"{name} = {code.use('np_number')}({name}, tf.{dtype})")
        number = f", num={len(names)}" if is_unknown else ""
        texts = [f"tf.unstack({code.write(value)}{number})" if code.is_tensor(value) else code.write(value)]
    end = "," if len(names) == 1 else ""
    return in_lines(node, [f"{', '.join(names)}{end} = {', '.join(texts)}{end * is_display}", *lines])


def _to(code: TypedCode, target: ast.expr, value: ast.expr, name: str, rank: int) -> str:
    """Return the statement that assigns a name, which has a value of some number of axes, to a target."""
    if not isinstance(target, ast.Subscript) or not _writes(code, target, value):
        return f"{code.write(target)} = {name}"
    root, _ = root_of(code, target)
    return write_item(code, target, f"tf.cast({name}, tf.{code.dtype(root)})", max(rank, 0))


def _writes(code: TypedCode, target: ast.Subscript, value: ast.expr) -> bool:
    """Is a tensor written, or is the place given by one, or is a part of the array a tensor?"""
    inner: ast.expr = target
    found = code.holds_tensors(value)
    while isinstance(inner, ast.Subscript):
        found = found or code.is_tensor(inner.value) or is_by_tensor(code, inner.slice)
        inner = inner.value
    of_array = any(one.kind in ("tensor", "array") for one in code.seen(inner))
    return found and of_array


def assign_in_place(code: TypedCode, node: ast.AugAssign) -> str | None:
    """Return `x += y` and `x[key] += y` of tensors."""
    target, value = node.target, node.value
    # The observer does not follow arrays through attributes that are changed.
    if isinstance(target, ast.Attribute) or is_grown(target, code):
        raise code.refusal(node)
    _refuse_container(code, target)
    if type(node.op) not in OPERATORS:
        return None
    between = code.source.span(target)[1], code.source.span(value)[0]
    sign = code.source.text(*between).partition("=")[0].strip()
    if isinstance(target, ast.Subscript) and _writes(code, target, value):
        root, keys = root_of(code, target)
        dtype = code.dtype(root)
        text = code.base(root)
        for key in keys:
            text = pick(code, target, text, entries_of(code, key))
        rank = max(code.one(value).rank, 1)  # what is added to differs from place to place
        helper = helper_between(code, node.op, dtype, root, value)
        changed = f"{text} {sign} ({code.operand(value, dtype)})"
        if helper:
            changed = f"{code.use(helper)}({text}, {code.tensor(value, dtype)})"
        return write_item(code, target, changed, rank)
    if isinstance(target, ast.Name) and (code.holds_tensors(value) or code.is_tensor(target)):
        kinds = {one.kind for one in code.seen(target)}
        if kinds == {"sequence"}:
            return None
        one = code.one(target)
        # An array, which is written to, keeps its dtype; of numbers, it is that of the result.
        dtype = one.dtype if one.rank and one.dtype else code.loop(np.add, [target, value])[0][1]
        if helper := helper_between(code, node.op, dtype, target, value):
            return f"{target.id} = {write_helper(code, helper, [(target, dtype), (value, dtype)])}"
        given = code.operand(value, dtype)
        if kinds <= {"tensor", "number"} and one.dtype in ("", dtype):
            return f"{target.id} {sign}= {given}"
        return f"{target.id} = tf.cast({target.id}, tf.{dtype}) {sign} ({given})"
    return None


def bound_text(code: TypedCode, target: ast.Name, value: ast.expr) -> str:
    """Return the right side of `x = value`; empty if it stays.

    A number next to a tensor on the other way of an `if` is one of TensorFlow's own dtype to AutoGraph; so it gets
    the other's. What converts to what is there already would assign a name to itself.
    """
    if listed := write_list(code, target, value):
        return listed
    if code.is_tensor(value):
        text = code.write(value)
        return f"tf.identity({text})" if text.strip("()") == target.id and not isinstance(value, ast.Name) else ""
    if isinstance(value, ast.Tuple | ast.List) and any(map(is_number, value.elts)):
        return write_items(code, value) if is_sequence_where_ways_meet(code, target.id) else ""
    dtype = dtype_of(carried(code, target.id))
    is_of_numbers = {one.kind for one in code.seen(value)} == {NUMBER_KIND}
    return f"tf.constant({code.write(value)}, tf.{dtype})" if dtype and is_of_numbers else ""


def write_statement(code: TypedCode, call: ast.Call) -> str | None:
    """Return a call that writes to an array which is, or becomes, a tensor; None for any other call."""
    if (output := _write_output(code, call)) is not None:
        return output
    function, given = call.func, call.args
    if isinstance(function, ast.Attribute) and function.attr == "at":
        ufunc = code.name_of(function.value)
        return _scatter(code, call, SCATTERS[ufunc]) if ufunc in SCATTERS else None
    if code.name_of(function) == "np.fill_diagonal" and code.is_tensor(given[0]):
        array, value = _name(code, given[0]), code.tensor(given[1], code.dtype(given[0]))
        return f"{array} = tf.linalg.set_diag({array}, tf.fill(tf.shape({array})[:1], {value}))"
    return None


def _write_output(code: TypedCode, call: ast.Call) -> str | None:
    """Return `np.add(x, y, out=z)` as an assignment to `z`; None for any other call."""
    ufunc, output = code.value_of(call.func), output_of(call)
    given_by_name = {one.arg for one in call.keywords}
    if not isinstance(ufunc, np.ufunc) or output is None or not given_by_name <= {"out", "where"}:
        return None
    is_masked = "where" in given_by_name
    given = call.args[: ufunc.nin]
    if not any(map(code.is_tensor, [*given, output])):
        return None
    without = ast.copy_location(ast.Call(call.func, given, []), call)
    setattr(without, NUMBER, number_of(call))
    dtype = code.dtype(output)
    text = code.write(call if is_masked else without)
    if not is_masked and code.loop(ufunc, given)[1] != dtype:
        text = f"tf.cast({text}, tf.{dtype})"
    if code.rank(output) != max(map(code.rank, given)):
        text = f"tf.broadcast_to({text}, tf.shape({code.write(output)}))"
    if isinstance(output, ast.Subscript):
        _refuse_copy(code, output, [entries_of(code, key) for key in root_of(code, output)[1]])
        return write_item(code, output, text, code.rank(output))
    return f"{_name(code, output)} = {text}"


def _name(code: TypedCode, node: ast.expr) -> str:
    if not isinstance(node, ast.Name):
        raise code.refusal(node)
    return node.id


def _scatter(code: Any, call: ast.Call, function: str) -> str | None:
    """Return `np.add.at(x, places, values)`."""
    array, places, values = call.args
    if not any(map(code.holds_tensors, call.args)):
        return None
    name, dtype = _name(code, array), code.dtype(array)
    several = places.elts if isinstance(places, ast.Tuple) else [places]
    if any(isinstance(one, ast.Slice) or not (code.rank(one) or code.holds_tensors(one)) for one in several):
        raise code.refusal(call)
    is_whole = isinstance(places, ast.Tuple) or any(one.is_point for one in code.seen(places))
    indices = code.write(places) if is_whole else f"({code.write(places)},)"
    points, given = code.fresh("points"), code.tensor(values, dtype)
    if not code.rank(values):
        given = f"tf.fill(tf.shape({points})[:-1], {given})"
    lines = [f"{points} = {code.use('np_points_in')}({name}, {indices})"]
    return in_lines(call, [*lines, f"{name} = tf.tensor_scatter_nd_{function}({name}, {points}, {given})"])
