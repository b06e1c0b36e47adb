"""A module as text: the user's statements that it needs, what prints them, imports, and what importing it gives."""

from __future__ import annotations

import ast
import atexit
import builtins
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pyopbench.model.child_process import which
from pyopbench.model.files import load_file, make_cache_folder, write_atomically
from pyopbench.model.syntax import DEFINITIONS, Source, bindings, globals_read, import_of, parts_of
from pyopbench.ports import keras_layer
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.extract.module import unparsed

USUAL = {
    **{name: f"import {name}" for name in ("collections", "functools", "itertools", "numba", "os", "sys")},
    "np": "import numpy as np",
    "tf": "import tensorflow as tf",
}
"""The import of each name that the written code itself uses."""

LAYER = keras_layer.for_keras.__name__
"""What decorates the function of a port."""

LOOSE = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr)
"""Expressions that an operator next to them may take apart."""


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


class Code:
    """Prints statements unchanged; subclasses override `rewrite` for nodes that must change."""

    unit: Unit
    """The statement that is being written."""
    otherwise = ""
    """The usual fix for a body that is refused."""

    def __init__(self, units: Units) -> None:
        self.units, self.source = units, units.source

    def write_units(self) -> dict[str, str]:
        """Return all statements by what they define."""
        return {unit.name: self.write_unit(unit) for unit in self.units.in_order()}

    def write_unit(self, unit: Unit) -> str:
        """Return a statement of the top level."""
        self.unit = unit
        return unparsed([(ast.parse(self.write(unit.node)).body[0], "")])[0].rstrip("\n")

    def write(self, node: ast.AST) -> str:
        """Return the text of a node, which any operator may stand next to."""
        found = self.rewrite(node)
        text = self.write_with_parts(node) if found is None else found
        # Where they are not needed, `write_unit` leaves these parentheses out.
        return f"({text})" if isinstance(node, LOOSE) or (isinstance(node, ast.expr) and found is not None) else text

    def rewrite(self, node: ast.AST) -> str | None:
        """Return the text of a node that has to be rewritten; None for one that stays."""
        return None

    def write_with_parts(self, node: ast.AST) -> str:
        """Return the text of a node with its parts rewritten where they have to be."""
        if not hasattr(node, "lineno"):  # a key that a rule has put in
            return ast.unparse(node)
        return self.replaced(node, [(part, self.write_part(node, part)) for part in parts_of(node)])

    def replaced(self, node: ast.AST, parts: Iterable[tuple[ast.AST, str]]) -> str:
        """Return the text of a node with some of its parts replaced."""
        return self.source.replaced(*self.source.span(node), [(*self.source.span(part), text) for part, text in parts])

    def write_part(self, node: ast.AST, part: ast.AST) -> str:
        """Return the text of a part of a node that stays."""
        return self.write(part)

    def is_global(self, name: ast.Name) -> bool:
        """Is it a name of the top level of the file, and none of the function?"""
        return isinstance(name.ctx, ast.Load) and name.id in self.unit.reads

    def value_of(self, node: ast.AST) -> Any:
        """Return what `name` or `module.name` means in the file; None for what is no global."""
        if isinstance(node, ast.Name):
            return self.units.value(node.id) if self.is_global(node) else None
        if isinstance(node, ast.Attribute):
            home = self.value_of(node.value)
            return None if home is None else getattr(home, node.attr, None)
        return None

    def refusal(self, node: ast.AST, why: str = "", fix: str = "") -> CannotPort:
        """Return the error about a line."""
        first, *_ = ast.unparse(node).splitlines()
        why = why or f"`{first}` has no counterpart in TensorFlow"
        return CannotPort(why, fix=fix or self.otherwise, place=(self.source.path, getattr(node, "lineno", 1)))


# Files.


