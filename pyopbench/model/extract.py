"""A function and everything it needs, extracted from wherever it is defined into the text of a module.

The function may be anything that Python can call: a `def` in a file, a function inside another one with the variables
that it captures, a lambda, a method, an object with `__call__`, `functools.partial`, a ufunc. Statements of the user's
files are copied with their comments and layout. Values that no statement makes (captured variables, attributes of
`self`) and values that were read from a file or changed later are written as they are now.

Ports are written from this module. A function of a notebook is sent to workers as such a module.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import os
import re
import sys
import types
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pyopbench.model.definitions import (
    CHANGING,
    CannotExtract,
    Place,
    StateChanged,
    absolute_name,
    bindings_of,
    bound_name,
    changes_of,
    decorators_of,
    definition_of,
    first_line,
    is_file_of_user,
    is_module_of_user,
    name_for,
    parameters_of,
    public_home,
    require_no_state,
    signature_of,
    source_of,
    state_changed,
    unwrapped,
)
from pyopbench.model.extracted_module import (
    Bound,
    Extracted,
    Import,
    Item,
    ModuleText,
    Statement,
    Target,
    Written,
    load,
    needs_of,
    place_of_user,
)
from pyopbench.model.function_source import every_name, free_names, name_of, names_bound, unused_name
from pyopbench.model.literals import NAMESPACES, NotWritable, Parts, is_same, joined, plain_container, source_parts
from pyopbench.model.source_text import Function, Source, read_source

FIX = "pass it to the function as an argument, or define it in one statement at the top level of the file"

FROM_OUTSIDE = {
    *("open", "input", "__file__", "environ", "getenv", "argv", "parse_args", "parse_known_args"),
    *("load", "safe_load", "load_all", "loadtxt", "genfromtxt", "fromfile", "memmap", "loadmat", "load_npz"),
    *("read_text", "read_bytes", "read_csv", "read_json", "read_file", "imread", "getcwd", "FLAGS"),
}
"""Names and attributes that read files, arguments or the environment: they return something else elsewhere."""

LIBRARIES_OF_BODIES = ("numpy", "scipy", "math", "tensorflow", "keras")
"""Modules whose functions are called and never extracted, even if one is the whole body."""

LONGEST_COMPUTED = 2_000
"""Characters of a value that is written in place of the functions that compute it."""

ALIASES = {"numpy": "np", "tensorflow": "tf"}
"""The usual names of imported modules."""

Parents: TypeAlias = Mapping[ast.AST, ast.AST]
Lookup: TypeAlias = Callable[[str, Place], "Target | Holder | None"]

_CONTAINERS = (list, dict, set, np.ndarray)


@dataclass(frozen=True)
class Holder:
    """A value of which only what is read is written: an object, a module, a configuration.

    Attributes:
        value: the user's value.
        whole: returns the statement that makes the value, for when a part that is read cannot be written; None if there
            is no such statement.
    """

    value: Any
    whole: Callable[[], Statement | Bound] | None = None


@dataclass(frozen=True)
class _Super:
    """The value of `super()` in a method."""

    cls: type
    owner: Any


class Extraction:
    """Collects functions and what they need; `module` then writes them.

    Args:
        frozen: files and names of statements that are not copied, because their values have changed.
    """

    def __init__(self, frozen: Set[tuple[str, str]] = frozenset()) -> None:
        self.frozen = frozen
        self.roots: list[Item] = []
        self.packages: set[str] = set()
        self.by_value: set[tuple[str, str]] = set()
        self._items: dict[Hashable, Item] = {}
        self._alive: list[Any] = []  # so that no other object gets the id of one that is a key

    def add(self, function: Any, name: str = "", arguments: int = 0) -> None:
        """Add a function and everything it needs.

        Args:
            function: anything that can be called.
            name: its name in the module if it has no name of its own.
            arguments: the number of positional arguments, for a function that can take different numbers; 0 if it is
                not known.

        Raises:
            CannotExtract: it has no source, or needs a value that cannot be written; names the user's line.
        """
        function = unwrapped(function)
        home = str(getattr(function, "__module__", "") or "").partition(".")[0]
        is_of_library = home in LIBRARIES_OF_BODIES
        self.packages |= set() if is_of_library or home in ("", "builtins", "functools") else {home}
        known = name or bound_name(function) or "body"
        is_theirs = isinstance(function, types.FunctionType) and not is_of_library
        found = self._function(function, known) if is_theirs else self._callable(function, known, None, arguments)
        if found is None and callable(function):
            found = self._calling(function, name, arguments)
        if found is None:
            raise CannotExtract(
                f"a {type(function).__module__}.{type(function).__qualname__} has no source that can be read",
                fix="write a def with the same arguments that calls this one",
            )
        if is_theirs and isinstance(found, Statement) and isinstance(found.node, ast.Lambda | ast.FunctionDef):
            _name_arguments(found, found.node, arguments)
        self.roots.append(found)

    def add_expression(self, scope: dict[str, Any], path: str, node: ast.expr) -> Statement:
        """Add everything that an expression at the top level of a file needs; return the argument of `expression`.

        The user's statements that it reads are copied as they are, even if they read other files.
        """
        source = read_source(path)
        item = Statement("", source, ast.copy_location(ast.Expr(node), node), scope, is_given=True)
        self._resolve(item, self._of_module(item, is_given=True))
        self.roots.append(item)
        return item

    def expression(self, item: Statement) -> str:
        """Return the text of an expression that was added."""
        return self._text().text_of(item).text

    def module(self, docstring: str = "") -> Extracted:
        """Return the module.

        Raises:
            CannotExtract: two files define one name differently.
        """
        return self._text().extracted(docstring)

    def _text(self) -> ModuleText:
        return ModuleText(self.roots, self._items.values())

    def changed(self, module: types.ModuleType) -> set[tuple[str, str]]:
        """Return files and names of the statements whose values in a loaded module differ from the current ones."""
        text = self._text()
        names, items, found = text.names, text.in_order(), set()
        for item in items:
            if isinstance(item, Statement) and item.wanted and not isinstance(item.node, ast.ClassDef | Function):
                for bound in {*names_bound(item.node)} if isinstance(item.node, ast.stmt) else ():
                    name = names[item] if bound == item.wanted else bound
                    if bound in item.scope and not is_same(item.scope[bound], vars(module).get(name)):
                        found.add((item.source.path, bound))
        return found

    def _callable(self, value: Any, wanted: str, place: Place | None, arguments: int = 1) -> Item | None:
        """Return the item for a function of the user, of any kind; None for anything else."""
        value = unwrapped(value)
        if isinstance(value, types.FunctionType):
            return self._function(value, wanted) if self._is_of_user(value) else None
        if isinstance(value, types.MethodType):
            method = value.__func__
            if isinstance(method, types.FunctionType) and self._is_of_user(method):
                return self._method(method, value.__self__, wanted)
            return None
        if isinstance(value, functools.partial):
            return self._partial(value, wanted, place, arguments)
        call = inspect.getattr_static(type(value), "__call__", None)
        if isinstance(call, types.FunctionType) and self._is_of_user(call):
            return self._method(call, value, _snake(type(value).__name__) if wanted == "body" else wanted)
        return None

    def _function(self, function: types.FunctionType, wanted: str) -> Statement:
        source, node = definition_of(function)
        scope = function.__globals__
        is_top = node in source.tree.body and isinstance(node, ast.FunctionDef)
        if is_top and not function.__closure__ and (not decorators_of(node) or scope.get(node.name) is function):
            return self._statement(source, node, node.name, scope)
        key = ("function", id(function))
        if key in self._items:
            return self._items[key]  # type: ignore[return-value]
        own = getattr(node, "name", wanted)
        item = Statement(name_for(function, own), source, node, scope, is_whole=False)
        self._remember(key, item, function)
        self._write_defaults(item, function)
        self._resolve(item, self._of_function(item, function))
        return item

    def _method(self, function: types.FunctionType, owner: Any, wanted: str) -> Statement:
        key = ("method", id(function), id(owner))
        if key in self._items:
            return self._items[key]  # type: ignore[return-value]
        source, node = definition_of(function)
        arguments = node.args
        first = next(iter([*arguments.posonlyargs, *arguments.args]), None)
        if first is None:
            raise CannotExtract(
                f"`{function.__name__}` takes `self` as a part of `*args`",
                fix="write `self` as its first parameter",
                place=(source.path, node.lineno),
            )
        own = getattr(node, "name", wanted)
        item = Statement(wanted if own.startswith("__") else own, source, node, function.__globals__, is_whole=False)
        self._remember(key, item, (function, owner))
        self._write_defaults(item, function)
        item.edits.append((*_span_of_first(source, arguments), ""))
        self._resolve(item, self._of_function(item, function, {first.arg: owner}))
        return item

    def _partial(self, value: functools.partial[Any], wanted: str, place: Place | None, arguments: int) -> Written:
        key = ("partial", id(value))
        if key not in self._items:
            item = Written(wanted, is_function=True)
            self._remember(key, item, value)
            inner = unwrapped(value.func)
            called = self._callable(inner, bound_name(inner) or f"{wanted}_of_all", place)
            function = [called] if called is not None else self._library(inner)
            given = [self._literal(one, "argument", place) for one in value.args]
            named = {name: self._literal(one, name, place) for name, one in value.keywords.items()}
            parameters = signature_of(value) if called is not None else parameters_of(value, arguments)
            item.parts = self._call(function, parameters, given, named)
        return self._items[key]  # type: ignore[return-value]

    def _calling(self, function: Any, name: str, arguments: int) -> Written | None:
        """Return a function that calls one of a library, such as a ufunc."""
        try:
            called = self._library(function)
        except NotWritable:
            return None
        known = str(getattr(function, "__name__", "body"))
        item = Written(known if known.isidentifier() else name or "body", is_function=True)
        item.parts = self._call(called, parameters_of(function, arguments), [], {})
        return item

    def _call(
        self,
        function: Parts,
        signature: Sequence[inspect.Parameter],
        given: Sequence[Parts],
        named: Mapping[str, Parts],
    ) -> Parts:
        """Return the text of a function without its name: its parameters, and the call that it returns."""
        head: list[Parts] = []
        arguments: list[Parts] = list(given)
        is_by_name = False
        for one in signature:
            if one.name in named:
                continue
            if one.kind is one.KEYWORD_ONLY and not is_by_name:
                head.append(["*"])
                is_by_name = True
            star = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
            is_by_name |= one.kind is one.VAR_POSITIONAL
            default = [] if one.default is one.empty else ["=", *self._literal(one.default, one.name, None)]
            head.append([f"{star}{one.name}", *default])
            arguments.append([f"{one.name}={one.name}" if one.kind is one.KEYWORD_ONLY else f"{star}{one.name}"])
        arguments += [[f"{name}=", *value] for name, value in named.items()]
        keywords = [one for one in arguments if "=" in str(one[0]) or str(one[0]).startswith("**")]
        in_order = [*(one for one in arguments if one not in keywords), *keywords]
        return ["(", *joined(head), "):\n    return ", *function, "(", *joined(in_order), ")"]

    def _write_defaults(self, item: Statement, function: types.FunctionType) -> None:
        """Write the defaults of a definition as their current values, unless they are literals."""
        arguments, source = item.node.args, item.source  # type: ignore[union-attr]
        positional = [*zip(arguments.defaults, function.__defaults__ or (), strict=True)]
        by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        named = [(one, (function.__kwdefaults__ or {})[name.arg]) for name, one in by_name if one is not None]
        for node, value in (*positional, *named):
            if not _is_literal(node):
                item.references.append((node, self._literal(value, "default", (source.path, node.lineno))))

    def _statement(
        self, source: Source, node: ast.stmt, name: str, scope: dict[str, Any], *, is_given: bool = False
    ) -> Statement:
        key = ("statement", source.path, id(node))
        if key not in self._items:
            item = Statement(name, source, node, scope, is_given=is_given)
            self._remember(key, item, node)
            self._resolve(item, self._of_module(item, is_given=is_given))
        return self._items[key]  # type: ignore[return-value]

    def _bound(
        self, source: Source, node: ast.stmt, name: str, scope: dict[str, Any], *, is_given: bool = False
    ) -> Statement | Bound:
        """Return the item for a statement; if it assigns several names, for the given one."""
        item = self._statement(source, node, name, scope, is_given=is_given)
        return item if name == item.wanted else Bound(item, name)

    def _global(
        self, scope: dict[str, Any], name: str, place: Place, *, is_given: bool = False
    ) -> Target | Holder | None:
        """Return the item for a global of a module; None for a builtin of Python."""
        source = source_of(scope)
        statement = bindings_of(source).get(name) if source is not None else None
        is_skipped = isinstance(statement, ast.Import | ast.ImportFrom) and name not in scope  # under TYPE_CHECKING
        if statement is None or source is None or is_skipped:
            if name in scope and not name.startswith("__"):
                return self._found(scope[name], name, place)
            if hasattr(builtins, name):
                return None
            file = "the module" if source is None else os.path.basename(source.path)
            raise CannotExtract(
                f"`{name}` is not defined by a statement at the top level of {file}",
                fix=f"define or import `{name}` first, or take it as an argument",
                place=place,
            )
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return self._imported(scope, statement, name, place, is_given=is_given)
        value = scope.get(name)
        if isinstance(statement, ast.ClassDef):
            whole = functools.partial(self._bound, source, statement, name, scope, is_given=is_given)
            return Holder(value, whole) if isinstance(value, type) else whole()
        if isinstance(statement, ast.FunctionDef):
            inner = unwrapped(value)
            if isinstance(value, types.FunctionType) and inner is not value:  # decorated with `traced`
                return self._function(inner, name)
            if isinstance(value, types.FunctionType) and first_line(statement) != value.__code__.co_firstlineno:
                found = self._callable(value, name, place) if is_file_of_user(value.__code__.co_filename) else None
                if found is not None:  # a decorator of the user has replaced it
                    return found
            return self._statement(source, statement, name, scope, is_given=is_given)
        if self._is_instance_of_user(value):
            return Holder(value, functools.partial(self._bound, source, statement, name, scope, is_given=is_given))
        found = None if value is None else self._callable(value, name, place)
        if found is not None:
            return found
        return self._constant(source, statement, name, scope, is_given=is_given)

    def _constant(
        self, source: Source, statement: ast.stmt, name: str, scope: dict[str, Any], *, is_given: bool
    ) -> Target | Holder:
        """Return the item for a constant: its statement, or its value if the statement would give another one."""
        place, changes = (source.path, statement.lineno), changes_of(source, name)
        before = dict(self._items)
        why = ""
        if changes is not None:
            place, why = (source.path, changes.lineno), f"`{name}` is changed after it is defined"
        elif (source.path, name) in self.frozen:
            why = f"`{name}` no longer has the value that its statement computes"
        elif scope.get("__name__") == "__main__" and not is_given:
            why = f"`{name}` is defined in a script or notebook, which is not run again"
        if not why:
            try:
                item = self._bound(source, statement, name, scope, is_given=is_given)
            except CannotExtract as error:
                if name not in scope:
                    raise
                why = error.why
            else:
                if is_given or name not in scope:
                    return item
                if not _reads_outside(item.item if isinstance(item, Bound) else item):
                    return self._computed(item, name, scope[name], place)
                why = f"`{name}` depends on a file, the environment or the command line"
        self._items = before
        try:
            found = self._found(scope[name], name, place)
        except CannotExtract as error:
            if is_given:
                return self._bound(source, statement, name, scope, is_given=True)
            raise CannotExtract(
                error.why if error.why == why else f"{why}, and {error.why}", fix=FIX, place=place
            ) from error
        self.by_value.add((source.path, name))
        return found

    def _computed(self, item: Statement | Bound, name: str, value: Any, place: Place) -> Target | Holder:
        """Return a constant as a short value if functions of the user compute it; else its statement."""
        if any(one.is_function for one in _all_needs(item.item if isinstance(item, Bound) else item)):
            try:
                source_parts(value, self._refer(place), LONGEST_COMPUTED)
                return self._found(value, name, place)
            except (CannotExtract, NotWritable):
                pass
        return item

    def _imported(
        self, scope: dict[str, Any], statement: ast.Import | ast.ImportFrom, name: str, place: Place, *, is_given: bool
    ) -> Target | Holder | None:
        alias = next(one for one in statement.names if name_of(one) == name)
        if isinstance(statement, ast.Import):
            module = sys.modules.get(alias.name)
            if module is not None and is_module_of_user(module):
                return Holder(module)
            return self._import(Import(name, alias.name))
        home = absolute_name(scope, statement)
        if home == "__future__":
            return None
        whole, parent = sys.modules.get(f"{home}.{alias.name}"), sys.modules.get(home)
        if whole is not None and is_module_of_user(whole):
            return Holder(whole)
        if parent is not None and is_module_of_user(parent):
            return self._global(vars(parent), alias.name, place, is_given=is_given)
        return self._import(Import(name, home, alias.name))

    def _import(self, item: Import) -> Item:
        return self._items.setdefault(("import", item.wanted, item.module, item.attribute), item)

    def _of_module(self, item: Statement, *, is_given: bool = False) -> Lookup:
        return lambda name, place: self._global(item.scope, name, place, is_given=is_given)

    def _of_function(
        self, item: Statement, function: types.FunctionType, owners: Mapping[str, Any] | None = None
    ) -> Lookup:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        owned = owners or {}

        def find(name: str, place: Place) -> Target | Holder | None:
            if name in owned:
                return Holder(owned[name])
            if name not in cells:
                if name == "super" and "__class__" in cells and owned:
                    return Holder(_Super(cells["__class__"].cell_contents, next(iter(owned.values()))))
                return self._global(item.scope, name, place)
            try:
                value = cells[name].cell_contents
            except ValueError:
                raise CannotExtract(
                    f"`{name}` of the function around it has no value yet", fix="assign to it first", place=place
                ) from None
            return self._found(value, name, place)

        find.owned = owned  # type: ignore[attr-defined]
        find.cells = cells  # type: ignore[attr-defined]
        return find

    def _resolve(self, item: Statement, find: Lookup) -> None:
        """Find the items for the names that a statement reads."""
        node, path = item.node, item.source.path
        owned, cells = getattr(find, "owned", {}), getattr(find, "cells", {})
        require_no_state(item.source, node, {*cells})
        parents = {child: parent for parent in ast.walk(node) for child in ast.iter_child_nodes(parent)}
        annotations = _annotations(node)
        in_annotation = {one: whole for whole in annotations for one in ast.walk(whole)}
        outer: dict[str, list[ast.Name]] = {}
        skipped = {one for part in _evaluated_before(item) for one in ast.walk(part)}
        for one in free_names(_without_first(node) if owned else node):
            if one not in skipped:
                outer.setdefault(one.id, []).append(one)
        own = {*names_bound(node)} if isinstance(node, ast.stmt) and item.is_whole else set()
        holders: list[tuple[ast.Name, Holder]] = []
        for name in sorted(outer):
            places = outer[name]
            if name in own:
                item.references += [(one, item) for one in places if item.is_function]
                continue
            only_annotates = all(one in in_annotation for one in places)
            try:
                found = find(name, (path, places[0].lineno))
            except CannotExtract:
                if not only_annotates:
                    raise
                for one in places:
                    self._drop_annotation(item, in_annotation[one])
                continue
            if isinstance(found, Holder):
                holders += [(one, found) for one in places]
            elif found is not None:
                value = cells[name].cell_contents if name in cells else item.scope.get(name)
                for one in places if item.is_function else ():
                    _require_unchanged(one, value, parents, path)
                item.references += [(one, found) for one in places]
        places_in_tree = {id(one): place for place, one in enumerate(ast.walk(node))}
        for one, holder in sorted(holders, key=lambda pair: places_in_tree.get(id(pair[0]), 0)):
            self._read(item, one, holder, parents, in_annotation.get(one))

    def _read(
        self, item: Statement, name: ast.Name, holder: Holder, parents: Parents, annotation: ast.expr | None
    ) -> None:
        """Record the item for what is read of a value; an annotation that cannot be extracted is left out."""
        try:
            item.references.append(self._climb(item, name, holder.value, parents))
        except StateChanged:
            raise
        except CannotExtract:
            if annotation is not None:
                self._drop_annotation(item, annotation)
            elif holder.whole is not None:  # such as a member of an enumeration
                item.references.append((name, holder.whole()))
            else:
                raise

    def _climb(self, item: Statement, name: ast.Name, value: Any, parents: Parents) -> tuple[ast.expr, Target]:
        """Return the longest chain of attributes and keys that starts with a name, and its value."""
        node: ast.expr = name
        path = [name.id]
        while True:
            parent, spelled = parents.get(node), ast.unparse(node)
            place = (item.source.path, node.lineno)
            is_called = isinstance(parent, ast.Call) and parent.func is node
            if isinstance(value, _Super) and is_called:
                assert isinstance(parent, ast.Call)
                node, path = parent, []
                value = super(value.cls, value.owner)
                continue
            is_part = isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is node
            _require_unchanged(node, value, parents, place[0])
            if not is_part or not self._is_holder(value):
                break
            if isinstance(parent, ast.Attribute):
                if isinstance(value, types.ModuleType) and self._is_module_of_user(value):
                    found = self._global(vars(value), parent.attr, place, is_given=item.is_given)
                    node, path = parent, [parent.attr]
                    if not isinstance(found, Holder):
                        if found is None:
                            raise CannotExtract(f"`{ast.unparse(parent)}` is not defined there", place=place)
                        return node, found
                    value = found.value
                    continue
                if isinstance(value, dict) and type(value) is dict:
                    break  # a method of it
                try:
                    value = plain_container(getattr(value, parent.attr))
                except Exception as error:
                    raise CannotExtract(
                        f"`{ast.unparse(parent)}` cannot be read: {error}", fix=FIX, place=place
                    ) from error
                path.append(parent.attr)
            else:
                assert isinstance(parent, ast.Subscript)
                key = parent.slice.value if isinstance(parent.slice, ast.Constant) else None
                if not isinstance(value, dict) or not isinstance(key, str) or key not in value:
                    break
                value = plain_container(value[key])
                path.append(key)
            node = parent
        _require_unchanged(node, value, parents, place[0])
        if isinstance(value, type) and self._is_class_of_user(value):
            return node, self._class(value, spelled, place)
        is_plain = len(path) == 1 and node is name
        wanted = name.id if is_plain else _constant_name(path[1:] if path[0] in ("self", "cls") else path)
        if not is_plain and callable(value):
            wanted = path[-1] if path else getattr(value, "__name__", "body")
        return node, self._value(value, wanted, place, spelled)

    def _found(self, value: Any, name: str, place: Place) -> Target | Holder:
        """Return the item for the value of a name, or a holder if only what is read of it is written."""
        return Holder(value) if self._is_holder(value) else self._value(value, name, place, name)

    def _is_holder(self, value: Any) -> bool:
        if isinstance(value, types.ModuleType):
            return self._is_module_of_user(value)
        if isinstance(value, type):
            return self._is_class_of_user(value)
        is_configuration = isinstance(value, (dict, super, _Super, *NAMESPACES)) or hasattr(value, "_fields")
        return is_configuration or self._is_instance_of_user(value)

    def _is_module_of_user(self, module: types.ModuleType) -> bool:
        return is_module_of_user(module) or module.__name__ == "__main__"

    def _is_class_of_user(self, value: type) -> bool:
        module = sys.modules.get(value.__module__)
        is_theirs = module is not None and self._is_module_of_user(module)
        return is_theirs or value.__module__.partition(".")[0] in self.packages

    def _is_instance_of_user(self, value: Any) -> bool:
        if isinstance(value, (type, types.FunctionType, types.MethodType, types.ModuleType)):
            return False
        return self._is_class_of_user(type(value))

    def _is_of_user(self, function: types.FunctionType) -> bool:
        home = str(function.__module__).partition(".")[0]
        return home in self.packages or home == "__main__" or is_file_of_user(function.__code__.co_filename)

    def _value(self, value: Any, wanted: str, place: Place | None, spelled: str = "") -> Target:
        """Return the item for a value: a function, an import, or a constant."""
        found = self._callable(value, wanted, place)
        if found is not None:
            return found
        if isinstance(value, types.ModuleType) and not self._is_module_of_user(value):
            return self._import(Import(wanted, value.__name__))
        shown = f"`{spelled or wanted}`"
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType | np.ufunc) or _is_of_numpy(value):
            try:
                return self._library(value)
            except NotWritable as error:
                raise CannotExtract(
                    f"{shown} cannot be written as source: it is {error}", fix=FIX, place=place
                ) from error
        try:
            parts = source_parts(value, self._refer(place))
        except NotWritable as error:
            raise CannotExtract(f"{shown} cannot be written as source: it is {error}", fix=FIX, place=place) from error
        is_shared = isinstance(value, _CONTAINERS)
        key = ("value", id(value)) if is_shared else ("value", wanted, *map(str, parts))
        if key not in self._items:
            self._remember(key, Written(wanted, parts, spelled=spelled), value)
        return self._items[key]

    def _literal(self, value: Any, wanted: str, place: Place | None) -> Parts:
        found = self._value(value, _constant_name([wanted]), place)
        if isinstance(found, Written) and not found.is_function and len(str(found.parts)) <= 80:
            return found.parts
        return found if isinstance(found, list) else [found]

    def _refer(self, place: Place | None) -> Callable[[Any], Target]:
        def refer(value: Any) -> Target:
            if callable(value) and not isinstance(value, type):
                found = self._callable(value, str(getattr(value, "__name__", "function")), place)
                if found is not None:
                    return found
            return self._library(value)

        return refer

    def _library(self, value: Any) -> Parts:
        """Return the items that name a module, a class or a function of a library.

        Raises:
            NotWritable: it is something else, or is not public.
        """
        if isinstance(value, types.ModuleType):
            module, name = value.__name__, ""
        else:
            module, name = public_home(value)
        if module == "builtins":
            return [name]
        root = module.partition(".")[0]
        alias = ALIASES.get(root)
        item = self._import(Import(alias, root) if alias else Import(root, module))
        rest = module[len(root) :] + (f".{name}" if name else "")
        return [item, rest] if rest else [item]

    def _class(self, value: type, spelled: str, place: Place) -> Statement:
        module = sys.modules.get(value.__module__)
        source = None if module is None else source_of(vars(module))
        statement = bindings_of(source).get(value.__name__) if source is not None else None
        if source is None or module is None or not isinstance(statement, ast.ClassDef):
            raise CannotExtract(
                f"`{spelled}` is a class that is not defined at the top level of a file",
                fix="define it there",
                place=place,
            )
        return self._statement(source, statement, value.__name__, vars(module))

    def _remember(self, key: Hashable, item: Item, value: Any) -> None:
        self._items[key] = item
        self._alive.append(value)

    def _drop_annotation(self, item: Statement, annotation: ast.expr) -> None:
        """Leave out an annotation that names something that cannot be extracted."""
        begin, end = item.source.span(annotation)
        before = item.source.data[:begin]
        mark = max(before.rfind(b":"), before.rfind(b"->"))
        begin = len(before[:mark].rstrip()) if before[mark:].startswith(b"->") else mark
        if (begin, end, "") not in item.edits:
            item.edits.append((begin, end, ""))


def _is_of_numpy(value: Any) -> bool:
    return callable(value) and str(getattr(value, "__module__", "")).partition(".")[0] == "numpy"


def _require_unchanged(node: ast.expr, value: Any, parents: Parents, path: str) -> None:
    """Check that a value from outside a function is not written to where it is read.

    Raises:
        CannotExtract: it is written to; names the line.
    """
    parent = parents.get(node)
    if not isinstance(parent, ast.Attribute | ast.Subscript) or parent.value is not node:
        return
    is_changing = isinstance(parent, ast.Attribute) and parent.attr in CHANGING and isinstance(value, _CONTAINERS)
    if not isinstance(parent.ctx, ast.Load) or (is_changing and isinstance(parents.get(parent), ast.Call)):
        raise state_changed(ast.unparse(parent), (path, node.lineno))


def _reads_outside(item: Item, seen: frozenset[Item] = frozenset()) -> bool:
    """Does a statement, or a function that it calls, read a file, the arguments or the environment?"""
    if item in seen or not isinstance(item, Statement):
        return False
    nodes = list(ast.walk(item.node))
    spelled = {one.id for one in nodes if isinstance(one, ast.Name)}
    spelled |= {one.attr for one in nodes if isinstance(one, ast.Attribute)}
    return bool(spelled & FROM_OUTSIDE) or any(_reads_outside(one, seen | {item}) for one in needs_of(item))


def _all_needs(item: Item) -> list[Statement]:
    """Return the user's statements that one needs, directly or indirectly."""
    found: list[Statement] = []
    waiting = needs_of(item)
    while waiting:
        one = waiting.pop()
        if isinstance(one, Statement) and one not in found:
            found.append(one)
            waiting += needs_of(one)
    return found


