"""What a body of `tf.py_function` makes of tensors and arrays: `x.numpy()`, `tf.constant(x)` and the like."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyopbench.ports.for_numba.instead import PLACE, Instead

TENSORS = {"convert_to_tensor": "value", "constant": "value", "cast": "x"}
"""Functions of TensorFlow's that make a tensor of an array, and the name of what they are given."""


def conversion_of(node: ast.AST, value_of: Callable[[ast.AST], Any]) -> tuple[ast.expr, str] | None:
    """Return what is converted, and NumPy's name of the dtype that it gets, "" for its own; None for anything else.

    Args:
        node: a call.
        value_of: says what a name, or an attribute of one, is; None for what is local.
    """
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr == "numpy" and _is_value(node.func.value, value_of):
        return None if node.args or node.keywords else (node.func.value, "")
    function = value_of(node.func)
    name = str(getattr(function, "__name__", "")).removesuffix("_v2_with_dispatch")
    if not str(getattr(function, "__module__", "")).startswith("tensorflow.") or name not in TENSORS:
        return None
    options = {one.arg: one.value for one in node.keywords if one.arg != "name"}
    value = node.args[0] if node.args else options.pop(TENSORS[name], None)
    dtype = node.args[1] if len(node.args) == 2 else options.pop("dtype", None)
    wanted = _dtype_of_tensor(dtype, value_of)
    if value is None or len(node.args) > 2 or options or (dtype is not None and wanted is None):
        return None
    return value, wanted or ""


def _is_value(node: ast.expr, value_of: Callable[[ast.AST], Any]) -> bool:
    home = value_of(node)
    return home is None or isinstance(home, np.ndarray)


def _dtype_of_tensor(node: ast.expr | None, value_of: Callable[[ast.AST], Any]) -> str | None:
    """Return NumPy's name of a dtype, of TensorFlow's or of NumPy's; None for one that is not known."""
    if node is None:
        return None
    value: Any = node.value if isinstance(node, ast.Constant) else value_of(node)
    if value is None:  # which NumPy takes for float64
        return None
    try:
        return str(np.dtype(getattr(value, "as_numpy_dtype", value)).name)
    except TypeError:
        return None


def on_arrays(node: ast.AST, value_of: Callable[[ast.AST], Any], numpy: str = "np") -> Instead | None:
    """Return what stands for a conversion where there are arrays: `np.asarray(x)`, or with a dtype.

    For `x.numpy()` it is `x`, which may be a single text, unless something else than NumPy has to make an array of it.

    Args:
        node: the call.
        value_of: as for `conversion_of`.
        numpy: the name of what has NumPy's functions.
    """
    found = conversion_of(node, value_of)
    if found is None:
        return None
    made, (value, dtype) = Instead(), found
    if numpy == "np" and isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "numpy":
        made.text = made.receiver(value)
        return made
    with_dtype = f", dtype={numpy}.{'bool_' if dtype == 'bool' else dtype}" if dtype else ""
    made.text = f"{numpy}.asarray({made.part(value)}{with_dtype})"
    return made


PART = "pyopbench_part_"
"""What stands for a part of a text while the rest of it is parsed."""


def expression(text: str, parts: Sequence[ast.expr], place: ast.AST) -> ast.expr:
    """Return the tree of a text in which `{0}`, `{1}`, ... stand for parts; it stands in the place of a node."""
    tree = ast.parse(PLACE.sub(rf"{PART}\1", text), mode="eval").body
    for one in ast.walk(tree):  # before its parts stand in it, which keep their lines
        if isinstance(one, ast.expr | ast.keyword):
            ast.copy_location(one, place)
    return _Filling(parts).visit(tree)  # type: ignore[no-any-return]


class _Filling(ast.NodeTransformer):
    def __init__(self, parts: Sequence[ast.expr]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.parts[int(node.id.removeprefix(PART))] if node.id.startswith(PART) else node


def is_of_tensorflow(value: Any) -> bool:
    """Is it a module, a function or a class of TensorFlow's? A tensor that is a constant is none."""
    home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return hasattr(value, "__name__") and str(home).split(".")[0] in ("tensorflow", "keras")
