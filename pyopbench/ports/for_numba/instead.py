"""Replacements of pieces of source: text with places for parts of a piece, and the helpers that a port includes."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyopbench.model.function_source import defaults_of, root_of


@dataclass
class Instead:
    """The source that stands for a node.

    Attributes:
        text: source in which `{0}`, `{1}`, ... stand for parts; names with an underscore are of `helpers`.
        parts: expressions of the node, or its statements where the text is `BODY`.
    """

    text: str = ""
    parts: list[Any] = field(default_factory=list)

    def part(self, node: ast.expr) -> str:
        """Return what stands for a part in the text."""
        if node not in self.parts:
            self.parts.append(node)
        return f"{{{self.parts.index(node)}}}"

    def receiver(self, node: ast.expr) -> str:
        """Return what stands for a part that something follows which binds more closely than operators."""
        binds = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        return self.part(node) if binds else f"({self.part(node)})"

    def arguments(self, args: list[ast.expr], keywords: list[ast.keyword]) -> str:
        """Return arguments as they are, behind a comma."""
        named = [(f"{one.arg}=" if one.arg else "**") + self.part(one.value) for one in keywords]
        return "".join(f", {one}" for one in (*map(self.part, args), *named))


BODY = "BODY"
"""The text where a statement's own statements stand for it."""

PLACE = re.compile(r"\{(\d+)\}")
"""Where a part stands in a text."""


TYPED = "_typed"
"""The end of the name of the function that chooses, by argument types, what Numba compiles for a helper."""

OURS = re.compile(r": Any\b| -> (?:Any|None)\b|  # type: ignore\[[\w-]+\]")
"""The parts of the source of a helper that are for type checkers only."""


def helper_names(text: str) -> set[str]:
    """Return the helpers that a text calls."""
    return set(re.findall(r"(?<![\w.])_[a-z]\w*(?=\()", text))


def needed_helpers(names: Iterable[str]) -> list[str]:
    """Return helpers and those that they call, in the order of their file."""
    from pyopbench.ports.for_numba import helpers

    wanted, left = set(), list(names)
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left += [one for one in helper_names(helper_source([name])[0]) if one in vars(helpers)]
    return [name for name in vars(helpers) if name in wanted and not name.endswith(TYPED)]


def helper_source(names: Iterable[str]) -> list[str]:
    """Return the source of some helpers, each with the code that types it."""
    return ["\n\n\n".join(_texts(name)) for name in names]


def _texts(name: str) -> Iterator[str]:
    from pyopbench.ports.for_numba import helpers

    for one in (name, name + TYPED):
        function = getattr(helpers, one, None)
        if function is not None:
            yield OURS.sub("", inspect.getsource(getattr(function, "py_func", function))).strip()


@dataclass(frozen=True)
class Names:
    """What names mean where a node stands.

    Attributes:
        value_of: what a name, or an attribute of one, is in the file; None for what is local.
        lists: local names that are bound to lists.
        parameters: of the function.
        numbers: local names that are bound to numbers of Python's and to nothing else.
        bindings: what each local name is bound to, in each place; None where that is not seen.
        written: local names of which an element is assigned to.
        is_wide: is nothing of a dtype that a number of Python's could widen?
    """

    value_of: Callable[[ast.AST], Any]
    lists: frozenset[str]
    parameters: frozenset[str]
    numbers: frozenset[str] = frozenset()
    bindings: Mapping[str, Sequence[ast.expr | None]] = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    is_wide: bool = False


def names_in(function: ast.AST, value_of: Callable[[ast.AST], Any], *, is_wide: bool = False) -> Names:
    """Return what names mean in a function, of which `value_of` knows those that are global."""
    parameters = frozenset(one.arg for one in ast.walk(function) if isinstance(one, ast.arg))
    bindings = _bindings_of(function)
    written = _written_in(function)
    found = Names(value_of, _lists_of(function), parameters, bindings=bindings, written=written, is_wide=is_wide)
    while True:  # until no name is bound to one that is a number by what was found
        numbers = frozenset(
            name
            for name, values in bindings.items()
            if all(value is not None and is_python_number(value, found) for value in values)
        )
        if numbers == found.numbers:
            return found
        found = replace(found, numbers=numbers)


PYTHONS = (len, int, float, complex, round)
"""Functions that return numbers of Python's, of whatever they are given."""

