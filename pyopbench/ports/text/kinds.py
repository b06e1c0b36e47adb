"""What the expressions of a body on text are: seen by running a watched copy of it on Python's own values."""

from __future__ import annotations

import ast
import copy
import types
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.op import Op
from pyopbench.model.source_text import NUMBER, Function, Source, number_of
from pyopbench.ports.arrays import STRING, as_given, dtype_of
from pyopbench.ports.porting.observe import definition_of
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.watching import SEE
from pyopbench.ports.rebinding import BODY, CALLED, copy_functions, written

LONGEST_SEEN = 1_000
"""Items of a list that are looked at."""


@dataclass(frozen=True)
class Kind:
    """What a value of Python's is.

    Attributes:
        name: `str`, `bytes`, `int`, `float`, `bool`, `none`, `array`, `list`, `tuple`, `set`, `dict`, `counter` or
            `other`.
        dtype: of an array, `string` for one of text.
        rank: of an array.
        text: of an array of text, `str` or `bytes`; empty of one that nothing was written to yet.
        item: what all items of a list, tuple or set are; None if it is empty or they differ.
        is_empty: of a list, was it seen only empty?
        is_negative: of a number or an array, is one below 0?
        is_cut: of an array of text, does it cut what is written to it, because its items have a fixed size?
    """

    name: str
    dtype: str = ""
    rank: int = 0
    text: str = ""
    item: Kind | None = None
    is_empty: bool = False
    is_negative: bool = False
    is_cut: bool = False

    @property
    def is_text(self) -> bool:
        """Is it one text?"""
        return self.name in ("str", "bytes")

    @property
    def is_sequence(self) -> bool:
        """Is it a list or a tuple?"""
        return self.name in ("list", "tuple")

    @property
    def leaf(self) -> Kind | None:
        """What is in the innermost lists; of what is no list, itself."""
        found: Kind | None = self
        while found is not None and found.name in ("list", "tuple", "set"):
            found = found.item
        return found

    @property
    def depth(self) -> int:
        """How many lists are around a leaf; of an array its axes."""
        if self.name in ("list", "tuple", "set"):
            return 1 + (self.item.depth if self.item is not None else 0)
        return self.rank


OTHER_KIND = Kind("other")
NUMBERS = {"int": "int64", "float": "float64", "bool": "bool"}
"""Kinds of Python's numbers, and the dtypes that NumPy gives them."""


@dataclass
class Kinds:
    """What expressions were, by file and number of the node.

    Attributes:
        seen: all kinds of each.
        functions: the definitions that were called, with their files.
    """

    seen: dict[tuple[str, int], set[Kind]] = field(default_factory=dict)
    functions: dict[tuple[str, int], tuple[Source, Function]] = field(default_factory=dict)

    def of(self, source: Source, node: ast.AST) -> Kind | None:
        """Return what an expression was; None if it was never evaluated.

        Raises:
            CannotPort: it was text once and a number another time, or the like.
        """
        seen = self.seen.get((source.path, number_of(node)))
        if not seen:
            return None
        found = merged(seen)
        if found is None:
            names = " and ".join(sorted({one.name if one.name != "array" else one.dtype for one in seen}))
            raise CannotPort(
                f"`{ast.unparse(node)}` is of several kinds: {names}",
                fix="give each a name of its own",
                place=(source.path, getattr(node, "lineno", 1)),
            )
        return found


def merged(kinds: set[Kind]) -> Kind | None:
    """Return the one kind that several are, with empty lists as what the others are; None if they differ."""
    names = {one.name for one in kinds}
    if len(names) > 1:
        return _number_of_several(kinds)
    (name,) = names
    if name in ("list", "tuple", "set"):
        items = {one.item for one in kinds if not one.is_empty}
        if not items:
            return next(iter(kinds))
        if None in items:
            return Kind(name)
        item = merged({one for one in items if one is not None})
        return Kind(name, item=item)
    kinds = {one for one in kinds if one.text or one.dtype != STRING} or kinds
    if len({(one.dtype, one.rank, one.text) for one in kinds}) > 1:
        return None
    is_negative, is_cut = any(one.is_negative for one in kinds), any(one.is_cut for one in kinds)
    return replace(next(iter(kinds)), is_negative=is_negative, is_cut=is_cut)


