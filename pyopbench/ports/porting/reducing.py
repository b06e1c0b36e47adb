"""NumPy's reductions, running sums and orders as TensorFlow's."""

from __future__ import annotations

import ast

from pyopbench.ports.porting.arguments import Given
from pyopbench.ports.porting.table import written
from pyopbench.ports.porting.typed import joined

SUMS = {"sum": "tf.reduce_sum", "prod": "tf.reduce_prod", "mean": "tf.reduce_mean", "std": "tf.math.reduce_std",
        "var": "tf.math.reduce_variance"}  # fmt: skip
EXTREMES = {"max": "tf.reduce_max", "amax": "tf.reduce_max", "min": "tf.reduce_min", "amin": "tf.reduce_min"}
TRUTHS = {"all": "tf.reduce_all", "any": "tf.reduce_any"}


def _reduced(given: Given, function: str, dtype: str) -> str:
    text = given.code.tensor(given["a"], dtype)
    return f"{function}({joined([text, given.option('axis'), given.option('keepdims')])})"


def _sum(name: str, function: str) -> None:
    @written(f"np.{name}", "a axis dtype | keepdims ddof")
    def write(given: Given) -> str:
        ddof = given.get("ddof")
        if ddof is not None:
            if name not in ("std", "var"):
                raise given.code.refusal(given.node, f"`np.{name}(..., ddof=...)` is no option of it")
            return _unbiased(given, name, ddof)
        return _reduced(given, function, given.dtype)


def _unbiased(given: Given, name: str, ddof: ast.expr) -> str:
    axis = given.get("axis")
    text = given.code.tensor(given["a"], given.dtype)
    given.code.use("_variance")
    less = given.code.write(ddof)
    axes = "None" if axis is None else given.code.write(axis)
    found = f"_variance({joined([text, axes, less, given.option('keepdims')])})"
    return f"tf.sqrt({found})" if name == "std" else found


def _extreme(name: str, function: str) -> None:
    @written(f"np.{name}", "a axis | keepdims")
    def write(given: Given) -> str:
        return _reduced(given, function, given.dtype)


def _truth(name: str, function: str) -> None:
    @written(f"np.{name}", "a axis | keepdims")
    def write(given: Given) -> str:
        return _reduced(given, function, "bool")


for _name, _function in SUMS.items():
    _sum(_name, _function)
for _name, _function in EXTREMES.items():
    _extreme(_name, _function)
for _name, _function in TRUTHS.items():
    _truth(_name, _function)


@written("np.count_nonzero", "a axis | keepdims")
def count_nonzero(given: Given) -> str:
    """Return how many are not 0."""
    return _reduced(given, "tf.math.count_nonzero", "")


@written("np.nansum", "a axis | keepdims")
def nansum(given: Given) -> str:
    """Return sums without what is NaN."""
    given.code.use("_without_nan")
    text = f"_without_nan({given.code.tensor(given['a'], given.dtype)})"
    return f"tf.reduce_sum({joined([text, given.option('axis'), given.option('keepdims')])})"


@written("np.argmax np.argmin", "a axis")
def place_of_extreme(given: Given) -> str:
    """Return where the largest or smallest is, the first of equal ones."""
    function = f"tf.{given.name.removeprefix('np.')}"
    text = given.code.tensor(given["a"])
    axis = given.get("axis")
    if axis is None:
        flat = text if given.code.rank(given["a"]) == 1 else f"tf.reshape({text}, [-1])"
        return f"{function}({flat}, axis=0)"
    return f"{function}({text}, axis={given.code.write(axis)})"


@written("np.argsort", "a axis kind")
def argsort(given: Given) -> str:
    """Return places in ascending order; equal elements in the order in which they stand."""
    found = joined([given.code.tensor(given["a"]), given.option("axis"), "stable=True"])
    return f"tf.cast(tf.argsort({found}), tf.int64)"


@written("np.sort", "a axis kind")
def sort(given: Given) -> str:
    """Return elements in ascending order."""
    return f"tf.sort({joined([given.code.tensor(given['a']), given.option('axis')])})"


