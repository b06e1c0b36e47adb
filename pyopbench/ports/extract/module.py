"""The module that extracted functions become: the names and the order of its items, and where each line is from.

An item refers to others by references: names in its tree that are spelled once all items have theirs. The tree of the
module is unparsed, and ports are written from that text.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import keyword
import linecache
import os
import re
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyopbench.model.syntax import DEFINITIONS, Function, Source, every_name, names_bound
from pyopbench.ports.extract.definitions import CannotExtract, Place

ITEM = "pyopbench_item"
"""The attribute of a reference that holds the item that it is the name of."""

IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Extracted:
    """A module with a function and everything it needs.

    Attributes:
        text: its source.
        names: the names in it of the functions that were asked for, in their order.
        places: for each line, the user's file and line that it is from, or None.
        spellings: names of constants, each with the expression in the user's code that it is the value of.
    """

    text: str
    names: tuple[str, ...]
    places: tuple[Place | None, ...]
    spellings: tuple[tuple[str, str], ...] = ()

    @property
    def path(self) -> str:
        """The file name under which its lines are found."""
        digest = hashlib.sha256(repr(self).encode()).hexdigest()[:12]
        path = f"pyopbench_extracted_{digest}.py"
        if path not in _EXTRACTED:
            _EXTRACTED[path] = self
            linecache.cache[path] = (len(self.text), None, self.text.splitlines(keepends=True), path)
        return path


@dataclass(eq=False)
class Import:
    """A name that is imported from what is installed."""

    wanted: str
    module: str
    attribute: str = ""

    def statement(self, name: str) -> ast.stmt:
        """Return the statement that binds a name."""
        is_plain = name == (self.attribute or self.module.partition(".")[0])
        alias = ast.alias(self.attribute or self.module, None if is_plain else name)
        return ast.ImportFrom(self.module, [alias], 0) if self.attribute else ast.Import([alias])


@dataclass(eq=False)
class Written:
    """A constant or a function that is not a statement of the user.

    Attributes:
        wanted: the name that it gets, unless it is taken.
        node: the value, or the function.
        spelled: the expression in the user's code that a constant is the value of; empty if there is none.
    """

    wanted: str
    node: ast.expr | ast.FunctionDef
    spelled: str = ""

    @property
    def is_function(self) -> bool:
        """Is it a function?"""
        return isinstance(self.node, ast.FunctionDef)


@dataclass(eq=False)
class Statement:
    """A statement at the top level of a file, or a definition inside another one that is moved there.

    Attributes:
        wanted: the name that it gets, unless it is taken; empty for an expression that is no part of the module.
        source: its file.
        node: the statement.
        scope: the globals of its module.
        is_whole: is it copied with its decorators and defaults, and keeps its name?
        replaced: by names, attributes and items in it, what stands there in the module.
    """

    wanted: str
    source: Source
    node: ast.stmt
    scope: dict[str, Any]
    is_whole: bool = True
    replaced: dict[ast.AST, ast.expr] = field(default_factory=dict)

    @property
    def is_function(self) -> bool:
        """Does it run when it is called, rather than when the module is loaded?"""
        return isinstance(self.node, Function)

    @property
    def place(self) -> Place:
        """The user's file and line."""
        return self.source.path, self.node.lineno


Item: TypeAlias = Import | Written | Statement


def reference(item: Item, name: str = "") -> ast.Name:
    """Return a reference to an item, or to one of several names that a statement assigns."""
    node = ast.Name(name or item.wanted, ast.Load())
    setattr(node, ITEM, item)
    return node


def items_in(*nodes: ast.AST) -> list[Item]:
    """Return the items that some trees refer to."""
    return [getattr(one, ITEM) for node in nodes for one in ast.walk(node) if hasattr(one, ITEM)]


def needs_of(item: Item) -> list[Item]:
    """Return the items that one refers to."""
    if isinstance(item, Import):
        return []
    replaced = item.replaced.values() if isinstance(item, Statement) else ()
    return [one for one in items_in(item.node, *replaced) if one is not item]


