"""The copy of a function that shows each of its expressions, and asks before each decision, while it runs.

What it calls is under one name, `SEE`; `observe` says what that does.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence, Set
from typing import Any

import numpy as np

from pyopbench.model.syntax import NUMBER
from pyopbench.ports.porting.names import METADATA

SEE = "pyopbench_see"
"""The name that a copy of a body calls with each value."""


def _named(*path: str) -> ast.expr:
    found: ast.expr = ast.Name(path[0], ast.Load())
    for one in path[1:]:
        found = ast.Attribute(found, one, ast.Load())
    return found


def _call(method: str, *arguments: ast.expr, **options: ast.expr) -> ast.Call:
    return ast.Call(_named(SEE, method), list(arguments), [ast.keyword(name, one) for name, one in options.items()])


def _local(kind: str, number: int) -> str:
    return f"{SEE}_{kind}_{number}"


LEVEL, LOOP = "level", "loop"


def watching(node: ast.FunctionDef) -> ast.FunctionDef:
    """Return a definition, which is changed, as one that has each expression shown and each decision asked for."""
    found: ast.FunctionDef = _Watching().visit(node)
    return found


class _Watching(ast.NodeTransformer):
    """Has each expression shown, and each decision asked for."""

    def __init__(self) -> None:
        self.loops: list[int] = []
        self.returning: list[int] = []
        self.function = 0
        self.comprehension = -1

    # Statements.

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        around = self.loops, self.returning, self.function
        self.loops, self.function = [], getattr(node, NUMBER)
        self.returning = [
            getattr(one, NUMBER)
            for one in of_function(node.body)
            if isinstance(one, ast.If | ast.For | ast.While)
            and any(isinstance(a, ast.Return) for a in of_function([one]))
        ]
        node.decorator_list, node.returns = [], None
        for one in ast.walk(node.args):
            if isinstance(one, ast.arg):
                one.annotation = None
        own = [_rebound(name, _call("hold", _named(name))) for name in parameters_of(node)]
        node.body = [*(_at(one, node) for one in own), *self._block(node.body)]
        self.loops, self.returning, self.function = around
        return node

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        several = (self.visit(one) for one in statements)
        return [one for found in several for one in (found if isinstance(found, list) else [found])]

    def visit_Return(self, node: ast.Return) -> Any:
        if node.value is not None:
            sites: list[ast.expr] = [ast.Constant(one) for one in self.returning]
            node.value = _call(
                "leave", ast.Constant(self.function), self.visit(node.value), ast.Tuple(sites, ast.Load())
            )
        return node

    def visit_If(self, node: ast.If) -> Any:
        number = getattr(node, NUMBER)
        inside = list(of_function(node.body)) + list(of_function(node.orelse))
        ends: set[int] = set()
        if any(isinstance(one, ast.Return) for one in inside):
            ends |= set(self.loops)
        if self.loops and any(isinstance(one, ast.Break) for one in of_loop([*node.body, *node.orelse])):
            ends.add(self.loops[-1])
        leaves = any(isinstance(one, ast.Return | ast.Raise) for one in inside) or any(
            isinstance(one, ast.Break | ast.Continue) for one in of_loop([*node.body, *node.orelse])
        )
        names = sorted(names_bound([node]))
        loops: list[ast.expr] = [ast.Constant(one) for one in sorted(ends)]
        node.test = _call(
            "decide",
            ast.Constant(number),
            self.visit(node.test),
            ast.Tuple(loops, ast.Load()),
            ast.Constant(self.loops[-1] if self.loops and leaves else -1),
        )
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        level = _local(LEVEL, number)
        before = ast.Assign([ast.Name(level, ast.Store())], _call("level"))
        behind = ast.Expr(_call("behind", ast.Constant(number), _named(level), leaves=ast.Constant(leaves)))
        after = [
            _rebound(name, _call("after", ast.Constant(number), ast.Constant(name), _named(name))) for name in names
        ]
        return [_at(one, node) for one in (before, node, behind, *after)]

    def visit_For(self, node: ast.For | ast.While) -> Any:
        number = getattr(node, NUMBER)
        loop, iterable = _local(LOOP, number), _local("iterable", number)
        targets = names_bound([node.target]) if isinstance(node, ast.For) else set()
        bound = names_bound(node.body)
        written = names_written(node.body) - bound
        if isinstance(node, ast.For):
            first: list[ast.stmt] = [
                ast.Assign([ast.Name(iterable, ast.Store())], self.visit(node.iter)),
                ast.Assign([ast.Name(loop, ast.Store())], _call("loop", ast.Constant(number), _named(iterable))),
            ]
            node.iter = _call("items", _named(loop), _named(iterable))
            self.visit(node.target)
        else:
            node.test = _call("again", _named(loop), self.visit(node.test))
            start = ast.Assign([ast.Name(loop, ast.Store())], _call("loop", ast.Constant(number)))
            first = [start, *_carried(loop, bound, written)]
        self.loops.append(number)
        body = self._block(node.body)
        self.loops.pop()
        node.body = [ast.Expr(_call("round", _named(loop))), *_carried(loop, bound - targets, written), *body]
        node.orelse = self._block(node.orelse)
        last = [ast.Expr(_call("end", _named(loop))), *_carried(loop, bound | targets, set())]
        return [_at(one, node) for one in (*first, node, *last)]

    def visit_While(self, node: ast.While) -> Any:
        return self.visit_For(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        bound = [
            _rebound(one.id, _call("bound", ast.Constant(self.function), ast.Constant(one.id), _named(one.id)))
            for target in node.targets
            for one in ast.walk(target)
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
        ]
        return [node, *(_at(one, node) for one in bound)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            node.value = self.visit(node.value)
            self.visit(node.target)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        name, target = ast.Constant(type(node.op).__name__), node.target
        if isinstance(target, ast.Subscript):
            self.generic_visit(node)
            made = _call("augment_item", name, target.value, target.slice, node.value)
            return ast.copy_location(ast.Expr(made), node)
        read = copy.copy(target)
        read.ctx = ast.Load()
        look = _seeing(getattr(target, NUMBER), read, target) if isinstance(target, ast.Name) else self.visit(read)
        made = _call("augment", name, look, self.visit(node.value))
        return ast.copy_location(ast.Assign([target], made), node)

    def visit_Assert(self, node: ast.Assert) -> Any:
        number = getattr(node, NUMBER)
        node.test = _call("asked", ast.Constant(number), self.visit(node.test), ast.Constant(number))
        return node

    # Expressions.

    def visit(self, node: ast.AST) -> Any:
        return self._shown(node) if isinstance(node, ast.List | ast.Tuple | ast.Constant) else super().visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        return ast.copy_location(
            ast.Call(_named(SEE, "call"), [ast.Constant(getattr(node, NUMBER)), node.func, *node.args], node.keywords),
            node,
        )

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        node.slice = _key(node.slice)
        if not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_call("item", ast.Constant(getattr(node, NUMBER)), node.value, node.slice), node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        array = node.value
        if node.attr in METADATA and isinstance(array, ast.Name):
            node.value = _seeing(getattr(array, NUMBER), array, array)
        else:
            self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        number = getattr(node, NUMBER)
        return ast.copy_location(_call("attribute", ast.Constant(number), node.value, ast.Constant(node.attr)), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return _deriving(node, [node.op], node.operand)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        return _deriving(node, [node.op], node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if any(isinstance(one, ast.Is | ast.IsNot) for one in node.ops):
            return _seeing(getattr(node, NUMBER), node, node)
        return _deriving(node, node.ops, node.left, *node.comparators)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        numbers = [getattr(one, NUMBER) for one in node.values]
        self.generic_visit(node)
        number = ast.Constant(getattr(node, NUMBER))
        asked = [
            _call("asked", ast.Constant(-1 - place), one, number)
            for place, one in zip(numbers, node.values, strict=True)
        ]
        node.values = [*asked[:-1], node.values[-1]]
        return ast.copy_location(_call("both", number, node), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        self.generic_visit(node)
        number = ast.Constant(getattr(node, NUMBER))
        node.test = _call("decide", number, node.test)
        return ast.copy_location(_call("choice", number, _call("level"), node), node)

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        around, self.comprehension = self.comprehension, getattr(node, NUMBER)
        found = self._shown(node)
        self.comprehension = around
        return found

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        numbers = [getattr(one, NUMBER) for one in node.ifs]
        self.generic_visit(node)
        number = ast.Constant(self.comprehension)
        node.iter = _call("over", node.iter, number)
        node.ifs = [
            _call("asked", ast.Constant(-1 - place), one, number) for place, one in zip(numbers, node.ifs, strict=True)
        ]
        return node

    def _shown(self, node: Any) -> Any:
        self.generic_visit(node)
        number = getattr(node, NUMBER, None)
        if number is None or isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
            return node
        return _seeing(number, node, node)

    def visit_Name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(_call("read", ast.Constant(getattr(node, NUMBER)), node), node)


def _carried(loop: str, bound: Set[str], written: Set[str]) -> list[ast.stmt]:
    """Return statements that have what a loop binds, and what it writes to, be what it is in all rounds."""
    return [
        _rebound(name, _call(hook, _named(loop), ast.Constant(name), _named(name)))
        for names, hook in ((bound, "carried"), (written, "changed"))
        for name in sorted(names)
    ]


def _deriving(node: ast.expr, operators: Sequence[ast.AST], *operands: ast.expr) -> ast.expr:
    names = ast.Tuple([ast.Constant(type(one).__name__) for one in operators], ast.Load())
    return ast.copy_location(_call("derive", ast.Constant(getattr(node, NUMBER)), names, *operands), node)


def _key(node: ast.expr) -> ast.expr:
    """Return what is in brackets as an expression outside of them."""
    if isinstance(node, ast.Slice):
        bounds = [one or ast.Constant(None) for one in (node.lower, node.upper, node.step)]
        return _call("slice", *bounds)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "see":
        inner = node.args[1]
        if isinstance(inner, ast.Tuple):
            inner.elts = [_key(one) for one in inner.elts]
    if isinstance(node, ast.Tuple):
        node.elts = [_key(one) for one in node.elts]
    return node


def _seeing(number: int, value: ast.expr, place: ast.AST) -> ast.Call:
    return ast.copy_location(_call("see", ast.Constant(number), value), place)


def _rebound(name: str, value: ast.expr) -> ast.stmt:
    """Return `name = value`, where the name may not be bound."""
    bind = ast.Assign([ast.Name(name, ast.Store())], value)
    handler = ast.ExceptHandler(ast.Name("NameError", ast.Load()), None, [ast.Pass()])
    return ast.Try([bind], [handler], [], [])


def _at(made: ast.stmt, node: ast.stmt) -> ast.stmt:
    return ast.copy_location(made, node)


def of_function(statements: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of statements that are of the function itself, and of none inside of it."""
    for one in statements:
        yield one
        if not isinstance(one, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.AsyncFunctionDef):
            yield from of_function(list(ast.iter_child_nodes(one)))


def of_loop(statements: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of statements that are of the loop around them, and of none inside."""
    for one in statements:
        yield one
        if isinstance(one, ast.For | ast.While):
            yield from of_loop(one.orelse)
        elif not isinstance(one, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.AsyncFunctionDef):
            yield from of_loop(list(ast.iter_child_nodes(one)))


def names_bound(statements: Sequence[ast.AST]) -> set[str]:
    """Return the names that statements bind, other than in comprehensions and in functions inside of them."""
    found = set()
    comprehensions = [one for one in of_function(statements) if isinstance(one, ast.comprehension)]
    inner = {id(node) for one in comprehensions for node in ast.walk(one.target)}
    for one in of_function(statements):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and id(one) not in inner:
            found.add(one.id)
    return found


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
