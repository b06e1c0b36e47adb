"""Replacements of the nodes of a body that Numba does not compile, or treats differently from NumPy.

The rule of a function has those of its parameters that it supports. A call with others stays.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from pyopbench.ports.for_numba import numbers
from pyopbench.ports.for_numba.numbers import cast, is_ufunc, type_name
from pyopbench.ports.for_numba.types import ARRAY, LIST, PYTHON, SCALAR, Names, tree
from pyopbench.ports.functions.table import name_of

NONE, FALSE, ZERO, CONSTANT = ast.Constant(None), ast.Constant(value=False), ast.Constant(0), ast.Constant("constant")
FLOAT = tree("np.float64")


def replacement_of(node: ast.AST, names: Names) -> Any:
    """Return the replacement for an expression or a statement, perhaps several statements; None for one that stays.

    Raises:
        CannotPort: Numba would take it for something else.
    """
    replacements = (rule(node, names) for rule in RULES.get(type(node), ()))
    new = next((each for each in replacements if each is not None), None)
    return numbers.in_dtype_of_numpy(node, new, names) if isinstance(node, ast.Call) else new


def replace_call(node: ast.Call, names: Names) -> Any:
    """Return a replacement for a call of a function of NumPy's or Python's, or of a method, that has a rule here."""
    name, args = names.called(node)
    ufunc, _, method = name.rpartition(".")
    rule = FUNCTIONS.get(name)
    if method == "outer" and is_ufunc(ufunc):
        rule = partial(_outer, ufunc)
    options: dict[Any, ast.expr] = {one.arg: one.value for one in node.keywords}
    if rule is None or None in options or any(isinstance(one, ast.Starred) for one in args):
        return None
    try:
        bound = inspect.signature(rule).bind(names, *args, **options)
    except TypeError:
        return None
    return rule(*bound.args, **bound.kwargs) or None


def _is_one(axis: ast.expr) -> bool:
    """Is it one axis, for all that is seen?"""
    return not isinstance(axis, ast.Tuple | ast.List) and ast.unparse(axis) != "None"


# Reductions that keep an axis, or go along one, and functions of vectors along an axis.

ALONG = {"sum", "argmax", "argmin"}
"""Reductions that Numba supports with an `axis`."""

STEPWISE = {"max", "min", "amax", "amin", "sum", "prod", "any", "all", "mean", "nanmax", "nanmin", "nansum"}
"""Reductions that give the same result along several axes at once and along one axis after another."""

REDUCTIONS = {*ALONG, *STEPWISE, "std", "var", "median", "nanmean", "nanmedian", "nanstd", "nanvar", "ptp"}


def _reduced(name: str, names: Names, a: ast.expr, axis: ast.expr = NONE, *, keepdims: ast.expr = FALSE) -> Any:
    rank, has_axis, keeps = names.rank(a), ast.unparse(axis) != "None", ast.unparse(keepdims)
    if keeps not in ("True", "False") or (keeps == "True" and not has_axis):
        return None
    if not has_axis or (rank == 1 and keeps == "False"):
        return _reduced_to_one(name, a, names, has_axis=has_axis)
    axes = _axes(axis)
    is_native = name in ALONG and len(axes) == 1 and keeps == "False"
    if not axes or (len(axes) > 1 and name not in STEPWISE) or is_native:
        return None
    new, function = a, "_mean" if name == "mean" else f"np.{name}"
    for done, one in enumerate(axes):
        is_last = rank == 1 or (keeps == "False" and rank is not None and rank - done == 1)
        along = f"{function}(X, AXIS)" if name in ALONG else f"_along({function}, X, AXIS)"
        new = tree(f"{function}(X)" if is_last else along, X=new, AXIS=one)
        if keeps == "True":
            new = tree("np.expand_dims(np.asarray(X), AXIS)", X=new, AXIS=one)
    return new


def _reduced_to_one(name: str, array: ast.expr, names: Names, *, has_axis: bool) -> Any:
    is_list = names.are(array, LIST)
    new = tree("_numbers_of(X)", X=array) if is_list else array
    if name == "mean":
        return tree("_mean(X)", X=new)
    if name == "sum" and names.dtype(array) == "float32" and names.rank(array):
        return tree("np.sum(X, dtype=np.float64)", X=new)
    return tree(f"np.{name}(X)", X=new) if is_list or has_axis else None


def _axes(axis: ast.expr) -> list[ast.expr]:
    """Return axes in an order in which reducing one does not renumber the next; empty if there is no such order."""
    try:
        value: Any = ast.literal_eval(axis)
    except ValueError:
        return [axis]
    several = list(value) if isinstance(value, tuple) else [value]
    if not all(type(one) is int for one in several):
        return [axis]
    if len({one < 0 for one in several}) != 1:
        return []
    return [tree(str(one)) for one in sorted(several, reverse=several[0] >= 0)]


def _each(name: str, names: Names, a: ast.expr, axis: ast.expr = NONE) -> Any:
    text = f"np.{name}(X)" if names.rank(a) == 1 else f"_each_along(np.{name}, X, AXIS)"
    return tree(text, X=a, AXIS=axis) if ast.unparse(axis) != "None" else None


def _argsort(names: Names, a: ast.expr, axis: ast.expr = NONE, kind: ast.expr = NONE) -> Any:
    if kind is NONE:
        return _each("argsort", names, a, axis)
    is_stable = axis is NONE and ast.unparse(kind) == "'stable'"
    return tree("np.argsort(X, kind='mergesort')", X=a) if is_stable else None


def _percentile(name: str, names: Names, a: ast.expr, q: ast.expr, axis: ast.expr) -> Any:
    if not _is_one(axis):
        return None
    is_one = names.are(q, PYTHON, SCALAR)
    several = q if names.are(q, ARRAY) else tree("np.array([Q])" if is_one else "np.array(Q)", Q=q)
    text = f"_percentile_along(np.{name}, X, SEVERAL, AXIS)" + ("[0]" if is_one else "")
    return tree(text, X=a, SEVERAL=several, AXIS=axis)


def _norm(names: Names, x: ast.expr, *, axis: ast.expr, keepdims: ast.expr = FALSE) -> Any:
    text, keeps = "np.sqrt(np.sum(np.square(np.abs(X)), AXIS))", ast.unparse(keepdims)
    if keeps not in ("True", "False") or not _is_one(axis):
        return None
    x = x if numbers.is_floating(names.dtype(x)) else tree("X.astype(np.float64)", X=x)
    return tree(f"np.expand_dims(np.asarray({text}), AXIS)" if keeps == "True" else text, X=x, AXIS=axis)


def _of_one_axis(text: str, axis: ast.expr, **parts: ast.expr) -> Any:
    are_one = all(_is_one(one) for one in (axis, parts["N"]))
    return are_one and tree(text, AXIS=axis, **parts)


# Other functions of NumPy's.


def _pad(names: Names, array: ast.expr, pad_width: ast.expr, mode: ast.expr = CONSTANT) -> Any:
    pairs = [getattr(pair, "elts", []) for pair in getattr(pad_width, "elts", [])]
    has_edge = {"'constant'": False, "'edge'": True}.get(ast.unparse(mode))
    if has_edge is None or not pairs or any(len(pair) != 2 for pair in pairs):
        return None
    for axis, pair in enumerate(pairs):
        if [ast.unparse(size) for size in pair] != ["0", "0"]:
            array = tree(f"_padded(X, {axis}, *PAIR, {has_edge})", X=array, PAIR=pair)
    return array


def _histogram(
    names: Names, a: ast.expr, bins: ast.expr, range: ast.expr = NONE, *, weights: ast.expr | None = None
) -> Any:
    """Return counts from comparing values with the bin edges, as NumPy does; Numba's `histogram` rounds differently."""
    if not names.are(bins, PYTHON):
        return None
    if isinstance(range, ast.Tuple | ast.List):
        edges = tree("_edges_between(*ENDS, BINS)", ENDS=range.elts, BINS=bins)
    elif range is NONE:
        edges = tree("_edges_of(X, BINS)", X=a, BINS=bins)
    else:
        return None
    if names.dtype(a) == "float32":
        # Between float32 ends, NumPy computes in float32; between Python numbers in float64, and rounds the result.
        ends = getattr(range, "elts", ())
        is_of_elements = not ends or any(names.dtype(one) == "float32" for one in ends)
        edges = tree("_edges_in_float32(X)" if is_of_elements else "X.astype(np.float32)", X=edges)
    weights = weights or tree("np.ones(1, np.int64)")  # a single weight is that of each element
    return tree("_histogram(X, EDGES, WEIGHTS)", X=a, EDGES=edges, WEIGHTS=weights)


