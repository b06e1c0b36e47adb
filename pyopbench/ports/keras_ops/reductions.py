"""NumPy's reductions by `keras.ops`, in the dtypes that NumPy adds up in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from keras import ops

from pyopbench.ports.keras_ops.array import CALLS, KerasArray, as_keras, cast, dtype_of
from pyopbench.ports.keras_ops.lacking import Lacking

IN_RESULT = ("sum", "prod", "mean", "std", "var", "cumsum", "cumprod", "median", "average", "quantile", "percentile")
"""These compute in the dtype of their result: `np.sum` of int32 in int64, `np.mean` of whole numbers in float64."""

NAMES = {"amax": "max", "amin": "min"}
KEEPING = ("cumsum", "cumprod", "argmax", "argmin")
"""What takes no `keepdims` in some version of Keras or of NumPy."""


def _reduce(name: str, array: Any, axis: Any = None, dtype: Any = None, **options: Any) -> KerasArray:
    keepdims = bool(options.pop("keepdims", False))
    for option, value in options.items():
        if value is not None and not (option == "ddof" and value == 0):
            raise Lacking(f"np.{name}(..., {option}=...)")
    x = as_keras(array)
    # What it comes to is seen from what NumPy makes of a single one.
    one = np.ones((1,) * x.ndim, x.dtype)
    result = np.asarray(getattr(np, name)(one)).dtype if dtype is None else np.dtype(dtype_of(dtype))
    if name in IN_RESULT:
        x = cast(x, result)
    function = getattr(ops, NAMES.get(name, name))
    kept = {} if name in KEEPING else {"keepdims": keepdims}
    if keepdims and not kept:
        raise Lacking(f"np.{name}(..., keepdims=True)")
    return cast(KerasArray(function(x.tensor, axis=_axis(axis), **kept)), result)


def _axis(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _of(name: str) -> Callable[..., KerasArray]:
    def call(array: Any, axis: Any = None, dtype: Any = None, out: Any = None, **more: Any) -> KerasArray:
        return _reduce(name, array, axis, dtype, out=out, **more)

    return call


def _without_dtype(name: str) -> Callable[..., KerasArray]:
    def call(array: Any, axis: Any = None, out: Any = None, **more: Any) -> KerasArray:
        return _reduce(name, array, axis, out=out, **more)

    return call


def _ptp(array: Any, axis: Any = None) -> KerasArray:
    return CALLS["max"](array, axis) - CALLS["min"](array, axis)  # type: ignore[no-any-return]


def _quantile(name: str, share: float) -> Callable[..., KerasArray]:
    def call(array: Any, q: Any, axis: Any = None, *, keepdims: bool = False) -> KerasArray:
        x = as_keras(array)
        if x.dtype.kind != "f":
            x = cast(x, np.dtype(float))
        places = np.asarray(q, x.dtype) * share
        return KerasArray(ops.quantile(x.tensor, places, axis=_axis(axis), keepdims=keepdims))

    return call


def _average(array: Any, axis: Any = None, weights: Any = None) -> KerasArray:
    if weights is None:
        return CALLS["mean"](array, axis)  # type: ignore[no-any-return]
    weighted = CALLS["sum"](as_keras(array) * weights, axis)
    return weighted / CALLS["sum"](as_keras(weights), axis)  # type: ignore[no-any-return]


def _norm(array: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> KerasArray:  # noqa: A002, FBT001, FBT002
    x = as_keras(array)
    x = x if x.dtype.kind == "f" else cast(x, np.dtype(float))
    return KerasArray(ops.norm(x.tensor, ord=ord, axis=_axis(axis), keepdims=keepdims))


def _count_nonzero(array: Any, axis: Any = None) -> KerasArray:
    return CALLS["sum"](CALLS["not_equal"](as_keras(array), 0), axis)  # type: ignore[no-any-return]


CALLS.update({name: _of(name) for name in ("sum", "prod", "mean", "std", "var", "cumsum", "cumprod")})
CALLS.update(
    {name: _without_dtype(name) for name in ("max", "min", "amax", "amin", "any", "all", "argmax", "argmin", "median")}
)
CALLS.update({
    "ptp": _ptp, "quantile": _quantile("quantile", 1.0), "percentile": _quantile("percentile", 0.01),
    "average": _average, "linalg.norm": _norm, "count_nonzero": _count_nonzero,
})  # fmt: skip
