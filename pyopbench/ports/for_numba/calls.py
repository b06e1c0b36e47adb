"""Calls of NumPy's that Numba has no version of, or none for some of their arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, TypeAlias

import numpy as np

from pyopbench.ports.for_numba.names import Names, tree
from pyopbench.ports.for_numba.numbers import type_name
from pyopbench.ports.for_numba.types import ARRAY, LIST, PYTHON, SCALAR

Arguments: TypeAlias = dict[str, Any]
Rule: TypeAlias = Callable[[Arguments, Names], ast.expr | None]


def called(node: ast.Call, names: Names) -> ast.expr | None:
    """Return a replacement for a call of a function of NumPy's, or of a method, that has a rule here."""
    function, args = names.called(node)
    parameters, rule = next((row for one, row in RULES.items() if one is function), ("", ""))
    words, options = parameters.split(), {one.arg: one.value for one in node.keywords}
    has_others = len(args) > len(words) or not options.keys() <= set(words)
    if not words or has_others or any(isinstance(one, ast.Starred) for one in args):
        return None
    bound: Arguments = {**dict(zip(words, args, strict=False)), **options}  # type: ignore[dict-item]
    if not isinstance(rule, str):
        return rule(bound, names)
    # The helper takes all parameters, and of axes one.
    if len(bound) < len(words) or not all(map(_is_one, list(bound.values())[1:])):
        return None
    return tree(f"{rule}(*ARGS)", ARGS=[bound[one] for one in words])  # type: ignore[no-any-return]


def _is_one(axis: ast.expr) -> bool:
    """Is it one axis, for all that is seen?"""
    return not isinstance(axis, ast.Tuple | ast.List) and ast.unparse(axis) != "None"


PADDING = {"'constant'": "_padded(X, AXIS, *PAIR, False)", "'edge'": "_padded(X, AXIS, *PAIR, True)"}


def _padded(given: Arguments, names: Names) -> Any:
    call = PADDING.get(ast.unparse(given.get("mode", ast.Constant("constant"))))
    pairs = [getattr(pair, "elts", []) for pair in getattr(given["pad_width"], "elts", [])]
    if call is None or not pairs or any(len(pair) != 2 for pair in pairs):
        return None
    new = given["array"]
    for axis, pair in enumerate(pairs):
        if [ast.unparse(size) for size in pair] != ["0", "0"]:
            new = tree(call, X=new, AXIS=ast.Constant(axis), PAIR=pair)
    return new


def _evenly_spaced(given: Arguments, names: Names) -> Any:
    if given.keys() != {"start", "stop", "num", "dtype"}:
        return None
    ends = [given[name] for name in ("start", "stop", "num")]
    return tree("_evenly_spaced(*ENDS).astype(DTYPE)", ENDS=ends, DTYPE=given["dtype"])


def _histogram(given: Arguments, names: Names) -> Any:
    """Return counts by comparison with the edges, as NumPy has them in the end; Numba's own rounds otherwise."""
    array, bins, within = given["a"], given.get("bins"), given.get("range")
    if bins is None or "density" in given or not names.are(bins, PYTHON):
        return None
    if isinstance(within, ast.Tuple | ast.List):
        edges = tree("_evenly_spaced(*ENDS, BINS + 1)", ENDS=within.elts, BINS=bins)
    elif within is None:
        edges = tree("_edges_of(X, BINS)", X=array, BINS=bins)
    else:
        return None
    if names.dtype(array) == "float32":
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
    keeps = ast.unparse(given.pop("keepdims", ast.Constant(value=False)))
    if given.keys() != {"x", "axis"} or keeps not in ("True", "False") or not _is_one(given["axis"]):
        return None
    text = "np.expand_dims(np.asarray(_norm(X, AXIS)), AXIS)" if keeps == "True" else "_norm(X, AXIS)"
    return tree(text, X=given["x"], AXIS=given["axis"])


def _unique(given: Arguments, names: Names) -> Any:
    """Return the elements in order and, of `return_inverse` and `return_counts`, what is asked for."""
    array, *options = given
    if not options or "return_index" in given or {ast.unparse(given[name]) for name in options} - {"True", "0"}:
        return None
    helper = "_unique_rows" if "axis" in given else "_unique"
    if "return_inverse" in given:
        items = "" if "return_counts" in given else "[:2]"
    else:
        items = "[::2]" if "return_counts" in given else "[0]"
    return tree(f"{helper}(X){items}", X=given[array])


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
    """Return a replacement for a product of arrays of floats, whose dtypes may differ; the first may have many axes."""
    ranks, dtypes = [], []
    for one in (a, b):
        names.require(one)
        items = {item.dtype for type_ in names.of(one) if type_.kind == LIST for item in type_.items}
        ranks.append(1 if names.are(one, LIST) else names.rank(one))
        dtypes.append(names.dtype(one) if not items else "" if "" in items else str(np.result_type(*items)))
    if None in ranks or "" in dtypes or max(ranks) == 0 or ranks[1] > 2:  # type: ignore[type-var, operator]
        return None
    dtype = np.result_type(*dtypes)
    if dtype.kind not in "fc":
        return None
    sides = [tree("np.array(X)", X=one) if names.are(one, LIST) else one for one in (a, b)]
    sides = [
        one if of == dtype.name else tree(f"X.astype(np.{dtype.name})", X=one)
        for one, of in zip(sides, dtypes, strict=True)
    ]
    return tree(f"{'_product' if ranks[0] > 2 else 'np.dot'}(*SIDES)", SIDES=sides)  # type: ignore[operator]


