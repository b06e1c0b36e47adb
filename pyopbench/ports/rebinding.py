"""A user's body and its wrappers: another body in its place, its functions changed, and what it calls."""

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


def instrument(
    body: Body, change: Callable[[Any], tuple[str, ast.FunctionDef] | None], names: Mapping[str, Any]
) -> Body:
    """Return a body of an extracted module that runs changed copies of the functions of that module.

    Args:
        body: the user's function, or a wrapper that passes it its arguments.
        change: returns the file of a function, and the definition that it is replaced by; None if it stays as it is.
        names: what the new definitions need besides the globals of the module.
    """
    function = unwrap(body)
    scope, done = {**function.__globals__, **names}, set[Any]()

    def define(function: Any) -> Any:
        done.add(function)
        changed = change(function)
        if changed is None:
            return function
        path, definition = changed
        tree = ast.fix_missing_locations(ast.Module([definition], []))
        exec(compile(tree, path, "exec", dont_inherit=True), scope)
        new = scope[definition.name]
        new.__defaults__, new.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        for name in sorted(set(globals_read(function.__code__))):
            value = function.__globals__.get(name)
            if isinstance(value, types.FunctionType) and value not in done and is_of_user(value, function):
                define(value)
        return new

    return arrange(body, define(function))


def is_of_user(value: Any, function: Any) -> bool:
    """Is a function written by the user: outside of what is installed, or in the package of their own function?"""
    same = str(value.__module__).split(".")[0] == str(function.__module__).split(".")[0]
    return same or is_file_of_user(value.__code__.co_filename)


def codes_reached(function: Any) -> list[types.CodeType]:
    """Return the code of a function and of all that it calls of the user's, its own first."""
    first = unwrap(function)
    waiting, reached = [first], dict[Any, None]()
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, types.FunctionType) and one not in reached and (one is first or is_of_user(one, first)):
            reached[one] = None
            scope = one.__globals__
            waiting += [scope[name] for name in sorted(set(globals_read(one.__code__)) & scope.keys())]
            waiting += [cell.cell_contents for cell in one.__closure__ or () if cell != types.CellType()]
        elif isinstance(one, types.ModuleType) and one not in reached and is_module_of_user(one):
            reached[one] = None  # as in `utils.iou(a, b)`
            waiting += [value for name, value in vars(one).items() if not name.startswith("__")]
    return [one.__code__ for one in reached if isinstance(one, types.FunctionType)]


def globals_read(code: types.CodeType) -> Iterator[str]:
    """Yield the globals that a function reads; those of a function or comprehension inside are in a code of its own."""
    # Not co_names, which are attributes as well: np.linalg is no use of a global linalg.
    yield from (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from globals_read(constant)
