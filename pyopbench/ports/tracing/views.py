"""Views: arrays that show another one's elements, so that writing to either shows in both.

A view keeps the array that it was made of and a lens: how its elements are got from there, and put back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from pyopbench.ports.tracing import assignment, indexing
from pyopbench.ports.tracing.dtypes import is_tensor
from pyopbench.ports.tracing.tape import refuse, step


class Lens(Protocol):
    """How a view is seen through, on arrays and tensors alike."""

    def get(self, whole: Any) -> Any:
        """Return the view of a whole."""

    def put(self, whole: Any, new: Any) -> Any:
        """Return a whole in which the elements of the view are new ones, of the view's shape."""

    def layout(self, whole: Any) -> Any:
        """Return the view of an array whose memory is never read; None where it would be a copy."""


@dataclass(frozen=True)
class Picked:
    """A view by integers and slices."""

    key: indexing.Key

    def get(self, whole: Any) -> Any:
        """Return the view of a whole."""
        if isinstance(whole, np.ndarray) and indexing.is_known(self.key):
            return whole[self.key]
        return step("[]", lambda: indexing.get(tf.convert_to_tensor(whole), self.key))

    def put(self, whole: Any, new: Any) -> Any:
        """Return a whole in which the elements of the view are new ones."""
        if isinstance(whole, np.ndarray) and isinstance(new, np.ndarray | np.generic) and indexing.is_known(self.key):
            copy = whole.copy()
            copy[self.key] = new
            return copy
        tensors = tf.convert_to_tensor
        return step("[]=", lambda: assignment.put(tensors(whole), self.key, tensors(new)))

    def layout(self, whole: Any) -> Any:
        """Return the view of an array whose memory is never read."""
        return whole[self.key]


@dataclass(frozen=True)
class Permuted:
    """A view with its axes in another order."""

    axes: tuple[int, ...]

    def get(self, whole: Any) -> Any:
        """Return the view of a whole."""
        return _either("transpose", whole, lambda array: array.transpose(self.axes), self._transposed)

    def _transposed(self, tensor: Any) -> Any:
        return tf.transpose(tensor, self.axes)

    def put(self, whole: Any, new: Any) -> Any:
        """Return a whole in which the elements of the view are new ones."""
        return Permuted(tuple(int(axis) for axis in np.argsort(self.axes))).get(new)

    def layout(self, whole: Any) -> Any:
        """Return the view of an array whose memory is never read."""
        return whole.transpose(self.axes)


@dataclass(frozen=True)
class Reshaped:
    """A view of another shape, of integers and at most one tensor or -1."""

    shape: tuple[Any, ...]

    def get(self, whole: Any) -> Any:
        """Return the view of a whole."""
        if isinstance(whole, np.ndarray) and not any(map(is_tensor, self.shape)):
            return whole.reshape(self.shape)
        shape = self.shape if any(map(is_tensor, self.shape)) else [int(size) for size in self.shape]
        return step("reshape", lambda: tf.reshape(tf.convert_to_tensor(whole), _packed(shape)))

    def put(self, whole: Any, new: Any) -> Any:
        """Return a whole in which the elements of the view are new ones."""
        if isinstance(new, np.ndarray) and isinstance(whole, np.ndarray):
            return new.reshape(whole.shape)
        return step("reshape", lambda: _reshaped_like(tf.convert_to_tensor(new), whole))

    def layout(self, whole: Any) -> Any:
        """Return the view of an array whose memory is never read; None where it would be a copy."""
        view = whole.view()
        try:
            view.shape = self.shape
        except AttributeError:
            return None
        return view


def _packed(shape: Sequence[Any]) -> Any:
    return tf.stack([tf.cast(size, tf.int64) for size in shape]) if any(map(is_tensor, shape)) else shape


def _reshaped_like(tensor: Any, whole: Any) -> Any:
    return tf.ensure_shape(tf.reshape(tensor, tf.shape(whole)), whole.shape)


@dataclass(frozen=True)
class ReadOnly:
    """A view that NumPy does not let be written to, made by a function of arrays and one of tensors."""

    name: str
    on_array: Any
    on_tensor: Any

    def get(self, whole: Any) -> Any:
        """Return the view of a whole."""
        return _either(self.name, whole, self.on_array, self.on_tensor)

    def put(self, whole: Any, new: Any) -> Any:
        """Refuse.

        Raises:
            ValueError: always.
        """
        raise ValueError("assignment destination is read-only")

    def layout(self, whole: Any) -> Any:
        """Return the view of an array whose memory is never read."""
        return self.on_array(whole)


@dataclass(frozen=True)
class PartOfComplex(ReadOnly):
    """The real or the imaginary part, which NumPy lets be written to."""

    def put(self, whole: Any, new: Any) -> Any:
        """Refuse.

        Raises:
            Refused: always.
        """
        raise refuse(f"x.{self.name}[...] = value", fix="put the parts together, `re + 1j * im`")


@dataclass(frozen=True)
class Uncertain:
    """What NumPy makes a view or a copy of, depending on a shape that only the graph knows."""

    name: str
    shape: Any

    def get(self, whole: Any) -> Any:
        """Refuse to show what may have been written to in the meantime.

        Raises:
            Refused: always.
        """
        raise refuse(self.name, why="is a view or a copy of an array that is written to later", fix="use .copy()")


def _either(name: str, value: Any, on_array: Any, on_tensor: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return on_array(value)
    return step(name, lambda: on_tensor(value))


def blank(shape: Sequence[int], dtype: Any) -> Any:
    """Return an array of a shape in C order that takes no memory; it must never be read."""
    strides, size = [], np.dtype(dtype).itemsize
    for length in reversed(shape):
        strides.append(size)
        size *= max(length, 1)
    return np.lib.stride_tricks.as_strided(np.empty(1, dtype), tuple(shape), tuple(reversed(strides)))
