"""What the expressions of a body on text are, in the form in which bodies on arrays are written."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pyopbench.model.op import Op
from pyopbench.model.source_text import Source
from pyopbench.ports.arrays import STRING
from pyopbench.ports.porting.observe import ARRAY, NUMBER_KIND, OTHER, SEQUENCE, TENSOR, Observed, Seen, definition_of
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.units import Unit, Units
from pyopbench.ports.rebinding import written
from pyopbench.ports.text.depends import Dependence, Depends
from pyopbench.ports.text.kinds import NUMBERS, Kind, watch

TYPES: dict[str, type] = {"int": int, "float": float, "bool": bool}


class TextObserved(Observed):
    """What expressions were, of a body whose values are text, lists and numbers of Python's.

    Attributes:
        kinds: what Python's values were.
        depends: which of them depend on an input.
    """

    def __init__(self, op: Op, examples: Sequence[Sequence[Any]], units: Units) -> None:
        self.kinds, self.arguments = watch(op, examples)
        super().__init__({}, self.kinds.functions)
        _, body = definition_of(written(op.numpy))
        keys = {id(node): key for key, (_, node) in self.functions.items()}

        def resolve(source: Source, node: ast.expr) -> Any:
            found: Any = None
            if isinstance(node, ast.Name):
                found = _resolved(units, source, node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                home = _resolved(units, source, node.value.id)
                found = _resolved(units, home, node.attr) if isinstance(home, Source) else None
            return keys.get(id(found.node)) if isinstance(found, Unit) else None

        self.resolve = resolve
        self.depends = Depends(self.kinds, body, resolve)

    def of(self, source: Source, node: ast.AST) -> set[Seen]:
        """Return what an expression was; nothing if it was never evaluated."""
        kind = self.kinds.of(source, node)
        return set() if kind is None else {seen_of(kind, self.depends.of(source, node))}


def _resolved(units: Units, source: Source, name: str) -> Any:
    try:
        return units.resolve(source, name)
    except CannotPort:  # a local name
        return None


def seen_of(kind: Kind, dependence: Dependence) -> Seen:
    """Return a kind in the terms of arrays and tensors."""
    leaf = kind.leaf
    dtype = dtype_of_kind(leaf)
    if kind.is_sequence and not (dependence.depends and dependence.is_dynamic):
        weak = TYPES.get(leaf.name) if leaf is not None else None
        holds = dependence.depends
        dtype = dtype if leaf is not None and leaf.name == "array" else ""
        return Seen(SEQUENCE, dtype, kind.depth, weak, holds_tensors=holds)
    if not dependence.depends:
        if kind.name in TYPES:
            return Seen(NUMBER_KIND, weak=TYPES[kind.name], is_negative=kind.is_negative)
        if kind.name == "array" and kind.dtype != STRING:
            return Seen(ARRAY, kind.dtype, kind.rank, is_negative=kind.is_negative)
        return Seen(OTHER)
    if kind.name in TYPES:
        return Seen(TENSOR, NUMBERS[kind.name], 0, TYPES[kind.name])
    if kind.is_text or kind.name == "array" or (kind.is_sequence and dtype):
        return Seen(TENSOR, dtype, kind.depth, None, (None,) * kind.depth)
    return Seen(OTHER)


def dtype_of_kind(kind: Kind | None) -> str:
    """Return the dtype of a tensor that holds what is of a kind; empty for what no tensor holds."""
    if kind is None:
        return ""
    if kind.is_text:
        return STRING
    return kind.dtype if kind.name == "array" else NUMBERS.get(kind.name, "")
