"""Statements that write to arrays, as statements that bind a name to a new tensor."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from pyopbench.model.syntax import NUMBER, number_of
from pyopbench.ports.porting.control_flow import carried, dtype_of_name, is_sequence_where_ways_meet
from pyopbench.ports.porting.grown_lists import is_grown, refuse_grown, write_list
from pyopbench.ports.porting.indexing import (
    IndexEntry,
    Picked,
    assigned,
    entries_of,
    is_by_tensor,
    is_never_negative,
    pick,
)
from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.observe import ARRAY, NUMBER_KIND, TENSOR, dtype_of
from pyopbench.ports.porting.operators import BINARY, SHIFTS, write_between, write_items
from pyopbench.ports.porting.render import bracketed
from pyopbench.ports.porting.typed import TypedCode, is_number
from pyopbench.ports.porting.watching import output_of, without_keys

DISTINCT = frozenset({"np.argsort", "np.arange", "np.where", "np.nonzero", "np.flatnonzero"})
"""Functions that name no place twice, in a row of places or in all rows together."""

TOGETHER = frozenset(
    {"np.nonzero", "np.where", *(f"np.{one}_indices{end}" for one in ("tril", "triu", "diag") for end in ("", "_from"))}
)
"""Functions whose indices, taken together, contain no element twice."""

SCATTERS = {"np.add": "add", "np.subtract": "sub", "np.maximum": "max", "np.minimum": "min"}
"""Functions whose `.at` is an op that scatters, by its name in TensorFlow."""


def write_item(code: TypedCode, target: ast.Subscript, value: str, rank: int, node: ast.stmt) -> str:
    """Return `x[key] = value` as a statement that binds `x`.

    Args:
        code: the writer.
        target: `x[key]`, or `x[key][key]`.
        value: the text of what is written, of the dtype of `x`.
        rank: how many axes that has.
        node: the statement.
    """
    root, keys = root_of(code, target)
    name = code.write(root)
    entries = [entries_of(code, key) for key in keys]
    if not isinstance(node, ast.Assign | ast.AugAssign):
        _refuse_copy(code, target, entries)
    _refuse_copy(code, target, entries[:-1])
    if len(entries) == 1 and not rank and _is_whole_mask(entries[0], code.rank(root)):
        return f"{name} = tf.where({code.write(entries[0][0].node)}, {value}, {name})"
    if len(entries) == 1 and entries[0] and not code.is_mapped and all(map(_is_of_part, entries[0])):
        part = pick(code, target, Picked("np.s_", code.rank(root)), entries[0])
        function = "np_part_replaced_for_xla" if code.is_compiled else "np_part_replaced"
        return f"{name} = {code.use(function)}({name}, {part}, {value})"
    function = _replacing(code, entries, code.rank(root), rank)
    text, axes = f"{code.use('np_element_places')}({name})", code.rank(root)
    for several in entries:
        text = pick(code, target, Picked(text, axes), several)
        axes = code.rank(root)
    return f"{name} = {code.use(function)}({name}, {text}, {value})"


def _refuse_copy(code: TypedCode, target: ast.expr, entries: list[list[IndexEntry]]) -> None:
    """Refuse to write to part of a selection by a mask or arrays of indices: in NumPy the selection is a copy."""
    if any(entry.is_copied for one in entries for entry in one):
        raise code.refusal(
            target,
            f"`{ast.unparse(target)}` is part of a copy, so nothing is written to the array",
            "combine the keys into one",
        )


def _is_of_part(entry: IndexEntry) -> bool:
    """Is it a number, or a slice without gaps? XLA takes no others."""
    step = entry.node.step if isinstance(entry.node, ast.Slice) else None
    is_next = step is None or (is_number(step) and ast.literal_eval(step) in (1, -1))
    return entry.kind in ("number", "all", "rest") or (entry.kind == "slice" and is_next)


def _is_whole_mask(entries: list[IndexEntry], rank: int) -> bool:
    return len(entries) == 1 and entries[0].kind == "mask" and entries[0].rank == rank


def _replacing(code: TypedCode, entries: list[list[IndexEntry]], axes: int, rank: int) -> str:
    """Return the function that replaces elements; if an index occurs twice in one row, the last value is kept.

    If there are several arrays of indices, NumPy writes in the order of their memory layout.

    Args:
        code: the writer.
        entries: of one key or several.
        axes: how many the array has.
        rank: how many axes the values have.
    """
    several = [entry for one in entries for entry in one if entry.kind in ("places", "points")] if rank else []
    if not any(code.holds_tensors(entry.node) and not _is_once(code, entry) for entry in several):
        return "np_replaced"
    if len(entries) == 1 and all(entry.kind in ("places", "number", "all") for entry in entries[0]):
        last = max(place for place, entry in enumerate(entries[0]) if entry.kind == "places")
        if rank < axes - last:
            return "np_replaced"  # the same values at all places
    is_row = len(several) == len(entries) == 1 and several[0].kind == "places" and several[0].rank == 1
    return "np_last_replaced" if is_row else "np_once_replaced"


def _is_once(code: TypedCode, entry: IndexEntry) -> bool:
    """Does the source show that indices contain no element twice?"""
    return (is_distinct if entry.kind == "places" else _are_distinct)(code, entry.node)


def root_of(code: TypedCode, target: ast.expr) -> tuple[ast.Name, list[ast.expr]]:
    """Return the variable of `x[key][key]`, and the keys."""
    keys: list[ast.expr] = []
    while isinstance(target, ast.Subscript):
        keys.append(target.slice)
        target = target.value
    if not isinstance(target, ast.Name):
        raise code.refusal(target, f"`{ast.unparse(target)}` is written to, and is not a variable", "give it a name")
    return target, keys[::-1]


def assign(code: TypedCode, node: ast.Assign) -> str | None:
    """Return an assignment that is not written as it stands."""
    for one in node.targets:
        _refuse_container(code, one)
        if isinstance(one, ast.Attribute) and code.is_tensor(one.value):
            raise code.refusal(one, f"`{ast.unparse(one)}` of an array is assigned to", "bind a new array to a name")
    target, value = node.targets[0], node.value
    if len(node.targets) > 1 or isinstance(target, ast.Tuple | ast.List):
        if any(_is_changed(code, one, value) for one in node.targets) or _casts(code, node):
            return _one_by_one(code, node)
        if len(node.targets) == 1 and code.is_tensor(value):
            names = code.source.text(*code.source.span(target))
            is_unknown = any(one.kind == TENSOR and one.shape[:1] == (None,) for one in code.seen(value))
            if is_unknown and any(isinstance(one, ast.Starred) for one in target.elts):  # type: ignore[attr-defined]
                raise code.refusal(target, f"`{ast.unparse(target)}` takes any number of items", "take slices")
            number = f", num={len(target.elts)}" if is_unknown else ""  # type: ignore[attr-defined]
            return f"{names} = tf.unstack({code.write(value)}{number})"
        return None
    if isinstance(target, ast.Subscript) and _writes(code, target, value):
        if several := _row_by_row(code, target, value):
            return _in_lines(node, several)
        root, _ = root_of(code, target)
        return write_item(code, target, code.tensor(value, code.dtype(root)), code.one(value).rank, node)
    if isinstance(target, ast.Name):
        return write_list(code, target, value) or assign_name(code, target, value)
    return None


def _refuse_container(code: TypedCode, target: ast.expr) -> None:
    """Refuse to write to a list or a dict in a branch or loop of tensors: AutoGraph passes on names, not items."""
    kinds = {one.kind for one in code.seen(without_keys(target))}
    assert code.unit is not None
    around = [one for one in ast.walk(code.unit.node) if isinstance(one, ast.If | ast.For | ast.While)]
    inside = any(one is target for each in around if code.observed.decides(code.source, each) for one in ast.walk(each))
    if inside and isinstance(target, ast.Subscript) and kinds and not kinds & {"tensor", "array"}:
        raise code.refusal(
            target,
            f"`{ast.unparse(target)}` is written to in a list or dict under a condition on values",
            "use an array",
        )


def _is_changed(code: TypedCode, target: ast.expr, value: ast.expr) -> bool:
    """Is a target written otherwise than it stands?"""
    if isinstance(target, ast.Tuple | ast.List):
        is_taken_apart = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
        values = value.elts if is_taken_apart else [value] * len(target.elts)  # type: ignore[attr-defined]
        return any(_is_changed(code, one, part) for one, part in zip(target.elts, values, strict=True))
    if isinstance(target, ast.Subscript):
        return _writes(code, target, value)
    if is_grown(code, target):
        return True
    return isinstance(target, ast.Name) and (assign_name(code, target, value) or "").startswith(f"{target.id} = tf.con")


def _casts(code: TypedCode, node: ast.Assign) -> list[str]:
    """Return statements that turn unpacked numbers into tensors, where a branch or loop gives the name a tensor."""
    target = node.targets[0]
    if len(node.targets) > 1 or isinstance(node.value, ast.Tuple | ast.List):
        return []
    names = [one.id for one in getattr(target, "elts", []) if isinstance(one, ast.Name)]
    seen = {name: carried(code, name) for name in names}
    return [
        f"{name} = {code.use('np_number')}({name}, tf.{dtype})"
        for name, several in seen.items()
        if (dtype := dtype_of(several)) and any(one.kind == NUMBER_KIND for one in several)
    ]


def _in_lines(node: ast.stmt, several: list[str]) -> str:
    return ("\n" + " " * node.col_offset).join(several)


def _one_by_one(code: Any, node: ast.Assign) -> str:
    """Return an assignment to several targets as a statement for each, after all values are computed."""
    value = node.value
    if len(node.targets) > 1:
        names = [one for one in node.targets if isinstance(one, ast.Name)]
        seen = code.seen(value)
        if len(names) == len(node.targets) and seen and all(one.kind == "number" for one in seen):
            texts = [assign_name(code, one, value) or f"{one.id} = {code.write(value)}" for one in names]
            return _in_lines(node, texts)
        name = names[0].id if names else code.fresh("value")
        lines = [f"{name} = {code.write(value)}"]
        for one in node.targets:
            if not isinstance(one, ast.Name):
                lines += _to(code, one, name, code.one(value).rank, node)
            elif one.id != name:
                lines.append(f"{one.id} = {name}")
        return _in_lines(node, lines)
    (target,) = node.targets
    assert isinstance(target, ast.Tuple | ast.List)
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        texts, made, lines = [], [], []
        for one, part in zip(target.elts, value.elts, strict=True):
            if isinstance(one, ast.Name):
                as_number = write_list(code, one, part) or assign_name(code, one, part)
                texts.append(as_number.partition(" = ")[2] if as_number else code.write(part))
                made.append(one.id)
                continue
            made.append(code.fresh("item"))
            texts.append(code.write(part))
            lines += _to(code, one, made[-1], code.one(part).rank, node)
        return _in_lines(node, [f"{', '.join(made)} = {', '.join(texts)}", *lines])
    made, lines = [], []
    for one in target.elts:
        if isinstance(one, ast.Name):
            made.append(one.id)
            continue
        made.append(code.fresh("item"))
        lines += _to(code, one, made[-1], max(code.one(value).rank - 1, 0), node)
    text = f"tf.unstack({code.write(value)})" if code.is_tensor(value) else code.write(value)
    return _in_lines(node, [f"{', '.join(made)} = {text}", *lines, *_casts(code, node)])


def _to(code: TypedCode, target: ast.expr, text: str, rank: int, node: ast.Assign) -> list[str]:
    """Return the statements that assign a name's value, of some number of axes, to a target."""
    if not isinstance(target, ast.Subscript):
        raise code.refusal(node, "nested targets of an assignment", "write one statement per line")
    root, _ = root_of(code, target)
    if not _writes(code, target, node.value):
        return [f"{code.source.text(*code.source.span(target))} = {text}"]
    return [write_item(code, target, f"tf.cast({text}, tf.{code.dtype(root)})", rank, node)]


