"""The types of a body's names and expressions, as an instrumented copy of it shows them while it runs on examples.

Numba chooses dtypes as the compiler sees the code, NumPy as the values are. Where the two differ, a rule asks here what
NumPy had. Unlike `porting.observe`, this only notes types: the values stay what they are, and loops run to their end.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from pyopbench.model.syntax import number_of
from pyopbench.ports import arrays
from pyopbench.ports.extract.definitions import CannotPort, definition_of
from pyopbench.ports.functions.table import name_of
from pyopbench.ports.porting.facts import TooLong
from pyopbench.ports.porting.watched_values import METHODS
from pyopbench.ports.rebinding import instrument, unwrap

ARRAY, SCALAR, PYTHON = "array", "scalar", "python"
LIST, TUPLE, OTHER = "list", "tuple", "other"

STRICT = {"float16", "float32", "complex64", "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64"}
"""Dtypes that NumPy keeps next to numbers of Python's; Numba computes with those in 64 bits, signed or floating."""

SEE, DECIDED = "pyopbench_see", "pyopbench_decided"
"""The names that a copy of a body calls with each value, and with each condition."""

MOST_ITEMS = 50
"""Items of a list that are looked at."""

MOST_FORCED = 20
"""Runs in which a condition that was always true, or always false, is inverted."""

MOST_STEPS = 1_000_000
"""Expressions after which no further run begins, one or two seconds. A run with a condition inverted is stopped then,
because it might never end by itself; any other one after ten times as many."""


@dataclass(frozen=True)
class Type:
    """What an expression was."""

    kind: str  # `array` and `scalar` are NumPy's, `python` is a number of Python's
    dtype: str = ""  # NumPy's name of it; of a number of Python's, that of an array of such numbers
    rank: int = 0
    items: frozenset[Type] = frozenset()  # of a list or a tuple


def type_of(value: Any) -> Type:
    """Return the type of a value."""
    if isinstance(value, np.ndarray):
        return Type(ARRAY, arrays.name_of(value.dtype), value.ndim)
    if isinstance(value, np.generic):
        return Type(SCALAR, arrays.name_of(value.dtype))
    if isinstance(value, bool | int | float | complex):
        return Type(PYTHON, np.dtype(type(value)).name)
    if isinstance(value, list | tuple):
        kind = LIST if isinstance(value, list) else TUPLE
        return Type(kind, items=frozenset(map(type_of, value[:MOST_ITEMS])))
    return Type(OTHER)


Place = tuple[str, int]
"""File of a node, and its number there."""


@dataclass
class Types:
    """The types of each expression that was evaluated, by file and number of the node."""

    seen: dict[Place, set[Type]] = field(default_factory=dict)

    def of(self, path: str, node: ast.AST) -> set[Type]:
        """Return the types of an expression; none if no example evaluates it."""
        if isinstance(node, ast.Constant):
            return {type_of(node.value)}
        return self.seen.get((path, number_of(node)), set())

    @cached_property
    def is_strict(self) -> bool:
        """Is any array or number of NumPy's of a dtype that Numba may not keep?"""
        several = (one for types in self.seen.values() for one in types)
        return any(one.kind in (ARRAY, SCALAR) and one.dtype in STRICT for one in several)


def types_of(body: Callable[..., Any], examples: Iterable[Sequence[Any]], types: Types | None = None) -> Types:
    """Run a body on examples, also with conditions inverted, and return the types of its expressions.

    Args:
        body: the user's function, or what stands around it and gives it its arguments.
        examples: arrays for its arguments, or tuples of arrays.
        types: what other functions of the same port have shown, to which these are added.

    Raises:
        Exception: whatever the body raises on an example.
    """
    types = types or Types()
    runs = _Runs(types)
    path = unwrap(body).__code__.co_filename
    names = {SEE: partial(runs.see, path, {}), DECIDED: partial(runs.decided, path)}
    copied = instrument(body, instrumented, names)
    given = list(examples)
    for example in given:
        with contextlib.suppress(TooLong):
            runs.run(copied, example)
        if runs.all_steps > MOST_STEPS:
            break
    for _ in range(MOST_FORCED):
        if runs.all_steps > MOST_STEPS or not runs.turn_one():
            break
        with contextlib.suppress(Exception, TooLong):  # off its course, a body may raise anything
            runs.run(copied, given[0])
    return types


