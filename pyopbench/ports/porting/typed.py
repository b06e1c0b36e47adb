"""Writes expressions by their observed types: dtypes, casts, tensors of lists, also of those that grow in a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeGuard

import numpy as np

from pyopbench.model.syntax import number_of
from pyopbench.ports.functions.table import name_of
from pyopbench.ports.porting.module_text import Code, Units
from pyopbench.ports.porting.observations import ARRAY, NUMBER_KIND, OTHER, SEQUENCE, TENSOR, Observed, Seen, seen_as
from pyopbench.ports.porting.watched_calls import CHANGING
from pyopbench.ports.porting.watching import names_bound

NEP50 = int(np.__version__.split(".")[0]) >= 2
"""From NumPy 2 on a Python scalar has no dtype of its own, and every array has, whatever its rank
(https://numpy.org/neps/nep-0050-scalar-promotion.html). Before that values and ranks decide."""

WEAK = {int: 1, float: 1.0, complex: 1j}
"""Types of Python scalars, and an example of each. Python's truth values have NumPy's dtype of them."""

STACKING = ("np.array", "np.asarray", "np.stack")
"""Functions that make one array of a list of arrays."""


class TypedCode(Code):
    """Code that knows what its expressions are."""

    def __init__(self, units: Units, observed: Observed) -> None:
        super().__init__(units)
        self.observed = observed
        self.snippets: set[str] = set()  # functions that the written code calls, which are written next to it
        self.is_mapped = False  # is it called for each example of a batch by `tf.vectorized_map`?
        # XLA supports neither writes at tensor indices nor `tf.range` with tensors.
        self.is_compiled = False
        self.grown: dict[ast.stmt, set[str]] = {}  # by function, names of lists that grow
        self.not_run: list[tuple[str, int]] = []  # the user's lines that no example ran, which stay
        self.made: set[str] = set()  # names of variables that the user's code has not got

    def seen(self, node: ast.AST) -> set[Seen]:
        """Return what an expression was; a number is one where it was not evaluated, too."""
        found = self.observed.seen.get(number_of(node), set())
        return found or ({seen_as(ast.literal_eval(node))} if is_number(node) else found)

    def is_tensor(self, node: ast.AST | None) -> bool:
        """Was it a tensor, in any call?"""
        return node is not None and any(one.kind == TENSOR for one in self.seen(node))

    def holds_tensors(self, node: ast.AST | None) -> bool:
        """Was it a tensor, or a list or tuple with one in it?"""
        return node is not None and any(one.kind == TENSOR or one.holds_tensors for one in self.seen(node))

    def name_of(self, node: ast.AST) -> str:
        """Return the name of a function in tables, such as `np.sum` or `len`; empty for what is in none."""
        return name_of(self.value_of(node))

    def decides(self, node: ast.AST) -> bool:
        """Does the branch that a statement or an expression takes depend on values?"""
        return number_of(node) in self.observed.decided

    def leaves(self, node: ast.AST, name: str) -> set[Seen]:
        """Return what a name is where the ways of a statement, or of the rounds of a loop, meet."""
        return self.observed.left.get(number_of(node), {}).get(name, set())

    def one(self, node: ast.expr) -> Seen:
        """Return the most general of the observations of an expression: the tensor, else the array, else the number."""
        seen = self.seen(node)
        for kind in (TENSOR, ARRAY, SEQUENCE, NUMBER_KIND):
            found = [one for one in seen if one.kind == kind]
            if kind == SEQUENCE and found and any(one.holds_tensors for one in found):
                found = [one for one in found if one.holds_tensors]
            if found:
                # A Python bool is promoted like a NumPy one; other Python numbers are not.
                if len({(one.dtype, None if one.weak is bool else one.weak) for one in found}) > 1:
                    raise self.refusal(node, f"`{ast.unparse(node)}` has several dtypes")
                return next((one for one in found if one.weak is None), found[0])
        return Seen(OTHER)

    def rank(self, node: ast.expr) -> int:
        """Return how many axes an expression has."""
        one = self.one(node)
        ranks = {each.rank for each in self.seen(node) if each.kind == one.kind}
        if len(ranks) > 1:
            raise self.refusal(node, f"`{ast.unparse(node)}` has different numbers of axes in different calls")
        return one.rank

    def dtype(self, node: ast.expr) -> str:
        """Return the dtype that NumPy gives an expression."""
        one = self.one(node)
        return one.dtype or one.common or (np.dtype(one.weak).name if one.weak else "float64")

    def tensor(self, node: ast.expr, dtype: str = "") -> str:
        """Return the text of an expression as a tensor of a dtype, by default of its own."""
        if is_grown(node, self):
            return stacked(self, node, dtype)
        dtype = dtype or self.dtype(node)
        seen = self.seen(node)
        if any(one.kind == SEQUENCE for one in seen) and self.holds_tensors(node):
            return self._stacked(node, dtype)
        if seen and all(one.kind in (TENSOR, ARRAY) and one.dtype == dtype for one in seen):
            return self.write(node)  # TensorFlow takes arrays of NumPy's too
        text, is_constant = self.write(node), bool(seen) and all(one.kind == NUMBER_KIND for one in seen)
        if is_constant and any(one.weak is float for one in seen) and "int" in dtype:
            # NumPy cuts off the fraction of what is written into an array of whole numbers.
            text = str(int(ast.literal_eval(node))) if is_number(node) else f"int({text})"
        if seen and all(one.kind == SEQUENCE and one.common for one in seen):
            own = np.result_type(*(one.common for one in seen)).name
            is_constant = own != "bool" and np.can_cast(own, dtype)
            if not is_constant:  # `tf.cast` would first round its numbers to float32
                text = f"tf.constant({text}, tf.{own})"
        if is_constant and dtype == "bool":  # `tf.constant(1, tf.bool)` raises
            text = f"bool({text})"
        if not is_constant and any(one.kind == NUMBER_KIND for one in seen):  # `tf.cast` rounds these to float32 first
            return f"{self.use('np_number')}({text}, tf.{dtype})"
        return f"tf.{'constant' if is_constant else 'cast'}({text}, tf.{dtype})"

    def operand(self, node: ast.expr, dtype: str) -> str:
        """Return the text of an operand next to a tensor of a dtype, to which TensorFlow converts what is none."""
        seen = self.seen(node)
        fits = all(
            (one.kind == NUMBER_KIND and (one.weak is not bool or dtype == "bool"))
            or (one.kind in (TENSOR, ARRAY) and one.dtype == dtype)
            for one in seen
        )
        return self.write(node) if seen and fits else self.tensor(node, dtype)

    def _stacked(self, node: ast.expr, dtype: str) -> str:
        if _is_literal(node):
            return f"tf.stack({self.items(node, dtype)})"
        own = self.one(node).dtype or dtype
        found = f"{self.use('np_of_items')}({self.items(node, own)}, tf.{own})"
        return found if own == dtype else f"tf.cast({found}, tf.{dtype})"

    def items(self, node: ast.expr, dtype: str) -> str:
        """Return the text of a list of tensors of one dtype."""
        if _is_literal(node):
            return f"[{', '.join(self.tensor(item, dtype) for item in node.elts)}]"
        if self.one(node).dtype == dtype:
            return self.write(node)
        # Not tf.cast, which first rounds a Python number to float32.
        return f"[{self.use('np_number')}(item, tf.{dtype}) for item in {self.write(node)}]"

    def loop(self, ufunc: Any, nodes: Sequence[ast.expr]) -> tuple[list[str], str]:
        """Return the dtypes that a ufunc computes with and the one that it returns."""
        found = _dtypes_of_loop(ufunc, [self.example(node) for node in nodes])
        for one in found:
            if one.kind not in "biufc" or one.itemsize > (16 if one.kind == "c" else 8):
                raise self.refusal(nodes[0])  # it is computed in a dtype that TensorFlow has not got
        return [one.name for one in found[: ufunc.nin]], found[ufunc.nin].name

    def loop_dtype(self, *nodes: ast.expr) -> str:
        """Return the dtype to which expressions are promoted together."""
        return np.result_type(*(self.example(node) for node in nodes)).name

    def example(self, node: ast.expr) -> Any:
        """Return what promotes as an operand does: a Python scalar, or an array of ones of one element."""
        one = self.one(node)
        if one.kind == OTHER:
            raise self.refusal(node)
        dtype = one.dtype or one.common
        weak = None if one.kind == SEQUENCE else one.weak
        return WEAK[weak] if weak in WEAK else np.ones((1,) * one.rank, dtype or "bool")

    def base(self, node: ast.expr) -> str:
        """Return the text of what `[...]` is added to; an array that becomes a tensor later is made one."""
        is_tensor = {one.kind for one in self.seen(node)} == {TENSOR}
        return self.write(node) if is_tensor else f"tf.convert_to_tensor({self.write(node)})"

    def use(self, snippet: str) -> str:
        """Return the name of a function on tensors, and have it written next to the code."""
        self.snippets.add(snippet)
        return snippet


def _dtypes_of_loop(ufunc: np.ufunc, examples: Sequence[Any]) -> list[np.dtype[Any]]:
    """Return the dtypes that a ufunc takes and returns for operands of which examples are given."""
    if NEP50:
        given: list[Any] = [one.dtype if isinstance(one, np.ndarray) else type(one) for one in examples]
        if all(one in WEAK for one in given):  # which would be objects
            given = [np.dtype(one) for one in given]
        return list(ufunc.resolve_dtypes((*given, *[None] * ufunc.nout)))
    wanted = np.result_type(*examples)
    for types in ufunc.types:
        if all(np.can_cast(wanted, char, "safe") for char in types.partition("->")[0]):
            return [np.dtype(char) for char in types.replace("->", "")]
    raise TypeError(f"ufunc '{ufunc.__name__}' not supported for the input types")


def is_number(node: ast.AST | None) -> bool:
    """Is it a number that is written down?"""
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(inner, ast.Constant) and isinstance(inner.value, bool | int | float | complex)


def _is_literal(node: ast.expr) -> TypeGuard[ast.List | ast.Tuple]:
    """Is it a list or tuple whose items are all written down?"""
    return isinstance(node, ast.List | ast.Tuple) and not any(isinstance(one, ast.Starred) for one in node.elts)


def joined(texts: Iterable[str]) -> str:
    """Return texts as the arguments of a call."""
    return ", ".join(one for one in texts if one)


# Lists that grow in a loop or branch that depends on values: a `tf.TensorArray` that is read as one tensor. Any other
# use of such a list is refused: it may be read for its length, or as an array of all its elements.


def is_grown(node: ast.AST | None, code: Any) -> TypeGuard[ast.Name]:
    """Is it the name of a list that is changed in a loop or branch that depends on values?"""
    if not isinstance(node, ast.Name):
        return False
    function = code.unit.node
    if function not in code.grown:
        code.grown[function] = {
            name
            for statement in ast.walk(function)
            if isinstance(statement, ast.If | ast.For | ast.While) and code.decides(statement)
            for name, _ in _changed(statement)
            if not any(isinstance(one, ast.Assign) and name in names_bound([one]) for one in ast.walk(statement))
        }
    return node.id in code.grown[function]


def _changed(statement: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Yield the names of lists that a statement changes, with the calls that do it."""
    for one in ast.walk(statement):
        function = one.func if isinstance(one, ast.Call) else None
        if isinstance(function, ast.Attribute) and function.attr in CHANGING and isinstance(function.value, ast.Name):
            yield function.value.id, one  # type: ignore[misc]


def _element(code: Any, name: str) -> tuple[str, list[int | None]]:
    """Return the dtype and the shape of what is appended to a list."""
    calls = [one for other, one in _changed(code.unit.node) if other == name]
    for one in calls:
        if one.func.attr != "append":  # type: ignore[attr-defined]
            raise code.refusal(one)
    values = [one.args[0] for one in calls if code.seen(one.args[0])]
    if not values:
        raise code.refusal(calls[0], f"nothing is appended to `{name}` in any example")
    dtypes = {code.dtype(one) for one in values}
    dtype = code.loop_dtype(*values) if len(dtypes) > 1 else dtypes.pop()
    seen = [one for value in values for one in code.seen(value)]
    shapes = {one.shape if one.kind == TENSOR else (None,) * one.rank for one in seen}
    if len({len(one) for one in shapes}) > 1:
        raise code.refusal(values[0], f"values with different numbers of axes are appended to `{name}`")
    return dtype, [one.pop() if len(one) == 1 else None for one in map(set, zip(*shapes, strict=True))]


def write_list(code: Any, target: ast.expr, value: ast.expr) -> str:
    """Return the right side of `name = []` of a list that grows; empty for any other assignment."""
    if not is_grown(target, code):
        return ""
    if not isinstance(value, ast.List):
        raise code.refusal(value)
    if code.is_compiled:  # in TensorFlow 2.21
        raise code.refusal(value, "XLA would leave a list that grows in a loop empty")
    dtype, shape = _element(code, target.id)
    options = f"size={len(value.elts)}, dynamic_size=True, clear_after_read=False, element_shape={shape}"
    options += ", infer_shape=False" if None in shape else ""
    filled = f".unstack({code.tensor(value, dtype)})" if value.elts else ""
    return f"tf.TensorArray(tf.{dtype}, {options}){filled}"


def write_append(code: Any, call: ast.Call) -> str | None:
    """Return `name.append(value)` of such a list; None for any other call."""
    if not isinstance(call.func, ast.Attribute) or not is_grown(call.func.value, code):
        return None
    name = call.func.value.id
    dtype, _ = _element(code, name)
    return f"{name} = {name}.write({name}.size(), {code.tensor(call.args[0], dtype)})"


def write_call_of_list(code: Any, node: ast.Call) -> str | None:
    """Return the length of such a list, or an array of its elements; None for any other call."""
    several = node.args[0] if node.args else None
    if not is_grown(several, code):
        return None
    name = code.name_of(node.func)
    if name == "len":
        return f"tf.cast({several.id}.size(), tf.int64)"
    is_whole = name in STACKING and (name != "np.stack" or len(node.args) + len(node.keywords) == 1)
    return stacked(code, several, code.dtype(node)) if is_whole else None


def stacked(code: Any, node: ast.Name, dtype: str = "") -> str:
    """Return such a list as a tensor."""
    own, text = _element(code, node.id)[0], f"{node.id}.stack()"
    return text if dtype in ("", own) else f"tf.cast({text}, tf.{dtype})"
