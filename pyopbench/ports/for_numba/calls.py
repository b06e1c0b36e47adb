"""Calls of NumPy's that Numba has no version of, or none for some of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from pyopbench.ports.for_numba.instead import Instead, filled
from pyopbench.ports.for_numba.names import Names
from pyopbench.ports.for_numba.types import ARRAY, LIST, PYTHON, SCALAR

Arguments: TypeAlias = dict[str, ast.expr]
Rule: TypeAlias = Callable[[Arguments, Names], Instead | None]


def called(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a call of a function of NumPy's, or of a method, that has a rule here."""
    function, given = names.called(node)
    parameters, rule = next((found for one, found in RULES.items() if one is function), ("", ""))
    if not parameters or len(given) > len(parameters.split()) or any(isinstance(one, ast.Starred) for one in given):
        return None
    bound = dict(zip(parameters.split(), given, strict=False))
    for one in node.keywords:
        if one.arg is None or one.arg not in parameters.split() or one.arg in bound:
            return None
        bound[one.arg] = one.value
    if not isinstance(rule, str):
        return rule(bound, names)
    # The helper takes all parameters, and of axes one.
    is_complete = len(bound) == len(parameters.split()) and all(map(_is_one, list(bound.values())[1:]))
    made = Instead()
    made.text = f"{rule}({', '.join(made.part(bound[one]) for one in parameters.split())})" if is_complete else ""
    return made if is_complete else None


def _padded(given: Arguments, names: Names) -> Instead | None:
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


def _evenly_spaced(given: Arguments, names: Names) -> Instead | None:
    if not given.keys() & {"endpoint", "dtype"} or not {"start", "stop"} <= given.keys():
        return None
    made = Instead()
    num, end = (
        made.part(given[one]) if one in given else default for one, default in (("num", "50"), ("endpoint", "True"))
    )
    made.text = f"_evenly_spaced({made.part(given['start'])}, {made.part(given['stop'])}, {num}, {end})"
    made.text += f".astype({made.part(given['dtype'])})" if "dtype" in given else ""
    return made


def _histogram(given: Arguments, names: Names) -> Instead | None:
    """Return counts by comparison with the edges, as NumPy has them in the end; Numba's own rounds otherwise."""
    made, within = Instead(), given.get("range")
    array = made.part(given["a"])
    bins, weights = (made.part(given[one]) if one in given else text for one, text in BINS.items())
    if "bins" in given and not names.are(given["bins"], PYTHON):
        edges = f"np.asarray({bins})"
    elif isinstance(within, ast.Tuple | ast.List):
        begin, end = map(made.part, within.elts)
        edges = f"_evenly_spaced({begin}, {end}, {bins} + 1, True)"
    elif within is None:
        edges = f"_edges_of({array}, {bins})"
    else:
        return None
    is_short = names.dtype(given["a"]) == "float32" and not edges.startswith("np.")
    made.text = f"_histogram({array}, {edges}{'.astype(np.float32)' if is_short else ''}, {weights})"
    return made


BINS = {"bins": "10", "weights": "np.ones(1, np.int64)"}
"""What `np.histogram` has without an argument; a single weight is that of each element."""


def _percentile(name: str, given: Arguments, names: Names) -> Instead | None:
    axis = given.get("axis")
    if len(given) != 3 or axis is None or not _is_one(axis):
        return None
    made, q = Instead(), given["q"]
    is_one = names.are(q, PYTHON, SCALAR)
    several = made.part(q) if names.are(q, ARRAY) else f"np.array({f'[{made.part(q)}]' if is_one else made.part(q)})"
    made.text = f"_percentile_along(np.{name}, {made.part(given['a'])}, {several}, {made.part(axis)})"
    made.text += "[0]" if is_one else ""
    return made


def _sorted_stably(given: Arguments, names: Names) -> Instead | None:
    kind = given.get("kind")
    is_stable = isinstance(kind, ast.Constant) and kind.value in ("stable", "mergesort")
    return filled("np.argsort({a}, kind='mergesort')", given) if is_stable and len(given) == 2 else None


