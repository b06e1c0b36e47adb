"""The methods and attributes that NumPy's arrays have, of traced ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray, as_traced, wrap
from pyopbench.ports.tracing.tape import refuse, step
from pyopbench.ports.tracing.untyped import np

FUNCTIONS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "compress", "cumprod", "cumsum",
    "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "put", "ravel", "repeat", "round", "searchsorted",
    "squeeze", "std", "sum", "swapaxes", "take", "trace", "var",
)  # fmt: skip
"""Methods that do what the function of that name does."""


def _of_function(name: str) -> Callable[..., Any]:
    def call(x: TracedArray, *arguments: Any, **options: Any) -> Any:
        if name == "compress":
            return np.compress(arguments[0], x, *arguments[1:], **options)
        return getattr(np, name)(x, *arguments, **options)

    return call


def _astype(x: TracedArray, dtype: Any, order: str = "K", casting: str = "unsafe", **options: Any) -> Any:
    kind = dtypes.check(dtype)
    if not np.can_cast(x.dtype, kind, casting):
        raise TypeError(f"Cannot cast array data from {x.dtype} to {kind} according to the rule {casting!r}")
    if options.get("copy") is False and kind == x.dtype and order == "K" and not x.is_scalar:
        return x
    value = x.value
    if isinstance(value, np.ndarray):
        found = value.astype(kind)
        return found[()] if x.is_scalar else TracedArray(found)
    cast = step("astype", lambda: tf.identity(dtypes.cast(value, kind)))
    return TracedArray(cast, scalar=x.is_scalar, c_order=x.gives_c_order)


def _reshape(x: TracedArray, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return np.reshape(x, shape[0] if len(shape) == 1 else shape, order=order)


def _transpose(x: TracedArray, *axes: Any) -> Any:
    several = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], list | tuple)) else axes or None
    return np.transpose(x, several)


def _copy(x: TracedArray, order: str = "C") -> Any:
    value = x.value
    if isinstance(value, np.ndarray):
        return TracedArray(value.copy())
    return TracedArray(value, scalar=x.is_scalar, c_order=True)


def _flatten(x: TracedArray, order: str = "C") -> Any:
    return _copy(np.ravel(x, order))


def _fill(x: TracedArray, value: Any) -> None:
    x[...] = value


def _sort(x: TracedArray, axis: int = -1, kind: Any = None, order: Any = None, **options: Any) -> None:
    x[...] = np.sort(x, axis, kind, order, **options)


def _partition(x: TracedArray, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    x[...] = np.partition(x, kth, axis)


def _item(x: TracedArray, *place: Any) -> Any:
    if place:
        x = x.ravel()[place[0]] if len(place) == 1 and not isinstance(place[0], tuple) else x[place]
    array = as_traced(x)
    if array.known is not None:
        return array.known.item()
    if array.static_shape not in ((), (1,) * array.ndim):
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    value, kind = array.value, np.dtype(type(np.zeros((), array.dtype).item()))
    weak = type(np.zeros((), array.dtype).item())
    found = step("item", lambda: dtypes.cast(tf.reshape(value, []), kind))
    return TracedArray(found, scalar=True, weak=weak) if weak in dtypes.WEAK else wrap(found)


def _tolist(x: TracedArray) -> Any:
    array = as_traced(x)
    if array.known is not None:
        return array.known.tolist()
    if not array.ndim:
        return _item(array)
    if array.static_shape[0] is None:
        raise refuse(".tolist", why="needs a length that is known before the graph runs", fix="leave it an array")
    return [_tolist(as_traced(array[place])) for place in range(array.static_shape[0])]


def _conj(x: TracedArray) -> Any:
    return np.conjugate(x)


def _numpy(x: TracedArray) -> TracedArray:
    return x


def _flat(x: TracedArray) -> Any:
    # NumPy writes through, whatever the order.
    found = np.reshape(x, -1)
    return found if x.is_in_c_order else x.maybe_view(".flat", found.value)


METHODS: dict[str, Callable[..., Any]] = {
    **{name: _of_function(name) for name in FUNCTIONS},
    "astype": _astype,
    "reshape": _reshape,
    "transpose": _transpose,
    "copy": _copy,
    "__copy__": _copy,
    "__deepcopy__": lambda x, memo: _copy(x),
    "flatten": _flatten,
    "fill": _fill,
    "sort": _sort,
    "partition": _partition,
    "item": _item,
    "tolist": _tolist,
    "conj": _conj,
    "conjugate": _conj,
    "numpy": _numpy,
}
"""By name; `numpy` is what a body calls on the eager tensors that `tf.py_function` gives it."""

ATTRIBUTES: dict[str, Callable[[TracedArray], Any]] = {
    "T": np.transpose,
    "mT": lambda x: np.swapaxes(x, -1, -2),
    "real": np.real,
    "imag": np.imag,
    "itemsize": lambda x: x.dtype.itemsize,
    "nbytes": lambda x: x.size * x.dtype.itemsize,
    "flat": _flat,
}

FIXES = {"tobytes": "", "view": ".astype(dtype) converts values", "resize": "np.resize"}
"""What arrays have and traced ones have not, and what works in its place."""


def method(x: TracedArray, name: str) -> Any:
    """Return a method or an attribute of a traced array.

    Raises:
        Refused: NumPy's arrays have it, and it is in no table.
        AttributeError: they have not got it either.
    """
    if name in METHODS:
        function = METHODS[name]
        return lambda *arguments, **options: function(x, *arguments, **options)
    if name in ATTRIBUTES:
        return ATTRIBUTES[name](x)
    if hasattr(np.ndarray, name) and not name.startswith("__"):
        raise refuse(f".{name}", fix=FIXES.get(name, ""))
    raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")


for _name, _function in METHODS.items():  # so that a class has what its instances have
    setattr(TracedArray, _name, _function)
