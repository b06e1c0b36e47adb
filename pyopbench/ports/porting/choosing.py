"""NumPy's functions that choose elements, and what Python has for numbers, as TensorFlow's."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

import numpy as np

from pyopbench.ports.porting.arguments import Given
from pyopbench.ports.porting.indexing import Picked, entries_of, pick
from pyopbench.ports.porting.render import bracketed
from pyopbench.ports.porting.table import written
from pyopbench.ports.porting.typed import TypedCode

WHOLE: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
}  # fmt: skip
"""Operators in constant integer expressions."""


@written("np.where", "condition x y")
def where(given: Given) -> str:
    """Return elements of one array or another; the places of what is true, for each axis, where there are none."""
    code = given.code
    condition = code.tensor(given["condition"], "bool")
    if given.get("x") is None:
        return f"tf.unstack(tf.where({condition}), axis=1)"
    x, y = (code.tensor(given[one], given.dtype) for one in ("x", "y"))
    return f"tf.where({condition}, {x}, {y})"


@written("np.nonzero", "condition")
def nonzero(given: Given) -> str:
    """Return the places of what is not 0, for each axis."""
    return f"tf.unstack(tf.where({given.code.tensor(given['condition'], 'bool')}), axis=1)"


@written("np.argwhere", "condition")
def argwhere(given: Given) -> str:
    """Return the places of what is not 0."""
    return f"tf.where({given.code.tensor(given['condition'], 'bool')})"


@written("np.flatnonzero", "condition")
def flatnonzero(given: Given) -> str:
    """Return the places of what is not 0 among all elements in a row."""
    text = given.code.tensor(given["condition"], "bool")
    flat = text if given.code.rank(given["condition"]) == 1 else f"tf.reshape({text}, [-1])"
    return f"tf.where({flat})[:, 0]"


@written("np.select", "condlist choicelist default")
def select(given: Given) -> str:
    """Return elements of the first array whose condition is true."""
    code, conditions, choices = given.code, given["condlist"], given["choicelist"]
    if not isinstance(conditions, ast.List | ast.Tuple) or not isinstance(choices, ast.List | ast.Tuple):
        raise code.refusal(
            given.node, "`np.select` of lists that are not written in the call", "write them into the call"
        )
    default = given.get("default")
    found = f"tf.constant(0, tf.{given.dtype})" if default is None else code.tensor(default, given.dtype)
    for condition, choice in reversed(list(zip(conditions.elts, choices.elts, strict=True))):
        found = f"tf.where({code.tensor(condition, 'bool')}, {code.tensor(choice, given.dtype)}, {found})"
    return found


@written("np.clip", "a a_min a_max | min max")
def clip(given: Given) -> str:
    """Return elements within bounds."""
    code = given.code
    low, high = given.get("a_min") or given.get("min"), given.get("a_max") or given.get("max")
    text = code.tensor(given["a"], given.dtype)
    # Not `tf.clip_by_value`, which returns the lower bound where that is the larger one.
    if low is not None and not _is_out_of_range(given, low, "below"):
        text = f"tf.maximum({text}, {code.operand(low, given.dtype)})"
    if high is None or _is_out_of_range(given, high, "above"):
        return text
    return f"tf.minimum({text}, {code.operand(high, given.dtype)})"


def _is_out_of_range(given: Given, bound: ast.expr, side: str) -> bool:
    """Is a bound a constant that no integer of the dtype exceeds? TensorFlow would wrap it around.

    Raises:
        CannotPort: it is out of range on the other side, where NumPy raises an error.
    """
    value = _whole_number(bound)
    if value is None or np.dtype(given.dtype).kind not in "iu":
        return False
    limits = np.iinfo(given.dtype)
    if limits.min <= value <= limits.max:
        return False
    if (value < limits.min) != (side == "below"):
        raise given.code.refusal(bound, f"`{ast.unparse(bound)}` is out of the range of {given.dtype}")
    return True


def _whole_number(node: ast.expr) -> int | None:
    """Return the value of a constant integer expression, such as `-5` or `2 ** 31 - 1`; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _whole_number(node.operand)
        return None if value is None else -value
    if not isinstance(node, ast.BinOp) or type(node.op) not in WHOLE:
        return None
    left, right = _whole_number(node.left), _whole_number(node.right)
    is_power = isinstance(node.op, ast.Pow | ast.LShift)
    if left is None or right is None or (is_power and not 0 <= right <= 64):
        return None
    return int(WHOLE[type(node.op)](left, right))


