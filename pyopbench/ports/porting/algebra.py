"""NumPy's products, linear algebra and transforms as TensorFlow's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

import numpy as np

from pyopbench.ports.porting.arguments import Given
from pyopbench.ports.porting.operators import write_product
from pyopbench.ports.porting.table import written
from pyopbench.ports.porting.typed import joined

SAME = {
    "inv": "tf.linalg.inv", "det": "tf.linalg.det", "cholesky": "tf.linalg.cholesky", "eigvalsh": "tf.linalg.eigvalsh",
    "eigh": "tf.linalg.eigh", "pinv": "tf.linalg.pinv", "slogdet": "tf.linalg.slogdet",
}  # fmt: skip
FFTS = {"fft": "tf.signal.fft", "ifft": "tf.signal.ifft", "fft2": "tf.signal.fft2d", "ifft2": "tf.signal.ifft2d"}


@written("np.matmul np.dot", "a b")
def product(given: Given) -> str:
    """Return the product of matrices and vectors."""
    code = given.code
    if given.name == "np.dot" and (code.rank(given["b"]) > 2 or 0 in (code.rank(given["a"]), code.rank(given["b"]))):
        raise code.refusal(given.node, "`np.dot` of these ranks is not written", "use @, or *")
    return write_product(code, given["a"], given["b"])


@written("np.outer", "a b")
def outer(given: Given) -> str:
    """Return all products of two vectors' elements."""
    code, dtype = given.code, given.dtype
    if code.rank(given["a"]) != 1 or code.rank(given["b"]) != 1:
        raise code.refusal(given.node, "`np.outer` of what is no vector is not written")
    return f"tf.tensordot({code.tensor(given['a'], dtype)}, {code.tensor(given['b'], dtype)}, 0)"


@written("np.tensordot", "a b axes")
def tensordot(given: Given) -> str:
    """Return sums of products over axes."""
    code, dtype = given.code, given.dtype
    axes = "2" if given.get("axes") is None else code.write(given["axes"])
    return f"tf.tensordot({code.tensor(given['a'], dtype)}, {code.tensor(given['b'], dtype)}, {axes})"


@written("np.einsum", "subscripts a b c d")
def einsum(given: Given) -> str:
    """Return sums of products by Einstein's convention."""
    code = given.code
    operands = [code.tensor(node, given.dtype) for name in "abcd" if (node := given.get(name))]
    return f"tf.einsum({joined([code.write(given['subscripts']), *operands])})"


@written("np.cross", "a b")
def cross(given: Given) -> str:
    """Return cross products of vectors in space."""
    return (
        f"tf.linalg.cross({given.code.tensor(given['a'], given.dtype)}, {given.code.tensor(given['b'], given.dtype)})"
    )


@written("np.linalg.norm", "x ord axis keepdims")
def norm(given: Given) -> str:
    """Return Euclidean lengths."""
    if given.get("ord") is not None:
        raise given.code.refusal(given.node, "`np.linalg.norm(..., ord=...)` is not written", "write the norm")
    text = given.code.tensor(given["x"], given.dtype)
    return f"tf.norm({joined([text, given.option('axis'), given.option('keepdims')])})"


@written("np.linalg.solve", "a b")
def solve(given: Given) -> str:
    """Return the solutions of linear equations."""
    code, dtype = given.code, given.dtype
    a, b = code.tensor(given["a"], dtype), code.tensor(given["b"], dtype)
    if code.rank(given["b"]) == 1:
        return f"tf.linalg.solve({a}, {b}[:, None])[:, 0]"
    return f"tf.linalg.solve({a}, {b})"


def _same(name: str, function: str) -> None:
    @written(f"np.linalg.{name}", "a")
    def write(given: Given) -> str:
        (dtype,) = given.code.loop(np.sqrt, [given["a"]])[0]
        return f"{function}({given.code.tensor(given['a'], dtype)})"


for _name, _function in SAME.items():
    _same(_name, _function)


@written("np.linalg.svd", "a full_matrices")
def svd(given: Given) -> str:
    """Return the singular value decomposition."""
    given.code.use("_svd")
    (dtype,) = given.code.loop(np.sqrt, [given["a"]])[0]
    return f"_svd({joined([given.code.tensor(given['a'], dtype), given.option('full_matrices')])})"


@written("np.correlate np.convolve", "a v mode")
def correlate(given: Given) -> str:
    """Return the cross-correlation, or the convolution, of two vectors."""
    code, dtype, mode = given.code, given.dtype, given.get("mode")
    sizes = [one.shape[0] for name in ("a", "v") for one in code.seen(given[name]) if one.shape]
    if len(sizes) < 2 or None in sizes or _lengths(given, "a", min) < _lengths(given, "v", max):
        raise code.refusal(given.node, f"`{given.name}` whose second vector may be the longer one is not written")
    code.use("_correlated")
    usual = '"valid"' if given.name == "np.correlate" else '"full"'
    second = code.tensor(given["v"], dtype) + ("" if given.name == "np.correlate" else "[::-1]")
    return f"_correlated({code.tensor(given['a'], dtype)}, {second}, {usual if mode is None else code.write(mode)})"


def _lengths(given: Given, name: str, choose: Callable[[Iterable[int]], int]) -> int:
    return choose(one.shape[0] or 0 for one in given.code.seen(given[name]) if one.shape)


@written("np.trace np.diagonal np.diag", "a")
def diagonal(given: Given) -> str:
    """Return what is on the diagonal, its sum, or a matrix with that on it."""
    code, text = given.code, given.code.tensor(given["a"])
    if given.name == "np.trace":
        return f"tf.linalg.trace({text})"
    if given.name == "np.diag" and code.rank(given["a"]) == 1:
        return f"tf.linalg.diag({text})"
    return f"tf.linalg.diag_part({text})"


@written("np.triu np.tril", "m k")
def triangle(given: Given) -> str:
    """Return a matrix without what is below or above its diagonal."""
    if given.get("k") is not None:
        raise given.code.refusal(given.node, f"`{given.name}(..., k=...)` is not written", "use np.where")
    band = "0, -1" if given.name == "np.triu" else "-1, 0"
    return f"tf.linalg.band_part({given.code.tensor(given['m'])}, {band})"


@written("np.fft.rfft", "a n axis")
def rfft(given: Given) -> str:
    """Return the Fourier transform of real numbers along the last axis."""
    code, n, axis = given.code, given.get("n"), given.get("axis")
    last = isinstance(axis, ast.UnaryOp) and ast.unparse(axis) == "-1"
    if axis is not None and not last:
        raise code.refusal(given.node, "`np.fft.rfft` along an axis that is not the last is not written", "move it")
    real = "float64" if given.dtype == "complex128" else "float32"
    length = "" if n is None else f"fft_length=[{code.write(n)}]"
    return f"tf.signal.rfft({joined([code.tensor(given['a'], real), length])})"


def _fft(name: str, function: str) -> None:
    @written(f"np.fft.{name}", "a")
    def write(given: Given) -> str:
        return f"{function}({given.code.tensor(given['a'], given.dtype)})"


for _name, _function in FFTS.items():
    _fft(_name, _function)


@written("np.real np.imag np.angle", "x")
def part(given: Given) -> str:
    """Return a part of complex numbers."""
    return f"tf.math.{given.name.removeprefix('np.')}({given.code.tensor(given['x'])})"