RULES: dict[object, tuple[str, Rule | str]] = {
    np.linspace: ("start stop num endpoint retstep dtype", _evenly_spaced),
    np.histogram: ("a bins range density weights", _histogram),
    np.percentile: ("a q axis", partial(_percentile, "percentile")),
    np.quantile: ("a q axis", partial(_percentile, "quantile")),
    np.nanpercentile: ("a q axis", partial(_percentile, "nanpercentile")),
    np.repeat: ("a repeats axis", "_repeated"),
    np.moveaxis: ("a source destination", "_moved"),
    np.argsort: ("a axis kind", _sorted_stably),
    np.pad: ("array pad_width mode", _padded),
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
"""The parameters in NumPy's order, and the rule or the helper that takes all of them, by the function of NumPy's."""


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
    """Return a replacement for `reshape` of what Numba may take for out of order: only what is so is copied."""
    function, (array, *shape) = names.called(node) if node.args else (None, [node])
    if function is not np.reshape or not shape or node.keywords:
        return None
    if not names.are(array, ARRAY) or isinstance(array, ast.BinOp | ast.UnaryOp | ast.Compare):
        return None
    return tree("np.ascontiguousarray(X).reshape(*SHAPE)", X=array, SHAPE=shape)


def backwards(node: ast.Call, names: Names) -> Any:
    """Return a replacement for `reversed(range(n))`, which may have a first number, too."""
    match node:
        case ast.Call(function, [ast.Call(of_range, ([_] | [_, _]) as ends, [])]):
            if names.value_of(function) is reversed and names.value_of(of_range) is range:
                first = ends[0] if len(ends) == 2 else ast.Constant(0)
                return tree("range(LAST - 1, FIRST - 1, -1)", LAST=ends[-1], FIRST=first)
    return None


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
    if isinstance(given, ast.List | ast.Tuple):
        items = [tree("np.array(X)", X=one) if names.are(one, LIST) else one for one in given.elts]
        return ast.Call(tree(f"np.{name}"), [ast.Tuple(items, ast.Load()), *others], node.keywords)
    return _of_list(name, node, names) if names.are(given, LIST) else None


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
    if names.value_of(node.func) not in (np.array, np.asarray):
        return None
    options = dict(zip(("object", "dtype"), node.args, strict=False)) | {one.arg: one.value for one in node.keywords}
    given = options.pop("object", None)
    if given is None or not names.are(given, LIST) or isinstance(given, ast.List) or not options.keys() <= {"dtype"}:
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


# Dtypes: Numba takes NumPy's types, and of Python's `float` alone.

TYPES = {bool: "bool", int: "int64", float: "float64"}

WITH_DTYPE = {"zeros", "ones", "empty", "array", "asarray", "full", "empty_like", "zeros_like"}
"""Functions that take a dtype by position."""


def made_with_dtype(node: ast.Call, names: Names) -> Any:
    """Return a replacement for a call of NumPy's whose dtype is a type of Python's, or the name of one."""
    function = names.value_of(node.func)
    if getattr(function, "__module__", None) != "numpy":
        return None
    dtypes = [one.value for one in node.keywords if one.arg == "dtype"]
    if getattr(function, "__name__", "") in WITH_DTYPE:
        dtypes += [one for one in node.args[1:] if not isinstance(one, ast.Constant)]
    new = {id(one): _dtype(one, names) for one in dtypes}
    if not any(new.values()):
        return None
    args = [new.get(id(one)) or one for one in node.args]
    return ast.Call(
        node.func, args, [ast.keyword(one.arg, new.get(id(one.value)) or one.value) for one in node.keywords]
    )


def converted(node: ast.Call, names: Names) -> Any:
    """Return a replacement for `astype`, of an array or of a number, which has none for Numba."""
    match node:
        case ast.Call(ast.Attribute(value, "astype")) if names.are(value, ARRAY, SCALAR):
            dtype = [*node.args, *(one.value for one in node.keywords if one.arg == "dtype")][0]
            text = "X.astype(DTYPE)" if names.are(value, ARRAY) else "DTYPE(X)"
            return tree(text, X=value, DTYPE=_dtype(dtype, names) or dtype)
    return None


def _dtype(node: ast.expr, names: Names) -> ast.expr | None:
    """Return a dtype as Numba takes it; None for one that is written so already, or that is not known."""
    value: Any = node.value if isinstance(node, ast.Constant) else names.value_of(node)
    if isinstance(value, type):
        name = TYPES.get(value, "")
    elif isinstance(value, str):
        name = np.dtype(value).name
    else:
        return None
    return tree(type_name(name)) if name else None
