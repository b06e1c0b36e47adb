"""NumPy's ufuncs as TensorFlow's functions, with the casts that NumPy's loops make."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pyopbench.ports.porting.arguments import Given
from pyopbench.ports.porting.helper_calls import write_helper
from pyopbench.ports.porting.operators import COMPARISONS, dtypes_compared, is_order_of_floats
from pyopbench.ports.porting.render import bracketed
from pyopbench.ports.porting.table import written

UNARY = {
    "absolute": "tf.abs", "fabs": "tf.abs", "exp": "tf.exp", "expm1": "tf.math.expm1", "log": "tf.math.log",
    "log1p": "tf.math.log1p", "sqrt": "tf.sqrt", "square": "tf.square", "sin": "tf.sin", "cos": "tf.cos",
    "tan": "tf.tan", "arcsin": "tf.asin", "arccos": "tf.acos", "arctan": "tf.atan", "sinh": "tf.sinh",
    "cosh": "tf.cosh", "tanh": "tf.tanh", "arcsinh": "tf.asinh", "arccosh": "tf.acosh", "arctanh": "tf.atanh",
    "sign": "tf.sign", "floor": "tf.floor", "ceil": "tf.math.ceil", "rint": "tf.math.rint", "negative": "tf.negative",
    "reciprocal": "tf.math.reciprocal", "isnan": "tf.math.is_nan", "isinf": "tf.math.is_inf",
    "isfinite": "tf.math.is_finite", "logical_not": "tf.logical_not", "conjugate": "tf.math.conj",
    "positive": "tf.identity", "trunc": "np_trunc",
}  # fmt: skip
BINARY = {
    "add": "tf.add", "subtract": "tf.subtract", "multiply": "tf.multiply", "divide": "tf.divide", "floor_divide":
    "np_floor_divide", "remainder": "np_remainder", "power": "tf.pow", "maximum": "tf.maximum", "minimum":
    "tf.minimum", "arctan2": "tf.atan2", "equal": "tf.equal", "not_equal": "tf.not_equal", "less": "tf.less",
    "less_equal": "tf.less_equal", "greater": "tf.greater", "greater_equal": "tf.greater_equal", "logical_and":
    "tf.logical_and", "logical_or": "tf.logical_or", "logical_xor": "tf.math.logical_xor", "hypot": "np_hypot",
    "fmax": "np_fmax", "fmin": "np_fmin", "logaddexp": "np_logaddexp", "left_shift": "np_left_shift", "right_shift":
    "np_right_shift", "bitwise_xor": "np_bitwise_xor",
}  # fmt: skip
SCALED = {"radians": "np.pi / 180", "deg2rad": "np.pi / 180", "degrees": "180 / np.pi", "rad2deg": "180 / np.pi"}
LOGARITHMS = {"log2": "2", "log10": "10"}
FUNCTIONS = {
    **{
        f"np.{name}": f"{function}({{}})"
        for name, function in UNARY.items()
        if name != "logical_not" and function.startswith("tf.")
    },
    **{f"np.{name}": f"{{}} * ({factor})" for name, factor in SCALED.items()},
}
"""What can be called on one tensor without looking at its dtype, as patterns."""

OF_MATH = ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")
"""What Python's `math` has under NumPy's names, and computes in float64."""

OF_FLOATS = {"isnan": "np_is_nan", "isinf": "np_is_inf", "isfinite": "np_is_finite"}
"""Functions that TensorFlow has only for floats, and helpers that support all dtypes."""

BOOLEAN = {"maximum": "logical_or", "fmax": "logical_or", "minimum": "logical_and", "fmin": "logical_and"}
"""Functions that TensorFlow lacks for booleans, and those that return the same for them."""

LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")


def _dtypes(given: Given, ufunc: str, *names: str) -> list[str]:
    if ufunc in LOGICAL:
        return ["bool"] * len(names)
    function, values = getattr(np, ufunc), [given[name] for name in names]
    if function in COMPARISONS.values():
        return dtypes_compared(given.code, function, values)
    return given.code.loop(function, values)[0]


def _of_dtype(ufunc: str, function: str, dtype: str) -> str:
    return f"tf.{BOOLEAN[ufunc]}" if dtype == "bool" and ufunc in BOOLEAN else function


def _unary(ufunc: str, function: str) -> None:
    @written(f"np.{ufunc}", "x")
    def write(given: Given) -> str:
        (dtype,) = _dtypes(given, ufunc, "x")
        if ufunc == "logical_not" and is_order_of_floats(given.code, given["x"]):
            return write_helper(given.code, "np_not", [(given["x"], dtype)])
        if ufunc in OF_FLOATS and "float" not in dtype:
            return write_helper(given.code, OF_FLOATS[ufunc], [(given["x"], dtype)])
        if function.startswith("np_"):
            return write_helper(given.code, function, [(given["x"], dtype)])
        return f"{function}({given.code.tensor(given['x'], dtype)})"


def _binary(ufunc: str, function: str) -> None:
    @written(f"np.{ufunc}", "x y | out where")
    def write(given: Given) -> str:
        first, second = _dtypes(given, ufunc, "x", "y")
        if given.get("out") is not None or given.get("where") is not None:
            return _guarded(given, ufunc, first, second)
        called = _of_dtype(ufunc, function, first)
        if called.startswith("np_"):
            return write_helper(given.code, called, [(given["x"], first), (given["y"], second)])
        return f"{called}({given.code.tensor(given['x'], first)}, {given.code.operand(given['y'], second)})"


def _outer(ufunc: str, function: str) -> None:
    """Enter `np.subtract.outer` and its like."""

    @written(f"np.{ufunc}.outer", "x y")
    def write(given: Given) -> str:
        code = given.code
        first, second = _dtypes(given, ufunc, "x", "y")
        added = ", ".join(["tf.newaxis"] * code.rank(given["y"]))
        x = f"tf.convert_to_tensor({code.tensor(given['x'], first)})[..., {added}]"
        called = _of_dtype(ufunc, function, first)
        if called.startswith("np_"):
            code.use(called)
        y = f"tf.convert_to_tensor({code.tensor(given['y'], second)})"
        return f"{called}({x}, {y})"


def _guarded(given: Given, ufunc: str, first: str, second: str) -> str:
    """Return `np.divide(x, y, out=zeros, where=mask)`, whose gradient is none where the mask is False."""
    if ufunc != "divide" or given.get("out") is None or given.get("where") is None:
        raise given.code.refusal(given.node, f"`np.{ufunc}(..., out=...)` has no counterpart in TensorFlow")
    arrays = [(given["x"], first), (given["y"], second), (given["out"], given.dtype), (given["where"], "bool")]
    return write_helper(given.code, "np_divide_where", arrays)


def _scaled(ufunc: str, factor: str) -> None:
    @written(f"np.{ufunc}", "x")
    def write(given: Given) -> str:
        (dtype,) = _dtypes(given, ufunc, "x")
        return f"({bracketed(given.code.tensor(given['x'], dtype))} * ({factor}))"


def _logarithm(ufunc: str, base: str) -> None:
    @written(f"np.{ufunc}", "x")
    def write(given: Given) -> str:
        (dtype,) = _dtypes(given, ufunc, "x")
        return f"(tf.math.log({given.code.tensor(given['x'], dtype)}) / np.log({base}))"


def _of_math(name: str) -> None:
    @written(f"math.{name}", "x")
    def write(given: Given) -> str:
        return f"{UNARY[name]}({given.code.tensor(given['x'], 'float64')})"


def _enter(table: dict[str, str], enter: Callable[[str, str], None]) -> None:
    for name, value in table.items():
        enter(name, value)


for _table, _each in (
    (UNARY, _unary),
    (BINARY, _binary),
    (BINARY, _outer),
    (SCALED, _scaled),
    (LOGARITHMS, _logarithm),
):
    _enter(_table, _each)
for _name in OF_MATH:
    _of_math(_name)


@written("np.invert", "x")
def invert(given: Given) -> str:
    """Return `~x`."""
    if is_order_of_floats(given.code, given["x"]):
        return write_helper(given.code, "np_not", [(given["x"], "bool")])
    return f"(~{given.code.atom(given['x'])})"


@written("np.bitwise_and", "x y")
def bitwise_and(given: Given) -> str:
    """Return `x & y`."""
    return _bitwise(given, "&")


@written("np.bitwise_or", "x y")
def bitwise_or(given: Given) -> str:
    """Return `x | y`."""
    return _bitwise(given, "|")


def _bitwise(given: Given, sign: str) -> str:
    first, second = _dtypes(given, given.name.removeprefix("np."), "x", "y")
    x, y = given["x"], given["y"]
    sides = [
        given.code.atom(one) if given.code.dtype(one) == dtype else given.code.tensor(one, dtype)
        for one, dtype in ((x, first), (y, second))
    ]
    return f"({sides[0]} {sign} {sides[1]})"
