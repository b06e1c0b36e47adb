"""The source of functions on tensors, with what they need of each other, as it is written into ports."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import TypeAlias

from pyopbench.ports.tensor_functions import (
    basics,
    elementwise,
    images,
    linear,
    order,
    ranks,
    resampling,
    shapes,
    signals,
    statistics,
    steps,
)
from pyopbench.ports.tensor_functions.table import TABLE, TensorFunction

MODULES: tuple[ModuleType, ...] = (
    basics, elementwise, order, statistics, linear, signals, shapes, images, ranks, resampling, steps,
)  # fmt: skip
"""In the order in which what they define stands in a port."""

FUNCTIONS: dict[str, TensorFunction] = TABLE
"""The table, with what these modules enter into it."""

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
        source = inspect.getsource(module)
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = _without_annotations(source, node), node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] = ast.get_source_segment(source, node) or "", node
    return found


def _without_annotations(source: str, node: ast.FunctionDef) -> str:
    """Return the text of a function as it may stand in any file: without decorators and annotations."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + column

    data, first = source.encode(), offset(node.lineno, 0)
    last = offset(node.end_lineno or 0, node.end_col_offset or 0)
    gaps = sorted(_annotations(node, offset))
    parts, place = [], first
    for begin, end, new in gaps:
        parts += [data[place:begin].decode(), new]
        place = end
    text = "".join([*parts, data[place:last].decode()])
    return text.replace("  # fmt: skip", "")


def _annotations(node: ast.FunctionDef, offset: Callable[[int, int], int]) -> Iterator[tuple[int, int, str]]:
    """Yield where annotations are, and what stands there without them."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.AnnAssign) and inner.value is not None:
            begin = offset(inner.target.end_lineno or 0, inner.target.end_col_offset or 0)
            yield begin, offset(inner.value.lineno, inner.value.col_offset), " = "
        if not isinstance(inner, ast.FunctionDef):
            continue
        given = inner.args
        ordered = [*given.posonlyargs, *given.args]
        defaults = dict(zip(ordered[len(ordered) - len(given.defaults) :], given.defaults, strict=True))
        defaults |= {one: value for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value}
        for one in [*ordered, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]:
            if one.annotation is None:
                continue
            begin = offset(one.lineno, one.col_offset) + len(one.arg.encode())
            value = defaults.get(one)
            if value is None:
                yield begin, offset(one.annotation.end_lineno or 0, one.annotation.end_col_offset or 0), ""
            else:
                yield begin, offset(value.lineno, value.col_offset), "="
        if inner.returns is not None:
            end = offset(inner.returns.end_lineno or 0, inner.returns.end_col_offset or 0)
            yield offset(inner.returns.lineno, inner.returns.col_offset) - len(" -> "), end, ""
