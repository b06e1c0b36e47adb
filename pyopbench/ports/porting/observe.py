"""What the expressions of a body are, seen while it is traced: which are tensors, of which dtype and how many axes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model import definitions
from pyopbench.model.source_text import NUMBER, Function, Source, number_of
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.short_loops import first_rounds
from pyopbench.ports.rebinding import arrange, copy_functions, written
from pyopbench.ports.traced.array import TracedArray
from pyopbench.ports.traced.creation import is_dynamic
from pyopbench.ports.traced.refusal import Refused
from pyopbench.ports.traced.trace import traced

SEE = "pyopbench_see"
"""The name that a copy of a body calls with each value."""

TENSOR, ARRAY, NUMBER_KIND, SEQUENCE, OTHER = "tensor", "array", "number", "sequence", "other"


@dataclass(frozen=True)
class Seen:
    """What an expression was, once.

    Attributes:
        kind: `tensor` if it depends on an input, `array` if it is one of NumPy's, `number`, `sequence`, or `other`.
        dtype: NumPy's name of it, of tensors and arrays; of a sequence that of its items if they are of one.
        rank: how many axes it has.
        weak: the type of Python's number that it stands for.
        shape: of a tensor, with None for what only the graph knows.
        holds_tensors: is there a tensor in a sequence?
        is_negative: is an element of an array or number below 0?
    """

    kind: str
    dtype: str = ""
    rank: int = 0
    weak: type | None = None
    shape: tuple[int | None, ...] = ()
    holds_tensors: bool = False
    is_negative: bool = False


@dataclass
class Observed:
    """What the expressions of a body and of its helpers were, by file and number of the node.

    Attributes:
        seen: what each was, once for each kind of thing.
        functions: the definitions that were called, with their files.
    """

    seen: dict[tuple[str, int], set[Seen]] = field(default_factory=dict)
    functions: dict[tuple[str, int], tuple[Source, Function]] = field(default_factory=dict)

    def of(self, source: Source, node: ast.AST) -> set[Seen]:
        """Return what an expression was; nothing if it was never evaluated."""
        return self.seen.get((source.path, number_of(node)), set())


GROWING = (ast.Mult, ast.Pow, ast.LShift)
"""Operators that make integers of more digits than those they are given have together."""


def multiplies_integers(observed: Observed) -> bool:
    """Is a product or a power of Python's integers computed from an input, which has 64 bits in a port?"""
    for source, function in observed.functions.values():
        for node in ast.walk(function):
            if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, GROWING):
                made = observed.of(source, node if isinstance(node, ast.BinOp) else node.target)
                if any(one.kind == TENSOR and one.weak is int for one in made):
                    return True
    return False


def observe(body: Callable[..., Any], examples: Sequence[Sequence[Any]]) -> Observed:
    """Trace a body on examples and return what its expressions were.

    Loops that cannot be traced as a whole, because values decide how often or what they do, are traced for a few
    rounds: what is written is checked by its own test.

    Args:
        body: the user's function, or what stands around it and gives it its arguments.
        examples: arrays for its arguments.

    Raises:
        CannotPort: it is no function whose source can be found, or cannot be traced.
    """
    definition_of(written(body))
    try:
        return _observed(body, examples, rounds=None)
    except Refused as refusal:
        try:
            return _observed(body, examples, rounds=first_rounds)
        except Exception:  # noqa: BLE001 - a body whose loops end early may do anything
            raise CannotPort(str(refusal.message), place=refusal.place) from refusal


Rounds = Callable[[Any], Any]


def _observed(body: Callable[..., Any], examples: Sequence[Sequence[Any]], rounds: Rounds | None) -> Observed:
    """Trace a body on examples; what its loops go over is given to `rounds` first, if there is one."""
    observed = Observed()
    watched = copy_functions(body, lambda one: _watched(one, observed, rounds))
    on_tensors = arrange(body, traced(watched))
    for example in examples:
        specs = [tf.TensorSpec(np.shape(one), np.asarray(one).dtype) for one in example]
        tf.function(on_tensors, autograph=False).get_concrete_function(*specs)
    return observed


def definition_of(function: Any) -> tuple[Source, Function]:
    """Return the module that a function was extracted to and its definition there.

    Raises:
        CannotPort: it is none of its top level: a decorator has put another function in its place.
    """
    source, node = definitions.definition_of(function)
    if node not in source.tree.body:
        raise CannotPort(
            f"a decorator has put `{function.__name__}` in the place of a function",
            fix="leave the decorator out",
            place=(source.path, node.lineno),
        )
    return source, node


