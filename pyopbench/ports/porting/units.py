"""The statements that functions of a module need, by name, and its imports."""

from __future__ import annotations

import ast
import builtins
import sys
from dataclasses import dataclass
from typing import Any

from pyopbench.model.syntax import Source, bindings, globals_read, import_of


@dataclass(frozen=True, eq=False)
class Unit:
    """A statement of the top level of a module, and the globals that it reads."""

    node: ast.stmt
    name: str
    reads: frozenset[str]


class Units:
    """The statements of an extracted module that some names of it need, or all of them, and its imports, by name."""

    def __init__(self, source: Source, *names: str) -> None:
        self.source = source
        self.by_name: dict[str, Unit] = {}
        self.imports: dict[str, str] = {}  # statements
        self.add(*(names or bindings(source.tree.body)))

    def add(self, *names: str) -> None:
        """Add statements of the module and all that they need."""
        statements, waiting = bindings(self.source.tree.body), list(names)
        while waiting:
            name = waiting.pop(0)
            node = statements.get(name)
            if node is None or name in self.by_name:
                continue  # it is Python's own, or is there
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.imports[name] = import_of(node, name)
            else:
                self.by_name[name] = Unit(node, name, frozenset(globals_read(node)))
                waiting += sorted(self.by_name[name].reads)

    def is_entry(self, unit: Unit) -> bool:
        """Is it the function for which all others are needed, and none of them calls it?"""
        return unit is next(iter(self.by_name.values())) and all(
            unit.name not in one.reads for one in self.by_name.values()
        )

    def value(self, name: str) -> Any:
        """Return what a global of the module is bound to; what Python has by itself under that name otherwise."""
        module = next(one for one in list(sys.modules.values()) if getattr(one, "__file__", None) == self.source.path)
        return vars(module).get(name, getattr(builtins, name, None))

    def in_order(self) -> list[Unit]:
        """Return the statements in the order of the module, in which what is needed stands before what needs it."""
        unique = {id(one.node): one for one in self.by_name.values()}.values()
        return sorted(unique, key=lambda one: one.node.lineno)
