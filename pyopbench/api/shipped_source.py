"""The source of a function that no other process could import: of a notebook's cell, a script, another function.

Workers are processes of their own. A function of `__main__` is not there: importing a script again would run all of it.
So its source is written into a file, with the imports, constants and functions of `__main__` that it uses.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from pyopbench.model.errors import BadInput
from pyopbench.model.function_source import names_read

CONSTANTS = (type(None), bool, int, complex, str, bytes)
LONGEST_CONSTANT = 20_000
"""Characters; what is longer is data, and an input."""
WAY_OUT = "put the function and what it uses into a .py file, import it from there, and measure that"


def source_of(function: Callable[..., Any]) -> str:
    """Return a module that holds a function and all of `__main__` that it uses.

    Raises:
        BadInput: it is a lambda or a closure, its source is not to be had, or it uses a global that cannot be written
            down; with its name.
    """
    parts = _Parts()
    parts.add(_plain(function))
    chunks = [
        [f'"""{definition_name(function)}, as it was when it was measured."""'],
        ["from __future__ import annotations"],
    ]
    chunks += [sorted(parts.imports), parts.constants]
    text = "\n\n".join("\n".join(chunk) for chunk in chunks if chunk)
    return "\n\n\n".join([text, *parts.functions]) + "\n"


@dataclass
class _Parts:
    """What the file is made of, each thing after those that it needs."""

    imports: set[str] = field(default_factory=set)
    constants: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    _seen: dict[str, object] = field(default_factory=dict)

    def add(self, function: FunctionType) -> None:
        self._seen[definition_name(function)] = function
        source = _source(function)
        for name in sorted({*names_read(function.__code__), *_names_before_the_body(source)}):
            if name in function.__globals__:
                self._add_global(name, function.__globals__[name], function)
            elif not hasattr(builtins, name):
                raise BadInput(
                    f"{function.__name__} uses a name that is not there",
                    received=name,
                    hint=f"define or import {name} first, or take it as an argument",
                )
        self.functions.append(source.strip())

    def _add_global(self, name: str, value: object, user: FunctionType) -> None:
        if name in self._seen:
            if self._seen[name] is not value:
                raise _cannot_travel(name, value, user, "and another function uses that name for something else")
            return
        self._seen[name] = value
        if isinstance(value, ModuleType) and value.__name__ != "__main__":
            self.imports.add(f"import {name}" if value.__name__ == name else f"import {value.__name__} as {name}")
        elif found := _import_of(name, value):
            self.imports.add(found)
        elif isinstance(value, FunctionType):
            _plain(value)
            if definition_name(value) != name:
                raise _cannot_travel(name, value, user, f"a function that was defined as {definition_name(value)}")
            self.add(value)
        elif (written := _written(value)) and len(written) <= LONGEST_CONSTANT:
            self.imports |= {"import numpy"} if written.startswith("numpy.") else set()
            self.constants.append(f"{name} = {written}")
        else:
            raise _cannot_travel(name, value, user, f"of type {type(value).__name__}")


def home_of(value: object) -> str:
    """Return the module in which other processes find a function or class under its name; "" if there is none."""
    for module in (str(getattr(value, "__module__", "")), "numpy"):  # ufuncs do not know theirs
        found = sys.modules.get(module)
        if found is not None and module != "__main__" and vars(found).get(name_of(value)) is value:
            return module
    return ""


def name_of(value: object) -> str:
    """Return the name that a function or class was defined under; "" for anything else."""
    return str(getattr(value, "__qualname__", None) or getattr(value, "__name__", ""))


def definition_name(function: Callable[..., Any]) -> str:
    """Return the name that a function has in its source; `__name__` may be set to anything."""
    return str(function.__code__.co_name)


def _import_of(name: str, value: object) -> str:
    """Return the line that imports a value of a module under a name; "" if there is none."""
    module, original = home_of(value), name_of(value)
    return f"from {module} import {original}" + (f" as {name}" if original != name else "") if module else ""


def _written(value: object) -> str:
    """Return the expression that makes a constant, or a small array; "" if there is none."""
    if isinstance(value, (np.ndarray, np.generic)):
        items, dtype = value.tolist(), value.dtype.name
        if not value.size or not _is_plain(items):
            return ""
        is_scalar = isinstance(value, np.generic)
        return f"numpy.dtype({dtype!r}).type({items!r})" if is_scalar else f"numpy.array({items!r}, dtype={dtype!r})"
    return repr(value) if _is_plain(value) else ""


def _is_plain(value: Any) -> bool:
    if type(value) is float:
        return value - value == 0  # nan and the infinities have no literal
    if type(value) in CONSTANTS:
        return True
    if type(value) in (tuple, list, set, frozenset):
        return all(map(_is_plain, value))
    return type(value) is dict and all(map(_is_plain, (*value, *value.values())))


def _plain(function: Callable[..., Any]) -> FunctionType:
    """Return a function if it was written by `def`, with nothing around it.

    Raises:
        BadInput: it was not.
    """
    if not isinstance(function, FunctionType):
        raise BadInput(
            "not a function whose source can be read",
            received=f"{function!r}, of type {type(function).__name__}",
            hint="write it with def: a function of the same arguments that calls this one",
        )
    if definition_name(function) == "<lambda>":
        raise BadInput(
            "the source of a lambda cannot be separated from the rest of its line",
            received=f"a lambda of {', '.join(function.__code__.co_varnames[: function.__code__.co_argcount])}",
            hint="give it a name: def body(x): return ...",
        )
    if function.__code__.co_freevars:
        raise BadInput(
            f"{function.__name__} is a closure, and the variables that it captures cannot be sent to another process",
            received=", ".join(function.__code__.co_freevars),
            hint="make them arguments with an example each, or constants of the notebook or script",
        )
    if hasattr(function, "__wrapped__"):
        raise BadInput(
            f"{function.__name__} is wrapped by a decorator, whose source is not sent with it",
            received=f"{function.__name__}, wrapped in {type(function).__name__}",
            hint=f"measure {function.__name__}.__wrapped__, or {WAY_OUT}",
        )
    return function


def _source(function: FunctionType) -> str:
    try:
        source = textwrap.dedent(inspect.getsource(function))
        ast.parse(source)  # lines of a text that stand further left than the function keep it from being dedented
    except (OSError, TypeError, SyntaxError) as error:
        raise BadInput(
            f"cannot find the source of {function.__name__}",
            received=f"{function.__name__}, defined in {function.__code__.co_filename}",
            hint=WAY_OUT,
        ) from error
    return source


def _names_before_the_body(source: str) -> Iterator[str]:
    """Give the names in decorators and defaults, which are looked up when a function is defined."""
    (definition,) = ast.parse(source).body
    if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        defaults = (*definition.args.defaults, *(one for one in definition.args.kw_defaults if one is not None))
        for part in (*definition.decorator_list, *defaults):
            yield from (node.id for node in ast.walk(part) if isinstance(node, ast.Name))


def _cannot_travel(name: str, value: object, user: FunctionType, what: str) -> BadInput:
    shown = repr(value)
    return BadInput(
        f"{user.__name__} uses a global that cannot be sent to another process: {name}, {what}",
        received=f"{name} = {shown if len(shown) <= 80 else f'{shown[:77]}...'}",
        hint="modules, functions, classes of modules, numbers, texts, and lists or dicts of these; "
        f"take {name} as an argument with an example, make it within {user.__name__}, or {WAY_OUT}",
    )
