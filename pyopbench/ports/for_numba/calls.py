"""Calls of NumPy's that Numba has no version of, or none for some of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from pyopbench.model.syntax import number_of
from pyopbench.ports.for_numba.names import Names, tree
from pyopbench.ports.for_numba.numbers import type_name
from pyopbench.ports.for_numba.types import ARRAY, LIST, PYTHON, SCALAR

Arguments: TypeAlias = dict[str, Any]
Rule: TypeAlias = Callable[[Arguments, Names], ast.expr | None]


def called(node: ast.Call, names: Names) -> ast.expr | None:
    """Return a replacement for a call of a function of NumPy's, or of a method, that has a rule here."""
    function, given = names.called(node)
    parameters, rule = next((row for one, row in RULES.items() if one is function), ("", ""))
    words = parameters.split()
    if not words or len(given) > len(words) or any(isinstance(one, ast.Starred) for one in given):
        return None
    bound = dict(zip(words, given, strict=False))
    for one in node.keywords:
        if one.arg is None or one.arg not in words or one.arg in bound:
            return None
        bound[one.arg] = one.value
    if not isinstance(rule, str):
        return rule(bound, names)
    # The helper takes all parameters, and of axes one.
    if len(bound) < len(words) or not all(map(_is_one, list(bound.values())[1:])):
        return None
    return tree(f"{rule}(*ARGS)", ARGS=[bound[one] for one in words])  # type: ignore[no-any-return]


def _is_one(axis: ast.expr) -> bool:
    """Is it one axis, for all that is seen?"""
    return not isinstance(axis, ast.Tuple | ast.List) and ast.unparse(axis) != "None"


def _padded(given: Arguments, names: Names) -> Any:
    mode, pairs = given.get("mode", ast.Constant("constant")), given.get("pad_width")
    several: list[Any] = pairs.elts if isinstance(pairs, ast.Tuple | ast.List) else []
    if not isinstance(mode, ast.Constant) or mode.value not in ("constant", "edge"):
        return None
    if not several or not all(isinstance(one, ast.Tuple | ast.List) and len(one.elts) == 2 for one in several):
        return None
    new, value = given["array"], given.get("constant_values", ast.Constant(0))
    for axis, pair in enumerate(several):
        if {ast.unparse(one) for one in pair.elts} != {"0"}:
            call = "_padded(X, AXIS, *PAIR, VALUE)" if mode.value == "constant" else "_padded_with_edge(X, AXIS, *PAIR)"
            new = tree(call, X=new, AXIS=ast.Constant(axis), PAIR=pair.elts, VALUE=value)
    return new


def _evenly_spaced(given: Arguments, names: Names) -> Any:
    if not given.keys() & {"endpoint", "dtype"} or not {"start", "stop"} <= given.keys():
        return None
    parts = {"NUM": ast.Constant(50), "END": ast.Constant(True)}
    parts |= {short: given[one] for short, one in (("NUM", "num"), ("END", "endpoint")) if one in given}
    new = tree("_evenly_spaced(START, STOP, NUM, END)", START=given["start"], STOP=given["stop"], **parts)
    return tree("X.astype(DTYPE)", X=new, DTYPE=given["dtype"]) if "dtype" in given else new


def _histogram(given: Arguments, names: Names) -> Any:
    """Return counts by comparison with the edges, as NumPy has them in the end; Numba's own rounds otherwise."""
    array, bins, within = given["a"], given.get("bins", ast.Constant(10)), given.get("range")
    if "bins" in given and not names.are(bins, PYTHON):
        edges = tree("np.asarray(BINS)", BINS=bins)
    elif isinstance(within, ast.Tuple | ast.List):
        edges = tree("_evenly_spaced(*ENDS, BINS + 1, True)", ENDS=within.elts, BINS=bins)
    elif within is None:
        edges = tree("_edges_of(X, BINS)", X=array, BINS=bins)
    else:
        return None
    if names.dtype(array) == "float32" and isinstance(edges.func, ast.Name):
        edges = tree("X.astype(np.float32)", X=edges)
    weights = given.get("weights", tree("np.ones(1, np.int64)"))  # a single weight is that of each element
    return tree("_histogram(X, EDGES, WEIGHTS)", X=array, EDGES=edges, WEIGHTS=weights)


