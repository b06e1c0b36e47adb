"""Calls of NumPy's functions in a port: as an expression of TensorFlow's, or of a helper that the port takes along."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyopbench.ports.functions.table import COMMON, FLOAT, NUMBER, OWN, TABLE, TableEntry
from pyopbench.ports.porting.observe import OTHER, SEQUENCE, TENSOR
from pyopbench.ports.porting.typed import TypedCode, joined

PLACE = re.compile(r"(, )?\{(\w*)(=|:[\w ]+)?\}")
"""The place of an argument in an expression of the table, by the name of its parameter:

{x}: a tensor of its own dtype.
{x:result}, {x:loop}, {x:bool}: of the dtype of the call's result, of a ufunc's loop, or of the one that is named.
{x:flat}, {x:result flat}: the same as a vector, where no axis is given.
{x:written}, {x:shape}, {x:items}: as it is, sizes in a list, and tensors in a list.
{axis=}: `axis=...` as it is.
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
    positional = [*([] if first is None else [first]), *node.args]
    by_name = _by_name(entry.parameters, positional, node.keywords)
    if entry.expression is not None and by_name is not None:
        given, expression = Given(code, name, node, by_name), entry.expression
        text = _filled(given, expression) if isinstance(expression, str) else expression(given)
        if text is not None:
            return text
    return _write_helper_call(code, entry, node, positional)


def _by_name(
    parameters: str, positional: Sequence[ast.expr], keywords: Sequence[ast.keyword]
) -> dict[str, ast.expr] | None:
    """Return the arguments of a call by the names of NumPy's parameters; None where there are others."""
    names, by_place = re.findall(r"\w+", parameters), parameters.partition("|")[0].split()
    if "*" in parameters and len(positional) > len(by_place):  # several may be given one by one or as a tuple
        rest = positional[len(by_place) - 1 :]
        several = ast.copy_location(ast.Tuple(list(rest), ast.Load()), rest[0])
        positional = [*positional[: len(by_place) - 1], several]
    if len(positional) > len(by_place) or any(isinstance(one, ast.Starred) for one in positional):
        return None
    if any(one.arg not in names for one in keywords):
        return None
    found = {name.removeprefix("*"): one for name, one in zip(by_place, positional, strict=False)}
    return found | {str(one.arg): one.value for one in keywords}


def _filled(given: Given, expression: str) -> str | None:
    """Return an expression of the table with the arguments of a call; None if it does not serve the call."""
    code = given.code
    parts, end = [], 0
    for place in PLACE.finditer(expression):
        comma, name, kind = place.groups(default="")
        node = given.get(name)
        is_real = kind.startswith(":result") and given.dtype.startswith("float")
        if is_real and node is not None and code.dtype(node).startswith("complex"):
            return None  # a variance or a length is real, and a cast would lose the imaginary parts
        text = f"tf.{given.dtype}" if name == "dtype" else "" if node is None else _argument(given, name, node, kind)
        if not text and not comma:
            given[name]  # which is refused
        parts += [expression[end : place.start()], comma if text else "", text]
        end = place.end()
    for helper in re.findall(r"\bnp_\w+", expression):
        code.use(helper)
    return "".join([*parts, expression[end:]])


def _argument(given: Given, name: str, node: ast.expr, kind: str) -> str:
    """Return the text of one argument."""
    code = given.code
    if kind == "=":
        return f"{name}={code.write(node)}"
    is_flat, kind = kind.endswith("flat"), kind.removeprefix(":").removesuffix("flat").strip()
    if kind == "written":
        return code.write(node)
    if kind == "shape":
        return _write_shape(code, node)
    if kind == "items":
        return code.items(node, given.dtype)
    if kind == "loop":
        dtypes, _ = code.loop(getattr(np, given.name.removeprefix("np.")), list(given.by_name.values()))
        kind = dtypes[list(given.by_name).index(name)]
    text = code.tensor(node, given.dtype if kind == "result" else kind)
    return f"tf.reshape({text}, [-1])" if is_flat and given.get("axis") is None and code.rank(node) != 1 else text


def _write_shape(code: TypedCode, node: ast.expr) -> str:
    """Return a shape as a list; one number stands for itself."""
    if isinstance(node, ast.Tuple | ast.List):
        return f"[{', '.join(code.write(one) for one in node.elts)}]"
    text = code.write(node)
    return text if any(one.kind == SEQUENCE or one.rank for one in code.seen(node)) else f"[{text}]"


def _write_helper_call(code: TypedCode, entry: TableEntry, node: ast.Call, positional: Sequence[ast.expr]) -> str:
    """Return the text of a call of a helper, with its arguments by place and by name as they are in the call."""
    if entry.helper is None:
        raise code.refusal(node)
    by_name = {str(one.arg): one.value for one in node.keywords}
    try:
        bound = inspect.signature(entry.helper).bind(*positional, **by_name).arguments
    except TypeError as error:
        raise code.refusal(node) from error
    given = [(name, one) for name, each in bound.items() for one in (each if isinstance(each, tuple) else (each,))]
    together = [code.example(one) for name, one in given if entry.rules.get(name) == COMMON]
    texts = []
    for name, one in given:
        rule = entry.rules.get(name, "")
        if not rule and code.holds_tensors(one):  # it has to be known before the graph runs
            raise code.refusal(node)
        is_array = rule not in ("", NUMBER) and not (isinstance(one, ast.Constant) and one.value is None)
        text = _for_helper(code, one, _dtype_by_rule(code, one, rule, together)) if is_array else code.write(one)
        texts.append(f"{name}={text}" if name in by_name else text)
    return f"{code.use(entry.helper.__name__)}({joined([*texts, entry.choice])})"


def _dtype_by_rule(code: TypedCode, node: ast.expr, rule: str, together: Sequence[object]) -> str:
    """Return the dtype in which an array is given to a helper, which promotes some of them `together`."""
    own = np.asarray(code.example(node)).dtype
    if rule == COMMON:
        return np.result_type(*(np.asarray(one).dtype for one in together)).name
    if rule == OWN or (rule == FLOAT and own.kind in "fc"):
        return own.name
    if own.kind == "c":  # a cast would lose its imaginary part
        raise code.refusal(node)
    return "float64" if rule == FLOAT else rule


def write_helper(code: TypedCode, function: str, arrays: Sequence[tuple[ast.expr, str]]) -> str:
    """Return the text of a call of a function on tensors that is in no table, with arrays of some dtypes."""
    return f"{code.use(function)}({', '.join(_for_helper(code, node, dtype) for node, dtype in arrays)})"


def _for_helper(code: TypedCode, node: ast.expr, dtype: str) -> str:
    """Return the text of an argument as a tensor of a dtype."""
    seen = code.seen(node)
    if seen and all(one.kind == TENSOR and one.dtype == dtype for one in seen):
        return code.write(node)
    text = code.tensor(node, dtype)
    return text if text.lstrip("(").startswith("tf.") else f"tf.convert_to_tensor({text})"
