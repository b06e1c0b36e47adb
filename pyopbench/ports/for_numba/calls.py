"""Calls of NumPy's that Numba has no version of, or none for some of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pyopbench.ports.for_numba.instead import Instead, Names, is_python_number
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


def _evenly_spaced(given: Arguments) -> Instead | None:
    if not given.keys() & {"endpoint", "dtype"} or not {"start", "stop"} <= given.keys():
        return None
    made = Instead()
    num, end = (
        made.part(given[one]) if one in given else default for one, default in (("num", "50"), ("endpoint", "True"))
    )
    made.text = f"_evenly_spaced({made.part(given['start'])}, {made.part(given['stop'])}, {num}, {end})"
    made.text += f".astype({made.part(given['dtype'])})" if "dtype" in given else ""
    return made


def _histogram(given: Arguments) -> Instead | None:
    made = Instead()
    within = given.get("range")
    if isinstance(within, ast.Tuple | ast.List) and len(within.elts) == 2:
        edges = ", ".join(map(made.part, within.elts))
    elif within is None or ast.unparse(within) == "None":
        edges = "None, None"
    else:
        return None
    bins, weights = (
        made.part(given[one]) if one in given else text for one, text in (("bins", "10"), ("weights", "None"))
    )
    made.text = f"_histogram({made.part(given['a'])}, {bins}, {edges}, {weights})"
    return made


def _new(given: Arguments) -> Instead | None:
    if "shape" not in given or any(isinstance(one, ast.Constant) for one in [given.get("dtype")]):
        return None
    return _filled("np.empty({shape}, {dtype})" if "dtype" in given else "np.empty({shape})", given)


def _clipped(given: Arguments) -> Instead | None:
    return _filled("_clipped({a}, {a_min}, {a_max})", given) if len(given) == 3 else None


def _percentile(name: str) -> Callable[[Arguments], Instead | None]:
    def along(given: Arguments) -> Instead | None:
        axis = given.get("axis")
        if len(given) != 3 or axis is None or not _is_one(axis):
            return None
        made, q = Instead(), given["q"]
        several = f"np.array({made.part(q)})" if isinstance(q, ast.List | ast.Tuple) else made.part(q)
        made.text = f"_percentile_along(np.{name}, {made.part(given['a'])}, {several}, {made.part(axis)})"
        return made

    return along


def _repeated(given: Arguments) -> Instead | None:
    if len(given) != 3 or not _is_one(given["axis"]):
        return None
    return _filled("_repeated({a}, {repeats}, {axis})", given)


def _squeezed(given: Arguments) -> Instead | None:
    return _filled("_squeezed({a}, {axis})", given) if len(given) == 2 and _is_one(given["axis"]) else None


def _moved(given: Arguments) -> Instead | None:
    if len(given) != 3 or not all(_is_one(given[one]) for one in ("source", "destination")):
        return None
    return _filled("_moved({a}, {source}, {destination})", given)


def _sorted_stably(given: Arguments) -> Instead | None:
    kind = given.get("kind")
    is_stable = isinstance(kind, ast.Constant) and kind.value in ("stable", "mergesort")
    return _filled("np.argsort({a}, kind='mergesort')", given) if is_stable and len(given) == 2 else None


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
    of_rows = isinstance(given.get("axis"), ast.Constant) and given["axis"].value == 0  # type: ignore[attr-defined]
    named = [one for one in options if one != "axis"]
    wanted = {one for one in named if isinstance(given[one], ast.Constant) and given[one].value}  # type: ignore[attr-defined]
    if len(wanted) < len(named) or ("axis" in given and not of_rows) or not options:
        return None
    made = Instead()
    found = f"{'_unique_rows' if of_rows else '_unique'}({made.part(given[array])})"
    places = [0, *(place for place, name in enumerate(RETURNED, start=1) if name in wanted)]
    if len(places) == 1:
        made.text = f"{found}[0]"
    elif len(places) == 4:
        made.text = found
    else:
        first, second, *third = places
        step = second - first
        end = (third or [second])[-1] + 1
        even = not third or third[0] - second == step
        made.text = (
            f"{found}[:{end}:{step}]" if even else f"_without_{'inverse' if 2 not in places else 'index'}({found})"
        )
    return made


def _tiled(given: Arguments) -> Instead | None:
    reps = given.get("reps")
    if len(given) == 2 and not isinstance(reps, ast.Tuple | ast.List):
        return _filled("_tiled_once({A}, {reps})", given)
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


RETURNED = ("return_index", "return_inverse", "return_counts")
"""What `np.unique` returns after the elements, in this order."""

RULES: dict[object, tuple[tuple[str, ...], Callable[[Arguments], Instead | None]]] = {
    np.ndarray: (("shape", "dtype"), _new),
    np.linspace: (("start", "stop", "num", "endpoint", "dtype"), _evenly_spaced),
    np.histogram: (("a", "bins", "range", "weights"), _histogram),
    np.clip: (("a", "a_min", "a_max"), _clipped),
    np.percentile: (("a", "q", "axis"), _percentile("percentile")),
    np.quantile: (("a", "q", "axis"), _percentile("quantile")),
    np.nanpercentile: (("a", "q", "axis"), _percentile("nanpercentile")),
    np.nanquantile: (("a", "q", "axis"), _percentile("nanquantile")),
    np.repeat: (("a", "repeats", "axis"), _repeated),
    np.squeeze: (("a", "axis"), _squeezed),
    np.moveaxis: (("a", "source", "destination"), _moved),
    np.argsort: (("a", "kind"), _sorted_stably),
    np.pad: (("array", "pad_width", "mode", "constant_values"), _padded),
    np.roll: (("a", "shift", "axis"), _rolled),
    np.linalg.norm: (("x", "ord", "axis", "keepdims"), _norm),
    np.unique: (("ar", *RETURNED, "axis"), _unique),
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


def outer(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `np.add.outer` and the like, of what has elements."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "outer" or len(node.args) != 2 or node.keywords:
        return None
    function = names.value_of(node.func.value)
    name = str(getattr(function, "__name__", ""))
    if not isinstance(function, np.ufunc) or getattr(np, name, None) is not function:
        return None
    made = Instead()
    a, b = map(made.part, node.args)
    made.text = f"np.{name}(_before_axes({a}, {b}), {b})"
    return made


def reduced_by(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `np.maximum.reduce` and the like, of one axis, which is the first if none is named."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "reduce" or not 1 <= len(node.args) <= 2:
        return None
    function = names.value_of(node.func.value)
    name = next((REDUCING[one] for one in REDUCING if one is function), None)
    options = {one.arg: one.value for one in node.keywords}
    axis = node.args[1] if len(node.args) == 2 else options.pop("axis", ast.Constant(value=0))
    if name is None or options or not _is_one(axis) or isinstance(node.args[0], ast.List | ast.Tuple):
        return None
    return _filled(f"_along(np.{name}, {{x}}, {{axis}})", {"x": node.args[0], "axis": axis})


REDUCING = {np.maximum: "max", np.minimum: "min", np.add: "sum", np.multiply: "prod"}
"""Functions of two arrays, and what reduces by them."""


def summed_products(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `np.einsum` of one or two arrays, whose subscripts are written as text without dots."""
    if names.value_of(node.func) is not np.einsum or len(node.args) not in (2, 3):
        return None
    if any(one.arg != "optimize" for one in node.keywords) or not isinstance(node.args[0], ast.Constant):
        return None
    text = str(node.args[0].value).replace(" ", "")
    given, arrow, out = text.partition("->")
    letters = given.replace(",", "")
    if not arrow:
        out = "".join(sorted(one for one in set(letters) if letters.count(one) == 1))
    operands = given.split(",")
    if not (letters + out).isalpha() or len(operands) != len(node.args) - 1 or not set(out) <= set(letters):
        return None
    arrays = {f"x{place}": one for place, one in enumerate(node.args[1:])}
    return _filled(f"_einsum('{given}->{out}', {', '.join(f'{{{name}}}' for name in arrays)})", arrays)