def _percentile(name: str, given: Arguments, names: Names) -> Any:
    axis, q = given.get("axis"), given["q"]
    if len(given) != 3 or axis is None or not _is_one(axis):
        return None
    is_one = names.are(q, PYTHON, SCALAR)
    several = q if names.are(q, ARRAY) else tree("np.array([Q])" if is_one else "np.array(Q)", Q=q)
    text = f"_percentile_along(np.{name}, X, SEVERAL, AXIS)" + ("[0]" if is_one else "")
    return tree(text, X=given["a"], SEVERAL=several, AXIS=axis)


def _sorted_stably(given: Arguments, names: Names) -> Any:
    kind = given.get("kind")
    is_stable = isinstance(kind, ast.Constant) and kind.value == "stable" and len(given) == 2
    return tree("np.argsort(X, kind='mergesort')", X=given["a"]) if is_stable else None


def _norm(given: Arguments, names: Names) -> Any:
    keeps = given.pop("keepdims", ast.Constant(value=False))
    if given.keys() != {"x", "axis"} or not isinstance(keeps, ast.Constant) or not _is_one(given["axis"]):
        return None
    text = "np.expand_dims(np.asarray(_norm(X, AXIS)), AXIS)" if keeps.value else "_norm(X, AXIS)"
    return tree(text, X=given["x"], AXIS=given["axis"])


RETURNED = ("return_index", "return_inverse", "return_counts")
"""What `np.unique` returns after the elements, in this order."""


def _unique(given: Arguments, names: Names) -> Any:
    array, *options = given
    values = {one: given[one].value if isinstance(given[one], ast.Constant) else None for one in options}
    is_of_rows = values.pop("axis", None) == 0
    if not options or not all(values.values()) or ("axis" in given and not is_of_rows):
        return None
    found = tree("_unique_rows(X)" if is_of_rows else "_unique(X)", X=given[array])
    places = [0, *(place for place, name in enumerate(RETURNED, start=1) if name in values)]
    if len(places) == 1:
        return tree("FOUND[0]", FOUND=found)
    if places == [0, 2, 3]:
        return tree("_without_index(FOUND)", FOUND=found)
    step = places[-1] // (len(places) - 1)
    return None if places == [0, 1, 3] else tree(f"FOUND[: {places[-1] + 1} : {step}]", FOUND=found)


def _tiled(given: Arguments, names: Names) -> Any:
    reps = given.get("reps")
    if not isinstance(reps, ast.Tuple) or len(reps.elts) != 2:
        return None
    return tree("_tiled(X, *REPS)", X=given["A"], REPS=reps.elts)


def _selected(given: Arguments, names: Names) -> Any:
    conditions, choices = (given.get(one) for one in ("condlist", "choicelist"))
    if not isinstance(conditions, ast.List) or not isinstance(choices, ast.List):
        return None
    if len(conditions.elts) != len(choices.elts):
        return None
    new = given.get("default", ast.Constant(0))
    for condition, choice in reversed(list(zip(conditions.elts, choices.elts, strict=True))):
        new = tree("np.where(IF, THEN, ELSE)", IF=condition, THEN=choice, ELSE=new)
    return new


def _drawn(name: str, defaults: dict[str, float], given: Arguments, names: Names) -> Any:
    """Return a call with all arguments by position: Numba has no size without the parameters before it."""
    if "size" not in given or given.keys() >= defaults.keys():
        return None
    parameters = [given.get(one, ast.Constant(default)) for one, default in defaults.items()]
    return tree(f"np.random.{name}(*ARGS, SIZE)", ARGS=parameters, SIZE=given["size"])