@written("np.take", "a indices axis")
def take(given: Given) -> str | None:
    """Return elements at places along the first axis, or among all."""
    code, axis = given.code, given.get("axis")
    is_first = axis is None or (isinstance(axis, ast.Constant) and axis.value == 0)
    if not is_first or any(one.is_negative for one in code.seen(given["indices"])):
        return None
    text = code.tensor(given["a"])
    if axis is None and code.rank(given["a"]) != 1:
        text = f"tf.reshape({text}, [-1])"
    return pick(code, given.node, Picked(text, 1), entries_of(code, given["indices"]))


@written("np.diff", "a")
def diff(given: Given) -> str | None:
    """Return differences of neighbours."""
    code = given.code
    if given.dtype == "bool":
        return None
    text = code.atom(given["a"])
    rest = "..., " if code.rank(given["a"]) > 1 else ""
    return f"({text}[{rest}1:] - {text}[{rest}:-1])"


@written("int np.int64 np.int32 np.int16 np.int8 np.uint8 np.uint16 np.uint32 np.uint64", "x")
def to_integer(given: Given) -> str:
    """Return a number as an integer."""
    return given.code.tensor(given["x"], "int64" if given.name == "int" else given.name.removeprefix("np."))


@written("float np.float64 np.float32 np.float16 bool np.bool np.complex64 np.complex128", "x")
def to_number(given: Given) -> str:
    """Return a number as one of another kind."""
    name = given.name.removeprefix("np.")
    return given.code.tensor(given["x"], {"float": "float64"}.get(name, name))


@written("abs", "x")
def absolute(given: Given) -> str:
    """Return magnitudes."""
    return f"tf.abs({given.code.tensor(given['x'])})"


@written("len", "x")
def length(given: Given) -> str:
    """Return the size of the first axis."""
    code = given.code
    if not code.is_tensor(given["x"]) and not _is_shape(code, given["x"]):  # a list
        return f"len({code.write(given['x'])})"
    inner = given["x"]
    text = code.atom(inner)
    if isinstance(inner, ast.Attribute) and inner.attr == "shape" and code.is_tensor(inner.value):
        return f"len({code.atom(inner.value)}.shape)"
    if code.is_tensor(given.node):
        return f"tf.shape({text}, tf.int64)[0]"
    return f"{code.use('np_known_size')}({text}, 0)"


@written("max min", "x y")
def extreme(given: Given) -> str:
    """Return the larger or smaller of two numbers, or of a vector; if one is NaN, it depends on their order."""
    code, has_nan = given.code, given.dtype.startswith("float")
    if given.get("y") is None:
        function = code.use(f"python_{given.name}_of") if has_nan else f"tf.reduce_{given.name}"
        return f"{function}({code.tensor(given['x'])})"
    if has_nan:
        texts = [code.tensor(given[name], given.dtype) for name in ("x", "y")]
        return f"{code.use(f'python_{given.name}')}({', '.join(texts)})"
    function = {"max": "tf.maximum", "min": "tf.minimum"}[given.name]
    return f"{function}({code.tensor(given['x'], given.dtype)}, {code.operand(given['y'], given.dtype)})"


@written("round np.round", "x decimals")
def rounded(given: Given) -> str | None:
    """Return the nearest whole numbers, of a tie the even one."""
    code, decimals = given.code, given.get("decimals")
    text = code.tensor(given["x"])
    if decimals is not None and given.name == "np.round":
        return None
    if decimals is not None and code.one(given["x"]).weak is float:
        return f"{code.use('np_rounded_decimal')}({text}, {code.write(decimals)})"
    if decimals is not None:
        scale = f"10.0 ** {bracketed(code.write(decimals))}"
        return f"(tf.round({bracketed(text)} * {scale}) / {scale})"
    if code.dtype(given["x"]) == "bool":  # NumPy makes float16 of it
        text = f"tf.cast({text}, tf.float16)"
    found = f"tf.round({text})"
    return f"tf.cast({found}, tf.int64)" if given.name == "round" else found


def _is_shape(code: TypedCode, node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "shape" and code.is_tensor(node.value)
