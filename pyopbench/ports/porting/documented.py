"""A function's source with another docstring."""

from __future__ import annotations

import ast


def documented(text: str, doc: str) -> str:
    """Return the source of a function with a docstring in place of its own, or before its first statement.

    Args:
        text: with one function in it, at the left margin.
        doc: with its quotes, its lines but the first indented by four spaces, which become what the function has.
    """
    function = next(one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef))
    first = function.body[0]
    lines = text.splitlines(keepends=True)
    has_own = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    begin = len("".join(lines[: first.lineno - 1]).encode()) + first.col_offset
    end = begin
    if has_own and first.end_lineno is not None and first.end_col_offset is not None:
        end = len("".join(lines[: first.end_lineno - 1]).encode()) + first.end_col_offset
    data = text.encode()
    indent = " " * (4 if first.lineno == function.lineno else first.col_offset)
    doc = doc.replace("\n    ", f"\n{indent}")
    if has_own:
        return (data[:begin] + doc.encode() + data[end:]).decode()
    if first.lineno == function.lineno:  # all in one line
        return (data[:begin] + b"\n    " + doc.encode() + b"\n    " + data[begin:]).decode()
    begin = len("".join(lines[: first.lineno - 1]).encode())
    above = begin - len(_comments_above(lines, first.lineno - 1).encode())
    return (data[:above] + f"{indent}{doc}".encode() + b"\n" + data[above:]).decode()


def _comments_above(lines: list[str], line: int) -> str:
    """Return the comments right above a line, which belong to it."""
    first = line
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return "".join(lines[first:line])