def magnitude(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for Python's `abs` of what may be an array."""
    if names.value_of(node.func) is not abs or len(node.args) != 1 or is_python_number(node.args[0], names):
        return None
    return _filled("np.abs({x})", {"x": node.args[0]})


def reshaped_in_place(node: ast.Assign, names: Names) -> Instead | None:
    """Return what stands for `x.shape = (2, 3)`, of arrays that no other name may mean too."""
    made, arrays = Instead(), []
    for one in node.targets:
        if not isinstance(one, ast.Attribute) or one.attr != "shape" or not isinstance(one.value, ast.Name):
            return None
        values = names.bindings.get(one.value.id, [None])
        if any(value is None or isinstance(value, ast.Name) for value in values) or _is_bound_to(one.value.id, names):
            return None
        arrays.append(made.part(one.value))
    shape = made.part(node.value)
    made.text = f"{', '.join(arrays)} = {', '.join(f'{one}.reshape({shape})' for one in arrays)}"
    return made


def reshaped(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `reshape` of what may not lie in order, which NumPy copies there.

    Where the result is written to, NumPy may write to the array itself, and then nothing stands for it.
    """
    is_function = names.value_of(node.func) is np.reshape
    is_of_array = isinstance(node.func, ast.Attribute) and node.func.attr == "reshape" and is_method(node, names)
    if node.keywords or not node.args or not (is_function or is_of_array):
        return None
    array, shape = (node.args[0], node.args[1:]) if is_function else (node.func.value, node.args)  # type: ignore[attr-defined]
    is_written = any(
        name in names.written and any(value is not None and node in ast.walk(value) for value in values)
        for name, values in names.bindings.items()
    )
    if is_written or not shape or not _may_be_out_of_order(array, names):
        return None
    made = Instead()
    made.text = f"_in_order({made.part(array)}).reshape({', '.join(map(made.part, shape))})"
    return made


def _may_be_out_of_order(node: ast.expr, names: Names) -> bool:
    """Is it made by what leaves elements where they are, or puts them elsewhere?"""
    if isinstance(node, ast.Attribute):
        return node.attr == "T"
    if isinstance(node, ast.Subscript):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(isinstance(one, ast.Slice) for one in items)
    if isinstance(node, ast.Name):
        known = replace(names, bindings={name: one for name, one in names.bindings.items() if name != node.id})
        return any(one is not None and _may_be_out_of_order(one, known) for one in names.bindings.get(node.id, []))
    if not isinstance(node, ast.Call):
        return False
    is_of_array = isinstance(node.func, ast.Attribute) and is_method(node, names)
    if is_of_array and node.func.attr in ("transpose", "swapaxes"):  # type: ignore[attr-defined]
        return True
    function = names.value_of(node.func)
    return any(function is one for one in OUT_OF_ORDER)


OUT_OF_ORDER = (
    *(np.transpose, np.swapaxes, np.moveaxis, np.flip, np.flipud, np.fliplr, np.sort, np.argsort, np.cumsum),
    *(np.cumprod, np.roll, np.pad, np.repeat, np.broadcast_to),
)
"""Functions whose result, or that of what stands for them, may not lie in order."""


def _is_bound_to(name: str, names: Names) -> bool:
    """Is another local name bound to that of an array as it is?"""
    values = [value for several in names.bindings.values() for value in several]
    return any(isinstance(value, ast.Name) and value.id == name for value in values)


def as_list(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for the method `tolist` of a vector."""
    if not is_method(node, names) or not isinstance(node.func, ast.Attribute) or node.func.attr != "tolist":
        return None
    return _filled("_as_list({x})", {"x": node.func.value}) if not node.args and not node.keywords else None


def squeezed(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for the method `squeeze` of one axis."""
    if not is_method(node, names) or not isinstance(node.func, ast.Attribute) or node.func.attr != "squeeze":
        return None
    given = [*node.args, *(one.value for one in node.keywords if one.arg == "axis")]
    if len(given) != 1 or len(node.args) + len(node.keywords) != 1 or not _is_one(given[0]):
        return None
    return _filled("_squeezed({x}, {axis})", {"x": node.func.value, "axis": given[0]})


def grid(node: ast.Subscript, names: Names) -> Instead | None:
    """Return what stands for `np.mgrid` of whole numbers and two axes."""
    made = Instead()
    text = _grid(node, made, names)
    if text is None:
        return None
    made.text = f"np.stack({text})"
    return made


def grid_unpacked(node: ast.Assign, names: Names) -> Instead | None:
    """Return what stands for `np.mgrid` where each of its axes gets a name."""
    target, made = node.targets[0], Instead()
    text = _grid(node.value, made, names)
    if text is None or len(node.targets) > 1 or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return None
    made.text = f"{', '.join(map(made.part, target.elts))} = {text}"
    return made


def _grid(node: ast.expr, made: Instead, names: Names) -> str | None:
    if not isinstance(node, ast.Subscript) or names.value_of(node.value) is not np.mgrid:
        return None
    slices = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    if len(slices) != 2 or not all(isinstance(one, ast.Slice) and one.upper and not one.step for one in slices):
        return None
    ends = [(made.part(one.lower) if one.lower else "0", made.part(one.upper)) for one in slices]  # type: ignore[attr-defined]
    return f"_grid({', '.join(end for pair in ends for end in pair)})"


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