def _number_of_several(kinds: set[Kind]) -> Kind | None:
    """Return what a number is that is one of Python's or of NumPy's, whose dtype it then has in a graph."""
    if not all(one.name in ("int", "float") or (one.name == "array" and not one.rank) for one in kinds):
        return None
    is_negative = any(one.is_negative for one in kinds)
    dtypes = {one.dtype for one in kinds if one.name == "array"}
    if not dtypes:
        return Kind("float", is_negative=is_negative)
    (dtype, *others) = dtypes
    is_float = any(one.name == "float" for one in kinds)
    if others or not dtype.startswith(("float",) if is_float else ("float", "int", "uint")):
        return None
    return Kind("array", dtype, is_negative=is_negative)


def kind_of(value: Any) -> Kind:
    """Return what a value is."""
    if tf.is_tensor(value) and hasattr(value, "numpy"):
        value = value.numpy()
        return kind_of(value if isinstance(value, bytes) else np.asarray(value))
    if value is None:
        return Kind("none")
    if isinstance(value, str | bytes):
        return Kind("str" if isinstance(value, str) else "bytes")
    if isinstance(value, np.ndarray | np.generic):
        return _array(np.asarray(value))
    if isinstance(value, bool | int | float):
        return Kind(type(value).__name__, is_negative=value < 0)
    if isinstance(value, Counter):
        return Kind("counter", item=_items(list(value)))
    if isinstance(value, dict):
        return Kind("dict")
    if isinstance(value, list | tuple | set | frozenset):
        name = "set" if isinstance(value, set | frozenset) else type(value).__name__
        if name not in ("list", "tuple", "set"):  # a named tuple
            return OTHER_KIND
        return Kind(name, item=_items(value), is_empty=not value)
    return OTHER_KIND


def _items(values: Any) -> Kind | None:
    found = {kind_of(one) for one, _ in zip(values, range(LONGEST_SEEN), strict=False)}
    return merged(found) if found else None


def _array(value: Any) -> Kind:
    if value.dtype.kind in "SU":
        return Kind("array", STRING, value.ndim, "bytes" if value.dtype.kind == "S" else "str", is_cut=True)
    if value.dtype.kind == "O":
        texts = {type(one).__name__ for one in value.ravel()[:LONGEST_SEEN]} or {"bytes"}
        if texts == {"NoneType"}:  # as `np.empty` makes it, to be filled
            return Kind("array", STRING, value.ndim)
        if len(texts - {"NoneType"}) == 1:
            texts -= {"NoneType"}
        if len(texts) == 1 and texts <= {"str", "bytes"}:
            return Kind("array", STRING, value.ndim, texts.pop())
        return OTHER_KIND
    is_negative = value.dtype.kind in "if" and value.size > 0 and bool(np.min(value) < 0)
    return Kind("array", value.dtype.name, value.ndim, is_negative=is_negative)


def watch(op: Op, examples: Sequence[Sequence[Any]]) -> tuple[Kinds, list[Kind]]:
    """Run a watched copy of a body on examples; return what its expressions were, and its arguments.

    Raises:
        CannotPort: it is no function whose source can be found, or raises.
    """
    kinds = Kinds()
    definition_of(written(op.numpy))
    watched = copy_functions(op.numpy, lambda one: _watched(one, kinds))
    given: list[tuple[Any, ...]] = []

    def noting(*values: Any, **named: Any) -> Any:
        given.append((*values, *named.values()))
        return watched(*values, **named)

    called = noting if op.py_function is not None else around(op.numpy, noting)
    for example in examples:
        tensors = [tf.constant(one) for one in example]
        try:
            called(*(tensors if op.py_function is not None else as_given(example)))
        except Exception as error:
            raise CannotPort(f"the body raises {type(error).__name__} on an example: {error}") from error
    found = [merged({kind_of(one) for one in several}) for several in zip(*given, strict=True)]
    if None in found:
        raise CannotPort("an input is of different kinds in different examples", fix="give inputs of one kind")
    return kinds, [one for one in found if one is not None]


