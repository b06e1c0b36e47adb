"""Ports to `keras.ops` as source: their own tests pass, TensorFlow is not called, and what Keras lacks is refused."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from pyopbench.ports.porting import keras_code, keras_table
from pyopbench.ports.porting.keras_code import why_no_keras_ops
from pyopbench.ports.porting.refusal import CannotPort
from written_ports import CORPUS, body_of, lines_of, run_its_test, write, write_source

pytestmark = pytest.mark.skipif(bool(why_no_keras_ops()), reason="there is no keras.ops")

MATRIX, VECTOR, WHOLE = "rng.random((4, 3), dtype=np.float32)", "rng.random(5)", "np.arange(5)"


@pytest.mark.parametrize("body", ["losses/dice", "losses/pinball", "geometry/haversine", "augmentation/mixup"])
def test_a_body_of_the_corpus_passes_its_test(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write(str(CORPUS / f"{body}.py"), to="keras_ops")
    assert {"from keras import ops"} <= lines_of(made.port)
    assert "tensorflow" not in made.port
    assert {"every backend"} <= set(made.notes)
    assert "test_values_in_a_graph" in run_its_test(made, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("statement", "written"),
    [
        ("return x.mean(axis=0)", "return ops.mean(x, axis=0)"),
        ("return 0.5 * n", 'return 0.5 * ops.cast(n, "float64")'),
        ("return x + np.ones(5)", 'return x + ops.convert_to_tensor(np.ones(5), dtype="float64")'),
        ("return np.where(x > 0.5, x, 0)", 'return ops.where(x > 0.5, x, ops.convert_to_tensor(0, dtype="float64"))'),
        (
            "return x[np.array([0, 2])]",
            'return ops.take(x, ops.convert_to_tensor(np.array([0, 2]), dtype="int64"), axis=0)',
        ),
        ("return (x[1:] - x[:-1]) ** 2", "return (x[1:] - x[:-1]) ** 2"),
        ("return x.clip(0.2, 0.7)", "return ops.minimum(ops.maximum(x, 0.2), 0.7)"),
        ("return x.reshape(-1, 1) @ x[None]", "return ops.matmul(ops.reshape(x, (-1, 1)), x[None])"),
        ("return x.astype(np.float32).sum()", 'return ops.sum(ops.cast(x, "float32"))'),
    ],
)
def test_an_expression_is_written_as_keras_spells_it(
    statement: str, written: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write_source(tmp_path, f"def body(x, n):\n    {statement}\n", VECTOR, WHOLE, to="keras_ops")
    assert body_of(made) == written
    run_its_test(made, tmp_path, monkeypatch)


@pytest.mark.parametrize(
    "statements",
    [
        "total = x[0] * 0\n    for one in x:\n        total += one\n    return total",
        "y = x * 2\n    y -= (x if len(x) else y)\n    return y",
        "a, b = np.array([x.sum(), x.max()])\n    return a - b",
        "return np.concatenate([x, np.zeros(2), [x[0], 1.0]])",
        "return np.stack([one * i for i, one in enumerate(x)])",
    ],
)
def test_statements_are_right(statements: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_its_test(
        write_source(tmp_path, f"def body(x):\n    {statements}\n", VECTOR, to="keras_ops"), tmp_path, monkeypatch
    )


@pytest.mark.parametrize(
    "statements",
    [
        "x = x.copy()\n    x[0] = 1\n    return x",
        "return x[x > 0.5]",
        "if x.sum() > 0:\n        return x\n    return -x",
        "return x if x.sum() > 0 else -x",
        "return np.where(x > 0)[0]",
        "return x[::-1]",
        "return np.unique(x)",
    ],
)
def test_what_is_not_the_same_on_each_backend_is_refused_with_the_line(statements: str, tmp_path: Path) -> None:
    with pytest.raises(CannotPort) as caught:
        write_source(tmp_path, f"def body(x):\n    {statements}\n", VECTOR, to="keras_ops")
    assert caught.value.place is not None


@pytest.mark.parametrize(
    ("installed", "backend", "says"),
    [("2.15.0", "", "here is Keras 2.15.0"), ("3.5.0", "jax", "Keras runs on jax here"), ("3.5.0", "", None)],
)
def test_where_keras_3_is_not_there_the_reason_is_told(
    installed: str, backend: str, says: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(keras_code, "version", lambda name: installed)
    monkeypatch.setenv("KERAS_BACKEND", backend)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    reason = keras_code.why_no_keras_ops()
    assert reason is None if says is None else says in str(reason)


def test_the_backend_of_the_settings_of_keras_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    (tmp_path / "keras.json").write_text('{"backend": "torch"}', encoding="utf-8")
    assert "torch" in str(keras_code.why_no_keras_ops())


FILES = ("numpy", "core", "linalg", "math")
WITHOUT_BACKEND = {"get_item", "dtype"}
"""Functions of keras.ops that are the same whatever the backend."""


def words_of(path: Path) -> set[str]:
    """Return the texts, their words after `ops.`, and the names in a source: what a port may call."""
    texts = [
        one.value for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(one, ast.Constant)
    ]
    words = {text for text in texts if isinstance(text, str)}
    return words | {name for text in words for name in re.findall(r"\bops\.(\w+)", text)}


def functions_of(folder: Path) -> dict[str, ast.FunctionDef]:
    trees = [ast.parse((folder / f"{name}.py").read_text(encoding="utf-8")) for name in FILES]
    return {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_what_is_called_is_there_on_other_backends(backend: str) -> None:
    """Read off Keras' own sources, because neither JAX nor PyTorch is installed here."""
    keras = pytest.importorskip("keras")
    home = Path(str(keras.ops.__file__)).parents[1] / "src"
    words = set().union(*(words_of(Path(str(one.__file__))) for one in (keras_code, keras_table)))
    words = {part for word in words for part in word.split()}
    called = words & functions_of(home / "ops").keys() - WITHOUT_BACKEND
    assert len(called) > 60
    there = functions_of(home / "backend" / backend)
    assert called <= there.keys()
    # Of one that a backend has not got, all that there is behind its docstring is an exception.
    assert not [name for name in called if isinstance(there[name].body[-1], ast.Raise)]
