"""NumPy's products and norms that TensorFlow has under a name of its own."""

from __future__ import annotations

from pyopbench.ports.porting.arguments import Given
from pyopbench.ports.porting.operators import write_product
from pyopbench.ports.porting.table import written
from pyopbench.ports.porting.typed import joined


@written("np.matmul np.dot", "a b")
def product(given: Given) -> str | None:
    """Return the product of matrices and vectors."""
    code = given.code
    if given.name == "np.dot" and (code.rank(given["b"]) > 2 or 0 in (code.rank(given["a"]), code.rank(given["b"]))):
        return None
    return write_product(code, given["a"], given["b"])


@written("np.linalg.norm", "x | axis keepdims")
def norm(given: Given) -> str | None:
    """Return Euclidean lengths."""
    if given.dtype not in ("float32", "float64"):
        return None
    text = given.code.tensor(given["x"], given.dtype)
    return f"tf.norm({joined([text, given.option('axis'), given.option('keepdims')])})"