def _unique(
    names: Names,
    ar: ast.expr,
    *,
    return_inverse: ast.expr = FALSE,
    return_counts: ast.expr = FALSE,
    axis: ast.expr = NONE,
) -> Any:
    """Return the elements in order and, of `return_inverse` and `return_counts`, what is asked for."""
    has_inverse, has_counts, of_rows = (ast.unparse(one) for one in (return_inverse, return_counts, axis))
    items = {"TrueTrue": "", "TrueFalse": "[:2]", "FalseTrue": "[::2]", "FalseFalse": "[0]"}.get(
        has_inverse + has_counts
    )
    helper = {"0": "_unique_rows", "None": "_unique"}.get(of_rows)
    if items is None or helper is None or (items == "[0]" and of_rows == "None"):
        return None
    return tree(f"{helper}(X){items}", X=ar)


def _tile(names: Names, A: ast.expr, reps: ast.expr) -> Any:
    is_pair = isinstance(reps, ast.Tuple) and len(reps.elts) == 2
    return tree("_tiled(X, *REPS)", X=A, REPS=reps.elts) if is_pair else None  # type: ignore[attr-defined]


def _select(names: Names, condlist: ast.expr, choicelist: ast.expr, default: ast.expr = ZERO) -> Any:
    conditions, choices = (getattr(one, "elts", []) for one in (condlist, choicelist))
    if not conditions or len(conditions) != len(choices):
        return None
    new = default
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        new = tree("np.where(IF, THEN, ELSE)", IF=condition, THEN=choice, ELSE=new)
    return new


