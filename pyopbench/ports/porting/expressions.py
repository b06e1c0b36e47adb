"""Operators between tensors, with the casts that NumPy makes, and functions that need more than a template."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

import numpy as np

from pyopbench.ports.functions.table import BINARY, UNARY, row
from pyopbench.ports.porting.calls import Given, write_helper
from pyopbench.ports.porting.typed import TypedCode, is_number, joined

OPERATORS = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder, ast.Pow: np.power, ast.BitAnd: np.bitwise_and, ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor, ast.LShift: np.left_shift, ast.RShift: np.right_shift,
}  # fmt: skip
SHIFTS = {ast.LShift: "np_left_shift", ast.RShift: "np_right_shift"}
ROUNDED = {ast.FloorDiv: "np_floor_divide", ast.Mod: "np_remainder"}
"""Helpers: TensorFlow's floor of a quotient of floats may be 1 too large; integers divided by 0 are 0 in NumPy."""
COMPARISONS = {
    ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}  # fmt: skip


def write_binary(code: TypedCode, node: ast.BinOp) -> str | None:
    """Return `a + b` and the like, where a side is a tensor; it stays as it is where no side needs a cast."""
    operator, left, right = node.op, node.left, node.right
    if not any(map(code.is_tensor, [node, left, right])):
        return None
    if isinstance(operator, ast.MatMult):
        return _write_product(code, left, right)
    (first, second), _ = code.loop(OPERATORS[type(operator)], [left, right])
    if helper := helper_between(code, operator, first, left, right):
        return write_helper(code, helper, [(left, first), (right, second)])
    return code.replaced(node, [(left, code.operand(left, first)), (right, code.operand(right, second))])


def helper_between(code: TypedCode, operator: ast.operator, dtype: str, left: ast.expr, right: ast.expr) -> str | None:
    """Return the helper for an operation in a dtype for which TensorFlow differs from NumPy; None for all others."""
    helper = SHIFTS.get(type(operator)) or ROUNDED.get(type(operator))
    if type(operator) not in ROUNDED or "float" in dtype:
        return helper
    # Integers differ only where NumPy returns 0 for a divisor of 0: a literal is not 0, and Python's numbers raise.
    return None if is_number(right) or (code.one(left).weak and code.one(right).weak) else helper


def _write_product(code: TypedCode, left: ast.expr, right: ast.expr) -> str:
    """Return the product of matrices and vectors."""
    (first, second), _ = code.loop(np.multiply, [left, right])
    a, b = code.tensor(left, first), code.tensor(right, second)
    ranks = code.rank(left), code.rank(right)
    if ranks == (1, 1):
        return f"tf.tensordot({a}, {b}, 1)"
    if ranks[1] == 1:
        return f"tf.linalg.matvec({a}, {b})"
    if ranks[0] == 1:
        return f"tf.linalg.matvec({b}, {a}, transpose_a=True)"
    return f"tf.matmul({a}, {b})"


def write_comparison(code: TypedCode, node: ast.Compare) -> str | None:
    """Return a comparison where a side is a tensor."""
    sides = [node.left, *node.comparators]
    if not any(map(code.holds_tensors, sides)):
        return None
    if isinstance(node.ops[0], ast.Is | ast.IsNot) and any(ast.unparse(one) == "None" for one in sides):
        return None
    if any(type(one) not in COMPARISONS for one in node.ops):
        raise code.refusal(node)
    if len(sides) > 2:
        return _write_chain(code, node, sides)
    dtypes = _dtypes_compared(code, COMPARISONS[type(node.ops[0])], sides)
    return code.replaced(node, [(side, code.operand(side, dtype)) for side, dtype in zip(sides, dtypes, strict=True)])


def _dtypes_compared(code: TypedCode, ufunc: np.ufunc, sides: Sequence[ast.expr]) -> list[str]:
    """Return the dtypes in which to compare: those of NumPy, but uint8 where TensorFlow has no order of booleans."""
    dtypes, _ = code.loop(ufunc, sides)
    return ["uint8", "uint8"] if "bool" in dtypes and ufunc not in (np.equal, np.not_equal) else dtypes


