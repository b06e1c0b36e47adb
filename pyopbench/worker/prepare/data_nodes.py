"""Which nodes of a graph work on data: those that its arguments or its state reach by other ways than shapes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from tensorflow.python.framework import op_def_registry

ARGUMENTS = frozenset({"_Arg", "_DeviceArg", "Placeholder"})
"""Types that arguments of a function have: in a graph that is executed, and in one that is built."""

SHAPES = frozenset({"Shape", "ShapeN", "Size", "Rank"})
"""Types whose value hangs on the shape of their input alone."""


def names_on_data(nodes: Iterable[Any]) -> frozenset[str]:
    """Return the names of the nodes that an argument or state reaches through inputs.

    A call of a function is one where its inputs are. Control edges are no inputs: they say when, not on what.

    Args:
        nodes: `NodeDef`s of one graph.
    """
    users: dict[str, list[str]] = defaultdict(list)
    found: set[str] = set()
    shapes = set()
    waiting = []
    for node in nodes:
        if node.op in SHAPES:
            shapes.add(node.name)
        for given in node.input:
            if not given.startswith("^"):
                users[given.split(":")[0]].append(node.name)
        if node.op in ARGUMENTS or _is_stateful(node.op):
            waiting.append(node.name)
    while waiting:
        name = waiting.pop()
        if name not in found and name not in shapes:
            found.add(name)
            waiting += users[name]
    return frozenset(found)


def calls_function(kind: str) -> bool:
    """Say whether nodes of a type call functions of the graph."""
    # A call of a Defun has the Defun's name for a type, and so no definition in the registry.
    definition = op_def_registry.get(kind)
    return definition is None or any(attribute.type in ("func", "list(func)") for attribute in definition.attr)


def _is_stateful(kind: str) -> bool:
    # What a called function holds is seen where it is inlined, so the call itself says nothing.
    return not calls_function(kind) and bool(op_def_registry.get(kind).is_stateful)
