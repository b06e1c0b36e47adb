"""Numbers and shapes in a function that are known before it runs, from constants and the shapes of its inputs."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pyopbench.find.source import ProgramSource
from pyopbench.model.function_source import defaults_of, every_name, has_unpacked, own_nodes

OPERATORS: Mapping[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Div: ("/", operator.truediv),
}

SAME_SHAPE = ("numpy", "astype", "copy")
"""Methods whose result has the shape of what they are called on."""

SAME_SHAPE_OF_NUMPY = tuple(f"numpy.{one}" for one in ("asarray", "array", "flip", "fliplr", "flipud", "abs"))
"""Functions whose result has the shape of their first argument; `array` may be asked for another, by name."""

OTHER_SHAPE = {"ndmin", "out"}
"""Arguments by name with which they have not."""

Position: TypeAlias = tuple[int, int]


class CannotMove(Exception):
    """A draw cannot be moved out of a body.

    Attributes:
        why: in a few words.
        line: of the source; 0 if it is not known.
    """

    def __init__(self, why: str, node: ast.AST | None = None) -> None:
        super().__init__(why)
        self.why, self.line = why, getattr(node, "lineno", 0)


def literal(node: ast.expr | None) -> Any:
    """Return a value that is written in the source; None for anything else."""
    try:
        return None if node is None else ast.literal_eval(node)
    except (TypeError, ValueError):
        return None


def array_of(shape: ast.expr | None) -> ast.expr | None:
    """Return the `x` of `x.shape`; None for anything else."""
    return shape.value if isinstance(shape, ast.Attribute) and shape.attr == "shape" else None


@dataclass(frozen=True)
class KnownValue:
    """A number or a shape that is known before the body runs, from constants and the shapes of its inputs.

    Attributes:
        tensor: the TensorFlow expression for it.
        value: a function that returns it for inputs by name.
        is_constant: is it the same for all inputs?
    """

    tensor: str
    value: Callable[[Mapping[str, Any]], Any]
    is_constant: bool = False


def constant(value: float) -> KnownValue:
    """Return a number that is the same for all inputs."""
    return KnownValue(repr(value), lambda _: value, is_constant=True)


@dataclass
class KnownValues:
    """What is known before a function runs.

    Attributes:
        source: the file with the function.
        scope: the function.
        inputs: the names of the inputs of the body.
        call: the only call of the function; None for the body.
        caller: what is known in the function that makes that call.
    """

    source: ProgramSource
    scope: ast.FunctionDef
    inputs: tuple[str, ...]
    call: ast.Call | None = None
    caller: KnownValues | None = None

    def number(self, node: ast.expr) -> KnownValue:
        """Return the number that an expression stands for.

        Raises:
            CannotMove: it is not known before the function runs.
        """
        value = literal(node)
        if type(value) in (int, float):
            return constant(value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return _computed(constant(0), ast.Sub, self.number(node.operand), node)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return _computed(self.number(node.left), type(node.op), self.number(node.right), node)
        if isinstance(node, ast.Subscript) and type(place := literal(node.slice)) is int:
            return self._length(array_of(node.value), place, node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len" and node.args:
            return self._length(node.args[0], 0, node)
        if isinstance(node, ast.Name):
            return self._named(node)
        raise _unknown(node)

    def shape(self, node: ast.expr | None) -> KnownValue | None:
        """Return the shape that an expression stands for; None for a number."""
        if node is None:
            return None
        if (array := array_of(node)) is not None:
            name = self._of_its_shape(array) or self._made_from(array)
            return KnownValue(f"tf.shape({name})", lambda inputs: list(np.shape(inputs[name])))
        lengths = [*map(self.number, node.elts if isinstance(node, ast.Tuple | ast.List) else [node])]
        text = f"[{', '.join(one.tensor for one in lengths)}]"
        is_constant = all(one.is_constant for one in lengths)
        return KnownValue(text, lambda inputs: [int(one.value(inputs)) for one in lengths], is_constant)

    def shape_in_body(self, node: ast.expr | None) -> str:
        """Return the shape that the body must give to an array that was drawn with another; empty if it need not.

        The shape of an array that the body computes is not known before it runs, so the array is drawn in the shape of
        the input from which that is computed. Independent numbers can be put into any shape that has as many; another
        number is an error.
        """
        array = array_of(node)
        return f"{ast.unparse(array)}.shape" if array is not None and not self._of_its_shape(array) else ""

    def _length(self, array: ast.expr | None, place: int, node: ast.expr) -> KnownValue:
        """Return one element of the shape of an array that has the shape of an input."""
        name = "" if array is None else self._of_its_shape(array)
        if not name:
            raise _unknown(node)
        return KnownValue(f"tf.shape({name}, tf.int64)[{place}]", lambda inputs: int(np.shape(inputs[name])[place]))

    def _of_its_shape(self, node: ast.expr, seen: frozenset[str] = frozenset()) -> str:
        """Return the input that has the same shape as a name where the name is used; empty if none is known."""
        if not isinstance(node, ast.Name) or node.id in seen or self._may_change(node.id):
            return ""
        loops = [one for one, _ in self.source.above(node) if isinstance(one, ast.For | ast.While)]
        here = None if loops else self._statement(node)
        inputs = {self._shape_of_parameter(node.id)} if self._is_parameter(node.id) else set()
        for target in self._targets(node.id):
            if self._statement(target) is here or _begin(target) >= _end(loops[-1] if loops else node):
                continue
            above = self.source.parents.get(target)
            of = None
            if isinstance(above, ast.Assign) and above.targets == [target]:
                of = self._of_same_shape(above.value)
            elif isinstance(above, ast.AugAssign) and literal(above.value) is not None:
                of = target
            if of is None:
                return ""
            inputs.add(of.id if of.id == node.id else self._of_its_shape(of, seen | {node.id}))
        return inputs.pop() if len(inputs) == 1 else ""

    def _is_parameter(self, name: str) -> bool:
        return any(isinstance(one, ast.arg) and one.arg == name for one in ast.walk(self.scope.args))

    def _shape_of_parameter(self, name: str) -> str:
        """Return the input whose shape a parameter has when the function is called; empty if none is known."""
        if self.caller is None:
            return name if name in self.inputs else ""
        argument = self._argument(name)
        of = None if argument is None else self.caller._of_same_shape(argument)
        return "" if of is None else self.caller._of_its_shape(of)

    def _argument(self, name: str) -> ast.expr | None:
        """Return what is passed for a parameter in the only call of the function; None if that is not seen."""
        assert self.call is not None
        if has_unpacked(self.call):
            return None
        names = [one.arg for one in (*self.scope.args.posonlyargs, *self.scope.args.args)]
        passed = dict(zip(names, self.call.args, strict=False)) | {one.arg: one.value for one in self.call.keywords}
        return passed.get(name)

    def _may_be_passed(self, name: str) -> bool:
        """May a parameter be given a value by the call of the function, which is not seen in the source?"""
        if self.call is None:
            return name in self.inputs
        return has_unpacked(self.call)

    def _of_same_shape(self, node: ast.expr) -> ast.Name | None:
        """Return the name whose shape an expression has: `x`, `x.copy()`, `np.flip(x)`, `x[:, ::-1]`, `x / 255`."""
        of: ast.expr = node
        if isinstance(node, ast.Call) and not {one.arg for one in node.keywords} & OTHER_SHAPE:
            is_of_numpy = node.args and self.source.path(node.func) in SAME_SHAPE_OF_NUMPY
            is_method = isinstance(node.func, ast.Attribute) and node.func.attr in SAME_SHAPE
            of = node.args[0] if is_of_numpy else node.func.value if is_method else node  # type: ignore[attr-defined]
        elif isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            of = node.value if all(map(_is_whole_axis, parts)) else node
        elif isinstance(node, ast.BinOp) and type(literal(node.right)) in (int, float):
            of = node.left
        elif isinstance(node, ast.BinOp) and type(literal(node.left)) in (int, float):
            of = node.right
        if isinstance(of, ast.Name):
            return of
        return None if of is node else self._of_same_shape(of)

    def _made_from(self, array: ast.expr) -> str:
        """Return the input from which an array is computed; the first one if there are several, or none."""
        found = self._inputs_in(array, frozenset())
        return found.pop() if len(found) == 1 else self.inputs[0]

    def _inputs_in(self, node: ast.AST, seen: frozenset[str]) -> set[str]:
        """Return the inputs from which an expression is computed."""
        names = every_name(node) - seen
        found = {*names} & {*self.inputs} if self.caller is None else set[str]()
        for name in names:
            statements = [self._statement(one) for one in self._targets(name)]
            parts = [one.value for one in statements if isinstance(one, ast.Assign | ast.AugAssign)]
            found = found.union(*(self._inputs_in(one, seen | names) for one in parts))
            argument = self._argument(name) if self.caller is not None and self._is_parameter(name) else None
            if argument is not None and self.caller is not None:
                found |= self.caller._inputs_in(argument, frozenset())
        return found

    def _may_change(self, name: str) -> bool:
        """Is the shape of a named array changed in place, or the name bound by `global`, `nonlocal` or `:=`?"""
        for one in ast.walk(self.scope):
            if isinstance(one, ast.Global | ast.Nonlocal) and name in one.names:
                return True
            if isinstance(one, ast.NamedExpr) and one.target.id == name:
                return True
            if not isinstance(one, ast.Attribute) or not isinstance(one.value, ast.Name) or one.value.id != name:
                continue
            if not isinstance(one.ctx, ast.Load) or one.attr == "resize":
                return True
        return False

    def _statement(self, node: ast.AST) -> ast.AST | None:
        return next((one for one, _ in self.source.above(node) if isinstance(one, ast.stmt)), None)

    def _targets(self, name: str) -> list[ast.Name]:
        """Return the places where the function assigns to a name."""
        return [
            one
            for one in own_nodes(self.scope)
            if isinstance(one, ast.Name) and one.id == name and not isinstance(one.ctx, ast.Load)
        ]

    def _named(self, node: ast.Name) -> KnownValue:
        """Return a number by its name: of a local that is set once, a parameter's default or a constant of the file."""
        targets = self._targets(node.id)
        is_parameter = self._is_parameter(node.id)
        value: Any = None
        if self._may_change(node.id) or len(targets) > 1 or (targets and is_parameter):
            raise _unknown(node)
        if targets and _begin(targets[0]) < _begin(node):
            return self._assigned(targets[0], node)
        if is_parameter:
            argument = None if self.caller is None else self._argument(node.id)
            if argument is not None and self.caller is not None:
                return self.caller.number(argument)
            if not self._may_be_passed(node.id):
                value = literal(defaults_of(self.scope.args).get(node.id))
        elif not targets and not is_parameter:
            statement = self.source.only_binding(node.id)
            value = literal(statement.value) if isinstance(statement, ast.Assign) else None
        if type(value) not in (int, float):
            raise _unknown(node)
        return constant(value)

    def _assigned(self, target: ast.Name, node: ast.Name) -> KnownValue:
        """Return what an assignment gives to a name, also as one of several: `h, w = x.shape[:2]`."""
        above = self.source.parents.get(target)
        if isinstance(above, ast.Assign) and above.targets == [target]:
            return self.number(above.value)
        whole = self.source.parents.get(above) if isinstance(above, ast.Tuple) else None
        if not isinstance(above, ast.Tuple) or not isinstance(whole, ast.Assign) or whole.targets != [above]:
            raise _unknown(node)
        value, place = whole.value, next(number for number, one in enumerate(above.elts) if one is target)
        if any(isinstance(one, ast.Starred) for one in above.elts):
            raise _unknown(node)
        if isinstance(value, ast.Tuple) and len(value.elts) == len(above.elts):
            return self.number(value.elts[place])
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
            if value.slice.lower is not None or value.slice.step is not None:
                raise _unknown(node)
            value = value.value
        return self._length(array_of(value), place, value)


