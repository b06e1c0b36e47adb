"""Calls of NumPy's that Numba has no version of, or none for some of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from pyopbench.ports.for_numba.instead import Instead, Names
from pyopbench.ports.for_numba.reducing import is_method

Arguments = dict[str, ast.expr]


def called(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a call of a function of NumPy's that has a rule here."""
    function = names.value_of(node.func)
    for one, (parameters, rule) in RULES.items():
        if one is function:
            bound = _bound(node, parameters)
            return rule(bound) if bound is not None else None
    return None


def _bound(node: ast.Call, parameters: tuple[str, ...]) -> Arguments | None:
    """Return the arguments of a call by name; None where there are others than those named."""
    if len(node.args) > len(parameters) or any(isinstance(one, ast.Starred) for one in node.args):
        return None
    found = dict(zip(parameters, node.args, strict=False))
    for one in node.keywords:
        if one.arg not in parameters or one.arg in found:
            return None
        found[one.arg] = one.value
    return found


def _padded(given: Arguments) -> Instead | None:
    mode = given.get("mode", ast.Constant(value="constant"))
    pairs = given.get("pad_width")
    if not isinstance(mode, ast.Constant) or mode.value not in ("constant", "edge") or "array" not in given:
        return None
    several = pairs.elts if isinstance(pairs, ast.Tuple | ast.List) else []
    if not several or not all(isinstance(one, ast.Tuple | ast.List) and len(one.elts) == 2 for one in several):
        return None
    made = Instead()
    made.text = made.part(given["array"])
    for axis, pair in enumerate(several):
        before, after = pair.elts  # type: ignore[attr-defined]
        if ast.unparse(before) == ast.unparse(after) == "0":
            continue
        widths = f"{axis}, {made.part(before)}, {made.part(after)}"
        if mode.value == "edge":
            made.text = f"_padded_with_edge({made.text}, {widths})"
        else:
            value = given.get("constant_values")
            made.text = f"_padded({made.text}, {widths}, {made.part(value) if value else '0'})"
    return made


def _rolled(given: Arguments) -> Instead | None:
    return _filled("_rolled({a}, {shift}, {axis})", given) if len(given) == 3 and _is_one(given["axis"]) else None


def _norm(given: Arguments) -> Instead | None:
    keeps = given.pop("keepdims", ast.Constant(value=False))
    if given.keys() != {"x", "axis"} or not isinstance(keeps, ast.Constant) or not _is_one(given["axis"]):
        return None
    kept = "np.expand_dims(np.asarray(_norm({x}, {axis})), {axis})"
    return _filled(kept if keeps.value else "_norm({x}, {axis})", given)


def _unique(given: Arguments) -> Instead | None:
    array, *options = given
    wanted = {one for one in options if isinstance(given[one], ast.Constant) and given[one].value}  # type: ignore[attr-defined]
    picked = {
        frozenset({"return_inverse"}): "[:2]",
        frozenset({"return_counts"}): "[::2]",
        frozenset({"return_inverse", "return_counts"}): "",
    }.get(frozenset(wanted))
    if picked is None or len(wanted) < len(options):
        return None
    return _filled(f"_unique({{{array}}}){picked}", given)


def _tiled(given: Arguments) -> Instead | None:
    reps = given.get("reps")
    if not isinstance(reps, ast.Tuple) or len(reps.elts) != 2:
        return None
    return _filled("_tiled({A}, {rows}, {columns})", {"A": given["A"], "rows": reps.elts[0], "columns": reps.elts[1]})


def _meshgrid(given: Arguments) -> Instead | None:
    return _filled("_meshgrid({x}, {y})", given) if len(given) == 2 else None


def _selected(given: Arguments) -> Instead | None:
    conditions, choices = (given.get(one) for one in ("condlist", "choicelist"))
    if not isinstance(conditions, ast.List) or not isinstance(choices, ast.List):
        return None
    if len(conditions.elts) != len(choices.elts):
        return None
    made = Instead()
    made.text = made.part(given["default"]) if "default" in given else "0"
    for condition, choice in reversed(list(zip(conditions.elts, choices.elts, strict=True))):
        made.text = f"np.where({made.part(condition)}, {made.part(choice)}, {made.text})"
    return made


def _product(given: Arguments) -> Instead | None:
    if len(given) != 2:
        return None
    made = Instead()
    parts = (f"np.array({made.part(one)})" if isinstance(one, ast.List) else made.part(one) for one in given.values())
    made.text = f"_product({', '.join(parts)})"
    return made


def _filled(text: str, given: Arguments) -> Instead:
    made = Instead()
    made.text = text.format(**{name: made.part(node) for name, node in given.items()})
    return made


def _is_one(axis: ast.expr) -> bool:
    """Is it one axis, for all that is seen?"""
    return not isinstance(axis, ast.Tuple | ast.List) and ast.unparse(axis) != "None"


