"""Copies of a Python function in which its helpers are something else."""

from __future__ import annotations

import ast
import dis
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from pyopbench.model.op import Body
from pyopbench.ports.arrays import as_array, as_outputs, one_or_tuple
from pyopbench.ports.extract.definitions import is_file_of_user, is_module_of_user

BODY = "pyopbench_body"
"""The attribute of what stands around a user's body under which that is found."""

ARRANGE = "pyopbench_arrange"
"""The attribute of what stands around a user's body, of what gives a port of that body its arguments by name."""


def arrange(function: Body, port: Body) -> Body:
    """Return a port of what a body stands around, called as the body is: by position."""
    while hasattr(function, BODY):
        port = getattr(function, ARRANGE, lambda same: same)(port)
        function = getattr(function, BODY)
    return port


def with_body(function: Body, body: Body) -> Body:
    """Return another body inside the same wrappers, such as one that decodes its arguments."""
    if not hasattr(function, BODY):
        return body
    inner = getattr(function, BODY)
    new = with_body(inner, body)
    assert isinstance(function, types.FunctionType)
    cells = tuple(types.CellType(new) if one.cell_contents is inner else one for one in function.__closure__ or ())
    copy = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
    vars(copy).update({**vars(function), BODY: new})
    return copy


def returning_arrays(body: Body, returned: Any) -> Body:
    """Return a body whose outputs are arrays: itself, if that is what it was seen to return.

    Lists of numbers or text TensorFlow takes for as many outputs, and in eager mode numbers of Python's for float32 and
    int32. As arrays, it takes them as NumPy does.
    """
    if all(isinstance(one, (np.ndarray, np.generic, bytes)) for one in as_outputs(returned)):
        return body

    def on_arrays(*inputs: Any) -> Any:
        return one_or_tuple([as_array(one) for one in as_outputs(body(*inputs))])

    setattr(on_arrays, BODY, body)
    return on_arrays


def unwrap(function: Body) -> Any:
    """Return the function that the user wrote, without wrappers."""
    while hasattr(function, BODY):
        function = getattr(function, BODY)
    return function


def copy_functions(function: Body, finish: Callable[[Any], Any]) -> Any:
    """Return `finish` of a copy of a Python function that finds `finish` of copies of its helpers, of any module.

    Each is copied once, also where they call one another.
    """
    done: dict[Any, Any] = {}

    def copied(function: Any) -> Any:
        scope, captured = dict(function.__globals__), function.__closure__ or ()
        cells = tuple(types.CellType() for _ in captured)
        copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells or None)
        copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, function.__module__
        done[function] = finished = finish(copy)
        for name in sorted(set(globals_read(function.__code__)) & scope.keys()):
            scope[name] = value_of(scope[name], function)
        for cell, original in zip(cells, captured, strict=True):
            cell.cell_contents = value_of(original.cell_contents, function)
        return finished

    def value_of(value: Any, function: Any) -> Any:
        if isinstance(value, types.FunctionType) and is_of_user(value, function):
            return done[value] if value in done else copied(value)
        if not isinstance(value, types.ModuleType) or not is_module_of_user(value):
            return value
        if value not in done:  # `utils.iou(a, b)` calls a copy, too
            done[value] = copy = types.ModuleType(value.__name__)
            own = {name: each for name, each in vars(value).items() if not name.startswith("__")}
            vars(copy).update({name: value_of(each, function) for name, each in own.items()})
        return done[value]

    return copied(unwrap(function))


def redefine(function: Any, definition: ast.FunctionDef, path: str, names: Mapping[str, Any]) -> Any:
    """Return a function with another definition, of a file, and with the same globals, to which names are added."""
    name, scope = definition.name, function.__globals__
    before = scope.get(name)
    scope.update(names)  # which defaults of its arguments may need
    tree = ast.fix_missing_locations(ast.Module([definition], []))
    exec(compile(tree, path, "exec", dont_inherit=True), scope)
    new, scope[name] = scope[name], before
    new.__defaults__, new.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    new.__module__ = function.__module__
    return new


def is_of_user(value: Any, function: Any) -> bool:
    """Is a function written by the user: outside of what is installed, or in the package of their own function?"""
    same = str(value.__module__).split(".")[0] == str(function.__module__).split(".")[0]
    return same or is_file_of_user(value.__code__.co_filename)


def files_reached(function: Any) -> set[str]:
    """Return the files of a function and of all that it calls of the user's."""
    return {code.co_filename for code in codes_reached(function)}


def codes_reached(function: Any) -> list[types.CodeType]:
    """Return the code of a function and of all that it calls of the user's, its own first."""
    function = unwrap(function)
    if not isinstance(function, types.FunctionType):
        return []
    codes: list[types.CodeType] = []

    def finish(copy: Any) -> Any:
        codes.append(copy.__code__)
        return copy

    copy_functions(function, finish)
    return codes


def globals_read(code: types.CodeType) -> Iterator[str]:
    """Yield the globals that a function reads; those of a function or comprehension inside are in a code of its own."""
    # Not co_names, which are attributes as well: np.linalg is no use of a global linalg.
    yield from (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from globals_read(constant)