@written("np.cumsum np.cumprod", "a axis dtype")
def running(given: Given) -> str:
    """Return running sums or products."""
    function = f"tf.{given.name.removeprefix('np.')}" if given.name == "np.cumsum" else "tf.math.cumprod"
    text, axis = given.code.tensor(given["a"], given.dtype), given.get("axis")
    if axis is None and given.code.rank(given["a"]) != 1:
        text = f"tf.reshape({text}, [-1])"
    return f"{function}({joined([text, given.option('axis')])})"


@written("np.median", "a axis | keepdims")
def median(given: Given) -> str:
    """Return medians."""
    return _quantile(given, "0.5")


@written("np.percentile np.quantile np.nanpercentile np.nanquantile np.nanmedian", "a q axis | keepdims")
def quantile(given: Given) -> str:
    """Return quantiles, with linear interpolation."""
    if "nan" in given.name:
        raise given.code.refusal(given.node, f"`{given.name}` has no counterpart in TensorFlow")
    q = given.code.write(given["q"])
    return _quantile(given, f"np.asarray({q}) / 100" if "percentile" in given.name else q)


def _quantile(given: Given, q: str) -> str:
    given.code.use("_quantile")
    text = given.code.tensor(given["a"], given.dtype)
    return f"_quantile({joined([text, q, given.option('axis'), given.option('keepdims')])})"


@written("np.searchsorted", "a v side")
def searchsorted(given: Given) -> str:
    """Return where elements would have to be put in."""
    dtype = given.code.loop_dtype(given["a"], given["v"])
    sorted_, values = given.code.tensor(given["a"], dtype), given.code.tensor(given["v"], dtype)
    rank = given.code.rank(given["v"])
    flat = values if rank == 1 else f"tf.reshape({values}, [-1])"
    found = f"tf.searchsorted({joined([sorted_, flat, given.option('side')])}, out_type=tf.int64)"
    return found if rank == 1 else f"tf.reshape({found}, tf.shape({values}))"


@written("np.bincount", "x weights minlength")
def bincount(given: Given) -> str:
    """Return how often each whole number is there, or the sum of its weights."""
    given.code.use("_bincount")
    weights = given.get("weights")
    weight = "" if weights is None else f"weights={given.code.tensor(weights, 'float64')}"
    return f"_bincount({joined([given.code.tensor(given['x'], 'int64'), weight, given.option('minlength')])})"


@written("np.unique", "ar return_index return_inverse return_counts")
def unique(given: Given) -> str:
    """Return the elements in ascending order, each once."""
    asked = [one for one in ("return_index", "return_inverse", "return_counts") if given.get(one) is not None]
    text = given.code.tensor(given["ar"])
    if "return_index" in asked or any(not _is_true(given[one]) for one in asked):
        raise given.code.refusal(given.node, "`np.unique(..., return_index=...)` has no counterpart in TensorFlow")
    if asked:
        given.code.use("_unique")
        picked = {"return_inverse": "[:2]", "return_counts": "[::2]"}[asked[0]] if len(asked) == 1 else ""
        return f"_unique({text}){picked}"
    return f"tf.unique(tf.sort(tf.reshape({text}, [-1]))).y"


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


@written("np.nanmean", "a axis | keepdims")
def nanmean(given: Given) -> str:
    """Return means of what is not NaN."""
    given.code.use("_nan_mean")
    text = given.code.tensor(given["a"], given.dtype)
    return f"_nan_mean({joined([text, given.option('axis'), given.option('keepdims')])})"


@written("scipy.special.logsumexp", "a axis | keepdims")
def logsumexp(given: Given) -> str:
    """Return the logarithm of the sum of exponentials."""
    return _reduced(given, "tf.reduce_logsumexp", given.dtype)


@written("scipy.special.softmax scipy.special.log_softmax", "x axis")
def softmax(given: Given) -> str:
    """Return exponentials over their sum."""
    function = f"tf.nn.{given.name.removeprefix('scipy.special.')}"
    if given.get("axis") is None:
        raise given.code.refusal(given.node, f"`{given.name}` over all axes is not written", "give it an axis")
    return f"{function}({joined([given.code.tensor(given['x'], given.dtype), given.option('axis')])})"