def _watched(function: Any, observed: Observed, rounds: Rounds | None) -> Any:
    """Return a copy of a function, with the same globals, that shows what each of its expressions is."""
    source, node = definition_of(function)
    observed.functions[source.path, number_of(node)] = source, node

    def see(number: int, value: Any) -> Any:
        observed.seen.setdefault((source.path, number), set()).add(seen_as(value))
        return value

    see.__module__ = __name__
    watched = _Watching(has_rounds=rounds is not None).visit(copy.deepcopy(node))
    tree = ast.fix_missing_locations(ast.Module([watched], []))
    scope, name = function.__globals__, f"{SEE}_{len(observed.functions)}"
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Name) and inner.id == SEE:
            inner.id = name
    see.rounds = rounds  # type: ignore[attr-defined]
    before = scope.get(node.name)
    exec(compile(tree, source.path, "exec", dont_inherit=True), scope)
    found = scope[node.name]
    scope[node.name], scope[name] = before, see
    found.__defaults__, found.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    found.__module__ = function.__module__
    return found


class _Watching(ast.NodeTransformer):
    """Puts a call around each expression whose value may be of interest, and one around what loops go over."""

    def __init__(self, *, has_rounds: bool) -> None:
        self.has_rounds = has_rounds

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        if self.has_rounds:
            rounds = ast.Attribute(ast.Name(SEE, ast.Load()), "rounds", ast.Load())
            node.iter = ast.copy_location(ast.Call(rounds, [node.iter], []), node.iter)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list, node.returns = [], None
        for one in ast.walk(node.args):
            if isinstance(one, ast.arg):
                one.annotation = None
        several = (self.visit(one) for one in node.body)
        node.body = [one for found in several for one in (found if isinstance(found, list) else [found])]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if isinstance(node.target, ast.Name):
            number = getattr(node.target, NUMBER)
            look = ast.Expr(_seeing(number, ast.Name(node.target.id, ast.Load()), node.target))
            return [look, self.generic_visit(node)]
        return self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        return node

    def visit(self, node: ast.AST) -> Any:
        number = getattr(node, NUMBER, None)
        found = super().visit(node)
        if number is None or not isinstance(node, _WATCHED) or not isinstance(found, ast.expr):
            return found
        return found if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del) else _seeing(number, found, node)


_WATCHED = (
    ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.IfExp, ast.List, ast.ListComp, ast.Name, ast.Attribute,
    ast.Subscript, ast.Tuple, ast.UnaryOp, ast.Constant,
)  # fmt: skip


def _seeing(number: int, value: ast.expr, place: ast.AST) -> ast.Call:
    call = ast.Call(ast.Name(SEE, ast.Load()), [ast.Constant(number), value], [])
    return ast.copy_location(call, place)


def seen_as(value: Any) -> Seen:
    """Return what a value is."""
    if type(value) is TracedArray:
        if not value.is_known:
            shape = value.static_shape
            return Seen(TENSOR, value.dtype.name, len(shape), value.weak, shape)
        value = value.value if value.weak is None else value.value.item()
    if isinstance(value, np.ndarray | np.generic):
        value = np.asarray(value)
        dtype = value.dtype
        negative = dtype.kind in "if" and value.size > 0 and bool(np.min(value) < 0)
        return Seen(ARRAY, dtype.name, value.ndim, shape=value.shape, is_negative=negative)
    if isinstance(value, bool | int | float | complex):
        negative = not isinstance(value, complex) and value < 0
        return Seen(NUMBER_KIND, weak=type(value), is_negative=negative)
    if isinstance(value, list | tuple):
        return _sequence(value)
    return Seen(OTHER)


def _sequence(value: Any) -> Seen:
    items = [seen_as(one) for one in value]
    dtypes = {one.dtype for one in items if one.dtype}
    ranks = {one.rank for one in items}
    weak = {one.weak for one in items}
    return Seen(
        SEQUENCE,
        dtypes.pop() if len(dtypes) == 1 else "",
        1 + max(ranks, default=0),
        weak.pop() if len(weak) == 1 else None,
        holds_tensors=is_dynamic(value),
        is_negative=any(one.is_negative for one in items),
    )
