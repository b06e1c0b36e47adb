"""The text of a module of extracted functions: the names and the order of its items, and where each line is from."""

from __future__ import annotations

import ast
import builtins
import hashlib
import itertools
import keyword
import linecache
import os
import re
import sys
import types
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pyopbench.model.definitions import CannotExtract, Place
from pyopbench.model.function_source import every_name, names_bound
from pyopbench.model.literals import Parts
from pyopbench.model.source_text import Function, Replacement, Source, read_source


@dataclass(frozen=True)
class Extracted:
    """A module with a function and everything it needs.

    Attributes:
        text: its source.
        names: the names in it of the functions that were asked for, in their order.
        places: for each line, the user's file and line that it is from, or None.
        copies: names of functions that are copies of others, with the names of the originals.
        spellings: names of constants, each with the expression in the user's code that it is the value of.
    """

    text: str
    names: tuple[str, ...]
    places: tuple[Place | None, ...]
    copies: tuple[tuple[str, str], ...] = ()
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

    def text(self, name: str) -> str:
        """Return the statement that binds a name."""
        if self.attribute:
            return f"from {self.module} import {self.attribute}" + (f" as {name}" if name != self.attribute else "")
        is_plain = name == self.wanted and name == self.module.partition(".")[0]
        return f"import {self.module}" + ("" if is_plain else f" as {name}")


@dataclass(eq=False)
class Written:
    """A constant or a function that is not a statement of the user.

    Attributes:
        wanted: the name that it gets, unless it is taken.
        parts: text and other items.
        is_function: is it one?
        spelled: the expression in the user's code that a constant is the value of; empty if there is none.
    """

    wanted: str
    parts: Parts = field(default_factory=list)
    is_function: bool = False
    spelled: str = ""


@dataclass(eq=False)
class Statement:
    """A statement at the top level of a file, or a definition inside another one that is moved there.

    Attributes:
        wanted: the name that it gets, unless it is taken.
        source: its file.
        node: a statement or a lambda.
        scope: the globals of its module.
        is_whole: is it copied with its decorators and defaults?
        is_given: is it needed only to make inputs? Then it may read files.
        references: the items for names and chains of attributes in it.
        edits: what else is replaced in it.
    """

    wanted: str
    source: Source
    node: ast.stmt | ast.Lambda
    scope: dict[str, Any]
    is_whole: bool = True
    is_given: bool = False
    references: list[tuple[ast.expr, Target]] = field(default_factory=list)
    edits: list[Replacement] = field(default_factory=list)

    @property
    def is_function(self) -> bool:
        """Does it run when it is called, rather than when the module is loaded?"""
        return isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)

    @property
    def place(self) -> Place:
        """The user's file and line."""
        return self.source.path, self.node.lineno


Item: TypeAlias = Import | Written | Statement


@dataclass(frozen=True)
class Bound:
    """One of several names that a statement assigns, such as `B` in `A, B = 1, 2`."""

    item: Statement
    name: str


Target: TypeAlias = "Item | Bound | Parts"


@dataclass(frozen=True)
class _Text:
    """A piece of the module, and where its lines are from."""

    text: str
    places: list[Place | None]
    is_constant: bool = False

    @classmethod
    def of(cls, text: str) -> _Text:
        return cls(text, [None] * (text.count("\n") + 1))


