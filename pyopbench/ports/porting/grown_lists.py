"""A list that grows in a loop or branch that depends on values, as a `tf.TensorArray` that is read as one tensor.

Any other use of such a list is refused: it may be read for its length, or as an array of all its elements.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, TypeGuard

from pyopbench.ports.porting.observe import TENSOR
from pyopbench.ports.porting.watched_calls import CHANGING
from pyopbench.ports.porting.watching import names_bound

STACKING = ("np.array", "np.asarray", "np.stack")


def is_grown(node: ast.AST | None, code: Any) -> TypeGuard[ast.Name]:
    """Is it the name of a list that is changed in a loop or branch that depends on values?"""
    if not isinstance(node, ast.Name):
        return False
    function = code.unit.node
    if function not in code.grown:
        code.grown[function] = {
            name
            for statement in ast.walk(function)
            if isinstance(statement, ast.If | ast.For | ast.While) and code.decides(statement)
            for name, _ in _changed(statement)
            if not any(isinstance(one, ast.Assign) and name in names_bound([one]) for one in ast.walk(statement))
        }
    return node.id in code.grown[function]


def _changed(statement: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Yield the names of lists that a statement changes, with the calls that do it."""
    for one in ast.walk(statement):
        function = one.func if isinstance(one, ast.Call) else None
        if isinstance(function, ast.Attribute) and function.attr in CHANGING and isinstance(function.value, ast.Name):
            yield function.value.id, one  # type: ignore[misc]


def _element(code: Any, name: str) -> tuple[str, list[int | None]]:
    """Return the dtype and the shape of what is appended to a list."""
    calls = [one for other, one in _changed(code.unit.node) if other == name]
    for one in calls:
        if one.func.attr != "append":  # type: ignore[attr-defined]
            raise code.refusal(one)
    values = [one.args[0] for one in calls if code.seen(one.args[0])]
    if not values:
        raise code.refusal(calls[0], f"nothing is appended to `{name}` in any example")
    dtypes = {code.dtype(one) for one in values}
    dtype = code.loop_dtype(*values) if len(dtypes) > 1 else dtypes.pop()
    seen = [one for value in values for one in code.seen(value)]
    shapes = {one.shape if one.kind == TENSOR else (None,) * one.rank for one in seen}
    if len({len(one) for one in shapes}) > 1:
        raise code.refusal(values[0], f"values with different numbers of axes are appended to `{name}`")
    return dtype, [one.pop() if len(one) == 1 else None for one in map(set, zip(*shapes, strict=True))]


def write_list(code: Any, target: ast.expr, value: ast.expr) -> str:
    """Return the right side of `name = []` of a list that grows; empty for any other assignment."""
    if not is_grown(target, code):
        return ""
    if not isinstance(value, ast.List):
        raise code.refusal(value)
    if code.is_compiled:  # in TensorFlow 2.21
        raise code.refusal(value, "compiled by XLA, a list that grows in a loop stays empty")
    dtype, shape = _element(code, target.id)
    options = f"size={len(value.elts)}, dynamic_size=True, clear_after_read=False, element_shape={shape}"
    options += ", infer_shape=False" if None in shape else ""
    filled = f".unstack({code.tensor(value, dtype)})" if value.elts else ""
    return f"tf.TensorArray(tf.{dtype}, {options}){filled}"


def write_append(code: Any, call: ast.Call) -> str | None:
    """Return `name.append(value)` of such a list; None for any other call."""
    if not isinstance(call.func, ast.Attribute) or not is_grown(call.func.value, code):
        return None
    name = call.func.value.id
    if call.func.attr != "append":
        raise code.refusal(call)
    return f"{name} = {name}.write({name}.size(), {code.tensor(call.args[0], _element(code, name)[0])})"


def write_call_of_list(code: Any, node: ast.Call) -> str | None:
    """Return the length of such a list, or an array of its elements; None for any other call."""
    several = node.args[0] if node.args else None
    if not is_grown(several, code):
        return None
    name = code.name_of(node.func)
    if name == "len":
        return f"tf.cast({several.id}.size(), tf.int64)"
    is_whole = name in STACKING and (name != "np.stack" or len(node.args) + len(node.keywords) == 1)
    return stacked(code, several, code.dtype(node)) if is_whole else None


def stacked(code: Any, node: ast.Name, dtype: str = "") -> str:
    """Return such a list as a tensor."""
    own, text = _element(code, node.id)[0], f"{node.id}.stack()"
    return text if dtype in ("", own) else f"tf.cast({text}, tf.{dtype})"
