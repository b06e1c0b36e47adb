"""Copies of a user's functions in which names mean what they have to while a body is traced.

NumPy's protocols reach all that is done to a traced array. What they do not reach is found by name: functions that make
arrays out of none, `int()` and `len()`, and arrays of the user's modules that are indexed. A copy of a function looks
its names up when it needs them, so that only what is called is copied, wherever it is defined.
"""

from __future__ import annotations

import builtins
import functools
import math
import sys
import types
from typing import Any

import tensorflow as tf

from pyopbench.ports.tensor_functions.sources import FUNCTIONS
from pyopbench.ports.tracing import by_table
from pyopbench.ports.tracing.array import TracedArray, as_traced, wrap
from pyopbench.ports.tracing.catching import refuse_to_warn
from pyopbench.ports.tracing.code_templates import RUNTIME
from pyopbench.ports.tracing.creation import CREATION, TENSORS, _known, is_dynamic
from pyopbench.ports.tracing.functions import call_function
from pyopbench.ports.tracing.grown_list import GrownList, as_argument
from pyopbench.ports.tracing.identity import TYPE, is_other, is_same
from pyopbench.ports.tracing.loops import run_for, run_while
from pyopbench.ports.tracing.not_traced import (
    RandomModule,
    is_compiled,
    is_of_random_object,
    is_random,
    refused_random,
    refusing_tensors,
)
from pyopbench.ports.tracing.number_functions import MATH, extreme, length, rounded
from pyopbench.ports.tracing.parts import BREAK, Returned, run_part
from pyopbench.ports.tracing.rewriting import keeps_something, rewritten
from pyopbench.ports.tracing.scalar_types import NUMBERS, SCALARS
from pyopbench.ports.tracing.sequences import SEQUENCES
from pyopbench.ports.tracing.snapshot import UNBOUND, State, read
from pyopbench.ports.tracing.tape import current, refuse
from pyopbench.ports.tracing.untyped import np

UNTOUCHED = frozenset(sys.stdlib_module_names) | {"tensorflow", "keras", "tf_keras", "pyopbench", "numba"}
"""Top-level modules whose functions are called as they are."""


def rebound(function: Any) -> Any:
    """Return a copy of a Python function, or of a partial or bound one, whose names mean what they have to in a trace.

    Anything else is returned as it is.
    """
    return _meant(function)


class _Scope(dict[str, Any]):
    """The globals of a copied function: looked up in the module when they are read."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(__builtins__=_BUILTINS, __name__=names.get("__name__"), **{RUNTIME: _PARTS})
        self.names = names

    def __getitem__(self, name: str) -> Any:
        if super().__contains__(name):
            return super().__getitem__(name)
        found = self.names[name]
        try:
            value = _meant(found)
        except KeyError as error:  # which Python would take for a name that there is not
            raise RuntimeError(f"`{name}` cannot be copied") from error
        super().__setitem__(name, value)
        return value


def _copied(function: types.FunctionType) -> Any:
    scope = _SCOPES.setdefault(id(function.__globals__), _Scope(function.__globals__))
    cells = tuple(map(_cell, function.__closure__ or ())) or None
    tape = current()
    if tape is not None and keeps_something(function.__code__):
        tape.shared.joins, tape.shared.has_hidden_state = False, True
    code = function.__code__ if _top(function) == "numpy" else rewritten(function.__code__, function.__qualname__)
    by_name = dict(zip(function.__code__.co_freevars, cells or (), strict=True))
    cells = tuple(by_name[name] for name in code.co_freevars) or None
    copy = types.FunctionType(code, scope, function.__name__, None, cells)
    copy.__defaults__ = function.__defaults__ and tuple(map(_meant, function.__defaults__))
    copy.__kwdefaults__ = function.__kwdefaults__ and {k: _meant(v) for k, v in function.__kwdefaults__.items()}
    copy.__module__ = function.__module__
    return copy


def _cell(cell: Any) -> Any:
    try:
        return types.CellType(_meant(cell.cell_contents))
    except ValueError:  # not bound yet
        return cell


_SCOPES: dict[int, _Scope] = {}

_CACHED = type(functools.lru_cache(rebound))
"""What `functools.cache` makes of a function."""


def forget() -> None:
    """Forget all copies, so that a body that is traced again finds its modules as they are then."""
    _SCOPES.clear()
    _MODULES.clear()


def _meant(value: Any) -> Any:
    """Return what a value that is found by name means while a body is traced."""
    if isinstance(value, types.FunctionType):
        return _meant_function(value)
    if isinstance(value, types.ModuleType):
        return _meant_module(value)
    if type(value) is np.ndarray:
        return _outside(value)
    if isinstance(value, np.ufunc | types.BuiltinFunctionType | type):
        return _replacement(value)
    if isinstance(value, functools.partial):
        named = {name: _meant(one) for name, one in value.keywords.items()}
        return functools.partial(_meant(value.func), *map(_meant, value.args), **named)
    if isinstance(value, _CACHED):  # what it would return again may not be of this graph
        return _meant(value.__wrapped__)
    if isinstance(value, types.MethodType):
        return types.MethodType(_meant(value.__func__), value.__self__)
    if is_random(type(value).__module__):
        return RandomModule()
    if _top(value) == "numpy" and hasattr(value, "__wrapped__"):  # has the protocol, and is no Python function
        replaced = _replacement(value)
        return _returning(value) if replaced is value else replaced
    return refusing_tensors(value) if is_compiled(value) else _NUMPY_BY_ID.get(id(value), value)


def _outside(array: Any) -> Any:
    if array.dtype.kind not in "biufc":
        return array
    traced = TracedArray(array.copy())
    traced.is_outside = True
    return traced


def _top(value: Any) -> str:
    return str(getattr(value, "__module__", "") or "").split(".")[0]


def _meant_function(function: types.FunctionType) -> Any:
    replaced = _replacement(function)
    if replaced is not function:
        return replaced
    top = _top(function)
    if top == "scipy":
        return _of_scipy(function)
    if top in UNTOUCHED:
        return function
    if top == "numpy" and hasattr(function, "__wrapped__"):  # has the protocol
        return _returning(function)
    return _copied(function)


def _replacement(value: Any) -> Any:
    if isinstance(value, np.ufunc):
        return _returning(value)
    try:
        found = _BY_VALUE.get(value)
    except TypeError:
        return value
    if found is not None:
        return found
    if isinstance(value, types.BuiltinFunctionType):
        if _top(value) == "numpy" or str(getattr(value, "__module__", "")).startswith("numpy"):
            return _returning(value)
        if is_random(getattr(value, "__module__", "")) or is_of_random_object(value):
            return refused_random
    if isinstance(value, types.FunctionType) and is_random(value.__module__ or ""):
        return refused_random
    return refusing_tensors(value) if is_compiled(value) else value


class _Returning:
    """A function of NumPy's whose arrays are traced, also where all that it was given is known."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self.__name__ = getattr(function, "__name__", "")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        # NumPy does not look for traced arrays in lists.
        arguments = tuple(as_argument(self.__name__, one) for one in arguments)
        if is_dynamic([list(one) for one in arguments if isinstance(one, list | tuple)]):
            if hasattr(self._function, "__wrapped__"):  # has the protocol
                return call_function(self._function, arguments, options)
            if isinstance(self._function, np.ufunc) or self.__name__ in ("reduce", "accumulate"):
                arguments = tuple(as_traced(one) if isinstance(one, list | tuple) else one for one in arguments)
        return wrap(self._function(*arguments, **options))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._function, name)
        return _Returning(found) if name in ("reduce", "accumulate", "outer", "at", "reduceat") else found


