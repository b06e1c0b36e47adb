"""A body of `tf.py_function` that computes on arrays, as a body that takes them.

It gets eager tensors and makes arrays of them: by `x.numpy()`, `np.asarray(x)`, or `np.sinh(x)` itself. It may convert
its results to tensors again. If its operators compute with tensors as well as arrays, it is rewritten (`mixed_body`).
If it computes anything with functions of TensorFlow, it is no such body.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.op import Body
from pyopbench.ports import conversions, mixed_body
from pyopbench.ports.arrays import as_outputs, as_tuple, is_same, read_only
from pyopbench.ports.extract.definitions import CannotExtract, definition_of
from pyopbench.ports.extract.module import place_of_user
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.rebinding import BODY, content, copy_functions, globals_read, written

CONVERSIONS = {"Cast"}
"""Ops of TensorFlow that a body may run, where its tape ends: `tf.cast`. `tf.constant` runs none."""

DETACH = "if nothing needs that gradient, begin the body with `x = x.numpy()` for each of its tensors"

LAMBDA = (lambda: None).__name__


def body_on_arrays(function: Body | None, examples: Sequence[Sequence[Any]], *, needs_tape: bool = True) -> Body | None:
    """Return a copy of a body that takes arrays; None if it computes with TensorFlow, or the copy returns other values.

    Args:
        function: takes eager tensors.
        examples: arrays to run it on.
        needs_tape: must a gradient that a tape finds through the body be kept?

    Raises:
        CannotPort: it mixes tensors with arrays, and cannot be rewritten for arrays alone; with the user's line.
    """
    if function is None or conversions.is_of_tensorflow(function):
        return None
    tensors = [tf.constant(one) for one in examples[0]]
    with tf.GradientTape() as tape, ops_run() as ran:
        tape.watch([one for one in tensors if one.dtype.is_floating])
        expected = as_tuple(function(*tensors))
    if needs_tape and _is_on_tape(tape, expected, tensors):
        if ran - CONVERSIONS and mixed_body.has_arrays(function, examples):
            why = "a gradient passes through the tensors of the body, and arrays have none"
            code = getattr(written(function), "__code__", None)
            place = None if code is None else (code.co_filename, code.co_firstlineno)
            raise CannotPort(why, fix=DETACH, place=place_of_user(place))
        return None
    if ran - CONVERSIONS:
        return mixed_body.rewrite_for_arrays(function, examples)
    given = read_only(examples[0])  # `x.numpy()` is a copy that may be written to, and an input is not
    try:
        copy = on_arrays(function)
        found = None if copy is None else as_outputs(copy(*given))
    except Exception:  # noqa: BLE001 - whatever a body of tensors raises when it gets arrays
        return None
    if copy is None or found is None:
        return None
    if len(found) != len(expected) or not all(map(is_same, found, expected)):
        return None

    def of_arrays(*inputs: Any) -> Any:
        return copy(*inputs)

    setattr(of_arrays, BODY, function)
    return of_arrays


def _is_on_tape(tape: tf.GradientTape, outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
    floating = [one for one in outputs if tf.is_tensor(one) and one.dtype.is_floating]
    return bool(floating) and any(one is not None for one in tape.gradient(floating, list(inputs)))


def on_arrays(function: Body) -> Body | None:
    """Return a copy of a function in which arrays are what `.numpy()` or `tf.constant` makes of them.

    One that is not written in Python is itself. None where that leaves something of TensorFlow's in the function, or in
    one of the user's that it calls, also where no example goes.
    """
    function = written(function)
    if isinstance(function, types.MethodType):
        method = on_arrays(function.__func__)
        return function if method is None else types.MethodType(method, function.__self__)
    if not isinstance(function, types.FunctionType):
        return function
    made: list[Any] = []

    def finish(copy: Any) -> Any:
        made.append(_converted(copy))
        return made[-1]

    copy = copy_functions(function, finish)
    return None if any(map(conversions.is_of_tensorflow, _values_read(copy, made, set()))) else copy


def _converted(function: Any) -> Any:
    """Return a function with conversions to arrays; itself where there are none, or its source is not found.

    Its lines stay those of the user. Its globals, which are its own, get NumPy under the name `np`.
    """
    code, scope = function.__code__, function.__globals__
    try:
        node = _as_function(deepcopy(definition_of(function)[1]))
    except CannotExtract:
        return function
    converting = _Converting(function)
    node.body = [converting.visit(one) for one in node.body]
    if not converting.has_changed or scope.get("np", np) is not np:
        return function
    node.decorator_list, node.args.defaults, node.args.kw_defaults = [], [], [None] * len(node.args.kwonlyargs)
    new = _compiled_in(node, code)
    if new is None or new.co_freevars != code.co_freevars:
        return function
    scope["np"] = np
    made = types.FunctionType(new, scope, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__, made.__module__ = function.__kwdefaults__, function.__module__
    return made


class _Converting(ast.NodeTransformer):
    """Puts what makes arrays in the place of what makes tensors."""

    def __init__(self, function: Any) -> None:
        code = function.__code__
        self.scope = function.__globals__
        self.local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self.closed_over = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        self.has_changed = False

    def visit_Call(self, node: ast.Call) -> Any:
        instead = conversions.on_arrays(node, self._value)
        if instead is None:
            return self.generic_visit(node)
        self.has_changed = True
        return conversions.expression(instead.text, [self.visit(one) for one in instead.parts], node)

    def _value(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name) and node.id in self.closed_over:
            return content(self.closed_over[node.id])  # of a function, which is put there later, there is none yet
        if isinstance(node, ast.Name):
            return None if node.id in self.local else self.scope.get(node.id, getattr(builtins, node.id, None))
        home = self._value(node.value) if isinstance(node, ast.Attribute) else None
        return None if home is None else getattr(home, node.attr, None)  # type: ignore[attr-defined]


def _values_read(function: Any, own: Sequence[Any], seen: set[Any]) -> Iterator[Any]:
    """Yield what a function, and each of the user's own that it calls, finds by name outside of it."""
    seen.add(function)
    found = [function.__globals__.get(name) for name in globals_read(function.__code__)]
    found += [content(cell) for cell in function.__closure__ or ()]
    modules = [one for one in found if isinstance(one, types.ModuleType) and not conversions.is_of_tensorflow(one)]
    found += [vars(one).get(name) for one in modules for name in _names(function.__code__)]
    yield from found
    for one in found:
        if isinstance(one, types.FunctionType) and one in own and one not in seen:
            yield from _values_read(one, own, seen)


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _as_function(node: Any) -> Any:
    """Return a definition; for a `lambda`, one that returns."""
    if not isinstance(node, ast.Lambda):
        return node
    returned = ast.copy_location(ast.Return(node.body), node)
    definition = ast.FunctionDef(LAMBDA, node.args, [returned], [])
    definition.type_params = []  # type: ignore[attr-defined,unused-ignore]  # required by Python 3.12
    return ast.copy_location(definition, node)


