"""Rewrites parameters: drops annotations and `self`, and builds forwarding functions."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyopbench.model.syntax import Function
from pyopbench.ports.extract.definitions import CannotExtract, Place

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

ARGUMENTS = ("x", "y", "z", "a", "b", "c", "d", "e")
"""Names for arguments that have none."""


def parameters_of(function: Any, arguments: int) -> list[inspect.Parameter]:
    """Return the parameters to call a function of a library with: those that it requires or that are given."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    inner, given = (function.func, len(function.args)) if isinstance(function, functools.partial) else (function, 0)
    if isinstance(inner, np.ufunc):
        return [inspect.Parameter(name, kind) for name in ARGUMENTS[: inner.nin - given]]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, kind)]
    needed = [one for place, one in enumerate(positional) if place < arguments or one.default is one.empty]
    if not needed:
        return [inspect.Parameter(name, kind) for name in ARGUMENTS[: max(arguments, 1)]]
    return [inspect.Parameter(one.name, kind) for one in needed]


def passing_on(
    name: str,
    called: ast.expr,
    parameters: Sequence[inspect.Parameter],
    given: tuple[Sequence[ast.expr], Sequence[ast.keyword]],
    default_of: Callable[[str, Any], ast.expr],
) -> ast.FunctionDef:
    """Return a function that passes its parameters on to another one.

    Args:
        name: of the function.
        called: the other one.
        parameters: of the other one, but for arguments by position that are given.
        given: arguments by position, before those that are passed on, and by name.
        default_of: returns the expression for the default of a parameter, by its name and value.
    """
    head = ast.arguments([], [], None, [], [], None, [])
    arguments, keywords = list(given[0]), list[ast.keyword]()
    for one in (one for one in parameters if one.name not in {each.arg for each in given[1]}):
        value: ast.expr = ast.Name(one.name, ast.Load())
        default = None if one.default is one.empty else default_of(one.name, one.default)
        if one.kind in POSITIONAL:
            head.args.append(ast.arg(one.name))
            head.defaults += [] if default is None else [default]
            arguments.append(value)
        elif one.kind is one.KEYWORD_ONLY:
            head.kwonlyargs.append(ast.arg(one.name))
            head.kw_defaults.append(default)
            keywords.append(ast.keyword(one.name, value))
        elif one.kind is one.VAR_POSITIONAL:
            head.vararg = ast.arg(one.name)
            arguments.append(ast.Starred(value, ast.Load()))
        else:
            head.kwarg = ast.arg(one.name)
            keywords.append(ast.keyword(None, value))
    call = ast.Call(called, arguments, sorted([*keywords, *given[1]], key=lambda one: one.arg is None))
    return ast.FunctionDef(name, head, [ast.Return(call)], [])


def without_annotations(node: Any) -> Any:
    """Return a copy of a statement or a lambda without annotations of functions: a port does not take what they say."""
    node = copy.deepcopy(node)
    for one in ast.walk(node):
        if isinstance(one, ast.arg):
            one.annotation = None
        elif isinstance(one, Function):
            one.returns = None
    return node


def take_first(arguments: ast.arguments, place: Place) -> str:
    """Remove the first parameter of a method, and return its name."""
    kind = "posonlyargs" if arguments.posonlyargs else "args"
    parameters = getattr(arguments, kind)
    if not parameters:
        raise CannotExtract("a method takes `self` as a part of `*args`", fix="name its first parameter", place=place)
    setattr(arguments, kind, parameters[1:])
    return str(parameters[0].arg)