@functools.cache
def _returning(function: Any) -> Any:
    return _Returning(function)


def _of_scipy(function: Any) -> Any:
    name = f"{function.__module__.split('._')[0]}.{function.__name__}"

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if not is_dynamic([*arguments, options]):
            return wrap(function(*_known(arguments), **{key: _known(one) for key, one in options.items()}))
        if name not in FUNCTIONS:
            raise refuse(name)
        return by_table.call(name, arguments, options)

    return call


class _Module(types.ModuleType):
    """A module whose members mean what they have to in a trace."""

    def __init__(self, module: types.ModuleType, members: dict[str, Any]) -> None:
        super().__init__(module.__name__)
        self.__dict__["_module"] = module
        self.__dict__["_members"] = members

    def __getattr__(self, name: str) -> Any:
        if name in self._members:
            return self._members[name]
        found = getattr(self._module, name)
        self._members[name] = meant = _meant(found)
        return meant


def _meant_module(module: types.ModuleType) -> Any:
    if module in _MODULES:
        return _MODULES[module]
    top = module.__name__.split(".")[0]
    if is_random(module.__name__):
        meant: Any = RandomModule()
    elif module is math:
        meant = _Module(module, dict(MATH))
    elif module is tf:
        meant = _Module(module, dict(TENSORS))
    elif top in UNTOUCHED:
        meant = module
    else:
        meant = _Module(module, dict(_NUMPY) if module is np else {})
    _MODULES[module] = meant
    return meant


_MODULES: dict[types.ModuleType, Any] = {}


_NUMPY: dict[str, Any] = {**CREATION, **SCALARS}
_BY_VALUE: dict[Any, Any] = {
    getattr(np, name): made for name, made in _NUMPY.items() if callable(getattr(np, name, None))
}

_NUMPY_BY_ID = {id(getattr(np, name)): CREATION[name] for name in ("r_", "c_", "mgrid", "ogrid")}


_BY_VALUE.update({getattr(math, name): made for name, made in MATH.items()})
_BY_VALUE.update({getattr(tf, name): made for name, made in TENSORS.items()})


def _importing(name: str, *arguments: Any, **options: Any) -> Any:
    """Return `__import__`, whose modules are those of a trace."""
    found = builtins.__import__(name, *arguments, **options)
    return _meant_module(found)


_BUILTINS = {
    **vars(builtins),
    **NUMBERS,
    "len": length,
    "max": extreme("max", lambda one, found: one > found),
    "min": extreme("min", lambda one, found: one < found),
    "round": rounded,
    "__import__": _importing,
    **SEQUENCES,
    "type": TYPE,
}

_PARTS = types.SimpleNamespace(
    run_block=run_part,
    run_for=run_for,
    run_while=run_while,
    State=State,
    read=read,
    UNBOUND=UNBOUND,
    BREAK=BREAK,
    List=GrownList,
    Returned=Returned,
    is_same=is_same,
    is_other=is_other,
    refuse_to_warn=refuse_to_warn,
)
"""What rewritten code calls."""