def _row_by_row(code: Any, target: ast.Subscript, value: ast.expr) -> list[str]:
    """Return `x[[i, j]] = rows` as a statement for each, in their order: of equal places NumPy keeps the last."""
    key = target.slice
    if not isinstance(key, ast.List) or not isinstance(target.value, ast.Name):
        return []
    if not any(map(code.is_tensor, key.elts)) or any(code.rank(one) for one in key.elts):
        return []
    name = target.value.id
    if code.one(value).rank != code.rank(target.value):
        return []
    rows = code.fresh("rows")
    lines = [f"{rows} = {code.tensor(value, code.dtype(target.value))}"]
    whole = Picked(f"{code.use('np_element_places')}({name})", code.rank(target.value))
    for place, one in enumerate(key.elts):
        picked = pick(code, target, whole, [IndexEntry("number", one)])
        lines.append(f"{name} = {code.use('np_replaced')}({name}, {picked}, {rows}[{place}])")
    return lines


def _writes(code: TypedCode, target: ast.Subscript, value: ast.expr) -> bool:
    """Is an array written to of which a part is a tensor, or is a tensor written or the place given by one?"""
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
    if isinstance(target, ast.Attribute):  # the observer does not follow arrays through attributes that are changed
        raise code.refusal(node, f"`{ast.unparse(target)}` is changed in place", "bind a new array to a name")
    refuse_grown(code, target)
    _refuse_container(code, target)
    if type(node.op) in SHIFTS and isinstance(target, ast.Name) and code.is_tensor(target):
        return f"{target.id} = {write_between(code, node, node.op, target, value)}"
    if type(node.op) not in BINARY:
        return None
    sign = operator_of(code, node)
    if isinstance(target, ast.Subscript) and _writes(code, target, value):
        root, keys = root_of(code, target)
        dtype = code.dtype(root)
        name, text = code.write(root), code.base(root)
        for key in keys:
            text = pick(code, target, Picked(text, code.rank(root)), entries_of(code, key))
        given = code.operand(value, dtype)
        rank = max(code.one(value).rank, 1)  # what is added to differs from place to place
        return write_item(code, target, f"{text} {sign} {bracketed(given)}", rank, node) if name else None
    if isinstance(target, ast.Name) and (code.holds_tensors(value) or code.is_tensor(target)):
        kinds = {one.kind for one in code.seen(target)}
        if kinds == {"sequence"}:
            return None
        dtype = _dtype_in_place(code, target, value)
        given = code.operand(value, dtype)
        if kinds <= {"tensor", "number"}:
            return f"{target.id} {sign}= {given}"
        return f"{target.id} = tf.cast({target.id}, tf.{dtype}) {sign} {bracketed(given)}"
    return None


