"""Functions that write into the arrays that they are given: in a port they return them, and a call binds them again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from pyopbench.model.syntax import has_unpacked
from pyopbench.ports.porting.assigning import write_item
from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.observe import TENSOR
from pyopbench.ports.porting.units import Unit
from pyopbench.ports.porting.watching import names_written, parameters_of, without_keys

METHODS = ("sort", "fill")
FUNCTIONS = ("np.fill_diagonal", "np.copyto", "np.put", "np.putmask", "np.place")


def written_parameters(code: Any, unit: Unit) -> list[str]:
    """Return the parameters of a function whose arrays it writes to, and which are tensors in a port."""
    known: dict[int, list[str]] = code.__dict__.setdefault("written_parameters", {})
    function = unit.node
    if not isinstance(function, ast.FunctionDef):
        return []
    if id(function) not in known:
        known[id(function)] = []  # of a function that calls itself
        known[id(function)] = list(_written(code, unit, function))
    return known[id(function)]


def _written(code: Any, unit: Unit, function: ast.FunctionDef) -> Iterator[str]:
    writes: dict[str, int] = {}  # the first line of each
    for name, node in writes_in(code, unit, function):
        writes[name] = min(node.lineno, writes.get(name, node.lineno))
    for name in parameters_of(function):
        if name not in writes:
            continue
        reads = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name]
        bound = [one.lineno for one in reads if isinstance(one.ctx, ast.Store) and not _is_augmented(function, one)]
        if bound and min(bound) <= writes[name]:
            continue  # it is a copy, or another array
        if bound:
            raise code.refusal(
                function, f"`{name}` is written to, and then another array is assigned to it", "use another name"
            )
        if any(one.kind == TENSOR for read in reads for one in code.observed.of(unit.source, read)):
            yield name


def _is_augmented(function: ast.FunctionDef, name: ast.Name) -> bool:
    return any(isinstance(one, ast.AugAssign) and one.target is name for one in ast.walk(function))


def writes_in(code: Any, unit: Unit, function: ast.AST) -> Iterator[tuple[str, ast.stmt | ast.Call]]:
    """Yield the names of arrays that a function writes to, with the statement or the call that does it."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.For | ast.Expr):
            yield from ((name, node) for name in names_written([node]))
        target = node.target if isinstance(node, ast.AugAssign) else None
        if isinstance(target, ast.Name) and any(one.rank for one in code.observed.of(unit.source, target)):
            yield target.id, node  # type: ignore[misc]
        if isinstance(node, ast.Call):
            yield from ((name, node) for name in _written_by_call(code, unit, node))


def _written_by_call(code: Any, unit: Unit, call: ast.Call) -> Iterator[str]:
    """Yield the names of arrays that a call of a method, a NumPy function or a function of the user writes to."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.attr in METHODS:
        yield function.value.id
    is_at = isinstance(function, ast.Attribute) and function.attr == "at"
    named = name_of(_value(code, unit, function))
    if (is_at or named in FUNCTIONS) and call.args and isinstance(call.args[0], ast.Name):
        yield call.args[0].id
    called = unit_of(code, unit, function)
    if called is not None:
        for name in written_parameters(code, called):
            given = _given(code, called, call).get(name)
            if given is not None and isinstance(root := without_keys(given), ast.Name):
                yield root.id


def _value(code: Any, unit: Unit, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return code.units.value(unit.source, node.id) if node.id in unit.reads else None
    if isinstance(node, ast.Attribute):
        home = _value(code, unit, node.value)
        return None if home is None else getattr(home, node.attr, None)
    return None


def unit_of(code: Any, unit: Unit, function: ast.expr) -> Unit | None:
    """Return the user's function that is called, None for any other."""
    from pyopbench.model.syntax import Source

    found = None
    if isinstance(function, ast.Name) and function.id in unit.reads:
        found = code.units.resolve(unit.source, function.id)
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id in unit.reads:
        home = code.units.resolve(unit.source, function.value.id)
        found = code.units.resolve(home, function.attr) if isinstance(home, Source) else None
    return found if isinstance(found, Unit) and isinstance(found.node, ast.FunctionDef) else None


def _given(code: Any, called: Unit, call: ast.Call) -> dict[str, ast.expr]:
    if has_unpacked(call):
        raise code.refusal(call, f"`{called.name}` writes to its arguments, and is called with `*`", "write them out")
    return dict(arguments_of(called.node, call))