def _norm(given: Arguments, names: Names) -> Instead | None:
    keeps = given.pop("keepdims", ast.Constant(value=False))
    if given.keys() != {"x", "axis"} or not isinstance(keeps, ast.Constant) or not _is_one(given["axis"]):
        return None
    kept = "np.expand_dims(np.asarray(_norm({x}, {axis})), {axis})"
    return filled(kept if keeps.value else "_norm({x}, {axis})", given)


def _unique(given: Arguments, names: Names) -> Instead | None:
    array, *options = given
    of_rows = isinstance(given.get("axis"), ast.Constant) and given["axis"].value == 0  # type: ignore[attr-defined]
    named = [one for one in options if one != "axis"]
    wanted = {one for one in named if isinstance(given[one], ast.Constant) and given[one].value}  # type: ignore[attr-defined]
    if len(wanted) < len(named) or ("axis" in given and not of_rows) or not options:
        return None
    made = Instead()
    found = f"{'_unique_rows' if of_rows else '_unique'}({made.part(given[array])})"
    places = [0, *(place for place, name in enumerate(RETURNED, start=1) if name in wanted)]
    if places == [0, 2, 3]:
        made.text = f"_without_index({found})"
    elif len(places) == 1:
        made.text = f"{found}[0]"
    elif places != [0, 1, 3]:
        made.text = f"{found}[: {places[-1] + 1} : {places[-1] // (len(places) - 1)}]"
    return made if made.text else None


def _tiled(given: Arguments, names: Names) -> Instead | None:
    reps = given.get("reps")
    if not isinstance(reps, ast.Tuple) or len(reps.elts) != 2:
        return None
    return filled("_tiled({A}, {rows}, {columns})", {"A": given["A"], "rows": reps.elts[0], "columns": reps.elts[1]})


def _selected(given: Arguments, names: Names) -> Instead | None:
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


def _drawn(name: str, defaults: dict[str, str], given: Arguments, names: Names) -> Instead | None:
    """Return a call with all arguments by position: Numba has no size without the parameters before it."""
    if "size" not in given or given.keys() >= defaults.keys():
        return None
    made = Instead()
    parameters = [made.part(given[one]) if one in given else default for one, default in defaults.items()]
    made.text = f"np.random.{name}({', '.join(parameters)}, {made.part(given['size'])})"
    return made


def _drawn_below(given: Arguments, names: Names) -> Instead | None:
    return filled("np.random.randint(0, {low}, {size})", given) if given.keys() == {"low", "size"} else None


def _product(given: Arguments, names: Names) -> Instead | None:
    return product(given["a"], given["b"], names) if len(given) == 2 else None


def product(a: ast.expr, b: ast.expr, names: Names) -> Instead | None:
    """Return what stands for a product of arrays, whose dtypes may differ and of which the first may have many axes."""
    for one in (a, b):
        names.require(one)
    made = Instead()
    texts = [f"np.array({made.part(one)})" if names.are(one, LIST) else made.receiver(one) for one in (a, b)]
    ranks = [1 if names.are(one, LIST) else names.rank(one) for one in (a, b)]
    dtypes = [_dtype_as_array(one, names) for one in (a, b)]
    if None in ranks or "" in dtypes or max(ranks) == 0 or ranks[1] > 2:  # type: ignore[type-var, operator]
        return None
    dtype = np.result_type(*dtypes)
    if dtype.kind not in "fc":
        wide = "uint64" if dtype.kind == "u" else "int64"
        product = f"_whole_product({texts[0]}.astype(np.{wide}), {texts[1]}.astype(np.{wide}))"
        to = "bool_" if dtype.kind == "b" else dtype.name
        made.text = f"{product}.astype(np.{to})" + ("[()]" if ranks == [1, 1] else "")
        return made
    texts = [
        text if of == dtype.name else f"{text}.astype(np.{dtype.name})" for text, of in zip(texts, dtypes, strict=True)
    ]
    made.text = f"{'_product' if ranks[0] > 2 else 'np.dot'}({', '.join(texts)})"  # type: ignore[operator]
    return made


