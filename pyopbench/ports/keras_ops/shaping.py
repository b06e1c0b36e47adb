"""NumPy's functions that move, join and choose elements, by `keras.ops`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from keras import ops

from pyopbench.ports.keras_ops.array import CALLS, KerasArray, as_keras, cast, dtype_of, holds
from pyopbench.ports.keras_ops.lacking import Lacking


def common(values: Sequence[Any]) -> list[KerasArray]:
    """Return values as arrays of the dtype that NumPy would give them together."""
    dtypes = [one.dtype if isinstance(one, KerasArray) else one for one in map(_plain, values)]
    dtype = np.result_type(*dtypes)
    return [as_keras(one, dtype) for one in values]


def _plain(value: Any) -> Any:
    """Return what `np.result_type` takes: numbers of Python's as they are."""
    if holds(value):
        return as_keras(value)
    return value if type(value) in (bool, int, float) else np.asarray(value).dtype


def _same(name: str) -> Callable[..., KerasArray]:
    """Return a function of one array and what else NumPy's takes, which Keras' takes alike."""

    def call(array: Any, *arguments: Any, **options: Any) -> KerasArray:
        return KerasArray(getattr(ops, name)(as_keras(array).tensor, *arguments, **options))

    return call


def _joining(name: str) -> Callable[..., KerasArray]:
    def call(arrays: Any, *arguments: Any, **options: Any) -> KerasArray:
        tensors = [one.tensor for one in common(list(arrays))]
        return KerasArray(getattr(ops, name)(tensors, *arguments, **options))

    return call


def _product(name: str) -> Callable[..., KerasArray]:
    def call(first: Any, second: Any, **options: Any) -> KerasArray:
        tensors = [one.tensor for one in common([first, second])]
        return KerasArray(getattr(ops, name)(*tensors, **options))

    return call


def _reshape(array: Any, shape: Any, order: str = "C") -> KerasArray:
    if order != "C":
        raise Lacking(f"np.reshape(..., order={order!r})")
    x = as_keras(array)
    return KerasArray(ops.reshape(x.tensor, (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)))


def _ravel(array: Any, order: str = "C") -> KerasArray:
    return _reshape(array, (-1,), order)


def _transpose(array: Any, axes: Any = None) -> KerasArray:
    return KerasArray(ops.transpose(as_keras(array).tensor, None if axes is None else tuple(axes)))


def _where(condition: Any, *values: Any) -> KerasArray:
    if len(values) != 2:
        raise Lacking("np.where(condition)", "returns as many places as there happen to be")
    chosen = [one.tensor for one in common(values)]
    return KerasArray(ops.where(as_keras(condition, np.dtype(bool)).tensor, *chosen))


def _clip(array: Any, a_min: Any = None, a_max: Any = None, **named: Any) -> KerasArray:
    # NumPy takes them as `min` and `max` too, from 2.1 on.
    low, high = named.pop("min", a_min), named.pop("max", a_max)
    if named:
        raise Lacking(f"np.clip(..., {next(iter(named))}=...)")
    found = as_keras(array)
    if low is not None:
        found = CALLS["maximum"](found, low)
    return found if high is None else CALLS["minimum"](found, high)


def _full_like(value: Any) -> Callable[..., KerasArray]:
    def call(array: Any, dtype: Any = None) -> KerasArray:
        x = as_keras(array)
        return as_keras(np.full(x.shape, value, x.dtype if dtype is None else dtype_of(dtype)))

    return call


def _pad(array: Any, width: Any, mode: str = "constant", constant_values: Any = 0) -> KerasArray:
    x = as_keras(array)
    # On PyTorch Keras takes "symmetric" for another mode, and "reflect" not for all shapes (backend/torch/numpy.py).
    if mode != "constant":
        raise Lacking(f"np.pad(..., mode={mode!r})", "is not the same on each backend of Keras")
    pairs = np.broadcast_to(np.asarray(width, int), (x.ndim, 2)).tolist()
    return KerasArray(ops.pad(x.tensor, pairs, mode=mode, constant_values=constant_values))


def _diff(array: Any, n: int = 1, axis: int = -1) -> KerasArray:
    return KerasArray(ops.diff(as_keras(array).tensor, n=n, axis=axis))


def _take(array: Any, indices: Any, axis: Any = None) -> KerasArray:
    return KerasArray(ops.take(as_keras(array).tensor, as_keras(indices).tensor, axis=axis))


def _argsort(array: Any, axis: Any = -1, kind: Any = None) -> KerasArray:
    return cast(KerasArray(ops.argsort(as_keras(array).tensor, axis=axis)), np.dtype(np.intp))


def _sort(array: Any, axis: Any = -1, kind: Any = None) -> KerasArray:
    return KerasArray(ops.sort(as_keras(array).tensor, axis=axis))


def _asarray(value: Any, dtype: Any = None, order: Any = None, copy: Any = None) -> KerasArray:
    return as_keras(value, None if dtype is None else np.dtype(dtype_of(dtype)))


def _split(name: str) -> Callable[..., list[KerasArray]]:
    def call(array: Any, indices_or_sections: Any, axis: int = 0) -> list[KerasArray]:
        return [KerasArray(one) for one in getattr(ops, name)(as_keras(array).tensor, indices_or_sections, axis)]

    return call


def _round(array: Any, decimals: int = 0) -> KerasArray:
    return CALLS["rint"](array) if decimals == 0 else KerasArray(ops.round(as_keras(array).tensor, decimals))


def _einsum(subscripts: str, *operands: Any) -> KerasArray:
    return KerasArray(ops.einsum(subscripts, *(one.tensor for one in common(operands))))


def _broadcast_to(array: Any, shape: Any) -> KerasArray:
    return KerasArray(ops.broadcast_to(as_keras(array).tensor, (shape,) if isinstance(shape, int) else tuple(shape)))


CALLS.update({name: _same(name) for name in (
    "moveaxis", "swapaxes", "expand_dims", "squeeze", "tile", "repeat", "flip", "roll", "diag", "diagonal", "tril",
    "triu", "nan_to_num", "copy", "rot90",
)})  # fmt: skip
CALLS.update({f"linalg.{name}": _same(name) for name in ("det", "inv", "cholesky")})
CALLS.update({name: _joining(name) for name in ("concatenate", "stack", "vstack", "hstack")})
CALLS.update({name: _product(name) for name in ("matmul", "dot", "outer", "inner", "tensordot", "vdot", "cross")})
CALLS.update({name: _split(name) for name in ("split", "array_split")})
CALLS.update({
    "reshape": _reshape, "ravel": _ravel, "transpose": _transpose, "where": _where, "clip": _clip, "pad": _pad,
    "zeros_like": _full_like(0), "ones_like": _full_like(1), "empty_like": _full_like(0), "diff": _diff, "take": _take,
    "argsort": _argsort, "sort": _sort, "asarray": _asarray, "array": _asarray, "ascontiguousarray": _asarray,
    "asanyarray": _asarray,
    "round": _round, "around": _round, "einsum": _einsum, "broadcast_to": _broadcast_to,
    "linalg.solve": _product("solve"), "shape": lambda array: as_keras(array).shape,
    "ndim": lambda array: as_keras(array).ndim, "size": lambda array: as_keras(array).size,
    "trace": lambda array: CALLS["sum"](CALLS["diagonal"](array), -1),
})  # fmt: skip