def _span_of_first(source: Source, arguments: ast.arguments) -> tuple[int, int]:
    """Return the span of the first parameter, with the comma and the space after it."""
    first, *others = [*arguments.posonlyargs, *arguments.args]
    begin, end = source.span(first)
    if others and len(arguments.posonlyargs) != 1:
        return begin, source.span(others[0])[0]
    rest = re.match(rb"\s*,?\s*(/\s*,?\s*)?", source.data[end:])
    return begin, end + (len(rest[0]) if rest else 0)


def _name_arguments(item: Statement, node: ast.Lambda | ast.FunctionDef, arguments: int) -> None:
    """Replace the `*x` of a function by as many named parameters as it is called with: `x_1, x_2`."""
    source, given = item.source, node.args
    missing = arguments - len([*given.posonlyargs, *given.args])
    uses = [one for one in ast.walk(node) if given.vararg and isinstance(one, ast.Name) and one.id == given.vararg.arg]
    if given.vararg is None or missing <= 0 or given.defaults:
        return
    others = [one for one in ast.walk(node) if isinstance(one, ast.arg) and one is not given.vararg]
    if any(one.arg == given.vararg.arg for one in others) or any(not isinstance(one.ctx, ast.Load) for one in uses):
        return
    known = every_name(source.tree)
    names = [unused_name(f"{given.vararg.arg}_{number}", known) for number in range(1, missing + 1)]
    begin, end = source.span(given.vararg)
    begin = source.data.rindex(b"*", 0, begin)
    item.edits.append((begin, end, ", ".join([*names, *(["*"] if given.kwonlyargs else [])])))
    value = f"({', '.join(names)}{',' if missing == 1 else ''})"
    item.edits += [(*source.span(one), value) for one in uses]


