"""A body of `tf.py_function` that computes with NumPy alone, as a body that takes arrays.

It gets eager tensors and makes arrays of them: by `x.numpy()`, `np.asarray(x)`, or `np.sinh(x)` itself. It may convert
its results to tensors again. The conversions are taken out; the body then runs on arrays, and has to return the same
bits.
"""

from __future__ import annotations

import ast
import builtins
import copy
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.op import Body
from pyopbench.model.syntax import Function, local_names, read_source
from pyopbench.ports.arrays import as_tuple, is_same, read_only
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.extract.extraction import extract
from pyopbench.ports.extract.module import Extracted, load, place_of_user, unparsed
from pyopbench.ports.rebinding import unwrap

CONVERSIONS = {"Cast"}
"""Ops of TensorFlow that a body may run, where its tape ends: `tf.cast`. `tf.constant` runs none."""

INDEXING = {"StridedSlice"}
"""Ops that a body may run as well if it returns an array: `np.sum(x[1:])`, which is the same on arrays."""

MAKING_TENSORS = {"convert_to_tensor": "value", "constant": "value", "cast": "x"}
"""Functions of TensorFlow's that make a tensor of an array, and the name of what they are given."""

FIX = "begin the body with `x = x.numpy().copy()` for each of its tensors, and cast where you need a dtype"


def body_on_arrays(function: Body | None, examples: Sequence[Sequence[Any]], *, needs_tape: bool = True) -> Body | None:
    """Return a body that takes arrays and returns what another one does for tensors; None if TensorFlow computes.

    Args:
        function: takes eager tensors.
        examples: arrays to run it on.
        needs_tape: must a gradient that a tape finds through the body be kept?

    Raises:
        CannotPort: it returns something else for arrays; with the user's line.
    """
    if function is None or is_of_tensorflow(function):
        return None
    tensors = [tuple(map(tf.constant, one)) for one in examples]
    with tf.GradientTape() as tape, _ops_run() as ran:
        tape.watch([one for one in tensors[0] if one.dtype.is_floating])
        outputs = as_tuple(function(*tensors[0]))
    allowed = CONVERSIONS if all(map(tf.is_tensor, outputs)) else CONVERSIONS | INDEXING
    if ran - allowed:
        return None
    floating = [one for one in outputs if tf.is_tensor(one) and one.dtype.is_floating]
    if needs_tape and floating and any(one is not None for one in tape.gradient(floating, list(tensors[0]))):
        return None
    new = function
    if isinstance(unwrap(function), types.FunctionType | types.MethodType):
        count = len(examples[0])
        extracted, module, _ = extract(lambda extraction: extraction.add(unwrap(function), "", count))
        extracted, module = without_conversions(extracted, module)
        new = getattr(module, extracted.names[-1])
    _require_same(new, function, examples, tensors)
    return new


def without_conversions(extracted: Extracted, module: types.ModuleType) -> tuple[Extracted, types.ModuleType]:
    """Return a module, and the same loaded, in which a body on arrays makes no tensors: `tf.cast(x, tf.float32)`."""
    if getattr(module, "np", np) is not np:
        place = place_of_user((extracted.path, 1))
        raise CannotPort("this file uses the name `np` for something else", fix="import NumPy as `np`", place=place)
    tree = read_source(extracted.path).tree
    tree = _Conversions(tree, vars(module)).visit(copy.deepcopy(tree))
    text, places = unparsed([(one, extracted.path) for one in tree.body])
    if not hasattr(module, "np"):
        text, places = f"import numpy as np\n{text}", (None, *places)
    new = replace(extracted, text=text, places=tuple(map(place_of_user, places)))
    return new, load(new)


@contextmanager
def _ops_run() -> Iterator[set[str]]:
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


def _require_same(new: Body, old: Body, examples: Sequence[Sequence[Any]], tensors: Sequence[Sequence[Any]]) -> None:
    """Check that a body returns for arrays, to which nothing may write, what another one does for tensors."""
    code = getattr(new, "__code__", None)
    place = None if code is None else place_of_user((code.co_filename, code.co_firstlineno))
    for example, given in zip(examples, tensors, strict=True):
        expected = as_tuple(old(*given))
        try:
            found = as_tuple(new(*read_only(example)))  # `x.numpy()` is a copy of a tensor, but not of an array
        except Exception as error:
            why = f"the body fails with read-only arrays: {type(error).__name__}: {error}"[:200]
            raise CannotPort(why, fix=FIX, place=place) from error
        if len(found) != len(expected) or not all(map(is_same, found, expected)):
            raise CannotPort("the body returns other results for arrays than for tensors", fix=FIX, place=place)


class _Conversions(ast.NodeTransformer):
    """Replaces tensors by arrays where a module converts one to the other."""

    def __init__(self, tree: ast.Module, scope: Mapping[str, Any]) -> None:
        self.scope = scope
        inner = [one for one in ast.walk(tree) if isinstance(one, Function | ast.Lambda)]
        self.local = {name for one in inner for name in local_names(one)}

    def visit_Call(self, node: ast.Call) -> Any:
        """Return an array for what is converted to one, or to a tensor: `x.numpy()`, `tf.cast(x, tf.int32)`."""
        if isinstance(node.func, ast.Attribute) and node.func.attr == "numpy" and not node.args and not node.keywords:
            return self.visit(node.func.value)
        self.generic_visit(node)
        function = self._value_of(node.func)
        name = str(getattr(function, "__name__", "")).removesuffix("_v2_with_dispatch")
        if not is_of_tensorflow(function) or name not in MAKING_TENSORS:
            return node
        given = dict(zip((MAKING_TENSORS[name], "dtype"), node.args, strict=False))
        given |= {str(one.arg): one.value for one in node.keywords if one.arg != "name"}
        value, dtype = given.pop(MAKING_TENSORS[name], None), given.pop("dtype", None)
        if value is None or given or len(node.args) > 2:
            return node
        as_dtype = ""
        if dtype is not None:
            wanted: Any = dtype.value if isinstance(dtype, ast.Constant) else self._value_of(dtype)
            try:
                found = np.dtype(tf.as_dtype(wanted).as_numpy_dtype).name
            except TypeError:  # it is no dtype
                return node
            as_dtype = f", dtype=np.{'bool_' if found == 'bool' else found}"
        return ast.copy_location(ast.parse(f"np.asarray({ast.unparse(value)}{as_dtype})", mode="eval").body, node)

    def _value_of(self, node: ast.AST) -> Any:
        """Return what a name, or an attribute of one, is in the module; None for what is local."""
        if isinstance(node, ast.Name):
            return None if node.id in self.local else self.scope.get(node.id, getattr(builtins, node.id, None))
        home = self._value_of(node.value) if isinstance(node, ast.Attribute) else None
        return None if home is None else getattr(home, node.attr, None)  # type: ignore[attr-defined]


def is_of_tensorflow(value: Any) -> bool:
    """Is it a module, a function or a class of TensorFlow's? A tensor that is a constant is none."""
    home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return hasattr(value, "__name__") and str(home).split(".")[0] in ("tensorflow", "keras")
