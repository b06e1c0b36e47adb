"""A port that is called with the tensors of a Keras model is a layer of it."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.ports.extract.definitions import CannotPort
from written_ports import write_source

SOURCE = """def body(x, y):
    return np.maximum(x * y, 0.1), y.sum(axis=1)
"""


@pytest.mark.parametrize("to", ["traced", pytest.param("numba_op", marks=pytest.mark.slow), "numpy_function"])
def test_a_port_in_a_model_is_fitted_and_saved_and_loaded_where_it_is_imported(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keras, rng, matrix = tf.keras, np.random.default_rng(0), "rng.random((4, 3))"
    made = write_source(tmp_path, SOURCE, matrix, f"y={matrix}", to=to)
    name = f"keras_{to}_{os.getpid()}"
    (tmp_path / f"{name}.py").write_text(made.port, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    port = importlib.import_module(name)
    x = rng.random((6, 3))

    given = keras.Input((3,), dtype="float64")
    dense = keras.layers.Dense(3, dtype="float64")
    hidden = dense(given)
    product, total = port.body(hidden if to.startswith("traced") else given, y=given)
    assert [one.dtype for one in (product, total)] == ["float64"] * 2, "the dtype of a model is not the layer's"
    end = keras.layers.Dense(1, dtype="float64")(product + hidden)
    model = keras.Model(given, [end, total])
    trained = keras.Model(given, end)
    trained.compile(loss="mse")
    below = dense.get_weights()[0]
    trained.fit(x, x[:, :1], verbose=0)
    assert not np.array_equal(below, dense.get_weights()[0])

    expected = model.predict(x, verbose=0)
    np.testing.assert_allclose(expected[1], x.sum(axis=1))
    model.save(tmp_path / "saved.keras")
    keras.utils.get_custom_objects().clear()
    with pytest.raises(Exception, match=name):
        keras.models.load_model(tmp_path / "saved.keras")
    monkeypatch.delitem(sys.modules, name)
    importlib.import_module(name)  # as another process does
    found = keras.models.load_model(tmp_path / "saved.keras").predict(x, verbose=0)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_port_needs_no_keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write_source(tmp_path, "def body(x):\n    return x * 2\n", "rng.random(3)")
    (tmp_path / "without_keras.py").write_text(made.port, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for package in ("keras", "tf_keras"):
        monkeypatch.setitem(sys.modules, package, None)
    port = importlib.import_module("without_keras")
    assert port.body(tf.constant(1.5)).numpy() == 3
    assert port.body.__doc__.startswith("TensorFlow port of `body`")


@pytest.mark.parametrize("name", ["for_keras", "sys"])
def test_a_name_that_the_layer_needs_is_left_to_it(name: str, tmp_path: Path) -> None:
    source = f"def {name}(x):\n    return x * 2\n\n\ndef body(x):\n    return {name}(x)\n"
    with pytest.raises(CannotPort, match=f"`{name}` is a name that the file needs"):
        write_source(tmp_path, source, "rng.random(3)")