class _Runs:
    def __init__(self, types: Types) -> None:
        self.types = types
        self.on_course: set[Place] = set()
        self.answers: dict[Place, set[bool]] = {}
        self.turned: set[Place] = set()
        self.forced: Place | None = None
        self.steps = self.all_steps = 0

    def run(self, body: Callable[..., Any], example: Sequence[Any]) -> None:
        self.steps = 0
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                body(*map(_fresh, example))
            finally:
                self.all_steps += self.steps

    def turn_one(self) -> bool:
        """Have the next run invert a condition that had one answer, where it is first asked; False if there is none."""
        left = [place for place, answers in self.answers.items() if len(answers) == 1 and place not in self.turned]
        self.forced = left[0] if left else None
        self.turned.update(left[:1])
        return bool(left)

    def see(self, path: str, known: dict[Any, None], number: int, value: Any) -> Any:
        """Note the type of an expression; with a condition inverted, only if it was not evaluated before."""
        self.steps += 1
        if self.steps > (MOST_STEPS if self.turned else 10 * MOST_STEPS):
            raise TooLong
        kind, place = type(value), (path, number)
        key: tuple[Any, ...] = (number, kind)
        if kind is np.ndarray:
            key = (number, value.dtype, value.ndim)
        elif kind is list or kind is tuple:
            key = (number, type_of(value))
        if key not in known:
            known[key] = None
            if not self.turned:
                self.on_course.add(place)
            if not self.turned or place not in self.on_course:
                self.types.seen.setdefault(place, set()).add(type_of(value))
        return value

    def decided(self, path: str, number: int, value: Any) -> bool:
        """Return the answer of a condition, or the other one."""
        place, answer = (path, number), bool(value)
        if self.forced == place:
            self.forced = None
            return not answer
        self.answers.setdefault(place, set()).add(answer)
        return answer


def instrumented(function: Any) -> tuple[str, ast.FunctionDef] | None:
    """Return the file of a function and a definition of it that shows its values; None if it has no definition."""
    try:
        source, node = definition_of(function)
    except CannotPort:
        return None
    if node not in source.tree.body:  # a decorator has replaced a function
        return None
    definition = _Showing().visit(copy.deepcopy(node))
    definition.decorator_list = []
    return source.path, definition


def _fresh(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_fresh, value))
    return np.array(value)[()]


class _Showing(ast.NodeTransformer):
    """Has each expression that is read shown, and each condition asked for."""

    def visit(self, node: ast.AST) -> Any:
        """Return the replacement for a node."""
        if isinstance(node, ast.JoinedStr | ast.Constant):
            return node
        found = super().visit(node)
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            node.test = _calling(DECIDED, node.test, ast.Constant(number_of(node)), node.test)
        is_read = isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        is_shown = is_read and not isinstance(node, ast.Slice | ast.Starred)
        return _calling(SEE, node, ast.Constant(number_of(node)), found) if is_shown else found

    def visit_Call(self, node: ast.Call) -> Any:
        """Return a call that shows its arguments, and the object of a method."""
        if isinstance(node.func, ast.Attribute):
            node.func.value = self.visit(node.func.value)
        node.args = [self.visit(one) for one in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Return an item; a tuple with slices is nothing outside of brackets."""
        node.value = self.visit(node.value)
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [self.visit(one) for one in node.slice.elts]
        else:
            node.slice = self.visit(node.slice)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Return `x += y` with `x` shown before it, with the target's type, and after it, with the statement's."""
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name):
            return node
        looks = [
            ast.Expr(_calling(SEE, node, ast.Constant(number_of(one)), ast.Name(node.target.id, ast.Load())))
            for one in (node.target, node)
        ]
        return [looks[0], node, looks[1]]


def _calling(name: str, place: ast.AST, *arguments: ast.expr) -> ast.Call:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), list(arguments), []), place)


# What a rule asks, and what it answers.


def tree(text: str, **parts: Any) -> Any:
    """Return the tree of an expression or a statement in which copies of parts replace names.

    A name with a star, as in `(*ITEMS,)`, is replaced by a list of them.
    """
    statement = _Filling(parts).visit(ast.parse(text).body[0])
    return statement.value if isinstance(statement, ast.Expr) else statement


class _Filling(ast.NodeTransformer):
    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> Any:
        return copy.deepcopy(self.parts.get(node.id, node))

    def visit_Starred(self, node: ast.Starred) -> Any:
        return self.visit(node.value)