def _dtype_in_place(code: TypedCode, target: ast.Name, value: ast.expr) -> str:
    """Return the dtype in which `x += y` is computed: that of an array, which is written to, else of the result."""
    one = code.one(target)
    if one.rank and one.dtype:
        return one.dtype
    dtypes, _ = code.loop(BINARY[ast.Add], [target, value])
    return dtypes[1]


def operator_of(code: TypedCode, node: ast.AugAssign) -> str:
    """Return the operator as it stands in the file, without the `=`."""
    begin, end = code.source.span(node.target)[1], code.source.span(node.value)[0]
    return code.source.text(begin, end).split("=")[0].strip()


def assign_name(code: TypedCode, target: ast.Name, value: ast.expr) -> str | None:
    """Return `x = value` where it is not written as it stands.

    A number beside a tensor on the other way of an `if` is one of TensorFlow's own dtype to AutoGraph; so it gets
    the other's. What converts to what is there already would assign a name to itself.
    """
    if code.is_tensor(value):
        text = code.write(value)
        return f"{target.id} = tf.identity({text})" if text == target.id and not isinstance(value, ast.Name) else None
    if isinstance(value, ast.Tuple | ast.List) and any(map(is_number, value.elts)):
        return _sequence(code, target, value)
    seen = code.seen(value)
    if not seen or any(one.kind != NUMBER_KIND for one in seen):
        return None
    dtype = dtype_of_name(code, target.id)
    return f"{target.id} = tf.constant({code.write(value)}, tf.{dtype})" if dtype else None