def _dtype_as_array(node: ast.expr, names: Names) -> str:
    """Return the dtype of an array, or of that of the items of a list."""
    items = {item.dtype for one in names.of(node) if one.kind == LIST for item in one.items}
    return names.dtype(node) if not items else str(np.result_type(*items)) if "" not in items else ""


def _is_one(axis: ast.expr) -> bool:
    """Is it one axis, for all that is seen?"""
    return not isinstance(axis, ast.Tuple | ast.List) and ast.unparse(axis) != "None"


RETURNED = ("return_index", "return_inverse", "return_counts")
"""What `np.unique` returns after the elements, in this order."""

RULES: dict[object, tuple[str, Rule | str]] = {
    np.linspace: ("start stop num endpoint dtype", _evenly_spaced),
    np.histogram: ("a bins range weights", _histogram),
    np.percentile: ("a q axis", partial(_percentile, "percentile")),
    np.quantile: ("a q axis", partial(_percentile, "quantile")),
    np.nanpercentile: ("a q axis", partial(_percentile, "nanpercentile")),
    np.repeat: ("a repeats axis", "_repeated"),
    np.squeeze: ("a axis", "_squeezed"),
    np.moveaxis: ("a source destination", "_moved"),
    np.argsort: ("a kind", _sorted_stably),
    np.pad: ("array pad_width mode constant_values", _padded),
    np.roll: ("a shift axis", "_rolled"),
    np.linalg.norm: ("x ord axis keepdims", _norm),
    np.unique: ("ar return_index return_inverse return_counts axis", _unique),
    np.tile: ("A reps", _tiled),
    np.meshgrid: ("x y", "_meshgrid"),
    np.select: ("condlist choicelist default", _selected),
    np.dot: ("a b", _product),
    np.matmul: ("a b", _product),
    np.random.randint: ("low high size", _drawn_below),
    np.random.uniform: ("low high size", partial(_drawn, "uniform", {"low": "0.0", "high": "1.0"})),
    np.random.normal: ("loc scale size", partial(_drawn, "normal", {"loc": "0.0", "scale": "1.0"})),
    np.random.exponential: ("scale size", partial(_drawn, "exponential", {"scale": "1.0"})),
    np.random.poisson: ("lam size", partial(_drawn, "poisson", {"lam": "1.0"})),
}
"""The parameters that a rule knows, and the rule or the helper that takes all of them, by the function of NumPy's."""


