"""What NumPy's names stand for in a body that runs on `keras.ops`, and the body as a function of tensors."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

# Each enters its functions into the table that `array` holds.
from pyopbench.ports.keras_ops import elementwise, indexing, reductions, shaping  # noqa: F401
from pyopbench.ports.keras_ops.array import CALLS, KerasArray, as_keras, cast, holds
from pyopbench.ports.keras_ops.lacking import Lacking
from pyopbench.ports.rebinding import is_of_numpy, rebind_names, refuse_vectorize


class _Function:
    """A function of NumPy's: by `keras.ops` where an argument is an array of Keras'; NumPy's own, of constants."""

    def __init__(self, name: str, function: Any) -> None:
        self.name = name
        self.function = function

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if not any(map(holds, (*arguments, *options.values()))):
            return self.function(*arguments, **{key: _numpys(one) for key, one in options.items()})
        if self.name not in CALLS:
            raise Lacking(f"np.{self.name}")
        return CALLS[self.name](*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Lacking(f"np.{self.name}.{name}")


class _Type:
    """A type of NumPy's, which as a dtype is that, and called is a cast."""

    def __init__(self, numpy_type: type) -> None:
        self.numpy_type = numpy_type
        self.dtype = np.dtype(numpy_type)

    def __call__(self, *value: Any) -> Any:
        if not any(map(holds, value)):
            return self.numpy_type(*value)
        return cast(as_keras(value[0]), self.dtype)

    def __eq__(self, other: object) -> bool:
        given: Any = getattr(other, "numpy_type", other)
        return bool(self.dtype == given)  # NumPy takes a type for the dtype that it stands for

    def __hash__(self) -> int:
        return hash(self.dtype)


class _Module:
    """NumPy or a module of it."""

    def __init__(self, module: types.ModuleType, prefix: str) -> None:
        self.module = module
        self.prefix = prefix

    def __getattr__(self, name: str) -> Any:
        return _meant(getattr(self.module, name), self.prefix + name)


def on_keras(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors that does what a body does to arrays of NumPy's, by `keras.ops` alone.

    Args:
        function: takes arrays and returns an array, a number or a tuple of them.

    Returns:
        A function that takes and returns tensors, for a `tf.function` without AutoGraph.

    Raises:
        Lacking: when it is called, if the body does what `keras.ops` does not.
    """
    rebound = rebind_names(function, _as_keras_name)

    def on_tensors(*tensors: Any, **named: Any) -> Any:
        for tensor in (*tensors, *named.values()):
            if tensor.dtype == "string":
                raise Lacking("tf.string", "is a dtype that keras.ops does not compute with")
        by_name = {name: KerasArray(tensor) for name, tensor in named.items()}
        return _tensors_of(rebound(*map(KerasArray, tensors), **by_name))

    return on_tensors


def _tensors_of(returned: Any) -> Any:
    several = isinstance(returned, tuple) or (
        isinstance(returned, list) and any(isinstance(one, (np.ndarray, KerasArray)) for one in returned)
    )
    outputs = tuple(as_keras(one).tensor for one in (returned if several else (returned,)))
    return outputs if len(outputs) > 1 else outputs[0]


def _as_keras_name(value: Any) -> Any:
    refuse_vectorize(value)
    if not is_of_numpy(value):
        return value
    return _meant(value, "" if value is np else str(getattr(value, "__name__", "")))


def _meant(value: Any, name: str) -> Any:
    if isinstance(value, types.ModuleType):
        path = value.__name__.split(".")[1:]
        if path[:1] == ["random"]:
            raise Lacking("np.random", "would give the same numbers in every call of the graph; pass them in as inputs")
        return _Module(value, "".join(f"{part}." for part in path))
    if isinstance(value, type) and issubclass(value, (np.generic, bool, int, float)):
        return _Type(value)
    if isinstance(value, type):
        return value
    # A function of a module of NumPy's that is imported by its own name.
    home = str(getattr(value, "__module__", "")).split(".")[1:2]
    if callable(value) and "." not in name and home in (["linalg"], ["fft"]):
        name = f"{home[0]}.{name}"
    return _Function(name, value) if callable(value) else value


def _numpys(value: Any) -> Any:
    return value.numpy_type if isinstance(value, _Type) else value
