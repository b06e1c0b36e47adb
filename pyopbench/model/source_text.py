"""A Python file as text and as a tree, so that parts of it can be replaced and the rest stays unchanged."""

from __future__ import annotations

import ast
import io
import linecache
import tokenize
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from pyopbench.model.own_target import decode_source

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Replacement: TypeAlias = tuple[int, int, str]
"""Start and end in bytes of the file, and the new text."""

NUMBER = "pyopbench_number"
"""The attribute of a node that holds its number in the file, which its copies keep."""


@dataclass(frozen=True, eq=False)
class Source:
    """A Python file.

    Attributes:
        path: of the file.
        data: its text in UTF-8, in which the tree counts columns, with Unix line ends and normalized names.
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

    def added_imports(self, statements: Sequence[str]) -> Replacement:
        """Return the edit that adds imports after those at the top of the file, before its first definition."""
        last = 0
        for number, node in enumerate(self.tree.body):
            is_docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.Import | ast.ImportFrom) or is_docstring:
                last = node.end_lineno or node.lineno
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                break
        begin = self.starts[last]
        is_in_line = begin and self.data[begin - 1 : begin] != b"\n"  # the last line of the file has no line end
        return begin, begin, ("\n" if is_in_line else "") + "".join(f"{one}\n" for one in statements)

    def with_comments(self, node: ast.stmt) -> tuple[int, int]:
        """Return the span of a statement of the top level with the comment right above it."""
        begin, end = self.span(node)
        line = self.data[:begin].count(b"\n")
        while line and self.data[self.starts[line - 1] : self.starts[line]].lstrip().startswith(b"#"):
            line -= 1
        begin = self.starts[line]
        rest = self.data[end:].split(b"\n", 1)[0]  # a comment behind it
        return begin, end + (len(rest) if rest.strip().startswith(b"#") else 0)


@cache
def read_source(path: str) -> Source:
    """Return a file, read once.

    Raises:
        OSError: it cannot be read.
        SyntaxError: it is not Python.
    """
    text = _with_plain_names(_with_spaces(_read(path)))
    tree = ast.parse(text, path)
    for number, node in enumerate(ast.walk(tree)):
        setattr(node, NUMBER, number)
    return Source.of(text, tree, path)


def _read(path: str) -> str:
    """Return the text of a file, or of a notebook's cell, which only Python's cache of lines has."""
    try:
        return decode_source(Path(path).read_bytes())
    except OSError:
        lines = linecache.getlines(path)
        if not lines:
            raise
        return "".join(lines)


def _with_spaces(text: str) -> str:
    """Return a source that is indented with spaces, as new statements are; strings stay unchanged.

    A tab goes to the next multiple of 8: https://docs.python.org/3/reference/lexical_analysis.html#indentation
    """
    if "\t" not in text:
        return text
    lines = io.StringIO(text).readlines()
    quoted = {
        row
        for one in tokenize.generate_tokens(iter(lines).__next__)
        for row in (range(one.start[0], one.end[0]) if "\n" in one.string.rstrip("\n") else ())
    }
    for row, line in enumerate(lines):
        rest = line.lstrip(" \t\f")
        if row not in quoted:
            lines[row] = line[: len(line) - len(rest)].expandtabs() + rest
    return "".join(lines)


def _with_plain_names(text: str) -> str:
    """Return a source with normalized names.

    A ligature is two letters: https://docs.python.org/3/reference/lexical_analysis.html#identifiers
    """
    if text.isascii():
        return text
    lines = io.StringIO(text).readlines()
    tokens = [one for one in tokenize.generate_tokens(iter(lines).__next__) if one.type == tokenize.NAME]
    for one in reversed(tokens):
        row, (begin, end) = one.start[0] - 1, (one.start[1], one.end[1])
        lines[row] = lines[row][:begin] + unicodedata.normalize("NFKC", one.string) + lines[row][end:]
    return "".join(lines)


def number_of(node: ast.AST) -> int:
    """Return the number of a node in its file."""
    return int(getattr(node, NUMBER, -1))  # new nodes have none


def parts_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes inside a node that have a place in the text, without those inside them."""
    if isinstance(node, ast.JoinedStr):  # whose places are wrong before Python 3.12
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr | ast.stmt | ast.ExceptHandler | ast.arg | ast.keyword):
            yield child
        else:
            yield from parts_of(child)
