"""The table of NumPy's and SciPy's functions that `traced` can write: a row for each name.

A row has an expression of TensorFlow's, a helper function on tensors, or both: then the helper serves calls that the
expression does not. A helper needs nothing but NumPy, TensorFlow and other helpers, because a written port takes its
source along. What a helper cannot do is a `NotImplementedError`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

OWN, FLOAT, COMMON, COMMON_FLOAT, PROMOTED, PROMOTED_FLOAT, LIKE, WHOLE, NUMBER = (
    "own", "float", "common", "common float", "promoted", "promoted float", "like ", "whole or ", "number",
)  # fmt: skip
"""Rules for the dtype of an array:

own: its own.
float: its own, or float64 of what is neither float nor complex.
common, common float: that to which all arrays with such a rule are promoted; of these the float as above.
promoted, promoted float: the same, where numbers of Python's have no dtype of their own.
like a: its own, but of a number of Python's that of the parameter `a`, or float64.
whole or like a: the same, but int64 of a whole number of Python's.
number: what only the graph knows is a tensor, and all else stays as it is.

Any other rule is the name of a dtype."""


@dataclass(frozen=True)
class Helper:
    """A function on tensors that does what NumPy's or SciPy's does.

    Attributes:
        function: it, with the parameters that NumPy has, or the first of them.
        rules: the rule for the dtype of each parameter that is an array, or a list of arrays. All others have to be
            known before the graph runs.
        signature: its parameters.
    """

    function: Callable[..., Any]
    rules: Mapping[str, str]
    signature: inspect.Signature


@dataclass
class TableEntry:
    """How a function is written.

    Attributes:
        parameters: those of the expression, in NumPy's order; one that begins with `*` takes all that is left, and
            those after `|` are given by name only.
        expression: a text with a place in braces for each argument (`porting.calls.PLACE`), or a function that returns
            the text of a call; both may decline a call. None if there is only a helper.
        helper: a function on tensors; None if there is only an expression.
    """

    parameters: tuple[str, ...] = ()
    expression: str | Callable[[Any], str | None] | None = None
    helper: Helper | None = None


TABLE: dict[str, TableEntry] = {}
"""By name: `len`, `np.median`, `np.add.reduce`, `scipy.special.softmax`."""


def row(names: str, parameters: str, expression: str | Callable[[Any], str | None]) -> None:
    """Enter an expression, under one name or several."""
    for name in names.split():
        entry = TABLE.setdefault(name, TableEntry())
        entry.parameters, entry.expression = tuple(parameters.split()), expression


def helper(names: str, **rules: str) -> Callable[[Function], Function]:
    """Enter a function on tensors under one name or several, with a rule for each parameter that is an array."""

    def enter(function: Function) -> Function:
        for name in names.split():
            entry = TABLE.setdefault(name, TableEntry())
            entry.helper = Helper(function, rules, inspect.signature(function))
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
    "positive": "tf.identity", "trunc": "np_trunc", "invert": "tf.bitwise.invert",
}  # fmt: skip
BINARY = {
    "add": "tf.add", "subtract": "tf.subtract", "multiply": "tf.multiply", "divide": "tf.divide",
    "floor_divide": "np_floor_divide", "remainder": "np_remainder", "power": "tf.pow", "maximum": "tf.maximum",
    "minimum": "tf.minimum", "arctan2": "tf.atan2", "equal": "tf.equal", "not_equal": "tf.not_equal",
    "less": "tf.less", "less_equal": "tf.less_equal", "greater": "tf.greater", "greater_equal": "tf.greater_equal",
    "logical_and": "tf.logical_and", "logical_or": "tf.logical_or", "logical_xor": "tf.math.logical_xor",
    "hypot": "np_hypot", "fmax": "np_fmax", "fmin": "np_fmin", "logaddexp": "np_logaddexp",
    "left_shift": "np_left_shift", "right_shift": "np_right_shift", "bitwise_xor": "np_bitwise_xor",
}  # fmt: skip

for _name in ("radians", "deg2rad"):
    row(f"np.{_name}", "x", "{x:loop} * (np.pi / 180)")
for _name in ("degrees", "rad2deg"):
    row(f"np.{_name}", "x", "{x:loop} * (180 / np.pi)")
row("np.log2", "x", "tf.math.log({x:loop}) / np.log(2)")
row("np.log10", "x", "tf.math.log({x:loop}) / np.log(10)")
row("np.bitwise_and", "x y", "{x:loop} & {y:loop}")
row("np.bitwise_or", "x y", "{x:loop} | {y:loop}")
for _name in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"):
    row(f"math.{_name}", "x", f"{UNARY[_name]}({{x:float64}})")
row("abs", "x", "tf.abs({x})")
row("scipy.special.expit", "x", "tf.sigmoid({x:result})")
row("scipy.special.gammaln", "x", "tf.math.lgamma({x:result})")

# Reductions.

_REDUCED = "a axis dtype | keepdims"
row("np.sum", _REDUCED, "tf.reduce_sum({a:result}, {axis=}, {keepdims=})")
row("np.prod", _REDUCED, "tf.reduce_prod({a:result}, {axis=}, {keepdims=})")
row("np.mean", _REDUCED, "tf.reduce_mean({a:result}, {axis=}, {keepdims=})")
row("np.std", _REDUCED, "tf.math.reduce_std({a:result}, {axis=}, {keepdims=})")
row("np.var", _REDUCED, "tf.math.reduce_variance({a:result}, {axis=}, {keepdims=})")
row("np.add.reduce", _REDUCED, "tf.reduce_sum({a:result}, {axis=0}, {keepdims=})")
row("np.multiply.reduce", _REDUCED, "tf.reduce_prod({a:result}, {axis=0}, {keepdims=})")
row("np.maximum.reduce", "a axis | keepdims", "np_max({a:helper}, {axis=0}, {keepdims=})")
row("np.minimum.reduce", "a axis | keepdims", "np_min({a:helper}, {axis=0}, {keepdims=})")
row("np.logical_and.reduce", "a axis | keepdims", "tf.reduce_all({a:bool}, {axis=0}, {keepdims=})")
row("np.logical_or.reduce", "a axis | keepdims", "tf.reduce_any({a:bool}, {axis=0}, {keepdims=})")
row("np.all", "a axis | keepdims", "tf.reduce_all({a:bool}, {axis=}, {keepdims=})")
row("np.any", "a axis | keepdims", "tf.reduce_any({a:bool}, {axis=}, {keepdims=})")
row("np.count_nonzero", "a axis | keepdims", "tf.math.count_nonzero({a}, {axis=}, {keepdims=})")
row("np.cumsum", "a axis dtype", "tf.cumsum({a:result flat}, {axis=})")
row("np.cumprod", "a axis dtype", "tf.math.cumprod({a:result flat}, {axis=})")
row("scipy.special.logsumexp", "a axis | keepdims", "tf.reduce_logsumexp({a:result}, {axis=}, {keepdims=})")
row("np.linalg.norm", "x | axis keepdims", "tf.norm({x:result}, {axis=}, {keepdims=})")
row("np.linalg.inv", "a", "tf.linalg.inv({a:result})")
row("np.linalg.det", "a", "tf.linalg.det({a:result})")

# Places.

row("np.nonzero", "condition", "tf.unstack(tf.where({condition:bool}), axis=1)")
row("np.argwhere", "condition", "tf.where({condition:bool})")
row("np.flatnonzero", "condition", "tf.where({condition:bool flat})[:, 0]")

# Shapes.

row("np.array np.asarray np.ascontiguousarray np.asanyarray", "a dtype | copy", "{a:result}")
row("np.copy", "a", "tf.identity({a})")  # nothing writes to a tensor
row("np.reshape", "a *shape", "tf.reshape({a}, {shape:shape})")
row("np.ravel np.flatten", "a", "tf.reshape({a}, [-1])")
row("np.transpose", "a *axes", "tf.transpose({a}, {axes:shape})")
row("np.expand_dims", "a axis", "tf.expand_dims({a}, {axis=number})")
row("np.squeeze", "a axis", "tf.squeeze({a}, {axis=})")
row("np.fliplr", "a", "tf.reverse({a}, axis=[1])")
row("np.flipud", "a", "tf.reverse({a}, axis=[0])")
row("np.stack", "arrays axis", "tf.stack({arrays:items}, {axis=})")
row("np.repeat", "a repeats axis", "tf.repeat({a}, {repeats:written}, {axis=})")
row("np.broadcast_to", "a shape", "tf.broadcast_to({a}, {shape:written})")
row("np.zeros np.empty", "shape dtype", "tf.zeros({shape:shape}, {dtype})")
row("np.ones", "shape dtype", "tf.ones({shape:shape}, {dtype})")
row("np.full_like", "a fill_value dtype", "tf.fill(tf.shape({a}), {fill_value:result})")
row("np.full", "shape fill_value dtype", "tf.fill({shape:shape}, {fill_value:result})")
row("np.arange", "start stop step dtype", "tf.range({start:result}, {stop:result}, {step:result})")
row("np.ndim", "a", "{a:written}.shape.rank")
row("np.shape", "a", "tuple(np_known_sizes({a:written}))")


def dtypes_by_rule(rules: Mapping[str, str], examples: Mapping[str, Sequence[Any]]) -> dict[str, list[np.dtype[Any]]]:
    """Return the dtype in which each array has to be given.

    Args:
        rules: by the name of the parameter.
        examples: for each parameter that is given, what promotes as each of its arrays does.
    """
    together = [one for name, some in examples.items() if rules[name] in (COMMON, COMMON_FLOAT) for one in some]
    promoted = [one for name, some in examples.items() if rules[name] in (PROMOTED, PROMOTED_FLOAT) for one in some]
    common = {
        COMMON: np.result_type(*map(_dtype, together)) if together else None,
        PROMOTED: np.result_type(*promoted) if promoted else None,
    }
    common[COMMON_FLOAT] = None if common[COMMON] is None else _floating(common[COMMON])
    common[PROMOTED_FLOAT] = None if common[PROMOTED] is None else _floating(common[PROMOTED])
    found: dict[str, list[np.dtype[Any]]] = {}
    for name, some in examples.items():
        rule = rules[name]
        if common.get(rule) is not None:
            found[name] = [np.dtype(common[rule])] * len(some)
        elif rule == OWN:
            found[name] = [_dtype(one) for one in some]
        elif rule == FLOAT:
            found[name] = [_floating(_dtype(one)) for one in some]
        elif rule.startswith((LIKE, WHOLE)):
            other = _floating(found[rule.removeprefix(WHOLE).removeprefix(LIKE)][0])
            is_whole = [rule.startswith(WHOLE) and type(one) is int for one in some]
            found[name] = [
                other if _is_plain(one) and not whole else _dtype(one)
                for one, whole in zip(some, is_whole, strict=True)
            ]
        else:
            found[name] = [np.dtype(rule)] * len(some)
    return found


def _dtype(example: Any) -> np.dtype[Any]:
    return np.asarray(example).dtype


def _is_plain(example: Any) -> bool:
    """Is it a number of Python's?"""
    return isinstance(example, int | float | complex) and not isinstance(example, np.generic)


def _floating(dtype: Any) -> np.dtype[Any]:
    return np.dtype(dtype) if np.dtype(dtype).kind in "fc" else np.dtype(np.float64)
