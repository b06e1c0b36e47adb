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

KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, KIND)

ARGUMENTS = ("x", "y", "z", "a", "b", "c", "d", "e")
"""Names for arguments that have none."""


def parameters_of(function: Any, arguments: int) -> list[inspect.Parameter]:
    """Return the parameters to call a function of a library with: those that it requires or that are given."""
    inner, given = (function.func, len(function.args)) if isinstance(function, functools.partial) else (function, 0)
    names = list(ARGUMENTS[: inner.nin - given]) if isinstance(inner, np.ufunc) else []
    if not names:
        try:
            positional = [one for one in inspect.signature(function).parameters.values() if one.kind in POSITIONAL]
        except (TypeError, ValueError):
            positional = []
        names = [one.name for at, one in enumerate(positional) if at < arguments or one.default is one.empty]
    return [inspect.Parameter(name, KIND) for name in names or ARGUMENTS[: max(arguments, 1)]]


def passing_on(
    name: str,
    called: ast.expr,
    parameters: Sequence[inspect.Parameter],
    given: tuple[Sequence[ast.expr], Sequence[ast.keyword]],
    default_of: Callable[[str, Any], ast.expr],
) -> ast.FunctionDef:
    """Return a function that passes its parameters, but for `*args` and `**kwargs`, on to another one.

    Args:
        name: of the function.
        called: the other one.
        parameters: of the other one, but for arguments by position that are given.
        given: arguments by position, before those that are passed on, and by name.
        default_of: returns the expression for the default of a parameter, by its name and value.
    """
    head = ast.arguments([], [], None, [], [], None, [])
    arguments, keywords = list(given[0]), list(given[1])
    for one in (one for one in parameters if one.name not in {each.arg for each in given[1]}):
        default = None if one.default is one.empty else default_of(one.name, one.default)
        if one.kind in POSITIONAL:
            head.args.append(ast.arg(one.name))
            head.defaults += [] if default is None else [default]
            arguments.append(ast.Name(one.name, ast.Load()))
        elif one.kind is one.KEYWORD_ONLY:
            head.kwonlyargs.append(ast.arg(one.name))
            head.kw_defaults.append(default)
            keywords.append(ast.keyword(one.name, ast.Name(one.name, ast.Load())))
    return ast.FunctionDef(name, head, [ast.Return(ast.Call(called, arguments, keywords))], [])


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
    parameters = arguments.posonlyargs or arguments.args
    if not parameters:
        raise CannotExtract("a method takes `self` as a part of `*args`", fix="name its first parameter", place=place)
    return str(parameters.pop(0).arg)