def _sequence(code: TypedCode, target: ast.Name, value: ast.Tuple | ast.List) -> str | None:
    """Return a tuple or list with numbers in it, which are tensors where ways meet, as one of tensors."""
    if not is_sequence_where_ways_meet(code, target.id):
        return None
    return f"{target.id} = {write_items(code, value)}"


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
    return all(entry.kind not in ("places", "points") or is_distinct(code, entry.node, asked) for entry in entries)


def _are_distinct(code: TypedCode, node: ast.expr) -> bool:
    """Does the source show that a tuple of indices contains no element twice?"""
    if isinstance(node, ast.Name):
        values = assigned(code, node.id)
        return bool(values) and all(isinstance(one, ast.Call) and _are_distinct(code, one) for one in values)
    if not isinstance(node, ast.Call):
        return False
    is_method = isinstance(node.func, ast.Attribute) and code.is_tensor(node.func.value)
    name = f"np.{node.func.attr}" if is_method else name_of(code.value_of(node.func))  # type: ignore[attr-defined]
    return name in TOGETHER and not (name == "np.where" and len(node.args) > 1)


def _is_in_a_row(code: TypedCode, call: ast.Call) -> bool:
    """Are places those of one axis? Of several, each has its own, and theirs may be equal."""
    given = [call.func.value] if isinstance(call.func, ast.Attribute) and code.is_tensor(call.func.value) else call.args
    return all(code.rank(one) <= 1 for one in given[:1] if code.is_tensor(one)) or code.rank(call) <= 1