def _write_chain(code: TypedCode, node: ast.Compare, sides: Sequence[ast.expr]) -> str:
    """Return `a < b < c`, where Python evaluates `b` once."""
    dtype = code.loop_dtype(*sides).replace("bool", "uint8")  # TensorFlow has no order of booleans
    parts = [code.tensor(sides[0], dtype)]
    for operator, side in zip(node.ops, sides[1:], strict=True):
        parts += [f"tf.{COMPARISONS[type(operator)].__name__}", code.tensor(side, dtype)]
    return f"{code.use('np_chain')}({', '.join(parts)})"


def write_unary(code: TypedCode, node: ast.UnaryOp) -> str | None:
    """Return `not x` and `~x` of truth values; all others stay as they are."""
    if not code.is_tensor(node.operand):
        return None
    if isinstance(node.op, ast.Not):
        return f"{code.use('np_not')}({write_truth(code, node.operand)})"
    if isinstance(node.op, ast.Invert) and code.dtype(node) == "bool":  # of each element, whose axes stay
        return f"{code.use('np_not')}({code.write(node.operand)})"
    return None


def write_both(code: TypedCode, node: ast.BoolOp) -> str | None:
    """Return `a and b` on tensors, which is a truth value in a graph."""
    if not any(map(code.is_tensor, node.values)):
        return None
    for one in node.values[:-1]:
        if code.is_tensor(node) and code.is_tensor(one) and code.dtype(one) != "bool":
            raise code.refusal(node)  # it is one of its operands, depending on values
    return write_truth(code, node)


def write_choice(code: TypedCode, node: ast.IfExp) -> str | None:
    """Return `a if x else b` on a tensor `x`, both ways of one dtype: AutoGraph takes no number next to a tensor."""
    asked = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
    sides = [node.body, node.orelse]
    if not code.is_tensor(asked):
        return None
    if all(isinstance(one, ast.Tuple | ast.List) for one in sides):
        texts = [write_items(code, one) for one in sides]  # type: ignore[arg-type]
    elif code.is_tensor(node):
        texts = [code.tensor(one, code.dtype(node)) for one in sides]
    else:
        return None
    return code.replaced(node, [(node.test, write_truth(code, node.test)), *zip(sides, texts, strict=True)])


def write_items(code: TypedCode, node: ast.Tuple | ast.List) -> str:
    """Return a tuple or list with tensors of NumPy's dtypes for numbers; AutoGraph would take float32 and int32."""
    texts = [code.tensor(one, code.dtype(one)) if is_number(one) else code.write(one) for one in node.elts]
    items = ", ".join(texts)
    return f"({items}{',' if items else ''})" if isinstance(node, ast.Tuple) else f"[{items}]"


def write_truth(code: TypedCode, node: ast.expr) -> str:
    """Return an expression as the condition that Python asks for."""
    if isinstance(node, ast.BoolOp):
        return f"({code.replaced(node, [(one, write_truth(code, one)) for one in node.values])})"
    if isinstance(node, ast.Compare) or not code.is_tensor(node):
        return code.write(node)
    text = code.tensor(node, "bool")
    return f"tf.squeeze({text})" if code.rank(node) else text


# Rows of the table; each function returns the text of a call, or None for a call that it does not support. Ufuncs:

OF_FLOATS = {"isnan": "np_is_nan", "isinf": "np_is_inf", "isfinite": "np_is_finite"}
"""Functions that TensorFlow has only for floats, and helpers that support all dtypes."""

BOOLEAN = {"maximum": "logical_or", "minimum": "logical_and"}
"""Functions that TensorFlow lacks for booleans, and those that return the same for them."""

LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")


def _dtypes(given: Given, ufunc: str, *names: str) -> list[str]:
    if ufunc in LOGICAL:
        return ["bool"] * len(names)
    function, values = getattr(np, ufunc), [given[name] for name in names]
    if function in COMPARISONS.values():
        return _dtypes_compared(given.code, function, values)
    return given.code.loop(function, values)[0]


@partial(row, " ".join(f"np.{one}" for one in UNARY), "x")
def unary(given: Given) -> str:
    """Return a ufunc of one array."""
    ufunc = given.name.removeprefix("np.")
    function, (dtype,) = UNARY[ufunc], _dtypes(given, ufunc, "x")
    if ufunc == "invert" and dtype == "bool":
        function = "np_not"
    if ufunc in OF_FLOATS and "float" not in dtype:
        function = OF_FLOATS[ufunc]
    if function.startswith("np_"):
        return write_helper(given.code, function, [(given["x"], dtype)])
    return f"{function}({given.code.tensor(given['x'], dtype)})"


