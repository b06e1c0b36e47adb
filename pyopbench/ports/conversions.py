"""What a body of `tf.py_function` makes of tensors and arrays: `x.numpy()`, `tf.constant(x)` and the like."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Callable
from typing import Any

from pyopbench.ports.for_numba.calls import as_array
from pyopbench.ports.for_numba.instead import Instead, Names

CAST = re.compile(r"\.astype\(np\.(\w+)\)$")


def conversion_of(node: ast.AST, value_of: Callable[[ast.AST], Any]) -> tuple[ast.expr, str] | None:
    """Return what is converted, and NumPy's name of the dtype that it gets, "" for its own; None for anything else.

    Args:
        node: a call.
        value_of: says what a name, or an attribute of one, is; None for what is local.
    """
    found = as_array(node, Names(value_of, frozenset(), frozenset())) if isinstance(node, ast.Call) else None
    if found is None:
        return None
    cast = CAST.search(found.text)
    return found.parts[0], cast[1].removesuffix("_") if cast else ""


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


def is_of_tensorflow(value: Any) -> bool:
    """Is it a module, a function or a class of TensorFlow's? A tensor that is a constant is none."""
    home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return hasattr(value, "__name__") and str(home).split(".")[0] in ("tensorflow", "keras")
