"""Python source as a tree: what its parts read and bind, and a file whose text is edited by the places of its nodes."""

from __future__ import annotations

import ast
import linecache
from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import decode_source
from pathlib import Path
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Replacement: TypeAlias = tuple[int, int, str]
"""Start and end in bytes of the file, and the new text."""
Scope: TypeAlias = tuple[bool, frozenset[str]]
"""Is it the body of a class, whose names the functions in it do not see, and the names that it binds."""

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
SCOPES = (*DEFINITIONS, ast.Lambda, ast.Module)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

SHARED = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
"""Nodes of which Python has one object for all trees."""

NUMBER = "pyopbench_number"
"""The attribute of a node that holds its number in the file, which its copies keep."""


@dataclass(frozen=True, eq=False)
class Source:
    """A Python file.

    Attributes:
        path: of the file.
        data: its text in UTF-8, in which the tree counts columns, with Unix line ends.
        tree: its statements; each node has a number if `read_source` has read it.
        starts: the offset of each line, in bytes.
    """

    path: str
    data: bytes
    tree: ast.Module
    starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str, tree: ast.Module, path: str = "") -> Source:
        """Return a file from its text, which has Unix line ends, and its tree."""
        data, starts = text.encode(), [0]
        for line in data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return cls(path, data, tree, tuple(starts))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where a node begins and ends, in bytes; a definition includes its decorators."""
        line, column, last, end = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        decorators = getattr(node, "decorator_list", ())
        if decorators:
            line, column = decorators[0].lineno, node.col_offset  # type: ignore[attr-defined]
        return self.starts[line - 1] + column, self.starts[last - 1] + end

    def text(self, begin: int, end: int) -> str:
        """Return the text between two offsets in bytes."""
        return self.data[begin:end].decode()

    def replaced(self, begin: int, end: int, replacements: Sequence[Replacement]) -> str:
        """Return the text between two offsets with parts of it replaced, which must not overlap."""
        parts, position = [], begin
        for first, last, new in sorted(replacements):
            parts += [self.text(position, first), new]
            position = last
        return "".join([*parts, self.text(position, end)])

    def added_imports(self, statements: Sequence[str], before: int) -> Replacement:
        """Return the edit that adds imports after the comments and imports at the top of the file, before an offset."""
        last = next((place for place, line in enumerate(self.data.splitlines()) if line[:1] != b"#"), 0)
        for number, node in enumerate(self.tree.body):
            if self.span(node)[1] > before or isinstance(node, DEFINITIONS):
                break
            is_docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.Import | ast.ImportFrom) or is_docstring:
                last = node.end_lineno or node.lineno
        return self.starts[last], self.starts[last], "".join(f"{one}\n" for one in statements)


@cache
def read_source(path: str) -> Source:
    """Return a file, or a notebook's cell, which only Python's cache of lines has; each is read once.

    Raises:
        OSError: it cannot be read.
        SyntaxError, ValueError: it is not Python.
    """
    try:
        text = decode_source(Path(path).read_bytes())
    except OSError:
        text = "".join(linecache.getlines(path))
        if not text:
            raise
    tree = ast.parse(text, path)
    for number, node in enumerate(ast.walk(tree)):
        if not isinstance(node, SHARED):
            setattr(node, NUMBER, number)
    return Source.of(text, tree, path)


def number_of(node: ast.AST) -> int:
    """Return the number of a node in its file."""
    return int(getattr(node, NUMBER, -1))  # new nodes and those of `SHARED` have none


def parts_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes inside a node that have a place in the text, without those inside them."""
    if isinstance(node, ast.JoinedStr):  # whose places are wrong before Python 3.12
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr | ast.stmt | ast.ExceptHandler | ast.arg | ast.keyword):
            yield child
        else:
            yield from parts_of(child)


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a scope itself: definitions inside it are yielded and not entered."""
    waiting = deque(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.popleft()
        yield node
        if not isinstance(node, SCOPES):
            waiting.extend(ast.iter_child_nodes(node))


def globals_read(statement: ast.stmt) -> set[str]:
    """Return the names that a statement reads and does not bind itself, also in the functions that it defines."""
    return {one.id for one in free_names(statement)} - {*names_bound(statement)}


def free_names(node: ast.AST, scopes: tuple[Scope, ...] = ()) -> Iterator[ast.Name]:
    """Yield the places where a statement or a lambda reads names that no function inside of it binds.

    What a statement of the top level binds itself counts as free: it is a name of the module. `scopes` are those that
    the node is in, from without.
    """
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and not any(node.id in names for _, names in scopes):
            yield node
        return
    outside, inside = _parts_of_scope(node)
    is_local = isinstance(node, ast.AnnAssign) and bool(scopes) and not scopes[-1][0]
    for part in outside:
        if not (is_local and part is node.annotation):  # type: ignore[attr-defined] # which is never evaluated
            yield from free_names(part, scopes)
    if inside:
        seen = tuple(one for one in scopes if not one[0])
        own = (isinstance(node, ast.ClassDef), frozenset(local_names(node)))
        for part in inside:
            yield from free_names(part, (*seen, own))


def _parts_of_scope(node: ast.AST) -> tuple[list[ast.AST], list[ast.AST]]:
    """Return the parts of a function, class or comprehension that are evaluated outside of it, and those inside.

    Any other node is no scope of its own.
    """
    if isinstance(node, COMPREHENSIONS):
        first, *others = node.generators
        values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return [first.iter], [*values, first.target, *first.ifs, *others]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *node.keywords], list(node.body)
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return list(ast.iter_child_nodes(node)), []
    outside: list[ast.AST] = [*getattr(node, "decorator_list", ()), node.args]
    outside += [node.returns] if getattr(node, "returns", None) is not None else []  # type: ignore[union-attr, list-item]
    return outside, list(node.body) if isinstance(node.body, list) else [node.body]


def root_of(node: ast.AST) -> ast.AST:
    """Return the expression with which a chain of attributes begins, `a` of `a.b.c`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def every_name(*nodes: ast.AST) -> set[str]:
    """Return the names in some nodes, read or bound, of any scope."""
    return {one.id for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name)}


