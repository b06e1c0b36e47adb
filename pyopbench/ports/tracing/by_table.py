"""Functions of the table of functions on tensors, called on traced arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pyopbench.ports.tensor_functions.sources import FUNCTIONS
from pyopbench.ports.tensor_functions.table import (
    NUMBER,
    PROMOTED,
    PROMOTED_FLOAT,
    SEVERAL,
    TensorFunction,
    dtypes_by_rule,
)
from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray, as_traced, holds_traced, wrap
from pyopbench.ports.tracing.call_ufunc import as_tensor
from pyopbench.ports.tracing.creation import _known, is_dynamic
from pyopbench.ports.tracing.storage import in_order_of
from pyopbench.ports.tracing.tape import refuse, step
from pyopbench.ports.tracing.untyped import np

OWN_ORDER = ("np.einsum", "np.fft.", "np.linalg.")
"""Functions that lay out what they return in an order of their own."""


def function_of(name: str) -> Callable[..., Any]:
    """Return a function of the table as one of traced arrays."""

    def function(*arguments: Any, **options: Any) -> Any:
        return call(name, arguments, options)

    return function


def call(name: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Do in one step what a function of the table does to arrays of which at least one is traced.

    Raises:
        Refused: it is given options that it has not got, or what has to be known before the graph runs.
    """
    entry = FUNCTIONS[name]
    options = {key: value for key, value in options.items() if value is not np._NoValue}
    try:
        bound = entry.signature.bind(*arguments, **options)
    except TypeError:
        wrong = [one for one in options if one not in entry.signature.parameters]
        raise refuse(f"{name}(..., {wrong[0]}=...)" if wrong else name) from None
    defaults = {one.name: one.default for one in entry.signature.parameters.values()}
    given = {key: value for key, value in bound.arguments.items() if value is not None or defaults[key] is not None}
    arrays = {key: _arrays(value, entry, key) for key, value in given.items() if key in entry.rules}
    traced = [one for several in arrays.values() for one in _leaves(several)]
    examples = {
        key: [one.example for one in _leaves(several)] for key, several in arrays.items() if entry.rules[key] != NUMBER
    }
    kinds = dtypes_by_rule(entry.rules, {key: several for key, several in examples.items() if several})
    for key, value in given.items():
        if key not in entry.rules and is_dynamic(value):
            raise refuse(f"{name}(..., {key}=...)", why="needs what is known before the graph runs")
    for key, several in arrays.items():
        if entry.rules[key] in (PROMOTED, PROMOTED_FLOAT):
            for array, kind in zip(_leaves(several), kinds.get(key, ()), strict=False):
                dtypes.check_range(array, kind)
    for array in traced:
        array.value  # noqa: B018 - what a view shows is looked up by a step of its own
    plain = {
        key: _on_tensors(value) if callable(value) and not isinstance(value, type) else _known(value)
        for key, value in given.items()
        if key not in entry.rules
    }

    def build() -> Any:
        for key, several in arrays.items():
            plain[key] = _tensors(several, iter(kinds.get(key, ())))
        try:
            if entry.is_of_tensorflow:
                return entry.function(*plain.values())
            return entry.function(*_positional(entry, plain), **_named(entry, plain))
        except NotImplementedError as error:
            raise refuse(name, why=str(error)) from error

    found = wrap(step(name, build))
    return found if name.startswith(OWN_ORDER) else in_order_of(found, traced)


def _on_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the body's, which takes traced arrays, as one that a function on tensors can call."""

    def call_traced(*tensors: Any) -> Any:
        return as_traced(function(*map(wrap, tensors))).tensor

    return call_traced


def _arrays(value: Any, entry: TensorFunction, key: str) -> Any:
    """Return what is given for an array traced, or a nest of lists of such."""
    rule = entry.rules[key]
    is_any_number = entry.signature.parameters[key].kind is inspect.Parameter.VAR_POSITIONAL
    if is_any_number:
        return [_array(one, rule) for one in value]
    if rule.startswith(SEVERAL) and isinstance(value, list | tuple):
        return [_arrays(one, entry, key) for one in value]
    return _array(value, rule)


def _array(value: Any, rule: str) -> Any:
    if rule != NUMBER:
        return as_traced(value)
    if not holds_traced(value):
        return value
    return [_array(one, rule) for one in value] if isinstance(value, list | tuple) else as_traced(value)


def _leaves(nest: Any) -> Iterator[TracedArray]:
    if isinstance(nest, list | tuple):
        for one in nest:
            yield from _leaves(one)
    elif type(nest) is TracedArray:
        yield nest


def _tensors(nest: Any, kinds: Iterator[Any]) -> Any:
    """Return traced arrays in a nest as tensors; without a dtype what is known as it is."""
    if isinstance(nest, list | tuple):
        return [_tensors(one, kinds) for one in nest]
    if type(nest) is not TracedArray:
        return nest
    kind = next(kinds, None)
    if kind is None:
        return nest.tensor if is_dynamic(nest) else _known(nest)
    return as_tensor(nest.value, dtypes.check(kind))


def _positional(entry: TensorFunction, given: Mapping[str, Any]) -> list[Any]:
    """Return the arguments up to those that may be any number, which have to be given by position."""
    found: list[Any] = []
    for name, parameter in entry.signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            return [*found, *given.get(name, ())]
        found.append(given.get(name))
    return []


def _named(entry: TensorFunction, given: Mapping[str, Any]) -> dict[str, Any]:
    parameters = list(entry.signature.parameters.values())
    kinds = [one.kind for one in parameters]
    any_number = inspect.Parameter.VAR_POSITIONAL
    first = kinds.index(any_number) + 1 if any_number in kinds else 0
    return {one.name: given[one.name] for one in parameters[first:] if one.name in given}