def _drawn_below(given: Arguments, names: Names) -> Any:
    is_short = given.keys() == {"low", "size"}
    return tree("np.random.randint(0, LOW, SIZE)", LOW=given["low"], SIZE=given["size"]) if is_short else None


def _product(given: Arguments, names: Names) -> Any:
    return product(given["a"], given["b"], names) if len(given) == 2 else None


def product(a: ast.expr, b: ast.expr, names: Names) -> Any:
    """Return a replacement for a product of arrays, whose dtypes may differ; the first may have many axes."""
    sides = [tree("np.array(X)", X=one) if names.are(one, LIST) else one for one in (a, b)]
    ranks = []
    dtypes = []
    for one in (a, b):
        names.require(one)
        items = {item.dtype for type_ in names.of(one) if type_.kind == LIST for item in type_.items}
        ranks.append(1 if names.are(one, LIST) else names.rank(one))
        dtypes.append(names.dtype(one) if not items else "" if "" in items else str(np.result_type(*items)))
    if None in ranks or "" in dtypes or max(ranks) == 0 or ranks[1] > 2:  # type: ignore[type-var, operator]
        return None
    dtype = np.result_type(*dtypes)
    if dtype.kind not in "fc":
        wide = "uint64" if dtype.kind == "u" else "int64"
        text = f"_whole_product(A.astype(np.{wide}), B.astype(np.{wide})).astype({type_name(dtype.name)})"
        return tree(text + ("[()]" if ranks == [1, 1] else ""), A=sides[0], B=sides[1])
    sides = [
        one if of == dtype.name else tree(f"X.astype(np.{dtype.name})", X=one)
        for one, of in zip(sides, dtypes, strict=True)
    ]
    return tree(f"{'_product' if ranks[0] > 2 else 'np.dot'}(*SIDES)", SIDES=sides)  # type: ignore[operator]


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
    np.random.uniform: ("low high size", partial(_drawn, "uniform", {"low": 0.0, "high": 1.0})),
    np.random.normal: ("loc scale size", partial(_drawn, "normal", {"loc": 0.0, "scale": 1.0})),
    np.random.exponential: ("scale size", partial(_drawn, "exponential", {"scale": 1.0})),
    np.random.poisson: ("lam size", partial(_drawn, "poisson", {"lam": 1.0})),
}
"""The parameters that a rule knows, and the rule or the helper that takes all of them, by the function of NumPy's."""


def of_ufunc(node: ast.Call, names: Names) -> Any:
    """Return a replacement for `np.add.at`, `np.add.outer` and the like."""
    function = names.value_of(node.func.value) if isinstance(node.func, ast.Attribute) else None
    if not isinstance(function, np.ufunc) or node.keywords:
        return None
    name, args = node.func.attr, node.args  # type: ignore[attr-defined]
    if name == "at" and function is np.add and len(args) == 3 and not isinstance(args[1], ast.Tuple):
        return tree("_add_at(*ARGS)", ARGS=args)
    ranks = [names.rank(one) for one in args]
    if name != "outer" or len(args) != 2 or None in ranks:
        return None
    ones = ", ".join(["...", *["None"] * (ranks[1] or 0)])
    return tree(f"np.{function.__name__}(X[{ones}], Y)", X=args[0], Y=args[1])


def summed_products(node: ast.Call, names: Names) -> Any:
    """Return a replacement for `np.einsum` of arrays, whose subscripts are written as text with an arrow."""
    is_written = names.value_of(node.func) is np.einsum and node.args and isinstance(node.args[0], ast.Constant)
    if not is_written or node.keywords:
        return None
    given, arrow, out = str(node.args[0].value).replace(" ", "").partition("->")  # type: ignore[attr-defined]
    operands, arrays = given.split(","), node.args[1:]
    letters = set(given) - {","}
    is_simple = arrow and letters and not any(len(set(one)) < len(one) for one in operands)
    if not is_simple or len(operands) != len(arrays) or not set(out) <= letters:
        return None
    order, factors = out + "".join(sorted(letters - set(out))), []
    for axes, array in zip(operands, arrays, strict=True):
        turned = [axes.index(one) for one in order if one in axes]
        new = array if turned == sorted(turned) else tree(f"X.transpose({str(turned)[1:-1]})", X=array)
        index = ", ".join(":" if one in axes else "None" for one in order)
        factors.append(tree(f"X[{index}]", X=new))
    total = reduce(lambda a, b: ast.BinOp(a, ast.Mult(), b), factors)
    for rank in range(len(order), len(out), -1):
        total = tree("_along(np.sum, X, -1)" if rank > 1 else "np.sum(X)", X=total)
    return total


