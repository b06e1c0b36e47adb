"""NumPy's protocol of functions (NEP 18, https://numpy.org/neps/nep-0018-array-function-protocol.html)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pyopbench.ports.tensor_functions.sources import FUNCTIONS
from pyopbench.ports.tracing import (
    by_table,
    joining,
    numpys_own,
    reductions,
    scatter,
    selecting,
    shaping,
    splitting,
    windows,
)
from pyopbench.ports.tracing.array import TracedArray, as_traced, wrap
from pyopbench.ports.tracing.call_ufunc import write_cast
from pyopbench.ports.tracing.catching import raise_where, refuse_where_named
from pyopbench.ports.tracing.dtypes import is_tensor
from pyopbench.ports.tracing.registry import TABLE, in_numpy
from pyopbench.ports.tracing.storage import in_order_of
from pyopbench.ports.tracing.tape import refuse, step

MODULES = (joining, numpys_own, reductions, scatter, selecting, shaping, splitting, windows)
"""Those that enter functions into the table: what returns views, or is not what a port calls."""

for _name in FUNCTIONS:
    if _name.startswith("np.") and _name.removeprefix("np.") not in TABLE:
        in_numpy(_name.removeprefix("np."))(by_table.function_of(_name))

EXTREMES = frozenset({"max", "min", "amax", "amin", "argmax", "argmin", "nanmax", "nanmin", "nanargmax", "nanargmin"})
"""Functions that raise if there are no elements."""


HOMES = ("linalg", "fft", "lib.stride_tricks")
"""Modules of NumPy's that a function is named with."""


def call_function(function: Any, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Do what a function of NumPy's does to arrays of which at least one is traced.

    Raises:
        Refused: it has no counterpart.
    """
    name = name_of(function)
    entry = TABLE.get(name)
    known = all(one.is_known for one in _arrays((arguments, options)))
    if known and (entry is None or not entry.on_known) and options.get("out") is None:
        return wrap(function(*_plain(arguments), **_plain(dict(options))))
    return call_by_name(name, arguments, options)


def name_of(function: Any) -> str:
    """Return NumPy's name of a function, without `np.`."""
    home = str(function.__module__).removeprefix("numpy").removeprefix(".")
    return f"{home}.{function.__name__}" if home in HOMES else str(function.__name__)


def call_by_name(name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Call what is in the table under a name; of tensors, in one step."""
    if name not in TABLE:
        raise refuse(f"np.{name}")
    options = dict(options)
    output = options.pop("out", None)
    output = output[0] if isinstance(output, tuple) else output
    if output is not None and type(output) is not TracedArray:
        raise refuse(f"np.{name}(..., out=array)", why="writes to an array of NumPy's that was made outside")
    entry = TABLE[name]
    for array in _arrays((arguments, options)):
        array.value  # noqa: B018 - what a view shows is looked up by a step of its own
    _ask_what_raises(name, arguments, options)
    if entry.is_step:
        found = wrap(step(name, lambda: _tensors(entry.function(*arguments, **options))))
        found = in_order_of(found, _arrays((arguments, options)))
    else:
        found = entry.function(*arguments, **options)
    if output is None:
        return found
    write_cast(output, as_traced(found))
    return output


def _ask_what_raises(name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Ask for what the body catches as an error, of a function that raises it for some values."""
    if name.startswith("linalg."):
        refuse_where_named(np.linalg.LinAlgError, f"np.{name}", fix="test the matrix before")
    if name in EXTREMES and options.get("initial") is None and arguments:
        x = as_traced(arguments[0])
        axis = options.get("axis", arguments[1] if len(arguments) > 1 else None)
        axes = reductions.axes_of(axis, x.ndim)
        if any(x.static_shape[one] is None for one in axes):
            error = ValueError("zero-size array to reduction operation which has no identity")
            raise_where(error, lambda: math.prod(x.shape[one] for one in axes) == 0)


def _arrays(nest: Any) -> Iterator[TracedArray]:
    if type(nest) is TracedArray:
        yield nest
    elif is_tensor(nest):
        yield TracedArray(nest)
    elif isinstance(nest, list | tuple):
        for one in nest:
            yield from _arrays(one)
    elif isinstance(nest, dict):
        for one in nest.values():
            yield from _arrays(one)


def _plain(nest: Any) -> Any:
    if type(nest) is TracedArray:
        return nest.value.item() if nest.weak else nest.value
    if isinstance(nest, list | tuple):
        return type(nest)(map(_plain, nest)) if not hasattr(nest, "_fields") else nest
    if isinstance(nest, dict):
        return {key: _plain(one) for key, one in nest.items()}
    return nest


def _tensors(nest: Any) -> Any:
    if type(nest) is TracedArray:
        return nest.value
    if isinstance(nest, list | tuple):
        return type(nest)(*map(_tensors, nest)) if hasattr(nest, "_fields") else type(nest)(map(_tensors, nest))
    return nest


def supported() -> list[str]:
    """Return the names of all functions in the table, in alphabetical order."""
    return sorted(TABLE)