def write_statement(code: TypedCode, call: ast.Call) -> str | None:
    """Return a call that writes to an array which is, or becomes, a tensor; None for any other."""
    function = call.func
    if isinstance(function, ast.Attribute):
        if function.attr == "at" and name_of(code.value_of(function.value)) in SCATTERS:
            return _scatter(code, call, SCATTERS[name_of(code.value_of(function.value))])
        if code.is_tensor(function.value) and function.attr in ("fill", "sort"):
            name = _name(code, function.value)
            if function.attr == "fill":
                dtype = code.dtype(function.value)
                return f"{name} = tf.fill(tf.shape({name}), {code.tensor(call.args[0], dtype)})"
            axis = "".join(f", axis={code.write(one)}" for one in call.args)
            return f"{name} = tf.sort({name}{axis})"
    if (written := _write_output(code, call)) is not None:
        return written
    named = name_of(code.value_of(function))
    if named == "np.fill_diagonal" and code.is_tensor(call.args[0]):
        name, dtype = _name(code, call.args[0]), code.dtype(call.args[0])
        value = code.tensor(call.args[1], dtype)
        return f"{name} = tf.linalg.set_diag({name}, tf.fill(tf.shape({name})[:1], {value}))"
    if named in ("np.place", "np.putmask") and len(call.args) == 3 and any(map(code.holds_tensors, call.args)):
        written = _write_where(code, call)
        if written is not None:
            return written
    if named in ("np.copyto", "np.put", "np.putmask", "np.place") and any(map(code.holds_tensors, call.args)):
        raise code.refusal(call, f"`{named}` has no counterpart in TensorFlow", "assign to elements")
    return None


