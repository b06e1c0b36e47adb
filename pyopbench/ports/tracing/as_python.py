"""What Python makes of a traced array: truth, numbers and text, which a graph has no use for."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.storage import Storage
from pyopbench.ports.tracing.tape import current, refuse, step


class AsPython(Storage):
    """The conversions of an array: of one that is known they do what NumPy's do, else they ask, or are refused."""

    def __bool__(self) -> bool:
        array = self.known
        if array is not None:
            return bool(array)
        if math.prod(size or 0 for size in self.static_shape) != 1 and self.static_shape != ():
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        tape = current()
        assert tape is not None
        tensor = self.tensor
        return tape.decide(step("bool", lambda: tf.reshape(dtypes.cast(tensor, bool), [])))

    def _number(self, kind: Any, name: str) -> Any:
        array = self.known
        if array is None:
            missing = name if "[" in name else f"{name}(...)"
            fix = "np.array(list)[i]" if "[" in name else "leave it an array"
            raise refuse(f"{missing} of a value", why="needs the number while the graph is built", fix=fix)
        return kind(array)

    def __int__(self) -> int:
        return int(self._number(int, "int"))

    def __index__(self) -> int:
        return int(self._number(operator.index, "list[i]"))

    def __float__(self) -> float:
        return float(self._number(float, "float"))

    def __complex__(self) -> complex:
        return complex(self._number(complex, "complex"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.known
        if array is None:
            raise refuse("x.__array__()", why="needs the values while the graph is built")
        return np.array(array, dtype)

    def __hash__(self) -> int:
        if self.ndim:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return hash(self._number(lambda array: array.item(), "hash"))

    def __repr__(self) -> str:
        return f"TracedArray({self.dtype}, shape={self.static_shape})"

    def __format__(self, spec: str) -> str:
        array = self.known
        return repr(self) if array is None else format(array, spec)
