"""Context and gradient of a callback, lexically and through functions of the same file."""

from __future__ import annotations

import textwrap

import pytest

from pyopbench.find.call_sites import find_sites

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
        ("class P:\n    def load(self, x):\n        return SITE\np = P()\nds.map(p.load)", "tf.data"),
        ("class P:\n    @classmethod\n    def load(cls, x):\n        return SITE\nds.map(P.load)", "tf.data"),
        (
            """
            class P:
                def load(self, x):
                    return SITE
            class Q:
                def __init__(self):
                    self.p = P()
                def go(self, d):
                    d.map(self.p.load)
            """,
            "tf.data",
        ),
        ("class P:\n    def load(self, x):\n        return SITE\nds.map(tf.load)", "plain"),
        ("class P:\n    def __call__(self, x):\n        return SITE\np = P()\nds.map(p)", "tf.data"),
        ("class P:\n    def __call__(self, x):\n        return SITE\nm.compile(loss=losses.Huber())", "plain"),
        ("def decode_lossless(x):\n    return SITE\nds.map(decode_lossless)", "tf.data"),
        ("class L(tf.keras.layers.Layer):\n    def call(self, x):\n        return SITE", "Keras layer"),
        ("class Model(object):\n    pass\nclass L(Model):\n    def call(self, x):\n        return SITE", "plain"),
        ("class Model(keras.Model): ...\nclass L(Model):\n    def call(self, x):\n        return SITE", "Keras layer"),
        ("from keras import Model\nclass Model(Model):\n    def call(self, x):\n        return SITE", "Keras layer"),
        ("class B(Layer): ...\nclass L(B):\n    def call(self, x):\n        return SITE", "Keras layer"),
        ("def op(x):\n    return SITE\nclass L(Layer):\n    def call(self, x):\n        return op(x)", "Keras layer"),
        ("layers.Lambda(lambda x: SITE)", "Keras layer"),
        ("def focal(y, x):\n    return SITE\nmodel.compile(loss=focal)", "loss"),
        ("def my_loss(y, x):\n    return SITE", "loss"),
        ("tf.map_fn(lambda x: SITE, xs)", "loop"),
        ("class M(tf.keras.metrics.Metric):\n    def update_state(self, y, p):\n        return SITE", "Keras metric"),
        ("def auc(y, p):\n    return SITE\nmodel.compile(loss='mse', metrics=[auc])", "Keras metric"),
    ],
)
def test_context(code: str, context: str) -> None:
    assert look(code)[0] == context


AUC = "def auc(y, p):\n    return SITE\n"


@pytest.mark.parametrize(
    "code",
    [
        "metrics = [auc]\nmodel.compile(metrics=metrics)",
        "metrics = {'a': [auc], 'b': 'mae'}\nmodel.compile(metrics=metrics)",
        "metrics = ['mae']\nmetrics += [auc]\nmodel.compile(weighted_metrics=metrics)",
        "metrics = []\nmetrics.append(auc)\nmodel.compile(metrics=metrics)",
        "metrics = []\nfor one in (auc, 'mae'):\n    metrics.append(one)\nmodel.compile(metrics=metrics)",
        "metrics = {}\nmetrics['a'] = auc\nmodel.compile(metrics=metrics)",
        "functions = [auc]\nmodel.compile(metrics=[Mean(one) for one in functions])",
        "loss, metrics = 'mse', [auc]\nmodel.compile(loss=loss, metrics=metrics)",
        "metrics = [auc] if FINE else None\nmodel.compile(metrics=metrics or ['mae'])",
        "model.compile('adam', 'mse', [auc])",
        "def build(metrics):\n    model.compile(metrics=metrics)\nbuild([auc])",
        "def build(n, metrics=(auc,)):\n    model.compile(metrics=metrics)\nbuild(3)",
        "def get():\n    return [auc]\nmetrics = get()\nmodel.compile(metrics=metrics)",
        "class T:\n  def __init__(self):\n    self.m = [auc]\n  def go(self):\n    model.compile(metrics=self.m)",
    ],
)
def test_a_metric_is_one_however_it_gets_to_compile(code: str) -> None:
    assert look(f"{AUC}{code}")[0] == "Keras metric"


def test_a_callback_of_a_lambda_that_is_bound_to_a_name_is_part_of_what_uses_the_name() -> None:
    assert look("metric = lambda y, p: SITE\nmodel.compile(metrics=[metric])")[0] == "Keras metric"
    assert look("fn = lambda x: SITE\nds.map(fn)")[0] == "tf.data"
    assert look("import functools\ndef f(x):\n    return SITE\ng = functools.partial(f)\nds.map(g)")[0] == "tf.data"


@pytest.mark.parametrize(
    "code",
    [
        "metrics = [auc]\nmodel.compile(metrics=['mae'])",
        "def other():\n    metrics = [auc]\nmetrics = ['mae']\nmodel.compile(metrics=metrics)",
        "metrics = [auc]\nmodel.fit(metrics)",
    ],
)
def test_a_function_in_a_list_that_compile_is_not_given_is_no_metric(code: str) -> None:
    assert look(f"{AUC}{code}")[0] == "plain"


def test_what_is_computed_before_a_pipeline_is_no_part_of_it() -> None:
    assert look("start = SITE\nds.reduce(start, add)")[0] == "plain"
    assert look("table = SITE\nds.map(lambda x: x + table)")[0] == "plain"
    assert look("def load():\n    return SITE\nstart = load()\nds.scan(start, add)")[0] == "plain"


@pytest.mark.parametrize(
    ("code", "gradient"),
    [
        ("y = SITE", "none"),
        ("@tf.custom_gradient\ndef op(x):\n    return SITE, None", "custom_gradient"),
        ("def op(x):\n    return SITE, None\nop2 = tf.custom_gradient(op)", "custom_gradient"),
        ("@tf.custom_gradient\ndef op(x):\n    def grad(x):\n        return SITE\n    return x, grad", "is one"),
        ("with g.gradient_override_map({'PyFunc': 'G'}):\n    y = SITE", "override_map"),
        ("with g.gradient_override_map(names):\n    y = SITE", "override_map"),
        ("def op(x):\n    return SITE\nwith g.gradient_override_map({'PyFunc': 'G'}):\n    y = op(x)", "override_map"),
        ("@tf.RegisterGradient('G')\ndef grad(op, x):\n    return SITE", "is one"),
    ],
)
def test_gradient(code: str, gradient: str) -> None:
    assert look(code)[1] == gradient


def test_py_function_has_its_own_gradient() -> None:
    (site,) = find_sites(b"import tensorflow as tf\ntf.py_function(f, [x], 1)", "a.py")
    assert site.gradient == "tape"