RULES: dict[object, tuple[tuple[str, ...], Callable[[Arguments], Instead | None]]] = {
    np.pad: (("array", "pad_width", "mode", "constant_values"), _padded),
    np.roll: (("a", "shift", "axis"), _rolled),
    np.linalg.norm: (("x", "ord", "axis", "keepdims"), _norm),
    np.unique: (("ar", "return_index", "return_inverse", "return_counts"), _unique),
    np.tile: (("A", "reps"), _tiled),
    np.meshgrid: (("x", "y"), _meshgrid),
    np.select: (("condlist", "choicelist", "default"), _selected),
    np.dot: (("a", "b"), _product),
    np.matmul: (("a", "b"), _product),
}
"""The parameters that a rule knows, and the rule, by the function of NumPy's."""


def clipped(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for the method `clip` with bounds by name."""
    if not is_method(node, names) or not isinstance(node.func, ast.Attribute) or node.func.attr != "clip":
        return None
    bounds = {one.arg: one.value for one in node.keywords}
    if not bounds or node.args or not bounds.keys() <= {"min", "max"}:
        return None
    made = Instead()
    low, high = (made.part(bounds[one]) if one in bounds else "None" for one in ("min", "max"))
    made.text = f"np.clip({made.part(node.func.value)}, {low}, {high})"
    return made


def added_at(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `np.add.at`."""
    is_at = isinstance(node.func, ast.Attribute) and node.func.attr == "at"
    if not is_at or names.value_of(node.func.value) is not np.add or len(node.args) != 3 or node.keywords:  # type: ignore[attr-defined]
        return None
    if isinstance(node.args[1], ast.Tuple):
        return None
    return _filled("_add_at({a}, {b}, {c})", dict(zip("abc", node.args, strict=True)))


def backwards(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `reversed`, of a range or of something that has subscripts."""
    if names.value_of(node.func) is not reversed or len(node.args) != 1:
        return None
    (given,), made = node.args, Instead()
    if not isinstance(given, ast.Call):
        made.text = f"{made.receiver(given)}[::-1]"
        return made
    if names.value_of(given.func) is not range or given.keywords or not 1 <= len(given.args) <= 2:
        return None
    made.text = f"range({made.receiver(given.args[-1])} - 1, "
    made.text += f"{made.receiver(given.args[0])} - 1, -1)" if len(given.args) == 2 else "-1, -1)"
    return made


def number_of_array(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `int`, `float` or `bool` of a parameter, which may be an array without axes."""
    name = next((name for name in NUMBERS if names.value_of(node.func) is NUMBERS[name]), None)
    if name is None or len(node.args) != 1 or node.keywords:
        return None
    (given,) = node.args
    if not isinstance(given, ast.Name) or given.id not in names.parameters:
        return None
    return _filled(f"{name}(np.asarray({{x}}).item())", {"x": given})


def as_array(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for what a body of `tf.py_function` makes of tensors and arrays: an array.

    These are `x.numpy()`, `tf.convert_to_tensor`, `tf.constant` and `tf.cast`.
    """
    made = Instead()
    if is_method(node, names) and isinstance(node.func, ast.Attribute) and node.func.attr == "numpy":
        made.text = made.receiver(node.func.value)
        return made if not node.args and not node.keywords else None
    function = names.value_of(node.func)
    name = str(getattr(function, "__name__", "")).removesuffix("_v2_with_dispatch")
    if not str(getattr(function, "__module__", "")).startswith("tensorflow.") or name not in TENSORS:
        return None
    options = {one.arg: one.value for one in node.keywords if one.arg != "name"}
    value = node.args[0] if node.args else options.pop(TENSORS[name], None)
    dtype = node.args[1] if len(node.args) == 2 else options.pop("dtype", None)
    wanted = _dtype_of_tensor(dtype, names)
    if value is None or len(node.args) > 2 or options or (dtype is not None and wanted is None):
        return None
    is_list = isinstance(value, ast.Name) and value.id in names.lists
    made.text = f"_array_of({made.part(value)})" if is_list else f"np.asarray({made.part(value)})"
    made.text += f".astype(np.{wanted})" if wanted else ""
    return made


def _dtype_of_tensor(node: ast.expr | None, names: Names) -> str | None:
    """Return NumPy's name of a dtype, of TensorFlow's or of NumPy's; None for one that is not known."""
    if node is None:
        return None
    value: Any = node.value if isinstance(node, ast.Constant) else names.value_of(node)
    if value is None:  # which NumPy takes for float64
        return None
    try:
        dtype = np.dtype(getattr(value, "as_numpy_dtype", value))
    except TypeError:
        return None
    return {"bool": "bool_"}.get(str(dtype.name), str(dtype.name))


TENSORS = {"convert_to_tensor": "value", "constant": "value", "cast": "x"}
"""Functions of TensorFlow's that make a tensor of an array, and the name of what they are given."""

NUMBERS = {"int": int, "float": float, "bool": bool}