def _unknown(node: ast.AST) -> CannotMove:
    return CannotMove(f"`{ast.unparse(node)}` is known only in the body", node)


def _begin(node: ast.AST) -> Position:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> Position:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def _is_whole_axis(part: ast.expr) -> bool:
    """Does a part of an index take all of an axis, as `:`, `::-1` and `...` do?"""
    if not isinstance(part, ast.Slice):
        return literal(part) is ...
    return part.lower is None and part.upper is None and (part.step is None or literal(part.step) == -1)


def whole(value: KnownValue, node: ast.AST) -> KnownValue:
    """Return a bound of whole numbers as one: NumPy takes `randint(0, 64 / 2)`, too.

    Raises:
        CannotMove: it is a fraction.
    """
    if not value.is_constant or type(value.value({})) is int:
        return value
    if not float(value.value({})).is_integer():
        raise CannotMove("a bound of a whole number is a fraction", node)
    return constant(int(value.value({})))


def plus(value: KnownValue, number: int) -> KnownValue:
    """Return a value that is larger by a number."""
    return _computed(value, ast.Add, constant(number), None) if number else value


def _computed(left: KnownValue, kind: type[ast.operator], right: KnownValue, node: ast.AST | None) -> KnownValue:
    sign, compute = OPERATORS[kind]
    if left.is_constant and right.is_constant:
        try:
            return constant(compute(left.value({}), right.value({})))
        except ZeroDivisionError as error:
            raise CannotMove("an argument of a draw divides by zero", node) from error
    constants = [one.value({}) for one in (left, right) if one.is_constant]
    if sign == "/" or any(isinstance(one, float) for one in constants):  # a length is no float in TensorFlow
        raise CannotMove("an argument of a draw is a fraction of a length", node)
    text = f"({left.tensor} {sign} {right.tensor})"
    return KnownValue(text, lambda inputs: compute(left.value(inputs), right.value(inputs)))