def arguments_of(function: Any, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of parameters with the arguments that a call passes for them, or may pass with `*` and `**`."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if any(isinstance(one, ast.Starred) for one in call.args):
        yield from ((name, one) for name in names for one in call.args)
    else:
        yield from zip(names, call.args, strict=False)
    for one in call.keywords:
        yield from ((name, one.value) for name in ([one.arg] if one.arg else names))


def _is_called(code: Any, unit: Unit) -> bool:
    for other in code.units.in_order():
        for node in ast.walk(other.node):
            if isinstance(node, ast.Call):
                called = unit_of(code, other, node.func)
                if called is not None and called.node is unit.node:
                    return True
    return False


def returned_besides(code: Any) -> list[str]:
    """Return the parameters that the function that is being written returns too."""
    return written_parameters(code, code.unit) if _is_called(code, code.unit) else []


def _has_value(function: ast.AST) -> bool:
    return any(
        isinstance(one, ast.Return) and one.value is not None and not _is_none(one.value) for one in ast.walk(function)
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def write_function(code: Any, node: ast.FunctionDef) -> str | None:
    """Return the definition of a function that returns what it has written to; None for another one."""
    names = returned_besides(code) if node is code.unit.node else []
    if not names:
        return None
    text = code.as_it_stands(node)
    if isinstance(node.body[-1], ast.Return):
        return str(text)
    value = ["None"] if _has_value(node) else []
    return f"{text}\n{' ' * node.body[0].col_offset}return {', '.join([*value, *names])}"


def with_written(code: Any, node: ast.Return, text: str | None) -> str | None:
    """Return a `return` with the arrays that the function has written to."""
    names = returned_besides(code)
    if not names:
        return text
    value = text.removeprefix("return ") if text else code.write(node.value) if node.value is not None else ""
    if not _has_value(code.unit.node):
        return f"return {', '.join(names)}"
    if isinstance(node.value, ast.Tuple):
        value = f"({value.strip('()')})" if text else f"({', '.join(code.write(one) for one in node.value.elts)})"
    return f"return {', '.join([value or 'None', *names])}"


def calls_in(statement: ast.AST) -> list[ast.Call]:
    """Return the calls of a statement, without those of statements in it."""
    inner = ast.stmt | ast.ExceptHandler | ast.match_case
    parts = [one for one in ast.iter_child_nodes(statement) if not isinstance(one, inner)]
    return [one for part in parts for one in ast.walk(part) if isinstance(one, ast.Call)]


def _calls(code: Any, node: ast.stmt) -> list[tuple[ast.Call, Unit]]:
    """Return the calls in a statement, and in none inside of it, of functions that write to their arguments."""
    if isinstance(node, ast.With | ast.Try | ast.FunctionDef | ast.ClassDef):
        return []
    called = [(one, unit_of(code, code.unit, one.func)) for one in calls_in(node)]
    found = [(one, unit) for one, unit in called if unit is not None and written_parameters(code, unit)]
    return sorted(found, key=lambda one: (one[0].end_lineno or 0, one[0].end_col_offset or 0))


def calls_before(code: Any, node: ast.stmt) -> tuple[list[str], bool]:
    """Return the statements that call such functions before a statement, and whether they are all of it."""
    calls = _calls(code, node)
    lines: list[str] = []
    for call, called in calls:
        if call in code.replacing:
            continue
        if isinstance(node, ast.While):
            raise code.refusal(
                node, f"`{called.name}` writes to its arguments, and is called in a condition", "call it before"
            )
        _refuse_order(code, node, call, called)
        is_whole = isinstance(node, ast.Expr) and node.value is call
        is_assigned = isinstance(node, ast.Assign) and node.value is call and len(node.targets) == 1
        target = node.targets[0] if is_assigned else None  # type: ignore[attr-defined]
        result = ""
        if _has_value(called.node):
            if is_whole:
                result = "_"
            elif isinstance(target, ast.Name):
                result = target.id
            else:
                result = code.fresh("item")
        elif not is_whole:
            raise code.refusal(node, f"`{called.name}` returns nothing", "call it as a statement of its own")
        lines += _call(code, call, called, result, node)
        if is_whole or isinstance(target, ast.Name):
            return lines, True
        code.replacing[call] = result
    return lines, False


def _call(code: Any, call: ast.Call, called: Unit, result: str, node: ast.stmt) -> list[str]:
    given = _given(code, called, call)
    targets, behind = [result] if result else [], []
    for name in written_parameters(code, called):
        value = given.get(name)
        if isinstance(value, ast.Name):
            targets.append(value.id)
        elif isinstance(value, ast.Subscript):
            part = code.fresh("part")
            targets.append(part)
            behind.append(write_item(code, value, part, code.rank(value), node))
        elif value is None or isinstance(value, ast.Call | ast.BinOp):
            targets.append("_")  # a default, or what nobody else has
        else:
            raise code.refusal(node, f"`{called.name}` writes to `{ast.unparse(value)}`", "give it a name before")
    return [f"{', '.join(targets)} = {code.write_call(call)}", *behind]


def _roots(node: ast.expr) -> Iterator[str]:
    """Yield the name of an array that an argument is, or is a view of."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        if isinstance(node, ast.Attribute) and node.attr not in ("T", "real", "imag", "flat", "mT"):
            return
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _refuse_order(code: Any, node: ast.stmt, call: ast.Call, called: Unit) -> None:
    """Refuse a statement that reads an array before the call in it that writes to the array."""
    given = _given(code, called, call)
    written = {root for name in written_parameters(code, called) if name in given for root in _roots(given[name])}
    begin = (call.lineno, call.col_offset)
    for one in ast.walk(node):
        is_read = isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id in written
        if is_read and (one.lineno, one.col_offset) < begin:  # type: ignore[attr-defined]
            raise code.refusal(
                node, f"`{ast.unparse(call)}` writes to an array that the same statement has read", "split it"
            )