def of_ufunc(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `np.add.at`, and for `np.add.outer` and its like."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in ("at", "outer"):
        return None
    function, args = names.value_of(node.func.value), node.args
    options = {one.arg: one.value for one in node.keywords}
    if not isinstance(function, np.ufunc) or not args:
        return None
    if node.func.attr == "at" and function is np.add and len(args) == 3 and not isinstance(args[1], ast.Tuple):
        return filled("_add_at({a}, {b}, {c})", dict(zip("abc", args, strict=True)))
    ranks = [names.rank(one) for one in args]
    if node.func.attr == "outer" and len(args) == 2 and not options and None not in ranks:
        ones = ", ".join(["...", *["None"] * (ranks[1] or 0)])
        made = Instead()
        made.text = f"np.{function.__name__}({made.receiver(args[0])}[{ones}], {made.part(args[1])})"
        return made
    return None


def summed_products(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `np.einsum` of one or two arrays, whose subscripts are written as text without dots."""
    if names.value_of(node.func) is not np.einsum or len(node.args) not in (2, 3):
        return None
    if any(one.arg != "optimize" for one in node.keywords) or not isinstance(node.args[0], ast.Constant):
        return None
    given, arrow, out = str(node.args[0].value).replace(" ", "").partition("->")
    letters = given.replace(",", "")
    if not arrow:
        out = "".join(sorted(one for one in set(letters) if letters.count(one) == 1))
    operands = given.split(",")
    if not (letters + out).isalpha() or any(len(set(one)) < len(one) for one in operands):
        return None
    order = out + "".join(sorted(set(letters) - set(out)))
    made, dtype = Instead(), names.dtype(node)
    if not dtype:
        return None
    texts = []
    for axes, array in zip(operands, node.args[1:], strict=True):
        turned = [axes.index(one) for one in order if one in axes]
        text = made.receiver(array)
        text += "" if turned == sorted(turned) else f".transpose({', '.join(map(str, turned))})"
        index = ", ".join(":" if one in axes else "None" for one in order)
        texts.append(text + (f"[{index}]" if "None" in index else ""))
    made.text = " * ".join(texts)
    for rank in range(len(order), len(out), -1):
        made.text = f"_along(np.sum, {made.text}, -1)" if rank > 1 else f"np.sum({made.text})"
    made.text = f"({made.text})" if len(order) == len(out) else made.text
    return made


def magnitude(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for Python's `abs` of an array."""
    is_abs = names.value_of(node.func) is abs and len(node.args) == 1
    return filled("np.abs({x})", {"x": node.args[0]}) if is_abs and names.are(node.args[0], ARRAY) else None


def reshaped(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `reshape` of what Numba may take for out of order: as NumPy, it then copies only if it is.

    Where the result is written to, NumPy may write to the array itself, and then nothing stands for it.
    """
    function, (array, *shape) = names.called(node) if node.args else (None, [node])
    if function is not np.reshape or not shape or node.keywords or id(node) in names.written_to:
        return None
    if not names.are(array, ARRAY) or isinstance(array, ast.BinOp | ast.UnaryOp | ast.Compare):
        return None
    made = Instead()
    made.text = f"np.ascontiguousarray({made.part(array)}).reshape({', '.join(map(made.part, shape))})"
    return made


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


# Dtypes as they are written: Numba takes NumPy's types, and neither Python's nor names of them.

PLACES = {"zeros": 1, "ones": 1, "empty": 1, "array": 1, "asarray": 1, "full": 2, "empty_like": 1, "zeros_like": 1}
"""Functions that take a dtype by position, and at which."""

TYPES = {bool: "np.bool_", int: "np.int64", float: "np.float64"}


def made_with_dtype(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a call of NumPy's whose dtype is a type of Python's, or the name of one."""
    function = names.value_of(node.func)
    if getattr(function, "__module__", None) != "numpy":
        return None
    place = PLACES.get(getattr(function, "__name__", ""))
    at = [one.value for one in node.keywords if one.arg == "dtype"]
    at += [one for number, one in enumerate(node.args) if number == place]
    dtype = _named(at[0], names) if at else None
    if dtype is None:
        return None
    made = Instead()
    args = [dtype if one is at[0] else made.part(one) for one in node.args]
    named = [f"{one.arg}={dtype if one.value is at[0] else made.part(one.value)}" for one in node.keywords]
    made.text = f"{made.part(node.func)}({', '.join([*args, *named])})"
    return made


def cast(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `astype`, of an array or of a number, which has none for Numba."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "astype" or names.called(node)[0] is None:
        return None
    options = {one.arg: one.value for one in node.keywords}
    given = node.args[0] if len(node.args) == 1 else options.get("dtype")
    if given is None or len(node.args) > 1 or not options.keys() <= {"dtype", "copy"}:
        return None
    dtype, is_number = _named(given, names), not names.are(node.func.value, ARRAY)
    if dtype is None and not is_number and "copy" not in options:
        return None
    made = Instead()
    if is_number:
        made.text = f"{dtype or made.part(given)}({made.part(node.func.value)})"
    else:
        made.text = f"{made.receiver(node.func.value)}.astype({dtype or made.part(given)})"
    return made


def _named(node: ast.expr, names: Names) -> str | None:
    """Return how Numba takes a dtype; None for one that is written so already, or that is not known."""
    if isinstance(node, ast.Name):
        value: object = names.value_of(node)
        return TYPES.get(value) if isinstance(value, type) else None
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    try:
        dtype = np.dtype(node.value)
    except TypeError:
        return None
    return {"bool": "np.bool_"}.get(dtype.name, f"np.{dtype.name}") if dtype.kind in "biufc" else None
