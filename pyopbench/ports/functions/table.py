"""The table of NumPy's and SciPy's functions that `traced` can write: a row for each name.

A row has an expression of TensorFlow's, a helper function on tensors, or both: then the helper serves calls that the
expression does not. A helper needs nothing but NumPy, TensorFlow and other helpers, because a written port takes its
source along. What a helper cannot do is a `NotImplementedError`.
"""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])
Expression = TypeVar("Expression", bound=str | Callable[[Any], str | None])

OWN, FLOAT, COMMON, NUMBER = "own", "float", "common", "number"
"""Rules for the dtype of an array:

own: its own.
float: its own, or float64 of what is neither float nor complex.
common: that to which all arrays with this rule are promoted.
number: what only the graph knows is a tensor, and all else stays as it is.

Any other rule is the name of a dtype."""


@dataclass
class TableEntry:
    """How a function is written.

    Attributes:
        parameters: those of the expression, in NumPy's order; one that begins with `*` takes all that is left, and
            those after `|` are given by name only.
        expression: a text with a place in braces for each argument (`porting.calls.PLACE`), or a function that returns
            the text of a call; both may decline a call. None if there is only a helper.
        helper: a function on tensors that does what NumPy's or SciPy's does, with the parameters that this has, or the
            first of them; None if there is only an expression.
        rules: the rule for the dtype of each parameter of the helper that is an array, or a list of arrays. All others
            have to be known before the graph runs.
        choice: the last argument of each call of the helper, as `largest=False`; empty for none.
    """

    parameters: str = ""
    expression: str | Callable[[Any], str | None] | None = None
    helper: Callable[..., Any] | None = None
    rules: Mapping[str, str] = field(default_factory=dict)
    choice: str = ""


TABLE: dict[str, TableEntry] = {}
"""By name: `len`, `np.median`, `scipy.special.expit`."""


def row(names: str, parameters: str, expression: Expression) -> Expression:
    """Enter an expression, under one name or several, and return it."""
    for name in names.split():
        entry = TABLE.setdefault(name, TableEntry())
        entry.parameters, entry.expression = parameters, expression
    return expression


def helper(names: str, choice: str = "", **rules: str) -> Callable[[Function], Function]:
    """Enter a function on tensors under one name or several."""

    def enter(function: Function) -> Function:
        for name in names.split():
            entry = TABLE.setdefault(name, TableEntry())
            entry.helper, entry.rules, entry.choice = function, rules, choice
        return function

    return enter


# Ufuncs: what is computed in the dtypes that NumPy's loop has. Names without `tf.` are helpers.

UNARY = {
    "absolute": "tf.abs", "fabs": "tf.abs", "exp": "tf.exp", "expm1": "tf.math.expm1", "log": "tf.math.log",
    "log1p": "tf.math.log1p", "sqrt": "tf.sqrt", "square": "tf.square", "sin": "tf.sin", "cos": "tf.cos",
    "tan": "tf.tan", "arcsin": "tf.asin", "arccos": "tf.acos", "arctan": "tf.atan", "sinh": "tf.sinh",
    "cosh": "tf.cosh", "tanh": "tf.tanh", "arcsinh": "tf.asinh", "arccosh": "tf.acosh", "arctanh": "tf.atanh",
    "sign": "tf.sign", "floor": "tf.floor", "ceil": "tf.math.ceil", "rint": "tf.math.rint", "negative": "tf.negative",
    "reciprocal": "tf.math.reciprocal", "isnan": "tf.math.is_nan", "isinf": "tf.math.is_inf",
    "isfinite": "tf.math.is_finite", "logical_not": "np_not", "conjugate": "tf.math.conj",
    "positive": "tf.identity", "invert": "tf.bitwise.invert",
}  # fmt: skip
BINARY = {
    "add": "tf.add", "subtract": "tf.subtract", "multiply": "tf.multiply", "divide": "tf.divide",
    "floor_divide": "np_floor_divide", "remainder": "np_remainder", "power": "tf.pow", "maximum": "tf.maximum",
    "minimum": "tf.minimum", "arctan2": "tf.atan2", "equal": "tf.equal", "not_equal": "tf.not_equal",
    "less": "tf.less", "less_equal": "tf.less_equal", "greater": "tf.greater", "greater_equal": "tf.greater_equal",
    "logical_and": "tf.logical_and", "logical_or": "tf.logical_or", "logical_xor": "tf.math.logical_xor",
    "left_shift": "np_left_shift", "right_shift": "np_right_shift",
}  # fmt: skip

