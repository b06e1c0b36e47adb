"""A NumPy body runs on keras.ops alone, with NumPy's values and dtypes, and says what keras.ops has not got."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy import exp
from numpy.linalg import norm

from pyopbench.ports.keras_ops import available
from pyopbench.ports.keras_ops.lacking import Lacking

if available.why_no_keras_ops():
    pytest.skip(str(available.why_no_keras_ops()), allow_module_level=True)

from keras import ops

from pyopbench.ports.keras_ops import names
from pyopbench.ports.keras_ops.array import CALLS, as_keras
from pyopbench.ports.keras_ops.names import on_keras

X = (np.arange(12.0).reshape(3, 4) - 5) / 4
N = np.array([[3, -1, 4, 1], [-5, 9, 2, -6], [5, 3, -5, 8]], np.int32)
F = X.astype(np.float32)
WEIGHTS = np.array([0.5, 1.0, 1.5, 2.0])


def helper(x: Any, *, scale: float = 2.0) -> Any:
    return np.tanh(x) * scale


def exponential(x: Any) -> Any:
    return np.exp(x)


def reduced(x: Any) -> Any:
    return np.add.reduce(x)


def normalized(x: Any) -> Any:
    x -= x.mean(axis=1, keepdims=True)
    return x / (np.std(x, axis=1, keepdims=True) + 1e-6)


BODIES: dict[str, Callable[..., Any]] = {
    "imported by name": lambda x: exp(x) + norm(x, axis=1, keepdims=True),
    "helper": lambda x: helper(x, scale=3.0) + helper(x),
    "constant of the module": lambda x: x @ WEIGHTS,
    "in place": normalized,
    "methods": lambda x: x.T.reshape(-1).astype(np.float32).sum() + x.ravel()[0].astype("float32"),
    "comparisons": lambda x: np.where((x > 0) & ~(x > 1), x, -x),
    "mask of a number": lambda x: np.where(x > 0, 1, 0),
    "slices": lambda x: x[:, ::-1][1:, :2] + x[0, 0],
    "new axis": lambda x: x[:, None] * x[None, :, :1],
    "places": lambda x: x[[2, 0]] + x[:, np.array([1, 1, 0, 3])][:2],
    "points": lambda x: x[np.array([0, -1]), np.array([1, 2])],
    "several outputs": lambda x: (x.max(axis=0), np.argmin(x, axis=1), x.shape[0]),
    "joined": lambda x: np.concatenate([x, np.zeros_like(x)], axis=1) + np.hstack([x, x]),
    "stacked rows": lambda x: np.stack([row * 2 for row in x]),
    "nested list": lambda x: np.array([[x[0, 0], 1.0], [x[1, 1], x[2, 2]]]),
    "clip": lambda x: np.clip(x, -0.5, 0.5).clip(0, None),
    "pad": lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=7),
    "einsum": lambda x: np.einsum("ij,kj->ik", x, x),
    "sorted": lambda x: np.sort(x, axis=1) + np.argsort(-x, axis=1),
    "quantile": lambda x: np.percentile(x, 25, axis=0),
    "constants": lambda x: x * np.pi + np.arange(4) + np.float32(2),
    "cumulative": lambda x: np.cumsum(x, axis=1) + np.cumprod(x, axis=0),
    "powers": lambda x: abs(x) ** 0.5 + x**2,
}


def check(body: Callable[..., Any], *inputs: Any) -> None:
    """Hold what a graph of the body gives against the body itself: shapes, dtypes and values."""
    given = [np.array(one) for one in inputs]
    expected = body(*given)
    found = tf.function(on_keras(body), autograph=False)(*map(tf.constant, inputs))
    several = isinstance(expected, tuple)
    for got, one in zip(found if several else (found,), expected if several else (expected,), strict=True):
        array = np.asarray(one)
        assert (got.dtype.name, tuple(got.shape)) == (array.dtype.name, array.shape)
        np.testing.assert_allclose(got, array, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("body", BODIES.values(), ids=[*BODIES])
def test_a_body_gives_numpys_values(body: Callable[..., Any]) -> None:
    check(body, X)


@pytest.mark.parametrize(
    "body",
    [
        lambda x: x / 2,
        lambda x: x + 0.5,
        lambda x: x * np.float32(2),
        lambda x: x.mean(axis=0),
        lambda x: x.sum(),
        exponential,
        lambda x: np.floor(x) // 2 + x % 3,
        lambda x: np.sum(x > 0),
        lambda x: np.power(x, 2),
        lambda x: (x == 3) | (x < 0),
        lambda x: np.var(x, axis=1),
        lambda x: np.concatenate([x, np.ones((1, 4))]),
        lambda x: x - np.array([1, 2, 3, 4], np.int64),
    ],
)
@pytest.mark.parametrize("inputs", [N, N.astype(np.int64), F], ids=["int32", "int64", "float32"])
def test_dtypes_are_numpys(body: Callable[..., Any], inputs: Any) -> None:
    """Keras keeps int32 in sums and takes int64 with float32 for float32, where NumPy does not."""
    check(body, inputs)


@pytest.mark.parametrize("inputs", [N, N.astype(np.int64)], ids=["int32", "int64"])
def test_bits_are_numpys(inputs: Any) -> None:
    check(lambda x: (x & 3) | (x << 1) ^ ~x, inputs)


LACKING: dict[str, tuple[Callable[..., Any], str]] = {
    "no counterpart": (lambda x: np.linalg.eigvals(x[:3, :3]), "np.linalg.eigvals"),
    "option": (lambda x: np.sum(x, where=x > 0), "np.sum(..., where=...)"),
    "method": (lambda x: x.tolist(), "x.tolist"),
    "assignment": (lambda x: x.__setitem__(0, 1.0), "x[...] = value"),
    "mask": (lambda x: x[x > 0], "x[mask]"),
    "padding": (lambda x: np.pad(x, 1, mode="symmetric"), "np.pad(..., mode='symmetric')"),
    "value": (lambda x: x if x[0, 0] > 0 else -x, "if or while"),
    "number": (lambda x: float(x[0, 0]) * x, "float(x)"),
    "numpys own": (reduced, "np.add.reduce"),
}


@pytest.mark.parametrize(("body", "missing"), LACKING.values(), ids=[*LACKING])
def test_what_keras_has_not_got_is_named(body: Callable[..., Any], missing: str) -> None:
    with pytest.raises(Lacking) as refused:
        tf.function(on_keras(body), autograph=False)(tf.constant(X))
    assert refused.value.missing == missing


def test_clip_takes_the_names_of_newer_numpy() -> None:
    found = CALLS["clip"](as_keras(X), min=-0.5, max=0.5)
    np.testing.assert_array_equal(found.tensor, np.clip(X, -0.5, 0.5))


def test_what_no_array_has_is_no_attribute() -> None:
    assert not hasattr(as_keras(X), "is_tensor_like")


def test_random_numbers_are_refused() -> None:
    with pytest.raises(Lacking) as refused:
        tf.function(on_keras(lambda x: x + np.random.default_rng(0).random(3)), autograph=False)(tf.constant(X))
    assert refused.value.missing == "np.random"


def test_nothing_but_public_functions_of_keras_ops_is_called() -> None:
    """What the port says of JAX and PyTorch hangs on it: no module of it imports TensorFlow or a backend."""
    package = names.__name__.rpartition(".")[0]
    modules = [module for name, module in sys.modules.items() if name.startswith(f"{package}.")]
    assert len(modules) >= 6
    for module in modules:
        taken = {value.__name__ for value in vars(module).values() if type(value) is type(sys)}
        assert not {one for one in taken if one.startswith(("tensorflow", "keras")) and one != ops.__name__}


FILES = ("numpy", "core", "linalg", "math")
WITHOUT_BACKEND = {"get_item", "dtype"}
"""Functions of keras.ops that are the same whatever the backend: `x[key]`, and the name of a dtype."""


def words_of(path: Path) -> set[str]:
    """Return the texts and the attributes in a source: what can be the name of a function that it calls."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    texts = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return texts | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def functions_of(folder: Path) -> dict[str, ast.FunctionDef]:
    trees = [ast.parse((folder / f"{name}.py").read_text(encoding="utf-8")) for name in FILES]
    return {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_what_is_called_is_there_on_other_backends(backend: str) -> None:
    """Read off Keras' own sources, because neither JAX nor PyTorch is installed here."""
    home = Path(ops.__file__).parents[1] / "src"
    words = set().union(*map(words_of, Path(str(names.__file__)).parent.glob("*.py")))
    called = words & functions_of(home / "ops").keys() - WITHOUT_BACKEND
    assert len(called) > 100
    there = functions_of(home / "backend" / backend)
    assert called <= there.keys()
    # Of one that a backend has not got, all that there is behind its docstring is an exception.
    assert not [name for name in called if isinstance(there[name].body[-1], ast.Raise)]


def test_the_gradient_is_that_of_the_body() -> None:
    port = tf.function(on_keras(lambda x: np.sum(np.exp(x) ** 2)), autograph=False)
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = port(x)
    np.testing.assert_allclose(tape.gradient(value, x), 2 * np.exp(2 * X))


@pytest.mark.parametrize(
    ("installed", "backend", "says"),
    [("2.15.0", "", "here is Keras 2.15.0"), ("3.5.0", "jax", "Keras runs on jax here"), ("3.5.0", "", None)],
)
def test_where_keras_3_is_not_there_the_reason_is_told(
    installed: str, backend: str, says: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(available, "version", lambda name: installed)
    monkeypatch.setenv("KERAS_BACKEND", backend)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    reason = available.why_no_keras_ops()
    assert reason is None if says is None else says in str(reason)


def test_the_backend_of_the_settings_of_keras_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "keras.json").write_text('{"backend": "torch"}', encoding="utf-8")
    assert "torch" in str(available.why_no_keras_ops())