def around(body: Callable[..., Any], inside: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands around a body, such as what decodes its arguments, around another function."""
    body = getattr(body, CALLED, body)
    if not hasattr(body, BODY):
        return inside
    inner = getattr(body, BODY)
    new = around(inner, inside)
    assert isinstance(body, types.FunctionType)
    cells = [types.CellType(new) if one.cell_contents is inner else one for one in body.__closure__ or ()]
    return types.FunctionType(body.__code__, body.__globals__, body.__name__, body.__defaults__, tuple(cells))


def _watched(function: Any, kinds: Kinds) -> Any:
    """Return a copy of a function, with the same globals, that notes what each of its expressions is."""
    source, node = definition_of(function)
    kinds.functions[source.path, number_of(node)] = source, node

    def see(number: int, value: Any) -> Any:
        kinds.seen.setdefault((source.path, number), set()).add(kind_of(value))
        return value

    tree = ast.fix_missing_locations(ast.Module([_Watching().visit_whole(copy.deepcopy(node))], []))
    scope, name = function.__globals__, f"{SEE}_{len(kinds.functions)}"
    for inner in ast.walk(tree):
        if isinstance(inner, ast.Name) and inner.id == SEE:
            inner.id = name
    before = scope.get(node.name)
    exec(compile(tree, source.path, "exec", dont_inherit=True), scope)
    found = scope[node.name]
    scope[node.name], scope[name] = before, see
    found.__defaults__, found.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    found.__module__ = function.__module__
    return found


class _Watching(ast.NodeTransformer):
    """Puts a call around each expression whose value is read."""

    def visit_whole(self, node: Function) -> Function:
        """Return a function that is watched, without decorators and annotations."""
        node.decorator_list, node.returns = [], None
        for one in ast.walk(node.args):
            if isinstance(one, ast.arg):
                one.annotation = None
        found = (self.visit(one) for one in node.body)
        node.body = [one for several in found for one in (several if isinstance(several, list) else [several])]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        for one in node.values:
            if isinstance(one, ast.FormattedValue):
                one.value = self.visit(one.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        node.value = None if node.value is None else self.visit(node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        number = getattr(node.target, NUMBER)
        read = copy.deepcopy(node.target)
        for one in ast.walk(read):
            if isinstance(getattr(one, "ctx", None), ast.Store):
                one.ctx = ast.Load()  # type: ignore[attr-defined]
        setattr(read, NUMBER, number)
        return [ast.copy_location(ast.Expr(self._seeing(read, read)), node), self.generic_visit(node)]

    def visit(self, node: ast.AST) -> Any:
        found = super().visit(node)
        if not isinstance(found, ast.expr) or isinstance(node, ast.Starred | ast.Slice):
            return found
        is_read = not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        return self._seeing(node, found) if is_read and not isinstance(node, ast.GeneratorExp) else found

    def _seeing(self, node: ast.AST, found: ast.expr) -> ast.expr:
        number = getattr(node, NUMBER, None)
        if number is None:
            return found
        return ast.copy_location(ast.Call(ast.Name(SEE, ast.Load()), [ast.Constant(number), found], []), node)


def has_text(op: Op, examples: Sequence[Sequence[Any]]) -> bool:
    """Is an input or an output of a body text?"""
    return STRING in op.outputs or any(dtype_of(one) == STRING for example in examples for one in example)