class ModuleText:
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
            CannotExtract: two files define one name differently.
        """
        items = [one for one in self.in_order() if not (isinstance(one, Statement) and one.wanted == "")]
        imports = {one.text(self.names[one]) for one in items if isinstance(one, Import)}
        head = [f'"""{docstring}"""'] if docstring else []
        blocks = [_Text.of("\n".join(head + _sorted_imports(imports, gap=bool(head))))]
        blocks += [self.text_of(item) for item in items if not isinstance(item, Import)]
        text, places = "", list[Place | None]()
        for before, block in zip([None, *blocks], blocks, strict=False):
            if not block.text:
                continue
            are_constants = before is not None and before.is_constant and block.is_constant
            gap = 0 if not text else 1 if are_constants else 2 if before is blocks[0] and block.is_constant else 3
            text += "\n" * gap + block.text
            places += [None] * max(0, gap - 1) + block.places
        wanted = tuple(self.names[one] for one in self.roots if one.wanted)
        spellings = tuple((self.names[one], one.spelled) for one in items if isinstance(one, Written) and one.spelled)
        return Extracted(f"{text}\n", wanted, tuple(places), spellings=spellings)

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
        made = [one for one in others if isinstance(one, Written) and one.is_function]
        base = [*(one for one in others if one not in made), *statements, *made]
        found: dict[Item, None] = {}
        begun: set[Item] = set()

        def visit(one: Item, *, is_run: bool) -> None:
            if one in begun:
                return
            begun.add(one)
            for other in needs_of(one) if is_run else ():
                visit(other, is_run=True)
            found[one] = None

        for one in base:
            visit(one, is_run=not getattr(one, "is_function", False))
        return list(found)

    def _names(self) -> dict[Item, str]:
        """Return the name of each item: the one that it wants, unless another item has it."""
        names: dict[Item, str] = {}
        taken: dict[str, Item] = {}
        avoid: dict[Item, set[str]] = {}
        for statement in (one for one in self.reached if isinstance(one, Statement)):
            used = every_name(statement.node)
            used |= {one.arg for one in ast.walk(statement.node) if isinstance(one, ast.arg)}
            for node, target in statement.references:
                for one in items_in(target):
                    if not (isinstance(node, ast.Name) and node.id == one.wanted):
                        avoid.setdefault(one, set()).update(used)
        for one in sorted(self.reached, key=self._freedom):
            if isinstance(one, Statement) and one.is_whole:
                assert isinstance(one.node, ast.stmt)
                for name in names_bound(one.node) if one.wanted else ():
                    other = taken.setdefault(name, one)
                    if other is not one:
                        raise _defined_twice(name, other, one)
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

    def text_of(self, item: Item) -> _Text:
        """Return the text of an item that is not an import."""
        names = self.names
        if isinstance(item, Written):
            text = _rendered(item.parts, names)
            text = f"def {names[item]}{text}" if item.is_function else f"{names[item]} = {text}"
            return _Text(text, [None] * (text.count("\n") + 1), is_constant=not item.is_function)
        assert isinstance(item, Statement)
        source, node = item.source, item.node
        edits = [*item.edits, *_edits(item, names)]
        if item.wanted == "":  # an expression
            assert isinstance(node, ast.Expr)
            begin, end = source.span(node.value)
            return _Text(source.replaced(begin, end, edits), [], is_constant=True)
        if isinstance(node, ast.Lambda):
            return _lambda_text(source, node, names[item], edits)
        if item.is_whole:
            begin, end = source.with_comments(node)
            text, lines = _assembled(source, begin, end, edits)
        else:
            assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            begin, end = source.with_comments(_undecorated(node))
            text, lines = _assembled(source, begin, end, edits)
            text = _dedented(text, lines, node)
        text = _without_tabs(text, lines, node)
        name = names[item]
        if isinstance(node, Function) and name != node.name:
            text = re.sub(rf"^((?:async\s+)?def[\s\\]+){node.name}\b", rf"\g<1>{name}", text, count=1, flags=re.M)
        return _Text(text, [(source.path, line) for line in lines], is_constant=not item.is_function)


def needs_of(item: Item) -> list[Item]:
    """Return the items that one refers to."""
    if isinstance(item, Import):
        return []
    if isinstance(item, Written):
        return items_in(item.parts)
    return [one for _, target in item.references for one in items_in(target) if one is not item]


def items_in(target: Target) -> list[Item]:
    """Return the items that belong to a name."""
    parts = target if isinstance(target, list) else [target]
    return [one.item if isinstance(one, Bound) else one for one in parts if not isinstance(one, str)]


def _defined_twice(name: str, first: Any, second: Statement) -> CannotExtract:
    files = os.path.basename(first.source.path), os.path.basename(second.source.path)
    return CannotExtract(
        f"`{name}` is defined in {files[0]} and in {files[1]}", fix="give one of them another name", place=second.place
    )


def _rendered(target: Target, names: Mapping[Item, str]) -> str:
    parts = target if isinstance(target, list) else [target]
    return "".join(one if isinstance(one, str) else one.name if isinstance(one, Bound) else names[one] for one in parts)


def _edits(item: Statement, names: Mapping[Item, str]) -> list[Replacement]:
    """Return the replacements of names in a statement."""
    source, edits = item.source, list[Replacement]()
    texts = {
        node: text
        for node, target in item.references
        if (text := _rendered(target, names)) != source.text(*source.span(node)) or isinstance(node, ast.Call)
    }
    whole = [one for one in ast.walk(item.node) if isinstance(one, ast.JoinedStr)]
    inside = {part: one for one in reversed(whole) for part in ast.walk(one) if part is not one}
    for node, text in texts.items():
        if node not in inside:
            edits.append((*source.span(node), text))
    for one in {inside[node] for node in texts if node in inside}:  # their parts have no places before Python 3.12
        edits.append((*source.span(one), _unparsed(one, {node: _rendered(t, names) for node, t in item.references})))
    return [one for one in edits if not any(begin <= one[0] and one[1] <= end for begin, end, _ in item.edits)]


def _unparsed(node: ast.JoinedStr, texts: Mapping[ast.AST, str]) -> str:
    def copied(one: Any) -> Any:
        if isinstance(one, ast.AST):
            if one in texts and texts[one] != ast.unparse(one):
                return ast.parse(texts[one], mode="eval").body
            return type(one)(**{name: copied(value) for name, value in ast.iter_fields(one)})
        return [copied(each) for each in one] if isinstance(one, list) else one

    return ast.unparse(ast.fix_missing_locations(copied(node)))


def _assembled(source: Source, begin: int, end: int, edits: Iterable[Replacement]) -> tuple[str, list[int]]:
    """Return a piece of a file with parts replaced, and for each of its lines the line of the file."""
    text, position = "", begin
    lines = [source.data[:begin].count(b"\n") + 1]

    def add(piece: str, at: int, *, is_kept: bool) -> None:
        nonlocal text
        line = source.data[:at].count(b"\n") + 1
        lines.extend(line + place if is_kept else line for place in range(1, piece.count("\n") + 1))
        text += piece

    for first, last, new in sorted(one for one in edits if begin <= one[0] and one[1] <= end):
        add(source.text(position, first), position, is_kept=True)
        add(new, first, is_kept=False)
        position = last
    add(source.text(position, end), position, is_kept=True)
    return text, lines


def _dedented(text: str, lines: Sequence[int], node: ast.AST) -> str:
    """Return the text of a definition at the left margin; lines inside strings stay, except in docstrings."""
    kept, column = _lines_in_texts(node), node.col_offset  # type: ignore[attr-defined]
    found = []
    for line, row in zip(lines, text.split("\n"), strict=True):
        width = len(row) - len(row.lstrip(" \t"))
        found.append(row if line in kept else row[min(width, column) :])
    return "\n".join(found)


def _without_tabs(text: str, lines: Sequence[int], node: ast.AST) -> str:
    """Return a text with tabs replaced by spaces: a port adds lines with spaces, and a block cannot mix both."""
    if "\t" not in text:
        return text
    kept, found = _lines_in_texts(node), []
    for line, row in zip(lines, text.split("\n"), strict=True):
        code = row.lstrip(" \t")
        found.append(row if line in kept else row[: len(row) - len(code)].expandtabs(4) + code)
    return "\n".join(found)


def _lines_in_texts(node: ast.AST) -> set[int]:
    """Return the lines of a file that start inside a string that is not a docstring."""
    inner = [one for one in ast.walk(node) if isinstance(one, Function | ast.ClassDef)]
    docstrings = {one.body[0].value for one in inner if isinstance(one.body[0], ast.Expr)}
    kept: set[int] = set()
    for one in ast.walk(node):
        is_text = isinstance(one, ast.JoinedStr) or (
            isinstance(one, ast.Constant) and isinstance(one.value, str | bytes)
        )
        if is_text and one not in docstrings and hasattr(one, "end_lineno"):
            kept |= {*range(one.lineno + 1, one.end_lineno + 1)}  # type: ignore[attr-defined]
    return kept


def _undecorated(node: Any) -> Any:
    copy = type(node)(**{**dict(ast.iter_fields(node)), "decorator_list": []})
    return ast.copy_location(copy, node)


def _lambda_text(source: Source, node: ast.Lambda, name: str, edits: Sequence[Replacement]) -> _Text:
    """Return a lambda as a `def`."""
    begin, end = source.span(node.body)
    start = source.span(node)[0] + len("lambda")
    match = re.fullmatch(r"(\s*)(.*?)\s*:((?:[\s(\\]|#[^\n]*\n)*)", source.text(start, begin), re.DOTALL)
    assert match is not None  # a lambda has a colon, and only brackets can follow it
    first = start + len(match[1].encode())
    arguments, _ = _assembled(source, first, first + len(match[2].encode()), edits)
    body, lines = _assembled(source, begin, end, edits)
    body = f"({body})" if "\n" in body else body
    comments = [f"    {one}\n" for one in re.findall(r"#[^\n]*", match[3])]
    text = f"def {name}({' '.join(arguments.split())}):\n{''.join(comments)}    return {body}"
    places = [(source.path, line) for line in (node.lineno, *(node.lineno for _ in comments), *lines)]
    return _Text(text, list(places))


def _sorted_imports(statements: Set[str], *, gap: bool) -> list[str]:
    if not statements:
        return []
    in_order = sorted(statements, key=lambda one: (one.startswith("from"), one.split()[1], one))
    return ["", *in_order] if gap else in_order


_COPIED: dict[Place, Place] = {}
"""Lines of op files, and where in a program they were copied from."""


def register_copied(file: str, copied: Iterable[tuple[int, int, str, int]]) -> None:
    """Have places in an op file found in the program that its lines were copied from, as `OwnOp.copied` has them."""
    for first, lines, program, line in copied:
        _COPIED.update({(file, first + number): (program, line + number) for number in range(lines)})


_EXTRACTED: dict[str, Extracted] = {}
"""Extracted modules by path."""


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


MOST_COPIES = 24
"""Copies of functions in a module."""


def with_copies(extracted: Extracted, name: str) -> Extracted | None:
    """Return a module in which each use of a function, outside of itself, has its own copy.

    If a function is used only once, its caller is copied instead. None if there is nothing to copy: it is the requested
    function, or there would be too many copies.
    """
    source = read_source(extracted.path)
    function = next((one for one in source.tree.body if isinstance(one, ast.FunctionDef) and one.name == name), None)
    if function is None or name in extracted.names:
        return None
    nodes = list(ast.walk(source.tree))
    named = [one for one in nodes if isinstance(one, ast.Name) and one.id == name]
    in_texts = {part for one in nodes if isinstance(one, ast.JoinedStr) for part in ast.walk(one)}
    is_hidden = any(isinstance(one, ast.arg) and one.arg == name for one in nodes)
    if is_hidden or any(not isinstance(one.ctx, ast.Load) or one in in_texts for one in named):
        return None
    inside = {*ast.walk(function)}
    own, others = [one for one in named if one in inside], [one for one in named if one not in inside]
    if len(others) == 1:
        around = [one.name for one in source.tree.body if isinstance(one, Function) and others[0] in {*ast.walk(one)}]
        return with_copies(extracted, around[0]) if around else None
    if not others or len(others) + len(extracted.copies) > MOST_COPIES:
        return None
    free = (f"{name}_{number}" for number in itertools.count(2))
    free = (one for one in free if not re.search(rf"\b{one}\b", extracted.text))
    names = [name, *itertools.islice(free, len(others) - 1)]
    begin, end = source.with_comments(function)
    at = source.data[source.span(function)[0] :].index(f"def {name}".encode()) + source.span(function)[0] + len("def ")
    copies = [
        source.replaced(begin, end, [(at, at + len(name.encode()), new), *((*source.span(one), new) for one in own)])
        for new in names[1:]
    ]
    others.sort(key=lambda one: (one.lineno, one.col_offset))
    edits = [(*source.span(one), new) for one, new in zip(others, names, strict=True)]
    text = source.replaced(0, len(source.data), [*edits, (end, end, "".join(f"\n\n\n{one}" for one in copies))])
    first, last = source.data[:begin].count(b"\n"), source.data[:end].count(b"\n") + 1
    of_copy = [None, None, *extracted.places[first:last]]
    places = [*extracted.places[:last], *of_copy * len(copies), *extracted.places[last:]]
    before = dict(extracted.copies)
    added = tuple((one, before.get(name, name)) for one in names[1:])
    return Extracted(text, extracted.names, tuple(places), (*extracted.copies, *added))


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
