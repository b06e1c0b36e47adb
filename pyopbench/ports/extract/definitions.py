"""Where a function is defined, whose code that is, and what it changes outside itself."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import os
import sys
import sysconfig
import types
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from pyopbench.model.errors import PyopbenchError
from pyopbench.model.side import is_installed
from pyopbench.model.syntax import DEFINITIONS, Function, Source, bindings, name_of, read_source, root_of
from pyopbench.ports.extract.values import NotWritable

Place: TypeAlias = tuple[str, int]
"""A file and a line of it."""

Parents: TypeAlias = Mapping[ast.AST, ast.AST]
"""The node around each node."""

LIBRARIES = tuple(
    f"{path}{os.sep}" for path in (sysconfig.get_path("stdlib"), os.path.dirname(os.path.dirname(np.__file__)))
)
"""Folders of code that is not the user's: Python's own modules, and what is next to NumPy, because `pip install
--target` puts packages into a folder of any name."""

PACKAGE = str(Path(__file__).parents[2]) + os.sep

FROM_OUTSIDE = {
    *("open", "input", "__file__", "environ", "getenv", "argv", "parse_args", "parse_known_args"),
    *("load", "safe_load", "load_all", "loadtxt", "genfromtxt", "fromfile", "memmap", "loadmat", "load_npz"),
    *("read_text", "read_bytes", "read_csv", "read_json", "read_file", "imread", "getcwd", "FLAGS"),
}
"""Names and attributes that read files, arguments or the environment: they return something else elsewhere."""

CONTAINERS = (list, dict, set, np.ndarray)

CHANGING = {
    *("append", "extend", "insert", "remove", "pop", "clear", "update", "setdefault", "popitem", "add", "discard"),
    *("sort", "reverse", "appendleft", "popleft", "fill", "put", "resize", "partition"),
}
"""Methods that change a container or an array in place."""

LIBRARIES_OF_BODIES = ("numpy", "scipy", "math", "tensorflow", "keras")
"""Modules whose functions are called and never extracted, even if one is the whole body."""

STATEMENTS = ("bisect", "contextlib", "heapq", "operator", "random", "tf_keras", "warnings")
"""Further modules whose functions may be statements of a port: they change their arguments, or warn."""

DOING = "write writelines writerow writerows flush close send wait acquire debug info warning error exception log"
"""Methods that write, wait or log."""

ARGUMENTS = ("x", "y", "z", "a", "b", "c", "d", "e")
"""Names for arguments that have none."""

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class CannotPort(PyopbenchError):
    """A function, or what it does, cannot be written as source.

    Attributes:
        why: the reason.
        fix: what to do instead; empty if nothing is known.
        place: file and line of the user's code, or None.
    """

    exit_code = 1

    def __init__(self, why: str, *, fix: str = "", place: Place | None = None) -> None:
        self.why, self.fix, self.place = why, fix, place
        super().__init__(why)


class StateChanged(CannotPort):
    """A function changes something outside itself."""

    def __init__(self, spelled: str, place: Place) -> None:
        super().__init__(
            f"it changes `{spelled}`, so that one call depends on those before it",
            fix="return the value that changes, and take it as an argument",
            place=place,
        )


def definition_of(function: types.FunctionType) -> tuple[Source, Any]:
    """Return the file of a function and its definition there, a `def` or a `lambda`.

    Raises:
        CannotPort: its source is not available, or another lambda on its line cannot be distinguished from it.
    """
    code = function.__code__
    refusal = CannotPort(
        f"the source of `{function.__name__}` is not found, or there are several lambdas on its line",
        fix="define it with `def` in a .py file",
        place=(code.co_filename, code.co_firstlineno) if os.path.isfile(code.co_filename) else None,
    )
    try:
        source = read_source(code.co_filename)
    except (OSError, SyntaxError, ValueError) as error:
        raise refusal from error
    nodes = [
        one
        for one in ast.walk(source.tree)
        if isinstance(one, Function | ast.Lambda)
        and (first_line(one), getattr(one, "name", "<lambda>")) == (code.co_firstlineno, code.co_name)
    ]
    if len(nodes) > 1:
        nodes = [one for one in nodes if _has_positions_of(one, code)][-1:]  # the innermost
    if not nodes:
        raise refusal
    return source, nodes[0]


def first_line(node: Any) -> int:
    """Return the first line of a definition with its decorators."""
    return int(min(one.lineno for one in (node, *getattr(node, "decorator_list", ()))))


def _has_positions_of(node: Any, code: types.CodeType) -> bool:
    """Do all instructions of a function lie in a definition, by line and column? Python knows these since 3.11."""
    places = [
        (line, column)
        for line, _, column, _ in getattr(code, "co_positions", tuple)()
        if line is not None and column is not None and (line, column) != (code.co_firstlineno, 0)
    ]
    body = node.body if isinstance(node.body, list) else [node.body]
    begin, end = (body[0].lineno, body[0].col_offset), (body[-1].end_lineno, body[-1].end_col_offset)
    return bool(places) and all(begin <= one <= end for one in places)


@functools.cache
def bindings_of(source: Source) -> dict[str, ast.stmt]:
    """Return the statement that defines each name at the top level of a file."""
    return bindings(source.tree.body)


def without_annotations(node: Any) -> Any:
    """Return a copy of a statement or a lambda without annotations of functions: a port does not take what they say."""
    node = copy.deepcopy(node)
    for one in ast.walk(node):
        if isinstance(one, ast.arg):
            one.annotation = None
        elif isinstance(one, Function):
            one.returns = None
    return node


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


def public_home(value: Any) -> tuple[str, str]:
    """Return the shortest name of a module with a function or class of a library, and its name there.

    Raises:
        NotWritable: it is in none.
    """
    name = str(getattr(value, "__name__", ""))
    parts = str(getattr(value, "__module__", None) or "").split(".")
    homes = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    for home in (*homes, "numpy", "math", "scipy.special", "builtins"):
        module = sys.modules.get(home)
        is_library = module is not None and home != "__main__" and not is_module_of_user(module)
        if is_library and name and vars(module).get(name) is value:
            return home, name
    raise NotWritable(f"a {type(value).__module__}.{type(value).__qualname__}".replace("builtins.", ""))


def is_module_of_user(module: types.ModuleType) -> bool:
    """Is a module not an installed one?"""
    file = getattr(module, "__file__", None)
    return file is not None and file.endswith(".py") and is_file_of_user(file)


def is_file_of_user(file: str) -> bool:
    """Is a file neither in an installed package nor in pyopbench?"""
    # `uv run --with` puts packages into folders that the paths of this Python do not name.
    return os.path.isfile(file) and not file.startswith((*LIBRARIES, PACKAGE)) and not is_installed(Path(file))


def source_of(scope: Mapping[str, Any]) -> Source | None:
    """Return the Python file of a module; None for a notebook or compiled code."""
    file = scope.get("__file__")
    try:
        return read_source(file) if isinstance(file, str) else None
    except (OSError, SyntaxError, ValueError):
        return None


def require_no_state(source: Source, node: ast.AST, captured: Set[str]) -> None:
    """Check that a function assigns to no variable outside itself."""
    nodes = list(ast.walk(node))
    outside = {name for one in nodes if isinstance(one, ast.Global) for name in one.names}
    outside |= {name for one in nodes if isinstance(one, ast.Nonlocal) for name in one.names} & captured
    stored = [one for one in nodes if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)]
    for one in sorted((one for one in stored if one.id in outside), key=lambda one: one.lineno):
        raise StateChanged(one.id, (source.path, one.lineno))


def require_computing(source: Source) -> None:
    """Check that the functions of an extracted module only compute: a graph logs, writes and waits while traced."""
    nodes = list(ast.walk(source.tree))
    imports = [(alias, one) for one in nodes if isinstance(one, ast.Import | ast.ImportFrom) for alias in one.names]
    homes = {name_of(alias): str(getattr(one, "module", alias.name)).partition(".")[0] for alias, one in imports}
    for node in (inner for one in source.tree.body if isinstance(one, DEFINITIONS) for inner in ast.walk(one)):
        entered = [one.context_expr for one in getattr(node, "items", ())]
        for call in [node.value] if isinstance(node, ast.Expr) else entered:
            function = getattr(call, "func", call)
            name, home = getattr(function, "attr", ""), homes.get(getattr(root_of(function), "id", ""))
            is_doing = name in DOING.split() if name else ast.unparse(function) == "open"
            is_refused = is_doing if home is None else home not in (*LIBRARIES_OF_BODIES, *STATEMENTS)
            if is_refused and isinstance(call, ast.Call):
                why = f"it does more than compute: `{ast.unparse(function)}`"
                raise CannotPort(why, fix="do that elsewhere, or use a callback", place=(source.path, call.lineno))


def is_changed(source: Source, name: str) -> bool:
    """Is the value of a name changed at the top level by something else than an assignment to the name?"""
    for statement in source.tree.body:
        for node in ast.walk(statement) if not isinstance(statement, DEFINITIONS) else ():
            if isinstance(node, ast.AugAssign) and ast.unparse(node.target) == name:
                return True
            is_part = isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store)
            if is_part and ast.unparse(node.value) == name:  # type: ignore[attr-defined]
                return True
    return False


def key_read(node: ast.expr, value: Any, parents: Parents) -> str:
    """Return the attribute or the key of a dictionary that is read of a value; empty if it is used as a whole."""
    parent = parents.get(node)
    if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(value, dict):
        key = getattr(parent.slice, "value", None)
        return key if isinstance(key, str) else ""
    return parent.attr if isinstance(parent, ast.Attribute) and type(value) is not dict else ""


def require_unchanged(node: ast.expr, value: Any, parents: Parents, path: str) -> None:
    """Check that a value from outside a function is not written to where it is read."""
    parent = parents.get(node)
    if not isinstance(parent, ast.Attribute | ast.Subscript) or parent.value is not node:
        return
    is_changing = isinstance(parent, ast.Attribute) and parent.attr in CHANGING and isinstance(value, CONTAINERS)
    if not isinstance(parent.ctx, ast.Load) or (is_changing and isinstance(parents.get(parent), ast.Call)):
        raise StateChanged(ast.unparse(parent), (path, node.lineno))


def reads_outside(statement: ast.AST) -> bool:
    """Does a statement read a file, the arguments or the environment?"""
    names = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(statement)}
    return bool(names & FROM_OUTSIDE)


def parameters_of(function: functools.partial[Any], arguments: int) -> list[str]:
    """Return the names of a library's parameters by position: those that are required, or that are given."""
    names: list[str] = []
    if isinstance(function.func, np.ufunc):
        names += ARGUMENTS[: function.func.nin - len(function.args)]
    else:
        try:
            positional = [one for one in inspect.signature(function).parameters.values() if one.kind in POSITIONAL]
        except (TypeError, ValueError):  # of functions in C
            positional = []
        names += [one.name for at, one in enumerate(positional) if at < arguments or one.default is one.empty]
    return names or list(ARGUMENTS[: max(arguments, 1)])
