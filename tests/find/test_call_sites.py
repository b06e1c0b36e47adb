"""Call sites: every way of writing one is found, with its place, and nothing else that looks like one."""

from __future__ import annotations

import pytest

from pyopbench.find.call_sites import CallSite, find_sites
from pyopbench.find.risks import PARALLEL, Risk

HEAD = "import functools\nfrom functools import partial\nimport numpy as np\nimport tensorflow as tf\n"


def sites_of(code: str) -> list[CallSite]:
    return find_sites((HEAD + code).encode(), "a.py")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("tf.py_function(f, [x], tf.float32)", "py_function"),
        ("tf.numpy_function(f, [x], tf.float32)", "numpy_function"),
        ("tf.py_func(f, [x], tf.float32)", "py_func"),
        ("tf.compat.v1.py_func(f, [x], tf.float32)", "py_func"),
        ("import tensorflow.compat.v1 as tf1\ntf1.py_func(f, [x], tf.float32)", "py_func"),
        ("from tensorflow import py_function as pf\npf(f, [x], tf.float32)", "py_function"),
        ("from tensorflow.python.ops import script_ops\nscript_ops.eager_py_func(f, [x], 1)", "py_function"),
        ("from tensorflow.python.ops.script_ops import *\nnumpy_function(f, [x], 1)", "numpy_function"),
        ("tf.contrib.eager.py_func(f, [x], 1)", "py_function"),
        ("getattr(tf, 'py_function')(f, [x], 1)", "py_function"),
        ("getattr(tf, 'py_function', None)(f, [x], 1)", "py_function"),
        ("call = getattr(tf.compat.v1, 'py_func', None)\ncall(f, [x], 1)", "py_func"),
        ("NAME = 'py_function'\ngetattr(tf, NAME)(f, [x], 1)", "py_function"),
        ("ds.map(lambda x: tf.numpy_function(f, [x], 1))", "numpy_function"),
    ],
)
def test_each_way_of_calling_is_found(code: str, kind: str) -> None:
    assert [(site.kind, site.form, site.certain) for site in sites_of(code)] == [(kind, "call", True)]


@pytest.mark.parametrize(
    "code",
    [
        "@tf.py_function(Tout=tf.float32)\ndef f(x):\n    return x",
        "@partial(tf.py_function, Tout=tf.float32)\ndef f(x):\n    return x",
        "@functools.partial(tf.py_function, Tout=tf.float32)\ndef f(x):\n    return x",
    ],
)
def test_a_decorator_is_a_site_whose_body_is_what_it_decorates(code: str) -> None:
    assert [(site.form, site.body, site.line) for site in sites_of(code)] == [("decorator", "f", 5)]


def test_a_partial_counts_where_it_is_called_or_else_where_it_is_made() -> None:
    called = sites_of("pf = partial(tf.py_function, Tout=1)\npf(f, [x])\npf(g, [x])")
    assert [(site.line, site.form, site.body) for site in called] == [(6, "call", "f"), (7, "call", "g")]
    assert [site.form for site in sites_of("make(partial(tf.py_function, Tout=1))")] == ["partial"]


@pytest.mark.parametrize(
    "code",
    [
        "wrap(tf.numpy_function)",
        "wrap(lambda: tf.numpy_function)",
        "def make():\n    return tf.numpy_function",
        "table = {'host': tf.numpy_function}\ntable[kind](f, [x], 1)",
        "for call in (tf.numpy_function, run):\n    call(f, [x], 1)",
        "class C:\n    op = tf.numpy_function\n    def g(self):\n        self.op(f, [x], 1)",
        "class C:\n    def __init__(self):\n        self.op = tf.numpy_function",
        "table['host'] = tf.numpy_function",
        "def g(x, *, op=tf.numpy_function):\n    return op(f, [x], 1)",
    ],
)
def test_a_function_that_is_passed_on_is_reported_as_passed(code: str) -> None:
    assert [(site.kind, site.form) for site in sites_of(code)] == [("numpy_function", "passed")]