def _compiled_in(node: Any, code: types.CodeType) -> types.CodeType | None:
    """Return the code of a tree that stands for a function, with the same names of functions around it."""
    at = node.lineno
    place: dict[str, Any] = {"lineno": at, "col_offset": 0, "end_lineno": at, "end_col_offset": 0}
    names = [ast.arg(arg=name, **place) for name in code.co_freevars]
    around = ast.parse("def around(): pass").body[0]
    assert isinstance(around, ast.FunctionDef)
    # Its own name, which it may call itself by, is one of the module, as it was; unless it is of a function around it.
    own = [] if node.name in code.co_freevars else [ast.Global([node.name], **place)]
    around.args.args, around.body = names, [*own, node]
    module = ast.fix_missing_locations(ast.Module([around], []))
    flags = code.co_flags & __future__.annotations.compiler_flag
    compiled = compile(module, code.co_filename, "exec", flags, dont_inherit=True)
    outer = next(one for one in compiled.co_consts if isinstance(one, types.CodeType))
    return next((one for one in outer.co_consts if isinstance(one, types.CodeType) and one.co_name == node.name), None)


@contextmanager
def ops_run() -> Iterator[set[str]]:
    """A context that has the names of the ops that TensorFlow runs in it."""
    from tensorflow.python.framework import op_callbacks  # no public function says which ops were run

    ran: set[str] = set()

    def note(op_type: Any, *_: Any, **__: Any) -> None:
        ran.add(op_type.decode() if isinstance(op_type, bytes) else str(op_type))

    op_callbacks.add_op_callback(note)
    try:
        yield ran
    finally:
        op_callbacks.remove_op_callback(note)