@dataclass(frozen=True)
class Names:
    """What is known of the names and expressions of a function."""

    value_of: Callable[[ast.AST], Any]  # what a name, or an attribute of one, is in the file; None for what is local
    types: Types
    path: str
    variables: dict[str, set[Type]]  # all types that a local name had

    def of(self, node: ast.AST) -> set[Type]:
        """Return the types that an expression had; none if no example evaluated it."""
        return self.types.of(self.path, node)

    def in_numba(self, node: ast.AST) -> set[Type]:
        """Return all types that Numba has to unify: of a name, also those elsewhere and on other branches."""
        if isinstance(node, ast.Name):
            return self.of(node) | self.variables.get(node.id, set())
        of_items = self.of(node.value) if isinstance(node, ast.Subscript) else set()
        return self.of(node) | {item for one in of_items for item in one.items}

    def are(self, node: ast.AST, *kinds: str) -> bool:
        """Was an expression evaluated, and always one of these kinds?"""
        types = self.of(node)
        return bool(types) and all(one.kind in kinds for one in types)

    def may_be(self, node: ast.AST, *kinds: str) -> bool:
        """Was an expression ever one of these kinds?"""
        return any(one.kind in kinds for one in self.of(node))

    def rank(self, node: ast.AST) -> int | None:
        """Return how many axes an array has; None for what is no array, or has several numbers of axes."""
        ranks = {one.rank if one.kind == ARRAY else None for one in self.of(node)}
        return ranks.pop() if len(ranks) == 1 else None

    def dtype(self, node: ast.AST) -> str:
        """Return the dtype of NumPy's arrays and numbers that an expression was; empty for what is no such thing.

        Raises:
            CannotPort: it had several, of which Numba may choose another one.
        """
        dtypes = {one.dtype for one in self.of(node) if one.kind in (ARRAY, SCALAR)}
        if len(dtypes) > 1 and dtypes & STRICT:
            raise self.refusal(node, f"`{ast.unparse(node)}` has several dtypes: {', '.join(sorted(dtypes))}")
        return dtypes.pop() if len(dtypes) == 1 else ""

    def called(self, node: ast.Call) -> tuple[str, list[ast.expr]]:
        """Return the name of a function that is called, such as `np.sum`, and its arguments by position.

        Of a method of an array, the name is that of NumPy's function, or its own.
        """
        if isinstance(node.func, ast.Attribute) and self.are(node.func.value, ARRAY, SCALAR):
            name = node.func.attr
            is_function = name not in METHODS and hasattr(np, name)
            return f"np.{name}" if is_function else name, [node.func.value, *node.args]
        function = self.value_of(node.func)
        if isinstance(getattr(function, "__self__", None), np.random.RandomState):
            drawing = function.__name__
            return f"np.random.{drawing}" if function == getattr(np.random, drawing) else "", list(node.args)
        return name_of(function), list(node.args)

    def require(self, node: ast.AST) -> None:
        """Check that an expression was evaluated, if dtypes are in use that Numba would not keep.

        Raises:
            CannotPort: it was not.
        """
        if not self.of(node) and self.types.is_strict:
            why = f"no example evaluates `{ast.unparse(node)}`, so its dtype is not known"
            raise self.refusal(node, why, fix="add an example that does")

    def refusal(self, node: ast.AST, why: str, fix: str = "") -> CannotPort:
        """Return the refusal of an expression."""
        return CannotPort(why, fix=fix, place=(self.path, node.lineno))  # type: ignore[attr-defined]


def names_in(function: ast.AST, value_of: Callable[[ast.AST], Any], types: Types, path: str) -> Names:
    """Return what is known in a function, of which `value_of` knows the names that are global."""
    variables: dict[str, set[Type]] = {}
    for node in ast.walk(function):
        pairs: list[tuple[ast.AST, ast.AST]] = [(node, node)]  # perhaps a name, and what that is read as or bound to
        if isinstance(node, ast.AugAssign):
            pairs.append((node.target, node))
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):  # type: ignore[attr-defined]
                pairs += zip(target.elts, node.value.elts, strict=False)  # type: ignore[attr-defined]
            else:
                pairs.append((target, node.value))  # type: ignore[attr-defined]
        for name, value in pairs:
            if isinstance(name, ast.Name):
                variables.setdefault(name.id, set()).update(types.of(path, value))
    return Names(value_of, types, path, variables)
