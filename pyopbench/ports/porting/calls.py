"""Calls of NumPy's functions in a port: as an expression of TensorFlow's, or of a helper that the port takes along."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopbench.ports.functions.table import NUMBER, TABLE, Helper, TableEntry, dtypes_by_rule
from pyopbench.ports.porting.observe import NUMBER_KIND, OTHER, SEQUENCE, TENSOR
from pyopbench.ports.porting.typed import TypedCode

PLACE = re.compile(r"(, )?\{(\w*)(=\w*|:[\w ]+)?\}")
"""The place of an argument in an expression of the table, by the name of its parameter:

{x}: a tensor of its own dtype.
{x:result}, {x:loop}, {x:bool}: of the dtype of the call's result, of a ufunc's loop, or of the one that is named.
{x:flat}, {x:result flat}: the same as a vector, where no axis is given.
{x:written}, {x:shape}, {x:items}: as it is, sizes in a list, and tensors in a list.
{x:helper}: a tensor for a helper, which takes no array.
{axis=}: `axis=...` as it is; {axis=0}: the same, 0 where it is not given; {axis=number}: as {axis=}, and no
    expression where it is more than one axis.
{dtype}: that of the result.

What is not given, or None, is left out with the comma before it.
"""


@dataclass(frozen=True)
class Given:
    """A call of a function of NumPy's, by its name in the table, and its arguments by the names of parameters."""

    code: TypedCode
    name: str
    node: ast.expr
    by_name: dict[str, ast.expr]

    def __getitem__(self, name: str) -> ast.expr:
        """Return an argument that has to be there."""
        if name not in self.by_name:
            raise self.code.refusal(self.node)
        return self.by_name[name]

    def get(self, name: str) -> ast.expr | None:
        """Return an argument; None for one that was not given, or given as None or by a name that is None."""
        found = self.by_name.get(name)
        is_none = isinstance(found, ast.Constant) and found.value is None
        is_none |= isinstance(found, ast.Name) and {one.kind for one in self.code.seen(found)} == {OTHER}
        return None if is_none else found

    @property
    def dtype(self) -> str:
        """The dtype that NumPy's result has."""
        return self.code.dtype(self.node)


def write_call(code: TypedCode, name: str, node: ast.Call, first: ast.expr | None) -> str:
    """Return the text of a call of a function of the table, or of a method of the array `first`."""
    entry = TABLE[name]
    expression = entry.expression
    given = None if expression is None else _given(code, name, node, first, entry)
    if expression is not None and given is not None:
        text = _filled(given, expression) if isinstance(expression, str) else expression(given)
        if text is not None:
            return text
    if entry.helper is not None:
        return _write_helper_call(code, entry.helper, name, node, first)
    raise code.refusal(node)


def _filled(given: Given, expression: str) -> str | None:
    """Return an expression of the table with the arguments of a call; None if it does not serve the call."""
    code = given.code
    parts, end = [], 0
    for place in PLACE.finditer(expression):
        comma, name, kind = place.groups(default="")
        node = given.get(name)
        if kind == "=number" and (node is None or {one.kind for one in code.seen(node)} != {NUMBER_KIND}):
            return None
        if kind.endswith("result") and given.dtype.startswith("float") and _is_complex(code, node):
            return None  # a variance or a length is real, and a cast would lose the imaginary parts
        text = (
            f"tf.{given.dtype}" if name == "dtype" else _argument(given, name, node, kind) if node is not None else ""
        )
        text = "axis=0" if kind == "=0" and name not in given.by_name else text
        if not text and not comma:
            given[name]  # which is refused
        parts += [expression[end : place.start()], comma if text else "", text]
        end = place.end()
    text = "".join([*parts, expression[end:]])
    return re.sub(r"^np_\w+|(?<=\()np_\w+(?=\()", lambda found: code.use(found.group()), text)


def _is_complex(code: TypedCode, node: ast.expr | None) -> bool:
    return node is not None and code.dtype(node).startswith("complex")


def _argument(given: Given, name: str, node: ast.expr, kind: str) -> str:
    """Return the text of one argument."""
    code = given.code
    if kind.startswith("="):
        return f"{name}={code.write(node)}"
    is_flat, kind = kind.endswith("flat"), kind.removeprefix(":").removesuffix("flat").strip()
    if kind == "written":
        return code.write(node)
    if kind == "shape":
        return write_shape(code, node)
    if kind == "items":
        return code.items(node, given.dtype)
    if kind == "helper":
        return _for_helper(code, node, np.dtype(code.dtype(node)).name)
    if kind == "loop":
        dtypes, _ = code.loop(getattr(np, given.name.removeprefix("np.")), list(given.by_name.values()))
        kind = dtypes[list(given.by_name).index(name)]
    text = code.tensor(node, given.dtype if kind == "result" else kind)
    return f"tf.reshape({text}, [-1])" if is_flat and given.get("axis") is None and code.rank(node) != 1 else text


