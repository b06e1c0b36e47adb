"""NumPy's reductions, running sums, orders and products as TensorFlow's."""

from __future__ import annotations

from pyopbench.ports.porting.arguments import Given
from pyopbench.ports.porting.operators import write_product
from pyopbench.ports.porting.table import written
from pyopbench.ports.porting.typed import joined

SUMS = {"sum": "tf.reduce_sum", "prod": "tf.reduce_prod", "mean": "tf.reduce_mean", "std": "tf.math.reduce_std",
        "var": "tf.math.reduce_variance"}  # fmt: skip
EXTREMES = {"max": "tf.reduce_max", "amax": "tf.reduce_max", "min": "tf.reduce_min", "amin": "tf.reduce_min"}
TRUTHS = {"all": "tf.reduce_all", "any": "tf.reduce_any"}


def _sum(name: str, function: str) -> None:
    @written(f"np.{name}", "a axis dtype | keepdims")
    def write(given: Given) -> str | None:
        if given.dtype.startswith("float") and given.code.dtype(given["a"]).startswith("complex"):
            return None  # a variance is real, and a cast of the complex numbers would lose their imaginary parts
        return given.reduced(function, given.dtype)


def _extreme(name: str, function: str) -> None:
    @written(f"np.{name}", "a axis | keepdims")
    def write(given: Given) -> str | None:
        # A compiled reduction of floats may pass over NaN.
        return given.reduced(function, given.dtype) if _is_whole(given) else None


def _is_whole(given: Given) -> bool:
    return "int" in given.code.dtype(given["a"])


def _truth(name: str, function: str) -> None:
    @written(f"np.{name}", "a axis | keepdims")
    def write(given: Given) -> str:
        return given.reduced(function, "bool")


for _name, _function in SUMS.items():
    _sum(_name, _function)
for _name, _function in EXTREMES.items():
    _extreme(_name, _function)
for _name, _function in TRUTHS.items():
    _truth(_name, _function)


@written("np.count_nonzero", "a axis | keepdims")
def count_nonzero(given: Given) -> str:
    """Return how many are not 0."""
    return given.reduced("tf.math.count_nonzero", "")


@written("np.argmax np.argmin", "a axis")
def place_of_extreme(given: Given) -> str | None:
    """Return where the largest or smallest is, the first of equal ones."""
    if not _is_whole(given):
        return None
    function = f"tf.{given.name.removeprefix('np.')}"
    text = given.code.tensor(given["a"])
    axis = given.get("axis")
    if axis is None:
        flat = text if given.code.rank(given["a"]) == 1 else f"tf.reshape({text}, [-1])"
        return f"{function}({flat}, axis=0)"
    return f"{function}({text}, axis={given.code.write(axis)})"


@written("np.argsort", "a axis | kind")
def argsort(given: Given) -> str | None:
    """Return places in ascending order; equal elements in the order in which they stand."""
    if not _is_whole(given) or _is_flat(given):
        return None
    found = joined([given.code.tensor(given["a"]), given.option("axis"), "stable=True"])
    return f"tf.cast(tf.argsort({found}), tf.int64)"


def _is_flat(given: Given) -> bool:
    """Is the axis given as None?"""
    return given.get("axis") is None and "axis" in given.by_name


@written("np.sort", "a axis | kind")
def sort(given: Given) -> str | None:
    """Return elements in ascending order."""
    if not _is_whole(given) or _is_flat(given):
        return None
    return f"tf.sort({joined([given.code.tensor(given['a']), given.option('axis')])})"


@written("np.cumsum np.cumprod", "a axis dtype")
def running(given: Given) -> str:
    """Return running sums or products."""
    function = f"tf.{given.name.removeprefix('np.')}" if given.name == "np.cumsum" else "tf.math.cumprod"
    text, axis = given.code.tensor(given["a"], given.dtype), given.get("axis")
    if axis is None and given.code.rank(given["a"]) != 1:
        text = f"tf.reshape({text}, [-1])"
    return f"{function}({joined([text, given.option('axis')])})"


@written("scipy.special.logsumexp", "a axis | keepdims")
def logsumexp(given: Given) -> str:
    """Return the logarithm of the sum of exponentials."""
    return given.reduced("tf.reduce_logsumexp", given.dtype)


@written("scipy.special.softmax scipy.special.log_softmax", "x axis")
def softmax(given: Given) -> str | None:
    """Return exponentials over their sum."""
    function = f"tf.nn.{given.name.removeprefix('scipy.special.')}"
    if given.get("axis") is None:
        return None
    return f"{function}({joined([given.code.tensor(given['x'], given.dtype), given.option('axis')])})"


@written("np.linalg.norm", "x | axis keepdims")
def norm(given: Given) -> str | None:
    """Return Euclidean lengths."""
    if given.dtype not in ("float32", "float64") or given.code.dtype(given["x"]).startswith("complex"):
        return None
    text = given.code.tensor(given["x"], given.dtype)
    return f"tf.norm({joined([text, given.option('axis'), given.option('keepdims')])})"


@written("np.matmul np.dot", "a b")
def product(given: Given) -> str | None:
    """Return the product of matrices and vectors."""
    code = given.code
    if given.name == "np.dot" and (code.rank(given["b"]) > 2 or 0 in (code.rank(given["a"]), code.rank(given["b"]))):
        return None
    return write_product(code, given["a"], given["b"])
