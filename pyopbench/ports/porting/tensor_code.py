"""A NumPy body as TensorFlow source, statement by statement, from the observed type of each expression."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable
from typing import Any

from pyopbench.model.syntax import every_name, number_of, unused_name
from pyopbench.ports.extract.definitions import is_file_of_user, is_module_of_user
from pyopbench.ports.functions.table import TABLE, UNARY
from pyopbench.ports.porting.assigning import assign, assign_in_place, write_statement
from pyopbench.ports.porting.calls import write_call
from pyopbench.ports.porting.control_flow import write_for, write_if, write_rare, write_return, write_while
from pyopbench.ports.porting.expressions import (
    write_binary,
    write_both,
    write_choice,
    write_comparison,
    write_count,
    write_truth,
    write_unary,
)
from pyopbench.ports.porting.indexing import write_subscript
from pyopbench.ports.porting.observations import TENSOR
from pyopbench.ports.porting.typed import TypedCode, is_grown, is_number, joined, write_append, write_call_of_list

UNPACKING = ("enumerate", "zip", "list", "tuple", "reversed", "sum", "any", "all", "sorted")
"""What iterates over its arguments; a tensor is taken apart for it."""

REDUCED = {"sum": "tf.reduce_sum", "any": "tf.reduce_any", "all": "tf.reduce_all"}
"""Functions of Python that are one of TensorFlow over a tensor."""

TAKES_TENSORS = ("einops", "keras", "opt_einsum", "tensorflow", "tensorflow_probability", "tf_keras")
"""Packages whose functions take tensors."""


WRITERS: dict[type[ast.AST], Callable[[Any, Any], str | None]] = {
    ast.BinOp: write_binary, ast.BoolOp: write_both, ast.Compare: write_comparison, ast.IfExp: write_choice,
    ast.UnaryOp: write_unary, ast.If: write_if, ast.For: write_for, ast.While: write_while, ast.Return: write_return,
    ast.Assign: assign, ast.AugAssign: assign_in_place,
    **dict.fromkeys((ast.Raise, ast.Assert, ast.Try, ast.Global, ast.Nonlocal), write_rare),
}  # fmt: skip


class TensorCode(TypedCode):
    """Writes functions of NumPy's arrays as functions of tensors."""

    otherwise = "use numba_op, or keep the callback"

    def fresh(self, name: str) -> str:
        """Return a name that is not in the function."""
        found = unused_name(name, every_name(self.unit.node) | self.made)
        self.made.add(found)
        return found

    def rewrite(self, node: ast.AST) -> str | None:
        """Return the text of a node that has to be rewritten; None for one that stays."""
        if isinstance(node, ast.stmt) and self._is_left_out(node):
            self.not_run.append((self.source.path, node.lineno))
            return None
        if type(node) in WRITERS:
            return WRITERS[type(node)](self, node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return write_append(self, node.value) or write_statement(self, node.value)
        if isinstance(node, ast.Call):
            return write_call_of_list(self, node) or self._call(node)
        is_refused = (
            (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and is_grown(node, self))
            or (isinstance(node, ast.NamedExpr) and self.holds_tensors(node.value))
            or (isinstance(node, ast.ListComp) and self.decides(node))
        )
        if is_refused:
            raise self.refusal(node)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            return write_size(self, node) or write_subscript(self, node)
        if isinstance(node, ast.Attribute) and self.is_tensor(node.value):
            return write_attribute(self, node)
        return None

    def _is_left_out(self, node: ast.stmt) -> bool:
        """Is it a statement of a traced function that was never run?"""
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr):
            return False
        is_simple = node.value is None or isinstance(node.value, ast.Constant) or is_number(node.value)
        is_traced = any(self.unit.node is function for _, function in self.observed.functions.values())
        return is_traced and not is_simple and not any(number_of(one) in self.observed.seen for one in ast.walk(node))

    def write_part(self, node: ast.AST, part: ast.AST) -> str:
        """Return the text of a part of a node that stays."""
        if part is getattr(node, "test", None) and isinstance(part, ast.expr):
            return write_truth(self, part)
        loops: list[Any] = [node, *getattr(node, "generators", ())]
        loops = [one for one in loops if part is getattr(one, "iter", None)]
        is_taken_apart = isinstance(node, ast.Starred) or bool(loops)
        if isinstance(node, ast.Call) and part in node.args:
            is_taken_apart = self.name_of(node.func) in UNPACKING
        if not (is_taken_apart and self.is_tensor(part)):
            return self.write(part)
        is_unpacked = any(isinstance(one.target, ast.Tuple | ast.List) for one in loops)
        is_of_unknown_length = any(one.kind == TENSOR and one.shape[:1] == (None,) for one in self.seen(part))
        if isinstance(node, ast.For) and is_of_unknown_length and not is_unpacked:
            return self.write(part)  # which AutoGraph makes a loop of the graph
        rows = f"tf.unstack({self.write(part)})"
        return f"map(tf.unstack, {rows})" if is_unpacked else rows

    def _call(self, node: ast.Call) -> str | None:
        function = node.func
        if isinstance(function, ast.Attribute) and self.is_tensor(function.value):
            return self._method(node, function)
        arguments = [*node.args, *(one.value for one in node.keywords)]
        value, name = self.value_of(function), self.name_of(function)
        if name == "print" and not (self.is_mapped or self.is_compiled):
            return self._printed(node)
        if not (self.is_tensor(node) or any(map(self.holds_tensors, arguments))):
            return None
        if name in TABLE:
            return write_call(self, name, node, None)
        if name in UNPACKING:
            return self._reduced(node, name)
        if name == "map":
            return self._mapped(node)
        is_own = isinstance(function, ast.Name) and function.id in self.units.by_name
        # The first two mean something else for a tensor.
        if name in ("isinstance", "type") or name.startswith("np.") or (_is_of_library(value) and not is_own):
            raise self.refusal(function)
        return None

    def _printed(self, node: ast.Call) -> str | None:
        """Return a `print` as what prints whenever the graph runs; None for others, which stay."""
        parts, options = list(node.args), {str(one.arg): self.write(one.value) for one in node.keywords}
        if len(parts) == 1 and isinstance(parts[0], ast.JoinedStr):
            parts = [one.value if isinstance(one, ast.FormattedValue) else one for one in parts[0].values]
            options["sep"] = '""'
            if not all(isinstance(one, ast.Constant | ast.Name) for one in parts):
                return None  # Python 3.11 does not say where in the file an expression inside of an f-string is
        if not {"sep", "end"} >= options.keys():
            return None
        texts = [ast.unparse(one) if isinstance(one, ast.Constant | ast.Name) else self.write(one) for one in parts]
        options |= {"output_stream": "sys.stdout", "summarize": "-1"}
        return f"tf.print({joined([*texts, *(f'{key}={value}' for key, value in options.items())])})"

    def _reduced(self, node: ast.Call, name: str) -> str | None:
        """Return `sum(x)`, `any(x)` or `all(x)` of a tensor, whose length may be unknown; None for any other call."""
        if name not in REDUCED or not self.is_tensor(node.args[0]):
            return None
        dtype = self.dtype(node) if name == "sum" else "bool"
        text = f"{REDUCED[name]}({self.tensor(node.args[0], dtype)}, 0)"
        start = [*node.args[1:], *(one.value for one in node.keywords)]
        return f"{text} + {self.operand(start[0], dtype)}" if start else text

    def _mapped(self, node: ast.Call) -> str | None:
        """Return `map(function, items)` of a function of NumPy's as a generator expression."""
        name = self.name_of(node.args[0])
        if not name.startswith("np."):
            return None
        function = UNARY.get(name.removeprefix("np."), "")
        expression = f"{function}({{x:loop}})" if function else getattr(TABLE.get(name), "expression", None)
        is_of_floats = len(node.args) == 2 and self.one(node.args[1]).dtype in ("float32", "float64")
        if isinstance(expression, str) and re.findall(r"{.*?}|np_", expression) == ["{x:loop}"] and is_of_floats:
            return f"({expression.replace('{x:loop}', 'item')} for item in {self.write(node.args[1])})"
        raise self.refusal(node)

    def _method(self, node: ast.Call, function: ast.Attribute) -> str:
        name = f"np.{function.attr}"
        if function.attr == "astype":
            return self.tensor(function.value, self.dtype(node))
        if function.attr == "item":
            text = self.write(function.value)
            return f"tf.reshape({text}, [])" if self.rank(function.value) else text
        if name in TABLE and function.attr not in ("tolist", "sort", "fill"):
            return write_call(self, name, node, function.value)
        raise self.refusal(function)