class ModuleTree:
    """Everything that functions need, named and in order.

    Args:
        roots: the functions that are asked for.
        found: all items, in the order in which they were found.
    """

    def __init__(self, roots: Sequence[Item], found: Iterable[Item]) -> None:
        self.roots = roots
        self.reached = self._reached(found)
        self.names = self._names()

    def extracted(self, docstring: str = "") -> Extracted:
        """Return the module.

        Raises:
            CannotExtract: the installed Python has no source for a tree, as some f-strings before Python 3.12.
        """
        items = [one for one in self.in_order() if one.wanted]
        imports = {ast.unparse(one.statement(self.names[one])) for one in items if isinstance(one, Import)}
        statements: list[tuple[ast.stmt, str]] = []
        statements += [(ast.Expr(ast.Constant(docstring)), "")] if docstring else []
        ordered = sorted(imports, key=lambda one: (one.startswith("from"), one.split()[1], one))
        statements += [(ast.parse(one).body[0], "") for one in ordered]
        statements += [
            (self.statement_of(one), one.source.path if isinstance(one, Statement) else "")
            for one in items
            if not isinstance(one, Import)
        ]
        wanted = tuple(self.names[one] for one in self.roots if one.wanted)
        spellings = tuple((self.names[one], one.spelled) for one in items if isinstance(one, Written) and one.spelled)
        text, places = unparsed(statements)
        return Extracted(text, wanted, places, spellings=spellings)

    def statement_of(self, item: Written | Statement) -> ast.stmt:
        """Return the statement that an item becomes."""
        name, node = self.names[item], _spelled(item.node, getattr(item, "replaced", {}), self.names)
        if isinstance(node, Function):
            node.name = name
        if isinstance(node, ast.expr):
            node = ast.Assign([ast.Name(name, ast.Store())], node)
        return node  # type: ignore[no-any-return]

    def _reached(self, known: Iterable[Item]) -> list[Item]:
        """Return the items that the roots need, in the order in which they were found."""
        reached: dict[Item, None] = {}
        waiting = list(self.roots)
        while waiting:
            one = waiting.pop()
            if one not in reached:
                reached[one] = None
                waiting += needs_of(one)
        found = [one for one in {**dict.fromkeys(known), **dict.fromkeys(self.roots)} if one in reached]
        return [*found, *(one for one in reached if one not in found)]

    def in_order(self) -> list[Item]:
        """Return the items in an order in which everything that runs on loading comes after what it needs."""
        statements = [one for one in self.reached if isinstance(one, Statement)]
        files = list(dict.fromkeys(one.source.path for one in statements))
        statements.sort(key=lambda one: (-files.index(one.source.path), one.node.lineno))
        others = [one for one in self.reached if not isinstance(one, Statement)]
        functions = [one for one in others if isinstance(one, Written) and one.is_function]
        base = [*(one for one in others if one not in functions), *statements, *functions]
        ordered: dict[Item, None] = {}
        begun: set[Item] = set()

        def visit(one: Item, *, is_run: bool) -> None:
            if one in begun:
                return
            begun.add(one)
            for other in needs_of(one) if is_run else ():
                visit(other, is_run=True)
            ordered[one] = None

        for one in base:
            visit(one, is_run=not getattr(one, "is_function", False))
        return list(ordered)

    def _names(self) -> dict[Item, str]:
        """Return the name of each item: the one that it wants, unless another item has it."""
        names: dict[Item, str] = {}
        taken: dict[str, Item] = {}
        avoid: dict[Item, set[str]] = {}
        for statement in (one for one in self.reached if isinstance(one, Statement)):
            used = every_name(statement.node)
            used |= {one.arg for one in ast.walk(statement.node) if isinstance(one, ast.arg)}
            for node, new in statement.replaced.items():
                for one in items_in(new):
                    if not (isinstance(node, ast.Name) and node.id == one.wanted):
                        avoid.setdefault(one, set()).update(used)
        for one in sorted(self.reached, key=self._freedom):
            if isinstance(one, Statement) and one.is_whole:
                for name in names_bound(one.node) if one.wanted else ():
                    other = taken.setdefault(name, one)
                    if other is not one:
                        files = [os.path.basename(each.source.path) for each in (other, one)]  # type: ignore[union-attr]
                        raise CannotExtract(
                            f"`{name}` is defined in {files[0]} and in {files[1]}",
                            fix="give one of them another name",
                            place=one.place,
                        )
                names[one] = one.wanted
                continue
            name, count = one.wanted, 1
            is_taken = keyword.iskeyword(name) or (hasattr(builtins, name) and not isinstance(one, Import))
            while is_taken or name in taken or name in avoid.get(one, ()):
                count += 1
                name, is_taken = f"{one.wanted}_{count}", False
            taken[name] = one
            names[one] = name
        return names

    def _freedom(self, item: Item) -> int:
        """Return how freely a name may be chosen for an item: statements keep theirs."""
        if isinstance(item, Statement) and item.is_whole:
            return 0
        return 1 if item in self.roots else {Import: 1, Statement: 2, Written: 3}[type(item)]


