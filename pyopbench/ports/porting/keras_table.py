"""NumPy's functions as those of `keras.ops` that every backend of Keras has."""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from pyopbench.ports.porting.arguments import Given
from pyopbench.ports.porting.elementwise import LOGICAL
from pyopbench.ports.porting.table import PortEntry, Writer
from pyopbench.ports.porting.typed import joined

KERAS: dict[str, PortEntry] = {}
"""By name, as `names.name_of` returns it."""

UNARY = (
    "negative", "absolute", "sign", "square", "sqrt", "exp", "expm1", "exp2", "log", "log1p", "log2", "log10", "sin",
    "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "floor",
    "ceil", "trunc", "reciprocal", "isnan", "isinf", "isfinite", "logical_not",
)  # fmt: skip
BINARY = (
    "add", "subtract", "multiply", "floor_divide", "power", "maximum", "minimum", "arctan2", "logaddexp", "less",
    "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_xor",
)  # fmt: skip
"""Ufuncs of the same name."""

OTHERWISE = {"rint": "round", "divide": "true_divide", "remainder": "mod", "fabs": "absolute", "radians": "deg2rad"}
"""Ufuncs that Keras has under another name."""

SPECIAL = {"expit": "sigmoid", "erf": "erf", "erfinv": "erfinv"}

REDUCTIONS = ("sum", "prod", "mean", "std", "var", "max", "min", "amax", "amin")
SAME = ("moveaxis", "swapaxes", "expand_dims", "squeeze", "tile", "repeat", "roll", "diagonal", "tril", "triu")
"""Functions of an array and of what is written as it stands."""

AXES = {
    "moveaxis": "a source destination",
    "swapaxes": "a first second",
    "tile": "a reps",
    "repeat": "a repeats axis",
    "roll": "a shift axis",
    "diagonal": "a offset axis1 axis2",
    "tril": "a k",
    "triu": "a k",
}


def _enter(names: str, parameters: str) -> Callable[[Writer], Writer]:
    def enter(write: Writer) -> Writer:
        for name in names.split():
            KERAS[name] = PortEntry(tuple(parameters.split()), write)
        return write

    return enter


def _ufunc(ufunc: str, function: str, parameters: str) -> None:
    names = parameters.split()

    @_enter(f"np.{ufunc}", parameters)
    def write(given: Given) -> str:
        code, nodes = given.code, [given[one] for one in names]
        dtypes = ["bool"] * len(nodes) if ufunc in LOGICAL else code.loop(getattr(np, ufunc), nodes)[0]
        texts = [code.tensor(node, dtype) for node, dtype in zip(nodes, dtypes, strict=True)]
        return f"ops.{function}({joined(texts)})"


for _name in UNARY:
    _ufunc(_name, _name, "x")
for _name in BINARY:
    _ufunc(_name, _name, "x y")
for _name, _function in OTHERWISE.items():
    _ufunc(_name, _function, "x" if _function not in ("true_divide", "mod") else "x y")


def _special(name: str, function: str) -> None:
    @_enter(f"scipy.special.{name}", "x")
    def write(given: Given) -> str:
        return f"ops.{function}({given.code.tensor(given['x'], given.dtype)})"


for _name, _function in SPECIAL.items():
    _special(_name, _function)


def _reduction(name: str, function: str) -> None:
    @_enter(f"np.{name}", "a axis dtype | keepdims")
    def write(given: Given) -> str:
        return given.reduced(f"ops.{function}", given.dtype)


for _name in REDUCTIONS:
    _reduction(_name, _name)


@_enter("np.all np.any", "a axis | keepdims")
def truth(given: Given) -> str:
    """Return whether all or any are true."""
    return given.reduced(f"ops.{given.name.removeprefix('np.')}", "bool")


@_enter("np.argmax np.argmin np.count_nonzero", "a axis")
def places(given: Given) -> str:
    """Return places or counts, which are int64 in NumPy."""
    found = given.reduced(f"ops.{given.name.removeprefix('np.')}", "")
    return f'ops.cast({found}, "int64")'


@_enter("np.cumsum np.cumprod", "a axis")
def running(given: Given) -> str:
    """Return running sums or products."""
    return given.reduced(f"ops.{given.name.removeprefix('np.')}", given.dtype)


@_enter("np.sort np.argsort", "a axis")
def ordered(given: Given) -> str:
    """Return elements or their places in ascending order."""
    text = given.reduced(f"ops.{given.name.removeprefix('np.')}", "")
    return text if given.name == "np.sort" else f'ops.cast({text}, "int64")'


def _same(name: str) -> None:
    parameters = AXES.get(name, "a axis")

    @_enter(f"np.{name}", parameters)
    def write(given: Given) -> str:
        more = [given.option(one) if one.startswith("axis") else _written(given, one) for one in parameters.split()[1:]]
        return f"ops.{name}({joined([given.code.tensor(given['a']), *more])})"


