"""Attributes of arrays, shapes among them, as those of tensors."""

from __future__ import annotations

import ast

from pyopbench.ports.porting.observe import TENSOR
from pyopbench.ports.porting.typed import TypedCode


def write_attribute(code: TypedCode, node: ast.Attribute) -> str:
    """Return `x.name` of a tensor."""
    text, name = code.atom(node.value), node.attr
    if name == "T":
        return f"tf.transpose({code.write(node.value)})"
    if name == "mT":
        return f"tf.linalg.matrix_transpose({code.write(node.value)})"
    if name in ("real", "imag"):
        return f"tf.math.{name}({code.write(node.value)})"
    if name == "ndim":
        return f"{text}.shape.rank"
    if name == "dtype":
        return f"{text}.dtype.as_numpy_dtype"
    if name == "size":
        if code.is_tensor(node):
            return f"tf.size({text}, tf.int64)"
        code.fixed_shapes = True
        return f"{text}.shape.num_elements()"
    if name == "shape":
        if not _is_static(code, node.value):
            return f"tf.unstack(tf.shape({text}, tf.int64))"
        code.fixed_shapes = True
        return f"tuple({text}.shape)"
    raise code.refusal(node, f"`.{name}` has no counterpart in TensorFlow")


def _is_static(code: TypedCode, node: ast.expr) -> bool:
    return all(None not in one.shape for one in code.seen(node) if one.kind == TENSOR)


def write_size(code: TypedCode, node: ast.Subscript) -> str | None:
    """Return `x.shape[place]` of a tensor."""
    shape = node.value
    if not (isinstance(shape, ast.Attribute) and shape.attr == "shape" and code.is_tensor(shape.value)):
        return None
    text, key = code.atom(shape.value), code.write(node.slice)
    if isinstance(node.slice, ast.Slice):
        code.fixed_shapes = True
        return f"tuple({text}.shape[{key}])"
    if code.is_tensor(node):
        return f"tf.shape({text}, tf.int64)[{key}]"
    code.fixed_shapes = True
    return f"{text}.shape[{key}]"
