"""The shortest change of a user's line with which a port that failed there gets past it, where one is known to work.

What TensorFlow says of an obstacle is looked for in its messages, and the change is made in the syntax tree
of the line. Each kind has a test that applies it to a body and sees the port succeed.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import tensorflow.experimental.numpy as tnp

from pyopbench.model.case import Change
from pyopbench.ports.keras_ops.lacking import ASSIGNMENT, Lacking

FUNCTIONS = {"T": "transpose", "copy": "copy", "flatten": "ravel"}
"""Attributes of NumPy's arrays that are functions of another name in TensorFlow's NumPy."""


@dataclass(frozen=True)
class _Line:
    """The line that a port failed at.

    Attributes:
        source: of the whole file.
        nodes: what stands on the line.
        numpy: what the file calls NumPy.
        found: the name that the message gives, "" where it gives none.
    """

    source: str
    nodes: tuple[ast.AST, ...]
    numpy: str
    found: str

    def of(self, kind: Any) -> Iterator[Any]:
        """Yield the nodes of a kind, the outermost first."""
        return (node for node in self.nodes if isinstance(node, kind))

    def text(self, node: ast.AST) -> str:
        """Return a node as it is written."""
        return ast.get_source_segment(self.source, node) or ""


Found = tuple[str, str]
"""What is written, and what to write in its place."""


def change_for(error: BaseException, place: tuple[str, int] | None) -> Change | None:
    """Return the shortest change with which a port gets past an error.

    Args:
        error: what building or calling the port has raised.
        place: file and line of the user's that it came through; None for nowhere.

    Returns:
        The change, or None where none is known to work.
    """
    if place is None:
        return None
    file, number = place
    source = "".join(linecache.getlines(file))
    numpy, nodes = _numpy_of(source), _nodes_on(source, number)
    for kind, found in _obstacles(error):
        made = _KINDS[kind](_Line(source, nodes, numpy, found)) if numpy is not None else None
        if made is not None:
            return Change(kind, number, *made)
    return None


def _obstacles(error: BaseException) -> Iterator[tuple[str, str]]:
    """Yield the kinds of obstacle that an error is of, each with the name that stands in it, if any."""
    if isinstance(error, Lacking):
        if error.missing == ASSIGNMENT:
            yield "masked", ""
        return
    for kind, pattern in SAID.items():
        found = pattern.search(str(error))
        if found is not None:
            yield kind, found[1] if pattern.groups else ""


@cache
def _tree(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):
        return None


def _nodes_on(source: str, line: int) -> tuple[ast.AST, ...]:
    """Return the statements that begin on a line, and the expressions that reach over it."""
    tree = _tree(source)
    if tree is None:
        return ()
    return tuple(
        node
        for node in ast.walk(tree)
        if (isinstance(node, ast.stmt) and node.lineno == line)
        or (isinstance(node, ast.expr) and node.lineno <= line <= (node.end_lineno or line))
    )


def _numpy_of(source: str) -> str | None:
    tree = _tree(source)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)] if tree is not None else []
    names = [alias.asname or alias.name for node in imports for alias in node.names if alias.name == "numpy"]
    return names[0] if names else None


def _method(line: _Line) -> Found | None:
    """`x.mean(axis=1)`: `np.mean(x, axis=1)`, and `x.T`: `np.transpose(x)`."""
    name = line.found
    calls = [node for node in line.of(ast.Call) if isinstance(node.func, ast.Attribute) and node.func.attr == name]
    if name == "astype":
        calls = [node for node in calls if len(node.args) == 1 and not node.keywords]
        return next(
            (
                (line.text(node), f"{line.numpy}.array({_of(line, node)}, dtype={line.text(node.args[0])})")
                for node in calls
            ),
            None,
        )
    function = FUNCTIONS.get(name, name)
    if not hasattr(tnp, function):
        return None
    for node in calls:
        given = ", ".join([_of(line, node), *map(line.text, node.args), *(line.text(one) for one in node.keywords)])
        return line.text(node), f"{line.numpy}.{function}({given})"
    for node in line.of(ast.Attribute):
        if node.attr == name == "T":
            return line.text(node), f"{line.numpy}.{function}({line.text(node.value)})"
    return None


def _of(line: _Line, call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)
    return line.text(call.func.value)


def _length(line: _Line) -> Found | None:
    """`len(x)`: `x.shape[0]`."""
    for node in line.of(ast.Call):
        if _is_call_of(node, "len"):
            return line.text(node), f"{line.text(node.args[0])}.shape[0]"
    return None


def _rows(line: _Line) -> Found | None:
    """`for row in x`: `for row in [x[i] for i in range(x.shape[0])]`, because the length of a tensor is known."""
    for node in line.of(ast.For):
        if isinstance(node.iter, ast.Name):
            rows, target = node.iter.id, line.text(node.target)
            place = "i" if target != "i" else "j"
            return (
                f"for {target} in {rows}:",
                f"for {target} in [{rows}[{place}] for {place} in range({rows}.shape[0])]:",
            )
    for node in line.of(ast.Assign):
        (several,) = node.targets if len(node.targets) == 1 else (None,)
        if isinstance(several, ast.Tuple) and isinstance(node.value, ast.Name):
            rows = node.value.id
            parts = ", ".join(f"{rows}[{place}]" for place in range(len(several.elts)))
            return line.text(node), f"{line.text(several)} = {parts}"
    return None


def _masked(line: _Line) -> Found | None:
    """`x[x < 0] = 0`: `x = np.where(x < 0, 0, x)`; the mask is of the shape of the array, as it is made of it."""
    for node in line.of(ast.Assign):
        (target,) = node.targets if len(node.targets) == 1 else (None,)
        if not (isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)):
            continue
        mask, array = target.slice, target.value.id
        is_own = isinstance(mask, ast.Compare) and isinstance(mask.left, ast.Name) and mask.left.id == array
        is_number = isinstance(mask, ast.Compare) and all(isinstance(one, ast.Constant) for one in mask.comparators)
        if is_own and is_number and isinstance(node.value, ast.Constant):
            value = line.text(node.value)
            return line.text(node), f"{array} = {line.numpy}.where({line.text(mask)}, {value}, {array})"
    return None


def _is_call_of(node: Any, name: str) -> bool:
    """Is it a call of a function, by its name and with one argument?"""
    is_named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    return is_named and len(node.args) == 1 and not node.keywords


SAID = {
    "method": re.compile(r"Tensor'? object has no attribute '(\w+)'"),
    "length": re.compile("len is not well defined for a symbolic Tensor"),
    "rows": re.compile("Iterating over a symbolic `tf.Tensor` is not allowed"),
    "masked": re.compile("'SymbolicTensor' object does not support item assignment"),
}
"""What TensorFlow says of an obstacle, by the kind of change that gets past it."""

_KINDS: dict[str, Callable[[_Line], Found | None]] = {
    "method": _method,
    "length": _length,
    "rows": _rows,
    "masked": _masked,
}
"""What makes the change of a kind."""