def magnitude(node: ast.Call, names: Names) -> Any:
    """Return a replacement for Python's `abs` of an array."""
    is_abs = names.value_of(node.func) is abs and len(node.args) == 1 and names.are(node.args[0], ARRAY)
    return tree("np.abs(X)", X=node.args[0]) if is_abs else None


def reshaped(node: ast.Call, names: Names) -> Any:
    """Return a replacement for `reshape` of what Numba may take for out of order: like NumPy, it copies only if it is.

    Where the result is written to, NumPy may write to the array itself, and then nothing replaces it.
    """
    function, (array, *shape) = names.called(node) if node.args else (None, [node])
    if function is not np.reshape or not shape or node.keywords or number_of(node) in names.written_to:
        return None
    if not names.are(array, ARRAY) or isinstance(array, ast.BinOp | ast.UnaryOp | ast.Compare):
        return None
    return tree("np.ascontiguousarray(X).reshape(*SHAPE)", X=array, SHAPE=shape)


def backwards(node: ast.Call, names: Names) -> Any:
    """Return a replacement for `reversed`, of a range or of something that has subscripts."""
    if names.value_of(node.func) is not reversed or len(node.args) != 1:
        return None
    (given,) = node.args
    if not isinstance(given, ast.Call):
        return tree("X[::-1]", X=given)
    if names.value_of(given.func) is not range or given.keywords or not 1 <= len(given.args) <= 2:
        return None
    first = given.args[0] if len(given.args) == 2 else ast.Constant(0)
    return tree("range(LAST - 1, FIRST - 1, -1)", LAST=given.args[-1], FIRST=first)


# Lists where Numba takes tuples or arrays.

JOINING = {getattr(np, name): name for name in ("concatenate", "stack", "hstack", "vstack", "column_stack")}
SHAPED = {getattr(np, name): name for name in ("zeros", "ones", "empty", "full")}


def joined(node: ast.Call, names: Names) -> Any:
    """Return a replacement for arrays that are joined: a tuple of arrays for a list, or for one with lists in it."""
    function = names.value_of(node.func)
    name = next((JOINING[one] for one in JOINING if one is function), "")
    if not name or not node.args:
        return None
    given, *others = node.args
    if not isinstance(given, ast.List | ast.Tuple):
        return _of_list(name, node, names) if names.are(given, LIST) else None
    lists = [names.are(one, LIST) for one in given.elts]
    if any(isinstance(one, ast.Starred) for one in given.elts) or (isinstance(given, ast.Tuple) and not any(lists)):
        return None
    pairs = zip(given.elts, lists, strict=True)
    items = ast.Tuple([tree("np.array(X)", X=one) if is_list else one for one, is_list in pairs], ast.Load())
    return ast.Call(tree(f"np.{name}"), [items, *others], node.keywords)


def _of_list(name: str, node: ast.Call, names: Names) -> Any:
    """Return a replacement for a list that was filled, whose arrays have all the same number of axes."""
    given, *others = [*node.args, *(one.value for one in node.keywords if one.arg == "axis")]
    ranks = {item.rank for one in names.of(given) for item in one.items}
    if len(others) != len(node.args) - 1 + len(node.keywords) or len(others) > 1 or len(ranks) != 1:
        return None
    are_vectors, axis = ranks == {1}, others[0] if others else ast.Constant(0)
    text = {
        "concatenate": "_joined(X, AXIS)",
        "stack": "_array_of(X)" if ast.unparse(axis) == "0" else "_moved(_array_of(X), 0, AXIS)",
        "hstack": f"_joined(X, {0 if are_vectors else 1})",
        "vstack": "_array_of(X)" if are_vectors else "_joined(X, 0)",
        "column_stack": "_array_of(X).T" if are_vectors else "_joined(X, 1)",
    }[name]
    return tree(text, X=given, AXIS=axis)