def _drawn(name: str, defaults: dict[str, float], names: Names, *args: ast.expr, size: ast.expr, **given: Any) -> Any:
    """Return a call with all arguments by position: Numba has no size without the parameters before it."""
    values = {**dict(zip(defaults, args, strict=False)), **given}
    if len(args) > len(defaults) or not values.keys() <= defaults.keys():
        return None
    parameters = [values.get(one, ast.Constant(default)) for one, default in defaults.items()]
    return tree(f"np.random.{name}(*ARGS, SIZE)", ARGS=parameters, SIZE=size)


def _outer(name: str, names: Names, a: ast.expr, b: ast.expr) -> Any:
    rank = names.rank(b)
    if rank is None or names.rank(a) is None:
        return None
    return tree(f"{name}(X[{', '.join(['...', *['None'] * rank])}], Y)", X=a, Y=b)


def product(names: Names, a: ast.expr, b: ast.expr) -> Any:
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


def _einsum(names: Names, subscripts: ast.expr, *operands: ast.expr) -> Any:
    """Return products that are summed, of subscripts that are written as text with an arrow."""
    text = str(subscripts.value) if isinstance(subscripts, ast.Constant) else ""
    given, arrow, out = text.replace(" ", "").partition("->")
    several, letters = given.split(","), set(given) - {","}
    is_simple = arrow and letters and not any(len(set(one)) < len(one) for one in several)
    if not is_simple or len(several) != len(operands) or not set(out) <= letters:
        return None
    order, factors = out + "".join(sorted(letters - set(out))), []
    for axes, array in zip(several, operands, strict=True):
        turned = [axes.index(one) for one in order if one in axes]
        new = array if turned == sorted(turned) else tree(f"X.transpose({str(turned)[1:-1]})", X=array)
        index = ", ".join(":" if one in axes else "None" for one in order)
        factors.append(tree(f"X[{index}]", X=new))
    total = reduce(lambda a, b: ast.BinOp(a, ast.Mult(), b), factors)
    for rank in range(len(order), len(out), -1):
        total = tree("_along(np.sum, X, -1)" if rank > 1 else "np.sum(X)", X=total)
    return total


