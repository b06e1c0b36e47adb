"""The module that functions are extracted to: its statements, their names and order, and its text."""

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
from typing import Any

from pyopbench.model.syntax import DEFINITIONS, Function, Source, names_bound, unused_name
from pyopbench.ports.extract.definitions import CannotPort, Place

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
class Item:
    """A statement of the extracted module.

    Attributes:
        wanted: the name that it gets, unless it is taken; empty for an expression that is no part of the module.
        node: the statement, or the value of a constant.
        source: the user's file; None for an import, and for a constant or a function that is no statement of theirs.
        scope: the globals of the user's module.
        is_whole: is it copied with its decorators and defaults, and keeps its name?
        spelled: the expression in the user's code that a constant is the value of; empty if there is none.
    """

    wanted: str
    node: ast.stmt | ast.expr
    source: Source | None = None
    scope: dict[str, Any] = field(default_factory=dict)
    is_whole: bool = False
    spelled: str = ""

    @property
    def is_function(self) -> bool:
        """Does it run when it is called, rather than when the module is loaded?"""
        return isinstance(self.node, Function)

    def statement(self, name: str) -> ast.stmt:
        """Return the statement that binds a name."""
        node = self.node
        if isinstance(node, ast.expr):
            return ast.Assign([ast.Name(name, ast.Store())], node)
        if isinstance(node, Function):
            node.name = name
        elif isinstance(node, IMPORTS) and self.source is None:
            (alias,) = node.names
            is_plain = name == (alias.name if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0])
            alias.asname = None if is_plain else name
        return node


def reference(item: Item, name: str = "") -> ast.Name:
    """Return a reference to an item, or to one of several names that a statement assigns."""
    node = ast.Name(name or item.wanted, ast.Load())
    setattr(node, ITEM, item)
    return node


def items_in(node: ast.AST) -> list[Item]:
    """Return the items that a tree refers to."""
    return [getattr(one, ITEM) for one in ast.walk(node) if hasattr(one, ITEM)]


class Replacing(ast.NodeTransformer):
    """Puts expressions in the places of others."""

    def __init__(self, replaced: Mapping[ast.AST, ast.expr]) -> None:
        self.replaced = replaced

    def visit(self, node: ast.AST) -> Any:
        """Return a replacement for a node, or the node with replacements for its parts."""
        return self.replaced[node] if node in self.replaced else self.generic_visit(node)


def name_arguments(item: Item, count: int) -> None:
    """Replace the `*x` of a function by as many named parameters as it is called with: `x_1, x_2`."""
    node = item.node
    if not isinstance(node, Function) or node.args.vararg is None or node.args.defaults:
        return
    name, arguments = node.args.vararg.arg, node.args
    missing = count - len([*arguments.posonlyargs, *arguments.args])
    uses = [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == name]
    is_hidden = any(isinstance(one, ast.arg) and one.arg == name for one in {*ast.walk(node)} - {arguments.vararg})
    taken = {getattr(one, "id", getattr(one, "arg", "")) for one in ast.walk(node)}
    is_recursive = node.name in taken
    if missing <= 0 or is_hidden or is_recursive or any(not isinstance(one.ctx, ast.Load) for one in uses):
        return
    names = [unused_name(f"{name}_{number}", taken) for number in range(1, missing + 1)]
    arguments.args, arguments.vararg = [*arguments.args, *map(ast.arg, names)], None
    tuples: list[ast.expr] = [ast.Tuple([ast.Name(each, ast.Load()) for each in names], ast.Load()) for _ in uses]
    item.node = Replacing(dict(zip(uses, tuples, strict=True))).visit(node)


def needed_by(roots: Iterable[Item]) -> list[Item]:
    """Return items and those that they refer to, directly or indirectly."""
    needed: dict[Item, None] = {}
    waiting = list(roots)
    while waiting:
        item = waiting.pop()
        if item not in needed:
            needed[item] = None
            waiting += items_in(item.node)
    return list(needed)


