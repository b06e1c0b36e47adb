"""A body of `tf.py_function` that computes on arrays, as a body that takes them.

It gets eager tensors and makes arrays of them: by `x.numpy()`, `np.asarray(x)`, or `np.sinh(x)` itself. It may convert
its results to tensors again. If an operator meets a tensor and an array, as in `x[:, 0] - flag * 1e9`, TensorFlow
converts the array to the dtype of the tensor, and NumPy would widen both: the new body converts the array itself. Where
that is necessary is observed while the body runs on tensors. The new body then runs on arrays, and has to return the
same bits. A body that calls functions of TensorFlow is no such body.
"""

from __future__ import annotations

import ast
import builtins
import copy
import traceback
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.op import Body
from pyopbench.model.syntax import Function, local_names, read_source
from pyopbench.ports.arrays import as_tuple, is_same, read_only
from pyopbench.ports.extract.definitions import CannotExtract
from pyopbench.ports.extract.extraction import extract
from pyopbench.ports.extract.module import Extracted, load, place_of_user, unparsed
from pyopbench.ports.for_numba.types import ARRAY, LIST, SCALAR, TENSOR, TUPLE, types_of
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.rebinding import unwrap

Cast: TypeAlias = tuple[str, bool]
"""A dtype, and whether it is a number that is converted to it, and no array."""

CONVERSIONS = {"Cast"}
"""Ops of TensorFlow that a body may run, where its tape ends: `tf.cast`. `tf.constant` runs none."""

MAKING_TENSORS = {"convert_to_tensor": "value", "constant": "value", "cast": "x"}
"""Functions of TensorFlow's that make a tensor of an array, and the name of what they are given."""

FIX = "begin the body with `x = x.numpy()` for each of its tensors, and cast where you need a dtype"
COPY = "if it writes to an array that it got from `x.numpy()`, copy that first"
DETACH = "if nothing needs that gradient, begin the body with `x = x.numpy()` for each of its tensors"


def body_on_arrays(function: Body | None, examples: Sequence[Sequence[Any]], *, needs_tape: bool = True) -> Body | None:
    """Return a body that takes arrays and returns what another one does for tensors; None if TensorFlow computes all.

    Args:
        function: takes eager tensors.
        examples: arrays to run it on.
        needs_tape: must a gradient that a tape finds through the body be kept?

    Raises:
        CannotPort: it computes with arrays too, and cannot be rewritten for arrays alone; with the user's line.
    """
    if function is None or is_of_tensorflow(function):
        return None
    tensors = [tuple(map(tf.constant, one)) for one in examples]
    with tf.GradientTape() as tape, _ops_run() as ran:
        tape.watch([one for one in tensors[0] if one.dtype.is_floating])
        outputs = as_tuple(function(*tensors[0]))
    is_on_tape = needs_tape and _is_on_tape(tape, outputs, tensors[0])
    computes = bool(ran - CONVERSIONS)
    if is_on_tape and not computes:
        return None
    new = function
    try:
        if isinstance(unwrap(function), types.FunctionType | types.MethodType):
            rewriting = _Rewriting(function, tensors)
            if computes and not rewriting.has_arrays:
                return None
            if is_on_tape:
                why = "a gradient passes through the tensors of the body, and arrays have none"
                raise CannotPort(why, fix=DETACH, place=rewriting.place)
            extracted, module = rewriting.rewritten()
            new = getattr(module, extracted.names[-1])
        _require_same(new, function, examples, tensors)
    except CannotPort as refusal:
        refusal.place = place_of_user(refusal.place)
        raise
    return new


def without_conversions(extracted: Extracted, module: types.ModuleType) -> tuple[Extracted, types.ModuleType]:
    """Return a module, and the same loaded, in which a body on arrays makes no tensors: `tf.cast(x, tf.float32)`."""
    if not any(map(is_of_tensorflow, vars(module).values())):
        return extracted, module
    return _Conversions(extracted, module).rewritten()


def _is_on_tape(tape: tf.GradientTape, outputs: Sequence[Any], inputs: Sequence[Any]) -> bool:
    floating = [one for one in outputs if tf.is_tensor(one) and one.dtype.is_floating]
    return bool(floating) and any(one is not None for one in tape.gradient(floating, list(inputs)))


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
    place = None if code is None else (code.co_filename, code.co_firstlineno)
    for example, given in zip(examples, tensors, strict=True):
        expected = as_tuple(old(*given))
        try:
            found = as_tuple(new(*read_only(example)))  # `x.numpy()` is a copy of a tensor, but not of an array
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            lines = [one.lineno for one in frames if place and one.filename == place[0]]
            why = f"the body fails with read-only arrays: {type(error).__name__}: {error}"[:200]
            where = (place[0], lines[-1]) if place and lines and lines[-1] else place
            raise CannotPort(why, fix=f"{FIX}; {COPY}", place=where) from error
        if len(found) != len(expected) or not all(map(is_same, found, expected)):
            raise CannotPort("the body returns other results for arrays than for tensors", fix=FIX, place=place)