def _without_first(node: Any) -> Any:
    """Return a definition without its first parameter, so that its name becomes a global one."""
    arguments = node.args
    given = [*arguments.posonlyargs, *arguments.args][1:]
    count = max(0, len(arguments.posonlyargs) - 1)
    fields = {**dict(ast.iter_fields(arguments)), "posonlyargs": given[:count], "args": given[count:]}
    return ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), "args": ast.arguments(**fields)}), node)


def _evaluated_before(item: Statement) -> list[ast.AST]:
    """Return the parts of a definition that are not copied unchanged: decorators and defaults."""
    if item.is_whole:
        return []
    arguments = item.node.args  # type: ignore[union-attr]
    return [*decorators_of(item.node), *arguments.defaults, *(one for one in arguments.kw_defaults if one is not None)]


def _annotations(node: ast.AST) -> list[ast.expr]:
    found = []
    for one in ast.walk(node):
        if isinstance(one, Function):
            found += [one.returns] if one.returns is not None else []
            found += [each.annotation for each in ast.walk(one.args) if isinstance(each, ast.arg) and each.annotation]
    return found


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return False
    return True


def _constant_name(path: Sequence[str]) -> str:
    words = [re.sub(r"\W", "_", one).strip("_") for one in path]
    name = "_".join(one for one in words if one).upper()
    return name if name.isidentifier() else f"VALUE_{name}".rstrip("_")


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")


