"""TensorFlow goes without Keras until somebody uses it; then it is whole."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from pyopbench.worker.late_keras import KerasLater, keras_later

LATER = """
import sys
from pyopbench.worker.late_keras import keras_later
with keras_later():
    import tensorflow as tf
print("keras" in sys.modules, float(tf.keras.activations.relu(tf.constant(-1.0))), "keras" in sys.modules)
"""


@pytest.mark.nightly
@pytest.mark.skipif(find_spec("keras") is None, reason="there is no Keras")
def test_keras_is_imported_by_what_uses_it() -> None:
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.split() == ["False", "0.0", "True"]


def test_it_is_refused_within_alone_and_all_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "keras", raising=False)
    with keras_later():
        with pytest.raises(ImportError) as refused:
            __import__("keras")
        assert find_spec("json") is not None
        assert KerasLater().find_spec("json", None) is None
    assert refused.value.name == "keras"
    assert not any(isinstance(one, KerasLater) for one in sys.meta_path)
