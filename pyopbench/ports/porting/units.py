"""The statements that functions of the user's need, taken from all files that they lie in."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyopbench.model.function_source import bindings, globals_read, import_of, name_of
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.source import Source, read_source
from pyopbench.ports.rebinding import is_module_of_user


@dataclass(frozen=True, eq=False)
class Unit:
    """A statement of the top level of a file, and the globals that it reads."""

    source: Source
    node: ast.stmt
    name: str
    reads: frozenset[str]


@dataclass(frozen=True)
class Import:
    """A name that is imported from what is installed."""

    statement: str
    module: str


@dataclass
class Units:
    """What functions need of the files of the user: statements by name, and imports.

    Attributes:
        by_name: the statements by the name that they are needed for, in the order in which they were found.
        imports: import statements by the name that they bind.
    """

    by_name: dict[str, Unit] = field(default_factory=dict)
    imports: dict[str, Import] = field(default_factory=dict)

    def add(self, source: Source, name: str) -> Unit:
        """Add a statement of a file and all that it needs; return it.

        Raises:
            CannotPort: nothing of the top level binds the name, or two files bind it to different things.
        """
        found = self.resolve(source, name)
        if not isinstance(found, Unit):
            raise CannotPort(
                f"`{name}` is defined by no statement at the top level of its file", place=(source.path, 1)
            )
        known = self.by_name.get(found.name)
        if known is not None:
            if known.node is not found.node:
                first, second = Path(known.source.path).name, Path(found.source.path).name
                raise CannotPort(
                    f"`{found.name}` is defined in {first} and in {second}",
                    fix="give one of them another name",
                    place=(found.source.path, found.node.lineno),
                )
            return known
        self.by_name[found.name] = found
        for read in sorted(found.reads):
            self.need(found.source, read)
        for module, attribute in _attributes(found):
            inner = self.resolve(found.source, module)
            if isinstance(inner, Source):
                self.add(inner, attribute)
        return found

    def need(self, source: Source, name: str) -> None:
        """Add what a global of a file is, if it is not Python's own."""
        found = self.resolve(source, name)
        if isinstance(found, Import):
            self.imports[name] = found
        elif isinstance(found, Unit):
            self.add(found.source, found.name)

    def resolve(self, source: Source, name: str) -> Unit | Import | Source | None:
        """Return a global of a file: a statement or a file of the user's, an import; None for what is Python's."""
        statement = bindings(source.tree.body).get(name)
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return self._imported(source, statement, name)
        if statement is not None:
            changes = None if isinstance(statement, ast.FunctionDef) else _changes(source, name)
            if changes is not None:
                raise CannotPort(
                    f"`{name}` is changed after it is defined",
                    fix="define it in one statement",
                    place=(source.path, changes.lineno),
                )
            return Unit(source, statement, name, frozenset(globals_read(statement)))
        if hasattr(builtins, name):
            return None
        raise CannotPort(
            f"`{name}` is bound by no statement at the top level of {Path(source.path).name}", place=(source.path, 1)
        )

    def _imported(
        self, source: Source, statement: ast.Import | ast.ImportFrom, name: str
    ) -> Unit | Import | Source | None:
        alias = next(one for one in statement.names if name_of(one) == name)
        if isinstance(statement, ast.Import):
            module = sys.modules.get(alias.name)
            if module is not None and is_module_of_user(module):
                return read_source(str(module.__file__))
            return Import(import_of(statement, name), alias.name)
        home = _absolute(source, statement)
        if home == "__future__":
            return None
        for dotted, attribute in ((f"{home}.{alias.name}", ""), (home, alias.name)):
            module = sys.modules.get(dotted)
            if module is not None and is_module_of_user(module):
                found = read_source(str(module.__file__))
                return self.resolve(found, attribute) if attribute else found
        return Import(import_of(statement, name, home), home)

    def value(self, source: Source, name: str) -> Any:
        """Return what a global of a file is bound to now; what Python has by itself under that name otherwise."""
        return vars(module_of(source)).get(name, getattr(builtins, name, None))

    def in_order(self) -> list[Unit]:
        """Return the statements so that what is needed stands before what needs it: by file, then by line."""
        files = list(dict.fromkeys(one.source.path for one in self.by_name.values()))
        unique = {id(one.node): one for one in self.by_name.values()}.values()
        return sorted(unique, key=lambda one: (-files.index(one.source.path), one.node.lineno))


def _attributes(unit: Unit) -> Iterator[tuple[str, str]]:
    for node in ast.walk(unit.node):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in unit.reads:
            yield node.value.id, node.attr


def module_of(source: Source) -> types.ModuleType:
    """Return the module that a file was loaded as."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == source.path:
            return module
    raise CannotPort(f"{source.path} is not loaded", place=(source.path, 1))


def _absolute(source: Source, statement: ast.ImportFrom) -> str:
    name = statement.module or ""
    if not statement.level:
        return name
    return importlib.util.resolve_name("." * statement.level + name, module_of(source).__package__)


def _nested(statement: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
        for node in ast.walk(statement):
            if isinstance(node, ast.stmt) and node is not statement:
                yield node


def _changes(source: Source, name: str) -> ast.stmt | None:
    """Return the statement at the top level that changes what a name is bound to, and does not bind it."""
    for statement in source.tree.body:
        for node in (statement, *_nested(statement)):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
            for one in (part for target in targets for part in ast.walk(target)):
                is_item = isinstance(one, ast.Subscript | ast.Attribute) and isinstance(one.ctx, ast.Store)
                if is_item and ast.unparse(one.value) == name:  # type: ignore[attr-defined]
                    return node
            if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name:
                return node
    return None
