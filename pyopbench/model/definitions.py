"""Where a function is defined, whose code that is, and what it changes outside itself."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import os
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pyopbench.model.checkout import is_installed
from pyopbench.model.errors import PyopbenchError
from pyopbench.model.function_source import bindings
from pyopbench.model.literals import NotWritable
from pyopbench.model.source_text import Function, Source, read_source

Place: TypeAlias = tuple[str, int]
"""A file and a line of it."""

LIBRARIES = tuple(
    f"{path}{os.sep}"
    for path in {
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        os.path.dirname(os.path.dirname(np.__file__)),
    }
    if path
)
"""Folders of code that is not the user's: Python's own modules, installed packages, and what is beside NumPy, because
`pip install --target` puts packages into a folder of any name."""

CHANGING = {
    *("append", "extend", "insert", "remove", "pop", "clear", "update", "setdefault", "popitem", "add", "discard"),
    *("sort", "reverse", "appendleft", "popleft", "fill", "put", "resize", "partition"),
}
"""Methods that change a container or an array in place."""

ARGUMENTS = ("x", "y", "z", "a", "b", "c", "d", "e")
"""Names for arguments that have none."""


class CannotExtract(PyopbenchError):
    """A function cannot be extracted.

    Attributes:
        why: the reason.
        fix: what to do instead; empty if nothing is known.
        place: file and line of the user's code, or None.
    """

    exit_code = 1

    def __init__(self, why: str, *, fix: str = "", place: Place | None = None) -> None:
        self.why = why
        self.fix = fix
        self.place = place
        super().__init__(why, hint=fix)


class StateChanged(CannotExtract):
    """A function changes something outside itself."""


def definition_of(function: types.FunctionType) -> tuple[Source, Any]:
    """Return the file of a function and its definition there, a `def` or a `lambda`.

    Raises:
        CannotExtract: its source is not available, or another lambda on its line cannot be told apart from it.
    """
    code = function.__code__
    place = (code.co_filename, code.co_firstlineno)
    try:
        source = read_source(code.co_filename)
    except (OSError, SyntaxError) as error:
        raise CannotExtract(
            f"cannot find the source of `{function.__name__}`",
            fix="define it in a .py file",
            place=place if os.path.isfile(code.co_filename) else None,
        ) from error
    found = [node for node in _definitions(source) if (first_line(node), _code_name(node)) == (place[1], code.co_name)]
    if len(found) > 1:
        found = _at_positions(found, code) or [one for one in found if _does_the_same(one, code)]
        found = found[:1] if len({ast.unparse(one) for one in found}) == 1 else found
    if len(found) != 1:
        raise CannotExtract(
            f"`{function.__name__}` is not found in its file"
            if not found
            else "there are several lambdas on the line of the function",
            fix="define it with `def`",
            place=place,
        )
    return source, found[0]


@functools.cache
def _definitions(source: Source) -> tuple[Any, ...]:
    return tuple(one for one in ast.walk(source.tree) if isinstance(one, Function | ast.Lambda))


@functools.cache
def bindings_of(source: Source) -> dict[str, ast.stmt]:
    """Return the statement that defines each name at the top level of a file."""
    return bindings(source.tree.body)


def _code_name(node: Any) -> str:
    return "<lambda>" if isinstance(node, ast.Lambda) else str(node.name)


def first_line(node: Any) -> int:
    """Return the first line of a definition with its decorators."""
    return min(int(line) for line in [node.lineno, *(one.lineno for one in decorators_of(node))])


def decorators_of(node: Any) -> list[ast.expr]:
    """Return the decorators of a definition; a lambda has none."""
    return list(getattr(node, "decorator_list", ()))


def _at_positions(nodes: Sequence[Any], code: types.CodeType) -> list[Any]:
    """Return the definition that all instructions of a function lie in, by line and column (from Python 3.11 on)."""
    if not hasattr(code, "co_positions"):
        return []
    places = [(line, column) for line, _, column, _ in code.co_positions() if line is not None and column is not None]
    places = [one for one in places if one != (code.co_firstlineno, 0)]
    fitting = []
    for node in nodes:
        body = node.body if isinstance(node.body, list) else [node.body]
        begin = (body[0].lineno, body[0].col_offset)
        end = (body[-1].end_lineno, body[-1].end_col_offset)
        if places and all(begin <= one <= end for one in places):
            fitting.append(node)
    return fitting[-1:]  # the innermost


def _does_the_same(node: Any, code: types.CodeType) -> bool:
    expression = ast.Expression(node) if isinstance(node, ast.Lambda) else ast.Module([node], [])
    compiled = compile(expression, code.co_filename, "eval" if isinstance(node, ast.Lambda) else "exec")
    inner = next(one for one in compiled.co_consts if isinstance(one, types.CodeType))
    return (inner.co_code, inner.co_consts, inner.co_names) == (code.co_code, code.co_consts, code.co_names)


def unwrapped(value: Any) -> Any:
    """Return the function inside a wrapper of Numba or of a cache."""
    if isinstance(value, functools._lru_cache_wrapper):
        return value.__wrapped__
    inner = getattr(value, "py_func", None)
    return inner if isinstance(inner, types.FunctionType) else value


def bound_name(function: Any) -> str:
    """Return the name of a function in its module, or its own."""
    module = sys.modules.get(str(getattr(function, "__module__", "")))
    for name, value in vars(module).items() if module is not None else ():
        if value is function:
            return name
    own = str(getattr(function, "__name__", ""))
    return own if own.isidentifier() else ""


def name_for(function: Any, own: str) -> str:
    """Return the name of a function, or of the function that it wraps."""
    name = str(getattr(function, "__name__", own))
    return name if hasattr(function, "__wrapped__") and name.isidentifier() else own


def public_home(value: Any) -> tuple[str, str]:
    """Return the shortest name of a module with a function or class of a library, and its name there."""
    name = str(getattr(value, "__name__", ""))
    parts = str(getattr(value, "__module__", None) or "").split(".")
    homes = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    for home in (*homes, "numpy", "math", "scipy.special", "builtins"):
        module = sys.modules.get(home)
        is_library = module is not None and home != "__main__" and not is_module_of_user(module)
        if is_library and name and vars(module).get(name) is value:
            return home, name
    raise NotWritable(f"a {type(value).__module__}.{type(value).__qualname__}".replace("builtins.", ""))


def signature_of(function: Any) -> list[inspect.Parameter]:
    """Return the parameters of a function; `*args` if they are not known."""
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        kind = inspect.Parameter.VAR_POSITIONAL
        return [inspect.Parameter("arrays", kind)]


def parameters_of(function: Any, arguments: int) -> list[inspect.Parameter]:
    """Return the parameters to call a function of a library with: those that it requires or that are given."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    inner, given = (function.func, len(function.args)) if isinstance(function, functools.partial) else (function, 0)
    if isinstance(inner, np.ufunc):
        return [inspect.Parameter(name, kind) for name in ARGUMENTS[: inner.nin - given]]
    positional = [one for one in signature_of(function) if one.kind in (one.POSITIONAL_ONLY, kind)]
    needed = [one for place, one in enumerate(positional) if place < arguments or one.default is one.empty]
    if not needed:
        return [inspect.Parameter(name, kind) for name in ARGUMENTS[: max(arguments, 1)]]
    return [inspect.Parameter(one.name, kind) for one in needed]