def module_of(roots: Sequence[Item], known: Iterable[Item]) -> Extracted:
    """Return the module of some functions and of all that they need.

    Args:
        roots: the functions that are asked for.
        known: all items, in the order in which they were found.

    Raises:
        CannotPort: two files define one name differently; or the installed Python has no source for a tree, as some
            f-strings before Python 3.12.
    """
    needed = needed_by(roots)
    items = in_order([item for item in dict.fromkeys([*known, *roots, *needed]) if item in needed])
    names = _names(items, roots)
    for node in (node for item in items for node in ast.walk(item.node) if hasattr(node, ITEM)):
        item = getattr(node, ITEM)
        if not item.is_whole:
            node.id = names[item]  # type: ignore[attr-defined]
    written = [(item, item.statement(names[item])) for item in items if item.wanted]
    imports = {ast.unparse(node) for item, node in written if isinstance(node, IMPORTS) and item.source is None}
    ordered = sorted(imports, key=lambda text: (text.startswith("from"), text.split()[1], text))
    statements: list[tuple[ast.stmt, str]] = [(ast.parse(text).body[0], "") for text in ordered]
    statements += [
        (node, "" if item.source is None else item.source.path)
        for item, node in written
        if item.source is not None or not isinstance(node, IMPORTS)
    ]
    text, places = unparsed(statements)
    spellings = tuple((names[item], item.spelled) for item in items if item.spelled)
    return Extracted(text, tuple(names[item] for item in roots if item.wanted), places, spellings)


def in_order(items: Sequence[Item]) -> list[Item]:
    """Return items as they are in the user's files, but all that runs on loading after what it needs."""
    files = list(dict.fromkeys(item.source.path for item in items if item.source is not None))

    def place(item: Item) -> tuple[int, int, int]:
        if item.source is None:
            return (2 if item.is_function else 0), 0, 0
        return 1, -files.index(item.source.path), item.node.lineno

    ordered: dict[Item, None] = {}
    begun: set[Item] = set()

    def visit(item: Item, *, is_run: bool) -> None:
        if item not in begun:
            begun.add(item)
            for other in items_in(item.node) if is_run else ():
                visit(other, is_run=True)
            ordered[item] = None

    for item in sorted(items, key=place):
        visit(item, is_run=not item.is_function)
    return list(ordered)


def _names(items: Iterable[Item], roots: Sequence[Item]) -> dict[Item, str]:
    """Return the name of each item: the one that it wants, unless another item or a local variable has it."""
    names: dict[Item, str] = {}
    taken: dict[str, Item] = {}
    avoid: dict[Item, set[str]] = {}
    for item in items:
        nodes = list(ast.walk(item.node))
        local = {node.id for node in nodes if isinstance(node, ast.Name) and not hasattr(node, ITEM)}
        local |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        for other in items_in(item.node):
            avoid.setdefault(other, set()).update(local)

    def freedom(item: Item) -> tuple[bool, bool, bool]:
        """Return how freely a name may be chosen: whole statements keep theirs."""
        return not item.is_whole, item not in roots and not isinstance(item.node, IMPORTS), item.source is None

    for item in sorted(items, key=freedom):
        if item.is_whole:
            for name in names_bound(item.node) if item.wanted else ():
                other = taken.setdefault(name, item)
                if other is not item:
                    files = [os.path.basename(each.source.path) for each in (other, item) if each.source is not None]
                    raise CannotPort(
                        f"`{name}` is defined in {' and in '.join(files)}",
                        fix="give one of them another name",
                        place=(str(item.source and item.source.path), item.node.lineno),
                    )
            names[item] = item.wanted
            continue
        name, count = item.wanted, 1
        is_import = isinstance(item.node, IMPORTS)
        is_taken = keyword.iskeyword(name) or (hasattr(builtins, name) and not is_import)
        while is_taken or name in taken or name in avoid.get(item, ()):
            count += 1
            name, is_taken = f"{item.wanted}_{count}", False
        taken[name] = item
        names[item] = name
    return names


def constant_name(path: Sequence[str]) -> str:
    """Return a name for the value of a chain of names and keys."""
    words = [re.sub(r"\W", "_", one).strip("_") for one in path]
    name = "_".join(one for one in words if one).upper()
    return name if name.isidentifier() else f"VALUE_{name}".rstrip("_")


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
            raise CannotPort(
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