def _write_output(code: TypedCode, call: ast.Call) -> str | None:
    """Return `np.add(x, y, out=z)` as an assignment to `z`; None for any other call."""
    ufunc, output = code.value_of(call.func), output_of(call)
    if not isinstance(ufunc, np.ufunc) or output is None or any(one.arg != "out" for one in call.keywords):
        return None
    given = call.args[: ufunc.nin]
    if not any(map(code.is_tensor, [*given, output])):
        return None
    without = ast.copy_location(ast.Call(call.func, given, []), call)
    setattr(without, NUMBER, number_of(call))
    dtype = code.dtype(output)
    text = code.write(without)
    if code.loop(ufunc, given)[1] != dtype:
        text = f"tf.cast({text}, tf.{dtype})"
    if code.rank(output) != max(map(code.rank, given)):
        text = f"tf.broadcast_to({text}, tf.shape({code.write(output)}))"
    if isinstance(output, ast.Subscript):
        return write_item(code, output, text, code.rank(output), ast.copy_location(ast.Expr(call), call))
    return f"{_name(code, output)} = {text}"


def _write_where(code: TypedCode, call: ast.Call) -> str | None:
    """Return `np.place(x, mask, number)`, where `x` may be a part of an array; None for several values."""
    array, mask, value = call.args
    if code.rank(value) or not {one.kind for one in code.seen(value)} <= {TENSOR, ARRAY, NUMBER_KIND}:
        return None
    if code.rank(mask) != code.rank(array):
        return None
    text = f"tf.where({code.tensor(mask, 'bool')}, {code.tensor(value, code.dtype(array))}, {code.write(array)})"
    if isinstance(array, ast.Subscript):
        return write_item(code, array, text, code.rank(array), ast.copy_location(ast.Expr(call), call))
    return f"{_name(code, array)} = {text}"


def _name(code: TypedCode, node: ast.expr) -> str:
    if not isinstance(node, ast.Name):
        raise code.refusal(node, f"`{ast.unparse(node)}` is written to, and is not a variable", "give it a name")
    return node.id


def _scatter(code: TypedCode, call: ast.Call, function: str) -> str | None:
    """Return `np.add.at(x, places, values)`."""
    array, places, values = call.args
    if not any(map(code.holds_tensors, call.args)):
        return None
    name, dtype = _name(code, array), code.dtype(array)
    if not isinstance(places, ast.Tuple) and any(one.is_point for one in code.seen(places)):
        points, given = f"{code.use('np_points_in')}({name}, {code.write(places)})", code.tensor(values, dtype)
        if not code.rank(values):
            given = f"tf.fill(tf.shape({points})[:-1], {given})"
        return f"{name} = tf.tensor_scatter_nd_{function}({name}, {points}, {given})"
    several = places.elts if isinstance(places, ast.Tuple) else [places]
    if any(isinstance(one, ast.Slice) or not code.rank(one) for one in several):
        raise code.refusal(call, "`.at` is supported with arrays of indices only")
    stacked = ", ".join(
        _from_front(code, one, f"tf.shape({name}, tf.int64)[{axis}]") for axis, one in enumerate(several)
    )
    given = code.tensor(values, dtype)
    if not code.rank(values):
        given = f"tf.fill(tf.shape({code.write(several[0])}), {given})"
    return f"{name} = tf.tensor_scatter_nd_{function}({name}, tf.stack([{stacked}], axis=-1), {given})"


def _from_front(code: TypedCode, places: ast.expr, size: str) -> str:
    text = code.tensor(places, "int64")
    return text if is_never_negative(code, places) else f"{code.use('np_from_front')}({text}, {size})"