@partial(row, " ".join(f"np.{one}" for one in BINARY), "x y | out where")
def binary(given: Given) -> str:
    """Return a ufunc of two arrays; that of `np.divide(x, y, out=z, where=mask)` has no gradient outside the mask."""
    ufunc = given.name.removeprefix("np.")
    first, second = _dtypes(given, ufunc, "x", "y")
    out, where = given.get("out"), given.get("where")
    if ufunc == "divide" and out is not None and where is not None:
        arrays = [(given["x"], first), (given["y"], second), (out, given.dtype), (where, "bool")]
        return write_helper(given.code, "np_divide_where", arrays)
    if out is not None or where is not None:
        raise given.code.refusal(given.node)
    function = f"tf.{BOOLEAN[ufunc]}" if first == "bool" and ufunc in BOOLEAN else BINARY[ufunc]
    if function.startswith("np_"):
        return write_helper(given.code, function, [(given["x"], first), (given["y"], second)])
    return f"{function}({given.code.tensor(given['x'], first)}, {given.code.operand(given['y'], second)})"


@partial(row, "np.matmul np.dot", "a b")
def product(given: Given) -> str | None:
    """Return the product of matrices and vectors."""
    code = given.code
    if given.name == "np.dot" and (code.rank(given["b"]) > 2 or 0 in (code.rank(given["a"]), code.rank(given["b"]))):
        return None
    return _write_product(code, given["a"], given["b"])


# What chooses elements.


@partial(row, "np.where", "condition x y")
def where(given: Given) -> str:
    """Return elements of one array or another; the places of what is true, for each axis, where there are none."""
    code = given.code
    condition = code.tensor(given["condition"], "bool")
    if given.get("x") is None:
        return f"tf.unstack(tf.where({condition}), axis=1)"
    x, y = (code.tensor(given[one], given.dtype) for one in ("x", "y"))
    return f"tf.where({condition}, {x}, {y})"


@partial(row, "np.select", "condlist choicelist default")
def select(given: Given) -> str:
    """Return elements of the first array whose condition is true."""
    code, conditions, choices = given.code, given["condlist"], given["choicelist"]
    if not isinstance(conditions, ast.List | ast.Tuple) or not isinstance(choices, ast.List | ast.Tuple):
        raise code.refusal(given.node)
    default = given.get("default")
    found = f"tf.constant(0, tf.{given.dtype})" if default is None else code.tensor(default, given.dtype)
    for condition, choice in reversed(list(zip(conditions.elts, choices.elts, strict=True))):
        found = f"tf.where({code.tensor(condition, 'bool')}, {code.tensor(choice, given.dtype)}, {found})"
    return found


@partial(row, "np.clip", "a a_min a_max | min max")
def clip(given: Given) -> str:
    """Return elements within bounds."""
    code = given.code
    text = code.tensor(given["a"], given.dtype)
    # Not `tf.clip_by_value`, which returns the lower bound where that is the larger one.
    for function, names in (("tf.maximum", ("a_min", "min")), ("tf.minimum", ("a_max", "max"))):
        bound = given.get(names[0]) or given.get(names[1])
        if bound is not None:
            if is_number(bound) and np.dtype(given.dtype).kind in "iu":
                limits = np.iinfo(given.dtype)
                if not limits.min <= ast.literal_eval(bound) <= limits.max:
                    raise code.refusal(bound)  # which TensorFlow would wrap around
            text = f"{function}({text}, {code.operand(bound, given.dtype)})"
    return text


DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 bool"
for _name in DTYPES.split():
    row(f"np.{_name}", "x", f"{{x:{_name}}}")
row("int", "x", "{x:int64}")
row("float", "x", "{x:float64}")
row("bool", "x", "{x:bool}")


