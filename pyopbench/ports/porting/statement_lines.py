"""Which statement of the body a line of a port was written from."""

from __future__ import annotations

import ast

from pyopbench.model.syntax import Source
from pyopbench.ports.porting.body_code import body_name


def lines_of_body(text: str, source: Source) -> dict[int, int]:
    """Return lines of the body's file by lines of a port that was written from it: statement by statement.

    Functions with another number of statements than the user's are left out.
    """
    port = _functions(ast.parse(text))
    found: dict[int, int] = {}
    for name, theirs in _functions(source.tree).items():
        mine = port.get(body_name(name), port.get(name))
        if mine is None or len(_statements(mine)) != len(_statements(theirs)):
            continue
        for one, other in zip(_statements(mine), _statements(theirs), strict=True):
            found |= dict.fromkeys(range(one.lineno, (one.end_lineno or one.lineno) + 1), other.lineno)
    return found


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return functions by name, the outer one of several."""
    return {node.name: node for node in reversed([*ast.walk(tree)]) if isinstance(node, ast.FunctionDef)}


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements of a function but for its docstring, those around others first."""
    docstring = function.body[0] if ast.get_docstring(function) is not None else None
    inside = [node for one in function.body for node in ast.walk(one) if isinstance(node, ast.stmt)]
    return [one for one in inside if one is not docstring]