row("np.radians np.deg2rad", "x", "{x:loop} * (np.pi / 180)")
row("np.degrees np.rad2deg", "x", "{x:loop} * (180 / np.pi)")
row("np.log2", "x", "np_log_of_base({x:loop}, 2)")
row("np.log10", "x", "np_log_of_base({x:loop}, 10)")
row("np.bitwise_and", "x y", "{x:loop} & {y:loop}")
row("np.bitwise_or", "x y", "{x:loop} | {y:loop}")
row("np.bitwise_xor", "x y", "{x:loop} ^ {y:loop}")
for _name in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"):
    row(f"math.{_name}", "x", f"{UNARY[_name]}({{x:float64}})")
row("abs", "x", "tf.abs({x})")
row("scipy.special.expit", "x", "tf.sigmoid({x:result})")
row("np.real", "val", "tf.math.real({val})")
row("np.imag", "val", "tf.math.imag({val})")

# Reductions.


def _expanded(given: Any) -> str | None:
    """Return `np.expand_dims` of one axis."""
    code, axis = given.code, given["axis"]
    return None if code.rank(axis) else f"tf.expand_dims({code.tensor(given['a'], '')}, {code.write(axis)})"


_REDUCED = "a axis dtype | keepdims"
row("np.sum", _REDUCED, "tf.reduce_sum({a:result}, {axis=}, {keepdims=})")
row("np.prod", _REDUCED, "tf.reduce_prod({a:result}, {axis=}, {keepdims=})")
row("np.mean", _REDUCED, "tf.reduce_mean({a:result}, {axis=}, {keepdims=})")
row("np.std", _REDUCED, "tf.math.reduce_std({a:result}, {axis=}, {keepdims=})")
row("np.var", _REDUCED, "tf.math.reduce_variance({a:result}, {axis=}, {keepdims=})")
row("np.all", "a axis | keepdims", "tf.reduce_all({a:bool}, {axis=}, {keepdims=})")
row("np.any", "a axis | keepdims", "tf.reduce_any({a:bool}, {axis=}, {keepdims=})")
row("np.count_nonzero", "a axis | keepdims", "tf.math.count_nonzero({a}, {axis=}, {keepdims=})")
row("np.cumsum", "a axis dtype", "tf.cumsum({a:result flat}, {axis=})")
row("np.cumprod", "a axis dtype", "tf.math.cumprod({a:result flat}, {axis=})")

# Products and decompositions.

row("np.outer", "a b", "tf.experimental.numpy.outer({a:result}, {b:result})")
row("np.linalg.cholesky", "a", "tf.linalg.cholesky({a:result})")
row("np.linalg.solve", "a b", "np_solve({a:result}, {b:result})")
row("np.linalg.norm", "x | axis keepdims", "tf.norm({x:result}, {axis=}, {keepdims=})")
row("np.linalg.inv", "a", "tf.linalg.inv({a:result})")
row("np.linalg.det", "a", "tf.linalg.det({a:result})")

# Places.

row("np.nonzero", "condition", "tf.unstack(tf.where({condition:bool}), axis=1)")
row("np.argwhere", "condition", "tf.where({condition:bool})")
row("np.flatnonzero", "condition", "tf.where({condition:bool flat})[:, 0]")
_ALONG = "tf.experimental.numpy.take_along_axis({arr}, {indices:int64}, {axis:written})"
row("np.take_along_axis", "arr indices axis", _ALONG)