def _reshape(names: Names, a: ast.expr, *shape: ast.expr) -> Any:
    """Return a `reshape` that copies arrays that are not contiguous, because Numba refuses to reshape those."""
    if not shape or not names.are(a, ARRAY) or isinstance(a, ast.BinOp | ast.UnaryOp | ast.Compare):
        return None
    return tree("np.ascontiguousarray(X).reshape(*SHAPE)", X=a, SHAPE=list(shape))


# Functions of Python's.


def _reversed(names: Names, sequence: ast.expr) -> Any:
    """Return `range(n)` backwards, which may have a first number, too."""
    match sequence:
        case ast.Call(of_range, ([_] | [_, _]) as ends, []) if names.value_of(of_range) is range:
            first = ends[0] if len(ends) == 2 else ZERO
            return tree("range(LAST - 1, FIRST - 1, -1)", LAST=ends[-1], FIRST=first)
    return None


# Lists where Numba takes tuples or arrays.


def _joined(name: str, names: Names, arrays: ast.expr, axis: ast.expr | None = None) -> Any:
    """Return a tuple of arrays that are joined, for a list or for one with lists in it; or arrays of a list that grew.

    The arrays of a list that grew have all the same number of axes.
    """
    if isinstance(arrays, ast.List | ast.Tuple):
        items = [tree("np.array(X)", X=one) if names.are(one, LIST) else one for one in arrays.elts]
        options = [ast.keyword("axis", axis)] if axis else []
        return ast.Call(tree(f"np.{name}"), [ast.Tuple(items, ast.Load())], options)
    ranks = {item.rank for one in names.of(arrays) for item in one.items}
    if not names.are(arrays, LIST) or len(ranks) != 1:
        return None
    are_vectors, axis = ranks == {1}, axis or ZERO
    text = {
        "concatenate": "_joined(X, AXIS)",
        "stack": "_array_of(X)" if ast.unparse(axis) == "0" else "_moved(_array_of(X), 0, AXIS)",
        "hstack": f"_joined(X, {0 if are_vectors else 1})",
        "vstack": "_array_of(X)" if are_vectors else "_joined(X, 0)",
        "column_stack": "_array_of(X).T" if are_vectors else "_joined(X, 1)",
    }[name]
    return tree(text, X=arrays, AXIS=axis)


def _array(name: str, names: Names, object: ast.expr, dtype: ast.expr | None = None) -> Any:
    """Return a list that was filled as an array, and what `np.array` makes of an array."""
    if name == "array" and names.are(object, ARRAY):
        new = tree("X.copy()", X=object)
    elif names.are(object, LIST) and not isinstance(object, ast.List):
        are_arrays = {item.kind for one in names.of(object) for item in one.items} == {ARRAY}
        new = tree("_array_of(X)" if are_arrays else "_numbers_of(X)", X=object)
    else:
        return None
    return new if dtype is None else tree("X.astype(DTYPE)", X=new, DTYPE=_dtype(dtype, names) or dtype)


# Dtypes: Numba takes NumPy's types, and of Python's `float` alone.

SHAPED = {"np.zeros", "np.ones", "np.empty", "np.full"}
"""Functions that begin with a shape, which Numba does not take as a list."""

WITH_DTYPE = SHAPED | {"np.array", "np.asarray", "np.empty_like", "np.zeros_like"}
"""Functions that take a dtype by position."""


def replace_creation(node: ast.Call, names: Names) -> Any:
    """Return a replacement for a call of NumPy's with a list as shape, or with a dtype of Python's or as text."""
    name = name_of(names.value_of(node.func))
    if not name.startswith("np."):
        return None
    args, keywords = list(node.args), [ast.keyword(one.arg, one.value) for one in node.keywords]
    if name in SHAPED:
        args[:1] = [_shape(one) for one in args[:1]]
    if name in WITH_DTYPE:
        args[1:] = [one if isinstance(one, ast.Constant) else _dtype(one, names) or one for one in args[1:]]
    for one in keywords:
        one.value = (_dtype(one.value, names) if one.arg == "dtype" else None) or one.value
        one.value = _shape(one.value) if one.arg == "shape" else one.value
    is_same = args == node.args and [one.value for one in keywords] == [one.value for one in node.keywords]
    return None if is_same else ast.Call(node.func, args, keywords)


def _shape(node: ast.expr) -> ast.expr:
    return ast.Tuple(node.elts, ast.Load()) if isinstance(node, ast.List) else node