@partial(row, "len", "x")
def length(given: Given) -> str:
    """Return the size of the first axis."""
    code, several = given.code, given["x"]
    if isinstance(several, ast.Attribute) and several.attr == "shape" and code.is_tensor(several.value):
        return f"len({code.write(several.value)}.shape)"
    text = code.write(several)
    if not code.is_tensor(several):  # a list
        return f"len({text})"
    if code.is_tensor(given.node):
        return f"tf.shape({text}, tf.int64)[0]"
    return f"{code.use('np_known_size')}({text}, 0)"


@partial(row, "max min", "x y")
def extreme(given: Given) -> str | None:
    """Return the larger or smaller of two numbers, or of a vector; if one is NaN, it depends on their order."""
    code, has_nan = given.code, given.dtype.startswith("float")
    if given.get("y") is None:
        if has_nan:
            return None
        return f"{code.use('np_extreme')}({code.tensor(given['x'])}, largest={given.name == 'max'})"
    if has_nan:
        is_better = {"max": "tf.greater", "min": "tf.less"}[given.name]
        texts = [is_better, *(code.tensor(given[name], given.dtype) for name in ("x", "y"))]
        return f"{code.use('python_extreme')}({', '.join(texts)})"
    function = {"max": "tf.maximum", "min": "tf.minimum"}[given.name]
    return f"{function}({code.tensor(given['x'], given.dtype)}, {code.operand(given['y'], given.dtype)})"


@partial(row, "round np.round", "x decimals")
def rounded(given: Given) -> str | None:
    """Return the nearest whole numbers, of a tie the even one."""
    code, decimals = given.code, given.get("decimals")
    text = code.tensor(given["x"])
    # Python rounds the exact value of a float, and not a product of it: `round(1.115, 2)` is 1.11.
    if decimals is not None and (given.name == "np.round" or code.one(given["x"]).weak is float):
        return None
    if decimals is not None:
        return f"{code.use('np_round')}({text}, {code.write(decimals)})"
    if code.dtype(given["x"]) == "bool":  # NumPy makes float16 of it
        text = f"tf.cast({text}, tf.float16)"
    found = f"tf.round({text})"
    return f"tf.cast({found}, tf.int64)" if given.name == "round" else found


# Shapes.


@partial(row, "np.concatenate", "arrays axis | dtype")
def concatenate(given: Given) -> str:
    """Return arrays one behind the other."""
    items, axis = given.code.items(given["arrays"], given.dtype), given.get("axis")
    if axis is None and "axis" in given.by_name:
        items = f"[tf.reshape(item, [-1]) for item in {items}]"
    return f"tf.concat({items}, axis={'0' if axis is None else given.code.write(axis)})"


STACKED = {"np.hstack": (0, 1), "np.vstack": (1, 0), "np.column_stack": (1, 1), "np.dstack": (2, 2)}
"""Functions that put arrays next to each other: the number of axes of those that get a new one for it, and the axis."""


@partial(row, " ".join(STACKED), "arrays | dtype")
def stacked(given: Given) -> str | None:
    """Return arrays next to each other."""
    rank, (fewest, axis) = given.code.rank(given["arrays"]) - 1, STACKED[given.name]
    if rank < fewest:
        return None
    if given.name == "np.hstack" and rank < 2:
        axis = 0
    function = "tf.stack" if rank == fewest else "tf.concat"
    return f"{function}({given.code.items(given['arrays'], given.dtype)}, axis={axis})"


@partial(row, "np.zeros_like np.ones_like np.empty_like", "a dtype")
def like(given: Given) -> str:
    """Return zeros or ones in the shape of an array."""
    name = "ones_like" if "ones" in given.name else "zeros_like"
    if not given.code.is_tensor(given.node):  # its shape alone is taken, which is known
        return f"np.{name.removesuffix('_like')}(tuple({given.code.write(given['a'])}.shape), np.{given.dtype})"
    own = given.code.dtype(given["a"]) == given.dtype
    return f"tf.{name}({joined([given.code.tensor(given['a']), '' if own else f'dtype=tf.{given.dtype}'])})"


def write_count(code: TypedCode, array: ast.expr, node: ast.expr) -> str:
    """Return the number of elements of an array, which is the value of a node."""
    text = code.write(array)
    is_unknown = code.is_tensor(node)
    return f"tf.size({text}, tf.int64)" if is_unknown else f"int(np.prod({code.use('np_known_sizes')}({text})))"


row("np.size", "a", lambda given: write_count(given.code, given["a"], given.node))
