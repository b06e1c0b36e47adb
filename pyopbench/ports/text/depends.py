"""What of a body depends on its inputs, and which of its lists have a length that does: read from the source."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyopbench.model.source_text import Function, Source, number_of
from pyopbench.ports.text.kinds import Kind, Kinds

ROUNDS = 30
"""Passes over the functions at most; each adds something that depends, of which there is not more in any body."""


@dataclass(frozen=True)
class Dependence:
    """How a value depends on the inputs.

    Attributes:
        depends: does it?
        is_dynamic: is it a list whose length does?
        items: of a list or tuple that is written out, its items.
        item: of any other list, all of them together.
    """

    depends: bool = False
    is_dynamic: bool = False
    items: tuple[Dependence, ...] | None = None
    item: Dependence | None = None

    def each(self) -> Dependence:
        """Return what an item is that a loop goes over."""
        if self.items is not None:
            return joined(self.items)
        return self.item if self.item is not None else Dependence(self.depends)


FREE = Dependence()
DEPENDS = Dependence(depends=True)


def joined(several: Iterable[Dependence]) -> Dependence:
    """Return what a value is that may be any of several."""
    found: Dependence | None = None
    for one in several:
        found = one if found is None else _both(found, one)
    return FREE if found is None else found


def _both(a: Dependence, b: Dependence) -> Dependence:
    if a == b:
        return a
    items = None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(_both(one, other) for one, other in zip(a.items, b.items, strict=True))
    item = None
    if items is None and any(one.items is not None or one.item is not None for one in (a, b)):
        item = _both(a.each(), b.each())
    return Dependence(a.depends or b.depends, a.is_dynamic or b.is_dynamic, items, item)


@dataclass
class _Scope:
    """What is known of a function while it is read."""

    source: Source
    node: Function
    names: dict[str, Dependence] = field(default_factory=dict)
    returned: Dependence = FREE


class Depends:
    """What depends on the inputs, of a body and of the functions that it calls.

    Args:
        kinds: what the expressions were.
        body: the definition of the body.
        resolve: says which function of `kinds` a call calls; None for any other.
    """

    def __init__(self, kinds: Kinds, body: Function, resolve: Callable[[Source, ast.expr], Any]) -> None:
        self.kinds = kinds
        self.resolve = resolve
        self.of_node: dict[tuple[str, int], Dependence] = {}
        self.scopes = {key: _Scope(source, node) for key, (source, node) in kinds.functions.items()}
        for scope in self.scopes.values():
            if scope.node is body:
                for one in _parameters(body):
                    scope.names[one] = Dependence(depends=True, is_dynamic=True, item=DEPENDS)
        self.is_changed = True
        for _ in range(ROUNDS):
            if not self.is_changed:
                break
            self.is_changed = False
            for scope in self.scopes.values():
                _Reading(self, scope).read(scope.node.body, decided=False)

    def of(self, source: Source, node: ast.AST) -> Dependence:
        """Return how an expression depends on the inputs."""
        return self.of_node.get((source.path, number_of(node)), FREE)

    def of_name(self, source: Source, function: ast.AST, name: str) -> Dependence:
        """Return how a local name does, in any of its lines."""
        scope = self.scopes.get((source.path, number_of(function)))
        return FREE if scope is None else scope.names.get(name, FREE)


def _parameters(node: Function) -> list[str]:
    arguments = node.args
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


GROWING = ("append", "extend", "insert")
CHANGING = ("update", "add", "sort", "reverse", "pop", "remove", "clear", "fill")


class _Reading:
    """One pass over a function."""

    def __init__(self, whole: Depends, scope: _Scope) -> None:
        self.whole = whole
        self.scope = scope

    def read(self, statements: Sequence[ast.stmt], *, decided: bool) -> None:
        """Note what statements do; `decided` says whether an input decides if or how often they run."""
        for node in statements:
            self._statement(node, decided=decided)

    def _statement(self, node: ast.stmt, *, decided: bool) -> None:
        if isinstance(node, ast.Assign):
            found = self.of(node.value)
            for target in node.targets:
                self._bind(target, found, decided=decided)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and node.value is not None:
            found = self.of(node.value)
            if isinstance(node, ast.AugAssign):
                found = self._added(node, found, decided=decided)
            self._bind(node.target, found, decided=decided)
        elif isinstance(node, ast.For):
            over = self.of(node.iter)
            decided = decided or self._has_dynamic_length(node.iter, over)
            self._bind(node.target, self._item_of(node.iter, over), decided=decided)
            self.read([*node.body, *node.orelse], decided=decided)
        elif isinstance(node, ast.While | ast.If):
            decided = self.of(node.test).depends or decided
            self.read([*node.body, *node.orelse], decided=decided)
        elif isinstance(node, ast.Return):
            found = FREE if node.value is None else self.of(node.value)
            before = self.scope.returned
            new = found if before == FREE else _both(before, found)
            if decided:
                new = replace(new, depends=True)
            self._note_returned(new)
        elif isinstance(node, ast.Try | ast.With):
            for one in ast.iter_child_nodes(node):
                if isinstance(one, ast.ExceptHandler):
                    self.read(one.body, decided=decided)
            if isinstance(node, ast.With):
                for item in node.items:
                    self.of(item.context_expr)
                self.read(node.body, decided=decided)
            else:
                self.read([*node.body, *node.orelse, *node.finalbody], decided=decided)
        elif isinstance(node, ast.Expr):
            self.of(node.value)
            self._method_that_writes(node.value, decided=decided)
        elif isinstance(node, ast.Assert):
            self.of(node.test)

    def _added(self, node: ast.AugAssign, found: Dependence, *, decided: bool) -> Dependence:
        before = self.of_target(node.target)
        if self._is_list(node.target):
            is_times = isinstance(node.op, ast.Mult)
            dynamic = before.is_dynamic or found.is_dynamic or decided or (is_times and found.depends)
            both = _both(replace(before, items=None, item=before.each()), replace(found, items=None, item=found.each()))
            return replace(both, is_dynamic=dynamic, depends=both.depends or decided)
        return Dependence(before.depends or found.depends or decided)

    def _method_that_writes(self, node: ast.expr, *, decided: bool) -> None:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            return
        name, method = node.func.value, node.func.attr
        if not isinstance(name, ast.Name) or method not in (*GROWING, *CHANGING):
            return
        given = joined(self.of(one) for one in node.args)
        if method in GROWING and self._is_list(name):
            before = self.scope.names.get(name.id, FREE)
            added = given.each() if method == "extend" else given
            item = added if before.items == () and before.item is None else _both(before.each(), added)
            dynamic = before.is_dynamic or decided or (method == "extend" and given.is_dynamic)
            new = Dependence(before.depends or given.depends or decided, dynamic, None, item)
            self._set(name.id, new)
        elif given.depends or decided:
            self._set(name.id, replace(self.scope.names.get(name.id, FREE), depends=True, is_dynamic=True))

    def _bind(self, target: ast.expr, found: Dependence, *, decided: bool) -> None:
        if isinstance(target, ast.Name):
            if decided:
                found = replace(found, depends=True, is_dynamic=found.is_dynamic)
            before = self.scope.names.get(target.id)
            self._set(target.id, found if before is None else _both(before, found))
            self._note(target, self.scope.names[target.id])
        elif isinstance(target, ast.Tuple | ast.List):
            for place, one in enumerate(target.elts):
                inner = one.value if isinstance(one, ast.Starred) else one
                item = found.items[place] if found.items and place < len(found.items) else found.each()
                if isinstance(one, ast.Starred):
                    item = Dependence(found.depends, found.is_dynamic, None, found.each())
                self._bind(inner, item, decided=decided)
        elif isinstance(target, ast.Subscript | ast.Attribute):
            inner = target.value
            key = self.of(target.slice) if isinstance(target, ast.Subscript) else FREE
            while isinstance(inner, ast.Subscript | ast.Attribute):
                if isinstance(inner, ast.Subscript):
                    key = _both(key, self.of(inner.slice))
                inner = inner.value
            if isinstance(inner, ast.Name) and (found.depends or key.depends or decided):
                before = self.scope.names.get(inner.id, FREE)
                self._set(inner.id, replace(before, depends=True))
            self.of(inner)

    def _set(self, name: str, found: Dependence) -> None:
        if self.scope.names.get(name) != found:
            self.scope.names[name] = found
            self.whole.is_changed = True

    def _note_returned(self, found: Dependence) -> None:
        if self.scope.returned != found:
            self.scope.returned = found
            self.whole.is_changed = True

    def of_target(self, node: ast.expr) -> Dependence:
        """Return what a target of `+=` was before."""
        if isinstance(node, ast.Name):
            return self.scope.names.get(node.id, FREE)
        return self.of(node)

    # Expressions.

    def of(self, node: ast.expr) -> Dependence:
        """Return how an expression depends on the inputs, and note it."""
        found = self._of(node)
        self._note(node, found)
        return found

    def _note(self, node: ast.AST, found: Dependence) -> None:
        self.whole.of_node[self.scope.source.path, number_of(node)] = found

    def _of(self, node: ast.expr) -> Dependence:
        if isinstance(node, ast.Constant):
            return FREE
        if isinstance(node, ast.Name):
            return self.scope.names.get(node.id, FREE)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            items = tuple(self.of(one.value if isinstance(one, ast.Starred) else one) for one in node.elts)
            depends = any(one.depends for one in items)
            if any(isinstance(one, ast.Starred) for one in node.elts):
                pairs = zip(node.elts, items, strict=True)
                dynamic = any(one.is_dynamic for star, one in pairs if isinstance(star, ast.Starred))
                return Dependence(depends, dynamic, None, joined(one.each() for one in items))
            return Dependence(depends, isinstance(node, ast.Set) and depends, items)
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            return self._comprehension(node)
        if isinstance(node, ast.IfExp):
            test, several = self.of(node.test), (self.of(node.body), self.of(node.orelse))
            found = _both(*several)
            if (
                test.depends
                and self._is_list(node)
                and any(len(one.items or ()) != len(several[0].items or ()) for one in several)
            ):
                found = replace(found, is_dynamic=True)
            return replace(found, depends=found.depends or test.depends)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Attribute):
            found = self.of(node.value)  # of `x.shape`, how many there are is known
            return Dependence(found.depends, item=DEPENDS if found.depends and self._is_list(node) else None)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Lambda):
            for argument in node.args.args:
                self.scope.names.setdefault(argument.arg, FREE)
            return Dependence(self.of(node.body).depends)
        depends = False
        for one in _expressions(node):
            depends = self.of(one).depends or depends
        return Dependence(depends, depends and self._is_list(node))

    def _binary(self, node: ast.BinOp) -> Dependence:
        left, right = self.of(node.left), self.of(node.right)
        depends = left.depends or right.depends
        if not self._is_list(node):
            return Dependence(depends)
        if isinstance(node.op, ast.Mult):
            count, several = (left, right) if self._is_list(node.right) else (right, left)
            return Dependence(depends, several.is_dynamic or count.depends, None, several.each())
        if left.items is not None and right.items is not None:
            return Dependence(depends, is_dynamic=False, items=left.items + right.items)
        return Dependence(depends, left.is_dynamic or right.is_dynamic, None, _both(left.each(), right.each()))

    def _subscript(self, node: ast.Subscript) -> Dependence:
        value, key = self.of(node.value), self.of(node.slice)
        depends = value.depends or key.depends
        if isinstance(node.slice, ast.Slice):
            if not self._is_list(node):
                return Dependence(depends)
            constant = _constant_slice(node.slice)
            if value.items is not None and constant is not None:
                items = value.items[constant]
                return Dependence(any(one.depends for one in items), is_dynamic=False, items=items)
            return Dependence(depends, value.is_dynamic or key.depends, None, value.each())
        place = _constant(node.slice)
        if value.items is not None and isinstance(place, int) and -len(value.items) <= place < len(value.items):
            return value.items[place]
        found = value.each()
        if self._is_list(node.value) or self._kind(node.value) in ("counter", "dict"):
            return replace(found, depends=found.depends or key.depends or value.is_dynamic)
        return Dependence(depends)

    def _comprehension(self, node: Any) -> Dependence:
        dynamic, depends = False, False
        for generator in node.generators:
            over = self.of(generator.iter)
            dynamic = dynamic or self._has_dynamic_length(generator.iter, over)
            self._bind(generator.target, self._item_of(generator.iter, over), decided=dynamic)
            for test in generator.ifs:
                dynamic = self.of(test).depends or dynamic
            depends = depends or over.depends
        is_dict = isinstance(node, ast.DictComp)
        item = _both(self.of(node.key), self.of(node.value)) if is_dict else self.of(node.elt)
        if dynamic:
            item = replace(item, depends=True)
        return Dependence(item.depends or dynamic, dynamic, None, item)

    def _call(self, node: ast.Call) -> Dependence:
        function = node.func
        given = [self.of(one.value if isinstance(one, ast.Starred) else one) for one in node.args]
        named = {one.arg: self.of(one.value) for one in node.keywords}
        key = self.whole.resolve(self.scope.source, function)
        if key in self.whole.scopes:
            return self._own_function(self.whole.scopes[key], given, named)
        receiver = self.of(function.value) if isinstance(function, ast.Attribute) else FREE
        if not isinstance(function, ast.Name | ast.Attribute):
            self.of(function)
        several = [*given, *named.values(), receiver]
        depends = any(one.depends for one in several)
        name = function.id if isinstance(function, ast.Name) else ""
        if name == "range":
            return Dependence(depends, depends)
        if name in ("zip", "enumerate") and given:
            items = [self._item_of(arg, one) for arg, one in zip(node.args, given, strict=True)]
            dynamic = any(self._has_dynamic_length(arg, one) for arg, one in zip(node.args, given, strict=True))
            if name == "enumerate":
                items = [Dependence(dynamic), items[0]]
            return Dependence(depends, dynamic, None, Dependence(depends, is_dynamic=False, items=tuple(items)))
        if name in ("list", "tuple", "set", "frozenset", "sorted", "reversed", "map", "filter", "iter") and given:
            arg, one = node.args[-1], given[-1]
            dynamic = self._has_dynamic_length(arg, one) or (name in ("set", "frozenset") and depends)
            if one.items is not None and name in ("list", "tuple"):
                return one
            item = self._item_of(arg, one) if name != "map" else Dependence(depends)
            return Dependence(depends, dynamic, None, item)
        if depends and (self._is_list(node) or self._kind(node) in ("set", "counter", "dict")):
            if isinstance(function, ast.Attribute) and function.attr in ("partition", "rpartition"):
                return Dependence(depends=True, items=(DEPENDS, DEPENDS, DEPENDS))
            if self._kind(node) == "tuple":  # os.path.splitext
                return Dependence(depends=True, items=(DEPENDS, DEPENDS))
            inner = self._kind_of(node)
            item = DEPENDS
            if inner is not None and inner.item is not None and inner.item.name in ("list", "tuple"):
                item = Dependence(depends=True, is_dynamic=inner.item.name == "list", item=DEPENDS)
            return Dependence(depends=True, is_dynamic=True, item=item)
        return Dependence(depends)

    def _own_function(self, scope: _Scope, given: list[Dependence], named: dict[Any, Dependence]) -> Dependence:
        names = _parameters(scope.node)
        for name, one in [*zip(names, given, strict=False), *named.items()]:
            if name in names:
                before = scope.names.get(name)
                new = one if before is None else _both(before, one)
                if before != new:
                    scope.names[name] = new
                    self.whole.is_changed = True
        return scope.returned

    # What things are.

    def _kind_of(self, node: ast.AST) -> Kind | None:
        return self.whole.kinds.of(self.scope.source, node)

    def _kind(self, node: ast.AST) -> str:
        found = self._kind_of(node)
        return found.name if found is not None else ""

    def _is_list(self, node: ast.AST) -> bool:
        return self._kind(node) in ("list", "tuple")

    def _has_dynamic_length(self, node: ast.expr, found: Dependence) -> bool:
        if self._kind(node) in ("str", "bytes", "array", "set", "counter", "dict"):
            return found.depends
        return found.is_dynamic

    def _item_of(self, node: ast.expr, found: Dependence) -> Dependence:
        if self._kind(node) in ("str", "bytes", "array"):
            return Dependence(found.depends)
        return found.each()


def _expressions(node: ast.AST) -> list[ast.expr]:
    found: list[ast.expr] = []
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.expr):
            found.append(one)
        elif not isinstance(one, ast.stmt):
            found += _expressions(one)
    return found


def _constant(node: ast.expr | None) -> Any:
    if node is None:
        return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return ...


def _constant_slice(node: ast.Slice) -> slice | None:
    parts = [_constant(one) for one in (node.lower, node.upper, node.step)]
    return None if ... in parts else slice(*parts)
