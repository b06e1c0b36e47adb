"""What a name in a Python source stands for, as far as imports and plain assignments tell, by parsing alone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from pyopbench.model.syntax import own_nodes

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Scope: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SCOPES = (ast.Module, ast.ClassDef, *FUNCTIONS)

UNKNOWN = "?"
"""Begins the path of what is bound in the file to something that parsing cannot tell, or nowhere."""

DEEPEST_ALIAS = 8
"""Aliases of aliases that are followed; a chain that is longer is a circle."""


@dataclass
class ProgramSource:
    """A parsed file and where everything in it stands.

    Attributes:
        tree: the module.
        parents: node -> the node that it stands in.
        elsewhere: what the dotted path of something in another module stands for there, or the path itself.
        partials: calls of `functools.partial` that a name was followed to.
    """

    tree: ast.Module
    parents: dict[ast.AST, ast.AST]
    elsewhere: Callable[[str], str] = str
    partials: set[ast.AST] = field(default_factory=set)
    _bound: dict[Scope, dict[str, list[str | ast.expr]]] = field(default_factory=dict)
    _following: set[tuple[Scope, str]] = field(default_factory=set)

    @classmethod
    def of(cls, tree: ast.Module, elsewhere: Callable[[str], str] = str) -> ProgramSource:
        """Return the source of a parsed module."""
        return cls(tree, {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}, elsewhere)

    def above(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Yield each node that this one stands in, from within, with the node below it on the way."""
        while node in self.parents:
            yield self.parents[node], node
            node = self.parents[node]

    def scopes(self, node: ast.AST) -> list[Scope]:
        """Return the scopes that a node is evaluated in, from within; a decorator is not in what it decorates."""
        return [above for above, below in self.above(node) if isinstance(above, SCOPES) and not _outside(above, below)]

    def qualified_name(self, node: ast.AST) -> str:
        """Return the names of the functions and classes around a node, joined by dots; `<module>` for none."""
        names = [getattr(scope, "name", "<lambda>") for scope in self.scopes(node)[:-1]]
        return ".".join(reversed(names)) or "<module>"

    def path(self, node: ast.expr) -> str:
        """Return what an expression stands for as a dotted path, such as `tensorflow.compat.v1.py_func`.

        What is bound to something else, or nowhere, begins with `UNKNOWN`; the path of any other expression is empty.
        """
        path = self._path(node, self.scopes(node), 0)
        return path if not path or path.startswith(UNKNOWN) else self.elsewhere(path)

    def names_of_module(self) -> Iterator[str]:
        """Yield the names that the module binds, `*` for a star import."""
        yield from self._bindings(self.tree)

    def paths_of_module(self, name: str) -> list[str]:
        """Return what a name of the module stands for: paths of imports and of what it is assigned, if known."""
        bound = self._bindings(self.tree).get(name, [])
        found = [one if isinstance(one, str) else self._path(one, [self.tree], 0) for one in bound]
        return [path for path in found if path and not path.startswith(UNKNOWN)]

    def home(self, node: ast.Name) -> Scope | None:
        """Return the scope that binds a name, as it is seen from where it is used; None where the file has none."""
        for place, scope in enumerate(self.scopes(node)):
            if not (place and isinstance(scope, ast.ClassDef)) and node.id in self._bindings(scope):
                return scope
        return None

    def is_partial(self, node: ast.AST | None) -> bool:
        """Is it a call of `functools.partial` that binds arguments of a function?"""
        return isinstance(node, ast.Call) and bool(node.args) and self.path(node.func) == "functools.partial"

    def _path(self, node: ast.expr, scopes: list[Scope], depth: int) -> str:
        if depth > DEEPEST_ALIAS:
            return ""
        if isinstance(node, ast.Name):
            return self._name(node.id, scopes, depth)
        if isinstance(node, ast.Attribute):
            base = self._path(node.value, scopes, depth)
            return f"{base}.{node.attr}" if base else ""
        if isinstance(node, ast.IfExp | ast.BoolOp):
            either = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
            found = [self._path(one, scopes, depth + 1) for one in either]
            return next((path for path in found if path and not path.startswith(UNKNOWN)), "")
        return self._call(node, scopes, depth) if isinstance(node, ast.Call) else ""

    def _call(self, node: ast.Call, scopes: list[Scope], depth: int) -> str:
        if not node.args:
            return ""
        made_by = self._path(node.func, scopes, depth + 1)
        if made_by == "functools.partial":
            self.partials.add(node)
            return self._path(node.args[0], scopes, depth + 1)
        if made_by == "importlib.import_module":
            return self._text(node.args[-1])
        if made_by == f"{UNKNOWN}getattr" and len(node.args) in (2, 3) and (name := self._text(node.args[1])):
            base = self._path(node.args[0], scopes, depth + 1)
            return f"{base}.{name}" if base else ""
        return ""

    def _text(self, node: ast.expr) -> str:
        """Return a string, or the string that a name is bound to; empty for anything else."""
        found = [node]
        if isinstance(node, ast.Name):
            scope = self.home(node)
            bound = [] if scope is None else self._bindings(scope)[node.id]
            found = [one for one in bound if isinstance(one, ast.expr)]
        texts = [one.value for one in found if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return texts[0] if len(texts) == len(found) == 1 else ""

    def _name(self, name: str, scopes: list[Scope], depth: int) -> str:
        for place, scope in enumerate(scopes):
            if place and isinstance(scope, ast.ClassDef):
                continue  # a method does not see the names of its class
            bound = self._bindings(scope).get(name)
            if bound is None:
                continue
            if (scope, name) in self._following:  # as in `text = text.strip()`, again and again
                return UNKNOWN + name
            self._following.add((scope, name))
            found = [one if isinstance(one, str) else self._path(one, scopes[place:], depth + 1) for one in bound]
            self._following.discard((scope, name))
            return next((path for path in found if path and not path.startswith(UNKNOWN)), UNKNOWN + name)
        stars = self._bindings(self.tree).get("*", [])
        return f"{stars[0]}.{name}" if stars else UNKNOWN + name

    def _bindings(self, scope: Scope) -> dict[str, list[str | ast.expr]]:
        if scope not in self._bound:
            bound: dict[str, list[str | ast.expr]] = {}
            for name, value in _bind(scope):
                bound.setdefault(name, []).append(value)
            self._bound[scope] = bound
        return self._bound[scope]


def _outside(scope: Scope, below: ast.AST) -> bool:
    """Is a part of a definition evaluated where the definition stands?"""
    if isinstance(scope, ast.Module):
        return False
    body = scope.body if isinstance(scope.body, list) else [scope.body]
    return below not in body


def _bind(scope: Scope) -> Iterator[tuple[str, str | ast.expr]]:
    """Yield each name that a scope binds with what it is bound to: a path, an expression, or an unknown."""
    if isinstance(scope, FUNCTIONS):
        for argument in ast.walk(scope.args):
            if isinstance(argument, ast.arg):
                yield argument.arg, UNKNOWN + argument.arg
    for node in own_nodes(scope):
        yield from _bind_node(node)
        if isinstance(scope, ast.Module) and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _bind_globals(node)


def _bind_globals(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, str | ast.expr]]:
    shared = {name for node in own_nodes(function) if isinstance(node, ast.Global) for name in node.names}
    yield from ((name, to) for node in own_nodes(function) for name, to in _bind_node(node) if name in shared)


def bound_by_import(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, with its path; `*` with the module that everything is imported of."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        separator = "." if node.module else ""
        for alias in node.names:
            path = f"{module}{separator}{alias.name}"
            yield (alias.name, module) if alias.name == "*" else (alias.asname or alias.name, path)


def _bind_node(node: ast.AST) -> Iterator[tuple[str, str | ast.expr]]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from bound_by_import(node)
    elif isinstance(node, ast.Assign):
        yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name) and node.value:
        yield node.target.id, node.value
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name, UNKNOWN + node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, UNKNOWN + node.id