class _Conversions(ast.NodeTransformer):
    """Replaces tensors by arrays where a module converts one to the other.

    Args:
        extracted: the module.
        module: the same, loaded.
    """

    def __init__(self, extracted: Extracted, module: types.ModuleType) -> None:
        self.extracted, self.path, self.scope = extracted, extracted.path, vars(module)
        self.tree = read_source(self.path).tree
        inner = [one for one in ast.walk(self.tree) if isinstance(one, Function | ast.Lambda)]
        self.local = {name for one in inner for name in local_names(one)}

    def rewritten(self) -> tuple[Extracted, types.ModuleType]:
        """Return the new module, and the same loaded.

        Raises:
            CannotPort: it calls a function of TensorFlow, or an operator has not run.
        """
        if self.scope.get("np", np) is not np:
            raise CannotPort("`np` has to be NumPy in its file", fix="import NumPy as `np`", place=(self.path, 1))
        tree = self.visit(copy.deepcopy(self.tree))
        text, places = unparsed([(one, self.path) for one in tree.body])
        if "np" not in self.scope:
            text, places = f"import numpy as np\n{text}", (None, *places)
        new = replace(self.extracted, text=text, places=tuple(map(place_of_user, places)))
        return new, load(new)

    def visit_Call(self, node: ast.Call) -> Any:
        """Return an array for what is converted to one, or to a tensor: `x.numpy()`, `tf.cast(x, tf.int32)`."""
        found = self._conversion(node)
        if found is None:
            return self.generic_visit(node)
        value, dtype = found
        value = self.visit(value)
        return value if dtype is None else _as_array(value, dtype, node)

    def _conversion(self, node: ast.Call) -> tuple[ast.expr, str | None] | None:
        """Return what is converted, and the dtype that it gets: "" for its own, None where it is one already.

        None in place of both for another call.
        """
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr == "numpy"
        if is_method and not node.args and not node.keywords:
            return node.func.value, None  # type: ignore[attr-defined]
        function = self._value_of(node.func)
        name = str(getattr(function, "__name__", "")).removesuffix("_v2_with_dispatch")
        if not is_of_tensorflow(function) or name not in MAKING_TENSORS:
            return None
        options = {one.arg: one.value for one in node.keywords if one.arg != "name"}
        value = node.args[0] if node.args else options.pop(MAKING_TENSORS[name], None)
        dtype = node.args[1] if len(node.args) == 2 else options.pop("dtype", None)
        if value is None or len(node.args) > 2 or options:
            return None
        if dtype is None:
            return value, ""
        wanted: Any = dtype.value if isinstance(dtype, ast.Constant) else self._value_of(dtype)
        try:
            return None if wanted is None else (value, np.dtype(getattr(wanted, "as_numpy_dtype", wanted)).name)
        except TypeError:
            return None

    def _value_of(self, node: ast.AST) -> Any:
        """Return what a name, or an attribute of one, is in the module; None for what is local."""
        if isinstance(node, ast.Name):
            return None if node.id in self.local else self.scope.get(node.id, getattr(builtins, node.id, None))
        home = self._value_of(node.value) if isinstance(node, ast.Attribute) else None
        return None if home is None else getattr(home, node.attr, None)  # type: ignore[attr-defined]