def test_a_name_that_comes_from_elsewhere_is_found_and_not_certain() -> None:
    found = sites_of("from mylib import tf as other\nother.py_function(f, [x], 1)\nself.tf.py_func(f, [x], 1)")
    assert [(site.kind, site.certain) for site in found] == [("py_function", False), ("py_func", False)]


@pytest.mark.parametrize(
    "code",
    [
        "jitted.py_func(3)",
        "def py_function(f): ...\npy_function(1)",
        "# tf.py_function(f)\ntext = 'tf.py_function(f)'",
        "getattr(tf, name)(f, [x], 1)",
        "NAME = 'py_function'\nNAME = read()\ngetattr(tf, NAME)(f, [x], 1)",
        "tf.numpy_functions(f)",
        "class C:\n    def g(self):\n        self.py_function(1)",
    ],
)
def test_what_only_looks_like_one_is_none(code: str) -> None:
    assert sites_of(code) == []


def test_a_site_has_its_place_and_the_names_around_it() -> None:
    (site,) = sites_of("class A:\n    def f(self):\n        return lambda: tf.py_function(self.g, [1], tf.int32)")
    assert (site.file, site.line, site.column) == ("a.py", 7, 24)
    assert (site.function, site.body) == ("A.f.<lambda>", "self.g")


@pytest.mark.parametrize("head", ["from mylib import tf_compat", "import mylib.tf.compat as tf_compat"])
def test_a_compatibility_module_is_tensorflow_by_its_name(head: str) -> None:
    found = sites_of(f"{head}\ntf_compat.v1.py_func(f, [x], 1)")
    assert [(site.kind, site.certain) for site in found] == [("py_func", False)]


def test_what_is_no_python_says_so() -> None:
    with pytest.raises(SyntaxError):
        find_sites(b"def f(:", "a.py")


def risks_of(code: str) -> list[str]:
    (site,) = find_sites(("import tensorflow as tf\n" + code).encode(), "a.py")
    return [risk.name for risk in site.risks]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("ds.map(lambda x: tf.numpy_function(f, [x], 1), num_parallel_calls=4)", "parallel"),
        ("y = tf.numpy_function(f, [x], 1)", "no_gradient"),
        ("y = tf.py_function(f, [x], 1)", "first_order_only"),
        ("tf.map_fn(lambda x: tf.py_function(f, [x], 1), xs)", "gradient_in_loop"),
        ("y = tf.compat.v1.py_func(f, [x], 1, False)", "stateless"),
        ("y = tf.numpy_function(f, [x], 1, stateful=False)", "stateless"),
        ("def g(x):\n    return tf.numpy_function(f, [x], 1)", "no_shape"),
        ("def g(x):\n    z = tf.reshape(x, [3])\n    return tf.numpy_function(f, [z], 1)", "no_shape"),
        ("def g(x):\n    y = tf.numpy_function(f, [x], 1)\n    x.set_shape([3])\n    return y", "no_shape"),
        ("def g(x):\n    y = tf.numpy_function(f, [x], 1)\n    return tf.reshape(x, tf.shape(y))", "no_shape"),
        ("def g(x):\n    return tf.reshape(tf.numpy_function(f, [x], 1), tf.shape(x))", "no_shape"),
        ("def h(x):\n    x.set_shape([3])\nds.map(h).map(lambda x: tf.numpy_function(f, [x], 1))", "no_shape"),
        ("@tf.py_function(Tout=1)\ndef g(x):\n    return tf.reshape(x, [3])", "no_shape"),
        ("@tf.function(jit_compile=True)\ndef g(x):\n    return tf.numpy_function(f, [x], 1)", "jit_compile"),
        ("def f(x):\n    x[0] = 1\n    return x\ny = tf.numpy_function(f, [x], 1)", "writes_to_input"),
        ("import numpy as np\ny = tf.numpy_function(lambda x: x + np.random.rand(), [x], 1)", "draws"),
        (
            "import random\ndef f(x):\n    return random.choice(x)\ny = tf.py_function(lambda x: f(x), [x], 1)",
            "draws",
        ),
        (
            (
                "import random\nclass C:\n    def f(self, x):\n        return self.g(x)\n    def g(self, x):\n"
                "        return random.choice(x)\n    def h(self, x):\n        return tf.py_function(self.f, [x], 1)"
            ),
            "draws",
        ),
        ("import numpy as np\ny = tf.numpy_function(np.random.normal, [x], 1)", "draws"),
        (
            (
                "class C:\n    def f(self, x):\n        x[0] = 1\n    def h(self, x):\n"
                "        return tf.numpy_function(self.f, [x], 1)"
            ),
            "writes_to_input",
        ),
        ("def f(x):\n    x += 1\n    return x\ny = tf.numpy_function(f, [x], 1)", "writes_to_input"),
        ("def f(x):\n    x += 1\n    x[0] = 1\n    return x\ny = tf.numpy_function(f, [x], 1)", "writes_to_input"),
    ],
)
def test_a_risk_is_told(code: str, name: str) -> None:
    assert name in risks_of(code)


