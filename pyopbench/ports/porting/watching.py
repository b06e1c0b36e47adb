"""The copy of a function that shows each of its expressions, and asks before each decision, while it runs.

What it calls is under one name, `SEE`; `observe` says what that does.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence, Set
from typing import Any

import numpy as np

from pyopbench.model import syntax
from pyopbench.model.syntax import SCOPES, number_of, own_nodes

SEE = "pyopbench_see"
"""The name that a copy of a body calls with each value."""

METADATA = ("dtype", "itemsize", "nbytes", "ndim", "shape", "size")
"""Attributes of an array that do not share its memory."""


def watching(node: ast.FunctionDef) -> ast.FunctionDef:
    """Return a definition, which is changed, as one that has each expression shown and each decision asked for."""
    found: ast.FunctionDef = _Watching().visit(node)
    return found


def _call(method: str, *arguments: Any) -> ast.Call:
    """Return a call of a method of the watcher; arguments that are no expressions are constants."""
    given = [one if isinstance(one, ast.expr) else ast.Constant(one) for one in arguments]
    return ast.Call(ast.Attribute(_read(SEE), method, ast.Load()), given, [])


def _read(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _bind(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _rebind(name: str, method: str, *arguments: Any) -> ast.stmt:
    """Return `name = SEE.method(*arguments, name)`, where the name may not be bound."""
    handler = ast.ExceptHandler(_read("NameError"), None, [ast.Pass()])
    return ast.Try([_bind(name, _call(method, *arguments, _read(name)))], [handler], [], [])


def _carry(loop: str, bound: Set[str], written: Set[str] = frozenset()) -> list[ast.stmt]:
    """Return statements that have what a loop binds, and what it writes to, be what it is in all rounds."""
    carried = [_rebind(name, "carried", _read(loop), name) for name in sorted(bound)]
    return carried + [_rebind(name, "changed", _read(loop)) for name in sorted(written)]


class _Watching(ast.NodeTransformer):
    """Has each expression shown, and each decision asked for."""

    def __init__(self) -> None:
        self.loops: list[int] = []
        self.returning: tuple[int, ...] = ()
        self.function = 0
        self.comprehension = -1

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.List | ast.Tuple | ast.Constant):
            found = self._show(node)
        elif isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare):
            found = self._operation(node)
        else:
            found = self._loop(node) if isinstance(node, ast.For | ast.While) else super().visit(node)
        for one in found if isinstance(found, list) else [found]:
            if hasattr(node, "lineno") and not hasattr(one, "lineno"):
                ast.copy_location(one, node)
        return found

    # Statements.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        around = self.loops, self.returning, self.function
        self.loops, self.function = [], number_of(node)
        self.returning = tuple(
            number_of(one)
            for one in of_function(node.body)
            if isinstance(one, ast.If | ast.For | ast.While)
            and any(isinstance(a, ast.Return) for a in of_function([one]))
        )
        node.decorator_list = []
        node.body = [*(_rebind(name, "hold") for name in parameters_of(node)), *self._block(node.body)]
        self.loops, self.returning, self.function = around
        return node

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        several = (self.visit(one) for one in statements)
        return [one for found in several for one in (found if isinstance(found, list) else [found])]

    def visit_Return(self, node: ast.Return) -> Any:
        if node.value is not None:
            node.value = _call("leave", self.function, self.visit(node.value), self.returning)
        return node

    def visit_If(self, node: ast.If) -> Any:
        number, level = number_of(node), f"{SEE}_level_{number_of(node)}"
        inside = {type(one) for one in of_function([*node.body, *node.orelse])}
        of_round = {type(one) for one in of_loop([*node.body, *node.orelse])}
        ends = set(self.loops) if ast.Return in inside else set()
        if ast.Break in of_round:
            ends |= set(self.loops[-1:])
        leaves = bool(inside & {ast.Return, ast.Raise} or of_round & {ast.Break, ast.Continue})
        loop = self.loops[-1] if self.loops and leaves else -1
        names = sorted(names_bound([node]))
        node.test = _call("decide", number, self.visit(node.test), tuple(sorted(ends)), loop)
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        behind = ast.Expr(_call("behind", number, _read(level), int(leaves)))
        after = [_rebind(name, "after", number, self.function, name) for name in names]
        return [_bind(level, _call("level")), node, behind, *after]

    def _loop(self, node: ast.For | ast.While) -> Any:
        number, loop = number_of(node), f"{SEE}_loop_{number_of(node)}"
        bound = names_bound(node.body)
        targets: set[str] = set()
        written = names_written(node.body) - bound
        if isinstance(node, ast.For):
            iterable, targets = f"{SEE}_iterable_{number}", names_bound([node.target])
            begin = _bind(loop, _call("loop", number, self.function, _read(iterable)))
            first = [_bind(iterable, self.visit(node.iter)), begin]
            node.iter = _call("items", _read(loop), _read(iterable))
            self.visit(node.target)
        else:
            node.test = _call("again", _read(loop), self.visit(node.test))
            first = [_bind(loop, _call("loop", number, self.function)), *_carry(loop, bound, written)]
        self.loops.append(number)
        body = self._block(node.body)
        self.loops.pop()
        node.body = [ast.Expr(_call("round", _read(loop))), *_carry(loop, bound - targets, written), *body]
        node.orelse = self._block(node.orelse)
        return [*first, node, ast.Expr(_call("end", _read(loop))), *_carry(loop, bound | targets)]

    def visit_Assign(self, node: ast.Assign) -> Any:
        names = names_bound(node.targets)
        self.generic_visit(node)
        return [node, *(_rebind(name, "bound", self.function, name) for name in sorted(names))]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        name, target = type(node.op).__name__, node.target
        if isinstance(target, ast.Subscript):
            self.generic_visit(node)
            return ast.Expr(_call("augment_item", name, target.value, target.slice, node.value))
        read = copy.copy(target)
        read.ctx = ast.Load()
        seen = _call("see", number_of(target), read) if isinstance(target, ast.Name) else self.visit(read)
        return ast.Assign([target], _call("augment", name, seen, self.visit(node.value)))

    # Expressions.

    def _show(self, node: Any) -> Any:
        self.generic_visit(node)
        is_read = isinstance(getattr(node, "ctx", None), ast.Load | None) and number_of(node) >= 0
        return _call("see", number_of(node), node) if is_read else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        return _call("read", number_of(node), node) if isinstance(node.ctx, ast.Load) else node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        found = _call("call", number_of(node), node.func, *node.args)
        found.keywords = node.keywords
        return found

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        return _call("item", number_of(node), node.value, node.slice) if isinstance(node.ctx, ast.Load) else node

    def visit_Slice(self, node: ast.Slice) -> Any:
        self.generic_visit(node)
        return _call("slice", node.lower, node.upper, node.step)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        array = node.value
        if node.attr in METADATA and isinstance(array, ast.Name):
            node.value = _call("see", number_of(array), array)
        else:
            self.generic_visit(node)
        return _call("attribute", number_of(node), node.value, node.attr) if isinstance(node.ctx, ast.Load) else node

    def _operation(self, node: ast.BinOp | ast.UnaryOp | ast.Compare) -> Any:
        self.generic_visit(node)
        operators = [type(one).__name__ for one in (node.ops if isinstance(node, ast.Compare) else [node.op])]
        if {"Is", "IsNot"} & {*operators}:
            return _call("see", number_of(node), node)
        operands = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        return _call("derive", number_of(node), tuple(operators), *operands)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        node.values = [*self._asked(node.values[:-1], number_of(node)), self.visit(node.values[-1])]
        return _call("both", number_of(node), node)

    def _asked(self, conditions: Sequence[ast.expr], around: int) -> list[ast.expr]:
        """Return conditions that are asked for; what each was is noted under a number of its own."""
        return [_call("asked", -1 - number_of(one), self.visit(one), around) for one in conditions]

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        node.test = _call("decide", number_of(node), node.test)
        return _call("choice", number_of(node), _call("level"), node)

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        around, self.comprehension = self.comprehension, number_of(node)
        found = self._show(node)
        self.comprehension = around
        return found

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        node.ifs = self._asked(node.ifs, self.comprehension)
        node.iter = _call("over", self.visit(node.iter), self.comprehension)
        self.visit(node.target)
        return node


def of_function(statements: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of statements that are of the function itself, and of none inside of it."""
    return own_nodes(ast.Module([*statements], []))  # type: ignore[list-item]


