"""Where the values in a file come from and where they go, as far as its syntax shows.

Followed are assignments, `+=`, unpacking, loops, `append` and its like, items of dicts, attributes of `self`, and the
arguments of functions of the file. Functions are distinguished by their names alone.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import TypeAlias

from pyopbench.find.source import FUNCTIONS, UNKNOWN, ProgramSource, Scope

Key: TypeAlias = "tuple[Scope | None, str]"
"""A name and the scope that binds it; None for an attribute, and for a name that the file does not bind."""

GROWING = {"append", "extend", "insert", "add", "update", "setdefault"}
"""Methods that put their arguments into a list, a set or a dict."""

MEASURING = {"shape", "shape_n", "get_shape", "rank", "ndims", "size", "len", "dtype", "print", "isinstance"}
"""Functions that report something about a tensor, and do not return it."""


class ValueFlow:
    """The bindings and reads of a file."""

    def __init__(self, source: ProgramSource) -> None:
        self.source = source
        self._values: defaultdict[Key, list[ast.AST]] = defaultdict(list)
        self._reads: defaultdict[Key, list[ast.AST]] = defaultdict(list)
        self._targets: defaultdict[ast.AST, list[ast.AST]] = defaultdict(list)
        self._parameters: defaultdict[ast.AST, list[Key]] = defaultdict(list)
        self._functions: defaultdict[str, list[ast.FunctionDef | ast.AsyncFunctionDef]] = defaultdict(list)
        self._classes: set[str] = set()
        calls = []
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._reads[source.home(node), node.id].append(node)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                self._reads[None, node.attr].append(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._functions[node.name].append(node)
                for name, value in _defaults_of(node.args).items():
                    self._values[node, name].append(value)
            elif isinstance(node, ast.ClassDef):
                self._classes.add(node.name)
            elif isinstance(node, ast.Call) and (source.path(node.func) or UNKNOWN).startswith(UNKNOWN):
                calls.append(node)  # no import has this name, so it may be a function of the file
            self._bind_node(node)
        for call in calls:
            self._bind_arguments(call)

    def sources(self, node: ast.AST) -> list[ast.AST]:
        """Return an expression and all that it may be or hold; a function is not entered."""
        found: dict[ast.AST, None] = {}
        waiting = [node]
        while waiting:
            one = waiting.pop()
            if one not in found:
                found[one] = None
                waiting += self.parts(one)
        return list(found)

    def parts(self, node: ast.AST) -> list[ast.AST]:
        """Return what an expression is bound to or holds."""
        match node:
            case ast.Name():
                return list(self._values[self.source.home(node), node.id])
            case ast.Attribute():
                return list(self._values[None, node.attr]) if is_of_self(node) else []
            case ast.Call():
                return [*node.args, *(keyword.value for keyword in node.keywords)]
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return [node.elt, *(one.iter for one in node.generators)]
            case ast.DictComp():
                return [node.value, *(one.iter for one in node.generators)]
            case ast.keyword() | ast.Starred() | ast.NamedExpr() | ast.Subscript():
                return [node.value]
            case ast.IfExp():
                return [node.body, node.orelse]
            case ast.Dict() | ast.BoolOp():
                return list(node.values)
            case ast.List() | ast.Tuple() | ast.Set():
                return list(node.elts)
            case ast.BinOp():
                return [node.left, node.right]
        return []

    def argument(self, call: ast.Call, name: str, place: int) -> ast.AST | None:
        """Return an argument of a call by its name or its place."""
        named = [keyword.value for keyword in call.keywords if keyword.arg == name]
        return next(iter([*named, *call.args[place : place + 1]]), None)

    def is_class(self, name: ast.Name | ast.Attribute) -> bool:
        """Is it a class, by its definition in the file or, if it is imported, by the case of its name?"""
        if self.source.path(name).startswith(UNKNOWN):
            return last_name(name) in self._classes
        return last_name(name)[:1].isupper()

    def function(self, node: ast.Name | ast.Attribute) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """Return the function that a name stands for, or the method that an attribute does: the nearest in the file."""
        is_method, around = isinstance(node, ast.Attribute), [*self.source.scopes(node)]
        functions = [
            one
            for one in self._functions[last_name(node)]
            if isinstance(self.source.parents[one], ast.ClassDef) == is_method
        ]

        def distance(function: ast.AST) -> int:
            scope = self.source.scopes(function)[0]
            return around.index(scope) if scope in around else len(around)

        return min(functions, key=distance, default=None)

    def uses(self, node: ast.expr) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Yield the expressions and statements that the result of a callback gets to, with the part that it is in.

        Args:
            node: the call, decorator or name that makes the callback.
        """
        around = {*self.source.scopes(node)}
        seen: set[ast.AST] = set()
        waiting: list[ast.AST] = [node]
        above = self.source.parents.get(node)
        if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef) and node in above.decorator_list:
            waiting = self._reads_of_function(above)
        while waiting:
            one = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            for outer, inner in self.source.above(one):
                yield outer, inner
                waiting += self._reached(outer, inner, around)
                if not _passes_on(outer, inner):
                    break

    def _bind_node(self, node: ast.AST) -> None:
        """Note what a node binds or adds to, with what that may be or hold from then on."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            self._bind(node.target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self._bind(node.target, node.iter)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GROWING:
            for one in (*node.args, *(each.value for each in node.keywords)):
                self._bind(node.func.value, one)

    def _bind(self, target: ast.AST, value: ast.AST) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            pairs = [(one, value) for one in target.elts]
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
                pairs = list(zip(target.elts, value.elts, strict=True))
            for one, part in pairs:
                self._bind(one, part)
        elif isinstance(target, ast.Subscript | ast.Starred):
            self._bind(target.value, value)
        else:
            self._targets[value].append(target)
            if isinstance(target, ast.Name):
                scope = self.source.home(target)
                self._values[scope, target.id].append(value)
                if isinstance(scope, ast.ClassDef):
                    self._values[None, target.id].append(value)
            elif isinstance(target, ast.Attribute) and is_of_self(target):
                self._values[None, target.attr].append(value)

    def _bind_arguments(self, call: ast.Call) -> None:
        for function in self._functions[last_name(call.func)]:
            names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
            positional = names[1:] if names[:1] in (["self"], ["cls"]) else names
            named = {*names, *(one.arg for one in function.args.kwonlyargs)}
            given = [(one.arg, one.value) for one in call.keywords if one.arg in named]
            for name, value in (*given, *zip(positional, call.args, strict=False)):
                self._values[function, str(name)].append(value)
                self._parameters[value].append((function, str(name)))

    def _reached(self, outer: ast.AST, inner: ast.AST, around: set[Scope]) -> list[ast.AST]:
        """Return the expressions that are results too if `inner`, a part of `outer`, is one."""
        found = [read for target in self._targets.get(inner, ()) for read in self._reads_of(target)]
        found += [read for key in self._parameters.get(inner, ()) for read in self._reads[key]]
        if isinstance(outer, ast.Return | ast.Yield):
            function = next((scope for scope in self.source.scopes(outer) if isinstance(scope, FUNCTIONS)), None)
            found += self._reads_of_function(function)
        elif isinstance(outer, ast.Call):  # what it is mapped over, perhaps
            for other in outer.args:
                mapped = [other] if isinstance(other, ast.Lambda) else self._functions[last_name(other)]
                if other is not inner:
                    found += [read for one in mapped if one not in around for read in self._reads_of_parameters(one)]
        return found

    def _reads_of(self, target: ast.AST) -> list[ast.AST]:
        """Return the reads of a target that a result is assigned to."""
        if isinstance(target, ast.Name):
            reads = self._reads[self.source.home(target), target.id]
            return [read for read in reads if getattr(read, "lineno", 0) >= target.lineno]
        if isinstance(target, ast.Attribute):
            text = ast.unparse(target)
            return [read for read in self._reads[None, target.attr] if ast.unparse(read) == text]
        return []

    def _reads_of_function(self, function: ast.AST | None) -> list[ast.AST]:
        """Return the places in the file at which a function is called, or passed to another one."""
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            return []
        scope = next(iter(self.source.scopes(function)), None)
        return [*self._reads[scope, function.name], *self._reads[None, function.name]]

    def _reads_of_parameters(self, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.AST]:
        names = [one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)]
        return [read for name in names if name not in {"self", "cls"} for read in self._reads[function, name]]


def _passes_on(outer: ast.AST, inner: ast.AST) -> bool:
    """Is an expression a result if `inner`, a part of it, is one?"""
    if isinstance(outer, ast.Call):
        return last_name(outer.func) not in MEASURING
    if isinstance(outer, ast.Attribute):
        return outer.attr not in MEASURING
    if isinstance(outer, ast.Subscript):
        return inner is outer.value
    if isinstance(outer, ast.IfExp):
        return inner is not outer.test
    return isinstance(outer, ast.expr | ast.keyword | ast.comprehension)


def is_of_self(node: ast.AST) -> bool:
    """Is it an attribute of `self` or `cls`?"""
    return isinstance(node, ast.Attribute) and last_name(node.value) in {"self", "cls"}


def last_name(node: ast.AST) -> str:
    """Return the last name of a dotted path such as `a.b.c`; empty for any other expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _defaults_of(arguments: ast.arguments) -> dict[str, ast.expr]:
    """Return the defaults of the parameters that have one, by name."""
    positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    without = len(positional) - len(arguments.defaults)
    return dict(zip(positional[without:], arguments.defaults, strict=True)) | {
        one.arg: default for one, default in named if default is not None
    }
