"""NumPy's universal functions by `keras.ops`, in the dtypes that NumPy computes in."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

from pyopbench.ports.keras_ops.array import CALLS, KerasArray, as_keras, cast
from pyopbench.ports.keras_ops.lacking import Lacking

UFUNCS = {
    name: name
    for name in (
        "add", "subtract", "multiply", "true_divide", "floor_divide", "mod", "power", "maximum", "minimum", "arctan2",
        "logaddexp", "negative", "absolute", "sign", "square", "sqrt", "exp", "expm1", "log", "log1p", "log2", "log10",
        "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh",
        "floor", "ceil", "trunc", "reciprocal", "exp2", "less", "less_equal", "greater", "greater_equal", "equal",
        "not_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite",
        "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "hypot", "deg2rad",
    )
} | {"rint": "round", "divide": "true_divide", "remainder": "mod", "radians": "deg2rad"}  # fmt: skip
"""NumPy's name, and that of Keras; what an older Keras has not got is refused where it is called."""

BY_TYPE = ("logical_and", "logical_or", "logical_xor", "logical_not")
OF_FLOATS = ("isnan", "isinf", "isfinite")
ROUNDING = ("floor", "ceil", "trunc", "rint")
BITWISE_OF_TRUTH = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor"}


def call_ufunc(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> KerasArray:
    """Return a universal function of NumPy's of arrays of Keras', in NumPy's dtype.

    Raises:
        Lacking: Keras has not got it, or an option is given.
    """
    given = {key: value for key, value in options.items() if value is not None}
    if given:
        raise Lacking(f"np.{name}(..., {next(iter(given))}=...)")
    inputs, result = _dtypes(name, arguments)
    arrays = [as_keras(one, inputs) for one in arguments]
    if name in ROUNDING and result.kind in "biu":
        return arrays[0]
    keras_name = BITWISE_OF_TRUTH.get(name, name) if inputs.kind == "b" else UFUNCS[name]
    function = getattr(ops, UFUNCS.get(keras_name, keras_name), None)
    if function is None:
        raise Lacking(f"np.{name}")
    return cast(KerasArray(function(*(array.tensor for array in arrays))), result)


def _dtypes(name: str, arguments: tuple[Any, ...]) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the dtypes that NumPy computes in, and that of its result: seen from what it makes of ones."""
    ones = [_one(argument) for argument in arguments]
    with np.errstate(all="ignore"):
        result = np.asarray(getattr(np, name)(*ones)).dtype
        if name in BY_TYPE:
            return np.dtype(bool), result
        common = np.asarray(ones[0]).dtype if len(ones) == 1 else np.add(*ones).dtype
    if result.kind == "b" and common.kind != "b":  # a comparison
        return (np.dtype("float32") if name in OF_FLOATS and common.kind in "biu" else common), result
    return result, result


def _one(argument: Any) -> Any:
    """Return a one of an argument's dtype; numbers of Python's take that of what they are combined with."""
    if isinstance(argument, KerasArray):
        return np.ones(1, argument.dtype)
    if type(argument) in (bool, int, float):
        return type(argument)(1)
    return (
        np.ones(1, np.asarray(argument).dtype) if not isinstance(argument, (list, tuple)) else _one(as_keras(argument))
    )


def _invert(array: KerasArray) -> KerasArray:
    function = ops.logical_not if array.dtype.kind == "b" else ops.bitwise_not
    return KerasArray(function(array.tensor))


CALLS.update(
    {name: (lambda *arguments, _name=name, **options: call_ufunc(_name, arguments, options)) for name in UFUNCS}
)
CALLS.update({"abs": CALLS["absolute"], "fabs": CALLS["absolute"], "invert": _invert})
CALLS["positive"] = lambda array: array