def local_names(scope: ast.AST) -> set[str]:
    """Return the names that a function, class or comprehension binds in its own scope."""
    if isinstance(scope, COMPREHENSIONS):
        return every_name(*(one.target for one in scope.generators))
    arguments = getattr(scope, "args", None)
    names = {one.arg for one in ast.walk(arguments) if isinstance(one, ast.arg)} if arguments else set[str]()
    outside = [node.names for node in own_nodes(scope) if isinstance(node, ast.Global | ast.Nonlocal)]
    body: list[ast.AST] = scope.body if isinstance(scope.body, list) else [scope.body]  # type: ignore[attr-defined]
    return names.union(*map(names_bound, body)).difference(*outside)


def names_bound(statement: ast.AST) -> list[str]:
    """Return the names that a statement binds where it stands, each as often as it does."""
    names: list[str] = []
    waiting: deque[ast.AST] = deque([statement])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, DEFINITIONS):
            names.append(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names += [name_of(alias) for alias in node.names]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            names.append(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names.append(node.rest)
        if isinstance(node, COMPREHENSIONS):  # of whose names only those of `:=` are bound outside of it
            names += [one.target.id for one in ast.walk(node) if isinstance(one, ast.NamedExpr)]
        elif not isinstance(node, SCOPES):
            waiting.extend(ast.iter_child_nodes(node))
    return names


def bindings(body: Iterable[ast.stmt]) -> dict[str, ast.stmt]:
    """Return what each name of a file is bound by: the last statement of its top level that does.

    An import inside of `try` or `if` is returned alone, all else together with what is around it.
    """
    found: dict[str, ast.stmt] = {}
    for statement in body:
        nested = [node for node in own_nodes(statement) if isinstance(node, ast.Import | ast.ImportFrom)]
        imports = {name_of(alias): node for node in nested for alias in node.names}
        bound = names_bound(statement)
        imported = [name_of(alias) for node in nested for alias in node.names]
        found |= {name: imports[name] if bound.count(name) == imported.count(name) else statement for name in bound}
    return found


def name_of(alias: ast.alias) -> str:
    """Return the name that an import binds."""
    return alias.asname or alias.name.partition(".")[0]


def unused_name(name: str, taken: Container[str]) -> str:
    """Return a name, with as many underscores behind it as make it differ from those that are taken."""
    while name in taken:
        name += "_"
    return name


def import_of(statement: ast.Import | ast.ImportFrom, name: str) -> str:
    """Return the import statement that binds one name of another statement's."""
    aliases = [alias for alias in statement.names if name_of(alias) == name]
    if isinstance(statement, ast.Import):
        return ast.unparse(ast.Import(aliases))
    return ast.unparse(ast.ImportFrom(statement.module, aliases, 0))


def has_unpacked(call: ast.Call) -> bool:
    """Does a call unpack arguments, with `*` or `**`?"""
    return any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
