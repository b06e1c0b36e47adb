"""Operators between tensors, with the casts that NumPy's promotion makes without saying so."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from pyopbench.ports.porting.calls import write_helper
from pyopbench.ports.porting.typed import TypedCode, is_number

BINARY = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder, ast.Pow: np.power, ast.BitAnd: np.bitwise_and, ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor, ast.LShift: np.left_shift, ast.RShift: np.right_shift,
}  # fmt: skip
SHIFTS = {ast.LShift: "np_left_shift", ast.RShift: "np_right_shift"}
ROUNDED = {ast.FloorDiv: "np_floor_divide", ast.Mod: "np_remainder"}
"""Helpers for floats: TensorFlow's floor of a quotient may be one too many, and it has other signs of 0."""
COMPARISONS = {
    ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal, ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}  # fmt: skip


def write_binary(code: TypedCode, node: ast.BinOp) -> str | None:
    """Return `a + b` and the like, where a side is a tensor."""
    if not (code.holds_tensors(node.left) or code.holds_tensors(node.right)):
        return None
    if not (code.is_tensor(node) or code.is_tensor(node.left) or code.is_tensor(node.right)):
        return None  # lists that are put together
    if isinstance(node.op, ast.MatMult):
        return write_product(code, node.left, node.right)
    return write_between(code, node, node.op, node.left, node.right)


def write_between(code: TypedCode, node: ast.AST, operator: ast.operator, left: ast.expr, right: ast.expr) -> str:
    """Return the text of an operation, which stays as it is where no side needs a cast."""
    if type(operator) not in BINARY:
        raise code.refusal(node)
    (first, second), _ = code.loop(BINARY[type(operator)], [left, right])
    helper = SHIFTS.get(type(operator)) or (ROUNDED.get(type(operator)) if "float" in first else None)
    if helper is not None:
        return write_helper(code, helper, [(left, first), (right, second)])
    return write_sides(code, node, [left, right], [first, second])


def write_sides(code: TypedCode, node: ast.AST, sides: Sequence[ast.expr], dtypes: Sequence[str]) -> str:
    """Return an operation with its sides as they have to be, and what is between them as it is."""
    parts = [(*code.source.span(side), code.operand(side, dtype)) for side, dtype in zip(sides, dtypes, strict=True)]
    return code.source.replaced(*code.source.span(node), parts)


def write_product(code: TypedCode, left: ast.expr, right: ast.expr) -> str:
    """Return the product of matrices and vectors."""
    (first, second), _ = code.loop(np.multiply, [left, right])
    a, b = code.tensor(left, first), code.tensor(right, second)
    ranks = code.rank(left), code.rank(right)
    if ranks == (1, 1):
        return f"tf.tensordot({a}, {b}, 1)"
    if ranks[1] == 1:
        return f"tf.linalg.matvec({a}, {b})"
    if ranks[0] == 1:
        return f"tf.linalg.matvec({b}, {a}, transpose_a=True)"
    return f"tf.matmul({a}, {b})"


def write_comparison(code: TypedCode, node: ast.Compare) -> str | None:
    """Return a comparison where a side is a tensor."""
    sides = [node.left, *node.comparators]
    if not any(map(code.holds_tensors, sides)):
        return None
    if isinstance(node.ops[0], ast.Is | ast.IsNot) and any(ast.unparse(one) == "None" for one in sides):
        return None
    if any(type(one) not in COMPARISONS for one in node.ops):
        raise code.refusal(node)
    if len(sides) > 2:
        return _write_chain(code, node, sides)
    return write_sides(code, node, sides, dtypes_compared(code, COMPARISONS[type(node.ops[0])], sides))


def dtypes_compared(code: TypedCode, ufunc: np.ufunc, sides: Sequence[ast.expr]) -> list[str]:
    """Return the dtypes in which to compare: those of NumPy, but uint8 where TensorFlow has no order of booleans."""
    dtypes, _ = code.loop(ufunc, sides)
    return ["uint8", "uint8"] if "bool" in dtypes and ufunc not in (np.equal, np.not_equal) else dtypes


def _write_chain(code: TypedCode, node: ast.Compare, sides: Sequence[ast.expr]) -> str:
    """Return `a < b < c`, of which Python evaluates `b` once."""
    dtype = code.loop_dtype(*sides)
    if dtype == "bool":  # of which TensorFlow has no order
        dtype = "uint8"
    parts = [code.tensor(sides[0], dtype)]
    for operator, side in zip(node.ops, sides[1:], strict=True):
        parts += [f"tf.{COMPARISONS[type(operator)].__name__}", code.tensor(side, dtype)]
    return f"{code.use('np_chain')}({', '.join(parts)})"


def write_unary(code: TypedCode, node: ast.UnaryOp) -> str | None:
    """Return `not x` and `~x` of truth values; all others stay as they are."""
    if not code.is_tensor(node.operand):
        return None
    if isinstance(node.op, ast.Not):
        return f"{code.use('np_not')}({write_truth(code, node.operand)})"
    if isinstance(node.op, ast.Invert) and code.dtype(node) == "bool":  # of each element, whose axes stay
        return f"{code.use('np_not')}({code.write(node.operand)})"
    return None


def write_both(code: TypedCode, node: ast.BoolOp) -> str | None:
    """Return `a and b` on tensors, which is a truth value in a graph."""
    if not any(map(code.is_tensor, node.values)):
        return None
    for one in node.values[:-1]:
        if code.is_tensor(node) and code.is_tensor(one) and code.dtype(one) != "bool":
            why = f"`{ast.unparse(node)}` is one of its operands, depending on values"
            raise code.refusal(one, why, "write an `if`, or compare with 0")
    return write_truth(code, node)


def write_choice(code: TypedCode, node: ast.IfExp) -> str | None:
    """Return `a if x else b` on a tensor `x`, both ways of one dtype: AutoGraph takes no number next to a tensor."""
    asked = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
    sides = [node.body, node.orelse]
    if not code.is_tensor(asked):
        return None
    if all(isinstance(one, ast.Tuple | ast.List) for one in sides):
        texts = [write_items(code, one) for one in sides]  # type: ignore[arg-type]
    elif code.is_tensor(node):
        texts = [code.tensor(one, code.dtype(node)) for one in sides]
    else:
        return None
    parts = [(*code.source.span(one), text) for one, text in zip(sides, texts, strict=True)]
    parts.append((*code.source.span(node.test), write_truth(code, node.test)))
    return code.source.replaced(*code.source.span(node), parts)


def write_items(code: TypedCode, node: ast.Tuple | ast.List) -> str:
    """Return a tuple or list with tensors of NumPy's dtypes for numbers, of which AutoGraph makes float32 and int32."""
    texts = [code.tensor(one, code.dtype(one)) if is_number(one) else code.write(one) for one in node.elts]
    items = ", ".join(texts)
    return f"({items}{',' if items else ''})" if isinstance(node, ast.Tuple) else f"[{items}]"


def write_truth(code: TypedCode, node: ast.expr) -> str:
    """Return an expression as the condition that Python asks for."""
    if isinstance(node, ast.BoolOp):
        parts = [(*code.source.span(one), write_truth(code, one)) for one in node.values]
        return f"({code.source.replaced(*code.source.span(node), parts)})"
    if isinstance(node, ast.Compare) or not code.is_tensor(node):
        return code.write(node)
    text = code.tensor(node, "bool")
    return f"tf.squeeze({text})" if code.rank(node) else text