def _written(given: Given, name: str) -> str:
    node = given.get(name)
    return "" if node is None else given.code.write(node)


for _name in SAME:
    _same(_name)


@_enter("np.reshape", "a *shape")
def reshape(given: Given) -> str:
    """Return the elements in another shape."""
    shape = given["shape"]
    text = given.code.write(shape)
    if isinstance(shape, ast.Tuple):
        sizes = [given.code.write(one) for one in shape.elts]
        text = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
    elif not any(one.kind == "sequence" for one in given.code.seen(shape)):
        text = f"({text},)"
    return f"ops.reshape({given.code.tensor(given['a'])}, {text})"


@_enter("np.ravel np.flatten", "a")
def ravel(given: Given) -> str:
    """Return the elements in a row."""
    return f"ops.reshape({given.code.tensor(given['a'])}, (-1,))"


@_enter("np.transpose", "a *axes")
def transpose(given: Given) -> str:
    """Return the axes in another order."""
    axes = given.get("axes")
    order = "" if axes is None else f"({', '.join(map(given.code.write, getattr(axes, 'elts', [axes])))})"
    return f"ops.transpose({joined([given.code.tensor(given['a']), order])})"


@_enter("np.flip np.fliplr np.flipud", "a axis")
def flip(given: Given) -> str:
    """Return elements in reverse order."""
    axis = {"np.fliplr": "axis=1", "np.flipud": "axis=0"}.get(given.name) or given.option("axis")
    return f"ops.flip({joined([given.code.tensor(given['a']), axis])})"


@_enter("np.concatenate np.stack np.hstack np.vstack", "arrays axis")
def together(given: Given) -> str:
    """Return arrays put together."""
    items = given.code.items(given["arrays"], given.dtype)
    return f"ops.{given.name.removeprefix('np.')}({joined([items, given.option('axis')])})"


@_enter("np.where", "condition x y")
def where(given: Given) -> str:
    """Return elements of one array or another."""
    if given.get("x") is None:
        raise given.code.refusal(given.node, "`np.where(condition)` has a number of results that depends on values")
    x, y = (given.code.tensor(given[one], given.dtype) for one in ("x", "y"))
    return f"ops.where({given.code.tensor(given['condition'], 'bool')}, {x}, {y})"


@_enter("np.clip", "a a_min a_max | min max")
def clip(given: Given) -> str:
    """Return elements within bounds."""
    text = given.code.tensor(given["a"], given.dtype)
    bounds = (("maximum", given.get("a_min") or given.get("min")), ("minimum", given.get("a_max") or given.get("max")))
    for function, bound in bounds:
        text = text if bound is None else f"ops.{function}({text}, {given.code.operand(bound, given.dtype)})"
    return text


@_enter("np.matmul np.dot np.outer np.inner", "x y")
def product(given: Given) -> str:
    """Return products of matrices and vectors."""
    (first, second), _ = given.code.loop(np.multiply, [given["x"], given["y"]])
    texts = given.code.tensor(given["x"], first), given.code.tensor(given["y"], second)
    return f"ops.{given.name.removeprefix('np.')}({joined(texts)})"


@_enter("np.take", "a indices axis")
def take(given: Given) -> str:
    """Return elements at places."""
    parts = [given.code.tensor(given["a"]), given.code.tensor(given["indices"]), given.option("axis")]
    return f"ops.take({joined(parts)})"


@_enter("np.linalg.norm", "a ord axis | keepdims")
def norm(given: Given) -> str:
    """Return norms of vectors or matrices."""
    text = given.code.tensor(given["a"], given.dtype)
    return f"ops.norm({joined([text, *(given.option(one) for one in ('ord', 'axis', 'keepdims'))])})"


@_enter("scipy.special.logsumexp scipy.special.softmax scipy.special.log_softmax", "a axis")
def softmax(given: Given) -> str:
    """Return the logarithm of a sum of exponentials, or exponentials over their sum."""
    axis = given.option("axis")
    if not axis:
        raise given.code.refusal(given.node, f"`{given.name}` over all axes is not supported", "give it an axis")
    return f"ops.{given.name.rpartition('.')[2]}({given.code.tensor(given['a'], given.dtype)}, {axis})"


@_enter("np.zeros_like np.ones_like", "a")
def filled(given: Given) -> str:
    """Return an array of zeros or ones."""
    return f"ops.{given.name.removeprefix('np.')}({given.code.tensor(given['a'])})"


@_enter("len", "a")
def length(given: Given) -> str:
    """Return the size of the first axis, a number."""
    given.code.fixed_shapes = True
    return f"{given.code.atom(given['a'])}.shape[0]"


@_enter("np.asarray np.array np.copy", "a dtype")
def array(given: Given) -> str:
    """Return the array itself: none is ever written to."""
    return given.code.tensor(given["a"], given.dtype)


KERAS["abs"] = KERAS["np.absolute"]
