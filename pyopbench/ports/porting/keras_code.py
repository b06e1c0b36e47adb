"""A NumPy body as source on `keras.ops` alone, which runs on TensorFlow, JAX and PyTorch."""

from __future__ import annotations

import ast
import json
import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from pyopbench.model.source_text import parts_of
from pyopbench.ports.porting.arguments import given
from pyopbench.ports.porting.assigning import operator_of
from pyopbench.ports.porting.keras_table import KERAS, OTHERWISE, UNARY
from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.observe import NUMBER_KIND, SEQUENCE, TENSOR, Seen
from pyopbench.ports.porting.operators import write_binary, write_comparison
from pyopbench.ports.porting.typed import TypedCode, joined
from pyopbench.ports.porting.units import Unit

VALUE = "asks for a value while the graph is built"
WHERE = "np.where chooses between values"
UNPACKING = ("enumerate", "zip", "list", "tuple", "reversed", "sum")
"""What iterates over its arguments; a tensor is taken apart for it."""


class KerasCode(TypedCode):
    """Writes functions of NumPy's arrays as functions of tensors of any backend of Keras."""

    def tensor(self, node: ast.expr, dtype: str = "") -> str:
        """Return the text of an expression as a tensor of a dtype, by default of its own."""
        dtype = dtype or self.dtype(node)
        seen = self.seen(node)
        if any(one.kind == SEQUENCE for one in seen) and self.holds_tensors(node):
            return f"ops.stack({self.items(node, dtype)})"
        if not self.is_tensor(node):
            return f'ops.convert_to_tensor({self.write(node)}, dtype="{dtype}")'
        if all(one.kind == TENSOR and one.dtype == dtype for one in seen):
            return self.write(node)
        return f'ops.cast({self.write(node)}, "{dtype}")'

    def items(self, node: ast.expr, dtype: str) -> str:
        """Return the text of a list of tensors of one dtype."""
        if isinstance(node, ast.List | ast.Tuple) and not any(isinstance(item, ast.Starred) for item in node.elts):
            return f"[{', '.join(self.tensor(item, dtype) for item in node.elts)}]"
        if self.one(node).dtype == dtype:
            return self.write(node)
        return f'[ops.cast(item, "{dtype}") for item in {self.write(node)}]'

    def _fits(self, seen: Seen, dtype: str) -> bool:
        if seen.kind == NUMBER_KIND:
            return seen.weak is not bool or dtype == "bool"
        return seen.kind == TENSOR and seen.dtype == dtype

    def rewrite(self, node: ast.AST) -> str | None:
        """Return the text of a node that is not written as it stands."""
        found = self._statement(node) if isinstance(node, ast.stmt) else self._expression(node)
        return super().rewrite(node) if found is None else found

    def as_it_stands(self, node: ast.AST) -> str:
        """Return the text of a node with its parts written; what is iterated over is taken apart."""
        parts = [(*self.source.span(part), self._part(node, part)) for part in parts_of(node)]
        return self.source.replaced(*self.source.span(node), parts)

    def _part(self, node: ast.AST, part: ast.AST) -> str:
        loops = getattr(node, "generators", ())
        is_iterated = part is getattr(node, "iter", None) or any(part is one.iter for one in loops)
        is_unpacked = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and part is node.value
        if (
            isinstance(part, ast.expr)
            and self.is_tensor(part)
            and (is_iterated or is_unpacked or isinstance(node, ast.Starred))
        ):
            return f"ops.unstack({self.write(part)}, axis=0)"
        return self.write(part)

    # Statements.

    def _statement(self, node: ast.stmt) -> str | None:
        if isinstance(node, ast.If | ast.While) and self._asks(node.test):
            raise self.refusal(node, f"`{type(node).__name__.lower()}` {VALUE}", WHERE)
        targets: list[Any] = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if isinstance(target, ast.Subscript):
                raise self.refusal(
                    node, "it assigns to an array, which keras.ops never changes", WHERE, obstacle="masked"
                )
        if isinstance(node, ast.AugAssign) and self.is_tensor(node.target):
            # As the binding of a new tensor: PyTorch would write to the one that the caller has.
            name = self.source.text(*self.source.span(node.target))
            if isinstance(node.op, ast.MatMult):
                raise self.refusal(node, f"`{ast.unparse(node)}` has no counterpart in keras.ops")
            if self.dtype(node.target) != self.loop_dtype(node.target, node.value):
                raise self.refusal(node, f"`{ast.unparse(node)}` casts in place", "write `x = (...).astype(...)`")
            value = self.operand(node.value, self.dtype(node.target))
            is_plain = isinstance(node.value, ast.Name | ast.Constant | ast.Call | ast.Subscript)
            return f"{name} = {name} {operator_of(self, node)} {value if is_plain else f'({value})'}"
        return None

    def _asks(self, node: ast.expr) -> bool:
        parts = node.values if isinstance(node, ast.BoolOp) else [getattr(node, "operand", node)]
        return any(map(self.is_tensor, [node, *parts]))

    # Expressions.

    def _expression(self, node: ast.AST) -> str | None:
        if isinstance(node, ast.IfExp) and self._asks(node.test):
            raise self.refusal(node, f"`if` {VALUE}", WHERE)
        if isinstance(node, ast.BoolOp | ast.UnaryOp) and self._is_truth(node):
            raise self.refusal(node, f"`{ast.unparse(node)}` {VALUE}", "use np.logical_and and similar functions")
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Compare):
            return write_comparison(self, node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and self.is_tensor(node.value):
            return self._subscript(node)
        if isinstance(node, ast.Attribute) and self.is_tensor(node.value):
            return self._attribute(node)
        return None

    def _is_truth(self, node: ast.BoolOp | ast.UnaryOp) -> bool:
        return (isinstance(node, ast.BoolOp) or isinstance(node.op, ast.Not)) and self._asks(node)

    def _binary(self, node: ast.BinOp) -> str | None:
        if isinstance(node.op, ast.MatMult) and (self.is_tensor(node.left) or self.is_tensor(node.right)):
            (first, second), _ = self.loop(np.multiply, [node.left, node.right])
            return f"ops.matmul({self.tensor(node.left, first)}, {self.tensor(node.right, second)})"
        return write_binary(self, node)

    def _attribute(self, node: ast.Attribute) -> str:
        text, name = self.atom(node.value), node.attr
        if name == "T":
            return f"ops.transpose({self.write(node.value)})"
        if name in ("shape", "ndim", "size"):
            self.fixed_shapes = True
            return {
                "shape": f"tuple({text}.shape)",
                "ndim": f"len({text}.shape)",
                "size": f"int(np.prod({text}.shape))",
            }[name]
        raise self.refusal(node, f"`.{name}` has no counterpart in keras.ops")

    def _subscript(self, node: ast.Subscript) -> str | None:
        entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        arrays = [place for place, one in enumerate(entries) if self._is_array(one)]
        for one in entries:
            if isinstance(one, ast.Slice) and (self._is_negative(one.step) or any(map(self.is_tensor, _bounds(one)))):
                raise self.refusal(node, f"`{ast.unparse(node)}` is not the same on each backend", "np.flip, np.take")
        if not arrays:
            return None
        others = [one for place, one in enumerate(entries) if place not in arrays]
        is_whole = all(isinstance(one, ast.Slice) and not any(_bounds(one)) for one in others)
        if len(arrays) > 1 or not is_whole or self.one(entries[arrays[0]]).dtype == "bool":
            raise self.refusal(node, f"`{ast.unparse(node)}` has no counterpart in keras.ops", "np.take, np.where")
        return f"ops.take({self.write(node.value)}, {self.tensor(entries[arrays[0]])}, axis={arrays[0]})"

    def _is_array(self, node: ast.expr) -> bool:
        return any(one.kind not in (NUMBER_KIND, "other") for one in self.seen(node))

    def _is_negative(self, node: ast.expr | None) -> bool:
        return node is not None and any(one.is_negative or one.kind == TENSOR for one in self.seen(node))

    # Calls.

    def _call(self, node: ast.Call) -> str | None:
        function = node.func
        converted = self.converted(node)
        if converted is not None:
            return converted
        if isinstance(function, ast.Attribute) and self.is_tensor(function.value):
            return self._method(node, function)
        arguments = [*node.args, *(one.value for one in node.keywords)]
        if not any(map(self.holds_tensors, arguments)):
            return None
        value = self.value_of(function)
        name = name_of(value)
        if name in UNPACKING:
            texts = [
                f"ops.unstack({self.write(one)}, axis=0)" if self.is_tensor(one) else self.write(one)
                for one in node.args
            ]
            texts += [f"{one.arg}={self.write(one.value)}" for one in node.keywords]
            return f"{self.write(function)}({joined(texts)})"
        if name == "map":
            return self._mapped(node)
        if name in KERAS:
            return self._of_table(name, node, None)
        if isinstance(value, type) and issubclass(value, np.generic | float | int):
            return self.tensor(node.args[0], self.dtype(node)) if self.rank(node.args[0]) == 0 else None
        if value is None or isinstance(self._resolved(function), Unit):
            return None
        raise self.refusal(node, f"`{name or ast.unparse(function)}` has no known counterpart in keras.ops")

    def _mapped(self, node: ast.Call) -> str | None:
        """Return `map(function, items)` of a function of NumPy's as a generator expression."""
        ufunc = name_of(self.value_of(node.args[0])).removeprefix("np.")
        if isinstance(self._resolved(node.args[0]), Unit):
            return None
        is_float = len(node.args) == 2 and self.one(node.args[1]).dtype in ("float32", "float64")
        if not is_float or ufunc not in {*UNARY, *OTHERWISE}:
            raise self.refusal(node, f"`{ast.unparse(node)}` has no counterpart in keras.ops", "write a comprehension")
        return f"(ops.{OTHERWISE.get(ufunc, ufunc)}(item) for item in {self.write(node.args[1])})"

    def _of_table(self, name: str, node: ast.Call, first: ast.expr | None) -> str:
        arguments = given(self, name, node, first, KERAS[name].parameters)
        text = None if arguments is None else KERAS[name].write(arguments)
        if text is None:
            raise self.refusal(node, f"`{name}` is called with arguments that have no counterpart in keras.ops")
        return text

    def _resolved(self, node: ast.expr) -> Any:
        return self.units.resolve(self.source, node.id) if isinstance(node, ast.Name) and self.is_global(node) else None

    def _method(self, node: ast.Call, function: ast.Attribute) -> str:
        if function.attr == "astype":
            return self.tensor(function.value, self.dtype(node))
        name = f"np.{function.attr}"
        if name in KERAS and function.attr not in ("sort", "fill"):
            return self._of_table(name, node, function.value)
        raise self.refusal(node, f"`.{function.attr}()` has no known counterpart in keras.ops")


def _bounds(node: ast.Slice) -> list[ast.expr | None]:
    return [node.lower, node.upper, node.step]


FIRST_KERAS = 3
"""Major version of the first Keras with `keras.ops`; TensorFlow has it from 2.16:
https://keras.io/getting_started/#tensorflow--keras-2-backwards-compatibility"""


def why_no_keras_ops() -> str | None:
    """Return why there is no `keras.ops` on TensorFlow here, None if there is. Keras is not imported for it."""
    try:
        found = version("keras")
    except PackageNotFoundError:
        return "Keras 3 is not installed: TensorFlow brings it from 2.16 on, or pip install keras"
    if int(found.split(".")[0]) < FIRST_KERAS:
        return f"keras.ops came with Keras 3, and here is Keras {found}: TensorFlow brings Keras 3 from 2.16 on"
    backend = _backend()
    if backend != "tensorflow":
        return f"Keras runs on {backend} here, and graphs of TensorFlow need KERAS_BACKEND=tensorflow"
    return None


def _backend() -> str:
    """Return the backend that Keras will take when it is imported, as `keras/src/backend/config.py` looks for it."""
    named = os.environ.get("KERAS_BACKEND")
    if named:
        return named
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    try:
        settings: Any = json.loads((home / "keras.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "tensorflow"
    return str(settings.get("backend", "tensorflow")) if isinstance(settings, dict) else "tensorflow"