def _astype(names: Names, x: ast.expr, dtype: ast.expr, *more: ast.expr, **options: ast.expr) -> Any:
    """Return the conversion of an array, or that of a number, which has no `astype` for Numba."""
    text = "X.astype(DTYPE)" if names.are(x, ARRAY) else "DTYPE(X)"
    return tree(text, X=x, DTYPE=_dtype(dtype, names) or dtype)


def _dtype(node: ast.expr, names: Names) -> ast.expr | None:
    """Return a dtype as Numba takes it; None for one that is written so already, or that is not known."""
    value: Any = node.value if isinstance(node, ast.Constant) else names.value_of(node)
    is_other = isinstance(value, str) or any(value is one for one in (bool, int, float))
    return tree(type_name(np.dtype(value).name)) if is_other else None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"np.{name}": partial(_reduced, name) for name in REDUCTIONS},
    **{f"np.{name}": partial(_each, name) for name in ("sort", "cumsum", "cumprod", "flip")},
    **{f"np.{name}": partial(_percentile, name) for name in ("percentile", "quantile", "nanpercentile")},
    **{f"np.{name}": partial(_joined, name) for name in ("concatenate", "stack", "hstack", "vstack", "column_stack")},
    **{f"np.{name}": product for name in ("dot", "matmul")},
    **{f"np.{name}": partial(_array, name) for name in ("array", "asarray")},
    **{
        f"np.{name}": lambda names, x, name=name: names.are(x, ARRAY) and tree(f"X.astype(np.{name})", X=x)
        for name in ("float32", "float64", "int32", "int64", "uint8")
    },
    **dict.fromkeys(("astype", "np.astype"), _astype),  # the method; the function is new in NumPy 2.1
    "np.argsort": _argsort,
    "np.linalg.norm": _norm,
    "np.repeat": lambda names, a, repeats, axis: _of_one_axis("_repeated(X, N, AXIS)", axis, X=a, N=repeats),
    "np.roll": lambda names, a, shift, axis: _of_one_axis("_rolled(X, N, AXIS)", axis, X=a, N=shift),
    "np.meshgrid": lambda names, x, y: tree("_meshgrid(X, Y)", X=x, Y=y),
    "np.pad": _pad,
    "np.linspace": lambda names, start, stop, num, *, dtype: tree(
        "_evenly_spaced(START, STOP, N).astype(DTYPE)", START=start, STOP=stop, N=num, DTYPE=dtype
    ),
    "np.histogram": _histogram,
    "np.unique": _unique,
    "np.tile": _tile,
    "np.select": _select,
    "np.add.at": lambda names, a, indices, b: (
        (names.rank(indices) == 1 or names.are(indices, LIST))
        and tree("_add_at(X, PLACES, Y)", X=a, PLACES=indices, Y=b)
    ),
    "np.einsum": _einsum,
    "np.ndarray": lambda names, shape, dtype=FLOAT: tree(
        "np.empty(SHAPE, DTYPE)", SHAPE=shape, DTYPE=_dtype(dtype, names) or dtype
    ),
    "np.reshape": _reshape,
    "np.random.uniform": partial(_drawn, "uniform", {"low": 0.0, "high": 1.0}),
    "np.random.normal": partial(_drawn, "normal", {"loc": 0.0, "scale": 1.0}),
    "np.random.exponential": partial(_drawn, "exponential", {"scale": 1.0}),
    "np.random.poisson": partial(_drawn, "poisson", {"lam": 1.0}),
    "np.random.randint": lambda names, low, *, size: tree("np.random.randint(0, N, SIZE)", N=low, SIZE=size),
    "abs": lambda names, x: names.are(x, ARRAY) and tree("np.abs(X)", X=x),
    "int": lambda names, x: names.dtype(x).startswith("uint") and cast("int64", x),
    "float": lambda names, x: names.dtype(x) == "float32" and cast("float64", x),
    "reversed": _reversed,
}
"""Function -> its rule."""


# Operators, statements and subscripts.


def matrix_product(node: ast.BinOp, names: Names) -> Any:
    """Return a replacement for `@`."""
    return product(names, node.left, node.right) if isinstance(node.op, ast.MatMult) else None


