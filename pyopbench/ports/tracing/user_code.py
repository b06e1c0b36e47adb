"""The code of functions and the trees of their sources, found in files by their lines."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import types
from typing import Any

MOST_SOURCES = 32
"""Files whose functions are kept."""

LAMBDA = (lambda: None).__name__


def functions_at(source: str, line: int, name: str) -> list[ast.FunctionDef]:
    """Return the functions of a name that begin on a line, as trees of their own; a `lambda` as one that returns."""
    return copy.deepcopy(_all_functions(source).get((line, name), []))


@functools.lru_cache(maxsize=MOST_SOURCES)
def _all_functions(source: str) -> dict[tuple[int, str], list[ast.FunctionDef]]:
    """Return the functions of a source by the lines that they begin on, their decorators included, and names."""
    found: dict[tuple[int, str], list[ast.FunctionDef]] = {}
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return found
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef):
            line = min([one.lineno, *(decorator.lineno for decorator in one.decorator_list)])
            found.setdefault((line, one.name), []).append(one)
        elif isinstance(one, ast.Lambda):
            found.setdefault((one.lineno, LAMBDA), []).append(_as_function(one))
    return found


def _as_function(node: ast.Lambda) -> ast.FunctionDef:
    returned = ast.copy_location(ast.Return(node.body), node)
    made = ast.FunctionDef(name=LAMBDA, args=node.args, body=[returned], decorator_list=[])
    made.type_params = []  # type: ignore[attr-defined,unused-ignore]
    return ast.copy_location(made, node)


@functools.lru_cache(maxsize=MOST_SOURCES)
def _all_codes(source: str, file: str) -> tuple[types.CodeType, ...]:
    found = [compile(source, file, "exec", dont_inherit=True)]
    for one in found:  # which grows
        found += [inner for inner in one.co_consts if isinstance(inner, types.CodeType)]
    return tuple(found)


def codes_at(source: str, file: str, line: int) -> list[types.CodeType]:
    """Return the code of all functions that begin on a line of a source."""
    return [one for one in _all_codes(source, file) if one.co_firstlineno == line]


def compiled_in(node: ast.FunctionDef, code: types.CodeType) -> types.CodeType | None:
    """Return the code of a tree that stands for a function, with the same names of functions around it."""
    at = node.lineno
    place: dict[str, Any] = {"lineno": at, "col_offset": 0, "end_lineno": at, "end_col_offset": 0}
    names = [ast.arg(arg=name, **place) for name in code.co_freevars]
    around = ast.parse("def around(): pass").body[0]
    assert isinstance(around, ast.FunctionDef)
    # Its own name, which it may call itself by, is one of the module, as it was; unless it is of a function around it.
    own = [] if node.name in code.co_freevars else [ast.Global([node.name], **place)]
    around.args.args, around.body = names, [*own, node]
    module = ast.fix_missing_locations(ast.Module([around], []))
    flags = code.co_flags & __future__.annotations.compiler_flag
    compiled = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    outer = next(one for one in compiled.co_consts if isinstance(one, types.CodeType))
    return next((one for one in outer.co_consts if isinstance(one, types.CodeType) and one.co_name == node.name), None)


def is_same(one: types.CodeType, other: types.CodeType) -> bool:
    """Does one piece of code do what another one does?"""
    return (one.co_name, one.co_code, one.co_names, one.co_varnames) == (
        other.co_name,
        other.co_code,
        other.co_names,
        other.co_varnames,
    )