def _is_of_library(function: Any) -> bool:
    """Is it a library's function that takes arrays, not one of Python, of TensorFlow or of the user?"""
    home = str(getattr(function, "__module__", "") or getattr(type(function), "__module__", ""))
    if not callable(function) or home.partition(".")[0] in (*TAKES_TENSORS, "builtins", "math", "cmath"):
        return False
    body, module = getattr(function, "__code__", None), sys.modules.get(home)
    if body is not None:
        return not is_file_of_user(body.co_filename)
    return module is None or not is_module_of_user(module)


ATTRIBUTES = {
    "T": "tf.transpose({})", "mT": "tf.linalg.matrix_transpose({})", "real": "tf.math.real({})",
    "imag": "tf.math.imag({})", "ndim": "{}.shape.rank", "dtype": "np.dtype({}.dtype.as_numpy_dtype)",
}  # fmt: skip


def write_attribute(code: TypedCode, node: ast.Attribute) -> str:
    """Return `x.name` of a tensor."""
    if node.attr == "size":
        return write_count(code, node.value, node)
    text = code.write(node.value)
    if node.attr in ATTRIBUTES:
        return ATTRIBUTES[node.attr].format(text)
    if node.attr == "shape":
        if any(None in one.shape for one in code.seen(node.value) if one.kind == TENSOR):
            return f"tf.unstack(tf.shape({text}, tf.int64))"
        return f"tuple({code.use('np_known_sizes')}({text}))"
    raise code.refusal(node)


def write_size(code: TypedCode, node: ast.Subscript) -> str | None:
    """Return `x.shape[place]` of a tensor."""
    shape = node.value
    if not (isinstance(shape, ast.Attribute) and shape.attr == "shape" and code.is_tensor(shape.value)):
        return None
    text, key = code.write(shape.value), code.write(node.slice)
    if isinstance(node.slice, ast.Slice):
        return f"tuple({code.use('np_known_sizes')}({text}, np.s_[{key}]))"
    if code.is_tensor(node):
        return f"tf.shape({text}, tf.int64)[{key}]"
    return f"{code.use('np_known_size')}({text}, {key})"
