"""Calls of functions of NumPy's that are functions on tensors in a port, which it takes along."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pyopbench.model.syntax import number_of
from pyopbench.ports.porting.names import name_of
from pyopbench.ports.porting.observe import ARRAY, NUMBER_KIND, SEQUENCE, TENSOR
from pyopbench.ports.porting.typed import Spelled, TypedCode
from pyopbench.ports.tensor_functions.sources import FUNCTIONS
from pyopbench.ports.tensor_functions.table import NUMBER, SEVERAL, TensorFunction, dtypes_by_rule


def write_call(code: TypedCode, name: str, node: ast.Call, first: ast.expr | None) -> str:
    """Return the text of a call.

    Args:
        code: the writer.
        name: of the function, in the table.
        node: the call.
        first: the array of which it is a method; None for a function.

    Raises:
        CannotPort: there is an argument that cannot be written.
    """
    entry = FUNCTIONS[name]
    calls = code.spelled.setdefault(entry.spelling, {})
    calls[code.source.path, number_of(node)] = Spelled(name, node.lineno)
    given = _bound(code, entry, name, node, first)
    for key, value in given.items():
        if key not in entry.rules and code.holds_tensors(value):
            raise code.refusal(node, f"`{key}` of `{name}` has to be known before the graph runs")
    kinds = _kinds(code, entry, given)
    parts, is_by_name = [], False
    for key, parameter in entry.signature.parameters.items():
        if key not in given:
            is_by_name = is_by_name or parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            each = iter(kinds.get(key, ()))
            parts += [_text(code, one, entry.rules[key], each) for one in given[key]]
            is_by_name = True
            continue
        text = _text(code, given[key], entry.rules.get(key, NUMBER), iter(kinds.get(key, ())))
        is_by_name = is_by_name or parameter.kind is inspect.Parameter.KEYWORD_ONLY
        parts.append(f"{key}={text}" if is_by_name and not entry.is_of_tensorflow else text)
    if not entry.is_of_tensorflow:
        code.use(entry.spelling)
    return f"{entry.spelling}({', '.join(parts)})"


def _function(code: TypedCode, node: ast.expr) -> str:
    """Return the name of the function on tensors that a function of NumPy's is, which another one calls; else nothing.

    Raises:
        CannotPort: it has no such function.
    """
    value = code.value_of(node) if isinstance(node, ast.Name | ast.Attribute) else None
    name = name_of(value) if callable(value) and not isinstance(value, type) else ""
    if not name.startswith(("np.", "scipy.")):
        return ""
    if name not in FUNCTIONS or FUNCTIONS[name].is_of_tensorflow:
        raise code.refusal(node, f"`{name}` is passed to another function", "pass a function of yours that calls it")
    return code.use(FUNCTIONS[name].spelling)


def write_helper(code: TypedCode, function: str, arrays: Sequence[tuple[ast.expr, str]]) -> str:
    """Return the text of a call of a function on tensors that is in no table, with arrays of some dtypes."""
    texts = [_text(code, node, dtype, iter([np.dtype(dtype)])) for node, dtype in arrays]
    return f"{code.use(function)}({', '.join(texts)})"


def _bound(code: TypedCode, entry: TensorFunction, name: str, node: ast.Call, first: ast.expr | None) -> dict[str, Any]:
    """Return the arguments by the names of parameters; what may be any number is a tuple."""
    positional = [*([] if first is None else [first]), *node.args]
    if any(isinstance(one, ast.Starred) for one in positional) or any(one.arg is None for one in node.keywords):
        raise code.refusal(node, f"`{name}` is called with arguments that cannot be written", "write them one by one")
    try:
        bound = entry.signature.bind(*positional, **{str(one.arg): one.value for one in node.keywords})
    except TypeError as error:
        raise code.refusal(node, f"`{name}` is called with arguments that have no counterpart: {error}") from error
    defaults = {one.name: one.default for one in entry.signature.parameters.values()}
    return {key: one for key, one in bound.arguments.items() if not _is_none(one) or defaults[key] is not None}


def _is_none(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _kinds(code: TypedCode, entry: TensorFunction, given: dict[str, Any]) -> dict[str, Any]:
    """Return the dtype in which each array is given."""
    examples = {}
    for key, value in given.items():
        rule = entry.rules.get(key, NUMBER)
        if rule != NUMBER:
            several = list(value) if isinstance(value, tuple) else _items(value, rule)
            examples[key] = [code._example(one) for one in several]
            if rule.removeprefix(SEVERAL) == "float64" and np.iscomplexobj(examples[key][0]):
                why = f"`{key}` of `{entry.function.__name__.replace('_', '.', 1)}` is supported only for real numbers"
                raise code.refusal(several[0], why)
    return dtypes_by_rule(entry.rules, examples)


def _items(node: ast.expr, rule: str) -> list[ast.expr]:
    """Return the arrays in a nest of lists that is written in the call."""
    if rule.startswith(SEVERAL) and _is_listed(node):
        return [one for item in node.elts for one in _items(item, rule)]  # type: ignore[attr-defined]
    return [node]


def _is_listed(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple) and not any(isinstance(one, ast.Starred) for one in node.elts)


def _text(code: TypedCode, node: ast.expr, rule: str, kinds: Iterator[Any]) -> str:
    """Return the text of an argument; of a nest of arrays each has the next dtype."""
    if rule == NUMBER:
        return _function(code, node) or code.write(node)
    if rule.startswith(SEVERAL) and _is_listed(node):
        items = [_text(code, one, rule, kinds) for one in node.elts]  # type: ignore[attr-defined]
        return f"[{', '.join(items)}]"
    dtype, seen = np.dtype(next(kinds)).name, code.seen(node)
    if rule.startswith(SEVERAL) and all(one.kind == SEQUENCE for one in seen):
        return code.items(node, dtype)
    if seen and all(one.kind == TENSOR and one.dtype == dtype for one in seen):
        return code.write(node)
    plain = (NUMBER_KIND, SEQUENCE, ARRAY)
    if seen and all(one.kind in plain for one in seen) and not code.holds_tensors(node):
        return f"tf.constant({code.write(node)}, tf.{dtype})"
    if all(one.kind == TENSOR for one in seen):
        return f"tf.cast({code.write(node)}, tf.{dtype})"
    text = code.tensor(node, dtype)
    return text if text.startswith("tf.") else f"tf.convert_to_tensor({text})"
