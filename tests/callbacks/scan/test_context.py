"""Context and gradient of a callback, lexically and through functions of the same file."""

from __future__ import annotations

import textwrap

import pytest

from pyopbench.callbacks.scan.call_sites import find_sites

SITE = "tf.numpy_function(f, [x], tf.float32)"


def look(code: str) -> tuple[str, str]:
    """Return context and gradient of the only site; `SITE` stands for it."""
    whole = "import tensorflow as tf\n" + textwrap.dedent(code).replace("SITE", SITE)
    (site,) = find_sites(whole.encode(), "a.py")
    return site.context, site.gradient


@pytest.mark.parametrize(
    ("code", "context"),
    [
        ("y = SITE", "plain"),
        ("ds.map(lambda x: SITE)", "tf.data"),
        ("def load(x):\n    return SITE\nds.map(load, num_parallel_calls=4)", "tf.data"),
        ("def inner(x):\n    return SITE\ndef load(x):\n    return inner(x)\nds.interleave(load)", "tf.data"),
        (
            "class P:\n    def load(self, x):\n        return SITE\n    def go(self, d):\n        d.map(self.load)",
            "tf.data",
        ),
        ("class L(tf.keras.layers.Layer):\n    def call(self, x):\n        return SITE", "Keras layer"),
        ("class B(Layer): ...\nclass L(B):\n    def call(self, x):\n        return SITE", "Keras layer"),
        ("def op(x):\n    return SITE\nclass L(Layer):\n    def call(self, x):\n        return op(x)", "Keras layer"),
        ("layers.Lambda(lambda x: SITE)", "Keras layer"),
        ("def focal(y, x):\n    return SITE\nmodel.compile(loss=focal)", "loss"),
        ("class L(keras.losses.Loss):\n    def call(self, y, x):\n        return SITE", "loss"),
        ("def my_loss(y, x):\n    return SITE", "loss"),
        ("tf.map_fn(lambda x: SITE, xs)", "loop"),
        ("class M(tf.keras.metrics.Metric):\n    def update_state(self, y, p):\n        return SITE", "Keras metric"),
        ("class M(keras.metrics.Mean):\n    def update_state(self, y, p):\n        return SITE", "Keras metric"),
        ("def auc(y, p):\n    return SITE\nmodel.compile(loss='mse', metrics=[auc])", "Keras metric"),
    ],
)
def test_context(code: str, context: str) -> None:
    assert look(code)[0] == context


@pytest.mark.parametrize(
    ("code", "gradient"),
    [
        ("y = SITE", "none"),
        ("@tf.custom_gradient\ndef op(x):\n    return SITE, None", "custom_gradient"),
        ("def op(x):\n    return SITE, None\nop2 = tf.custom_gradient(op)", "custom_gradient"),
        ("@tf.custom_gradient\ndef op(x):\n    def grad(x):\n        return SITE\n    return x, grad", "is one"),
        ("with g.gradient_override_map({'PyFunc': 'G'}):\n    y = SITE", "override_map"),
        ("with g.gradient_override_map({'PyFuncStateless': 'G'}):\n    y = SITE", "none"),
        ("with g.gradient_override_map(names):\n    y = SITE", "override_map"),
        ("def op(x):\n    return SITE\nwith g.gradient_override_map({'PyFunc': 'G'}):\n    y = op(x)", "override_map"),
        ("@function.Defun(tf.float32, python_grad_func=g)\ndef op(x):\n    return SITE", "defun"),
        ("@tf.RegisterGradient('G')\ndef grad(op, x):\n    return SITE", "is one"),
    ],
)
def test_gradient(code: str, gradient: str) -> None:
    assert look(code)[1] == gradient


def test_py_function_has_its_own_gradient() -> None:
    (site,) = find_sites(b"import tensorflow as tf\ntf.py_function(f, [x], 1)", "a.py")
    assert site.gradient == "tape"
