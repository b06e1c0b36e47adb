"""Rewrites functions that write to arrays of their callers into functions that return these arrays.

A function of tensors cannot change what its caller has. So a function that writes to elements of a parameter returns
it, too, and its calls bind it again: `step(x, out)` becomes `out = step(x, out)`, which does the same in Python. Calls
that cannot be rewritten stay, and the observer refuses reads of arrays that are stale after them.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyopbench.model.syntax import (
    DEFINITIONS,
    every_name,
    has_unpacked,
    local_names,
    own_nodes,
    read_source,
    unused_name,
)
from pyopbench.ports.extract.module import Extracted, load, place_of_user, unparsed
from pyopbench.ports.porting.watching import names_bound, names_written, parameters_of


@dataclass(frozen=True)
class _Call:
    """A call that is the value of a statement, and the function that the statement is in."""

    caller: ast.FunctionDef
    statement: ast.Expr | ast.Assign | ast.Return
    node: ast.Call


def return_writes(extracted: Extracted, module: types.ModuleType) -> tuple[Extracted, types.ModuleType]:
    """Return a module, and the same loaded, in which functions return the parameters that they write to."""
    tree = copy.deepcopy(read_source(extracted.path).tree)
    functions = {one.name: one for one in tree.body if isinstance(one, ast.FunctionDef)}
    calls, fixed = _calls(tree, functions)
    fixed |= {*extracted.names, *(name for name, one in functions.items() if not _can_return(one))}
    while True:
        written = _written(functions, calls, fixed)
        misfits = {name for name in written for one in calls[name] if not _fits(one, functions[name], written[name])}
        if not misfits:
            break
        fixed |= misfits
    if not written:
        return extracted, module
    results = {name: _count(functions[name]) for name in written}
    for function in functions.values():
        _rewrite(function, functions, written, results)
    text, places = unparsed([(one, extracted.path) for one in tree.body])
    new = replace(extracted, text=text, places=tuple(map(place_of_user, places)))
    return new, load(new)


def _calls(tree: ast.Module, functions: Mapping[str, ast.FunctionDef]) -> tuple[dict[str, list[_Call]], set[str]]:
    """Return the calls of each function that are values of statements, and the functions that are used otherwise."""
    calls: dict[str, list[_Call]] = {name: [] for name in functions}
    for caller in functions.values():
        for node in own_nodes(caller):
            if not isinstance(node, ast.Expr | ast.Assign | ast.Return) or not isinstance(node.value, ast.Call):
                continue
            function = node.value.func
            if isinstance(function, ast.Name) and function.id in functions:
                calls[function.id].append(_Call(caller, node, node.value))
    known = {id(one.node.func) for several in calls.values() for one in several}
    names = [one for one in ast.walk(tree) if isinstance(one, ast.Name) and id(one) not in known]
    return calls, {one.id for one in names if one.id in functions}


def _can_return(function: ast.FunctionDef) -> bool:
    """Do all ways through a function end with as many results?"""
    arguments, nodes = function.args, [*own_nodes(function)]
    is_odd = any(isinstance(one, ast.Yield | ast.YieldFrom | ast.Nonlocal | ast.Global) for one in ast.walk(function))
    returns = [one for one in nodes if isinstance(one, ast.Return)]
    counts = {_results(one) for one in returns} or {0}
    ends = counts == {0} or (len(counts) == 1 and isinstance(function.body[-1], ast.Return))
    return ends and not (is_odd or arguments.vararg or arguments.kwarg)


def _results(statement: ast.Return) -> int:
    """Return how many results a `return` names."""
    value = statement.value
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return 0
    return len(value.elts) if isinstance(value, ast.Tuple) else 1


def _count(function: ast.FunctionDef) -> int:
    return max((_results(one) for one in own_nodes(function) if isinstance(one, ast.Return)), default=0)


def _written(
    functions: Mapping[str, ast.FunctionDef], calls: Mapping[str, Sequence[_Call]], fixed: set[str]
) -> dict[str, tuple[str, ...]]:
    """Return the parameters to whose elements functions write, also by calling others, except those in `fixed`."""
    found = {name: names_written(function.body) for name, function in functions.items()}
    while True:
        written = dict[str, tuple[str, ...]]()
        for name, function in functions.items():
            arrays = found[name] - names_bound(function.body)
            if name not in fixed and not arrays.isdisjoint(parameters_of(function)):
                written[name] = tuple(one for one in parameters_of(function) if one in arrays)
        before = {name: {*names} for name, names in found.items()}
        for name, several in written.items():
            for one in calls[name]:
                given = _given(one.node, functions[name])
                names = {value.id for value in map(given.get, several) if isinstance(value, ast.Name)}
                found[one.caller.name] |= names
        if found == before:
            return written


def _given(call: ast.Call, function: ast.FunctionDef) -> dict[str, ast.expr]:
    """Return the arguments of a call by the names of parameters."""
    by_place = dict(zip(parameters_of(function), call.args, strict=False))
    return by_place | {str(one.arg): one.value for one in call.keywords}


def _fits(call: _Call, function: ast.FunctionDef, written: Sequence[str]) -> bool:
    """Can the statement of a call bind what the function writes to, in addition to its results?"""
    arrays = [_given(call.node, function).get(one) for one in written]
    names = {one.id for one in arrays if isinstance(one, ast.Name)}
    if has_unpacked(call.node) or len(names) < len(arrays) or not names <= local_names(call.caller):
        return False
    count = _count(function)
    if isinstance(call.statement, ast.Expr):
        return True
    if isinstance(call.statement, ast.Return):
        return count == 1
    target, *others = call.statement.targets
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    are_names = all(isinstance(one, ast.Name) and one.id not in names for one in targets)
    return not others and are_names and count == len(targets)


def _rewrite(
    function: ast.FunctionDef,
    functions: Mapping[str, ast.FunctionDef],
    written: Mapping[str, Sequence[str]],
    results: Mapping[str, int],
) -> None:
    """Make a function bind the arrays that its calls write to, and return those that it writes to.

    `results` are how many each of them returns before that.
    """
    own, taken = written.get(function.name, ()), every_name(function)
    result = unused_name("result", taken)

    def rewritten(statement: ast.stmt) -> list[ast.stmt]:
        call = getattr(statement, "value", None)
        name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        if not isinstance(call, ast.Call) or name not in written:
            return [returned(statement)] if isinstance(statement, ast.Return) else [statement]
        given = _given(call, functions[name])
        if isinstance(statement, ast.Assign):
            (target,) = statement.targets
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
        else:
            targets = [ast.Name(result, ast.Store())] * results[name]
        arrays = [ast.Name(one.id, ast.Store()) for one in map(given.get, written[name]) if isinstance(one, ast.Name)]
        several: list[ast.stmt] = [ast.Assign([_together([*targets, *arrays], ast.Store())], call)]
        if isinstance(statement, ast.Return):
            several.append(returned(ast.Return(ast.Name(result, ast.Load()))))
        return [ast.fix_missing_locations(ast.copy_location(one, statement)) for one in several]

    def returned(statement: ast.Return) -> ast.Return:
        if own:
            value = statement.value
            found = [] if value is None or not _results(statement) else [value]
            found = list(value.elts) if isinstance(value, ast.Tuple) else found
            statement.value = _together([*found, *(ast.Name(one, ast.Load()) for one in own)], ast.Load())
        return statement

    nodes = [one for one in (function, *own_nodes(function)) if one is function or not isinstance(one, DEFINITIONS)]
    for node in nodes:
        for part in ("body", "orelse", "finalbody"):
            statements = getattr(node, part, None)
            if isinstance(statements, list):
                setattr(node, part, [new for one in statements for new in rewritten(one)])
    if own and not isinstance(function.body[-1], ast.Return):
        function.body.append(ast.copy_location(returned(ast.Return(None)), function.body[-1]))
    ast.fix_missing_locations(function)


def _together(nodes: list[ast.expr], context: ast.expr_context) -> ast.expr:
    return nodes[0] if len(nodes) == 1 else ast.Tuple(nodes, context)