KEEPING = (abs, min, max, sum, pow)
"""Those that do so of numbers of Python's."""


def is_python_number(node: ast.expr, names: Names) -> bool:
    """Is it an expression of a number of Python's, which takes the dtype of the array that it is computed with?"""
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float, complex)
    if isinstance(node, ast.Name) and node.id in names.numbers:
        return True
    if isinstance(node, ast.Name | ast.Attribute) and type(names.value_of(node)) in (int, float, complex):
        return True
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        given = names.value_of(node.value)
        if type(given) is dict:
            return type(given.get(node.slice.value)) in (int, float, complex)
    if isinstance(node, ast.Attribute):
        return node.attr in ("size", "ndim") and names.value_of(node.value) is None
    if isinstance(node, ast.Subscript):
        is_of_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        return is_of_shape and not isinstance(node.slice, ast.Slice)
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not) and is_python_number(node.operand, names)
    if isinstance(node, ast.BinOp):
        return is_python_number(node.left, names) and is_python_number(node.right, names)
    if isinstance(node, ast.IfExp):
        return is_python_number(node.body, names) and is_python_number(node.orelse, names)
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    function = names.value_of(node.func)
    if any(function is one for one in PYTHONS) or getattr(function, "__module__", None) == "math":
        return True
    return any(function is one for one in KEEPING) and all(is_python_number(one, names) for one in node.args)


def _bindings_of(function: ast.AST) -> dict[str, list[ast.expr | None]]:
    """Return what each local name is bound to, in each place; None where that is not seen."""
    found: dict[str, list[ast.expr | None]] = {}
    seen: set[int] = set()

    def bind(target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            seen.add(id(target))
            found.setdefault(target.id, []).append(value)

    for one in ast.walk(function):
        if isinstance(one, ast.Assign):
            for several in one.targets:
                for target, value in _pairs(several, one.value):
                    bind(target, value)
        elif isinstance(one, ast.AugAssign | ast.AnnAssign):
            bind(one.target, one.value)
        elif isinstance(one, ast.For) and isinstance(one.iter, ast.Call) and isinstance(one.iter.func, ast.Name):
            counted = {"range": one.target, "enumerate": getattr(one.target, "elts", [None])[0]}.get(one.iter.func.id)
            bind(counted, ast.Constant(value=0)) if counted is not None else None
        elif isinstance(one, ast.arguments):
            defaults = defaults_of(one)
            for argument in (*one.posonlyargs, *one.args, *one.kwonlyargs):
                found.setdefault(argument.arg, []).append(defaults.get(argument.arg))
    for one in ast.walk(function):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and id(one) not in seen:
            found.setdefault(one.id, []).append(None)
    return found


def _written_in(function: ast.AST) -> frozenset[str]:
    """Return the names of which an element is assigned to, or which are changed in place."""
    found = set()
    for one in ast.walk(function):
        target = one.target if isinstance(one, ast.AugAssign) else one
        if target is one and not (isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store)):
            continue
        root = root_of(target, ast.Subscript | ast.Attribute)
        if isinstance(root, ast.Name):
            found.add(root.id)
    return frozenset(found)


def _lists_of(node: ast.AST) -> frozenset[str]:
    """Return the names that a function binds to lists, and to nothing else."""
    lists: set[str] = set()
    others: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Assign):
            pairs = [pair for target in one.targets for pair in _pairs(target, one.value)]
            lists |= {target.id for target, value in pairs if isinstance(value, ast.List | ast.ListComp)}
            others |= {target.id for target, value in pairs if not isinstance(value, ast.List | ast.ListComp)}
        elif isinstance(one, ast.arg):
            others.add(one.arg)
    return frozenset(lists - others)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.Name, ast.expr]]:
    """Return names and what each is bound to: of a shape, its sizes; of what is not seen, the target itself."""
    if isinstance(target, ast.Name):
        return [(target, value)]
    if not isinstance(target, ast.Tuple | ast.List):
        return []
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        return [pair for one, its in zip(target.elts, value.elts, strict=True) for pair in _pairs(one, its)]
    of_shape = value.value if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice) else value
    sizes = isinstance(of_shape, ast.Attribute) and of_shape.attr == "shape"
    each = ast.Subscript(of_shape, ast.Constant(value=0)) if sizes else target
    return [pair for one in target.elts for pair in _pairs(one, each)]