def write_shape(code: TypedCode, node: ast.expr) -> str:
    """Return a shape as a list; one number stands for itself."""
    if isinstance(node, ast.Tuple | ast.List):
        return f"[{', '.join(code.write(one) for one in node.elts)}]"
    text = code.write(node)
    return text if any(one.kind == SEQUENCE or one.rank for one in code.seen(node)) else f"[{text}]"


def _given(code: TypedCode, name: str, node: ast.Call, first: ast.expr | None, entry: TableEntry) -> Given | None:
    """Return the arguments of a call by the names of NumPy's parameters; None where there are others."""
    parameters = entry.parameters
    positional = [*([] if first is None else [first]), *node.args]
    found: dict[str, ast.expr] = {}
    names = [one for one in parameters if one != "|"]
    by_place = parameters[: parameters.index("|")] if "|" in parameters else names
    for place, argument in enumerate(positional):
        if place >= len(by_place) or isinstance(argument, ast.Starred):
            return None
        if by_place[place].startswith("*"):
            found[by_place[place][1:]] = _several(positional[place:])
            break
        found[by_place[place]] = argument
    names = [one.removeprefix("*") for one in names]
    for keyword in node.keywords:
        if keyword.arg not in names:
            return None
        found[keyword.arg] = keyword.value
    axis = found.get("axis")
    if entry.helper is not None and isinstance(axis, ast.Name) and {one.kind for one in code.seen(axis)} == {OTHER}:
        return None  # a name that is None, which the functions on tensors take as NumPy's do
    return Given(code, name, node, found)


def _several(nodes: Sequence[ast.expr]) -> ast.expr:
    """Return arguments that may be given one by one or as a tuple as one tuple or sequence."""
    if len(nodes) == 1:
        return nodes[0]
    return ast.copy_location(ast.Tuple(list(nodes), ast.Load()), nodes[0])


def _write_helper_call(code: TypedCode, entry: Helper, name: str, node: ast.Call, first: ast.expr | None) -> str:
    """Return the text of a call of a helper."""
    given = _bound(code, entry, name, node, first)
    for key, value in given.items():
        if key not in entry.rules and code.holds_tensors(value):
            raise code.refusal(node, f"`{key}` of `{name}` has to be known before the graph runs")
    kinds, by_name = _kinds(code, entry, given), {one.arg for one in node.keywords}
    parts = []
    for key, value in given.items():
        values = value if isinstance(value, tuple) else [value]
        texts = [code.write(one) for one in values]
        if key in kinds:
            texts = [_for_helper(code, one, dtype.name) for one, dtype in zip(values, kinds[key], strict=True)]
        parts += [f"{key}={text}" if key in by_name else text for text in texts]
    return f"{code.use(entry.function.__name__)}({', '.join(parts)})"


def write_helper(code: TypedCode, function: str, arrays: Sequence[tuple[ast.expr, str]]) -> str:
    """Return the text of a call of a function on tensors that is in no table, with arrays of some dtypes."""
    return f"{code.use(function)}({', '.join(_for_helper(code, node, dtype) for node, dtype in arrays)})"


def _bound(code: TypedCode, entry: Helper, name: str, node: ast.Call, first: ast.expr | None) -> dict[str, Any]:
    """Return the arguments by the names of parameters; what may be any number is a tuple."""
    positional = [*([] if first is None else [first]), *node.args]
    if any(isinstance(one, ast.Starred) for one in positional) or any(one.arg is None for one in node.keywords):
        raise code.refusal(node, fix="write its arguments one by one")
    try:
        bound = entry.signature.bind(*positional, **{str(one.arg): one.value for one in node.keywords})
    except TypeError as error:
        raise code.refusal(node, f"`{name}` is called with arguments that have no counterpart: {error}") from error
    return bound.arguments


def _kinds(code: TypedCode, entry: Helper, given: dict[str, Any]) -> dict[str, Any]:
    """Return the dtype in which each array is given."""
    examples = {}
    for key, value in given.items():
        rule = entry.rules.get(key, NUMBER)
        if rule != NUMBER and not (isinstance(value, ast.Constant) and value.value is None):
            several = list(value) if isinstance(value, tuple) else [value]
            examples[key] = [code.example(one) for one in several]
            if rule == "float64" and np.iscomplexobj(examples[key][0]):
                why = f"`{key}` of `{entry.function.__name__.replace('_', '.', 1)}` is supported only for real numbers"
                raise code.refusal(several[0], why)
    return dtypes_by_rule(entry.rules, examples)


def _for_helper(code: TypedCode, node: ast.expr, dtype: str) -> str:
    """Return the text of an argument as a tensor of a dtype."""
    seen = code.seen(node)
    if seen and all(one.kind == TENSOR and one.dtype == dtype for one in seen):
        return code.write(node)
    text = code.tensor(node, dtype)
    return text if text.lstrip("(").startswith("tf.") else f"tf.convert_to_tensor({text})"