class _Rewriting(_Conversions):
    """Rewrites a body, in a module of its own, so that it takes arrays.

    Args:
        function: the body that takes eager tensors.
        examples: tensors for its arguments.
    """

    def __init__(self, function: Body, examples: Sequence[Sequence[Any]]) -> None:
        try:
            extracted, module, _ = extract(lambda extraction: extraction.add(unwrap(function), "", len(examples[0])))
        except CannotExtract as error:
            raise CannotPort(error.why, fix=error.fix, place=error.place) from error
        super().__init__(extracted, module)
        body = self.scope[self.extracted.names[-1]]
        self.place = (self.path, body.__code__.co_firstlineno)
        try:
            self.types = types_of(body, examples, on_tensors=True)
        except Exception as error:  # such as a pattern of `match`, which is no expression
            raise CannotPort(f"the body cannot be watched: {error}", fix=FIX, place=self.place) from error
        self.has_arrays = any(one.kind in (ARRAY, SCALAR) for types in self.types.seen.values() for one in types)
        operators = [one for one in ast.walk(self.tree) if isinstance(one, ast.BinOp | ast.Compare | ast.AugAssign)]
        self.is_mixed = any(TENSOR in self._kinds(one) for one in operators)

    def visit_Call(self, node: ast.Call) -> Any:
        """Return a call without what only tensors have."""
        new = super().visit_Call(node)
        if isinstance(new, ast.Call) and isinstance(new.func, ast.Attribute) and not new.args and not new.keywords:
            name, value = new.func.attr, new.func.value
            if name == "as_list":  # a `tf.TensorShape` has it, and a tuple not
                return ast.copy_location(ast.Call(ast.Name("list", ast.Load()), [value], []), node)
            if name == "get_shape":
                return ast.copy_location(ast.Attribute(value, "shape", ast.Load()), node)
        return new

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Return what an attribute that only tensors, their shapes or dtypes have is of an array."""
        self._require_no_tensorflow(node)
        is_rank = node.attr == "rank" and getattr(node.value, "attr", "") == "shape"
        self.generic_visit(node)
        if node.attr == "as_numpy_dtype":
            return node.value
        return ast.copy_location(ast.Call(ast.Name("len", ast.Load()), [node.value], []), node) if is_rank else node

    def visit_Name(self, node: ast.Name) -> Any:
        """Return a name, unless it is TensorFlow's."""
        self._require_no_tensorflow(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """Return an operation of arrays, in the dtype that TensorFlow computes in."""
        casts = self._casts(node, [node.left, node.right])
        self.generic_visit(node)
        node.left, node.right = map(_converted, (node.left, node.right), casts)
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Return a comparison of arrays."""
        casts = self._casts(node, [node.left, *node.comparators])
        self.generic_visit(node)
        node.left, *node.comparators = map(_converted, (node.left, *node.comparators), casts)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Return `x = x + y` for `x += y`, which changes an array in place, and a tensor not."""
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        casts = self._casts(node, [node.target, node.value])
        self.generic_visit(node)
        if TENSOR not in self._kinds(node):
            return node
        name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        left, right = map(_converted, (name, node.value), casts)
        total = ast.copy_location(ast.BinOp(left, node.op, right), node)
        return ast.copy_location(ast.Assign([node.target], total), node)

    def _casts(self, node: ast.expr | ast.stmt, operands: Sequence[ast.expr]) -> list[Cast | None]:
        """Return what TensorFlow converts each operand to; None for one that it takes as it is."""
        kinds, types = self._kinds(node), [self.types.of(self.path, one) for one in operands]
        has_names = any(isinstance(one, ast.Name) for one in ast.walk(node))
        if self.is_mixed and not kinds and has_names:
            raise self._refusal(node, "no example runs this, so its dtypes are not known")
        if TENSOR in kinds and kinds & {ARRAY, SCALAR}:
            raise self._refusal(node, "this is a tensor in one call and an array in another one")
        dtypes = {one.dtype for several in types for one in several if one.kind == TENSOR}
        casts: list[Cast | None] = []
        for several in types if TENSOR in kinds else [set()] * len(types):
            others = {one for one in several if one.kind in (ARRAY, SCALAR, LIST, TUPLE)}
            if not others or {one.dtype for one in others} == dtypes:
                casts.append(None)
                continue
            if len(dtypes) > 1 or not all(hasattr(np, one) for one in dtypes):
                raise self._refusal(node, f"the tensors of this have dtypes that NumPy cannot follow: {sorted(dtypes)}")
            casts.append((dtypes.copy().pop(), all(one.kind == SCALAR for one in others)))
        return casts

    def _kinds(self, node: ast.AST) -> set[str]:
        return {one.kind for one in self.types.of(self.path, node)}

    def _require_no_tensorflow(self, node: ast.Name | ast.Attribute) -> None:
        value = self._value_of(node)
        if tf.is_tensor(value):
            raise self._refusal(node, f"`{ast.unparse(node)}` is a tensor that was created outside of the body")
        if is_of_tensorflow(value) and not isinstance(value, types.ModuleType):
            raise self._refusal(node, f"`{ast.unparse(node)}` is a function of TensorFlow")

    def _refusal(self, node: ast.expr | ast.stmt, why: str) -> CannotPort:
        return CannotPort(f"the body mixes tensors with NumPy: {why}", fix=FIX, place=(self.path, node.lineno))


def _converted(operand: ast.expr, cast: Cast | None) -> ast.expr:
    """Return an operand as TensorFlow converts it."""
    if cast is None:
        return operand
    dtype, is_number = cast
    if not is_number:
        return _as_array(operand, dtype, operand)
    return ast.copy_location(ast.Call(_of_numpy(dtype, operand), [operand], []), operand)


def _as_array(value: ast.expr, dtype: str, place: ast.expr) -> ast.expr:
    """Return `np.asarray` of an expression, of a dtype where that is not empty."""
    keywords = [ast.keyword("dtype", _of_numpy(dtype, place))] if dtype else []
    return ast.copy_location(ast.Call(_of_numpy("asarray", place), [value], keywords), place)


def _of_numpy(name: str, place: ast.expr) -> ast.expr:
    named = ast.Attribute(ast.Name("np", ast.Load()), "bool_" if name == "bool" else name, ast.Load())
    return ast.copy_location(named, place)


def is_of_tensorflow(value: Any) -> bool:
    """Is it a module, a function or a class of TensorFlow's? A tensor that is a constant is none."""
    home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return hasattr(value, "__name__") and str(home).split(".")[0] in ("tensorflow", "keras")