def _spelled(node: Any, replaced: Mapping[ast.AST, ast.expr], names: Mapping[Item, str]) -> Any:
    """Return a copy of a tree in which references are spelled and parts are replaced; it keeps the user's lines."""
    if isinstance(node, list):
        return [_spelled(one, replaced, names) for one in node]
    if not isinstance(node, ast.AST):
        return node
    if node in replaced:
        return _spelled(replaced[node], {}, names)
    item = getattr(node, ITEM, None)
    if isinstance(node, ast.Name) and item is not None:
        return ast.Name(names[item] if node.id == item.wanted else node.id, ast.Load())
    parts = {name: _spelled(value, replaced, names) for name, value in ast.iter_fields(node)}
    return ast.copy_location(type(node)(**parts), node)


class _ShortFloats(ast.NodeTransformer):
    """Spells floats as people do, `1e-9`, and not as `repr`: `1e-09`, `1000000000.0`."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        short = f"{node.value:g}" if isinstance(node.value, float) else ""
        is_same = "e" in short and float(short) == node.value
        return ast.Name(re.sub(r"e\+?(-?)0*", r"e\1", short), ast.Load()) if is_same else node


def unparsed(statements: Iterable[tuple[ast.stmt, str]]) -> tuple[str, tuple[Place | None, ...]]:
    """Return the text of a module, and for each line the file and line of the statement that it is from.

    Args:
        statements: those of the top level, with the file that they are from; new ones have none.
    """
    text, places, before = "", list[Place | None](), None
    for statement, file in statements:
        try:
            piece = ast.unparse(_ShortFloats().visit(statement if file else ast.fix_missing_locations(statement)))
        except ValueError as error:
            raise CannotExtract(
                f"it has no source: {error}", fix="write it without f-strings", place=(file, statement.lineno)
            ) from error
        are_definitions = isinstance(before, DEFINITIONS) or isinstance(statement, DEFINITIONS)
        are_alike = isinstance(before, IMPORTS) == isinstance(statement, IMPORTS)
        gap = 0 if before is None else 3 if are_definitions else 1 if are_alike else 2
        text += "\n" * gap + piece
        places += [None] * max(0, gap - 1)
        places += _lines_of(piece, statement, file) if file else [None] * (piece.count("\n") + 1)
        before = statement
    return f"{text}\n", tuple(places)


def _lines_of(text: str, statement: ast.stmt, file: str) -> list[Place | None]:
    """Return the user's file and line for each line of an unparsed statement, which has one line for most others."""
    lines = [statement.lineno] * (text.count("\n") + 1)
    new = (one for one in ast.walk(ast.parse(text).body[0]) if isinstance(one, ast.stmt))
    for one, user in zip(new, (one for one in ast.walk(statement) if isinstance(one, ast.stmt)), strict=True):
        length = (one.end_lineno or one.lineno) - one.lineno + 1
        lines[one.lineno - 1 : one.end_lineno] = [user.lineno] * length  # those inside it come later
    return [(file, line) for line in lines]


_EXTRACTED: dict[str, Extracted] = {}
"""Extracted modules by path."""

_COPIED: dict[Place, Place] = {}
"""Lines of op files, and where in a program they were copied from."""


def load(extracted: Extracted) -> types.ModuleType:
    """Return the module of a text, which is run; tracebacks find its lines."""
    path = extracted.path
    module = types.ModuleType(path.removesuffix(".py"))
    module.__file__ = path
    sys.modules[module.__name__] = module
    exec(compile(extracted.text, path, "exec", dont_inherit=True), vars(module))
    return module


def extracted_at(path: str) -> Extracted | None:
    """Return the extracted module that has a path; None for any other file."""
    return _EXTRACTED.get(path)


def register_copied(file: str, copied: Iterable[tuple[int, int, str, int]]) -> None:
    """Have places in an op file found in the program that its lines were copied from, as `OwnOp.copied` has them."""
    for first, lines, program, line in copied:
        _COPIED.update({(file, first + number): (program, line + number) for number in range(lines)})


def place_of_user(place: Place | None) -> Place | None:
    """Return the user's file and line for a place in an extracted module, even one extracted from another such module.

    So is a line of an op file that was copied from a program. Any other place is returned unchanged.
    """
    if place is None or place[0] not in _EXTRACTED:
        return place and _COPIED.get(place, place)
    places = _EXTRACTED[place[0]].places
    before = [one for one in places[: place[1]] if one is not None]
    after = [one for one in places[place[1] :] if one is not None]
    return place_of_user(next(iter([*reversed(before), *after]), None))