MAP = "def g(x):\n    return tf.ensure_shape(tf.numpy_function(f, [x], 1), [3])\n"
ALWAYS = (PARALLEL,)


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
        ("ds.apply(tf.data.experimental.map_and_batch(g, 8))", ALWAYS),
        ("class C:\n    def __call__(self, x):\n        return g(x)\nds.map(C(), num_parallel_calls=8)", ALWAYS),
        ("ds.map(g, num_parallel_calls=args.threads)", ALWAYS),
        ("ds.map(g, num_parallel_calls=os.cpu_count())", ALWAYS),
        ("ds.map(g, num_parallel_calls=int(os.environ.get('THREADS', 1)))", ALWAYS),
        ("def make(n):\n    return ds.map(g, num_parallel_calls=n)", ALWAYS),
        ("def make(n):\n    return ds.map(g, num_parallel_calls=n)\nmake(1)", ()),
        ("def make(n=None):\n    return ds.map(g, num_parallel_calls=n)\nmake(6)", ALWAYS),
    ],
)
def test_calls_wait_for_the_gil_only_where_they_are_made_in_parallel(code: str, risks: tuple[Risk, ...]) -> None:
    (site,) = find_sites(f"import tensorflow as tf\n{MAP}{code}\n".encode(), "a.py")
    assert (site.context, site.risks) == ("tf.data", risks)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("def g(x):\n    y = tf.numpy_function(f, [x], 1)\n    y.set_shape([3])\n    return y", "no_shape"),
        ("def g(x):\n    return tf.ensure_shape(tf.numpy_function(f, [x], 1), [3])", "no_shape"),
        ("def g(x):\n    return tf.reshape(tensor=tf.cast(tf.numpy_function(f, [x], 1), 2), shape=[3])", "no_shape"),
        ("def g(x):\n    a, b = tf.numpy_function(f, [x], 1)\n    b.set_shape([3])\n    return a, b", "no_shape"),
        ("def g(x):\n    d['y'] = tf.numpy_function(f, [x], 1)\n    d['y'].set_shape([3])", "no_shape"),
        ("def g(x):\n    out.append(tf.numpy_function(f, [x], 1))\n    out[0].set_shape([3])", "no_shape"),
        ("def g(x):\n    return tf.numpy_function(f, [x], 1)\ny = g(1)\ny.set_shape([3])", "no_shape"),
        ("def h(x):\n    x.set_shape([3])\n    return x\ny = h(tf.numpy_function(f, [z], 1))", "no_shape"),
        ("def h(a, x):\n    x.set_shape([3])\ny = h(1, x=tf.numpy_function(f, [z], 1))", "no_shape"),
        ("def h(x):\n    x.set_shape([3])\nds.map(lambda x: tf.numpy_function(f, [x], 1)).map(h)", "no_shape"),
        (
            "def g(x):\n    return tf.numpy_function(f, [x], 1)\nd = d.map(g)\nd.map(lambda x: x.set_shape(3))",
            "no_shape",
        ),
        ("@tf.py_function(Tout=1)\ndef g(x):\n    return x\ny = tf.ensure_shape(g(1), [3])", "no_shape"),
        ("y = tf.py_function(f, [x], [])", "no_shape"),
        ("y = tf.py_function(f, [x], Tout=())", "first_order_only"),
        ("y = tf.numpy_function(f, [x], Tout=[])", "no_gradient"),
        ("tf.map_fn(lambda x: tf.py_function(f, [x], []), xs)", "gradient_in_loop"),
        ("import functools\np = functools.partial(tf.py_function, f, [1], [])", "no_shape"),
        ("ds.map(lambda x: tf.numpy_function(f, [x], 1))", "no_gradient"),
        ("y = tf.numpy_function(f, [x], 1, stateful=True)", "stateless"),
        ("def auc(x):\n    return tf.numpy_function(f, [x], 1)\nm.compile(metrics=[auc])", "no_gradient"),
        ("import numpy as np\ndef f(x):\n    return x\ny = tf.numpy_function(f, [x], np.random.rand())", "draws"),
        ("import numpy as np\ndef f(x):\n    np.random.seed(1)\ny = tf.numpy_function(f, [x], 1)", "draws"),
        (
            (
                "import numpy as np\ndef apply_along_axis(f, axis, x):\n    return tf.numpy_function(f, [x], 1)\n"
                "np.apply_along_axis(np.random.permutation, 0, x)"
            ),
            "draws",
        ),
        (
            (
                "import random\nclass A:\n    def f(self, x):\n        return x\n    def h(self, x):\n"
                "        return tf.py_function(self.f, [x], 1)\nclass B:\n    def f(self, x):\n"
                "        return random.choice(x)"
            ),
            "draws",
        ),
        ("import functools\nh = functools.partial(h, 1)\ny = tf.numpy_function(h, [x], 1)", "draws"),
        (
            (
                "import functools\ndef f(seen, x):\n    seen[0] = x\n    return x\n"
                "y = tf.numpy_function(functools.partial(f, seen), [x], 1)"
            ),
            "writes_to_input",
        ),
        (
            (
                "import numpy as np\nclass C:\n    def sort(self, a):\n        a[0] = 1\n"
                "y = tf.numpy_function(np.sort, [x], 1)"
            ),
            "writes_to_input",
        ),
        ("@tf.function(jit_compile=False)\ndef g(x):\n    return tf.numpy_function(f, [x], 1)", "jit_compile"),
        (
            "def f(x):\n    x = x.copy()\n    x[0] = 1\n    return x\ny = tf.numpy_function(f, [x], 1)",
            "writes_to_input",
        ),
        ("def f(x):\n    x[0] = 1\n    return x\ny = tf.py_function(f, [x], 1)", "writes_to_input"),
        ("def f(x):\n    x = x.copy()\n    x += 1\n    return x\ny = tf.numpy_function(f, [x], 1)", "writes_to_input"),
        ("y = tf.py_function(lambda x: x + tf.random.uniform([]), [x], 1)", "draws"),
        ("import numpy as np\ny = tf.py_function(lambda x: x * np.random.default_rng(0).normal(), [x], 1)", "draws"),
        ("import random\ny = tf.py_function(lambda x: x * random.Random(7).random(), [x], 1)", "draws"),
    ],
)
def test_a_risk_without_its_cause_is_not_told(code: str, name: str) -> None:
    assert name not in risks_of(code)