def extract(add: Callable[[Extraction], None]) -> tuple[Extracted, types.ModuleType, Set[tuple[str, str]]]:
    """Return the extracted module as text and loaded, and the statements that had to be replaced by their values.

    A statement that fails, or now gives another value than before, is replaced by the value that it gave.

    Args:
        add: adds what is to be extracted.

    Raises:
        CannotExtract: as `Extraction.add`.
    """
    frozen: frozenset[tuple[str, str]] = frozenset()
    while True:
        extraction = Extraction(frozen)
        add(extraction)
        extracted = extraction.module()
        try:
            module = load(extracted)
        except Exception as error:
            changed = _failed(error, extracted)
            if not changed or changed <= frozen:
                place = _place_in(error, extracted)
                raise CannotExtract(
                    f"what the function needs cannot be computed again: {error}", fix=FIX, place=place
                ) from error
        else:
            changed = extraction.changed(module)
            if changed <= frozen:
                return extracted, module, frozen | extraction.by_value
        frozen |= changed


def _place_in(error: BaseException, extracted: Extracted) -> Place | None:
    trace = error.__traceback__
    found = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == extracted.path and found is None:
            found = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return place_of_user(found)


def _failed(error: BaseException, extracted: Extracted) -> set[tuple[str, str]]:
    """Return file and names of the user's statement that failed when a module was loaded."""
    place = _place_in(error, extracted)
    if place is None:
        return set()
    source = read_source(place[0])
    found = [one for one in source.tree.body if one.lineno <= place[1] <= (one.end_lineno or one.lineno)]
    return {(source.path, name) for one in found for name in names_bound(one)}
