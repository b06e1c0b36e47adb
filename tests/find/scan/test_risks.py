"""Each risk is told where its cause stands in the source, and not where it does not."""

from __future__ import annotations

import pytest

from pyopbench.find.scan.call_sites import find_sites


def risks_of(code: str) -> str:
    (site,) = find_sites(("import tensorflow as tf\n" + code).encode(), "a.py")
    return "; ".join(site.risks)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("ds.map(lambda x: tf.numpy_function(f, [x], 1), num_parallel_calls=4)", "parallel calls of the pipeline wait"),
        ("y = tf.numpy_function(f, [x], 1)", "no gradient"),
        ("y = tf.py_function(f, [x], 1)", "second order is None"),
        ("tf.map_fn(lambda x: tf.py_function(f, [x], 1), xs)", "KeyError"),
        ("y = tf.compat.v1.py_func(f, [x], 1, False)", "stateful=False"),
        ("y = tf.numpy_function(f, [x], 1, stateful=False)", "stateful=False"),
        ("def g(x):\n    return tf.numpy_function(f, [x], 1)", "shape unknown"),
        ("@tf.function(jit_compile=True)\ndef g(x):\n    return tf.numpy_function(f, [x], 1)", "XLA refuses"),
        ("def f(x):\n    x[0] = 1\n    return x\ny = tf.numpy_function(f, [x], 1)", "writes to its input"),
        ("import numpy as np\ny = tf.numpy_function(lambda x: x + np.random.rand(), [x], 1)", "np.random.rand"),
        (
            "import random\ndef f(x):\n    return random.choice(x)\ny = tf.py_function(lambda x: f(x), [x], 1)",
            "random.choice",
        ),
    ],
)
def test_a_risk_is_told(code: str, words: str) -> None:
    assert words in risks_of(code)


MAP = "def g(x):\n    return tf.ensure_shape(tf.numpy_function(f, [x], 1), [3])\n"
ALWAYS = ("parallel calls of the pipeline wait for the GIL",)
PERHAPS = ("if the pipeline makes parallel calls (num_parallel_calls), they wait for the GIL",)


@pytest.mark.parametrize(
    ("code", "risks"),
    [
        ("ds.map(g)", ()),
        ("ds.map(g, num_parallel_calls=None)", ()),
        ("ds.map(g, num_parallel_calls=1)", ()),
        ("n = 1\nds.map(g, num_parallel_calls=n)", ()),
        ("ds.map(g, None)", ()),
        ("ds.filter(g)", ()),
        ("ds.flat_map(g)", ()),
        ("ds.interleave(g, cycle_length=4)", ()),
        ("ds.map(g, num_parallel_calls=8)", ALWAYS),
        ("ds.map(g, 8)", ALWAYS),
        ("ds.map(g, num_parallel_calls=tf.data.AUTOTUNE)", ALWAYS),
        ("ds.map(g, num_parallel_calls=tf.data.experimental.AUTOTUNE)", ALWAYS),
        ("AUTOTUNE = tf.data.AUTOTUNE\nds.map(g, num_parallel_calls=AUTOTUNE)", ALWAYS),
        ("from setup import AUTOTUNE\nds.map(g, num_parallel_calls=AUTOTUNE)", ALWAYS),
        ("ds.map(g, num_parallel_calls=-1)", ALWAYS),
        ("n = 1\nif FAST:\n    n = 8\nds.map(g, num_parallel_calls=n)", ALWAYS),
        ("ds.interleave(g, 4, 1, 4)", ALWAYS),
        ("ds.interleave(lambda p: read(p).map(g), num_parallel_calls=4)", ALWAYS),
        ("ds.map(g)\nds.map(g, num_parallel_calls=4)", ALWAYS),
        ("options = {'num_parallel_calls': 4}\nds.map(g, **options)", ALWAYS),
        ("ds.apply(tf.data.experimental.map_and_batch(g, 8))", ALWAYS),
        ("ds.map(g, num_parallel_calls=args.threads)", PERHAPS),
        ("ds.map(g, num_parallel_calls=os.cpu_count())", PERHAPS),
        ("ds.map(g, num_parallel_calls=int(os.environ.get('THREADS', 1)))", PERHAPS),
        ("def make(n):\n    return ds.map(g, num_parallel_calls=n)", PERHAPS),
        ("def make(n):\n    return ds.map(g, num_parallel_calls=n)\nmake(1)", ()),
        ("def make(n=None):\n    return ds.map(g, num_parallel_calls=n)\nmake(6)", ALWAYS),
    ],
)
def test_calls_wait_for_the_gil_only_where_they_are_made_in_parallel(code: str, risks: tuple[str, ...]) -> None:
    (site,) = find_sites(f"import tensorflow as tf\n{MAP}{code}\n".encode(), "a.py")
    assert (site.context, site.risks) == ("tf.data", risks)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def g(x):\n    y = tf.numpy_function(f, [x], 1)\n    y.set_shape([3])\n    return y", "shape unknown"),
        ("def g(x):\n    return tf.ensure_shape(tf.numpy_function(f, [x], 1), [3])", "shape unknown"),
        ("ds.map(lambda x: tf.numpy_function(f, [x], 1))", "no gradient"),
        ("y = tf.numpy_function(f, [x], 1, stateful=True)", "stateful=False"),
        ("def auc(x):\n    return tf.numpy_function(f, [x], 1)\nm.compile(metrics=[auc])", "no gradient"),
        ("import numpy as np\ndef f(x):\n    return x\ny = tf.numpy_function(f, [x], np.random.rand())", "draws"),
        ("import numpy as np\ndef f(x):\n    np.random.seed(1)\ny = tf.numpy_function(f, [x], 1)", "draws"),
        ("@tf.function(jit_compile=False)\ndef g(x):\n    return tf.numpy_function(f, [x], 1)", "XLA refuses"),
        ("def f(x):\n    x = x.copy()\n    x[0] = 1\n    return x\ny = tf.numpy_function(f, [x], 1)", "writes"),
        ("def f(x):\n    x[0] = 1\n    return x\ny = tf.py_function(f, [x], 1)", "writes"),
    ],
)
def test_a_risk_without_its_cause_is_not_told(code: str, words: str) -> None:
    assert words not in risks_of(code)