def is_module_of_user(module: types.ModuleType) -> bool:
    """Is a module not an installed one?"""
    file = getattr(module, "__file__", None)
    return file is not None and file.endswith(".py") and is_file_of_user(file)


def is_file_of_user(file: str) -> bool:
    """Is a file neither in an installed package nor in pyopbench?"""
    # `uv run --with` puts packages into folders that the paths of this Python do not name.
    own = (*LIBRARIES, os.path.dirname(os.path.dirname(__file__)) + os.sep)
    return os.path.isfile(file) and not file.startswith(own) and not is_installed(Path(file))


def source_of(scope: Mapping[str, Any]) -> Source | None:
    """Return the Python file of a module; None for a notebook or compiled code."""
    file = scope.get("__file__")
    if not isinstance(file, str):
        return None
    try:
        return read_source(file)
    except (OSError, SyntaxError):
        return None


def absolute_name(scope: Mapping[str, Any], statement: ast.ImportFrom) -> str:
    """Return the module that a statement of another module imports from."""
    name = statement.module or ""
    if not statement.level:
        return name
    return importlib.util.resolve_name("." * statement.level + name, str(scope.get("__package__")))


def require_no_state(source: Source, node: ast.AST, captured: Set[str]) -> None:
    """Check that a function changes nothing outside itself.

    Raises:
        CannotExtract: it does; names the line.
    """
    bound = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    for one in ast.walk(node):
        if isinstance(one, ast.Global | ast.Nonlocal):
            outside = {*one.names} & bound & (captured if isinstance(one, ast.Nonlocal) else {*one.names})
            if outside:
                name = min(outside)
                lines = [
                    each.lineno
                    for each in ast.walk(node)
                    if isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load)
                ]
                raise state_changed(name, (source.path, min(lines)))


def state_changed(spelled: str, place: Place) -> StateChanged:
    """Return the error about a line that changes something outside the function."""
    return StateChanged(
        f"it changes `{spelled}`, so that one call depends on those before it",
        fix="return what changes, and take it as an argument",
        place=place,
    )


def changes_of(source: Source, name: str) -> ast.stmt | None:
    """Return the statement at the top level that changes the value of a name without assigning to it."""
    for statement in source.tree.body:
        for node in (statement, *_nested(statement)):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
            for one in (part for target in targets for part in ast.walk(target)):
                is_item = isinstance(one, ast.Subscript | ast.Attribute) and isinstance(one.ctx, ast.Store)
                if is_item and ast.unparse(one.value) == name:  # type: ignore[attr-defined]
                    return node
            if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name:
                return node
    return None


def _nested(statement: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
        for node in ast.walk(statement):
            if isinstance(node, ast.stmt) and node is not statement:
                yield node
