"""The source of functions on tensors, with what they need of each other, as it is written into ports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import TypeAlias

from pyopbench.model.syntax import Replacement, Source, defaults_of, read_source
from pyopbench.ports.functions import (
    basics,
    elementwise,
    images,
    linear,
    order,
    shapes,
    signals,
    statistics,
)

MODULES: tuple[ModuleType, ...] = (basics, elementwise, order, statistics, linear, signals, shapes, images)
"""In the order of their definitions in the file of a port."""

Definition: TypeAlias = ast.FunctionDef | ast.Assign


def needed_by(names: Iterable[str]) -> set[str]:
    """Return the names of functions and of all that they call."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += _reads(name)
    return found


def source_of(names: Iterable[str]) -> list[str]:
    """Return the source of functions, by their names, and of all that they call, without annotations."""
    needed = needed_by(names)
    return [text for name, (text, _) in _definitions().items() if name in needed]


@cache
def _reads(name: str) -> tuple[str, ...]:
    _, node = _definitions()[name]
    read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
    return tuple(sorted(read & set(_definitions()) - {name}))


@cache
def _definitions() -> dict[str, tuple[str, Definition]]:
    """Return the text of everything at the top level of the modules that a function may need, by name."""
    found: dict[str, tuple[str, Definition]] = {}
    for module in MODULES:
        source = read_source(str(module.__file__))
        for node in source.tree.body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = _without_annotations(source, node), node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] = source.text(*source.span(node)), node
    return found


def _without_annotations(source: Source, node: ast.FunctionDef) -> str:
    """Return the text of a function so that it fits into any file: without our annotations and decorators."""
    _, end = source.span(node)
    kept = [one for one in node.decorator_list if ast.unparse(one).startswith("functools.")]
    begin = source.starts[(kept[0] if kept else node).lineno - 1]
    return re.sub(r"  # (fmt: skip|type: ignore.*)", "", source.replaced(begin, end, list(_annotations(source, node))))


def _annotations(source: Source, node: ast.FunctionDef) -> Iterator[Replacement]:
    """Yield where annotations are, and what stands there without them."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.AnnAssign) and inner.value is not None:
            yield source.span(inner.target)[1], source.span(inner.value)[0], " = "
        if not isinstance(inner, ast.FunctionDef):
            continue
        given = inner.args
        defaults = defaults_of(given)
        for one in [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]:
            if one.annotation is None:
                continue
            begin, end = source.span(one)
            begin += len(one.arg.encode())
            value = defaults.get(one.arg)
            if value is None:
                yield begin, end, ""
            else:
                yield begin, source.span(value)[0], "="
        if inner.returns is not None:
            begin, end = source.span(inner.returns)
            yield begin - len(" -> "), end, ""
