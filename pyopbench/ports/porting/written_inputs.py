"""Which inputs a body may write to: in a graph, a callback's arrays share memory with the caller's tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pyopbench.ports.porting.names import METADATA, VIEWS, name_of
from pyopbench.ports.porting.units import Unit, Units
from pyopbench.ports.porting.watching import parameters_of
from pyopbench.ports.porting.writing_functions import FUNCTIONS, arguments_of

METHODS = ("byteswap", "fill", "itemset", "partition", "put", "resize", "sort")
"""Methods that write to their array."""


def written_inputs(body: Callable[..., Any], examples: Sequence[Sequence[Any]], units: Units, root: Unit) -> list[int]:
    """Return the positions of the inputs that a body may write to.

    For the examples, the body is run on read-only arrays; a write then fails even if its mask is false everywhere.
    Statements that no example reaches are only read, so an input may be reported although it is not written to.

    Args:
        body: takes the inputs by position.
        examples: arrays for it.
        units: the top-level statements of the body.
        root: the statement that defines the body itself.
    """
    found = set().union(*(_written_on(body, example) for example in examples))
    read = _Reader(units).written(root)
    names = parameters_of(root.node)
    return sorted(found | {place for place, name in enumerate(names) if name in read})


def writes_to_arrays(function: Callable[..., Any], arrays: Sequence[Any]) -> bool:
    """Does a function of arrays fail only if it cannot write to them?"""
    return _fails(function, [_read_only(one) for one in arrays]) and not _fails(function, [*map(np.array, arrays)])


def _written_on(body: Callable[..., Any], example: Sequence[Any]) -> Iterator[int]:
    if not writes_to_arrays(body, example):
        return
    for place, array in enumerate(example):
        others = [*map(np.array, example)]
        if writes_to_arrays(lambda one: body(*others[:place], one, *others[place + 1 :]), [array]):  # noqa: B023
            yield place


def _read_only(array: Any) -> Any:
    array = np.array(array)
    array.flags.writeable = False
    return array


def _fails(function: Callable[..., Any], arrays: Sequence[Any]) -> bool:
    try:
        function(*arrays)
    except Exception:  # noqa: BLE001 - the body is the user's own
        return True
    return False


class _Reader:
    """Reads which parameters of functions may be written to, in the order of the statements."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self.known: dict[int, set[str]] = {}

    def written(self, unit: Unit) -> set[str]:
        """Return the names of the parameters of a function that it may write to."""
        function = unit.node
        if not isinstance(function, ast.FunctionDef):
            return set()
        if id(function) not in self.known:
            self.known[id(function)] = set()  # of a function that calls itself
            of_names = {name: {name} for name in parameters_of(function)}
            self.known[id(function)] = self._in_block(unit, function.body, of_names, is_sure=True)
        return self.known[id(function)]

    def _in_block(
        self, unit: Unit, block: Iterable[ast.stmt], of_names: dict[str, set[str]], *, is_sure: bool
    ) -> set[str]:
        """Return what statements write to.

        Args:
            unit: the function.
            block: the statements.
            of_names: the parameters that the array of a name may be, or may be a view of; it is kept up to date.
            is_sure: do they always run if the function does? Only then does an assignment replace the array of a name.
        """
        found: set[str] = set()
        for statement in block:
            blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
            blocks += [one.body for one in (*getattr(statement, "handlers", []), *getattr(statement, "cases", []))]
            if any(blocks):
                self._bind_loop(statement, of_names)
                for _ in range(2):  # the second time with the names as the first pass of the loop left them
                    for inner in blocks:
                        found |= self._in_block(unit, inner, of_names, is_sure=isinstance(statement, ast.With))
                heads: list[ast.AST] = [one for one in ast.iter_child_nodes(statement) if isinstance(one, ast.expr)]
            else:
                heads = [statement]
            for node in (one for head in heads for one in ast.walk(head)):
                found |= self._by(unit, node, of_names)
            if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                for target in targets:
                    self._bind(target, statement.value, of_names, is_sure=is_sure)
        return found

    def _bind_loop(self, statement: ast.stmt, of_names: dict[str, set[str]]) -> None:
        if isinstance(statement, ast.For):
            arrays = set().union(*(self._origins(one, of_names) for one in ast.walk(statement.iter)))
            for name in (one for one in ast.walk(statement.target) if isinstance(one, ast.Name)):
                of_names[name.id] = of_names.get(name.id, set()) | arrays

    def _bind(self, target: ast.expr, value: ast.expr, of_names: dict[str, set[str]], *, is_sure: bool) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            is_paired = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
            values = value.elts if is_paired else [value] * len(target.elts)  # type: ignore[attr-defined]
            for one, other in zip(target.elts, values, strict=True):
                self._bind(one, other, of_names, is_sure=is_sure)
        elif isinstance(target, ast.Name):
            kept = set() if is_sure else of_names.get(target.id, set())
            of_names[target.id] = kept | self._origins(value, of_names)

    def _origins(self, node: ast.AST, of_names: dict[str, set[str]]) -> set[str]:
        """Return the parameters that a value may be, or be a view of."""
        if isinstance(node, ast.Name):
            return of_names.get(node.id, set())
        if isinstance(node, ast.Attribute):
            return set() if node.attr in METADATA else self._origins(node.value, of_names)
        if isinstance(node, ast.Subscript | ast.Starred | ast.NamedExpr):
            return self._origins(node.value, of_names)
        parts: list[ast.expr] = []
        if isinstance(node, ast.IfExp):
            parts = [node.body, node.orelse]
        if isinstance(node, ast.BoolOp):
            parts = node.values
        if isinstance(node, ast.Tuple | ast.List):
            parts = node.elts
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            own = isinstance(node.func, ast.Name) and node.func.id in self.units.by_name
            is_method = called in VIEWS and isinstance(node.func, ast.Attribute)
            parts = [*node.args] if called in VIEWS or own else []
            parts += [node.func.value] if is_method else []  # type: ignore[attr-defined]
        return set().union(*(self._origins(one, of_names) for one in parts))

    def _by(self, unit: Unit, node: ast.AST, of_names: dict[str, set[str]]) -> set[str]:
        """Return what an expression or an assignment writes to."""
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            return self._origins(node.value, of_names)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            return of_names.get(node.target.id, set())
        if not isinstance(node, ast.Call):
            return set()
        found = set().union(*(self._origins(one.value, of_names) for one in node.keywords if one.arg == "out"))
        value = self._value(unit, node.func)
        named = name_of(value)
        outputs = node.args[value.nin :] if isinstance(value, np.ufunc) else []
        outputs += node.args[:1] if named.endswith(".at") or named in FUNCTIONS else []
        found |= set().union(*(self._origins(one, of_names) for one in outputs))
        if isinstance(node.func, ast.Attribute) and value is None:
            changed = [node.func.value] if node.func.attr in METHODS else []
            changed += node.args[:1] if node.func.attr == "shuffle" else []  # of a generator
            found |= set().union(*(self._origins(one, of_names) for one in changed))
        if isinstance(node.func, ast.Name) and node.func.id in unit.reads:
            called = self.units.resolve(unit.source, node.func.id)
            if isinstance(called, Unit):
                found |= self._by_call(called, node, of_names)
        return found

    def _by_call(self, called: Unit, call: ast.Call, of_names: dict[str, set[str]]) -> set[str]:
        written = self.written(called)
        given = arguments_of(called.node, call) if written else ()
        return set().union(*(self._origins(value, of_names) for name, value in given if name in written))

    def _value(self, unit: Unit, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self.units.value(unit.source, node.id) if node.id in unit.reads else None
        if isinstance(node, ast.Attribute):
            return getattr(self._value(unit, node.value), node.attr, None)
        return None
