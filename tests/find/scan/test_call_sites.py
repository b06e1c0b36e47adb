"""Call sites: every way of writing one is found, with its place, and nothing else that looks like one."""

from __future__ import annotations

import pytest

from pyopbench.find.scan.call_sites import CallSite, find_sites

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
        ("tf.raw_ops.EagerPyFunc(input=[x], token='t', Tout=[1])", "py_function"),
        ("getattr(tf, 'py_function')(f, [x], 1)", "py_function"),
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


def test_a_function_that_is_handed_on_is_told_as_such() -> None:
    assert [site.form for site in sites_of("wrap(tf.numpy_function)")] == ["passed"]


def test_a_name_that_comes_from_elsewhere_is_found_and_not_certain() -> None:
    found = sites_of("from mylib import tf as other\nother.py_function(f, [x], 1)\nself.tf.py_func(f, [x], 1)")
    assert [(site.kind, site.certain) for site in found] == [("py_function", False), ("py_func", False)]


@pytest.mark.parametrize(
    "code",
    [
        "jitted.py_func(3)",
        "def py_function(f): ...\npy_function(1)",
        "# tf.py_function(f)\ntext = 'tf.py_function(f)'",
        "hasattr(tf, 'py_function')\nprint(tf.py_function)",
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


def test_what_is_no_python_says_so() -> None:
    with pytest.raises(SyntaxError):
        find_sites(b"def f(:", "a.py")
