"""An array of a body that runs on `keras.ops`: NumPy's operators and methods, each by a public function of Keras.

It wraps what Keras calls a tensor and never hands it to the body, so that nothing but `keras.ops` is done to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from keras import ops

from pyopbench.ports.keras_ops.lacking import ASSIGNMENT, Lacking

CALLS: dict[str, Callable[..., Any]] = {}
"""NumPy's functions by their names without `np.`, on arrays of this kind; `functions` enters them."""


class KerasArray:
    """A tensor of Keras' with what NumPy's arrays do."""

    __array_ufunc__ = None
    """NumPy leaves operators to this class, and refuses it where a function of NumPy's was not rebound."""
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return np.dtype(str(ops.dtype(self.tensor)))

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its dimensions."""
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def T(self) -> KerasArray:  # noqa: N802 - NumPy's name
        """The array with its dimensions in reverse."""
        return KerasArray(ops.transpose(self.tensor))

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[KerasArray]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        return CALLS["getitem"](self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise Lacking(ASSIGNMENT, "assigns to an array, which keras.ops never changes; np.where makes a new one")

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return lambda *arguments, **options: CALLS[METHODS[name]](self, *arguments, **options)
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(name)
        raise Lacking(f"x.{name}")

    def astype(self, dtype: Any, **options: Any) -> KerasArray:
        """Return the array in another dtype."""
        return cast(self, np.dtype(dtype_of(dtype)))

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """Return the elements in another shape."""
        return CALLS["reshape"](self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes: Any) -> Any:
        """Return the array with its dimensions in another order."""
        return CALLS["transpose"](self, (axes[0] if len(axes) == 1 else axes) or None)

    def _value(self, what: str, fix: str = "") -> Any:
        raise Lacking(what, f"asks for a value while the graph is built{fix}")

    def __bool__(self) -> bool:
        return bool(self._value("if or while", "; np.where chooses between values"))

    def __int__(self) -> int:
        return int(self._value("int(x)"))

    def __index__(self) -> int:
        return int(self._value("range(x) or an index"))

    def __float__(self) -> float:
        return float(self._value("float(x)"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._value("x.__array__()")

    def __round__(self, digits: int = 0) -> Any:
        return CALLS["round"](self, digits)


METHODS = {name: name for name in (
    "sum", "prod", "mean", "std", "var", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "ravel",
    "copy", "clip", "dot", "squeeze", "repeat", "round", "argsort", "take", "swapaxes", "diagonal", "trace", "ptp",
)} | {"flatten": "ravel"}  # fmt: skip
"""Methods of NumPy's arrays, and the functions that do the same."""

BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "true_divide", "floordiv": "floor_divide",
    "mod": "mod", "pow": "power", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift",
}  # fmt: skip
COMPARISONS = {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}  # fmt: skip
UNARY = {"neg": "negative", "abs": "absolute", "invert": "invert", "pos": "positive"}
"""Python's operators, and NumPy's functions that they are."""


def _add_operators() -> None:
    for operator, name in (*BINARY.items(), *COMPARISONS.items()):
        setattr(KerasArray, f"__{operator}__", lambda self, other, name=name: CALLS[name](self, other))
    for operator, name in BINARY.items():
        setattr(KerasArray, f"__r{operator}__", lambda self, other, name=name: CALLS[name](other, self))
        setattr(KerasArray, f"__i{operator}__", lambda self, other, name=name: _in_place(self, other, name))
    for operator, name in UNARY.items():
        setattr(KerasArray, f"__{operator}__", lambda self, name=name: CALLS[name](self))


def _in_place(array: KerasArray, other: Any, name: str) -> KerasArray:
    """Return what an in-place operator leaves: of the dtype of the array, as NumPy casts it where that loses nothing.

    Raises:
        TypeError: NumPy would not cast it.
    """
    found: KerasArray = CALLS[name](array, other)
    if not np.can_cast(found.dtype, array.dtype, "same_kind"):
        raise TypeError(f"cannot cast {found.dtype} to {array.dtype} in place")
    return cast(found, array.dtype)


_add_operators()


def dtype_of(given: Any) -> Any:
    """Return what NumPy knows a dtype by, of that or of what stands for a type of NumPy's in a body."""
    return getattr(given, "numpy_type", given)


def cast(array: KerasArray, dtype: np.dtype[Any]) -> KerasArray:
    """Return the array in a dtype, itself where it has that."""
    return array if array.dtype == dtype else KerasArray(ops.cast(array.tensor, dtype.name))


def as_keras(value: Any, dtype: np.dtype[Any] | None = None) -> KerasArray:
    """Return an array, a number or a nested list of them as an array of Keras', of NumPy's dtype if none is given."""
    if isinstance(value, (list, tuple)) and any(map(holds, value)):
        return CALLS["stack"](value) if dtype is None else cast(CALLS["stack"](value), dtype)
    if not isinstance(value, KerasArray):
        value = KerasArray(ops.convert_to_tensor(np.asarray(value, dtype)))
    return value if dtype is None else cast(value, dtype)


def holds(value: Any) -> bool:
    """Is it an array of Keras', or a list with one in it?"""
    if isinstance(value, (list, tuple)):
        return any(map(holds, value))
    return isinstance(value, KerasArray)