def array_of_list(node: ast.Call, names: Names) -> Any:
    """Return a replacement for `np.array` of a list that was filled."""
    if names.value_of(node.func) not in (np.array, np.asarray) or len(node.args) != 1:
        return None
    given, options = node.args[0], {one.arg: one.value for one in node.keywords}
    if not names.are(given, LIST) or isinstance(given, ast.List) or not options.keys() <= {"dtype"}:
        return None
    are_arrays = {item.kind for one in names.of(given) for item in one.items} == {ARRAY}
    new = tree("_array_of(X)" if are_arrays else "_numbers_of(X)", X=given)
    if not options:
        return new
    return tree("X.astype(DTYPE)", X=new, DTYPE=_dtype(options["dtype"], names) or options["dtype"])


def shape_of_list(node: ast.Call, names: Names) -> Any:
    """Return a replacement for a call that makes an array of a shape which is written as a list."""
    if not any(names.value_of(node.func) is one for one in SHAPED) or not node.args:
        return None
    shape, *others = node.args
    if not isinstance(shape, ast.List):
        return None
    return ast.Call(node.func, [ast.Tuple(shape.elts, ast.Load()), *others], node.keywords)


# Dtypes as they are written: Numba takes NumPy's types, and of Python's `float` alone.

PLACES = {"zeros": 1, "ones": 1, "empty": 1, "array": 1, "asarray": 1, "full": 2, "empty_like": 1, "zeros_like": 1}
"""Functions that take a dtype by position, and at which."""

TYPES = {bool: "bool", int: "int64", float: "float64"}


def made_with_dtype(node: ast.Call, names: Names) -> Any:
    """Return a replacement for a call of NumPy's whose dtype is a type of Python's, or the name of one."""
    function = names.value_of(node.func)
    if getattr(function, "__module__", None) != "numpy":
        return None
    place = PLACES.get(getattr(function, "__name__", ""), len(node.args))
    args = [_dtype(one, names) or one if at == place else one for at, one in enumerate(node.args)]
    keywords = [
        ast.keyword(one.arg, (one.arg == "dtype" and _dtype(one.value, names)) or one.value) for one in node.keywords
    ]
    is_same = args == node.args and all(a.value is b.value for a, b in zip(keywords, node.keywords, strict=True))
    return None if is_same else ast.Call(node.func, args, keywords)


def converted(node: ast.Call, names: Names) -> Any:
    """Return a replacement for `astype`, of an array or of a number, which has none for Numba."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "astype" or names.called(node)[0] is None:
        return None
    options = {one.arg: one.value for one in node.keywords}
    given = node.args[0] if len(node.args) == 1 else options.get("dtype")
    if given is None or len(node.args) > 1 or not options.keys() <= {"dtype", "copy"}:
        return None
    dtype, is_number = _dtype(given, names), not names.are(node.func.value, ARRAY)
    if dtype is None and not is_number and "copy" not in options:
        return None
    return tree("DTYPE(X)" if is_number else "X.astype(DTYPE)", X=node.func.value, DTYPE=dtype or given)


def _dtype(node: ast.expr, names: Names) -> ast.expr | None:
    """Return a dtype as Numba takes it; None for one that is written so already, or that is not known."""
    value: Any = node.value if isinstance(node, ast.Constant) else names.value_of(node)
    if isinstance(value, type):
        name = TYPES.get(value, "")
    else:
        try:
            dtype = np.dtype(value) if isinstance(value, str) else None
        except TypeError:
            return None
        name = dtype.name if dtype is not None and dtype.kind in "biufc" else ""
    return tree(type_name(name)) if name else None