def of_loop(statements: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of statements that are of the loop around them, and of none inside."""
    for one in statements:
        yield one
        if isinstance(one, ast.For | ast.While):
            yield from of_loop(one.orelse)
        elif not isinstance(one, SCOPES):
            yield from of_loop(list(ast.iter_child_nodes(one)))


def names_bound(statements: Sequence[ast.AST]) -> set[str]:
    """Return the names of variables that statements bind, other than in functions inside of them."""
    return {name for one in statements for name in syntax.names_bound(one)}


def parameters_of(function: ast.AST) -> list[str]:
    """Return the names of the parameters of a function or lambda, without `*` and `**`; empty for any other node."""
    if not isinstance(function, ast.FunctionDef | ast.Lambda):
        return []
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]


def without_keys(node: ast.AST) -> ast.AST:
    """Return `x` for `x[key][key]`; any node that is not an item unchanged."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def names_written(statements: Sequence[ast.AST]) -> set[str]:
    """Return the names of arrays that statements write to elements of."""
    found = set()
    for one in of_function(statements):
        is_written = isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store)
        array = one if is_written else output_of(one) if isinstance(one, ast.Call) else None
        if array is not None and isinstance(root := without_keys(array), ast.Name):
            found.add(root.id)
    return found


def output_of(call: ast.Call) -> ast.expr | None:
    """Return the array that a NumPy function writes to, passed as `out` or after its inputs; None without one."""
    named = next((one.value for one in call.keywords if one.arg == "out"), None)
    ufunc = getattr(np, getattr(call.func, "attr", getattr(call.func, "id", "")), None)
    is_behind = isinstance(ufunc, np.ufunc) and ufunc.nout == 1 and len(call.args) == ufunc.nin + 1
    return call.args[-1] if named is None and is_behind else named
