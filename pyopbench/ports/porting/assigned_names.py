"""Names that are bound to a number or to themselves, which TensorFlow or a linter takes otherwise than Python."""

from __future__ import annotations

import ast

from pyopbench.ports.porting.control_flow import carried, dtype_of_name
from pyopbench.ports.porting.observe import NUMBER_KIND, SEQUENCE
from pyopbench.ports.porting.typed import TypedCode, is_number


def assign_name(code: TypedCode, target: ast.Name, value: ast.expr) -> str | None:
    """Return `x = value` where it is not written as it stands.

    A number beside a tensor on the other way of an `if` is one of TensorFlow's own dtype to AutoGraph; so it gets
    the other's. What converts to what is there already would assign a name to itself.
    """
    if code.is_tensor(value):
        text = code.write(value)
        return f"{target.id} = tf.identity({text})" if text == target.id and not isinstance(value, ast.Name) else None
    if isinstance(value, ast.Tuple) and all(map(is_number, value.elts)) and value.elts:
        return _tuple(code, target, value)
    seen = code.seen(value)
    if not seen or any(one.kind != NUMBER_KIND for one in seen):
        return None
    dtype = dtype_of_name(code, target.id)
    return f"{target.id} = tf.constant({code.write(value)}, tf.{dtype})" if dtype else None


def _tuple(code: TypedCode, target: ast.Name, value: ast.Tuple) -> str | None:
    """Return a tuple of numbers, which are tensors where ways meet, as a tuple of tensors."""
    if not any(one.kind == SEQUENCE and one.holds_tensors for one in carried(code, target.id)):
        return None
    return f"{target.id} = ({', '.join(code.tensor(one, code.dtype(one)) for one in value.elts)},)"
