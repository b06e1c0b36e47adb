"""The statements that functions of a module need, by name, and its imports."""

from __future__ import annotations

import ast
import builtins
import sys
import types
from dataclasses import dataclass, field
from typing import Any

from pyopbench.model.syntax import Source, bindings, globals_read, import_of, name_of
from pyopbench.ports.porting.refusal import CannotPort


@dataclass(frozen=True, eq=False)
class Unit:
    """A statement of the top level of a module, and the globals that it reads."""

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
    """What functions need of the module that they were extracted to: its statements and its imports, by name."""

    by_name: dict[str, Unit] = field(default_factory=dict)
    imports: dict[str, Import] = field(default_factory=dict)
    resolved: dict[tuple[str, str], Unit | Import | None] = field(default_factory=dict)
    """Earlier results, by file and name: a table may have a call for each of its values."""

    @classmethod
    def of_all(cls, source: Source) -> Units:
        """Return all statements and imports of a module."""
        units = cls()
        for name in bindings(source.tree.body):
            units.need(source, name)
        return units

    def add(self, source: Source, name: str) -> Unit:
        """Add a statement of a module and all that it needs; return it."""
        found = self.resolve(source, name)
        assert isinstance(found, Unit)
        if found.name not in self.by_name:
            self.by_name[found.name] = found
            for read in sorted(found.reads):
                self.need(source, read)
        return self.by_name[found.name]

    def is_entry(self, unit: Unit) -> bool:
        """Is it the function for which all others are needed, and none of them calls it?"""
        return unit is next(iter(self.by_name.values())) and all(
            unit.name not in one.reads for one in self.by_name.values()
        )

    def need(self, source: Source, name: str) -> None:
        """Add what a global of a module is, if it is not Python's own."""
        found = self.resolve(source, name)
        if isinstance(found, Import):
            self.imports[name] = found
        elif isinstance(found, Unit):
            self.add(source, found.name)

    def resolve(self, source: Source, name: str) -> Unit | Import | None:
        """Return a global of a module: a statement, or an import; None for what is Python's."""
        if (source.path, name) not in self.resolved:
            self.resolved[source.path, name] = self._resolve(source, name)
        return self.resolved[source.path, name]

    def _resolve(self, source: Source, name: str) -> Unit | Import | None:
        statement = bindings(source.tree.body).get(name)
        if isinstance(statement, ast.Import):
            alias = next(one for one in statement.names if name_of(one) == name)
            return Import(import_of(statement, name), alias.name)
        if isinstance(statement, ast.ImportFrom):
            return Import(import_of(statement, name), str(statement.module))
        return None if statement is None else Unit(source, statement, name, frozenset(globals_read(statement)))

    def value(self, source: Source, name: str) -> Any:
        """Return what a global of a module is bound to; what Python has by itself under that name otherwise."""
        return vars(module_of(source)).get(name, getattr(builtins, name, None))

    def in_order(self) -> list[Unit]:
        """Return the statements in the order of the module, in which what is needed stands before what needs it."""
        unique = {id(one.node): one for one in self.by_name.values()}.values()
        return sorted(unique, key=lambda one: one.node.lineno)


def module_of(source: Source) -> types.ModuleType:
    """Return the module that a file was loaded as."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == source.path:
            return module
    raise CannotPort(f"{source.path} is not loaded", place=(source.path, 1))
