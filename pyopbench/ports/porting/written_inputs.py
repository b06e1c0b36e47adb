"""Which inputs a body may write to: in a graph, a callback's arrays share memory with the caller's tensors."""

from __future__ import annotations

import ast
import contextlib
import sys
import trace
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

from pyopbench.model.syntax import Function
from pyopbench.ports.arrays import as_given, read_only
from pyopbench.ports.porting.units import Unit, Units
from pyopbench.ports.porting.watched_values import METHODS, WRITING
from pyopbench.ports.porting.watching import output_of

WRITES = {*METHODS, *WRITING, "at"}
"""Names of methods and functions that write to an array."""


def written_inputs(body: Callable[..., Any], examples: Sequence[Sequence[Any]], units: Units) -> list[int]:
    """Return the positions of the inputs that a body may write to.

    For the examples, the body is run on read-only arrays; a write then fails even if its mask is false everywhere. A
    body that writes to anything, and has code that no example reaches, may write to all of them.
    """
    functions = [unit for unit in units.in_order() if isinstance(unit.node, Function | ast.ClassDef)]
    writes = any(_writes(node) for unit in functions for node in ast.walk(unit.node))
    if writes and not _are_run(body, examples, functions, units.source.path):
        return list(range(len(examples[0])))
    return sorted(set().union(*(_written_on(body, example) for example in examples)))


def _writes(node: ast.AST) -> bool:
    """May a node write to an array?"""
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Store)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        is_uncopied = any(one.arg == "copy" and getattr(one.value, "value", None) is False for one in node.keywords)
        return name in WRITES or is_uncopied or output_of(node) is not None
    return isinstance(node, ast.AugAssign)


def _are_run(body: Callable[..., Any], examples: Sequence[Sequence[Any]], functions: Sequence[Unit], path: str) -> bool:
    """Do the examples reach all statements of functions, and is no expression of them one array or another?"""
    nodes = [node for unit in functions for node in ast.walk(unit.node)]
    tests = {id(one) for node in nodes for one in ast.walk(getattr(node, "test", None) or ast.Pass())}
    if any(
        isinstance(node, ast.Lambda)
        or (isinstance(node, ast.IfExp | ast.BoolOp) and id(node) not in tests)
        or getattr(node, "ifs", None)
        for node in nodes
    ):
        return False
    lines = _lines_run(body, examples, path)
    heads = {id(unit.node) for unit in functions}
    return all(
        node.lineno in lines or id(node) in heads or not _may_pass_on(node)
        for node in nodes
        if isinstance(node, ast.stmt)
    )


def _may_pass_on(node: ast.stmt) -> bool:
    """May a statement write to an array, give it another name, or pass it to a function of the user's?"""
    if isinstance(node, ast.Expr | ast.Return):
        calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
        return any(isinstance(one.func, ast.Name) or _writes(one) for one in calls)
    return not isinstance(node, ast.Raise | ast.Global | ast.Nonlocal | ast.Pass | ast.Continue | ast.Break)


def _lines_run(body: Callable[..., Any], examples: Sequence[Sequence[Any]], path: str) -> Set[int]:
    """Return the lines of a file that a body runs on examples."""
    tracer, before = trace.Trace(count=True, trace=False), sys.gettrace()
    for example in examples:
        with contextlib.suppress(Exception):  # the body is the user's own
            tracer.runfunc(body, *as_given(example))
    sys.settrace(before)
    return {line for file, line in tracer.results().counts if file == path}


def writes_to_arrays(function: Callable[..., Any], arrays: Sequence[Any]) -> bool:
    """Does a function of arrays fail only if it cannot write to them?"""
    return _fails(function, read_only(arrays)) and not _fails(function, as_given(arrays))


def _written_on(body: Callable[..., Any], example: Sequence[Any]) -> Iterator[int]:
    if not writes_to_arrays(body, example):
        return
    for place, array in enumerate(example):
        others = as_given(example)
        if writes_to_arrays(lambda one: body(*others[:place], one, *others[place + 1 :]), [array]):  # noqa: B023
            yield place


def _fails(function: Callable[..., Any], arrays: Sequence[Any]) -> bool:
    try:
        function(*arrays)
    except Exception:  # noqa: BLE001 - the body is the user's own
        return True
    return False
