"""Expressions of the table of functions that a text with places is not enough for."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from pyopbench.ports.functions.table import BINARY, UNARY, row
from pyopbench.ports.porting.calls import Given, write_helper
from pyopbench.ports.porting.operators import COMPARISONS, dtypes_compared, write_product
from pyopbench.ports.porting.typed import TypedCode, is_number, joined


def writes(names: str, parameters: str) -> Callable[[Callable[[Given], str | None]], Callable[[Given], str | None]]:
    """Enter the function below into the table: it returns the text of a call, or None for what it does not serve."""

    def enter(write: Callable[[Given], str | None]) -> Callable[[Given], str | None]:
        row(names, parameters, write)
        return write

    return enter


# Ufuncs.

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
        return dtypes_compared(given.code, function, values)
    return given.code.loop(function, values)[0]


@writes(" ".join(f"np.{one}" for one in UNARY), "x")
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


@writes(" ".join(f"np.{one}" for one in BINARY), "x y | out where")
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


@writes("np.matmul np.dot", "a b")
def product(given: Given) -> str | None:
    """Return the product of matrices and vectors."""
    code = given.code
    if given.name == "np.dot" and (code.rank(given["b"]) > 2 or 0 in (code.rank(given["a"]), code.rank(given["b"]))):
        return None
    return write_product(code, given["a"], given["b"])


# What chooses elements.


@writes("np.where", "condition x y")
def where(given: Given) -> str:
    """Return elements of one array or another; the places of what is true, for each axis, where there are none."""
    code = given.code
    condition = code.tensor(given["condition"], "bool")
    if given.get("x") is None:
        return f"tf.unstack(tf.where({condition}), axis=1)"
    x, y = (code.tensor(given[one], given.dtype) for one in ("x", "y"))
    return f"tf.where({condition}, {x}, {y})"


@writes("np.select", "condlist choicelist default")
def select(given: Given) -> str:
    """Return elements of the first array whose condition is true."""
    code, conditions, choices = given.code, given["condlist"], given["choicelist"]
    if not isinstance(conditions, ast.List | ast.Tuple) or not isinstance(choices, ast.List | ast.Tuple):
        raise code.refusal(given.node, fix="write its lists into the call")
    default = given.get("default")
    found = f"tf.constant(0, tf.{given.dtype})" if default is None else code.tensor(default, given.dtype)
    for condition, choice in reversed(list(zip(conditions.elts, choices.elts, strict=True))):
        found = f"tf.where({code.tensor(condition, 'bool')}, {code.tensor(choice, given.dtype)}, {found})"
    return found


@writes("np.clip", "a a_min a_max | min max")
def clip(given: Given) -> str:
    """Return elements within bounds."""
    code = given.code
    text = code.tensor(given["a"], given.dtype)
    # Not `tf.clip_by_value`, which returns the lower bound where that is the larger one.
    for function, names in (("tf.maximum", ("a_min", "min")), ("tf.minimum", ("a_max", "max"))):
        bound = given.get(names[0]) or given.get(names[1])
        if bound is not None:
            _refuse_out_of_range(given, bound)
            text = f"{function}({text}, {code.operand(bound, given.dtype)})"
    return text


def _refuse_out_of_range(given: Given, bound: ast.expr) -> None:
    """Refuse a bound that no integer of the dtype can be: TensorFlow would wrap it around."""
    dtype = np.dtype(given.dtype)
    if dtype.kind in "iu" and is_number(bound):
        limits, value = np.iinfo(dtype), ast.literal_eval(bound)
        if not limits.min <= value <= limits.max:
            raise given.code.refusal(bound, f"`{ast.unparse(bound)}` is out of the range of {given.dtype}")


for _name in (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bool"),
):
    row(f"np.{_name}", "x", f"{{x:{_name}}}")
row("int", "x", "{x:int64}")
row("float", "x", "{x:float64}")
row("bool", "x", "{x:bool}")


@writes("len", "x")
def length(given: Given) -> str:
    """Return the size of the first axis."""
    code = given.code
    if not code.is_tensor(given["x"]) and not _is_shape(code, given["x"]):  # a list
        return f"len({code.write(given['x'])})"
    inner = given["x"]
    text = code.write(inner)
    if isinstance(inner, ast.Attribute) and inner.attr == "shape" and code.is_tensor(inner.value):
        return f"len({code.write(inner.value)}.shape)"
    if code.is_tensor(given.node):
        return f"tf.shape({text}, tf.int64)[0]"
    return f"{code.use('np_known_size')}({text}, 0)"


@writes("max min", "x y")
def extreme(given: Given) -> str | None:
    """Return the larger or smaller of two numbers, or of a vector; if one is NaN, it depends on their order."""
    code, has_nan = given.code, given.dtype.startswith("float")
    if given.get("y") is None:
        return None if has_nan else f"tf.reduce_{given.name}({code.tensor(given['x'])})"
    if has_nan:
        texts = [code.tensor(given[name], given.dtype) for name in ("x", "y")]
        return f"{code.use(f'python_{given.name}')}({', '.join(texts)})"
    function = {"max": "tf.maximum", "min": "tf.minimum"}[given.name]
    return f"{function}({code.tensor(given['x'], given.dtype)}, {code.operand(given['y'], given.dtype)})"


@writes("round np.round", "x decimals")
def rounded(given: Given) -> str | None:
    """Return the nearest whole numbers, of a tie the even one."""
    code, decimals = given.code, given.get("decimals")
    text = code.tensor(given["x"])
    # Python rounds the exact value of a float, and not a product of it: `round(1.115, 2)` is 1.11.
    if decimals is not None and (given.name == "np.round" or code.one(given["x"]).weak is float):
        return None
    if decimals is not None:
        scale = f"10.0 ** {code.write(decimals)}"
        return f"tf.round({text} * {scale}) / {scale}"
    if code.dtype(given["x"]) == "bool":  # NumPy makes float16 of it
        text = f"tf.cast({text}, tf.float16)"
    found = f"tf.round({text})"
    return f"tf.cast({found}, tf.int64)" if given.name == "round" else found


def _is_shape(code: TypedCode, node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "shape" and code.is_tensor(node.value)


# Shapes.


@writes("np.concatenate", "arrays axis | dtype")
def concatenate(given: Given) -> str:
    """Return arrays one behind the other."""
    if given.get("axis") is None and "axis" in given.by_name:
        items = given.code.items(given["arrays"], given.dtype)
        return f"tf.concat([tf.reshape(item, [-1]) for item in {items}], axis=0)"
    axis = "0" if given.get("axis") is None else given.code.write(given["axis"])
    return f"tf.concat({given.code.items(given['arrays'], given.dtype)}, axis={axis})"


STACKED = {"np.hstack": 0, "np.vstack": 1, "np.column_stack": 1, "np.dstack": 2}
"""Functions that put arrays next to each other, and the number of axes of arrays that get a new one for it."""


@writes(" ".join(STACKED), "arrays | dtype")
def stacked(given: Given) -> str | None:
    """Return arrays next to each other."""
    rank, fewest = given.code.rank(given["arrays"]) - 1, STACKED[given.name]
    if rank < fewest:
        return None
    axis = {"np.hstack": int(rank > 1), "np.vstack": 0, "np.column_stack": 1, "np.dstack": 2}[given.name]
    function = "tf.stack" if rank == fewest else "tf.concat"
    return f"{function}({given.code.items(given['arrays'], given.dtype)}, axis={axis})"


@writes("np.zeros_like np.ones_like np.empty_like", "a dtype")
def like(given: Given) -> str:
    """Return zeros or ones in the shape of an array."""
    name = "ones_like" if "ones" in given.name else "zeros_like"
    if not given.code.is_tensor(given.node):  # its shape alone is taken, which is known
        return f"np.{name.removesuffix('_like')}(tuple({given.code.write(given['a'])}.shape), np.{given.dtype})"
    own = given.code.dtype(given["a"]) == given.dtype
    return f"tf.{name}({joined([given.code.tensor(given['a']), '' if own else f'dtype=tf.{given.dtype}'])})"


@writes("np.size", "a axis")
def size(given: Given) -> str | None:
    """Return the number of elements."""
    if given.get("axis") is not None:
        return None
    text = given.code.write(given["a"])
    if given.code.is_tensor(given.node):
        return f"tf.size({text}, tf.int64)"
    return f"int(np.prod({given.code.use('np_known_sizes')}({text})))"