# Shapes.

row("np.array np.asarray np.ascontiguousarray np.asanyarray", "a dtype | copy", "{a:result}")
row("np.copy", "a", "tf.identity({a})")  # nothing writes to a tensor
row("np.reshape", "a *shape", "tf.reshape({a}, {shape:shape})")
row("np.ravel np.flatten", "a", "tf.reshape({a}, [-1])")
row("np.transpose", "a *axes", "tf.transpose({a}, {axes:shape})")
row("np.swapaxes", "a axis1 axis2", "tf.experimental.numpy.swapaxes({a}, {axis1:written}, {axis2:written})")
row("np.expand_dims", "a axis", _expanded)
row("np.squeeze", "a axis", "tf.squeeze({a}, {axis=})")
row("np.fliplr", "a", "tf.reverse({a}, axis=[1])")
row("np.flipud", "a", "tf.reverse({a}, axis=[0])")
row("np.roll", "a shift axis", "tf.experimental.numpy.roll({a}, {shift:written}, {axis=})")
row("np.append", "arr values axis", "tf.experimental.numpy.append({arr:result}, {values:result}, {axis=})")
row("np.stack", "arrays axis", "tf.stack({arrays:items}, {axis=})")
row("np.repeat", "a repeats axis", "tf.repeat({a}, {repeats:written}, {axis=})")
row("np.broadcast_to", "a shape", "tf.broadcast_to({a}, {shape:written})")
row("np.zeros np.empty", "shape dtype", "tf.zeros({shape:shape}, {dtype})")
row("np.ones", "shape dtype", "tf.ones({shape:shape}, {dtype})")
row("np.full_like", "a fill_value dtype", "tf.fill(tf.shape({a}), {fill_value:result})")
row("np.full", "shape fill_value dtype", "tf.fill({shape:shape}, {fill_value:result})")
row("np.arange", "start stop step dtype", "tf.range({start:result}, {stop:result}, {step:result})")
row("np.linspace", "start stop num | dtype", "np_linspace({start:result}, {stop:result}, num={num:written})")
row("np.ndim", "a", "{a:written}.shape.rank")
row("np.shape", "a", "tuple(np_known_sizes({a:written}))")

# Names.

MODULES = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft, "math": math, "": builtins}


@functools.cache
def _names() -> dict[int, str]:
    found = {}
    for prefix, module in MODULES.items():
        for name in sorted(vars(module), key=lambda one: (one in SECOND, one), reverse=True):
            value = vars(module)[name]
            if callable(value) and not name.startswith("_"):
                found[id(value)] = f"{prefix}.{name}" if prefix else name
    return found


SECOND = (
    "abs", "mod", "true_divide", "concat", "permute_dims", "conj", "acos", "acosh", "asin", "asinh", "atan", "atan2",
    "atanh", "pow", "bitwise_invert", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift",
)  # fmt: skip
"""Aliases of names in the table."""


def name_of(value: Any) -> str:
    """Return the name of a function, such as `np.sum` or `len`; empty for a function that is in no table."""
    if isinstance(value, type) and issubclass(value, np.generic):
        return f"np.{np.dtype(value).name}"
    known = _names().get(id(value))
    if known is not None:
        return known
    ufunc = getattr(value, "__self__", None)
    if isinstance(ufunc, np.ufunc):  # its method
        return f"{name_of(ufunc)}.{value.__name__}"
    module, name = str(getattr(value, "__module__", "") or ""), str(getattr(value, "__name__", ""))
    if isinstance(value, np.ufunc):  # SciPy's have no module
        module = "scipy.special"
    return f"{module.split('._')[0]}.{name}" if module.startswith("scipy") and name else ""