def module_text(
    docstring: str, statements: Sequence[str], units: Units, extra: Sequence[str] = (), also: Sequence[str] = ()
) -> str:
    """Return the text of a file with the imports that its statements need.

    These are in the order of isort: Python's own, what is installed, files next to it.

    Args:
        docstring: of the file.
        statements: its statements, in order.
        units: their imports may be needed.
        extra: import statements of other files next to it.
        also: import statements that are written in any case.
    """
    body = "\n\n\n".join(one.strip("\n") for one in statements)
    nodes = ast.parse(body).body
    read = {name for one in nodes for name in globals_read(one)} - {*bindings(nodes)} - vars(builtins).keys()
    needed = {*also, *(units.imports.get(name) or USUAL.get(name, "") for name in read)} - {""}
    ordered = sorted(needed, key=lambda one: (one.startswith("from"), one.split()[1], one))
    is_standard = {one: one.split()[1].partition(".")[0] in sys.stdlib_module_names for one in ordered}
    groups = [[one for one in ordered if is_standard[one]], [one for one in ordered if not is_standard[one]], extra]
    imports = "\n\n".join("\n".join(group) for group in groups if group)
    # As isort has it: two empty lines before a definition, and one before anything else.
    gap = "\n\n\n" if isinstance(nodes[0], DEFINITIONS) else "\n\n"
    says = docstring.replace("\\", "\\\\")
    return f'"""{says}"""\n\n{imports}{gap}{body}\n'


def port_text(docstring: str, statements: Sequence[str], units: Units, also: Sequence[str] = ()) -> str:
    """Return the text of a port, whose function has `LAYER` as a decorator for the tensors of Keras models."""
    imports, layer, names = copied_module(Path(keras_layer.__file__))
    require_free(units, names, [*units.imports.values()], is_anywhere=True)
    return module_text(docstring, [layer, *statements], units, also=[*imports, *also])


def copied_module(path: Path) -> tuple[list[str], str, set[str]]:
    """Return the import statements of a module that files have a copy of, all else, and what names it binds."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    imports = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    rest = "".join(text.splitlines(keepends=True)[imports[-1].end_lineno :])
    statements = [ast.unparse(one) for one in imports if getattr(one, "module", "") != "__future__"]
    return statements, rest, {*bindings(tree.body)} - {"annotations"}


def require_free(units: Units, taken: Set[str], imports: Sequence[str] = (), *, is_anywhere: bool = False) -> None:
    """Check that the user's code, or no function in it either, binds one of these names, unless by the same import."""
    imported = {name for name, one in units.imports.items() if one in imports}
    bound = {*units.by_name, *units.imports} - imported
    if is_anywhere:
        nodes = [node for unit in units.in_order() for node in ast.walk(unit.node)]
        bound |= {one.id for one in nodes if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
        bound |= {one.name for one in nodes if isinstance(one, ast.FunctionDef | ast.ClassDef)}
    if bound & taken:
        raise CannotPort(f"`{min(bound & taken)}` is a name that the file needs", fix="give yours another name")


def import_text(name: str, text: str) -> ModuleType:
    """Return the module of a text."""
    path = keep_text(name, text)
    return load_file(path, f"port_{path.parent.name}_{name}")


def keep_text(name: str, text: str) -> Path:
    """Return a file with a text, because AutoGraph and Numba read the source of what they compile.

    It is the same file in each process, so that Numba compiles it once.
    """
    path = _folder() / hashlib.sha256(text.encode()).hexdigest()[:16] / f"{name}.py"
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, text.encode())
    return path


@cache
def _folder() -> Path:
    try:
        return make_cache_folder("ports")
    except OSError:  # it only saves time
        folder = tempfile.mkdtemp(prefix="pyopbench_ports_")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)


def format_text(text: str) -> str:
    """Return a text as Ruff formats it by default, the same in every folder; unchanged if there is no Ruff."""
    ruff = which("ruff")
    if ruff is None:
        return text
    command = [ruff, "format", "--isolated", "--no-cache", "--stdin-filename", "port.py", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else text
