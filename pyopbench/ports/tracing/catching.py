"""Which errors the user's code around what is being traced would catch.

A graph raises where it runs, and no `except` of the body's is there. So what is raised on one of two ways must not be
joined inside a `try` that catches it, and what depends on values has to be asked for before it is done.
"""

from __future__ import annotations

import ast
import builtins
import functools
import linecache
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopbench.ports.tracing.refusal import is_foreign
from pyopbench.ports.tracing.tape import current, refuse

END = "follow"
"""The function that calls a body; what is around it is not the user's."""


@dataclass(frozen=True)
class _Try:
    """Lines on which some errors are caught.

    Attributes:
        names: of the classes of errors, as they end; none if all are caught.
    """

    first: int
    last: int
    names: tuple[str, ...]


def is_caught(error: type[BaseException]) -> bool:
    """Would the user's code around what is being traced catch errors of a class?

    A class of the user's own, of which only the name is known, may be any.
    """
    return any(catches(one.names, error) for one in _around())


def is_named(error: type[BaseException]) -> bool:
    """Does the user's code around what is being traced catch errors of a class by its name, or that of one like it?"""
    general = ("Exception", "BaseException")
    return any(
        catches(one.names, error) and not set(general) & {*one.names, *(general * (not one.names))} for one in _around()
    )


def raise_where(error: Exception, condition: Callable[[], Any]) -> None:
    """Raise an error where a condition on values holds, if the body catches it; else the graph goes on or raises.

    Args:
        error: what Python raises there.
        condition: returns a truth value, which may be traced.
    """
    tape = current()
    if tape is not None and not tape.inside and is_caught(type(error)) and condition():
        raise error


def refuse_where_named(error: type[BaseException], missing: str, fix: str) -> None:
    """Refuse what may raise an error when the graph runs, if the body catches that by its name.

    Raises:
        Refused: it does.
    """
    if current() is not None and is_named(error):
        why = f"may raise {error.__name__} when the graph runs, where no `except` is"
        raise refuse(missing, why=why, fix=fix)


def refuse_to_warn() -> None:
    """Refuse a function that catches warnings or errors of floats, which no graph has.

    Raises:
        Refused: always.
    """
    raise refuse(
        "except FloatingPointError", why="(or a warning) waits for what a graph never raises", fix="test the values"
    )


def _around() -> Iterator[_Try]:
    frame: Any = sys._getframe(1)
    while frame is not None:
        code, line = frame.f_code, frame.f_lineno
        if not is_foreign(code.co_filename):
            yield from (one for one in _tries(code.co_filename) if one.first <= (line or 0) <= one.last)
        elif code.co_name == END:
            return
        frame = frame.f_back


def catches(names: tuple[str, ...], error: type[BaseException]) -> bool:
    """Do handlers of classes with some names, which end so, catch errors of a class? No names catch all."""
    return not names or any(issubclass(error, _class_of(name, error)) for name in names)


def _class_of(name: str, default: type[BaseException]) -> type[BaseException]:
    if name == np.linalg.LinAlgError.__name__:
        return np.linalg.LinAlgError
    found = getattr(builtins, name, default)
    return found if isinstance(found, type) and issubclass(found, BaseException) else default


@functools.lru_cache(maxsize=64)
def _tries(file: str) -> tuple[_Try, ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ()
    return tuple(found for node in ast.walk(tree) for found in _tries_of(node))


def _tries_of(node: ast.AST) -> Iterator[_Try]:
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            yield _lines(node.body, names_of(handler.type))
    elif isinstance(node, ast.With):
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and names_of(call.func) == ("suppress",) and call.args:
                yield _lines(node.body, names_of(ast.Tuple(call.args, ast.Load())))


def _lines(body: list[ast.stmt], names: tuple[str, ...]) -> _Try:
    return _Try(body[0].lineno, body[-1].end_lineno or body[-1].lineno, names)


def names_of(caught: ast.expr | None) -> tuple[str, ...]:
    """Return the names of classes after `except`, as they end; none of what catches all, or of what is no name."""
    if isinstance(caught, ast.Tuple):
        found = [names_of(one) for one in caught.elts]
        return tuple(name for names in found for name in names) if all(found) else ()
    if isinstance(caught, ast.Attribute):
        return (caught.attr,)
    return (caught.id,) if isinstance(caught, ast.Name) else ()