def without_errstate(node: ast.With, names: Names) -> list[ast.stmt] | None:
    """Return the statements under `np.errstate`, which compiled code ignores; None if it asks for errors or calls."""
    contexts = [one.context_expr for one in node.items if not one.optional_vars]
    functions = [names.value_of(one.func) for one in contexts if isinstance(one, ast.Call)]
    asked = {ast.unparse(option.value) for one in contexts if isinstance(one, ast.Call) for option in one.keywords}
    return node.body if functions == [np.errstate] * len(node.items) and asked <= {"'ignore'", "'warn'"} else None


def unpacked(node: ast.Assign, names: Names) -> Any:
    """Return a replacement for an assignment of an array to several names, which Numba does not unpack."""
    match node:
        case ast.Assign([ast.Tuple(places) as target], ast.Name() | ast.Subscript() as value):
            if names.are(value, ARRAY, LIST):
                items = [tree(f"X[{place}]", X=value) for place in range(len(places))]
                return ast.Assign([target], ast.Tuple(items, ast.Load()))
    return None


def grid_unpacked(node: ast.Assign, names: Names) -> Any:
    """Return a replacement for `y, x = np.mgrid[:h, :w]`, of whole numbers."""
    match node:
        case ast.Assign(
            [ast.Tuple([y, x])],
            ast.Subscript(grid, ast.Tuple([ast.Slice(_, _, None) as rows, ast.Slice(_, _, None) as columns])),
        ) if names.value_of(grid) is np.mgrid:
            ends = [[each.lower or ast.Constant(0), each.upper] for each in (rows, columns)]
            grids = tree("_meshgrid(np.arange(*COLUMNS), np.arange(*ROWS))", ROWS=ends[0], COLUMNS=ends[1])
            return ast.Assign([ast.Tuple([x, y], ast.Store())], grids)
    return None


def index_of_list(node: ast.Subscript, names: Names) -> Any:
    """Return a replacement for a subscript in which a list of numbers is an index."""
    several = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    lists = [isinstance(one, ast.List) or names.are(one, LIST) for one in several]
    if not any(lists):
        return None
    pairs = zip(several, lists, strict=True)
    items = [tree("np.array(X)", X=one) if is_list else one for one, is_list in pairs]
    index = ast.Tuple(items, ast.Load()) if isinstance(node.slice, ast.Tuple) else items[0]
    return ast.Subscript(node.value, index, node.ctx)


# Masks of several axes, which Numba does not take as an index.


def picked(node: ast.Subscript, names: Names) -> Any:
    """Return a replacement for the elements of an array where a mask is true."""
    masked = _masked(node, names) if isinstance(node.ctx, ast.Load) else None
    return masked and tree("_picked(*MASKED)", MASKED=masked)


def put(node: ast.Assign, names: Names) -> Any:
    """Return a replacement for an assignment to such elements."""
    target, *others = node.targets
    masked = _masked(target, names) if isinstance(target, ast.Subscript) and not others else None
    return masked and ast.Expr(tree("_put(*MASKED, VALUES)", MASKED=masked, VALUES=node.value))


def _masked(node: ast.Subscript, names: Names) -> list[ast.expr] | None:
    """Return an array and the mask that is its index; None for an index that Numba takes."""
    mask, *others = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not names.are(node.value, ARRAY) or (names.rank(mask) or 0) < 2 or names.dtype(mask) != "bool":
        return None
    if not others:
        return [node.value, mask]
    is_last = len(others) == 1 and not isinstance(others[0], ast.Slice) and not names.may_be(others[0], ARRAY)
    return [tree("X[..., LAST]", X=node.value, LAST=others[0]), mask] if is_last else None


RULES: dict[type[ast.AST], tuple[Callable[[Any, Names], Any], ...]] = {
    ast.Call: (replace_call, replace_creation, numbers.of_numbers),
    ast.Subscript: (picked, index_of_list),
    ast.BinOp: (matrix_product, numbers.operation),
    ast.UnaryOp: (numbers.sign,),
    ast.AugAssign: (numbers.in_place,),
    ast.Compare: (numbers.comparison,),
    ast.With: (without_errstate,),
    ast.Assign: (put, grid_unpacked, unpacked, numbers.becoming_float),
}
"""The rules of each kind of node, in the order in which they are asked."""
