"""Names that are bound to a number or to themselves, which TensorFlow or a linter takes otherwise than Python."""

from __future__ import annotations

import ast

from pyopbench.ports.porting.observe import NUMBER_KIND, TENSOR
from pyopbench.ports.porting.typed import TypedCode

OF_NUMBERS: dict[type | None, str] = {bool: "bool", int: "int32", float: "float32"}
"""The dtypes that TensorFlow gives to Python's numbers."""


def assign_name(code: TypedCode, target: ast.Name, value: ast.expr) -> str | None:
    """Return `x = value` where it is not written as it stands.

    A number beside a tensor on the other way of an `if` is one of TensorFlow's own dtype to AutoGraph; so it gets
    the other's. What converts to what is there already would assign a name to itself.
    """
    if code.is_tensor(value):
        text = code.write(value)
        return f"{target.id} = tf.identity({text})" if text == target.id and not isinstance(value, ast.Name) else None
    seen = code.seen(value)
    if not seen or any(one.kind != NUMBER_KIND for one in seen):
        return None
    (kind, *others) = {one.weak for one in seen}
    dtypes = _dtypes_of_name(code, target.id)
    if others or len(dtypes) != 1 or dtypes <= {OF_NUMBERS.get(kind, "")}:
        return None
    return f"{target.id} = tf.constant({code.write(value)}, tf.{dtypes.pop()})"


def _is_of_graph(code: TypedCode, node: ast.AST) -> bool:
    """Is it a statement that AutoGraph makes a condition or a loop of the graph?"""
    if isinstance(node, ast.For):
        over = node.iter.args if isinstance(node.iter, ast.Call) else [node.iter]
        return any(map(code.is_tensor, over))
    return isinstance(node, ast.If | ast.While) and code.is_tensor(node.test)


def _dtypes_of_name(code: TypedCode, name: str) -> set[str]:
    """Return the dtypes of the tensors that a name was in the function, where values decide what is done."""
    assert code.unit is not None
    nodes = list(ast.walk(code.unit.node))
    if not any(_is_of_graph(code, one) for one in nodes):
        return set()
    seen = [one for node in nodes if isinstance(node, ast.Name) and node.id == name for one in code.seen(node)]
    return {one.dtype for one in seen if one.kind == TENSOR and one.weak is None}
